"""Which columns make a row unusual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .diagnostics import Diagnostics, Flag

__all__ = ["Unusual", "unusual"]

Array = NDArray[Any]

#: Columns named for a row.
N_UNUSUAL = 3
#: Rows behind the spread of the residuals; more would not change what is named.
N_SPREAD = 5000
#: Fewer rows than this (new ones in an old model) tell nothing about the spread of each column.
LEAST_ROWS = 10

#: Deviations from the center whose squares are no numbers; such rows are described in a unit of their own.
LARGE = 1e100

#: Columns that explain at least this part of what the best one explains are told apart by their values.
TIED = 0.99
#: Smallest share of the squared distance for which a column is named beside the first one.
WORTH_NAMING = {"residual": 0.05, "score": 0.005}


@dataclass(frozen=True)
class Unusual:
    """The columns in which rows are most unusual, the most unusual first.

    Attributes
    ----------
    by_score : ndarray of bool of shape (m,)
        Whether `values` are shares, between 0 and 1, of what columns add to the
        squared score distance; otherwise they are residuals in units of their robust spread.
    columns : ndarray of int of shape (m, min(3, d))
    values : ndarray of shape (m, min(3, d))
        NaN where a column adds too little to be named; never the first.
    spread : ndarray of shape (d,)
        Robust spread of the residuals of each column.
    """

    by_score: Array
    columns: Array
    values: Array
    spread: Array

    def first(self, count: int) -> Unusual:
        """Those of the first rows."""
        return Unusual(self.by_score[:count], self.columns[:count], self.values[:count], self.spread)


def unusual(pca: Any, data: Array, found: Diagnostics, rows: Array, cells: Array | None = None) -> Unusual:
    """The most unusual columns of some rows.

    Of a row off the subspace that is the column which, set right, takes most
    of the residuals with it, these being measured in the robust spread of each
    column; then the same for what is left. A single wrong cell leaves
    residuals in all columns that the components tie to its own, and is still
    found, because no other column explains the whole of them; where several do
    (two columns along a line), it is the one with the wilder value. Of a row that is
    far out inside the subspace, those that add most to the squared score
    distance. A regular row is described by the distance nearer to its limit.

    Parameters
    ----------
    pca : fitted estimator with mean_, components_ and explained_variance_
    data : ndarray of shape (n, d)
        Rows as the estimator sees them.
    found : Diagnostics
        Of all of them.
    rows : ndarray of int of shape (m,)
        Which rows to describe.
    cells : ndarray of shape (n, d), optional
        What a method that judges cells says about each, in deviations; NaN
        where one is missing. Such a method has repaired the bad cells in
        `data`, so that these would be the last to be named.

    Returns
    -------
    Unusual
    """
    W, mean = (np.asarray(part, dtype=np.float64) for part in (pca.components_, pca.mean_))
    dual = np.linalg.pinv(W)
    variances = np.asarray(pca.explained_variance_, dtype=np.float64)
    live = variances > 1e-20 * variances.max(initial=0.0)
    precision = np.divide(1.0, variances, out=np.zeros_like(variances), where=live)
    spread, usual = _spreads(data, found, mean, dual, W)
    top = min(N_UNUSUAL, len(mean))
    by_score = _nearer_to_score_limit(found)[rows]
    columns = np.empty((len(rows), top), dtype=np.int64)
    values = np.empty((len(rows), top))
    step = max(64, (1 << 20) // len(mean))
    for begin in range(0, len(rows), step):
        block = slice(begin, begin + step)
        inside = by_score[block]
        A = data[rows[block]].astype(np.float64) - mean
        size = np.abs(A).max(axis=1, initial=0.0, keepdims=True)
        size = np.where(size > LARGE, size, 1.0)
        A /= size
        T = A @ dual
        part = columns[block], values[block]
        off = (
            _by_residual(A[~inside], T[~inside], W, dual, spread, usual, top)
            if cells is None
            else _by_cell(cells[rows[block]][~inside], top)
        )
        missing = None if cells is None else np.isnan(cells[rows[block]][inside])
        for chosen, described in (
            (inside, _by_score(A[inside], T[inside] * precision, dual, top, missing)),
            (~inside, off),
        ):
            for target, what in zip(part, described):
                target[chosen] = what
        with np.errstate(over="ignore"):
            sized = np.where(inside[:, None], values[block], values[block] * size)
        values[block] = np.clip(sized, -np.finfo(np.float64).max, np.finfo(np.float64).max)
    return Unusual(by_score, columns, values, spread)


def _by_score(A: Array, weighted: Array, dual: Array, top: int, missing: Array | None) -> tuple[Array, Array]:
    """The columns with the largest shares of the squared score distance, of those that are not missing.

    What a column adds may be negative, and the others together add more than
    the whole then. Shares are of all that is added.
    """
    added = np.maximum(A * (weighted @ dual.T), 0.0)
    shares = added / np.maximum(added.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    if missing is not None:  # what stands there comes from the other columns
        shares[missing & ~missing.all(axis=1, keepdims=True)] = -np.inf
    columns = np.argsort(-shares, axis=1, kind="stable")[:, :top]
    values = np.take_along_axis(shares, columns, axis=1)
    values[:, 1:][values[:, 1:] < WORTH_NAMING["score"]] = np.nan
    return columns, values


def _by_cell(residuals: Array, top: int) -> tuple[Array, Array]:
    """The columns with the worst cells."""
    Z = np.nan_to_num(np.asarray(residuals, dtype=np.float64))
    columns = np.argsort(-np.abs(Z), axis=1, kind="stable")[:, :top]
    values = np.take_along_axis(Z, columns, axis=1)
    largest = np.maximum(np.abs(Z).max(axis=1, keepdims=True, initial=0.0), np.finfo(np.float64).tiny)
    shares = (Z / largest) ** 2
    named = (values / largest) ** 2 > WORTH_NAMING["residual"] * shares.sum(axis=1, keepdims=True)
    values[:, 1:][~named[:, 1:]] = np.nan
    return columns, values


def _by_residual(
    A: Array, T: Array, W: Array, dual: Array, spread: Array, usual: Array, top: int
) -> tuple[Array, Array]:
    """The columns whose change explains most of the residuals z = (a - t W) / spread, one after the other.

    A change of one column j alone leaves the residual r_j = M_j / spread, M
    being I - dual W. The part of z that it explains is (z . r_j)^2 / |r_j|^2,
    at most |z|^2, and equal to it where column j alone is wrong.
    """
    h = np.einsum("ij,ji->i", dual, W)
    tied = np.einsum("ik,kl,il->i", dual, (W / spread**2) @ W.T, dual)
    lengths = np.maximum((1.0 - 2.0 * h) / spread**2 + tied, 0.0)
    # A column that all but is a component leaves nothing but rounding errors.
    free = np.flatnonzero(1.0 - h > 1e-9)
    columns = np.zeros((len(A), top), dtype=np.int64)
    values = np.full((len(A), top), np.nan)
    values[:, 0] = 0.0
    if not len(free):
        return columns, values
    Z, every, wild = (A - T @ W) / spread, np.arange(len(A)), (np.abs(A) / usual)[:, free]
    whole = np.maximum((Z * Z).sum(axis=1), np.finfo(np.float64).tiny)
    for rank in range(top):
        Y = Z / spread
        along = (Y - (Y @ W.T) @ dual.T)[:, free]
        explained = along**2 / np.maximum(lengths[free], np.finfo(np.float64).tiny)
        most = explained.max(axis=1, keepdims=True)
        best = np.where(explained >= TIED * most, wild, -1.0).argmax(axis=1)
        j, gain = free[best], explained[every, best]
        columns[:, rank] = j
        named = np.full(len(Z), True) if rank == 0 else gain > WORTH_NAMING["residual"] * whole
        values[named, rank] = Z[every, j][named]
        change = along[every, best] / np.maximum(lengths[j], np.finfo(np.float64).tiny)
        left = -(dual[j] @ W) / spread
        left[every, j] += 1.0 / spread[j]
        Z -= change[:, None] * left
    return columns, values


def _nearer_to_score_limit(found: Diagnostics) -> Array:
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # exact fits have limits of zero
        nearer = (
            found.score_distances / found.cutoffs.score
            > found.orthogonal_distances / found.cutoffs.orthogonal
        )
    return np.asarray((found.flags == Flag.GOOD_LEVERAGE) | ((found.flags == Flag.REGULAR) & nearer))


def _spreads(data: Array, found: Diagnostics, mean: Array, dual: Array, W: Array) -> tuple[Array, Array]:
    """Robust spreads of each column's residuals and values; of regular rows while these are most."""
    pool = np.flatnonzero(found.flags == Flag.REGULAR)
    if 2 * len(pool) < len(data):
        pool = np.arange(len(data))
    if len(pool) > N_SPREAD:
        pool = np.random.default_rng(0).choice(pool, N_SPREAD, replace=False)
    A = data[pool].astype(np.float64) - mean
    E = A - (A @ dual) @ W
    if len(pool) < LEAST_ROWS and found.cutoffs.orthogonal > 0:
        # The limit of the fit, as if every column had the same part in it.
        even = np.full(len(mean), found.cutoffs.orthogonal / np.sqrt(max(1, len(mean) - len(W))))
        return even, even
    largest = max(float(np.abs(A).max()), float(np.abs(mean).max()))  # rows may all be the same
    return _mad(E, largest), _mad(A, largest)


def _mad(E: Array, largest: float) -> Array:
    spread = 1.4826 * np.median(np.abs(E - np.median(E, axis=0)), axis=0)
    # A column that the subspace fits exactly has no spread; rounding errors in it are not unusual.
    floor = max(1e-3 * float(np.median(spread)), 1e-12 * largest, 1e-150)  # whose square is a number
    return np.asarray(np.maximum(spread, floor))
