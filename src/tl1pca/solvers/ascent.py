"""The default solver for concave operators: several starts, Newton in the sign cell, hops between cells.

Off the kinks t_i = 0 the Riemannian Hessian of f is P X' diag(rho'') X P - mu P
with mu = sum psi(|t|)|t|: negative definite. So every stationary point is a
strict local maximum, there is at most one in each cell of constant signs, and
Newton's step is always defined, but stays near its cell. What remains is to
find a good cell: many starts are ascended together, long steps along each
great circle are tried, and the winner is reflected at the rows.

Directions are rows here: W is (B, d), scores T are (B, n), and the shape `a` of
an operator is a column, one for each direction of the batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Dispersion
from ..operators import TL1, Operator
from ..statistics import tl1_scale
from .base import SHORT, Solution, Solver

Array = NDArray[Any]

#: Starts ascended together, and how many of them Newton finishes.
BATCH, FINISH = 8, 2
#: Rows tried as starts when there are more than enough of them.
CANDIDATES = 256
#: Trial steps along the great circle, in units of the natural step.
STEPS = 2.0 ** np.arange(-3, 5)
NATURAL = 3


@dataclass(frozen=True)
class _Problem:
    """Dense rows A (n, d) with weights v, and the operator; small enough for all inner products."""

    A: Array
    v: Array
    operator: Operator

    def settle(self, T: Array) -> Operator:
        """The operator at scores T, an "auto" shape settled for each direction."""
        if not (self.operator.adaptive and isinstance(self.operator, TL1)):
            return self.operator
        U = np.abs(T)
        return self.operator.at(tl1_scale(U.T, self.v)[:, None], U.max(axis=1, keepdims=True))

    def value(self, T: Array, operator: Operator) -> Array:
        return np.asarray(operator.value(np.abs(T)) @ self.v)

    def measure(self, T: Array, operator: Operator) -> Array:
        """The objective: f, or alpha itself when it is what is maximised."""
        if self.operator.adaptive and isinstance(operator, TL1):
            return np.asarray(operator.a)[:, 0]
        return self.value(T, operator)


@dataclass(frozen=True)
class _Batch:
    """Directions with their scores, settled operator, objective history and relative gradient."""

    W: Array
    T: Array
    operator: Operator
    path: tuple[Array, ...]
    gradient: Array

    def pick(self, index: Array) -> _Batch:
        return _Batch(
            self.W[index],
            self.T[index],
            _pick(self.operator, index),
            tuple(p[index] for p in self.path),
            self.gradient[index],
        )


class SphereAscent(Solver):
    """Monotone, deterministic ascent of a concave dispersion on the sphere.

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
        v = np.ones(len(A)) if rows.weights is None else rows.weights.astype(np.float64)
        problem = _Problem(A, v.astype(A.dtype), dispersion.operator)
        length = np.sqrt(np.einsum("ij,ij->i", A, A))
        live = np.flatnonzero(length > SHORT * length.max())
        if len(live) > CANDIDATES * self.n_starts:
            live = live[:: -(-len(live) // (CANDIDATES * self.n_starts))]
        inner = A[live] @ A.T
        best = _screen(problem, inner / length[live, None], BATCH * self.n_starts)
        batch = _begin(problem, A[live[best]] / length[live[best], None])
        batch = _climb(problem, batch, 12, self.tol, newton=False)
        order = np.argsort(-batch.path[-1], kind="stable")
        batch = batch.pick(order[: FINISH * self.n_starts])
        if self.warm is not None:
            batch = _join(batch, _begin(problem, self.warm.maximize(dispersion, rng).W.T))
        batch = _climb(problem, batch, self.max_iter, self.tol, newton=True)
        batch = batch.pick(np.array([int(np.argmax(batch.path[-1]))]))
        for _ in range(self.hops):
            step = _hop(problem, batch, inner, length[live], live)
            if step is None:
                break
            batch = _climb(problem, step, self.max_iter, self.tol, newton=True)
        path = [float(p[0]) for p in batch.path]
        # Newton at rounding level cannot tell ascent from noise: the path keeps its maximum so far.
        path = list(np.maximum.accumulate(path))
        converged = bool(batch.gradient[0] <= max(self.tol, 1e-6)) or len(path) <= self.max_iter
        return Solution(batch.W[0][:, None], tuple(path), converged)


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
            operator = problem.settle(scores[best : best + 1])
            operator = _pick(operator, np.array(0))
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


def _tangent_gradient(problem: _Problem, batch: _Batch) -> tuple[Array, Array]:
    """g = G - mu w and mu = G.w, for each direction."""
    pull = np.sign(batch.T) * batch.operator.slope(np.abs(batch.T)) * problem.v
    G = pull @ problem.A
    mu = np.einsum("ij,ij->i", G, batch.W)[:, None]
    return G - mu * batch.W, mu


def _newton_direction(problem: _Problem, batch: _Batch, g: Array, mu: Array, accuracy: float) -> Array:
    """Solve P (mu + A' diag(-v rho'') A) P x = g by conjugate gradients, for each direction."""
    bend = -problem.v * batch.operator.curvature(np.abs(batch.T))
    x, r, p = np.zeros_like(g), g, g
    rr = _squares(r)
    stop = accuracy**2 * rr
    for _ in range(50):
        q = ((p @ problem.A.T) * bend) @ problem.A + mu * p
        q -= np.einsum("ij,ij->i", q, batch.W)[:, None] * batch.W
        pq = np.einsum("ij,ij->i", p, q)[:, None]
        on = (rr > stop) & (pq > 0)
        step = np.where(on, rr, 0.0) / np.where(on, pq, 1.0)
        x = x + step * p
        r = r - step * q
        new = _squares(r)
        if (new <= stop).all():
            break
        p = r + np.where(on, new, 0.0) / np.where(on, rr, 1.0) * p
        rr = new
    return x


def _climb(problem: _Problem, batch: _Batch, max_iter: int, tol: float, newton: bool) -> _Batch:
    """Ascend every direction along its great circle, to the best of several steps."""
    for _ in range(max_iter):
        g, mu = _tangent_gradient(problem, batch)
        mu = np.maximum(mu, np.finfo(g.dtype).tiny)
        relative = np.sqrt(_squares(g)[:, 0]) / mu[:, 0]
        batch = replace(batch, gradient=relative)
        if (relative <= tol).all():
            break
        D = g / mu
        if newton:
            D = _newton_direction(problem, batch, g, mu, min(0.1, max(0.5 * float(relative.max()), 1e-9)))
        moved, gain = _search(problem, batch, D)
        small = gain <= (1e-15 if newton else 1e-4) * np.abs(batch.path[-1])
        batch = moved
        if small.all():
            break
    return batch


def _search(problem: _Problem, batch: _Batch, D: Array) -> tuple[_Batch, Array]:
    """The best of STEPS along the great circle of each direction; nobody goes down."""
    size = np.sqrt(_squares(D))
    D = D / np.where(size > 0, size, 1.0)
    # A huge gradient along w leaves rounding in the tangent plane: take it out again.
    D -= np.einsum("ij,ij->i", D, batch.W)[:, None] * batch.W
    D /= np.sqrt(np.maximum(_squares(D), np.finfo(D.dtype).tiny))
    S = D @ problem.A.T
    theta = np.arctan(size * STEPS.astype(D.dtype))
    cos, sin = np.cos(theta), np.sin(theta)
    trial = cos.T[:, :, None] * batch.T + sin.T[:, :, None] * S  # (steps, B, n)
    F = (batch.operator.value(np.abs(trial)) @ problem.v).T
    before = problem.value(batch.T, batch.operator)
    each = np.arange(len(F))
    best = np.argmax(F, axis=1)
    # Ties go to the natural step: at convergence all trials are equal to rounding.
    best = np.where(F[:, NATURAL] >= F[each, best] * (1 - 4e-16), NATURAL, best)
    up = F[each, best] > before
    c = np.where(up, cos[each, best], 1.0)[:, None].astype(D.dtype)
    s = np.where(up, sin[each, best], 0.0)[:, None].astype(D.dtype)
    W = c * batch.W + s * D
    W /= np.sqrt(_squares(W))
    T = c * batch.T + s * S
    operator = problem.settle(T)
    after = np.maximum(problem.measure(T, operator), batch.path[-1])
    gain = np.where(up, F[each, best] - before, 0.0)
    return _Batch(W, T, operator, (*batch.path, after), batch.gradient), gain


def _hop(problem: _Problem, batch: _Batch, inner: Array, length: Array, live: Array) -> _Batch | None:
    """The best reflection w - 2 t_i x_i/|x_i|^2 of a single direction, if it is higher."""
    t = batch.T[0]
    operator = _pick(batch.operator, np.array(0))
    turned = t - (2.0 * t[live] / length**2)[:, None] * inner
    values = problem.value(turned, operator)
    i = int(np.argmax(values))
    if values[i] <= float(problem.value(t, operator)) * (1 + 1e-12):
        return None
    row = problem.A[live[i]]
    W = batch.W - 2.0 * t[live[i]] / length[i] ** 2 * row
    W = W / np.sqrt(_squares(W))
    after = _begin(problem, W)
    return replace(after, path=(*batch.path, np.maximum(after.path[0], batch.path[-1])))


def _squares(x: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", x, x)[:, None])
