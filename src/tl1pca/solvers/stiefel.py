"""Monotone ascent for any objective: the solver where no trait of the operator helps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._progress import report_iteration
from ..geometry import polar
from ..objectives import Evaluation, Objective, evaluated
from .base import Rng, Solution, Solver, Start, solution
from .starts import PrincipalAxes, ResultOf

Array = NDArray[Any]

#: Relative gain of a step below which it crawls.
CRAWL = 1e-4


class StiefelAscent(Solver):
    """W <- polar(G + beta W), with a small beta found to ascend.

    G is the gradient of the objective, whichever it is. For beta at least its
    curvature the step ascends always; most steps do with far less, so beta is
    divided by four after a success and multiplied by four after a failure.
    Where the steps crawl, shorter ones are tried beside them.

    Parameters
    ----------
    tol : float, default=1e-8
        Relative increase of the objective below which the ascent stops.
    max_iter : int, default=1000
    warm : Solver or None, default=None
        Another solver whose result is a second start, so that the
        objective is never below that solver's.
    """

    def __init__(self, tol: float = 1e-8, max_iter: int = 1000, warm: Solver | None = None):
        self.tol = tol
        self.max_iter = max_iter
        self.warm = warm

    supports_array_api = True

    @property
    def in_memory(self) -> str | None:
        return None if self.warm is None else self.warm.in_memory

    def default_start(self) -> Start:
        return PrincipalAxes()

    def solve(
        self, objective: Objective, start: Start | None = None, n_directions: int = 1, rng: Rng = None
    ) -> Solution:
        starts = [start or self.default_start()]
        if self.warm is not None:
            starts.append(ResultOf(self.warm))
        found = [
            self._ascend(objective, to_numpy(one.directions(objective, n_directions, rng)), one.step)
            for one in starts
        ]
        return max(found, key=lambda one: objective.sense * one.path[-1])

    def _ascend(self, objective: Objective, W: Array, beta: float) -> Solution:
        sense, crawls = objective.sense, False
        here = evaluated(objective, W)
        path = [here.value]

        def trial(beta: float) -> Evaluation:
            return evaluated(objective, polar(sense * here.gradient + beta * here.W), near=here)

        for _ in range(self.max_iter):
            # The curvature is measured by how far the gradient reaches along the directions.
            reach = float(np.abs(np.einsum("ij,ij->j", here.gradient, here.W)).max())
            if reach == 0.0:
                return solution(here.W, path, True, beta)
            for _ in range(40):
                there = trial(beta)
                if sense * (there.value - here.value) >= 0:
                    break
                beta = max(4.0 * beta, 0.1 * reach)
            else:
                return solution(here.W, path, True, beta)  # no step ascends: a maximum to rounding
            if crawls:  # from side to side of a ridge, perhaps: half of the way may gain more
                half = trial(beta + reach)
                there = max(there, half, key=lambda one: sense * one.value)
            gain = sense * (there.value - here.value)
            here, beta = there, 0.25 * beta
            path.append(here.value)
            if report_iteration("components", here.value):
                break
            if gain <= self.tol * abs(here.value):
                return solution(here.W, path, True, beta)
            crawls = gain <= CRAWL * abs(here.value)
        return solution(here.W, path, False, beta)
