"""Where a cellwise fit starts: cells predicted from the others, then rows judged once they are repaired.

A cell is predicted by the leading singular vectors of data whose wild cells are
cut, its own value left out. More vectors than components are used: those of bad
rows have to be among them, or a cluster of bad rows would be taken for bad
cells, repaired and trusted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..statistics import majority_share, subsample, truncated_normal
from .cell_levels import Levels
from .cellwise import (
    CELL_CUTOFF,
    CellLoss,
    CellPlane,
    Cells,
    minimize_cell_loss,
    orthonormal,
    residual_variances,
    solve_scores,
    standardized,
    usual_scale,
)

Array = NDArray[Any]

#: Singular vectors beyond the components, for what bad rows have in common.
EXTRA = 2
#: Components that are allowed for where their number is not given.
GUESS = 10
#: Deviations from the prediction beyond which a cell is put aside while predictions are made ...
ASIDE = 3.0
#: ... which are those of the column itself at first, and from round to round by this factor less, down to
#: those of the prediction: where columns nearly determine each other these are tiny, the first predictions
#: are worse by far, and all cells of a row with one bad cell would be put aside, never to come back.
TIGHTER = 0.7
#: Deviations beyond which a cell is repaired before the rows are judged.
REPAIR = 2.5
#: Rounds of prediction and of repair beyond those that tighten.
ROUNDS, PASSES = 10, 4
#: Share of wild cells in a column that asks for a second start, and so many times less it is to leave.
MANY, BY_FAR = 0.25, 2.0
#: Least share of the deviations from the prediction that is noise: a component that follows a single
#: column would leave none.
UNEXPLAINED = 0.7
#: Window, in deviations, of the mode of a column: narrower ones are not stable, wider ones biased.
WINDOW = 2.25
#: Halves of a sample within that factor are as short as each other, as those of counts: the first is taken.
TIED = 1.0 + 1e-9
#: Number of values at which the first scale of a mode is twice that of many, and the most times it may be.
CLUMPS, LONGEST = 40.0, 4.0
#: Cells of each column that the start learns from, if it has so many: the scale of fewer is a matter of luck.
LEAST_CELLS = 40


@dataclass(frozen=True)
class RowChoice:
    """What the rowwise method says of repaired rows: a plane and the rows to trust."""

    center: Array
    V: Array
    trusted: Array
    accepts: Callable[[Array], Array]


@dataclass(frozen=True)
class CellStart:
    """Units, plane and rows to start from.

    Attributes
    ----------
    location, unit : ndarray of shape (d,)
        Cells are used as (x - location) / unit.
    plane : CellPlane
    scores : ndarray of shape (n, k)
    rows : ndarray of bool of shape (n,)
    vectors : ndarray of shape (d, v)
        Directions, in units of the data, in which the cells of all rows go together, bad rows among them.
    least : ndarray of shape (d,)
        Units that cannot be smaller, or common values would be bad cells.
    """

    location: Array
    unit: Array
    plane: CellPlane
    scores: Array
    rows: Array
    vectors: Array
    least: Array


def usable_rows(mask: Array, n_components: int | None) -> Array:
    """Indices of the rows with cells enough to be fitted by so many components, or by one at least."""
    return np.flatnonzero(mask.sum(axis=1) > min(n_components or 1, mask.shape[1] - 1))


def start_sample(mask: Array, most: int, usable: Array, rng: np.random.RandomState) -> Array:
    """Rows that the start learns from: at most so many, and further ones where these hardly show a column.

    Of a column that few rows of a long table have, a draw of rows may hold no cell at all. Rows that are
    not usable would all be predicted alike, and be a majority that agrees with itself.
    """
    sample = usable[subsample(len(usable), most, rng)]
    for j in np.flatnonzero(mask[sample].sum(axis=0) < LEAST_CELLS):
        seen = usable[mask[usable, j]]
        if not len(seen):
            seen = np.flatnonzero(mask[:, j])
        sample = np.union1d(sample, seen[subsample(len(seen), LEAST_CELLS)])
    return sample


def column_modes(A: Array, mask: Array, window: float = WINDOW) -> tuple[Array, Array]:
    """Location and scale of the main mode of every column, consistent at the normal distribution.

    From the shortest half on: mean and standard deviation, corrected for the
    truncation, of the values within `window` scales. The start is a scale that
    is rather too small, as the iteration stops at the first mode it meets; a
    median absolute deviation would begin above that of the good cells.

    Parameters
    ----------
    A : ndarray of shape (n, d)
    mask : ndarray of bool of shape (n, d)
        At least one observed value in each column.
    window : float

    Returns
    -------
    location, scale : ndarray of shape (d,)
    """
    n, d = A.shape
    S = np.sort(np.where(mask, A, np.inf), axis=0)
    m, each = mask.sum(axis=0), np.arange(d)
    half = np.minimum(m // 2 + 1, m)
    last = np.arange(n)[:, None] + half - 1
    with np.errstate(invalid="ignore"):
        length = np.take_along_axis(S, np.minimum(last, n - 1), axis=0) - S
    length = np.where(last < m, length, np.inf)
    first = np.argmax(length <= length.min(axis=0) * TIED, axis=0)
    radius = 0.5 * length[first, each]
    location = S[first, each] + radius
    scale = radius * _first(m)
    for _ in range(20):
        near = mask & (np.abs(A - location) <= window * scale)
        total = np.maximum(near.sum(axis=0), 1)
        location = np.where(near, A, 0.0).sum(axis=0) / total
        before, scale = scale, _truncated_deviation(np.where(near, A - location, 0.0), total, window)
        if np.all(np.abs(scale - before) <= 1e-3 * before):
            break
    return location, scale


def residual_scales(R: Array, mask: Array, window: float = 2.5) -> Array:
    """Scale about zero of the residuals of every column, as in `column_modes`."""
    size = np.sort(np.where(mask, np.abs(R), np.inf), axis=0)
    m, each = mask.sum(axis=0), np.arange(R.shape[1])
    scale = size[np.maximum(m - 1, 0) // 2, each] * _first(m)
    for _ in range(20):
        near = mask & (np.abs(R) <= window * scale)
        total = np.maximum(near.sum(axis=0), 1)
        before, scale = scale, _truncated_deviation(np.where(near, R, 0.0), total, window)
        if np.all(np.abs(scale - before) <= 1e-3 * before):
            break
    return scale


def _first(count: Array) -> Array:
    """First scale over the half-length of the half of a sample.

    Half of that of a normal sample where there are many values. Of few ones the half is short by chance, and
    has clumps of its own that the iteration would stop at.
    """
    longer = np.minimum(1.0 + (CLUMPS / np.maximum(count, 1)) ** 2, LONGEST)
    return np.asarray(longer / float(ndtri(0.5 + 0.5 * majority_share(0.5))))


def _truncated_deviation(A: Array, count: Array, window: float) -> Array:
    correction = 1.0 / truncated_normal(window)[1]
    return np.asarray(np.sqrt(correction * (A * A).sum(axis=0) / count))


@dataclass(frozen=True)
class Predictor:
    """Cells from the other cells of their row, by shrunken singular vectors.

    With B = (Y - center)/unit and the fit F = B V diag(shrinkage) V' the
    prediction without the cell itself is Y - unit (B - F)/(1 - leverage). The
    units are those of the noise: in units of the columns one that is all noise
    would be a vector of its own.
    """

    center: Array
    unit: Array
    V: Array
    shrinkage: Array
    leverage: Array
    shift: Array
    scale: Array

    @classmethod
    def of(cls, Y: Array, n_vectors: int, unit: Array | float = 1.0) -> Predictor:
        """From complete data; `shift` and `scale` are still to be found."""
        n, d = Y.shape
        center, unit = Y.mean(axis=0), np.full(d, unit)
        B = (Y - center) / unit
        V, variances = _leading(B, n_vectors)
        rest = max(d - n_vectors, 1) * max(1.0 - n_vectors / n, 1.0 / n)
        noise = max((float((B * B).sum()) / n - float(variances.sum())) / rest, 1e-12)
        shrinkage = singular_shrinkage(variances / noise, n, d)
        leverage = np.minimum((V * V) @ shrinkage, 0.99)
        return cls(center, unit, V, shrinkage, leverage, np.zeros(d), np.ones(d))

    def predict(self, Y: Array) -> Array:
        B = (Y - self.center) / self.unit
        B -= ((B @ self.V) * self.shrinkage) @ self.V.T
        return Y - B * (self.unit / (1.0 - self.leverage)) + self.shift

    def put_aside(self, Z: Array, mask: Array, Y: Array, least: float = 0.0) -> tuple[Array, Array]:
        """Predictions from Y, or from all cells as they are where that puts fewer of a row aside; which ones.

        Cells far out that belong together, as those of a row with large scores, are cut in Y. No limit is
        smaller than one of `least` as scale.
        """
        P, limit = self.predict(Y), ASIDE * np.maximum(self.scale, least)
        aside = mask & (np.abs(Z - P) > limit)
        rows = np.flatnonzero(aside.any(axis=1))
        given = mask[rows]
        other = self.predict(np.where(given, Z[rows], P[rows]))
        fewer = given & (np.abs(Z[rows] - other) > limit)
        better = fewer.sum(axis=1) < aside[rows].sum(axis=1)
        P[rows[better]], aside[rows[better]] = other[better], fewer[better]
        return P, aside

    @property
    def tightening(self) -> int:
        """Rounds until the limits are those of the predictions."""
        return int(np.ceil(np.log(max(float(np.median(self.scale)), 1e-7)) / np.log(TIGHTER)))

    def repair(self, Z: Array, mask: Array) -> tuple[Array, Array]:
        """Predictions of all cells, and flags of those far from them, for rows that may be new."""
        Y = _cut(Z, mask)
        for i in range(max(PASSES, self.tightening + PASSES // 2)):
            P, aside = self.put_aside(Z, mask, Y, TIGHTER**i)
            Y = np.where(mask & ~aside, Z, P)
        return P, mask & (np.abs(Z - P) > REPAIR * self.scale)


def singular_shrinkage(ratios: Array, n: int, d: int) -> Array:
    """What of a singular vector is signal, least squares optimal (Gavish and Donoho 2017).

    Without it the largest vectors of pure noise would predict: of 100 rows of
    200 columns they hold several times the variance of the others.

    Parameters
    ----------
    ratios : ndarray of shape (k,)
        Variances along the vectors over that of the noise.
    n, d : int
        Shape of the data.

    Returns
    -------
    ndarray of shape (k,)
        Zero for vectors that noise explains.
    """
    beta, y2 = min(n, d) / max(n, d), ratios * n / max(n, d)
    root = np.sqrt(np.maximum((y2 - beta - 1.0) ** 2 - 4.0 * beta, 0.0))
    return np.where(y2 > (1.0 + np.sqrt(beta)) ** 2, root / np.maximum(y2, 1e-300), 0.0)


def _leading(B: Array, k: int) -> tuple[Array, Array]:
    """Leading right singular vectors and the variances along them."""
    n, d = B.shape
    if d <= n:
        values, E = np.linalg.eigh(B.T @ B)
        V = E[:, ::-1][:, :k]
    else:
        values, E = np.linalg.eigh(B @ B.T)
        V = np.linalg.qr(B.T @ E[:, ::-1][:, :k])[0]
    return V, np.maximum(values[::-1][:k], 0.0) / n


def _cut(Z: Array, mask: Array) -> Array:
    """Standardized cells with the Tl1 weight of their size: wild ones are near zero."""
    weights = CellLoss.cell_weights(Z * (3.5 / 2.5), mask)
    return np.where(mask, Z * weights, 0.0)


def predict_cells(Z: Array, mask: Array, n_vectors: int, least: Array | float = 1e-7) -> Predictor:
    """The predictor of standardized data: cells far off give way to their prediction, in turn.

    Wild cells are cut to begin with. Where they are many in a column its mode
    may be that of one group of good rows among several: then all cells as
    they are may predict better, by far.
    """
    first = _predictor_from(_cut(Z, mask), Z, mask, n_vectors, least)
    wild = (mask & (np.abs(Z) > ASIDE)).sum(axis=0) > MANY * mask.sum(axis=0)
    if not wild.any():
        return first
    other = _predictor_from(np.where(mask, Z, 0.0), Z, mask, n_vectors, least)
    limit = ASIDE * np.minimum(first.scale, other.scale)
    far, far_of_other = (
        np.count_nonzero(mask & (np.abs(Z - p.repair(Z, mask)[0]) > limit)) for p in (first, other)
    )
    return other if BY_FAR * far_of_other < far else first


def _predictor_from(Y: Array, Z: Array, mask: Array, n_vectors: int, least: Array | float) -> Predictor:
    """From complete cells Y to begin with."""
    aside, unit, i, tight = None, np.ones(Z.shape[1]), 0, False
    while i < ROUNDS or not tight:
        predictor = Predictor.of(Y, n_vectors, unit)
        shift, scale = column_modes(Z - predictor.predict(Y), mask)
        scale = np.clip(scale, least, 1.0)  # no prediction is worse than the column itself
        predictor = replace(predictor, shift=shift, scale=scale)
        if i < 3:
            unit = np.maximum(scale, 0.1 * usual_scale(scale))
        before = aside
        P, aside = predictor.put_aside(Z, mask, Y, TIGHTER**i)
        Y = np.where(mask & ~aside, Z, P)
        i, tight = i + 1, i >= predictor.tightening
        if before is not None and tight and np.mean(before != aside) < 0.002:
            break
    return predictor


def start_cells(
    X: Array,
    mask: Array,
    sample: Array,
    levels: Levels,
    n_components: int | None,
    choose_rows: Callable[[Array, Array], RowChoice],
) -> CellStart:
    """Units, plane and rows for the iteration.

    Units, predictions and the plane come from the rows of the sample; the
    others are repaired and judged by what was learned.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        With zeros where cells are missing.
    mask : ndarray of bool of shape (n, d)
    sample : ndarray of int
        Rows to learn from.
    levels : Levels
        Common values of the columns.
    n_components : int or None
    choose_rows : callable
        The rowwise method: complete rows in units of the noise, and the mask of cells that are not repaired.

    Returns
    -------
    CellStart
    """
    n, d = X.shape
    location, spread = column_modes(X[sample], mask[sample])
    least = levels.reach(location) / (0.9 * CELL_CUTOFF)  # predictions lie about the location
    spread = np.maximum(_usable(spread, X[sample], mask[sample], location), least)
    Z = standardized(X[sample], mask[sample], location, spread)
    # Nearly as many vectors as columns would predict every cell from the noise of the others.
    vectors = (max(1, min(GUESS, d // 3)) if n_components is None else n_components) + EXTRA
    vectors = max(1, min(vectors, len(sample) - 1, d - 1))
    predictor = predict_cells(Z, mask[sample], vectors, np.maximum(least / spread, 1e-7))
    least = np.maximum(least, UNEXPLAINED * spread * predictor.scale)
    noise = predictor.scale * np.sqrt(1.0 - predictor.leverage)
    noise = np.maximum(noise, np.maximum(least / spread, 0.3 * usual_scale(noise)))
    unit = spread * noise
    Y, flags = _repaired(predictor, Z, mask[sample])
    given = mask[sample] & ~(flags & ~_lost(flags, mask[sample])[:, None])
    choice = choose_rows(Y / noise, given)
    rows = np.zeros(n, dtype=bool)
    rows[sample] = choice.trusted & ~_lost(flags, mask[sample])
    scores = np.zeros((n, choice.V.shape[1]))
    if len(sample) < n:
        for part in Cells(X, mask).blocks():
            Z = standardized(X[part], mask[part], location, spread)
            Y, flags = _repaired(predictor, Z, mask[part])
            rows[part] = choice.accepts(Y / noise) & ~_lost(flags, mask[part])
            scores[part] = _first_scores(Z / noise, mask[part] & ~flags, choice)
    else:
        scores = _first_scores(Z / noise, mask & ~flags, choice)
    rows &= mask.sum(axis=1) > min(choice.V.shape[1], d - 1)
    if np.count_nonzero(rows) <= choice.V.shape[1]:  # nothing can be trusted: all that can be used
        rows = mask.sum(axis=1) > min(choice.V.shape[1], d - 1)
    plane, scores = orthonormal(choice.center, choice.V, scores, rows)
    together = (spread * predictor.unit)[:, None] * predictor.V[:, predictor.shrinkage > 0]
    return CellStart(location, unit, plane, scores, rows, together, least)


def _first_scores(Z: Array, good: Array, choice: RowChoice) -> Array:
    return solve_scores(Z - choice.center, good.astype(np.float64), choice.V)


def _usable(spread: Array, X: Array, mask: Array, location: Array) -> Array:
    """Scales of columns; the mean deviation where most values are equal, one where all are."""
    mean = np.where(mask, np.abs(X - location), 0.0).sum(axis=0) / mask.sum(axis=0)
    spread = np.where(spread > 1e-12 * mean, spread, mean)
    return np.where(spread > 0, spread, 1.0)


def _lost(flags: Array, mask: Array) -> Array:
    """Rows of which more than half would have to be repaired: no row at all."""
    return flags.sum(axis=1) > 0.5 * mask.sum(axis=1)


def _repaired(predictor: Predictor, Z: Array, mask: Array) -> tuple[Array, Array]:
    """Complete rows with their bad cells predicted, but lost rows as they are."""
    P, flags = predictor.repair(Z, mask)
    replace = flags & ~_lost(flags, mask)[:, None]
    return np.where(mask & ~replace, Z, P), flags


def settle_units(cells: Cells, start: CellStart, tol: float) -> CellStart:
    """A first iteration, and the scale of its residuals as the unit of each column.

    The values of the cells are turned to the new units in place. A column may
    gain or lose a factor of two by that, no more: a component that follows a
    single column leaves no residual there.
    """
    fit = minimize_cell_loss(cells, start.plane, start.scores, start.rows, max_iter=4, tol=tol)
    plane, U = fit.plane, fit.scores
    R = cells.values - plane.center - U @ plane.V.T
    R /= np.sqrt(residual_variances(CellLoss.cell_weights(R, cells.mask), plane.V))
    used = cells.mask[start.rows]
    # Each column is fitted by its own loadings and center, which take k + 1 of its residuals.
    free = np.maximum(used.sum(axis=0), 1.0)
    scale = residual_scales(R[start.rows], used) * np.sqrt(free / np.maximum(free - U.shape[1] - 1, 1.0))
    middle = usual_scale(scale)
    factor = np.clip(scale, 0.5 * middle, 2.0 * middle)
    factor = np.maximum(factor, start.least / start.unit)
    plane, U = orthonormal(plane.center / factor, plane.V / factor[:, None], U, start.rows)
    cells.values[...] /= factor
    return replace(start, unit=start.unit * factor, plane=plane, scores=U)
