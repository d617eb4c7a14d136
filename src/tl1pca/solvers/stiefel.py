"""Joint ascent for concave operators, where the plain fixed point may descend."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._progress import tell
from ..geometry import polar
from ..objectives import Dispersion
from .base import Solution, Solver

Array = NDArray[Any]


class StiefelAscent(Solver):
    """W <- polar(G + beta W), with the smallest beta found to ascend.

    G is the gradient of F(W) = sum_ij rho(x_i.w_j). For beta at least the
    curvature of the operator the step ascends always; most steps do with far
    less, so beta is divided by four after a success and multiplied by four
    after a failure.

    Parameters
    ----------
    tol : float, default=1e-8
        Relative increase of the objective below which the ascent stops.
    max_iter : int, default=1000
    warm : Solver or None, default=None
        Another joint solver whose result is a second start, so that the
        objective is never below that solver's.
    """

    def __init__(self, tol: float = 1e-8, max_iter: int = 1000, warm: Solver | None = None):
        self.tol = tol
        self.max_iter = max_iter
        self.warm = warm

    def maximize(self, dispersion: Dispersion, rng: np.random.RandomState) -> Solution:
        raise ValueError("StiefelAscent is a joint solver; use extraction='joint'.")

    def maximize_joint(self, dispersion: Dispersion, W: Array) -> Solution:
        found = self._ascend(dispersion, W)
        if self.warm is None:
            return found
        other = self._ascend(dispersion, self.warm.maximize_joint(dispersion, W).W)
        return max(found, other, key=lambda solution: solution.path[-1])

    def _ascend(self, dispersion: Dispersion, W: Array) -> Solution:
        rows, operator = dispersion.rows, dispersion.operator
        T = rows.project(W)
        path = [float(dispersion.value(T, operator).sum())]
        beta = 0.0
        for _ in range(self.max_iter):
            G = dispersion.gradient(T, operator)
            # G'W is the stretch of the step; the curvature is measured in it.
            unit_beta = float(np.abs(np.einsum("ij,ij->j", G, W)).max())
            if unit_beta == 0.0:
                return Solution(W, tuple(path), True)
            for _ in range(40):
                new = polar(G + beta * W)
                T_new = rows.project(new)
                value = float(dispersion.value(T_new, operator).sum())
                if value >= path[-1]:
                    break
                beta = max(4.0 * beta, 0.1 * unit_beta)
            else:
                return Solution(W, tuple(path), True)  # no step ascends: a maximum to rounding
            W, T, beta = new, T_new, 0.25 * beta
            path.append(value)
            if tell("components", value):
                break
            if path[-1] - path[-2] <= self.tol * abs(path[-1]):
                return Solution(W, tuple(path), True)
        return Solution(W, tuple(path), False)
