"""The default solver for concave operators: graduated smoothing, then Newton in the sign cell.

Off the kinks t_i = 0 the Riemannian Hessian of f is P X' diag(rho'') X P - mu P
with mu = sum psi(|t|)|t|: negative definite. So every stationary point is a
strict local maximum and there may be one in each cell of constant signs: far
too many. But the kinks can be spread: sum rho(sqrt(t^2 + h^2)) is smooth, and
with h from the size of the scores down to zero the starts flow together and
end higher than ascents that begin at h = 0. Newton then finishes in its cell,
and reflections at the rows try the neighbouring ones.

Directions are rows here: W is (B, d), scores T are (B, n), and the shape `a` of
an operator is a column, one for each direction of the batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._progress import tell
from ..objectives import Dispersion
from ..operators import TL1, Operator
from ..statistics import tl1_scale, weighted_median
from .base import SHORT, Solution, Solver

Array = NDArray[Any]

#: Two to three times faster than anything before NumPy 2, and called all the time.
_VECDOT = getattr(np, "vecdot", None)

#: Starts ascended together, and how many are kept once they have flown together.
BATCH, KEEP = 8, 4
#: Inner products of start rows with all rows, at most.
SCREEN = 2_000_000
#: Width of the kinks, in median scores; few rows need one step at each, more rows several.
WIDTHS = (1.0, 0.5, 0.25, 0.12, 0.06)
FEW = 250
#: Trial steps along the great circle, in Newton steps: none, Newton's own, and others.
STEPS = np.array([0.0, 1.0, 1 / 8, 0.5, 2.5])
STAY, NATURAL = 0, 1


@dataclass(frozen=True)
class _Problem:
    """Dense rows A (n, d) with weights v, the operator, and the width h of its kink."""

    A: Array
    v: Array
    operator: Operator
    width: float = 0.0

    def size(self, T: Array) -> Array:
        """|t|, or sqrt(t^2 + h^2)."""
        return np.abs(T) if self.width == 0.0 else np.sqrt(T * T + T.dtype.type(self.width) ** 2)

    def settle(self, T: Array) -> Operator:
        """The operator at scores T, an "auto" shape settled for each direction."""
        if not (self.operator.adaptive and isinstance(self.operator, TL1)):
            return self.operator
        U = self.size(T)
        return self.operator.at(tl1_scale(U.T, self.v)[:, None], U.max(axis=1, keepdims=True))

    def value(self, T: Array, operator: Operator) -> Array:
        return np.asarray(operator.value(self.size(T)) @ self.v)

    def measure(self, T: Array, operator: Operator) -> Array:
        """The objective: f, or alpha itself when it is what is maximised."""
        if self.operator.adaptive and isinstance(operator, TL1):
            return np.asarray(operator.a)[:, 0]
        return self.value(T, operator)

    def slopes(self, T: Array, operator: Operator) -> tuple[Array, Array]:
        """First and second derivative of the value in every score."""
        s = self.size(T)
        if self.width == 0.0:
            return np.sign(T) * operator.slope(s) * self.v, operator.curvature(s) * self.v
        slope, r = operator.slope(s), T / s
        with np.errstate(over="ignore"):  # a kink too narrow for single precision
            bend = operator.curvature(s) * r * r + slope * (1.0 - r * r) / s
        return r * slope * self.v, np.minimum(bend, np.finfo(T.dtype).max ** 0.5) * self.v


@dataclass(frozen=True)
class _Batch:
    """Directions with their scores, settled operator, objective history and relative gradient."""

    W: Array
    T: Array
    operator: Operator
    path: tuple[Array, ...]
    gradient: Array

    @property
    def objective(self) -> Array:
        return self.path[-1]

    def pick(self, index: Array) -> _Batch:
        return _Batch(
            self.W[index],
            self.T[index],
            _pick(self.operator, index),
            tuple(p[index] for p in self.path),
            self.gradient[index],
        )

    def best(self, count: int) -> _Batch:
        """The best directions, near-duplicates left out."""
        order = np.argsort(-self.objective, kind="stable")
        W = self.W[order]
        twin = np.tril(np.abs(W @ W.T) > 0.999, -1).any(axis=1)
        return self.pick(order[~twin][:count])


class SphereAscent(Solver):
    """Deterministic ascent of a concave dispersion on the sphere.

    The recorded path begins where the smoothing has ended; it never descends.

    Parameters
    ----------
    tol : float, default=1e-8
        Relative tangent gradient |g|/mu at which a direction is a maximum.
    max_iter : int, default=1000
    n_starts : int, default=1
        Multiplies the number of starts that are ascended (8 by default).
    hops : int, default=3
        Most reflections of the winner at rows, each to a better cell.
    warm : Solver or None, default=None
        Another solver whose result is one more start, so that the objective
        is never below that solver's.
    """

    def __init__(
        self,
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_starts: int = 1,
        hops: int = 3,
        warm: Solver | None = None,
    ):
        self.tol = tol
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.hops = hops
        self.warm = warm

    def maximize(self, dispersion: Dispersion, rng: np.random.RandomState) -> Solution:
        rows = dispersion.rows
        A = rows.take(np.arange(rows.shape[0]))
        v = np.ones(len(A), dtype=A.dtype)
        if rows.weights is not None:
            v = rows.pick(rows.weights, np.arange(len(A))).astype(A.dtype)
        problem = _Problem(A, v, dispersion.operator)
        length = np.sqrt(np.einsum("ij,ij->i", A, A))
        live = np.flatnonzero(length > SHORT * length.max())
        live = live[:: -(-len(live) // max(64, min(1000, SCREEN // len(A))))]
        inner = A[live] @ A.T
        best = _screen(problem, inner / length[live, None], BATCH * self.n_starts)
        start = _begin(problem, A[live[best]] / length[live[best], None])
        batch = _graduate(problem, start, KEEP * self.n_starts)
        # The best starts as they are, too: the smoothing may lead away from a high cell.
        batch = _join(batch.best(max(2, KEEP * self.n_starts // 2)), start.pick(np.arange(min(2, len(best)))))
        if self.warm is not None:
            batch = _join(batch, _begin(problem, self.warm.maximize(dispersion, rng).W.T))
        # Newton is quadratic: one step more than the tolerance asks for makes the digits definite.
        finish = 1e-4 * self.tol
        batch = _climb(problem, batch, 20, gain=1e-2).best(1)
        batch = _climb(problem, batch, self.max_iter, gradient=finish)
        stop = tell("component", float(batch.objective[0]))
        for _ in range(self.hops if len(A) <= 1000 and not stop else 0):
            step = _hop(problem, batch, inner, length[live], live)
            if step is None:
                break
            batch = _climb(problem, step, self.max_iter, gradient=finish)
            if tell("component", float(batch.objective[0])):
                break
        path = np.maximum.accumulate([float(p[0]) for p in batch.path])
        converged = bool(batch.gradient[0] <= max(self.tol, 1e-6)) or len(path) <= self.max_iter
        return Solution(batch.W[0][:, None], tuple(path), converged)


def rough_directions(A: Array, v: Array, operator: Operator, n_directions: int) -> Array:
    """Greedy directions of a few rows, smoothed and far from converged: starts for all rows.

    Parameters
    ----------
    A : ndarray of shape (n, d)
    v : ndarray of shape (n,)
        Row weights.
    operator : Operator
    n_directions : int

    Returns
    -------
    ndarray of shape (d, n_directions), or less where the rows span less
        Orthonormal to rounding.
    """
    found, longest = [], 0.0
    for _ in range(n_directions):
        problem = _Problem(A, v, operator)
        length = np.sqrt(np.einsum("ij,ij->i", A, A))
        longest = longest or float(length.max())
        if length.max() <= 1e-10 * longest:
            break
        live = np.flatnonzero(length > SHORT * length.max())[:64]
        inner = A[live] @ A.T / length[live, None]
        best = _screen(problem, inner, 3)
        if isinstance(operator, TL1) and operator.adaptive:  # the scale of the best row will do for a start
            alpha = float(tl1_scale(np.abs(inner[best[0]]), v))
            problem = replace(problem, operator=operator.at(alpha, length.max()))
        scale = float(np.median(np.abs(inner[best[0]])))
        batch = _begin(problem, A[live[best]] / length[live[best], None])
        for width, steps in ((1.0, 8), (0.5, 1)):
            smooth = replace(problem, width=width * scale)
            batch = _climb(smooth, _restart(smooth, batch), steps, gain=1e-2)
        w = batch.best(1).W[0]
        found.append(w)
        A = A - np.outer(A @ w, w)
    return np.column_stack(found)


def _pick(operator: Operator, index: Array) -> Operator:
    if isinstance(operator, TL1) and np.ndim(operator.a) > 0:
        return TL1(a=np.asarray(operator.a)[index])
    return operator


def _screen(problem: _Problem, scores: Array, count: int) -> Array:
    """The paper's start: candidates (rows of scores) with the largest objective, best first."""
    operator = problem.operator
    if operator.adaptive:
        # A candidate has the larger alpha exactly if its value at the best alpha so far
        # exceeds one half: two or three rounds find the largest without a root for each.
        best = int(np.argmax(np.abs(scores) @ problem.v))
        for _ in range(8):
            operator = _pick(problem.settle(scores[best : best + 1]), np.array(0))
            values = problem.value(scores, operator)
            if int(np.argmax(values)) == best:
                break
            best = int(np.argmax(values))
    else:
        values = problem.value(scores, operator)
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    # A repeated row, or its mirror image, is no second start.
    fresh = np.concatenate([[True], ranked[:-1] - ranked[1:] > 1e-12 * ranked[0]])
    return np.asarray(order[fresh][:count])


