"""Maxima of a quotient of two dispersions: Dinkelbach's linearization, majorized, with graduated smoothing.

The denominator has cusps where a row below projects to zero, and they raise the
quotient: the maximum sits where as many rows below vanish as there are
dimensions less one, and plain ascent creeps along the edges. With the kinks
below spread over a width h a step maximizes over the sphere

    (G + beta w0)'w - F0/2 w'S w,   S = sum_i v_i psi(u_i)/u_i x_i x_i',   u_i = sqrt(t_i^2 + h^2),

which lies below above(w) - F0 below(w) and touches it at w0, so that the
quotient never falls; beta as in `sparse`. Then h goes to zero. A ridge of the
quotient is a constant on the sphere and changes F0 alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._arrays import to_numpy
from ..geometry import sphere_maximizer, unit
from ..objectives import Quotient
from ..operators import Operator, Smoothed
from ..statistics import weighted_median
from .base import Rng, Solution, Solver, Start, solution
from .starts import PrincipalAxes

Array = NDArray[Any]

#: Widths of the kinks in median scores of the rows below; at all but the last a few steps follow.
WIDTHS = (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-5, 1e-8)
ROUGH_STEPS, ROUGH_GAIN = 10, 1e-4
#: Widths that are enough with a ridge, which takes the maximum off the vertices.
N_RIDGE = 6
#: Starts that are ascended at the first widths, and those that go on.
N_STARTS, N_ROUGH, N_KEPT = 6, 2, 2
#: Vertices drawn as starts, and the work in cubes of the dimension that they may take.
N_VERTICES, VERTEX_WORK = 200, 1 << 22


class QuotientAscent(Solver):
    """Monotone ascent of a `Quotient` on the sphere, from several starts.

    Starts are Fisher's directions, those of the rows above, these turned by the
    scatter below, and, without a ridge, vertices that are drawn. Directions stay
    where the quotient is finite: without a ridge in the span of the rows below.
    The recorded path holds the best quotient, without smoothing, after each width.

    Parameters
    ----------
    tol : float, default=1e-6
        Relative gain below which the last width is done.
    max_iter : int, default=200
        Most steps at the last width.
    """

    extractions = ("greedy",)

    def __init__(self, tol: float = 1e-6, max_iter: int = 200):
        self.tol = tol
        self.max_iter = max_iter

    @property
    def needs(self) -> tuple[str, ...]:
        return ("concave_in_square",)

    @property
    def in_memory(self) -> str | None:
        return "keeps the scatter of all rows"

    def default_start(self) -> Start:
        return PrincipalAxes()

    def solve(
        self, objective: Quotient, start: Start | None = None, n_directions: int = 1, rng: Rng = None
    ) -> Solution:
        problem, V = _TwoSets.of(objective)
        if start is None:
            candidates = problem.starts(np.random.RandomState(0) if rng is None else rng)
        else:
            candidates = unit(V.T @ np.asarray(start.directions(objective, 1, rng), dtype=np.float64))
        order = np.argsort(-problem.quotient(candidates), kind="stable")[:N_STARTS]
        found = [_Climb(problem, candidates[:, j]) for j in order]
        for width in WIDTHS[:N_ROUGH]:
            for climb in found:
                climb.at(width, ROUGH_STEPS, ROUGH_GAIN)
        found = sorted(found, key=lambda climb: -climb.path[-1])[:N_KEPT]
        for climb in found:
            widths = WIDTHS[:N_RIDGE] if problem.ridge else WIDTHS
            for width in widths[N_ROUGH:-1]:
                climb.at(width, ROUGH_STEPS, ROUGH_GAIN)
            climb.at(widths[-1], self.max_iter, self.tol)
            if not problem.ridge:
                climb.to(problem.vertex(climb.w))
        # Of those that the tolerance does not tell apart the first one, not the one that rounding favors.
        enough = max(climb.path[-1] for climb in found) * (1.0 - self.tol)
        winner = next(climb for climb in found if climb.path[-1] >= enough)
        W = (V @ unit(winner.best))[:, None].astype(objective.rows.dtype)
        return solution(W, winner.path, winner.done)


class _Climb:
    """One start on its way up."""

    def __init__(self, problem: _TwoSets, w: Array):
        self.problem, self.w, self.best, self.done = problem, w, w, False
        #: The best quotient so far, without smoothing.
        self.path = [float(problem.quotient(w[:, None])[0])]

    def at(self, width: float, max_iter: int, tol: float) -> None:
        """Steps with the kinks below spread, until one gains less than tol."""
        size = self.problem.size(self.w)
        value, self.done = self.problem.smoothed_quotient(self.w, width * size), False
        for _ in range(max_iter):
            new, reached = self.problem.step(self.w, value, width * size)
            gain, self.w, value = reached - value, new, reached
            if gain <= tol * abs(value):
                self.done = True
                break
        self.to(self.w)

    def to(self, w: Array) -> None:
        """Keep w where it is the best so far."""
        sharp = float(self.problem.quotient(w[:, None])[0])
        if sharp > self.path[-1]:
            self.best = w
        self.path.append(max(sharp, self.path[-1]))


@dataclass(frozen=True)
class _TwoSets:
    """The two sets of rows in a basis of their span, with their weights."""

    above: Array
    below: Array
    v: Array
    u: Array
    operator: Operator
    ridge: float

    @classmethod
    def of(cls, objective: Quotient) -> tuple[_TwoSets, Array]:
        (B, v), (S, u) = (_rows(part.rows) for part in (objective.above, objective.below))
        _, s, Vt = linalg.svd(np.vstack([B, S]) if objective.ridge else S, full_matrices=False)
        V = Vt[s > 1e-10 * s.max(initial=0.0)].T
        if not V.shape[1]:
            raise ValueError("The rows below are all zero: the quotient is infinite everywhere.")
        return cls(B @ V, S @ V, v, u, objective.operator, objective.ridge), V

    def quotient(self, W: Array) -> Array:
        value = self.operator.value
        below = self.u @ value(np.abs(self.below @ W)) + self.ridge
        return np.asarray(self.v @ value(np.abs(self.above @ W))) / np.maximum(below, np.finfo(float).tiny)

    def smoothed_quotient(self, w: Array, h: float) -> float:
        below = float(self.u @ Smoothed(self.operator, h).value(self.below @ w)) + self.ridge
        return float(self.v @ self.operator.value(np.abs(self.above @ w))) / below

    def size(self, w: Array) -> float:
        """Unit of the widths: the median score below; with a ridge, where all may vanish, a usual length."""
        if self.ridge:
            return float(np.sqrt(self.u @ (self.below**2).mean(axis=1) / self.u.sum()))
        return float(weighted_median(np.abs(self.below @ w), self.u)) or float(np.abs(self.below).max())

    def starts(self, rng: np.random.RandomState) -> Array:
        """Unit columns: Fisher's directions, rows above, as they are and turned, and vertices."""
        scatter = (self.below.T * self.u) @ self.below
        if self.ridge:
            scatter += np.trace(scatter) / len(scatter) * np.eye(len(scatter))
        between = (self.above.T * self.v) @ self.above
        few = min(len(scatter), len(self.above))
        first = len(scatter) - few
        strength, fisher = linalg.eigh(between, scatter, subset_by_index=(first, len(scatter) - 1))
        fisher = fisher[:, strength > 1e-9 * strength.max()]  # the others are none but roundings
        turned = linalg.solve(scatter, self.above.T, assume_a="pos")
        # Each row once, in an order of its own: rows that are repeated are weights.
        rounded = np.round(self.below / np.abs(self.below).max(), 9)
        once = np.unique(rounded, axis=0, return_index=True)[1]
        vertices = [self._vertex(rng.choice(once, len(scatter) - 1)) for _ in range(self._drawn())]
        found = unit(np.column_stack([fisher, self.above.T, turned, *vertices]))
        return np.asarray(found[:, np.abs(found).max(axis=0) > 0])

    def step(self, w: Array, value: float, h: float) -> tuple[Array, float]:
        """One step that does not lower the smoothed quotient, with the least shift that does not."""
        t = self.above @ w
        side = np.where(t < 0, -1.0, 1.0)  # a row at its kink takes a side
        G = self.above.T @ (self.v * side * self.operator.slope(np.abs(t)))
        u = Smoothed(self.operator, h).size(self.below @ w)
        weight = value * self.u * self.operator.slope(u) / u
        d, Q = linalg.eigh((self.below.T * weight) @ self.below)
        kappa = 0.0 if self.operator.convex else -float(np.max(self.operator.curvature(np.zeros(1))))
        bound = kappa * float(self.v @ (self.above**2).sum(axis=1))
        for shift in (0.0, bound):  # nearly all steps ascend without it, and with the bound all do
            new = Q @ sphere_maximizer(Q.T @ (G + shift * w), d)
            reached = self.smoothed_quotient(new, h)
            if reached >= value:
                return new, reached
        return w, value

    def vertex(self, w: Array) -> Array:
        """The direction at which the rows below that are nearest to their kink vanish."""
        r = len(w)
        if r < 2:
            return w
        size = np.linalg.norm(self.below, axis=1)
        t = np.where(size > 0, np.abs(self.below @ w), np.inf)
        return self._vertex(np.argsort(t, kind="stable")[: r - 1])

    def _drawn(self) -> int:
        """Vertices that are drawn: fewer where each costs more."""
        r = self.below.shape[1]
        return 0 if r < 2 or self.ridge else min(N_VERTICES, VERTEX_WORK // r**3)

    def _vertex(self, index: Array) -> Array:
        """A direction orthogonal to some rows below, fewer than there are dimensions."""
        return np.asarray(linalg.svd(self.below[index])[2][-1])


def _rows(rows: Any) -> tuple[Array, Array]:
    A = to_numpy(rows.array()).astype(np.float64)
    v = np.ones(len(A)) if rows.weights is None else to_numpy(rows.weights).astype(np.float64)
    return A, v
