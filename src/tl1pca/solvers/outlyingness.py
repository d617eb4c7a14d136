"""Which rows to trust first: gaps, then Stahel-Donoho outlyingness.

The classical recipe - directions through random pairs of rows, the shortest
half on each - fails at 40 % in two opposite ways, and more directions make
both worse. A minority tighter than the good rows is the core of the shortest
half in most directions, so that the good rows look outlying: what a gap
separates is put aside first, and the shortest half is grown to its tails. A
cluster that is near is hardly seen in pair directions: directions of extreme
fourth and third moments are added, which point at clusters.

Directions are rows here, and so are their projections: W is (m, d), T (m, n).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..statistics import majority_share, shortest_interval
from .base import scatter_axes

Array = NDArray[Any]

#: Share of the values that a stretch of an interval must take in to go on.
TAIL = 0.05
#: The same about a tight core: through its fringe, or not beyond.
FRINGES = (0.01, TAIL)


def least_outlying(
    X: Array, count: int, n_directions: int, tol: float, rng: np.random.RandomState
) -> Iterator[list[Array]]:
    """The `count` least outlying rows, in several opinions.

    Of the rows that no gap separates, with the scales grown through the
    fringe of a tight core and, where that makes a difference, without: the
    core may be a foreign cluster, or the good rows between those of a foreign
    line. Then of all rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    count : int
        Rows to trust, more than half of them.
    n_directions : int
        Random pairs of rows.
    tol : float
        Length below which a deviation is rounding.
    rng : RandomState
        Draws indices, never looking at the data: all that follows is
        equivariant under shift, scale and rotation.

    Yields
    ------
    list of ndarray of int of shape (count,)
    """
    n, d = X.shape
    n_axes = max(1, min(d, n // 5, 100))
    pairs, rows = pair_directions(X, n_directions, rng), np.arange(n)
    for _ in range(6):  # fresh moments of what is left
        moments = moment_directions(X[rows], n_axes)
        out = separated_rows(np.vstack([moments, pairs[:50]]) @ X[rows].T, count)
        rows = rows[~out]
        if out.sum() <= 0.02 * n:
            break
    T = np.vstack([pairs, moments]) @ X.T
    yield [rows[order[:count]] for order in outlyingness_orders(T[:, rows], count, tol)]
    yield [outlyingness_orders(T, count, tol)[0][:count]]


def pair_directions(X: Array, n_directions: int, rng: np.random.RandomState) -> Array:
    """Unit differences of random pairs of rows; from permutations, so that many pairs touch every row."""
    n = len(X)
    order = np.concatenate([rng.permutation(n) for _ in range(2 * n_directions // n + 1)])
    m = 2 * min(n_directions, len(order) // 2)
    return _unit_rows(X[order[0:m:2]] - X[order[1:m:2]])


def moment_directions(X: Array, n_axes: int) -> Array:
    """Principal axes, extreme axes of the fourth-moment matrix, and the skewness vector.

    In whitened principal axes a cluster is an extreme of mean |z|^2 z z',
    except near a share of 21 %, where mean |z|^2 z shows it. Once with
    `n_axes` axes and once, less noisy, with a fifth of them.
    """
    A = X - X.mean(axis=0)
    variances, axes = _principal(A, n_axes)
    good = variances > 1e-10 * variances[:1].sum()
    white = axes[:, good] / np.sqrt(variances[good])
    found = [axes[:, :20].T]
    for p in sorted({white.shape[1], -(-white.shape[1] // 5)} - {0}):
        Z = A @ white[:, :p]
        squares = np.einsum("ij,ij->i", Z, Z)
        extreme = np.linalg.eigh((Z * squares[:, None]).T @ Z)[1]
        if p > 20:
            extreme = extreme[:, np.r_[:10, p - 10 : p]]
        found.append(_unit_rows((white[:, :p] @ np.column_stack([extreme, squares @ Z])).T))
    return np.vstack(found)


def separated_rows(T: Array, count: int) -> Array:
    """Mask of the rows beyond a gap in some direction.

    Seen from the centre of the shortest half of a direction, a gap is an
    interval (r, ratio r) on one side, outside that half, with fewer than 0.5 %
    of the rows in it and at least 5 % beyond. The strongest gap counts, and
    others that separate mostly the same rows; `count` rows are left.
    """
    n, out = T.shape[1], np.zeros(T.shape[1], dtype=bool)
    ratio = 1.0 + max(0.6, 200.0 / n)  # chance gaps among few rows must not count
    inside, last = int(np.ceil(0.005 * n)), n - int(np.ceil(0.05 * n))
    if last <= count // 2:
        return out
    S = np.sort(T, axis=1)
    centre, half = shortest_interval(S, count)
    S -= centre[:, None]
    found = []
    for side, A in ((1.0, S), (-1.0, -S[:, ::-1])):
        near, far = A[:, count // 2 : last], A[:, count // 2 + inside : last + inside]
        gap = (far > ratio * near) & (near >= half[:, None] * (1 - 1e-9))
        for i in np.flatnonzero(gap.any(axis=1)):
            j = int(np.argmax(gap[i]))
            with np.errstate(over="ignore"):  # an infinite gap is the strongest
                strength = far[i, j] / max(near[i, j], 1e-300)
            found.append((strength, side, i, near[i, j]))
    for _, side, i, r in sorted(found, reverse=True):
        beyond = side * (T[i] - centre[i]) > r * (1 + 1e-9)
        same = 2 * (out & beyond).sum() >= beyond.sum() or not out.any()
        if same and n - (out | beyond).sum() >= count:
            out |= beyond
    return out


def outlyingness_orders(T: Array, count: int, tol: float, n_scale: int = 500) -> list[Array]:
    """Rows by the largest |t - location|/scale over the directions, least outlying first.

    One order for each of `FRINGES`, the second only where it makes a
    difference. Location and scale come from at most `n_scale` rows. A deviation
    in a direction of scale zero counts as infinite; their number decides.
    """
    n = T.shape[1]
    pick = np.linspace(0, n - 1, min(n, n_scale)).astype(int)
    orders = []
    for location, scale in grown_halves(T[:, pick], int(np.ceil(count / n * len(pick))), tol):
        live = scale > tol
        R, off = T - location[:, None], np.zeros(n, dtype=int)
        if not live.all():
            off = (np.abs(R[~live]) > tol).sum(axis=0)
            R = R[live]
        R *= 1.0 / scale[live, None]
        far = np.maximum(R.max(axis=0, initial=0.0), -R.min(axis=0, initial=0.0))
        orders.append(np.lexsort((far, off)))
    return orders


def grown_halves(T: Array, count: int, tol: float) -> list[tuple[Array, Array]]:
    """Location and scale of every row of T: its shortest half, grown to the tails.

    The interval is stretched by half while each stretch takes in 5 % of the
    values; then mean and standard deviation inside. Values not separated from
    the majority are taken in and cannot make the majority look outlying. Where
    the half is a tight core with a fringe, as when a foreign cluster sits in
    it, each of `FRINGES` gives an answer of its own; one answer where no half
    is. Scale zero where the half agrees to tol.
    """
    n, S = T.shape[1], np.sort(T, axis=1)
    centre, half = shortest_interval(S, count)
    core = shortest_interval(S, min(count, max(2, int(0.6 * count))))[1]
    p = majority_share(count / n)
    cored = half > 1.2 * core * ndtri(0.5 + 0.5 * p) / ndtri(0.5 + 0.3 * p)
    S -= centre[:, None]
    answers = []
    for fringe in FRINGES if cored.any() else FRINGES[:1]:
        radius, inside = _grow(S, half, np.maximum(np.where(cored, fringe, TAIL) * n, 1), tol)
        kept = np.where(np.abs(S) > radius[:, None], 0.0, S)
        mean = kept.sum(axis=1) / inside
        variance = np.einsum("ij,ij->i", kept, kept) / inside - mean**2
        scale = np.sqrt(np.maximum(variance, half**2 / 9.0))
        answers.append((centre + np.where(half > tol, mean, 0.0), np.where(half > tol, scale, 0.0)))
    return answers


def _grow(S: Array, half: Array, need: Array, tol: float) -> tuple[Array, Array]:
    """Radius about zero, and values within, after stretches that each take in `need` more."""
    radius, grow = half * (1 + 1e-12), half > tol
    inside = _count_below(S, radius) - _count_below(S, -radius)
    while grow.any():
        wider = 1.5 * radius
        more = _count_below(S, wider) - _count_below(S, -wider)
        grow = grow & (more - inside >= need)
        inside, radius = np.where(grow, more, inside), np.where(grow, wider, radius)
    return radius, np.maximum(inside, 1)


def exact_rows(X: Array, k: int, count: int, tol: float, rng: np.random.RandomState) -> Array | None:
    """Rows on a k-dimensional plane that holds at least `count` of them, if a random search meets one.

    With more than half of the rows on the plane, k + 2 random rows lie on it
    with probability 2^-(k+2): a hundred subsets find it up to k of about eight.
    """
    n, d = X.shape
    if not 0 < k < min(d, n - 1, 9):
        return None
    pick = rng.randint(n, size=(100, k + 2))
    D = X[pick[:, 1:]] - X[pick[:, :1]]
    squares = np.linalg.eigvalsh(D @ D.transpose(0, 2, 1))
    for i in np.flatnonzero(squares[:, 0] <= 1e-12 * squares[:, -1]):
        axes = np.linalg.svd(D[i], full_matrices=False)[2][:k]
        A = X - X[pick[i, 0]]
        on = np.linalg.norm(A - A @ axes.T @ axes, axis=1) <= 100 * tol
        if on.sum() >= count:
            return np.flatnonzero(on)
    return None


def _count_below(S: Array, x: Array) -> Array:
    """Number of entries of each sorted row of S below x: bisection on all rows at once."""
    n, each, low = S.shape[1], np.arange(len(x)), np.zeros(len(x), dtype=np.intp)
    step = 1 << n.bit_length()
    while step:
        up = low + step
        low = np.where((up <= n) & (S[each, np.minimum(up, n) - 1] < x), up, low)
        step >>= 1
    return low


def _principal(A: Array, n_axes: int) -> tuple[Array, Array]:
    """Leading eigenpairs of A'A/n from the smaller of its two Gram matrices."""
    n, d = A.shape
    n_axes = min(n_axes, n, d)
    if d <= n:
        values, axes = scatter_axes(A.T @ A, n_axes, rough=True)
    else:
        values, U = scatter_axes(A @ A.T, n_axes, rough=True)
        axes = np.linalg.qr(A.T @ U)[0]
    return np.maximum(values, 0.0) / n, axes


def _unit_rows(W: Array) -> Array:
    length = np.linalg.norm(W, axis=1)
    return np.asarray(W[length > 0] / length[length > 0, None])
