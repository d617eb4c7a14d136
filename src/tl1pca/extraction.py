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
    FixedPoint,
    Solution,
    Solver,
    SphereAscent,
    polish,
    principal_axes,
    rough_directions,
    scatter_axes,
    spherical_axes,
)
from .statistics import some_rows

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
    W, left = rows.put(np.zeros((rows.shape[1], 0))), rows
    solutions: list[Solution] = []
    while W.shape[1] < n_components:
        if W.shape[1]:
            left = _deflated(rows, left, W)
        if _exhausted(left, floor):
            break
        if many and isinstance(solver, SphereAscent):
            new = _from_sample(rows, left, operator, solver, W, n_components)
        else:
            new = [solver.maximize(Dispersion(left, operator), rng)]
        for solution in new:
            w = solution.W if many else rows.put(solution.W)
            if solver.orthogonal:
                w = unit(project_out(w, W))
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


def _deflated(rows: Rows, left: Rows, W: Array) -> Rows:
    """Rows without what the directions W explain, given what the earlier ones left."""
    if isinstance(left, DenseRows) and left.shape[0] <= SAMPLE_ABOVE:
        A, w = left.array(), unit(W[:, -1])
        return DenseRows(A - np.outer(A @ w, w), weights=rows.weights)
    return DeflatedRows(rows, unit(W))


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
    part = _host(left, some_rows(n, SAMPLE))
    if not part.norms().any():
        length = left.pick(left.norms(), np.arange(n))
        part = _host(left, np.argsort(-length, kind="stable")[:SAMPLE])
    found = rows.put(_rough(part, operator, n_components - W.shape[1]))
    batch = int(found.shape[1])
    index = some_rows(n, min(8000, max(2000, n // 10)))
    middle, curve = rows.sample(index), rows.sample(index[:: max(1, len(index) // max(CURVATURE, n // 50))])
    # Greedy directions of so few rows may miss or misplace some. Where the data are elliptical the
    # spherical axes are near the maximisers; the best of both spans is greedy inside it.
    both = columns(found, spherical_axes(middle, batch))
    basis = orthonormalize(project_out(both, W))
    few = some_rows(curve.shape[0], SAMPLE)
    scores = curve.pick(curve.project(basis), few).astype(np.float64)
    inside = DenseRows(scores, weights=host_weights(curve, few))
    start = orthonormalize(basis @ rows.put(_rough(inside, operator, batch)))
    polished = polish(
        Dispersion(middle, operator), start, W, curve, widths=(0.5, 0.4, 0.3), tol=1.0, max_iter=1
    )
    start = columns(*(solution.W for solution in polished))
    return polish(
        Dispersion(rows, operator),
        start,
        W,
        curve,
        widths=(0.1, 0.05),
        tol=solver.tol,
        max_iter=solver.max_iter,
    )


def _host(rows: Rows, index: Array) -> DenseRows:
    """Some rows, in memory and in double precision: what is decided here must not depend on rounding."""
    weights = host_weights(rows, index)
    double = None if weights is None else weights.astype(np.float64)
    return DenseRows(rows.take(index).astype(np.float64), weights=double)


def _rough(rows: DenseRows, operator: Operator, n_directions: int) -> Array:
    if rows.shape[1] > 4 * (n_directions + 20):
        # Directions of a start lie among the leading ones of the rows at unit length.
        A = unit(rows.take(np.arange(rows.shape[0])).T)
        turn = scatter_axes(A.T @ A, min(len(A.T), 2 * (n_directions + 20)), rough=True)[1]
        basis = orthonormalize(A @ turn)
        small = DenseRows(rows.project(basis), weights=rows.weights)
        return np.asarray(basis @ _rough(small, operator, n_directions))
    A = rows.take(np.arange(rows.shape[0]))
    v = np.ones(len(A)) if rows.weights is None else rows.weights
    return rough_directions(A, v, operator, n_directions)


def _longest(rows: Rows) -> float:
    """Length of a long row; a few rows tell unless all of them are zero."""
    few = rows.take(np.arange(min(256, rows.shape[0])))
    length = float(np.sqrt(np.einsum("ij,ij->i", few, few)).max(initial=0.0))
    return length or rows.largest(rows.norms())


def _exhausted(rows: Rows, floor: float) -> bool:
    """Whether no row is longer than the floor; a few rows usually tell that one is."""
    small = isinstance(rows, DenseRows) and rows.shape[0] <= 256
    few = rows.array() if small else rows.take(np.arange(min(256, rows.shape[0])))
    if max(few.max(initial=0.0), -few.min(initial=0.0)) > floor:
        return False
    return rows.largest(rows.norms()) <= floor


def joint(rows: Rows, operator: Operator, solver: Solver, n_components: int) -> Extraction:
    """All directions at once, from the classical principal axes."""
    dispersion = Dispersion(rows, operator)
    if isinstance(solver, FixedPoint) and solver.hurries(dispersion):
        solution = solver.maximize_frame(dispersion, n_components)
    else:
        solution = solver.maximize_joint(dispersion, principal_axes(rows, n_components))
    return Extraction(solution.W, (solution.path,), solution.converged)


def _pad(W: Array, n_columns: int) -> Array:
    """Coordinate axes not yet used, for methods whose directions need not be orthogonal."""
    unused = np.argsort(np.abs(W).sum(axis=1), kind="stable")[: n_columns - W.shape[1]]
    axes = np.zeros((len(W), len(unused)), dtype=W.dtype)
    axes[unused, np.arange(len(unused))] = 1.0
    return np.column_stack([W, axes])
