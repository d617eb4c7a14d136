"""What every solver shares: capabilities it declares, a start, a result and a state as values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..objectives import Objective
from ..operators import Operator
from ..rows import Rows

Array = NDArray[Any]
Rng = np.random.RandomState | None

#: The traits of an operator that a solver may need, in words.
TRAITS = {
    "convex": "convex",
    "concave": "concave in |t|",
    "concave_in_square": "concave in t^2",
    "degree": "homogeneous",
}


@dataclass(frozen=True)
class Solution:
    """Directions with the way that led there.

    Attributes
    ----------
    W : array of shape (d, k)
    path : tuple of float
        Objective at the start and after every iteration.
    converged : bool
    state : State
        A start from which the solver goes on.
    """

    W: Array
    path: tuple[float, ...]
    converged: bool
    state: State


def solution(W: Array, path: list[float], converged: bool, step: float = 0.0) -> Solution:
    """The result of an iteration that ends at W."""
    return Solution(W, tuple(path), converged, State(W, step))


class Start(ABC):
    """Where to begin: directions from an objective and a random state."""

    #: Why all rows must be in memory; None where the start asks the port alone.
    in_memory: str | None = None
    #: Length of the first step, for solvers that have one; zero leaves it to the solver.
    step: float = 0.0

    @abstractmethod
    def directions(self, objective: Objective, n_directions: int, rng: Rng = None) -> Array:
        """Unit columns, (d, n_directions)."""


@dataclass(frozen=True)
class State(Start):
    """Directions W (d, k) to go on from, and the length of the step that a solver would try next."""

    W: Array
    step: float = 0.0

    def directions(self, objective: Any, n_directions: int, rng: Rng = None) -> Array:
        return self.W


class Solver(BaseEstimator, ABC):
    """Improves directions until nothing is gained: an objective and a start in, a `Solution` out.

    A solver declares what it can do and what it needs; `check` compares that
    with an operator once, before anything is computed.
    """

    #: Which extractions it serves: one direction after the other, all at once, or both.
    extractions: tuple[str, ...] = ("greedy", "joint")
    #: Whether the directions stay in the complement of earlier ones.
    orthogonal = True
    #: Whether it works on the arrays of other libraries where they are.
    supports_array_api = False
    #: Whether a step takes the maximizer of a linearization alone, which the data may leave open.
    linearizes = False

    @property
    def needs(self) -> tuple[str, ...]:
        """Traits that an operator must have, by their names in `Operator`."""
        return ()

    @property
    def in_memory(self) -> str | None:
        """Why all rows must be in memory; None where the solver asks the port alone."""
        return self.default_start().in_memory

    def gains_by_turning(self, rows: Rows, count: int) -> bool:
        """Whether wide rows are worth a decomposition that turns them into their span."""
        return True

    @abstractmethod
    def default_start(self) -> Start:
        """Where the solver begins unless it is told otherwise."""

    @abstractmethod
    def solve(
        self, objective: Any, start: Start | None = None, n_directions: int = 1, rng: Rng = None
    ) -> Solution:
        """Directions W of shape (d, n_directions), from a start or from the state of an earlier solution."""

    def next_directions(
        self, objective: Any, earlier: Array, count: int, rng: np.random.RandomState
    ) -> list[Solution]:
        """The next directions of a greedy extraction, at least one and at most `count`.

        The objective is that of the rows without what the orthonormal columns
        of `earlier` explain.
        """
        return [self.solve(objective, rng=rng)]

    def check(self, operator: Operator, extraction: str) -> None:
        """Raise an error that names both sides where solver and problem do not go together."""
        if extraction not in self.extractions:
            raise ValueError(
                f"{type(self).__name__} serves extraction={self.extractions[0]!r} only, got {extraction!r}; "
                "solver='auto' serves both."
            )
        missing = [TRAITS[trait] for trait in self.needs if not getattr(operator, trait)]
        if missing:
            raise ValueError(
                f"{type(self).__name__} needs an operator that is {' and '.join(missing)}, and {operator!r} "
                "is not. solver='auto' chooses by the operator; StiefelAscent takes any."
            )
