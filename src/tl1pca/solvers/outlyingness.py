"""Which rows to trust first: gaps, then Stahel-Donoho outlyingness.

The classical recipe - directions through random pairs of rows, the shortest
half on each - fails at 40 % of bad rows: a minority tighter than the good rows
is the core of the shortest half in most directions, so that the good rows look
outlying. So what a gap separates is put aside first, and the shortest half is
grown to its tails. A cluster beside groups of good rows is hardly seen in pair
directions: directions of extreme fourth and third moments point at it.

Directions are rows here, and so are their projections: W is (m, d), T (m, n).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._arrays import double
from ..rows import Rows
from ..statistics import majority_share, shortest_interval
from .axes import scatter_axes
from .groups import groups_alike, own_centers, split

Array = NDArray[Any]

#: Pairs of rows among the directions in which gaps are looked for.
GAP_DIRECTIONS = 50
#: A gap is so many times as long as the way to it, and so many times over the number of rows beyond it.
GAP, CHANCE_GAP = 0.6, 20.0
#: Share of the values that a stretch of an interval must take in to go on.
TAIL = 0.05
#: The same about a tight core, as where a foreign cluster sits in the shortest half.
FRINGE = 0.01
#: So many times longer than a normal sample would have it, beside its inner part, is the half that reaches
#: beyond a tight core. A majority between the rows of a foreign line comes near to 1.3 by chance.
CORE = 1.5
#: Rows up to which the number of directions grows as the rows become fewer, and how often it may double.
MORE_BELOW, MOST_DIRECTIONS = 1000, 4
#: Seed of the permutations that give the pairs.
DRAW = 0


def canonical_order(rows: Rows) -> Array:
    """An order of the rows that depends on the data alone, not on the order they come in.

    By the squared distance from the mean, and the score on the skewness
    vector mean |x|^2 x, which tells rows of one length apart. Neither knows
    of shift, scale or rotation.
    """
    n = rows.shape[0]
    rows = rows.shifted(rows.mean())
    length = rows.norms()
    size = float(np.sqrt(rows.total(lambda r: double(r) ** 2, length) / n))
    if size == 0.0:
        return np.arange(n)
    squares = rows.map(lambda r: (r / size) ** 2, length)  # no fourth power over- or underflows
    skewness = rows.project(rows.pullback(squares) / n)
    key = rows.map(lambda s, t: double(s) + 0.5**0.5 * double(t) / size**2, squares, skewness)
    return np.argsort(rows.gather_scores(key, np.arange(n)), kind="stable")


def least_outlying(X: Array, count: int, n_directions: int, tol: float) -> tuple[Array, list[Array]]:
    """Rows that no gap separates, the least outlying first, and groups that rows were taken back from.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        In a basis of their span, or in one of few directions.
    count : int
        Rows to trust, more than half of them.
    n_directions : int
        Pairs of rows; up to four times as many for fewer than 1000 rows,
        where they cost little and a result of few would hang on their choice.
    tol : float
        Length below which a deviation is rounding.

    Returns
    -------
    order : ndarray of int of shape (at least count,)
    groups : list of ndarray of int
        Where a group beyond a gap is one of several alike: rows are judged from the center of theirs.
    """
    n = len(X)
    many = int(n_directions * min(max(MORE_BELOW / n, 1.0), MOST_DIRECTIONS))
    pairs, rows, aside = pair_directions(X, many, tol), np.arange(n), []
    n_axes = max(1, min(X.shape[1], n // 5, 100))
    for _ in range(6):  # fresh moments of what is left
        moments = moment_directions(X[rows], n_axes)
        T = np.vstack([moments, pairs[:GAP_DIRECTIONS]]) @ X[rows].T
        out = separated_rows(T, count, tol)
        aside.append(rows[out])
        rows = rows[~out]
        if out.sum() <= 0.02 * n:
            break
    W, groups = np.vstack([pairs, moments]), []
    if len(rows) < n and split(T[:, ~out], tol) is not None:
        groups = groups_alike(X, rows, aside, count, partial(_gap_directions, tol=tol), tol)
    if groups:
        rows, X = np.sort(np.concatenate(groups)), own_centers(X, groups)
        W = np.vstack([pair_directions(X[rows], many, tol), moment_directions(X[rows], n_axes)])
    order = outlyingness_order(W @ X[rows].T, majority_of(len(rows), count, n), tol)
    return np.asarray(rows[order]), groups


def majority_of(part: int, count: int, n: int) -> int:
    """As large a majority of a part of the rows as `count` is of all n."""
    return -(-count * part // n)


def _gap_directions(X: Array, tol: float) -> Array:
    """Directions in which gaps are looked for among few rows."""
    n_axes = max(1, min(X.shape[1], len(X) // 5, 100))
    return np.vstack([moment_directions(X, n_axes), pair_directions(X, GAP_DIRECTIONS, tol)])


def pair_directions(X: Array, n_directions: int, tol: float = 0.0) -> Array:
    """Unit differences of pairs of rows: of all pairs if they are at most three times as many as wanted.

    Else of pairs from permutations, so that many touch every row. These are
    always the same ones, in an order of the rows that the data decide: a
    result must not hang on a draw. Rows within `tol` of each other are
    repeated ones, and what is between them is rounding.
    """
    n = len(X)
    if n * (n - 1) <= 6 * n_directions:
        first, second = np.triu_indices(n, 1)
        return _unit_rows(X[first] - X[second], tol)
    rng = np.random.RandomState(DRAW)
    order = np.concatenate([rng.permutation(n) for _ in range(2 * n_directions // n + 1)])
    m = 2 * min(n_directions, len(order) // 2)
    return _unit_rows(X[order[0:m:2]] - X[order[1:m:2]], tol)


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


def separated_rows(T: Array, count: int, tol: float = 0.0) -> Array:
    """Mask of the rows beyond a gap in some direction.

    Seen from the center of the shortest half of a direction, a gap is an
    interval (r, ratio r) on one side, outside that half, with fewer than 0.5 %
    of the rows in it and at least 5 % beyond; the fewer these are, the larger
    is the ratio. The gap that exceeds its ratio most counts, and others that
    separate mostly the same rows; `count` rows are left. Within `tol` of the
    center there is no gap, only rounding.
    """
    n, out = T.shape[1], np.zeros(T.shape[1], dtype=bool)
    inside, last = int(np.ceil(0.005 * n)), n - int(np.ceil(0.05 * n))
    if last <= count // 2:
        return out
    # Among the last few rows of any sample there are gaps by chance.
    ratio = 1.0 + np.maximum(GAP, CHANCE_GAP / (n - inside - np.arange(count // 2, last)))
    S = np.sort(T, axis=1)
    center, half = shortest_interval(S, count)
    S -= center[:, None]
    found = []
    for side, A in ((1.0, S), (-1.0, -S[:, ::-1])):
        near, far = np.maximum(A[:, count // 2 : last], tol), A[:, count // 2 + inside : last + inside]
        gap = (far > ratio * near) & (near >= half[:, None] * (1 - 1e-9))
        for i in np.flatnonzero(gap.any(axis=1)):
            with np.errstate(over="ignore"):  # an infinite gap is the strongest
                strength = np.where(gap[i], far[i] / np.maximum(ratio * near[i], 1e-300), 0.0)
            j = int(np.argmax(strength))
            found.append((strength[j], side, i, far[i, j]))
    for _, side, i, r in sorted(found, reverse=True):
        # From its far end on: the few rows in a gap are others in every direction.
        beyond = side * (T[i] - center[i]) >= r * (1 - 1e-9)
        same = 2 * (out & beyond).sum() >= beyond.sum() or not out.any()
        if same and n - (out | beyond).sum() >= count:
            out |= beyond
    return out


def outlyingness_order(T: Array, count: int, tol: float, n_scale: int = 500) -> Array:
    """Rows by the largest |t - location|/scale over the directions, least outlying first.

    Location and scale come from at most `n_scale` rows. A deviation in a
    direction of scale zero counts as infinite; their number decides.
    """
    n = T.shape[1]
    pick = np.linspace(0, n - 1, min(n, n_scale)).astype(int)
    location, scale = grown_halves(T[:, pick], int(np.ceil(count / n * len(pick))), tol)
    live = scale > tol
    R, off = T - location[:, None], np.zeros(n, dtype=int)
    if not live.all():
        off = (np.abs(R[~live]) > tol).sum(axis=0)
        R = R[live]
    R *= 1.0 / scale[live, None]
    far = np.maximum(R.max(axis=0, initial=0.0), -R.min(axis=0, initial=0.0))
    return np.lexsort((far, off))


def grown_halves(T: Array, count: int, tol: float) -> tuple[Array, Array]:
    """Location and scale of every row of T: its shortest half, grown to the tails.

    The interval is stretched by half while each stretch takes in 5 % of the
    values, 1 % where the half is a tight core with a fringe; then mean and
    standard deviation inside. Values not separated from the majority are taken
    in and cannot make the majority look outlying. Scale zero where the half
    agrees to tol.
    """
    n, S = T.shape[1], np.sort(T, axis=1)
    center, half = shortest_interval(S, count)
    core = shortest_interval(S, min(count, max(2, int(0.6 * count))))[1]
    p = majority_share(count / n)
    cored = half > CORE * core * ndtri(0.5 + 0.5 * p) / ndtri(0.5 + 0.3 * p)
    S -= center[:, None]
    radius, inside = _grow(S, half, np.maximum(np.where(cored, FRINGE, TAIL) * n, 1), tol)
    kept = np.where(np.abs(S) > radius[:, None], 0.0, S)
    mean = kept.sum(axis=1) / inside
    variance = np.einsum("ij,ij->i", kept, kept) / inside - mean**2
    scale = np.sqrt(np.maximum(variance, half**2 / 9.0))
    return center + np.where(half > tol, mean, 0.0), np.where(half > tol, scale, 0.0)


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
        values, axes = scatter_axes(A.T @ A, n_axes)
    else:
        values, U = scatter_axes(A @ A.T, n_axes)
        axes = np.linalg.qr(A.T @ U)[0]
    return np.maximum(values, 0.0) / n, axes


def _unit_rows(W: Array, tol: float = 0.0) -> Array:
    length = np.linalg.norm(W, axis=1)
    return np.asarray(W[length > tol] / length[length > tol, None])
