"""Majorize-minimize for the residual side: reweighted PCA until nothing changes.

With many rows a reweighted PCA is one pass for the distances and one, more
costly, for the scatter. Two of those are enough: the last scatter is a good
guess of the curvature, and quasi-Newton steps do the rest with the scores.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._progress import report_iteration
from ..objectives import Evaluation, Residual, evaluated
from ..rows import MANY_ROWS
from .axes import principal_axes, symmetric_axes
from .base import Rng, Solution, Solver, Start, solution
from .quasi_newton import elliptical, quasi_newton, span_curvature
from .starts import PrincipalAxes

Array = NDArray[Any]

#: Least distance that a weight is computed for, as a share of the largest.
FLOOR = 1e-10


class SubspaceMM(Solver):
    """Minimizes sum rho(r_i) over subspaces by weighted PCA.

    For an operator that is concave in r^2 the weighted squares with weights
    psi(r)/r lie above it, so the objective never increases.

    Parameters
    ----------
    tol : float, default=1e-8
        Relative decrease of the objective below which the iteration stops;
        with more than 5000 rows tol^(2/3), two in a million by default.
    max_iter : int, default=1000
    """

    extractions = ("joint",)
    supports_array_api = True

    def __init__(self, tol: float = 1e-8, max_iter: int = 1000):
        self.tol = tol
        self.max_iter = max_iter

    @property
    def needs(self) -> tuple[str, ...]:
        return ("concave_in_square",)

    def default_start(self) -> Start:
        return PrincipalAxes()

    def solve(
        self, objective: Residual, start: Start | None = None, n_directions: int = 1, rng: Rng = None
    ) -> Solution:
        rows = objective.rows
        W = rows.asarray((start or self.default_start()).directions(objective, n_directions, rng))
        r = objective.distances(W)
        path = [objective.value_of_distances(r)]
        rounding = 1e3 * np.finfo(rows.dtype).eps * rows.largest(rows.norms())
        many = rows.shape[0] > max(MANY_ROWS, rows.shape[1])
        for _ in range(self.max_iter):
            if rows.largest(r) <= rounding:
                return solution(W, path, True)  # every row is in the subspace
            floored = replace(objective, floor=FLOOR * float(rows.largest(r)))
            if many:
                return self._with_many_rows(floored, W, r, path[-1])
            new = principal_axes(rows, W.shape[1], floored.weights(r))
            r_new = objective.distances(new)
            value = objective.value_of_distances(r_new)
            if value >= path[-1] * (1.0 - 1e-15):
                return solution(W, path, True)
            W, r = new, r_new
            path.append(value)
            if report_iteration("subspace", value):
                break
            if path[-2] - path[-1] <= self.tol * abs(path[-1]):
                return solution(W, path, True)
        return solution(W, path, False)

    def _with_many_rows(self, objective: Residual, W: Array, r: Any, value: float) -> Solution:
        """One reweighted PCA, then quasi-Newton steps of one pass each."""
        rows = objective.rows
        values, axes = symmetric_axes(rows.gram(objective.weights(r)))
        tol = max(self.tol ** (2.0 / 3.0), 4.0 * float(np.finfo(rows.dtype).eps))

        def negative(W: Array) -> Evaluation:
            here = evaluated(objective, W)
            return replace(here, values=-here.values, gradient=-here.gradient)

        first = np.ascontiguousarray(axes[:, ::-1][:, : W.shape[1]])
        found = quasi_newton(negative, first, elliptical(values, axes), tol, self.max_iter)
        # The frame of a subspace is free: the principal axes of the reweighted rows, largest first.
        rotation = linalg.eigh(span_curvature(found.end), check_finite=False)[1][:, ::-1]
        path = [-value for value in found.path]
        if path[-1] >= value:
            return solution(W, [value], True)
        return solution(found.end.W @ rotation, [value, *path], found.converged)
