"""By what rows are judged: how many dimensions, which columns, how far off the components they may lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtri

from .._arrays import to_numpy
from ..rows import Lift, Rows
from ..statistics import effective_dimension, main_mode, subsample
from .axes import row_axes
from .leading_span import NOISE_ROWS, noise_variance
from .plane import Plane

Array = NDArray[Any]

#: The dimension at which rows are judged: at most so many, and so many rows of the start for each.
MOST_AXES, ROWS_PER_AXIS = 20, 5
#: Room for the bad rows among those kept, which widen the axes of noise a little.
MARGIN = 1.4
#: The .99 quantile of the law of Tracy and Widom for real samples.
TRACY_WIDOM = 2.0234
#: Directions to rows off a plane that may show one more axis, and how often chance may: foreign rows would
#: lie on it, and the fit would be lost.
POINTED_AT, CHANCE = 5, 0.001
#: Variance of the square of the median deviation of many normal values over that of their variance.
MEDIAN_DEVIATION_VARIANCE = 2.72
#: A column has no scale if other values than the main one have this share of the rows.
OTHERS_SHARE = 0.05
#: Deviations from the number of other values that a row has by chance, if columns know nothing of each other.
CHANCE_DEVIATIONS = 3.0
#: Rows that tell which columns repeat a value: one of more than half of all is there many times.
LOOKED_AT = 50


@dataclass(frozen=True)
class Columns:
    """Columns that tell what noise is; rows may be coordinates in a span of theirs.

    Attributes
    ----------
    values : ndarray of shape (n, p)
        The rows in the columns that judge.
    directions : callable
        From directions of the span, as columns, to those of the data.
    live : ndarray of bool of shape (d,)
        The columns that judge.
    """

    values: Array
    directions: Lift
    live: Array

    @classmethod
    def of(cls, rows: Rows, directions: Lift, muted: Array | np.bool_ = np.False_) -> Columns:
        """Those that vary and are not muted."""
        A = to_numpy(rows.array())
        live = columns_that_vary(A) & ~muted
        return cls(A if live.all() else A[:, live], directions, live)

    def shares(self, W: Array) -> Array:
        """What each column is of the unit directions W of the span."""
        return np.asarray(self.directions(W)[self.live] ** 2)


def judging_dimension(X: Array, kept: Array, k: int, count: int, columns: Columns | None = None) -> int:
    """Dimension at which rows are judged: k, or more where most rows have more in common.

    With fewer components than the data have, what is left of the others hides
    bad rows. An axis of the rows kept counts while it is wider than noise would
    make the largest of so many axes, both by the variance of these rows and for
    most rows: a few bad rows kept lend no axis. That is told by their median
    deviation or by the main mode of all rows, whichever is wider: the one is
    short of tails, the other may be that of a tight cluster of bad rows. And
    it is wider than its columns are by themselves, and than chance would make
    so many of them: an axis of loud columns is nothing that rows have in
    common, and bad rows would pass for regular ones there.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        The rows, or their coordinates in a span.
    kept : ndarray of int of shape (m,)
    k, count : int
    columns : Columns or None
        Where X are coordinates.
    """
    A = X - X[kept].mean(axis=0)
    near = A[kept]
    whole = near if columns is None else columns.values[kept]
    m, d = whole.shape
    most = most_axes(m, d)
    if k >= most:
        return k
    variances, W = row_axes(near / np.sqrt(m - 1), most)
    noise, q = noise_variance(near if columns is None else whole[subsample(m, NOISE_ROWS)], k), k
    shares = W**2 if columns is None else columns.shares(W)  # of the columns in the axes
    mean = whole.mean(axis=0)
    own = (np.einsum("ij,ij->j", whole, whole) - m * mean**2) / (m - 1)
    alone, left = own - shares[:, :k] @ variances[:k], 1 - shares[:, :k].sum(axis=1)
    while q < most:
        share, wide = shares[:, q], float(variances[q])
        apart = float(share @ (alone / np.maximum(left, 1e-9))) * (1 + np.sqrt(1 / (share @ share) / m)) ** 2
        noisy = MARGIN * largest_noise(m, d - q) * noise
        if wide <= max(noisy, apart) or not _most_are_wider(A @ W[:, q], kept, count, float(np.sqrt(noisy))):
            break
        alone, left, q = alone - wide * share, left - share, q + 1
    return q


def most_axes(m: int, d: int) -> int:
    """Dimensions at which m rows of d columns may be judged."""
    return min(MOST_AXES, d - 2, m // ROWS_PER_AXIS)


def others_share_an_axis(near: Array, others: Array, q: int, tol: float) -> bool:
    """Whether rows off a plane lie where the rows near it vary by more than noise.

    Groups of good rows share the axes along which each of them varies, and one
    too weak to stand out among all axes of noise may carry a group far off the
    plane. Where other rows point at it, it need not stand out: it is enough
    that the rows near the plane vary along it more than chance has it for a
    direction that knows nothing of them, as that to foreign rows. Noise is
    what they have in the directions that no other rows point at.

    Parameters
    ----------
    near, others : ndarray of shape (m, p), (l, p)
        Rows near the plane, and rows off it.
    q : int
        Dimension of the plane.
    tol : float
        Length below which a distance is rounding.
    """
    m, p = len(near), near.shape[1] - q
    lost = (1 + q) / max(m, 1)
    if not len(others) or p < 2 or lost >= 1:
        return False
    center = near.mean(axis=0)
    axes = row_axes(near - center, q)[1]
    E, F = (A - A @ axes @ axes.T for A in (near - center, others - center))
    sizes, W = row_axes(F / np.sqrt(len(F)), min(POINTED_AT, p // 2, len(F)))
    T, own = E @ W, np.einsum("ij,ij->j", E, E) @ (W * W) / m
    E = E - T @ W.T
    noise, even = float(np.einsum("ij,ij->", E, E)) / (m * (p - len(sizes))), effective_dimension(E, lost)
    if noise <= tol**2 or np.isnan(even):
        return False
    variances = (T * T).mean(axis=0)
    shown = sizes > largest_noise(len(F), p) * np.maximum(variances, noise)  # no loud noise of all rows
    T, variances, own = T[:, shown], variances[shown], np.maximum(own[shown], noise)
    if not T.shape[1]:
        return False
    deviation = np.median(np.abs(T - np.median(T, axis=0)), axis=0) / float(ndtri(0.75))
    # What unequal noise has along random directions, besides what few rows tell of it. And room for bad
    # rows among those near: of a foreign line some are.
    unequal = 2 * max((p - len(sizes)) / even - 1, 0.0) / p
    z = float(ndtri(1 - CHANCE / T.shape[1]))
    wide, most = (MARGIN * (1 + z * np.sqrt(2 * v / m + unequal)) for v in (1.0, MEDIAN_DEVIATION_VARIANCE))
    return bool(((variances > wide * own) & (deviation**2 > most * own)).any())


def _most_are_wider(scores: Array, kept: Array, count: int, width: float) -> bool:
    """Whether scores have a larger standard deviation for most rows: of those kept, or of all."""
    near = scores[kept]
    deviation = float(np.median(np.abs(near - np.median(near)))) / float(ndtri(0.75))
    return deviation > width or main_mode(scores, count)[1] > width


def largest_noise(m: int, p: int) -> float:
    """Variance that the widest axis of m rows of noise in p columns exceeds once in a hundred times.

    For noise of variance 1, by the law of Tracy and Widom (Johnstone, 2001).
    """
    rows, columns = np.sqrt(max(m - 1, 1)), np.sqrt(p)
    spread = (rows + columns) * np.cbrt(1 / rows + 1 / columns)
    return float((rows + columns) ** 2 + TRACY_WIDOM * spread) / m


def room_beyond(plane: Plane, k: int, scores: Array) -> float:
    """Squared length that scores on the axes beyond the k components may have.

    What the data have there is no wider than the k-th component, else it would
    be one of the first. A row much farther out is off these, and a plane that
    holds it takes it from there. Scores are those of rows near the plane.
    """
    beyond = float(plane.variances[k:].sum())
    if beyond == 0 or not len(scores):
        return np.inf
    tail = float(np.quantile(scores[:, k - 1] ** 2, 0.8)) / float(chdtri(1, 0.2))
    size = max(float(plane.variances[k - 1]), tail)
    dof = max(1.0, beyond / size)
    return size * (dof + 2.0 * (float(chdtri(dof, 0.0025)) - dof))


def columns_that_vary(X: Array) -> Array:
    """Mask of the columns with more than one value: a dead channel does not tell how much noise there is."""
    return np.asarray((X[0] != X).any(axis=0))


def columns_without_scale(rows: Rows) -> Array:
    """Mask of the columns with one value in more than half of the rows, and others in a share of them.

    Yes and no, amounts of rain, what lies below a limit of detection: there is no scale by which another
    value were far out, and a subspace that most rows lie in exactly. Rows with others in more of these
    columns than chance has it tell nothing of them: a spoiled patch of a background, wrong readings of
    dead channels. At most half of the columns that vary, else none: the data are what they are then.
    """
    n, d = rows.shape
    muted = np.zeros(d, dtype=bool)
    some = np.sort(rows.gather_rows(subsample(n, LOOKED_AT)), axis=0)
    repeated = np.flatnonzero((some[1:] == some[:-1]).any(axis=0))
    if not len(repeated):
        return muted
    X = rows.gather_rows(np.arange(n))[:, repeated]
    others = np.partition(X, n // 2, axis=0)[n // 2] != X  # such a value is the median
    share = others.mean(axis=0)
    p = np.where(share < 0.5, share, 0.0)
    count = others[:, share < 0.5].sum(axis=1)
    usual = count <= max(p.sum() + CHANCE_DEVIATIONS * np.sqrt((p * (1 - p)).sum()), 2)
    muted[repeated] = (share < 0.5) & (others[usual].sum(axis=0) >= OTHERS_SHARE * n)
    varying = d - np.count_nonzero(share == 0)
    return muted if 2 * muted.sum() <= varying else np.zeros(d, dtype=bool)
