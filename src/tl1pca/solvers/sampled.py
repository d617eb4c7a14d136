"""Ascent with many rows: directions of samples, refined on all rows, several at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import columns
from ..objectives import Dispersion
from ..rows import Rows
from ..statistics import subsample
from .base import Rng, Solution, Solver, Start, solution
from .refine import refine
from .starts import PrincipalAxes, ResultOf
from .together import at_hand, smooth_ascent

Array = NDArray[Any]

#: Rows of a sample that finds directions, and at least so many for the curvature.
MIDDLE_ROWS, CURVATURE_ROWS = (2000, 8000), 1000
#: Widths of the kinks, in median scores: with the steps on the sample, and of the first steps on all rows.
MIDDLE_WIDTHS, FIRST_WIDTHS = ((0.4, 6), (0.3, 2)), (0.3, 0.1, 0.05)


class SampledAscent(Solver):
    """Ascent of a concave dispersion of many rows.

    Samples find directions, some thousand rows and then all rows refine them
    by Newton steps, one pass each. Directions are found together, each a
    maximum in the complement of those before it.

    Parameters
    ----------
    tol : float, default=1e-8
        Relative increase that the next step predicts at which to stop.
    max_iter : int, default=1000
    n_starts : int, default=1
        Multiplies the rows that compete for the first places.
    warm : Solver or None, default=None
        Another solver whose result is one more start, so that the objective
        of a direction is never below that solver's.
    """

    extractions = ("greedy",)
    supports_array_api = True

    def __init__(
        self, tol: float = 1e-8, max_iter: int = 1000, n_starts: int = 1, warm: Solver | None = None
    ):
        self.tol = tol
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.warm = warm

    @property
    def needs(self) -> tuple[str, ...]:
        return ("concave",)

    @property
    def in_memory(self) -> str | None:
        return None if self.warm is None else self.warm.in_memory

    def default_start(self) -> Start:
        return PrincipalAxes()

    def solve(
        self, objective: Dispersion, start: Start | None = None, n_directions: int = 1, rng: Rng = None
    ) -> Solution:
        W = (start or self.default_start()).directions(objective, n_directions, rng)
        found = self._refined(objective, W, objective.rows.asarray(np.zeros((len(W), 0))), FIRST_WIDTHS[1:])
        W = columns(*(one.W for one in found))
        return solution(W, [sum(one.path[-1] for one in found)], all(one.converged for one in found))

    def next_directions(
        self, objective: Dispersion, earlier: Array, count: int, rng: np.random.RandomState
    ) -> list[Solution]:
        if self.warm is None:
            return self._search(objective, earlier, count)
        # What the other solver finds depends on the direction before: one at a time.
        warm = objective.rows.asarray(ResultOf(self.warm).directions(objective, 1, rng))
        tried = [
            *self._search(objective, earlier, 1),
            *self._refined(objective, warm, earlier, ()),
            solution(warm, [float(objective.value(warm)[0])], True),
        ]
        return [max(tried, key=lambda found: found.path[-1])]

    def _search(self, objective: Dispersion, earlier: Array, count: int) -> list[Solution]:
        """The next directions: found on some rows, then refined on all."""
        rows = objective.rows
        n, (least, most) = rows.shape[0], MIDDLE_ROWS
        index = subsample(n, min(most, max(least, n // 10)))
        middle = rows.subset(index)
        if middle.largest(middle.norms()) == 0.0:
            length = rows.gather_scores(rows.norms(), np.arange(n))
            middle = rows.subset(np.argsort(-length, kind="stable")[:least])
        few, before = at_hand(objective.on(middle), earlier)
        start = rows.asarray(smooth_ascent(few, before, count, self.n_starts, MIDDLE_WIDTHS).W)
        curve = rows.subset(_curvature_rows(n, index))
        return self._refined(objective, start, earlier, FIRST_WIDTHS, curve)

    def _refined(
        self,
        objective: Dispersion,
        W: Array,
        earlier: Array,
        widths: tuple[float, ...],
        curve: Rows | None = None,
    ) -> list[Solution]:
        if curve is None:
            n, (least, most) = objective.rows.shape[0], MIDDLE_ROWS
            curve = objective.rows.subset(_curvature_rows(n, subsample(n, min(most, max(least, n // 10)))))
        return refine(objective, W, earlier, curve, widths=widths, tol=self.tol, max_iter=self.max_iter)


def _curvature_rows(n: int, index: Array) -> Array:
    return index[:: max(1, len(index) // max(CURVATURE_ROWS, n // 50))]
