"""Ascent with many rows: directions of samples, refined on all rows, several at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import columns
from ..geometry import orthonormalize, project_out, unit
from ..location import host_weights
from ..objectives import Dispersion
from ..rows import DenseRows, Rows
from ..statistics import subsample
from .ascent import rough_directions
from .axes import scatter_axes, spherical_axes
from .base import Rng, Solution, Solver, Start, solution
from .refine import refine
from .starts import PrincipalAxes, ResultOf

Array = NDArray[Any]

#: Rows of a sample that finds directions, and at least so many for the curvature.
SEARCH_ROWS, CURVATURE_ROWS = 500, 1000
#: Rows on which a start is refined before all of them do.
MIDDLE_ROWS = 2000, 8000
#: Widths of the kinks, in median scores, of the steps on some rows and of the first ones on all.
MIDDLE_WIDTHS, FIRST_WIDTHS = (0.5, 0.4, 0.3), (0.1, 0.05)


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
        Samples whose directions compete.
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
        found = self._refined(objective, W, objective.rows.asarray(np.zeros((len(W), 0))), FIRST_WIDTHS)
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
        """Some of the next directions: found on samples, refined on more rows and then on all."""
        rows = objective.rows
        n, (least, most) = rows.shape[0], MIDDLE_ROWS
        index = subsample(n, min(most, max(least, n // 10)))
        middle = objective.on(rows.subset(index))
        curve = rows.subset(_curvature_rows(n, index))
        starts = [self._start(objective, middle, curve, earlier, count, i) for i in range(self.n_starts)]
        if len(starts) > 1:
            starts.sort(key=lambda W: float(middle.value(W).sum()))
        start = refine(middle, starts[-1], earlier, curve, widths=MIDDLE_WIDTHS, tol=1.0, max_iter=1)
        return self._refined(objective, columns(*(one.W for one in start)), earlier, FIRST_WIDTHS, curve)

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

    def _start(
        self, objective: Dispersion, middle: Dispersion, curve: Rows, earlier: Array, count: int, trial: int
    ) -> Array:
        """Greedy directions inside the span of what a sample finds and of the spherical axes.

        Directions of so few rows may miss or misplace some. Where the data
        are elliptical the spherical axes are near the maximizers; the best of
        both spans is greedy inside it.
        """
        rows = objective.rows
        rng = None if trial == 0 else np.random.RandomState(trial)
        part = _on_host(rows, subsample(rows.shape[0], SEARCH_ROWS, rng))
        if not part.norms().any():
            length = rows.gather_scores(rows.norms(), np.arange(rows.shape[0]))
            part = _on_host(rows, np.argsort(-length, kind="stable")[:SEARCH_ROWS])
        found = rows.asarray(_rough_directions(objective.on(part), count))
        both = columns(found, spherical_axes(middle.rows, int(found.shape[1])))
        basis = orthonormalize(project_out(both, earlier))
        few = subsample(curve.shape[0], SEARCH_ROWS)
        scores = curve.gather_scores(curve.project(basis), few).astype(np.float64)
        inside = objective.on(DenseRows(scores, weights=host_weights(curve, few)))
        return orthonormalize(basis @ rows.asarray(_rough_directions(inside, int(found.shape[1]))))


def _curvature_rows(n: int, index: Array) -> Array:
    return index[:: max(1, len(index) // max(CURVATURE_ROWS, n // 50))]


def _on_host(rows: Rows, index: Array) -> DenseRows:
    """Some rows, in memory and in double precision: what is decided here must not depend on rounding."""
    weights = host_weights(rows, index)
    double = None if weights is None else weights.astype(np.float64)
    return DenseRows(rows.gather_rows(index).astype(np.float64), weights=double)


def _rough_directions(objective: Dispersion, n_directions: int) -> Array:
    """`rough_directions`, of wide rows among the leading directions of the rows at unit length."""
    rows = objective.rows
    if rows.shape[1] <= 4 * (n_directions + 20):
        return rough_directions(objective, n_directions)
    A = unit(rows.gather_rows(np.arange(rows.shape[0])).T)
    rotation = scatter_axes(A.T @ A, min(len(A.T), 2 * (n_directions + 20)), rough=True)[1]
    basis = orthonormalize(A @ rotation)
    small = objective.on(DenseRows(rows.project(basis), weights=rows.weights))
    return np.asarray(basis @ rough_directions(small, n_directions))
