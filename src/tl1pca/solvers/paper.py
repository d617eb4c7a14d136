"""Algorithm 1 of the paper, as its authors ran it."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._progress import report_iteration
from ..geometry import tangent, unit
from ..objectives import Dispersion
from .base import Rng, Solution, Solver, Start, solution
from .starts import BestSample

Array = NDArray[Any]


class PaperAscent(Solver):
    """Gradient ascent on the sphere with halving and doubling of the angle.

    The iterates are the published ones; two things are arranged better, and
    change nothing but the cost: the scores along an arc are a combination of
    the scores at its ends, and the complement of earlier components is never
    given a basis. It takes any operator.

    Parameters
    ----------
    tol : float, default=1e-6
        Absolute increase of the objective below which the ascent stops.
    max_iter : int, default=1000
    """

    extractions = ("greedy",)

    def __init__(self, tol: float = 1e-6, max_iter: int = 1000):
        self.tol = tol
        self.max_iter = max_iter

    def default_start(self) -> Start:
        return BestSample()

    def solve(
        self, objective: Dispersion, start: Start | None = None, n_directions: int = 1, rng: Rng = None
    ) -> Solution:
        rows = objective.rows
        start, draw = start or self.default_start(), rng or np.random.RandomState(0)
        w = start.directions(objective, 1, rng)[:, 0]
        theta = start.step or 0.5 * np.pi * (1.0 - draw.uniform())  # in (0, pi/2]
        t = rows.project(w)
        path = [float(objective.value_of_scores(t))]
        for _ in range(self.max_iter):
            settled = objective.settled_at(t)
            gradient = settled.gradient_of_scores(t)
            g = tangent(gradient, w)
            steepness = _length(g)
            if steepness <= 1e-14 * _length(gradient):
                return solution(w[:, None], path, True, theta)  # collinear: a local maximum
            g /= steepness
            s = rows.project(g)
            value = path[-1] if settled is objective else settled.value_of_scores(t)
            while True:
                cos, sin = np.cos(theta), np.sin(theta)
                if not settled.value_of_scores(cos * t + sin * s) < value:
                    break
                theta *= 0.5
                if theta < 1e-16:
                    return solution(w[:, None], path, True, theta)
            w = unit(cos * w + sin * g)
            # Not the scores that were tried: rounding may leave g a part along w, and w was not unit then.
            t = rows.project(w)
            path.append(float(objective.value_of_scores(t)))
            theta = min(2.0 * theta, 0.5 * np.pi)
            if report_iteration("component", path[-1]):
                break
            if path[-1] - path[-2] < self.tol:
                return solution(w[:, None], path, True, theta)
        return solution(w[:, None], path, False, theta)


def _length(v: Array) -> float:
    return sqrt(v.dot(v))
