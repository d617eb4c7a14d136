"""All directions of a greedy extraction at once: graduated smoothing for a flag of directions.

Direction j is a maximum in the complement of those before it, so its gradient
loses what lies along them and nothing else. While the kinks are wide there are
few maxima, and the spherical axes are near to them; a step costs two products
with the rows however many directions there are, wherever the rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import asarray_like, columns, dots, namespace, tiny, to_numpy
from .._progress import report_iteration
from ..geometry import orthonormalize, project_out, unit
from ..objectives import Dispersion
from ..operators import TL1, Operator, Smoothed
from ..rows import DenseRows
from ..rows.array import HOST_ENTRIES
from ..statistics import subsample
from .axes import spherical_axes
from .base import Solution, solution

Array = NDArray[Any]

#: Axes and rows that compete for each of the first few places.
N_AXES, N_ROWS, N_CONTESTED = 8, 4, 8
#: Rows among which the starts are sought, and which judge them.
SCREENED_ROWS = 250
#: Widths of the kinks in median scores, with the steps at each: of those that compete, after one of
#: them has won, and of all directions.
CONTEST_WIDTHS, AGAIN = ((1.0, 6), (0.4, 4)), (0.4, 2)
WIDTHS = ((0.4, 6), (0.2, 4), (0.1, 3), (0.05, 2))
#: Trial steps in lengths of Newton's step.
TRIALS = (0.4, 0.8, 1.6)
#: Share of the largest score below which all scores of a direction are rounding.
NOTHING = 1e-10
#: Rows whose scores tell a scale.
SCALE_ROWS = 500


@dataclass(frozen=True)
class Flag:
    """Directions W (d, k) with their scores T (n, k).

    `alpha` (k,) is what an "auto" shape is settled at, `last` the gradient,
    the direction of the last step and the squared gradient. Directions that
    are not `ordered` know nothing of each other.
    """

    W: Array
    T: Array
    fixed: Array
    alpha: Array | None = None
    ordered: bool = True
    last: tuple[Array, Array, Array] | None = None

    def tangent(self, Q: Array) -> Array:
        """Q without what is fixed and without, in column j, the directions up to j."""
        k = self.W.shape[1]
        taken = asarray_like(np.triu(np.ones((k, k))) if self.ordered else np.eye(k), Q)
        Q = project_out(Q, self.fixed)
        for _ in range(2):
            Q = Q - self.W @ ((self.W.T @ Q) * taken)
        return Q


def ascend_together(
    objective: Dispersion, earlier: Array, count: int, *, tol: float, max_iter: int, n_starts: int
) -> list[Solution]:
    """The next directions of a greedy extraction, all found at once; fewer where the rows span fewer.

    Parameters
    ----------
    objective : Dispersion
        Of rows that can be asked often, without what `earlier` explains.
    earlier : array of shape (d, j)
        Orthonormal.
    count : int
    tol : float
        The steps with sharp kinks end when two of them gain less than
        tol^(3/4) of the sum: rows that change sides are noise then.
    max_iter : int
        Steps with sharp kinks, at most.
    n_starts : int
        Multiplies the rows that compete for the first places.
    """
    objective, earlier = at_hand(objective, earlier)
    flag = smooth_ascent(objective, earlier, count, n_starts)
    values, best, idle = [objective.value_of_scores(flag.T)], flag.W, 0
    for _ in range(max_iter):
        flag = follow(objective, flag, None, 1)
        reached = objective.value_of_scores(flag.T)
        # A direction may lose by the turns of those before it, and gain again.
        gain = float((reached - values[-1]).sum())
        idle = 0 if gain > tol**0.75 * float(reached.sum()) else idle + 1
        if gain > 0.0:
            best = flag.W
            values.append(reached)
        if report_iteration("components", float(reached.sum())) or idle == 2:
            break
    paths = np.maximum.accumulate(values)
    return [solution(best[:, j : j + 1], path.tolist(), idle == 2) for j, path in enumerate(paths.T)]


def at_hand(objective: Dispersion, earlier: Array) -> tuple[Dispersion, Array]:
    """The problem where its many small steps are fastest: few entries of a device on the host."""
    rows = objective.rows
    if isinstance(earlier, np.ndarray) or rows.shape[0] * rows.shape[1] > HOST_ENTRIES:
        return objective, earlier
    A, v = to_numpy(rows.array()), rows.gather_weights()
    return objective.on(DenseRows(A, weights=v)), to_numpy(earlier)


def smooth_ascent(
    objective: Dispersion,
    earlier: Array,
    count: int,
    n_starts: int,
    widths: Sequence[tuple[float, int]] = WIDTHS,
) -> Flag:
    """Directions that have followed their maxima while the kinks were sharpened.

    The first few are the best of several, as the others build on them. Where
    the rows span less than is asked for, the directions end with their span.
    """
    rows = objective.rows
    room = max(1, min(rows.shape[1] - earlier.shape[1], rows.shape[0]))
    count = min(count, room)
    axes = spherical_axes(rows, min(room, max(count, N_AXES)))
    axes = orthonormalize(project_out(axes, earlier))
    starts = columns(axes[:, : min(N_AXES, axes.shape[1])], _best_rows(objective, earlier, N_ROWS * n_starts))
    chosen = _contest(objective, starts, earlier, min(count, N_CONTESTED))
    flag = _flag(objective, orthonormalize(project_out(columns(chosen, axes), earlier))[:, :count], earlier)
    for width, steps in widths:
        flag = follow(objective, flag, width, steps)
    return _spanned(flag)


def _contest(objective: Dispersion, starts: Array, earlier: Array, count: int) -> Array:
    """The first few directions, each the highest of all starts in the complement of those before it.

    What has lost goes on from where it is: a maximum that was second is first when the first is taken.
    """
    pool = _flag(objective, starts, earlier, ordered=False)
    for width, steps in CONTEST_WIDTHS:
        pool = follow(objective, pool, width, steps)
    taken = earlier
    while True:
        best = int(namespace(starts).argmax(_values(objective, pool)))
        taken = columns(taken, unit(project_out(pool.W[:, best : best + 1], taken)))
        count -= 1
        if count == 0 or pool.W.shape[1] == 1:
            return taken[:, earlier.shape[1] :]
        others = columns(pool.W[:, :best], pool.W[:, best + 1 :])
        pool = _flag(objective, unit(project_out(others, taken)), taken, ordered=False)
        pool = follow(objective, pool, *AGAIN)


def _best_rows(objective: Dispersion, earlier: Array, count: int) -> Array:
    """Rows at unit length with the largest objective, as columns; some of them, judged by some."""
    rows = objective.rows
    some = objective.on(rows.subset(subsample(rows.shape[0], max(SCREENED_ROWS, 2 * count))))
    candidates = unit(project_out(some.rows.array().T, earlier))
    values = to_numpy(_values(some, _flag(some, candidates, earlier, ordered=False)))
    best = np.argsort(-values, kind="stable")[:count]
    return columns(*(candidates[:, int(j) : int(j) + 1] for j in best))


def _spanned(flag: Flag) -> Flag:
    """The flag up to the first direction that no row has a part in."""
    size = to_numpy(namespace(flag.T).max(abs(flag.T), axis=0))
    nothing = np.flatnonzero(size <= NOTHING * size.max())
    if not len(nothing):
        return flag
    k = max(1, int(nothing[0]))
    alpha = None if flag.alpha is None else flag.alpha[:k]
    return replace(flag, W=flag.W[:, :k], T=flag.T[:, :k], alpha=alpha, last=None)


def follow(objective: Dispersion, flag: Flag, width: float | None, steps: int) -> Flag:
    """Conjugate gradient steps of Newton's length for all directions, the kinks `width` scores wide."""
    rows, xp = objective.rows, namespace(flag.W)
    spread = None if width is None else width * _median_scores(flag.T)
    least = tiny(flag.T)
    for _ in range(steps):
        T, term = flag.T, Smoothed(_settled(objective.operator, flag.alpha), spread)
        slope, bend = term.derivatives(T)
        G = rows.pullback(slope)
        mu = xp.maximum(dots(G, flag.W), least)
        G = flag.tangent(G)
        D, last = _conjugate(flag, G)
        S = rows.project(D)
        rise, square = dots(G, D), xp.maximum(dots(D, D), least)
        curvature = mu * square + _sum(objective, S * S * xp.minimum(bend, least**-0.25))
        # Smoothed kinks bend the other way: where the curvature is about to vanish, mu has to do.
        bent = xp.where(curvature > 0.02 * mu * square, curvature, mu * square)
        # And no turn is longer than half a right angle, of which the tangent is one.
        length = rise / xp.maximum(xp.maximum(bent, rise * xp.sqrt(square)), least)
        step, best = xp.zeros_like(length), None if width is not None else _sum(objective, term.value(T))
        for share in TRIALS:
            trial = share * length
            value = _sum(objective, term.value((T + trial * S) / xp.sqrt(1.0 + trial * trial * square)))
            better = None if best is None else value > best
            step = trial if better is None else xp.where(better, trial, step)
            best = value if best is None else xp.maximum(value, best)
        flag = _moved(objective, replace(flag, last=last), flag.W + step * D, T + step * S, spread)
    return flag


