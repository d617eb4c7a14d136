"""Algorithm 1 of the paper, as its authors ran it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._progress import tell
from ..geometry import tangent, unit
from ..objectives import Dispersion
from .base import Solution, Solver, best_sample

Array = NDArray[Any]


class PaperAscent(Solver):
    """Gradient ascent on the sphere with halving and doubling of the angle.

    The iterates are the published ones; two things are arranged better, and
    change nothing but the cost: the scores along an arc are a combination of
    the scores at its ends, and the complement of earlier components is never
    given a basis.

    Parameters
    ----------
    tol : float, default=1e-6
        Absolute increase of the objective below which the ascent stops.
    max_iter : int, default=1000
    """

    def __init__(self, tol: float = 1e-6, max_iter: int = 1000):
        self.tol = tol
        self.max_iter = max_iter

    def maximize(self, dispersion: Dispersion, rng: np.random.RandomState) -> Solution:
        rows = dispersion.rows
        w = best_sample(dispersion).w
        t = rows.project(w)
        theta = 0.5 * np.pi * (1.0 - rng.uniform())  # in (0, pi/2]
        path = [float(dispersion.measure(t))]
        for _ in range(self.max_iter):
            operator = dispersion.operator_at(t)
            gradient = dispersion.gradient(t, operator)
            g = unit(tangent(gradient, w))
            if np.linalg.norm(tangent(gradient, w)) <= 1e-14 * np.linalg.norm(gradient):
                return Solution(w[:, None], tuple(path), True)  # collinear: a local maximum
            s = rows.project(g)
            value = dispersion.value(t, operator)
            while dispersion.value(np.cos(theta) * t + np.sin(theta) * s, operator) < value:
                theta *= 0.5
                if theta < 1e-16:
                    return Solution(w[:, None], tuple(path), True)
            w = unit(np.cos(theta) * w + np.sin(theta) * g)
            t = rows.project(w)
            path.append(float(dispersion.measure(t)))
            theta = min(2.0 * theta, 0.5 * np.pi)
            if tell("component", path[-1]):
                break
            if path[-1] - path[-2] < self.tol:
                return Solution(w[:, None], tuple(path), True)
        return Solution(w[:, None], tuple(path), False)