def _begin(problem: _Problem, W: Array) -> _Batch:
    T = W @ problem.A.T
    operator = problem.settle(T)
    return _Batch(W, T, operator, (problem.measure(T, operator),), np.full(len(W), np.inf))


def _restart(problem: _Problem, batch: _Batch) -> _Batch:
    """The same directions in another problem, with a new history."""
    operator = problem.settle(batch.T)
    return replace(batch, operator=operator, path=(problem.measure(batch.T, operator),))


def _join(first: _Batch, second: _Batch) -> _Batch:
    """Two batches as one; the younger one has stood still at its start."""
    operator = first.operator
    if isinstance(operator, TL1) and np.ndim(operator.a) > 0 and isinstance(second.operator, TL1):
        operator = TL1(a=np.concatenate([operator.a, second.operator.a]))
    return _Batch(
        np.concatenate([first.W, second.W]),
        np.concatenate([first.T, second.T]),
        operator,
        tuple(np.concatenate([p, second.path[0]]) for p in first.path),
        np.concatenate([first.gradient, second.gradient]),
    )


def _graduate(problem: _Problem, batch: _Batch, keep: int) -> _Batch:
    """Follow the maxima while the kinks become sharp."""
    scores = np.abs(batch.T[0])
    scale = float(weighted_median(scores[scores > 0], problem.v[scores > 0]))
    few = len(problem.A) <= FEW
    for i, width in enumerate(WIDTHS):
        smooth = replace(problem, width=width * scale)
        batch = _restart(smooth, batch)
        batch = _climb(smooth, batch, 1 if few else 20, gain=1e-4)
        if i < 3:
            batch = batch.best(keep)
    return _restart(problem, batch)


