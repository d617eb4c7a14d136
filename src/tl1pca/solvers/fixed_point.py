"""Fixed points: linearize the objective at W and take the linear maximizer.

For a convex operator the linearization lies below the objective, so the
iteration never descends (p >= 1). For p < 1 it need not even converge: the
published rule is kept as it is, and `SphereAscent` or `StiefelAscent`
maximize the same objective soundly. With many rows a convex operator takes
the shorter way of `frame_ascent` to a fixed point; with few rows of many
columns the published rule for p < 1 takes `frame_on_products`, the same
iteration in less time.
"""

from __future__ import annotations

from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import namespace, to_numpy
from .._progress import report_iteration
from ..geometry import ball_maximizer, p_unit, polar, sparse_maximizer
from ..objectives import Dispersion
from ..rows import MANY_ROWS
from .base import Rng, Solution, Solver, Start, solution
from .frame import frame_ascent
from .gram import fewer_products, frame_on_products
from .starts import LongestRow, PrincipalAxes

Array = NDArray[Any]


def sides_of(t: Any) -> Any:
    """-1 for a negative score, else 1."""
    one = namespace(t).ones_like(t)
    return namespace(t).where(t < 0, -one, one)


def _pull_and_value(objective: Dispersion, T: Any) -> tuple[Any, float]:
    """What the rows pull with at the scores T, sign(t) psi(|t|), and the objective there."""
    rows, operator = objective.rows, objective.operator
    # sign(0) = +1: for l1 a row on the boundary must take a side to be finite.
    pull = rows.map(lambda t: sides_of(t) * operator.slope(abs(t)), T)
    if operator.degree is None:
        return pull, float(objective.value_of_scores(T).sum())
    # psi(t) t = p rho(t): one power for both.
    return pull, float(rows.total(mul, pull, T).sum()) / operator.degree


class FixedPoint(Solver):
    """W <- polar(X' (sign(T) psi(|T|))), T = XW: Kwak 2008 and 2014, Nie 2011.

    Parameters
    ----------
    tol : float, default=1e-8
        Relative increase of the objective below which the iteration stops; for
        l1 it ends when the signs repeat. With more than 5000 rows the increase
        decides for l1 as well, at tol^(2/3), two in a million by default: the
        steps are then longer ones.
    step_tol : float, default=0.0
        Frobenius norm of the change of W below which it stops as well, as
        published; such a rule is never replaced by longer steps.
    value_tol : float, default=0.0
        Absolute change of the objective below which it stops as well, as
        published.
    max_iter : int, default=1000
    """

    def __init__(
        self, tol: float = 1e-8, step_tol: float = 0.0, value_tol: float = 0.0, max_iter: int = 1000
    ):
        self.tol = tol
        self.step_tol = step_tol
        self.value_tol = value_tol
        self.max_iter = max_iter

    linearizes = True
    supports_array_api = True

    @property
    def needs(self) -> tuple[str, ...]:
        """Convexity, unless the published rule is asked for, which is run as it is."""
        return () if self.step_tol > 0 else ("convex",)

    def default_start(self) -> Start:
        return PrincipalAxes()

    def uses_quasi_newton(self, objective: Dispersion) -> bool:
        """Whether the rows are many and the objective convex, so that there is a shorter way."""
        n, d = objective.rows.shape
        return (
            n > max(MANY_ROWS, d) and objective.operator.convex and self.orthogonal and self.step_tol == 0.0
        )

    def _uses_products(self, objective: Dispersion) -> bool:
        """Whether the published rule for p < 1 meets rows whose products with each other are cheaper."""
        rows, degree = objective.rows, objective.operator.degree
        published = self.step_tol > 0 and self.orthogonal and degree is not None and degree < 1.0
        return published and rows.in_memory and fewer_products(rows.shape)

    def _feasible(self, W: Array) -> Array:
        """The start on the set that the directions live on."""
        return W

    def _step(self, G: Array, W: Array) -> Array:
        return polar(G, near=W)

    def solve(
        self, objective: Dispersion, start: Start | None = None, n_directions: int = 1, rng: Rng = None
    ) -> Solution:
        if start is None and self.uses_quasi_newton(objective):
            tol = max(self.tol ** (2.0 / 3.0), 4.0 * float(np.finfo(objective.rows.dtype).eps))
            return frame_ascent(objective, n_directions, tol, self.max_iter)
        W = to_numpy((start or self.default_start()).directions(objective, n_directions, rng))
        W = self._feasible(W)
        rows = objective.rows
        tol = max(self.tol, 4.0 * float(np.finfo(rows.dtype).eps)) if self.tol > 0 else 0.0
        if self._uses_products(objective):
            return frame_on_products(
                objective,
                W,
                tol=tol,
                step_tol=self.step_tol,
                value_tol=self.value_tol,
                max_iter=self.max_iter,
            )
        # On the sphere, and for l1, the signs decide: the iteration is finite and never descends.
        l1 = objective.operator.degree == 1.0 and self.orthogonal
        pull, value = _pull_and_value(objective, rows.project(rows.asarray(W)))
        path = [value]
        for _ in range(self.max_iter):
            new = self._step(to_numpy(rows.pullback(pull)), W)
            moved = float(np.linalg.norm(new - W))
            pull, value = _pull_and_value(objective, rows.project(rows.asarray(new)))
            if l1 and value <= path[-1] * (1 + 1e-15):
                return solution(W, path, True)  # the signs repeat: W is the fixed point
            W = new
            path.append(value)
            change = abs(path[-1] - path[-2])
            small = change <= tol * abs(path[-1])
            if report_iteration("components", value):
                break
            if moved < self.step_tol or change < self.value_tol or (small and not l1):
                return solution(W, path, True)
        return solution(W, path, False)


