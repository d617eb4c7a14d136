"""What every column adds to the distances of a row, and which cells would have to be otherwise.

The two squared distances are sums over columns:

    SD^2 = a' H a,  H = D diag(1/l) D'      OD^2 = |r|^2,  r = a - D' a C

for a centered row a, components C (k, d), their dual D (d, k) and variances l.
A single bad cell moves the scores, and through them the residuals of all
columns ("smearing"). What it does not move is the prediction of each cell by
the others of its row. With noise of variances psi the row has the precision
matrix

    M = G L^-1 G' + Psi^-1 (I - C' G'),  G = Psi^-1 C' (C Psi^-1 C')^-1,

L being the covariance of its scores G' a of generalized least squares, and

    z_c = (M a)_c / sqrt(M_cc)

is the difference between cell c and its prediction by the others in standard
deviations. z_c^2 is what the squared distance a' M a loses if the cell is
repaired (reconstruction-based contributions; Alcala and Qin, 2009). Where the
noise is the same in all columns, G = D and L = diag(l).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtri, ndtri

from ._arrays import to_numpy
from ._noise import MOST_LEVERAGE, weighted_dual
from ._pipelines import (
    check_components,
    feature_names,
    fitted_end,
    in_given_units,
    inner_rows,
    judging_scales,
    numbers,
    observed_numbers,
    origins,
    split,
)

Array = NDArray[Any]

#: Share of regular rows without any suspect cell.
CELL_LEVEL = 0.999
#: Cells of a row that may be suspect: with more of them it is the row that is bad.
MOST = 5
#: Precision of a cell, in that of its noise, below which it is nothing; and share of it that is left without
#: other cells, below which that is rounding.
NOTHING, ROUNDING = 1e-24, 1e-14


@dataclass(frozen=True)
class Contributions:
    """Why rows lie where they lie, column by column.

    Attributes
    ----------
    score, orthogonal : ndarray of shape (n, d)
        What each column adds to the squared score distance (parts may be
        negative) and to the squared orthogonal distance; they sum to them.
    cell : ndarray of shape (n, d)
        Difference between each cell and its prediction by the other cells of
        its row, in standard deviations. Cells that are suspect predict no
        others: a bad cell is not smeared over the other columns, as it is in
        the two decompositions.
    expected : ndarray of shape (n, d)
        The prediction, in the units of the columns that were given.
    feature_names : list of str
        Of the columns.
    """

    score: Array
    orthogonal: Array
    cell: Array
    expected: Array
    feature_names: list[str]


@dataclass(frozen=True)
class Suspect:
    """A cell that makes a row unusual.

    Attributes
    ----------
    column : str
    value, expected : float
        What is there, and what the cells that are not suspect predict.
    deviations : float
        The difference in standard deviations of the prediction.
    """

    column: str
    value: float
    expected: float
    deviations: float


def contributions(estimator: Any, X: ArrayLike) -> Contributions:
    """What each column adds to the two distances of each row.

    Parameters
    ----------
    estimator : fitted estimator with mean_, components_ and explained_variance_, or Pipeline
        The steps of a pipeline before the last must keep the columns, as
        scalers do; the answer is about the columns of X.
    X : array-like of shape (n, d)

    Returns
    -------
    Contributions

    Notes
    -----
    `TL1CellPCA` judges cells itself. Its distances are of repaired rows and in
    deviations, and so are the contributions: a bad cell adds nothing to them
    and is smeared over no other column; `cell` are its `cell_residuals`.

    See Also
    --------
    suspects : The few cells of one row that make it unusual.
    tl1pca.displays.ContributionDisplay : The contributions as a figure.

    Examples
    --------
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.datasets import make_contaminated
    >>> from tl1pca.diagnostics import contributions, distances
    >>> X, bad, axes = make_contaminated(200, 10, 2, kind="clean", random_state=0)
    >>> pca = TL1SubspacePCA(2, random_state=0).fit(X)
    >>> X[0, 7] += 8.0  # one bad cell
    >>> found = contributions(pca, X[:1])
    >>> bool(np.isclose(found.orthogonal.sum(), distances(pca, X[:1])[1] ** 2))
    True
    >>> int(np.argmax(np.abs(found.cell)))
    7
    """
    rows, order, n_given = _open(estimator, X)
    score, orthogonal, cell, predicted = _parts(split(estimator)[1], rows)

    def given(values: Array) -> Array:
        out = np.zeros((len(values), n_given))
        out[:, order] = values
        return out

    return Contributions(
        given(score),
        given(orthogonal),
        given(cell),
        in_given_units(estimator, predicted),
        feature_names(estimator, n_given),
    )


def suspects(estimator: Any, row: ArrayLike, *, level: float = CELL_LEVEL, most: int = MOST) -> list[Suspect]:
    """The cells of one row that would have to be otherwise, the worst first.

    The worst cell is taken as missing, and the others are judged again, so
    that several bad cells neither hide nor accuse each other.

    Parameters
    ----------
    estimator : as for `contributions`
    row : array-like of shape (1, d)
        A data frame where the estimator knows columns by name.
    level : float, default=0.999
        Share of regular rows without any suspect cell.
    most : int, default=5
        Largest number of cells.

    Returns
    -------
    list of Suspect
        Empty for a row whose cells agree with each other: such a row may still
        be far out in a usual direction.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from tl1pca.diagnostics import suspects
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1)) * [3.0, 2.0, 1.0, 1.0] + 0.1 * rng.normal(size=(300, 4))
    >>> pca = PCA(1).fit(X)
    >>> [suspect.column for suspect in suspects(pca, X[1:2] + [0.0, 0.0, 2.0, 0.0])]
    ['x2']
    """
    rows, order, n_given = _open(estimator, row)
    if len(rows) != 1:
        raise ValueError(f"suspects takes one row, got {len(rows)}.")
    pca, limit = split(estimator)[1], _limit(rows.shape[1], level)
    if hasattr(pca, "_row_parts"):
        *_, deviations, predicted = (part[0] for part in pca._row_parts(rows))
        size = np.nan_to_num(np.abs(deviations))
        found = [int(c) for c in np.argsort(-size, kind="stable")[:most] if size[c] > limit]
    else:
        model = RowModel.of(pca)
        found = suspect_cells(model, rows[0], limit, most)
        deviations, predicted = model.repaired(rows[0] - model.mean, found)
    there = np.asarray(row, dtype=np.float64)[0]
    expected = in_given_units(estimator, predicted[None])[0]
    names = feature_names(estimator, n_given)
    return [
        Suspect(names[order[c]], float(there[order[c]]), float(expected[order[c]]), float(deviations[c]))
        for c in found
    ]


def _limit(d: int, level: float = CELL_LEVEL) -> float:
    """Largest standardized difference of the d cells of a regular row."""
    return float(ndtri(1 - (1 - level) / (2 * d)))


def _open(estimator: Any, X: ArrayLike) -> tuple[Array, Array, int]:
    """The rows as the last step sees them, and the columns of X behind its columns."""
    pca, shape = fitted_end(estimator), np.shape(X)
    check_components(pca, "a contribution")
    if len(shape) != 2:
        raise ValueError(f"X must have rows and columns, got shape {shape}; one row x is x.reshape(1, -1).")
    n_given = shape[1]
    seen: Any = inner_rows(estimator, X)
    if hasattr(seen, "__array_namespace__") or hasattr(seen, "detach"):
        seen = to_numpy(seen)
    rows = (observed_numbers if hasattr(pca, "_row_parts") else numbers)(pca, seen)
    return rows.astype(np.float64), origins(estimator, n_given), n_given


def _parts(pca: Any, rows: Array) -> tuple[Array, ...]:
    """What columns add to the two squared distances, and the deviations and predictions of all cells."""
    if hasattr(pca, "_row_parts"):  # it repairs rows itself
        own: tuple[Array, ...] = pca._row_parts(rows)
        return own
    model, limit = RowModel.of(pca), _limit(rows.shape[1])
    A = rows - model.mean
    cell, predicted = model.predicted(A)
    for i in np.flatnonzero(np.abs(cell).max(axis=1) > limit):
        cell[i], predicted[i] = model.repaired(A[i], suspect_cells(model, rows[i], limit, MOST))
    return model.score_parts(A), model.residuals(A) ** 2, cell, predicted


@dataclass(frozen=True)
class RowModel:
    """A fitted plane with the variances in it and off it.

    Attributes
    ----------
    mean : ndarray of shape (d,)
    components, dual : ndarray of shape (k, d) and (d, k)
    precisions : ndarray of shape (k,)
        One over the variances; zero for a component without variance.
    noise : ndarray of shape (d,)
        Variances of the columns off the plane.
    weights, inner : ndarray of shape (d, k) and (k, k)
        G and the inverse of L, see above.
    """

    mean: Array
    components: Array
    dual: Array
    precisions: Array
    noise: Array
    weights: Array
    inner: Array

    @classmethod
    def of(cls, pca: Any) -> RowModel:
        """From the fitted attributes of an estimator."""
        C, given, ratio, mean = (
            to_numpy(part).astype(np.float64)
            for part in (
                getattr(pca, "judging_components_", pca.components_),
                pca.explained_variance_,
                pca.explained_variance_ratio_,
                pca.mean_,
            )
        )
        values = np.minimum(judging_scales(pca), np.sqrt(np.finfo(np.float64).max)) ** 2
        # The components hold this share of the total; what the plane leaves is noise in other directions.
        share, off = float(ratio.sum()), max(C.shape[1] - len(C), 1)
        total = float(given.sum()) / share if share > 0 else 0.0
        noise = max(total - float(values.sum()), 0.0) / off
        live = values > 1e-20 * values.max(initial=0.0)
        precisions = np.where(live, 1.0 / np.where(live, values, 1.0), 0.0)
        floor = 1e-12 * float(values.sum()) / C.shape[1]  # rows exactly on a plane have no noise
        least = float(np.finfo(np.float64).tiny)
        relative = to_numpy(getattr(pca, "noise_ratio_", np.ones(C.shape[1]))).astype(np.float64)
        psi = np.maximum(max(noise, floor, least) * relative, least)
        dual, weights = np.linalg.pinv(C), weighted_dual(C, relative)
        return cls(mean, C, dual, precisions, psi, weights, _inner(precisions, psi, dual, weights))

    def score_parts(self, A: Array) -> Array:
        """What each cell adds to SD^2; the parts may be negative, and sum to it."""
        return np.asarray(A * (((A @ self.dual) * self.precisions) @ self.dual.T))

    def residuals(self, A: Array) -> Array:
        """What the plane leaves of the rows; the squares sum to OD^2."""
        return np.asarray(A - (A @ self.dual) @ self.components)

    def tempered(self, A: Array) -> Array:
        """Factor of H for every row: one, and less for rows far out in the plane.

        Their scores are not those of the model, and the prediction of a cell
        must not draw the row to the middle.
        """
        squares: Array = np.asarray(self.score_parts(A).sum(axis=1))
        live = max(int(np.count_nonzero(self.precisions)), 1)
        usual = float(chdtri(live, 1 - CELL_LEVEL))
        return np.asarray(usual / np.maximum(squares, usual))

    @property
    def off(self) -> Array:
        """Share of the noise of every cell that is off the plane; zero for a column that is a component."""
        left = 1.0 - (self.weights * self.components.T).sum(axis=1)
        return np.where(left > 1.0 - MOST_LEVERAGE, left, 0.0)

    def weighed(self, A: Array) -> Array:
        """A M."""
        scores = A @ self.weights
        off = np.where(self.off > 0, A - scores @ self.components, 0.0) / self.noise
        return np.asarray((self.tempered(A)[:, None] * (scores @ self.inner)) @ self.weights.T + off)

    def precision_columns(self, index: Array, temper: float = 1.0) -> Array:
        """M[:, index]."""
        inside = temper * (self.weights @ self.inner) @ self.weights[index].T
        off = -self.components.T @ self.weights[index].T
        off[index, np.arange(len(index))] += 1.0
        return np.asarray(inside + off / self.noise[:, None])

    def diagonals(self, A: Array) -> Array:
        """Diagonal of M for every row; infinite for a cell that may have any value.

        That is one of a column that is a component without variance, such as
        one that judges nobody: it is as it is expected to be.
        """
        inside = ((self.weights @ self.inner) * self.weights).sum(axis=1)
        told = inside * self.noise + self.off > NOTHING
        return np.where(told, self.tempered(A)[:, None] * inside + self.off / self.noise, np.inf)

    def predicted(self, A: Array) -> tuple[Array, Array]:
        """Standardized differences between the cells and their predictions, and the predictions."""
        weighed, diagonal = self.weighed(A), self.diagonals(A)
        return weighed / np.sqrt(diagonal), self.mean + A - weighed / diagonal

    def without(self, a: Array, removed: list[int]) -> tuple[Array, Array]:
        """As `predicted` for one row, whose cells `removed` are taken as missing."""
        weighed, diagonal = self.weighed(a[None])[0], self.diagonals(a[None])[0]
        if removed:
            index = np.array(removed)
            columns = self.precision_columns(index, float(self.tempered(a[None])[0]))
            solved = np.linalg.solve(columns[index], np.column_stack([weighed[index], columns.T]))
            weighed = weighed - columns @ solved[:, 0]
            left = diagonal - (columns * solved[:, 1:].T).sum(axis=1)
            # What only the removed cells told of may have any value now.
            diagonal = np.where(left > ROUNDING * diagonal, left, np.inf)
        z, prediction = weighed / np.sqrt(diagonal), self.mean + a - weighed / diagonal
        z[removed] = 0.0
        return z, prediction

    def repaired(self, a: Array, removed: list[int]) -> tuple[Array, Array]:
        """As `predicted` for one row, all cells by those that are not `removed`."""
        z, prediction = self.without(a, removed)
        for c in removed:
            others = self.without(a, [other for other in removed if other != c])
            z[c], prediction[c] = others[0][c], others[1][c]
        return z, prediction


def _inner(precisions: Array, noise: Array, dual: Array, weights: Array) -> Array:
    """Inverse covariance of the scores of generalized least squares, from that of the ordinary ones.

    The signal is the same in both, and the noise D' Psi D of the ordinary ones
    is larger; what is left is not less than the noise of the others.
    """
    size = np.sqrt(precisions)
    ordinary, other = (((W * size).T * noise) @ (W * size) for W in (dual, weights))
    if not np.isfinite(ordinary).all():  # variances beyond the largest number
        return np.diag(precisions)
    shares, axes = np.linalg.eigh(ordinary - other)
    live = precisions > 0
    least = float(np.linalg.eigvalsh(other[np.ix_(live, live)]).min(initial=1.0))
    turned = size[:, None] * axes
    return np.asarray((turned / np.maximum(1.0 - shares, least)) @ turned.T)


def suspect_cells(model: RowModel, row: Array, limit: float, most: int) -> list[int]:
    """Cells to repair one after the other, the worst first, until no other is beyond the limit.

    Parameters
    ----------
    model : RowModel
    row : ndarray of shape (d,)
    limit : float
        Largest standardized difference of a regular cell.
    most : int
        Largest number of cells.

    Returns
    -------
    list of int
        Columns.
    """
    removed: list[int] = []
    while len(removed) < min(most, len(row) - 1):
        z = np.abs(model.without(row - model.mean, removed)[0])
        worst = int(np.argmax(z))
        if z[worst] <= limit:
            break
        removed.append(worst)
    return removed