def _climb(
    problem: _Problem, batch: _Batch, max_iter: int, *, gain: float = 1e-15, gradient: float = 0.0
) -> _Batch:
    """Ascend every direction by Newton steps until none gains or all gradients are small."""
    for _ in range(max_iter):
        slope, bend = problem.slopes(batch.T, batch.operator)
        G = slope @ problem.A
        mu = np.maximum(_dots(G, batch.W), np.finfo(G.dtype).tiny)
        g = G - mu * batch.W
        relative = np.sqrt(_dots(g, g)[:, 0]) / mu[:, 0]
        batch = replace(batch, gradient=relative)
        if (relative <= gradient).all():
            break
        accuracy = min(0.3, max(float(relative.max()), 1e-9))
        D = _newton(problem.A, -bend, batch.W, g, mu, accuracy, 50 if gradient else 6)
        before = batch.objective
        batch, won = _search(problem, batch, D)
        if (won <= gain * np.abs(before)).all():
            break
    return batch


def _newton(A: Array, bend: Array, W: Array, g: Array, mu: Array, accuracy: float, steps: int) -> Array:
    """Solve P (mu + A' diag(bend) A) P x = g for each direction by conjugate gradients.

    Smoothed kinks bend the other way: a direction stops where the curvature
    is about to vanish.
    """
    x, r, p = np.zeros_like(g), g, g
    rr = _dots(r, r)
    stop, on = accuracy**2 * rr, rr > 0
    for _ in range(steps):
        q = ((p @ A.T) * bend) @ A
        q += mu * p
        q -= _dots(q, W) * W
        pq = _dots(p, q)
        on = on & (rr > stop) & (pq > 0.02 * mu * _dots(p, p))
        if not on.any():
            break
        step = np.divide(rr, pq, out=np.zeros_like(rr), where=on)
        x += step * p
        r = r - step * q
        new = _dots(r, r)
        p = r + np.divide(new, rr, out=np.zeros_like(rr), where=on) * p
        rr = new
    return np.where(x.any(axis=1, keepdims=True), x, g / mu)