class SparseFixedPoint(FixedPoint):
    """lpSPCA (Li, Chen and Shao 2017): soft-thresholded to `n_nonzero` entries.

    Parameters
    ----------
    n_nonzero : int
        Non-zero entries of a direction.
    tol, step_tol, max_iter
        As in `FixedPoint`; the published rule stops at a change below 1e-2
        or after 600 iterations.
    """

    extractions = ("greedy",)
    orthogonal = False

    def __init__(self, n_nonzero: int, tol: float = 0.0, step_tol: float = 1e-2, max_iter: int = 600):
        super().__init__(tol=tol, step_tol=step_tol, max_iter=max_iter)
        self.n_nonzero = n_nonzero

    def default_start(self) -> Start:
        return LongestRow()

    def _feasible(self, W: Array) -> Array:
        return sparse_maximizer(W[:, 0], self.n_nonzero)[:, None]

    def _step(self, G: Array, W: Array) -> Array:
        if not G.any():
            return W
        return sparse_maximizer(G[:, 0], self.n_nonzero)[:, None]


class BallFixedPoint(FixedPoint):
    """Lp GPCA (Liang et al. 2013): directions of p-norm one.

    Parameters
    ----------
    norm : float
        p of the constraint; may be infinite.
    tol, step_tol, max_iter
        As in `FixedPoint`.
    """

    extractions = ("greedy",)
    orthogonal = False

    def __init__(self, norm: float, tol: float = 1e-10, step_tol: float = 0.0, max_iter: int = 1000):
        super().__init__(tol=tol, step_tol=step_tol, max_iter=max_iter)
        self.norm = norm

    def _feasible(self, W: Array) -> Array:
        w = W[:, 0]
        if self.norm == 1.0:
            return ball_maximizer(w, 1.0, w)[:, None]
        return p_unit(w, self.norm)[:, None]

    def _step(self, G: Array, W: Array) -> Array:
        return ball_maximizer(G[:, 0], self.norm, W[:, 0])[:, None]
