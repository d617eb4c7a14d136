"""From one direction to several: greedily, or all at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .geometry import complete_basis, project_out, unit
from .objectives import Dispersion
from .operators import Operator
from .rows import DeflatedRows, Rows
from .solvers import Solver, principal_axes

Array = NDArray[Any]

#: Residual rows below this share of the longest original one count as nothing left.
EXHAUSTED = 1e-12


@dataclass(frozen=True)
class Extraction:
    """Directions W (d, k) with one objective path per solve."""

    W: Array
    paths: tuple[tuple[float, ...], ...]
    converged: bool


def greedy(
    rows: Rows,
    operator: Operator,
    solver: Solver,
    n_components: int,
    rng: np.random.RandomState,
    enough: Callable[[Array], bool] | None = None,
) -> Extraction:
    """One direction after the other, each on the rows deflated by the earlier ones.

    Parameters
    ----------
    rows, operator, solver
        The problem and who solves it for one direction.
    n_components : int
        At most so many directions.
    rng : RandomState
    enough : callable, optional
        Told the directions so far; extraction ends when it says so.

    Returns
    -------
    Extraction
    """
    d = rows.shape[1]
    W = np.zeros((d, 0), dtype=rows.dtype)
    longest = float(rows.norms().max(initial=0.0))
    paths: list[tuple[float, ...]] = []
    converged = True
    while W.shape[1] < n_components:
        left = DeflatedRows(rows, unit(W)) if W.shape[1] else rows
        if float(left.norms().max(initial=0.0)) <= EXHAUSTED * longest:
            break
        solution = solver.maximize(Dispersion(left, operator), rng)
        w = solution.W[:, 0]
        if solver.orthogonal:
            w = unit(project_out(unit(project_out(w, W)), W))
        W = np.column_stack([W, w])
        paths.append(solution.path)
        converged &= solution.converged
        if enough is not None and enough(W):
            break
    rank = W.shape[1]
    if enough is None and rank < n_components:
        W = complete_basis(W, n_components) if solver.orthogonal else _pad(W, n_components)
        paths += [(0.0,)] * (n_components - rank)
    return Extraction(W, tuple(paths), converged)


def joint(rows: Rows, operator: Operator, solver: Solver, n_components: int) -> Extraction:
    """All directions at once, from the classical principal axes."""
    start = principal_axes(rows, n_components)
    solution = solver.maximize_joint(Dispersion(rows, operator), start)
    return Extraction(solution.W, (solution.path,), solution.converged)


def _pad(W: Array, n_columns: int) -> Array:
    """Coordinate axes not yet used, for methods whose directions need not be orthogonal."""
    unused = np.argsort(np.abs(W).sum(axis=1), kind="stable")[: n_columns - W.shape[1]]
    axes = np.zeros((len(W), len(unused)), dtype=W.dtype)
    axes[unused, np.arange(len(unused))] = 1.0
    return np.column_stack([W, axes])
