"""Where solvers begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry import unit
from ..objectives import Dispersion, Objective
from .axes import principal_axes
from .base import Rng, Solver, Start

Array = NDArray[Any]

#: Rows shorter than this share of the longest one are too short to point anywhere.
SHORTEST_DIRECTION = 1e-6
#: Entries of the scores that are compared at once.
BLOCK_ENTRIES = 1 << 21


class PrincipalAxes(Start):
    """The classical principal axes."""

    def directions(self, objective: Objective, n_directions: int, rng: Rng = None) -> Array:
        return principal_axes(objective.rows, n_directions)


class BestSample(Start):
    """The paper's start: the row, at unit length, with the largest objective."""

    in_memory = "compares all rows with each other"

    def directions(self, objective: Any, n_directions: int, rng: Rng = None) -> Array:
        return best_sample(objective).w[:, None]


class LongestRow(Start):
    """The longest row at unit length, zero if all are."""

    def directions(self, objective: Objective, n_directions: int, rng: Rng = None) -> Array:
        rows = objective.rows
        length = rows.gather_scores(rows.norms(), np.arange(rows.shape[0]))
        return unit(rows.gather_rows(np.array([int(np.argmax(length))]))[0])[:, None]


@dataclass(frozen=True)
class ResultOf(Start):
    """Where another solver ends."""

    solver: Solver

    @property
    def in_memory(self) -> str | None:  # type: ignore[override]
        return self.solver.in_memory

    def directions(self, objective: Objective, n_directions: int, rng: Rng = None) -> Array:
        return self.solver.solve(objective, n_directions=n_directions, rng=rng).W


@dataclass(frozen=True)
class Sample:
    """Best sample direction: its row, the unit vector, and the objective there."""

    index: int
    w: Array
    value: float


def best_sample(objective: Dispersion) -> Sample:
    """The row, at unit length, with the largest objective; index -1 when every row is zero.

    The rows may be deflated. Candidates are compared in blocks, so that no
    n x n matrix is formed at large n.
    """
    rows = objective.rows
    candidates = rows.gather_rows(np.arange(rows.shape[0]))
    length = np.linalg.norm(candidates, axis=1)
    index = np.flatnonzero(length > SHORTEST_DIRECTION * length.max(initial=0.0))
    if not len(index):
        return Sample(-1, np.zeros(rows.shape[1], dtype=rows.dtype), 0.0)
    candidates = candidates[index] / length[index, None]
    step = -(-BLOCK_ENTRIES // rows.shape[0])
    values = np.concatenate(
        [objective.value(candidates[i : i + step].T) for i in range(0, len(candidates), step)]
    )
    best = int(np.argmax(values))
    return Sample(int(index[best]), candidates[best], float(values[best]))
