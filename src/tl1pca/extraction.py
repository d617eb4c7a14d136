"""From one direction to several: greedily, or all at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import columns, to_numpy
from .geometry import complete_basis, project_out, unit
from .objectives import Objective
from .operators import Operator
from .rows import Rows
from .solvers import Solution, Solver, Start

Array = NDArray[Any]

#: Residual rows below this share of the longest one, or so many roundings of it, count as nothing left.
EXHAUSTED, ROUNDINGS = 1e-12, 16
#: Rows that usually tell whether something is left.
FIRST_ROWS = 64


@dataclass(frozen=True)
class Extraction:
    """Directions W (d, k) with one objective path per solve, and the operator that was used.

    The operator is None for methods that have none; its "auto" parameter is
    settled unless the scale form was maximized.
    """

    W: Array
    paths: tuple[tuple[float, ...], ...]
    converged: bool
    operator: Operator | None = None


def greedy(
    objective: Objective,
    solver: Solver,
    n_components: int,
    rng: np.random.RandomState,
    enough: Callable[[Array], bool] | None = None,
) -> Extraction:
    """One direction after the other, each on the rows deflated by the earlier ones.

    Parameters
    ----------
    objective, solver
        The problem and who solves it for the next direction, or the next few.
    n_components : int
        At most so many directions.
    rng : RandomState
    enough : callable, optional
        Told the directions so far; extraction ends when it says so.

    Returns
    -------
    Extraction
    """
    rows = objective.rows
    floor = max(EXHAUSTED, ROUNDINGS * float(np.finfo(rows.dtype).eps)) * _longest(rows)
    W, solutions = rows.asarray(np.zeros((rows.shape[1], 0))), list[Solution]()
    while W.shape[1] < n_components and not _exhausted(objective.rows, floor):
        found = solver.next_directions(objective, W, n_components - W.shape[1], rng)
        known = W.shape[1]
        for one in found:
            w = rows.asarray(one.W)
            W = columns(W, unit(project_out(w, W)) if solver.orthogonal else w)
            solutions.append(one)
            if enough is not None and enough(W):
                n_components = W.shape[1]
                break
        if W.shape[1] < n_components:
            objective = objective.deflated(unit(W[:, known:]))
    paths = [one.path for one in solutions]
    least = n_components if enough is None else 1  # rows that are all equal have no share to reach
    if W.shape[1] < least:
        paths += [(0.0,)] * (least - W.shape[1])
        complete = complete_basis if solver.orthogonal else _pad
        W = rows.asarray(complete(to_numpy(W), least))
    return Extraction(W, tuple(paths), all(one.converged for one in solutions), objective.operator)


def joint(
    objective: Objective,
    solver: Solver,
    n_components: int,
    rng: np.random.RandomState | None = None,
    start: Start | None = None,
) -> Extraction:
    """All directions at once."""
    found = solver.solve(objective, start, n_components, rng=rng)
    return Extraction(found.W, (found.path,), found.converged, objective.operator)


def _longest(rows: Rows) -> float:
    """Length of a long row; a few rows tell unless all of them are zero."""
    few = rows.gather_rows(np.arange(min(FIRST_ROWS, rows.shape[0])))
    length = float(np.sqrt(np.einsum("ij,ij->i", few, few)).max(initial=0.0))
    return length or rows.largest(rows.norms())


def _exhausted(rows: Rows, floor: float) -> bool:
    """Whether no row is longer than the floor; a few rows usually tell that one is."""
    few = rows.gather_rows(np.arange(min(FIRST_ROWS, rows.shape[0])))
    if max(few.max(initial=0.0), -few.min(initial=0.0)) > floor:
        return False
    return rows.largest(rows.norms()) <= floor


def _pad(W: Array, n_columns: int) -> Array:
    """Coordinate axes not yet used, for methods whose directions need not be orthogonal."""
    unused = np.argsort(np.abs(W).sum(axis=1), kind="stable")[: n_columns - W.shape[1]]
    axes = np.zeros((len(W), len(unused)), dtype=W.dtype)
    axes[unused, np.arange(len(unused))] = 1.0
    return np.column_stack([W, axes])
