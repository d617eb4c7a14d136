"""From one direction to several: greedily, or all at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import columns, to_numpy
from .geometry import complete_basis, orthonormalize, project_out, unit
from .location import host_weights
from .objectives import Dispersion
from .operators import Operator
from .rows import DeflatedRows, DenseRows, Rows
from .solvers import (
    Solution,
    Solver,
    SphereAscent,
    polish,
    principal_axes,
    rough_directions,
    span,
    spherical_axes,
)

Array = NDArray[Any]

#: Residual rows below this share of the longest one, or so many roundings of it, count as nothing left.
EXHAUSTED, ROUNDINGS = 1e-12, 16
#: More rows than this, and a sample of so many finds the directions that all rows then polish.
SAMPLE_ABOVE, SAMPLE, CURVATURE = 5000, 500, 1000


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

    With many rows, and a solver that looks at all of them at once, the
    directions of a sample are polished on all rows instead.

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
    many = isinstance(solver, SphereAscent) and rows.shape[0] > SAMPLE_ABOVE
    floor = max(EXHAUSTED, ROUNDINGS * float(np.finfo(rows.dtype).eps)) * _longest(rows)
    W = rows.put(np.zeros((rows.shape[1], 0)))
    solutions: list[Solution] = []
    while W.shape[1] < n_components:
        left = DeflatedRows(rows, unit(W)) if W.shape[1] else rows
        if _exhausted(left, floor):
            break
        if many and isinstance(solver, SphereAscent):
            new = _from_sample(rows, left, operator, solver, W, n_components)
        else:
            new = [solver.maximize(Dispersion(left, operator), rng)]
        for solution in new:
            w = solution.W if many else rows.put(solution.W)
            if solver.orthogonal:
                w = unit(project_out(unit(project_out(w, W)), W))
            W = columns(W, w)
            solutions.append(solution)
            if enough is not None and enough(W):
                n_components = W.shape[1]
                break
    paths = [solution.path for solution in solutions]
    least = n_components if enough is None else 1  # rows that are all equal have no share to reach
    if W.shape[1] < least:
        paths += [(0.0,)] * (least - W.shape[1])
        complete = complete_basis if solver.orthogonal else _pad
        W = rows.put(complete(to_numpy(W), least))
    return Extraction(W, tuple(paths), all(solution.converged for solution in solutions))


def _from_sample(
    rows: Rows,
    left: Rows,
    operator: Operator,
    solver: SphereAscent,
    W: Array,
    n_components: int,
) -> list[Solution]:
    """Some of the next directions: found on a sample, polished on a larger one and on all rows."""
    n = rows.shape[0]
    # A permutation of fixed seed, so that the result depends on the data alone.
    order = np.random.RandomState(0).permutation(n)
    part = _host(left, np.sort(order[:SAMPLE]))
    if not part.norms().any():
        length = left.pick(left.norms(), np.arange(n))
        part = _host(left, np.argsort(-length, kind="stable")[:SAMPLE])
    batch = min(n_components - W.shape[1], max(1, span(part)))
    index = np.sort(order[: min(8000, max(2000, n // 10))])
    middle, curve = rows.sample(index), rows.sample(index[:: -(-len(index) // CURVATURE)])
    # Greedy directions of so few rows may miss or misplace some. Where the data are elliptical the
    # spherical axes are near the maximisers; the best of both spans is greedy inside it.
    both = columns(rows.put(_rough(part, operator, batch)), spherical_axes(middle, batch))
    basis = orthonormalize(project_out(both, W))
    scores = curve.pick(curve.project(basis), np.arange(curve.shape[0]))
    inside = DenseRows(scores, weights=host_weights(curve))
    start = orthonormalize(basis @ rows.put(_rough(inside, operator, batch)))
    found = polish(
        Dispersion(middle, operator), start, W, curve, widths=(0.5, 0.5, 0.5, 0.3, 0.3), tol=1.0, max_iter=1
    )
    start = columns(*(solution.W for solution in found))
    return polish(
        Dispersion(rows, operator),
        start,
        W,
        curve,
        widths=(0.1, 0.05),
        tol=float(np.sqrt(solver.tol)),
        max_iter=solver.max_iter,
    )


def _host(rows: Rows, index: Array) -> DenseRows:
    """Some rows, in memory."""
    return DenseRows(rows.take(index), weights=host_weights(rows, index))


def _rough(rows: DenseRows, operator: Operator, n_directions: int) -> Array:
    A = rows.take(np.arange(rows.shape[0]))
    v = np.ones(len(A), dtype=A.dtype) if rows.weights is None else rows.weights
    return rough_directions(A, v, operator, n_directions)


def _longest(rows: Rows) -> float:
    """Length of a long row; a few rows tell unless all of them are zero."""
    few = rows.take(np.arange(min(256, rows.shape[0])))
    length = float(np.sqrt(np.einsum("ij,ij->i", few, few)).max(initial=0.0))
    return length or rows.largest(rows.norms())


def _exhausted(rows: Rows, floor: float) -> bool:
    """Whether no row is longer than the floor; a few rows usually tell that one is."""
    few = rows.take(np.arange(min(256, rows.shape[0])))
    if np.abs(few).max(initial=0.0) > floor:
        return False
    return rows.largest(rows.norms()) <= floor


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
