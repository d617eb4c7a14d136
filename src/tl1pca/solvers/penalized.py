"""A dispersion less a trace lasso: PCA-L1 with adaptive regularization, by steps that never descend.

|M|_* <= (tr M'S^-1 M + tr S)/2 with equality at S = (MM')^(1/2). For
M = X Diag(w) the first trace is sum_j d_j w_j^2, d_j = x_j'S^-1 x_j with the
columns x_j of X: a step maximizes v'w - penalty/2 sum_j d_j w_j^2 over the
sphere, v the gradient of the convex dispersion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._progress import report_iteration
from ..geometry import sphere_maximizer, unit
from ..objectives import Dispersion
from ..operators import Operator
from ..rows import Rows
from .ascent import SphereAscent
from .axes import principal_axes
from .base import Rng, Solution, Solver, Start, solution
from .starts import PrincipalAxes

Array = NDArray[Any]

#: Starts that are ascended; singular values below this share of the largest are rounded up to it.
N_STARTS, SMALLEST = 6, 1e-8


@dataclass(frozen=True)
class TraceLasso:
    """sum_i v_i rho(x_i.w) - penalty |X Diag(w)|_*, over unit w in the span of `basis`.

    The trace lasso is that of the rows as they were given, `columns`, each
    multiplied by the root of its weight; the dispersion is that of the rows
    that earlier directions leave, which `basis` is orthogonal to.
    """

    dispersion: Dispersion
    columns: Array
    penalty: float
    basis: Array

    sense: ClassVar[float] = 1.0

    @property
    def rows(self) -> Rows:
        return self.dispersion.rows

    @property
    def operator(self) -> Operator:
        return self.dispersion.operator

    def norm(self, w: Array) -> float:
        """|X Diag(w)|_*."""
        return float(linalg.svdvals(self.columns * w).sum())

    def value(self, W: Array) -> Array:
        norms = [self.norm(w) for w in W.T]
        return np.asarray(self.dispersion.value(W)) - self.penalty * np.array(norms)

    def deflated(self, W: Array) -> TraceLasso:
        """The same in the complement of W."""
        rest = self.basis - W @ (W.T @ self.basis)
        U, s, _ = linalg.svd(rest, full_matrices=False)
        return replace(self, dispersion=self.dispersion.deflated(W), basis=U[:, s > 0.5])

    def curvature(self, w: Array) -> Array:
        """The d_j of the majorizing squares at w."""
        U, s, _ = linalg.svd(self.columns * w, full_matrices=False)
        floor = SMALLEST * float(s.max(initial=0.0)) or 1.0
        return np.asarray(((U.T @ self.columns) ** 2 / np.hypot(s, floor)[:, None]).sum(axis=0))


class TraceLassoAscent(Solver):
    """Monotone ascent of a `TraceLasso` with a convex operator, from principal axes and rows.

    Parameters
    ----------
    tol : float, default=1e-8
        Relative increase below which an ascent ends.
    max_iter : int, default=1000
    """

    extractions = ("greedy",)

    def __init__(self, tol: float = 1e-8, max_iter: int = 1000):
        self.tol = tol
        self.max_iter = max_iter

    @property
    def needs(self) -> tuple[str, ...]:
        return ("convex",)

    @property
    def in_memory(self) -> str | None:
        return "takes singular values of all columns"

    def default_start(self) -> Start:
        return PrincipalAxes()

    def solve(
        self, objective: TraceLasso, start: Start | None = None, n_directions: int = 1, rng: Rng = None
    ) -> Solution:
        candidates = (
            self._starts(objective) if start is None else start.directions(objective.dispersion, 1, rng)
        )
        found = [self._climb(objective, w) for w in candidates.T]
        return max(found, key=lambda one: one.path[-1])

    def _starts(self, objective: TraceLasso) -> Array:
        """Where the dispersion alone is largest, principal axes and rows: the best of them."""
        rows = objective.rows
        A = rows.array()
        axes = principal_axes(rows, min(N_STARTS, *A.shape))
        alone = SphereAscent().solve(objective.dispersion).W
        candidates = unit(objective.basis @ (objective.basis.T @ np.column_stack([alone, axes, A.T])))
        candidates = candidates[:, candidates.any(axis=0)]  # a row at the center points nowhere
        values = objective.dispersion.value(candidates)
        # Each once: a row that is repeated is a weight.
        _, once = np.unique(-np.round(values / values.max(), 9), return_index=True)
        return np.asarray(candidates[:, once[:N_STARTS]])

    def _climb(self, objective: TraceLasso, w: Array) -> Solution:
        N = objective.basis
        path = [float(objective.value(w[:, None])[0])]
        for _ in range(self.max_iter):
            t = objective.rows.project(w)
            side = np.where(t < 0, -1.0, 1.0).astype(t.dtype)  # a row at its kink takes a side
            G = objective.rows.pullback(side * objective.operator.slope(np.abs(t)))
            d, Q = linalg.eigh((N.T * (objective.penalty * objective.curvature(w))) @ N)
            # Squares of single precision may be beyond it, so that a step is in double precision.
            new = (N @ (Q @ sphere_maximizer(Q.T @ (N.T @ G), d))).astype(objective.rows.dtype)
            value = float(objective.value(new[:, None])[0])
            if value - path[-1] <= self.tol * abs(path[-1]):
                return solution(w[:, None], path, True)
            w = new
            path.append(value)
            if report_iteration("components", value):
                break
        return solution(w[:, None], path, False)