def _flag(objective: Dispersion, W: Array, fixed: Array, ordered: bool = True) -> Flag:
    T = objective.rows.project(W)
    flag = Flag(W, T, fixed, _median_scores(T) if objective.operator.adaptive else None, ordered)
    for _ in range(3 if objective.operator.adaptive else 0):
        flag = replace(flag, alpha=_better_scale(objective, flag, None))
    return flag


def _conjugate(flag: Flag, G: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    """The next of conjugate directions (Polak and Ribiere), and what the one after it asks for."""
    xp, square = namespace(G), dots(G, G)
    if flag.last is None:
        return G, (G, G, square)
    before, D = (flag.tangent(Q) for Q in flag.last[:2])
    share = xp.maximum(square - dots(G, before), tiny(G)) / xp.maximum(flag.last[2], tiny(G))
    D = G + share * D
    D = xp.where(dots(G, D) > 0.1 * square, D, G)
    return D, (G, D, square)


def _moved(objective: Dispersion, flag: Flag, W: Array, T: Array, spread: Any) -> Flag:
    """The flag at W with scores T: orthonormal in order, or of length one; scales a Newton step nearer."""
    xp = namespace(W)
    if flag.ordered:
        Q = orthonormalize(W)
        inverse = xp.linalg.inv(Q.T @ W)
        W, T = Q, (inverse.T @ T.T).T
    else:
        length = xp.maximum(xp.sqrt(dots(W, W)), asarray_like(tiny(W), W))
        W, T = W / length, T / length
    flag = replace(flag, W=W, T=T)
    return flag if flag.alpha is None else replace(flag, alpha=_better_scale(objective, flag, spread))


def _better_scale(objective: Dispersion, flag: Flag, spread: Any) -> Array:
    """One Newton step of the scale that "auto" stands for; see `tl1_scale_step`."""
    xp, a = namespace(flag.T), flag.alpha
    q = a / (a + Smoothed(objective.operator, spread).size(flag.T))
    first, second = (_sum(objective, x) / objective.rows.mass for x in (q, q * q))
    step = (0.5 - first) / xp.maximum(first - second, asarray_like(1e-3, q))
    return a * xp.exp(xp.minimum(xp.maximum(step, asarray_like(-3.0, q)), asarray_like(3.0, q)))


def _values(objective: Dispersion, flag: Flag) -> Array:
    """What tells which direction is higher: the objective, or the scale where that is maximized."""
    if flag.alpha is not None:
        return flag.alpha
    return _sum(objective, Smoothed(objective.operator).value(flag.T))


def _settled(operator: Operator, alpha: Array | None) -> Operator:
    return operator if alpha is None else TL1(a=alpha)


def _median_scores(T: Array) -> Array:
    """Median magnitude of the scores of every direction, of some rows, and never zero."""
    xp = namespace(T)
    some = xp.sort(abs(T[:: max(1, T.shape[0] // SCALE_ROWS), :]), axis=0)
    return xp.maximum(some[some.shape[0] // 2, :], asarray_like(tiny(T) ** 0.25, T))


def _sum(objective: Dispersion, values: Array) -> Array:
    """Weighted sum over the rows, where they are."""
    v = objective.rows.weights
    return namespace(values).sum(values, axis=0) if v is None else v @ values