def _search(problem: _Problem, batch: _Batch, D: Array) -> tuple[_Batch, Array]:
    """The best of STEPS along the great circle of each direction; nobody goes down but by rounding."""
    # A huge gradient along w leaves rounding in the tangent plane: take it out again.
    D = D - _dots(D, batch.W) * batch.W
    size = np.sqrt(_dots(D, D))
    D /= np.maximum(size, np.finfo(D.dtype).tiny)
    S = D @ problem.A.T
    theta = np.arctan(size * STEPS.astype(D.dtype))
    cos, sin = np.cos(theta), np.sin(theta)
    trial = cos.T[:, :, None] * batch.T
    trial += sin.T[:, :, None] * S  # (steps, B, n)
    F = (batch.operator.value(problem.size(trial)) @ problem.v).T
    each, before = np.arange(len(F)), F[:, STAY]
    best = np.argmax(F, axis=1)
    # Ties go to the Newton step: at convergence all trials are equal to rounding. And it is taken:
    # where f is flat to rounding, it still sharpens the direction.
    best = np.where(F[:, NATURAL] >= F[each, best] * (1 - 4e-16), NATURAL, best)
    best = np.where(F[each, best] >= before * (1 - 1e-15), best, STAY)
    W = cos[each, best][:, None] * batch.W + sin[each, best][:, None] * D
    W /= np.sqrt(_dots(W, W))
    T = trial[best, each]
    operator, value = problem.operator, F[each, best]
    after = value
    if operator.adaptive:
        operator = problem.settle(T)
        after = problem.measure(T, operator)
    gain = (value - before) / np.maximum(np.abs(before), 1e-300)
    after = np.maximum(after, batch.objective)
    return _Batch(W, T, operator, (*batch.path, after), batch.gradient), gain * np.abs(batch.objective)


def _hop(problem: _Problem, batch: _Batch, inner: Array, length: Array, live: Array) -> _Batch | None:
    """The best reflection w - 2 t_i x_i/|x_i|^2 of a single direction, if it is higher."""
    t = batch.T[0]
    operator = _pick(batch.operator, np.array(0))
    turned = t - (2.0 * t[live] / length**2)[:, None] * inner
    values = problem.value(turned, operator)
    i = int(np.argmax(values))
    if values[i] <= float(problem.value(t, operator)) * (1 + 1e-12):
        return None
    W = batch.W - 2.0 * t[live[i]] / length[i] ** 2 * problem.A[live[i]]
    after = _begin(problem, W / np.sqrt(_dots(W, W)))
    return replace(after, path=(*batch.path, np.maximum(after.objective, batch.objective)))


def _dots(x: Array, y: Array) -> Array:
    """Inner products of corresponding rows, as a column."""
    if _VECDOT is not None:
        return np.asarray(_VECDOT(x, y)[:, None])
    return np.asarray(np.matmul(x[:, None, :], y[:, :, None])[:, 0])
