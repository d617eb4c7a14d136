"""Groups of rows: one that a gap separates from others that gaps separate too is a group like these.

Rows beyond a gap are put aside, as bad rows often lie together and far out.
But of three groups, each as far from the next, one lies beyond a gap from the
other two, and nothing is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .axes import row_axes
from .judging import MARGIN, MOST_AXES, ROWS_PER_AXIS, largest_noise
from .leading_span import noise_variance

Array = NDArray[Any]

#: Groups are alike whose sizes, spreads and distances differ by no more than this factor.
ALIKE = 2.0
#: A group has at least this share of all rows, and so many rows.
GROUP_SHARE, GROUP_ROWS = 0.05, 5

Directions = Callable[[Array], Array]


def groups_alike(
    X: Array, kept: Array, aside: list[Array], count: int, directions: Directions, tol: float
) -> list[Array]:
    """Groups of rows that are alike, where some of them are beyond a gap from the others; else none.

    Gaps part the rows kept, and those put aside. The groups next to each
    other that make up a majority say how far apart groups are; one more is
    like them if it is at least half as large as the smallest of them, not twice
    as wide as one of them nor half as wide, and no more than twice as far from
    the next one as they are. Far is what is off the plane that rows have about
    their own group: groups that lie apart in it say nothing of others that are
    off it. And rows vary in it as those of most groups do: a cluster of bad
    rows has noise alone.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    kept : ndarray of int
        Rows that no gap separates from the majority.
    aside : list of ndarray of int
        Rows beyond gaps.
    count : int
        Rows that are a majority.
    directions : callable
        Unit directions (m, d) in which rows (n, d) are looked at.
    tol : float
        Length below which a deviation is rounding.

    Returns
    -------
    list of ndarray of int
        Rows of each group.
    """
    least = max(GROUP_ROWS, int(np.ceil(GROUP_SHARE * len(X))))
    parts = [part for rows in (kept, *aside) for part in parted(X, rows, directions, least, tol)]
    sizes = np.array([len(part) for part in parts])
    if not parts or sizes.max() >= count:  # most rows are one group
        return []
    widths = np.array([_width(X[part], tol) for part in parts])
    own = own_centers(X, parts)
    axes, noise = _axes_within(own, parts)
    lengths = np.array([_width(own[part] @ axes, tol) for part in parts])
    typical = float(np.median(np.repeat(lengths, sizes)))
    like = (lengths <= ALIKE * typical) & (ALIKE * lengths >= typical)
    centers = np.array([X[part].mean(axis=0) for part in parts])
    centers -= centers @ axes @ axes.T
    far = np.linalg.norm(centers[:, None] - centers, axis=2)
    first, link = _linked_majority(far, sizes, np.flatnonzero(like & (ALIKE * sizes >= sizes.max())), count)
    if not first or widths[first].max() > ALIKE * widths[first].min():
        return []
    like &= ALIKE * sizes >= sizes[first].min()
    like &= (widths <= ALIKE * widths[first].min()) & (ALIKE * widths >= widths[first].max())
    link = max(link, float(np.sqrt(_noise_of_centers(noise, X.shape[1], sizes[first]).max())))
    among = np.isin(np.arange(len(parts)), first)
    while (near := like & (far[among].min(axis=0) <= ALIKE * link)).sum() > among.sum():
        among = near  # those next to these may be near enough now
    groups = [parts[i] for i in np.flatnonzero(among)]
    return [] if np.isin(np.concatenate(groups), kept).all() else groups


def _linked_majority(far: Array, sizes: Array, some: Array, count: int) -> tuple[list[int], float]:
    """The first of these groups that hold so many rows, linked by shortest distances, and the last link."""
    linked = {int(i): [int(i)] for i in some}
    for i, j in sorted(combinations(linked, 2), key=lambda pair: float(far[pair])):
        if linked[i] is linked[j]:
            continue
        both = linked[i] + linked[j]
        linked.update(dict.fromkeys(both, both))
        if sizes[both].sum() >= count:
            return both, float(far[i, j])
    return [], 0.0


def parted(X: Array, rows: Array, directions: Directions, least: int, tol: float) -> list[Array]:
    """Rows in parts between which there are gaps, and within which there are none; without small parts."""
    if len(rows) < least:
        return []
    side = split(directions(X[rows]) @ X[rows].T, tol) if len(rows) >= 2 * least else None
    if side is None:
        return [rows]
    return [part for half in (rows[side], rows[~side]) for part in parted(X, half, directions, least, tol)]


def split(T: Array, tol: float = 0.0) -> Array | None:
    """Mask of the rows on one side of the widest gap in any direction, or None where there is none.

    A gap is one as in `separated_rows`, seen from the medians of both sides.
    """
    n = T.shape[1]
    ratio = 1.0 + max(0.6, 200.0 / n)
    inside, share = int(np.ceil(0.005 * n)), int(np.ceil(0.05 * n))
    last = n - share - inside + 1
    if last < share or not len(T):
        return None
    S, each = np.sort(T, axis=1), np.arange(len(T))
    j = share - 1 + np.argmax(S[:, share - 1 + inside : last + inside] - S[:, share - 1 : last], axis=1)
    left, right = S[each, j], S[each, j + inside]  # the ends of the widest gap in each direction
    middles = S[each, j // 2], S[each, (j + inside + n) // 2]
    with np.errstate(over="ignore"):
        strength = np.minimum(
            (right - middles[0]) / np.maximum(left - middles[0], max(tol, 1e-300)),
            (middles[1] - left) / np.maximum(middles[1] - right, max(tol, 1e-300)),
        )
    i = int(np.argmax(strength))
    if strength[i] <= ratio:
        return None
    return np.asarray(T[i] <= 0.5 * (left[i] + right[i]))  # the few in the gap are with the nearer side


def own_centers(X: Array, groups: list[Array]) -> Array:
    """Rows as seen from the mean of their group."""
    A = X.copy()
    for group in groups:
        A[group] -= X[group].mean(axis=0)
    return A


def dimension_of_groups(X: Array, kept: Array, groups: list[Array], k: int) -> int:
    """Axes of the rows kept, k at least, that hold the centers of all groups but for noise."""
    A = X[kept] - X[kept].mean(axis=0)
    m, d = A.shape
    most = min(k + len(groups) - 1, d, m - 1)
    if k >= most:
        return k
    noise = _axes_within(own_centers(X, groups), groups)[1]
    W = row_axes(A, most)[1]
    centers = np.array([X[group].mean(axis=0) for group in groups]) - X[kept].mean(axis=0)
    limit = _noise_of_centers(noise, d, np.array([len(group) for group in groups]))
    left = (centers**2).sum(axis=1)[:, None] - np.cumsum((centers @ W) ** 2, axis=1)
    held = (left <= limit[:, None]).all(axis=0)[k - 1 :]
    return k + int(np.argmax(held)) if held.any() else most


def _noise_of_centers(noise: float, d: int, sizes: Array) -> Array:
    """Squared length that noise gives to the centers of groups, and to a row beside them."""
    return np.asarray(noise * (1 + d / sizes))


def _axes_within(Y: Array, groups: list[Array]) -> tuple[Array, float]:
    """Axes along which rows vary about the centers of their groups, in most of these, and the noise.

    A line of bad rows has one that the others know nothing of.
    """
    A = Y[np.concatenate(groups)]
    m, d = A.shape
    noise = noise_variance(A, 0)
    W = row_axes(A, max(1, min(MOST_AXES, d - 2, m // ROWS_PER_AXIS)))[1]
    squares = np.array([((Y[group] @ W) ** 2).mean(axis=0) for group in groups])
    median = np.median(np.repeat(squares, [len(group) for group in groups], axis=0), axis=0)
    return W[:, median > MARGIN * largest_noise(m, d) * noise], noise


def _width(A: Array, tol: float) -> float:
    """Root mean square of the distances from the mean; rounding is all of one size."""
    return max(float(np.sqrt(((A - A.mean(axis=0)) ** 2).sum(axis=1).mean())), tol)
