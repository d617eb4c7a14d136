"""By what rows are judged: how many dimensions, which columns, how far off the components they may lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtri

from ..rows import Rows
from ..statistics import main_mode, subsample
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
#: A column is discrete if other values than the main one have this share of the rows.
OTHERS_SHARE = 0.05


def judging_dimension(
    X: Array, kept: Array, k: int, count: int, columns: Array | None = None, axes: Array | None = None
) -> int:
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
    columns : ndarray of shape (m, d) or None
        In a span, the rows kept.
    axes : ndarray of shape (d, p) or None
        In a span, its axes.
    """
    A = X - X[kept].mean(axis=0)
    near = A[kept]
    whole = near if columns is None else columns
    m, d = whole.shape
    most = min(MOST_AXES, d - 2, m // ROWS_PER_AXIS)
    if k >= most:
        return k
    variances, W = row_axes(near / np.sqrt(m - 1), most)
    noise, q = noise_variance(near if columns is None else columns[subsample(m, NOISE_ROWS)], k), k
    shares = (W if axes is None else axes @ W) ** 2  # of the columns in the axes
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


def discrete_columns(rows: Rows) -> Array:
    """Mask of the columns with few values, one of which more than half of the rows share.

    Such a column, a 0/1 one for instance, has no scale by which another value
    were far out, and a subspace that most rows lie in exactly. Values that
    occur once do not count beside very few others: bad rows may have any.
    At most half of the columns, else none: the data are what they are then.
    """
    n, d = rows.shape
    muted, most = np.zeros(d, dtype=bool), int(min(10, n / 4))
    # A value of half of the rows is many times among the first ones; most columns hardly repeat any there.
    first = rows.gather_rows(np.arange(min(n, 5 * most)))
    few = np.flatnonzero(_n_distinct(first) <= 0.75 * len(first))
    if not len(few):
        return muted
    X = rows.gather_rows(np.arange(n))
    for j in few:
        counts = np.unique(X[:, j], return_counts=True)[1]
        some = most
        if len(counts) > most:  # many values of which hardly any occurs twice
            counts, some = counts[counts > 1], most // 2
        main = counts.max(initial=0)
        muted[j] = len(counts) <= some and 2 * main > n and counts.sum() - main >= OTHERS_SHARE * n
    return muted if 2 * muted.sum() <= d else np.zeros(d, dtype=bool)


def _n_distinct(X: Array) -> Array:
    S = np.sort(X, axis=0)
    return np.asarray(1 + np.count_nonzero(S[1:] != S[:-1], axis=0))
