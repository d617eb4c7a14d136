"""TL1CellPCA: bad cells, bad rows and missing values together."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .. import diagnostics
from .._arrays import asarray_like, compat, double, namespace, to_numpy
from ..rows import Rows, finite_max_abs, mask_missing
from ..solvers.cell_fit import CellModel, CellSolution, fit_cells
from ..solvers.cell_rows import Common, row_cutoffs
from ..solvers.cell_start import start_sample, usable_rows
from ..solvers.cellwise import CELL_CUTOFF, CellAssessment, CellPlane, Cells, principal_axes
from ._base import product, signed_rows
from ._callbacks import reporting_to_callbacks, with_callbacks
from ._fitted import Fitted, all_or_nothing
from ._input import is_foreign, open_data, open_new
from ._prediction import OutlierPCA
from ._repaired import RepairedRowsPCA

Array = NDArray[Any]

#: Rows that the start works on; with more of them all rows join at the end.
START_ROWS = 2000


class TL1CellPCA(OutlierPCA):
    r"""Robust PCA of tables with bad cells, bad rows and missing cells, all at once.

    A wrong entry spoils a row for a method that judges rows: 5 % of bad cells touch
    half of the rows of 20 columns. Here each cell is judged in its row, and each row by its
    good cells. With residuals r in units of the noise of each column, and m the observed cells,

    .. math:: \sum_i m_i\, h(t_i / S),\qquad
              t_i^2 = \frac{1}{m_i} \sum_j m_{ij}\, h(r_{ij}/c),\qquad h(u) = \frac{u^2}{1+u^2}

    is minimized, the Tl1 operator of the square for cells inside that for rows.

    1. Every cell is predicted from the other cells of its row; cells far from
       their prediction are repaired, for the start only.
    2. `TL1SubspacePCA` of the repaired rows gives a plane and the rows to trust.
    3. Iteratively reweighted least squares over the cells of these rows, first to settle the unit
       of each column, then with units and rows fixed, so that the loss never increases.
    4. Least squares, each cell weighted by the share of good ones among those with residuals of its size.
    5. Cells are judged by their residuals, rows by the distances of the
       repaired row: a bad cell alone makes no bad row.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Dimension of the subspace; a share in (0, 1) as in `TL1SubspacePCA`, of the variance in units of the
        columns; None for as many as predict the cells of the rows that a fit with them trusts.
    breakdown : float, default=0.5
        Share of bad rows to withstand, in (0, 0.5].
    max_iter : int, default=500
        Most iterations of step 3.
    tol : float, default=1e-4
        Relative decrease of the loss at which to stop.
    random_state : int, RandomState or None, default=0
        For `TL1SubspacePCA`, and for the rows of the start when there are more
        than 2000 (or five times the features, up to 5000); a few are added that show columns of few cells.
    verbose : bool, default=False
        Whether to print the objective after every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows in the metric of the data, the largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
    explained_variance_ : ndarray of shape (n_components_,)
        Variances of the scores of the rows in the fit.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Their share of the variance of good cells.
    cell_scales_ : ndarray of shape (n_features,)
        Standard deviation of the noise of each column: the unit of its residuals.
    cell_components_ : ndarray of shape (n_components_, n_features)
        The same subspace in these units, where cells are judged: orthonormal rows.
    cell_variance_ : ndarray of shape (n_components_,)
        Variances of the scores on them.
    cell_tails_ : ndarray of shape (2, n_features)
        Shape g of tails below and above the fit: good cells are (exp(g z) - 1)/g of a normal residual z.
    common_components_ : ndarray of shape (n_common, n_features)
        What bad rows have in common, in the same units: directions off the subspace. A row along one of
        them is bad as a whole, and not for its cells. A single one of zeros where there is nothing.
    common_variance_ : ndarray of shape (n_common,)
        Variances of all rows along them.
    cell_flags_ : ndarray of bool of shape (n_samples, n_features)
        Bad cells of the training rows.
    cell_residuals_ : ndarray of shape (n_samples, n_features)
        In deviations, corrected for leverage and for a long tail of their side; NaN where a cell is missing.
    cell_weights_ : ndarray of shape (n_samples, n_features)
        Weights of the cells inside their rows, 0 where a cell is missing.
    cell_rate_ : float
        Share of bad cells in the rows of the fit.
    usual_residual_ : float
        Median of their squared residuals, as normal scores: about 0, less in tables of grades.
    weights_ : ndarray of shape (n_samples,)
        Weight of each row: 1 in the fit, 0 not.
    score_distances_, orthogonal_distances_ : ndarray of shape (n_samples,)
        Of the repaired rows, in deviations.
    cutoffs_ : Cutoffs
        Largest distances of a regular row, at level 0.99 each.
    flags_ : ndarray of int of shape (n_samples,)
        0 regular, 1 good leverage, 2 orthogonal outlier, 3 bad leverage.
    objective_, objective_path_ : float, list of one ndarray
        The loss of step 3, and its way down.
    n_components_, rank_, n_iter_, n_features_in_ : int
    converged_ : bool

    Notes
    -----
    Each column has its own unit: multiplying one by a number multiplies its
    loadings and changes nothing else. Hence it does not turn with rotations.
    Adding a number to a column moves the mean alone, and up to 2000 rows neither their
    order nor that of the columns is a matter.
    Rows with fewer than n_components + 1 observed cells take no part in the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from tl1pca import TL1CellPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 8)) + 0.1 * rng.normal(size=(100, 8))
    >>> good = X[4, 2]
    >>> X[4, 2], X[7, 5] = -999.0, np.nan
    >>> pca = TL1CellPCA(n_components=2, random_state=0).fit(X)
    >>> bool(pca.cell_flags_[4, 2]), int(pca.flags_[4])
    (True, 0)
    >>> bool(abs(pca.impute(X)[4, 2] - good) < 0.5)
    True
    """

    #: Residual, in deviations, beyond which a cell is bad.
    cell_cutoff = CELL_CUTOFF

    _in_memory = "judges all cells at once"
    _rotates = False
    _takes_missing = True
    _minimizes = True
    _none_keeps = "as many as predict the cells of the rows that a fit with them trusts"
    _fitted: ClassVar[dict[str, Fitted]] = {
        "score_distances_": Fitted(shape="n", least=0),
        "orthogonal_distances_": Fitted(shape="n", least=0),
        "flags_": Fitted(int, "n", least=0, most=3),
        "weights_": Fitted(shape="n", least=0),
        "cell_scales_": Fitted(shape="d", least=0),
        "cell_components_": Fitted(shape="kd"),
        "cell_variance_": Fitted(shape="k", least=0),
        "cell_rate_": Fitted(least=0),
        "usual_residual_": Fitted(),
        "cell_tails_": Fitted(shape="td", least=0),
        "common_components_": Fitted(shape="ed"),
        "common_variance_": Fitted(shape="e", least=0),
        "cell_flags_": Fitted(bool, "nd"),
        "cell_residuals_": Fitted(shape="nd", missing=True),
        "cell_weights_": Fitted(shape="nd", least=0),
    }

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        breakdown: float = 0.5,
        max_iter: int = 500,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.breakdown = breakdown
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        if not isinstance(self.breakdown, Real) or not 0 < self.breakdown <= 0.5:
            raise ValueError(f"breakdown must be a share in (0, 0.5], got {self.breakdown!r}.")
        if not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a positive integer, got {self.max_iter!r}.")
        if not isinstance(self.tol, Real) or not self.tol >= 0:
            raise ValueError(f"tol must be a number from 0 on, got {self.tol!r}.")

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the subspace to the good cells of the good rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN marks a missing cell.
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        with reporting_to_callbacks(self, X, y):
            rows = open_data(self, X).rows
            n, d = rows.shape
            k = self._check_n_components(min(n, d))[0]
            values, mask = rows.gather_rows(np.arange(n)), rows.observed
            mask = np.ones((n, d), dtype=bool) if mask is None else mask
            dtype, threads = values.dtype, rows.threads()
            del rows  # the copy in which missing cells were filled
            with threads:
                self._fit(values.astype(np.float64, copy=False), mask, k, dtype)  # a copy of ours already
        if is_foreign(X):  # it was solved on the host
            xp: Any = namespace(X)
            for name, value in vars(self).items():
                if isinstance(value, np.ndarray) and name != "feature_names_in_":
                    setattr(self, name, xp.asarray(np.array(value, order="C"), device=compat().device(X)))
        return self

    def _fit(self, values: Array, mask: Array, k: int | None, dtype: Any) -> None:
        self._warn_columns(mask)
        # Powers of two, so that no square over- or underflows and nothing is rounded.
        exponents = np.frexp(np.abs(values).max(axis=0))[1]
        np.ldexp(values, -exponents, out=values)
        rng = check_random_state(self.random_state)
        usable = usable_rows(mask, k)
        if len(usable) < max(2, k or 1):
            raise ValueError(
                f"{len(usable)} of {len(mask)} rows have more than {min(k or 1, mask.shape[1] - 1)} observed "
                f"cells, as n_components={self.n_components} needs them, and these are too few: leave out "
                "columns that are mostly missing, or ask for fewer components."
            )
        sample = start_sample(mask, max(START_ROWS, min(5 * values.shape[1], 5000)), usable, rng)
        seed = int(rng.randint(2**31 - 1))

        pca = RepairedRowsPCA(self.n_components, breakdown=self.breakdown, random_state=seed)
        solution = fit_cells(
            values, mask, sample, k, pca.choice, max_iter=int(self.max_iter), tol=float(self.tol)
        )
        self._store(solution, mask, exponents, dtype)
        self._warn_rows(mask)

    def _store(self, solution: CellSolution, mask: Array, exponents: Array, dtype: Any) -> None:
        model, found, rows, plane = solution.model, solution.found, solution.rows, solution.model.plane
        shared = int(exponents.max())
        unit = np.ldexp(model.unit, exponents - shared)
        axes, deviations = principal_axes(unit[:, None] * plane.V, plane.variances)
        variances = deviations**2
        total = float(variances.sum()) + float((unit**2).sum()) * (1.0 - len(variances) / len(unit))
        self.components_ = signed_rows(axes).astype(dtype)
        self.cell_components_ = signed_rows(plane.V).astype(dtype)
        self.cell_variance_ = _fitting(plane.variances, dtype)
        common = model.common if len(model.common.variances) else Common(unit[:, None] * 0.0, np.zeros(1))
        self.common_components_ = common.axes.T.astype(dtype)
        self.common_variance_ = common.variances.astype(dtype)
        self.mean_ = _in_units(model.location + model.unit * plane.center, exponents, dtype)
        scales = _in_units(model.unit, exponents, dtype)
        self.cell_scales_ = np.maximum(scales, np.finfo(dtype).smallest_subnormal)
        factor = float(np.ldexp(1.0, min(shared, 1023)))
        self.explained_variance_ = product(variances, factor, factor, dtype=dtype)
        self.explained_variance_ratio_ = (variances / total if total > 0 else variances).astype(dtype)
        self.n_components_ = k = len(variances)
        self.rank_ = int(np.count_nonzero(variances > 1e-14 * max(total, 1e-300)))
        self.score_distances_ = solution.score_distances
        self.orthogonal_distances_ = solution.orthogonal_distances
        self.cutoffs_ = limits = row_cutoffs(solution.score_distances, solution.orthogonal_distances, rows, k)
        self.flags_ = diagnostics.flags(self.score_distances_, self.orthogonal_distances_, limits)
        self.weights_ = rows.astype(dtype)
        self.cell_rate_ = model.rate
        self.usual_residual_ = model.usual
        self.cell_tails_ = model.tails.astype(dtype)
        self.cell_flags_ = found.flags
        found.residuals[~mask] = np.nan
        self.cell_residuals_ = _fitting(found.residuals, dtype, out=found.residuals)
        self.cell_weights_ = found.weights.astype(dtype, copy=False)
        self.objective_path_ = [np.asarray(solution.path)]
        self.objective_ = float(solution.path[-1])
        self.n_iter_ = max(1, len(solution.path) - 1)
        self.converged_ = solution.converged

    def _warn_columns(self, mask: Array) -> None:
        sparse = np.flatnonzero(mask.sum(axis=0) < 0.5 * len(mask))
        if len(sparse):
            names = getattr(self, "feature_names_in_", np.arange(mask.shape[1]))[sparse[:10]]
            said = [repr(name) for name in names.tolist()]
            warnings.warn(
                f"Fewer than half of the cells of {len(sparse)} columns are observed, which is little to "
                f"judge cells by: {', '.join(said)}{' ...' if len(sparse) > 10 else ''}.",
                UserWarning,
                stacklevel=4,
            )

    def _warn_rows(self, mask: Array) -> None:
        short = int(np.count_nonzero(mask.sum(axis=1) <= min(self.n_components_, mask.shape[1] - 1)))
        if short:
            warnings.warn(
                f"Left out of the fit: {short} of {len(mask)} rows, with fewer than n_components + 1 = "
                f"{self.n_components_ + 1} observed cells.",
                UserWarning,
                stacklevel=4,
            )
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__} did not converge in {self.n_iter_} iterations. "
                "Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ---------------------------------------------------------------- new rows
    def _model(self) -> CellModel:
        """What rows are judged by."""
        names = ["mean_", "cell_scales_", "cell_components_", "cell_variance_"]
        names += ["common_components_", "common_variance_", "cell_tails_"]
        mean, unit, V, variances, axes, size, tails = (
            to_numpy(getattr(self, name)).astype(np.float64) for name in names
        )
        common = Common(axes[size > 0].T, size[size > 0])
        plane = CellPlane(np.zeros(len(unit)), V.T, variances)
        return CellModel(mean, unit, plane, self.cell_rate_, self.usual_residual_, common, tails)

    def _assessed(self, X: Array) -> Iterator[tuple[CellModel, Cells, CellAssessment]]:
        """Blocks of rows: the model, their cells, and what it says of them."""
        model, host = self._model(), to_numpy(X)
        for part in Cells(host, host).blocks():
            cells = model.cells(host[part])
            yield model, cells, model.assess(cells)

    def _scores(self, X: Array) -> Array:
        W, parts = to_numpy(self.components_).astype(np.float64), []
        for model, _, found in self._assessed(X):
            shared = float(model.unit.max())
            turn = W @ ((model.unit / shared)[:, None] * model.plane.V)
            with np.errstate(over="ignore"):
                parts.append((found.scores @ turn.T) * shared)
        return _like(np.concatenate(parts), X)

    def score_samples(self, X: ArrayLike) -> Array:
        """Minus the orthogonal distance of every repaired row, in deviations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return -open_new(self, X, "score_samples").map_blocks(self._row_distances)[1]

    def _given(self, rows: Rows) -> Array:
        """The array of rows with their gaps; an error where an entry is infinite."""
        finite_max_abs(mask_missing(rows), type(self).__name__)
        return rows.array()

    def _by_blocks(self, X: ArrayLike, method: str, answer: Callable[[Array], Array]) -> Array:
        """What a function of rows with their gaps says of X, block by block."""
        return open_new(self, X, method).map_blocks(lambda rows: answer(self._given(rows)))

    def transform(self, X: ArrayLike) -> Array:
        """Scores of the rows of X by a robust fit of each row, which bad and missing cells cannot decide.

        Those of a row with gaps are drawn to the middle by the variances of the components, the more so the
        less its cells say of them, and so is what is imputed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN marks a missing cell.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        return self._by_blocks(X, "transform", self._scores)

    def _row_distances(self, rows: Rows) -> tuple[Array, Array]:
        """`distances` of the rows of a port, for `tl1pca.diagnostics`."""
        given = self._given(rows)
        far = [model.distances(cells, found) for model, cells, found in self._assessed(given)]
        inside, off = (asarray_like(np.concatenate(side), double(given)) for side in zip(*far))
        return inside, off

    def _row_parts(self, X: Array) -> tuple[Array, ...]:
        """What columns add to the distances of rows, the residuals and the fits of their cells."""
        parts = [model.explained(cells, found) for model, cells, found in self._assessed(X)]
        return tuple(np.concatenate(side) for side in zip(*parts))

    def cell_residuals(self, X: ArrayLike) -> Array:
        """Residuals of the cells of X in deviations; those beyond `cell_cutoff`, 3.29, are bad.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            NaN where a cell is missing.
        """
        return self._by_blocks(X, "cell_residuals", self._cell_residuals)

    def _cell_residuals(self, rows: Array) -> Array:
        parts = [np.where(cells.mask, found.residuals, np.nan) for _, cells, found in self._assessed(rows)]
        return _like(np.concatenate(parts), rows)

    def impute(self, X: ArrayLike) -> Array:
        """X with missing and bad cells replaced by the fit of their row, all others untouched.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return self._by_blocks(X, "impute", self._repaired)

    def _repaired(self, rows: Array) -> Array:
        host, parts, begin = to_numpy(rows), [], 0
        for model, cells, found in self._assessed(rows):
            given = host[begin : begin + len(found.scores)]
            parts.append(np.where(cells.mask & ~found.flags, given, model.fitted(found)))
            begin += len(given)
        return _like(np.concatenate(parts), rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _in_units(values: Array, exponents: Array, dtype: Any) -> Array:
    """Values times powers of two."""
    with np.errstate(over="ignore"):
        return _fitting(np.ldexp(values, exponents), dtype)


def _fitting(values: Array, dtype: Any, out: Array | None = None) -> Array:
    """Values in a precision, its largest number where they are larger."""
    info = np.finfo(dtype)
    return np.clip(values, info.min, info.max, out=out).astype(dtype, copy=False)


def _like(values: Array, x: Any) -> Any:
    """Values as an array of the library, device and precision of x."""
    info = namespace(x).finfo(x.dtype)
    return asarray_like(np.clip(values, float(info.min), float(info.max)), x)
