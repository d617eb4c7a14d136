"""From a table with bad cells, bad rows and missing cells to a plane: start, units, iteration, verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtri

from .._flags import Cutoffs
from .._subspace import score_distances
from ..statistics import main_mode
from .cell_start import CellStart, RowChoice, settle_units, start_cells
from .cellwise import (
    CellAssessment,
    CellFit,
    CellLoss,
    CellPlane,
    Cells,
    assess_cells,
    minimize_cell_loss,
    repaired_distances,
    robust_scores,
    solve_scores,
    standardized,
)

Array = NDArray[Any]

#: Deviations beyond which a cell is bad: one good cell in a thousand.
CELL_CUTOFF = float(ndtri(0.9995))
#: Share of regular rows below each of the two cut-offs.
ROW_LEVEL = 0.99


@dataclass(frozen=True)
class CellModel:
    """A plane in the units of the columns, and what a row is judged by.

    Attributes
    ----------
    location, unit : ndarray of shape (d,)
        Cells are used as (x - location) / unit.
    plane : CellPlane
    rate : float
        Share of bad cells in the rows of the fit.
    """

    location: Array
    unit: Array
    plane: CellPlane
    rate: float

    def cells(self, X: Array) -> Cells:
        """Rows with NaN in the units of the columns."""
        mask = ~np.isnan(X)
        return Cells(standardized(X.astype(np.float64), mask, self.location, self.unit), mask)

    def assess(self, cells: Cells) -> CellAssessment:
        """Scores, residuals and flags."""
        return assess_cells(cells, self.plane, robust_scores(cells, self.plane), CELL_CUTOFF)

    def distances(self, found: CellAssessment, mask: Array) -> tuple[Array, Array]:
        """Score and orthogonal distances of the repaired rows."""
        orthogonal = repaired_distances(found, mask, self.plane.V.shape[1], self.rate)
        return score_distances(found.scores, self.plane.variances), orthogonal

    def fitted(self, found: CellAssessment) -> Array:
        """What the plane says all cells should be, in the units of the data."""
        with np.errstate(over="ignore"):
            return self.location + self.unit * (self.plane.center + found.scores @ self.plane.V.T)


@dataclass(frozen=True)
class CellSolution:
    """The model and what it says of the training rows."""

    model: CellModel
    found: CellAssessment
    rows: Array
    score_distances: Array
    orthogonal_distances: Array
    path: tuple[float, ...]
    converged: bool


def fit_cells(
    X: Array,
    mask: Array,
    sample: Array,
    n_components: int | None,
    choose_rows: Callable[[Array], RowChoice],
    *,
    max_iter: int,
    tol: float,
) -> CellSolution:
    """Plane, cells and rows of a table.

    The rows that shape the plane are decided once, at the start; with more
    rows than the sample the iteration goes to its end there first.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        In double precision, zeros where cells are missing; it is overwritten.
    mask : ndarray of bool of shape (n, d)
        Observed cells.
    sample : ndarray of int
        Rows of the start.
    n_components : int or None
        None leaves the number to `choose_rows`.
    choose_rows : callable
        See `start_cells`.
    max_iter, tol
        See `minimize_cell_loss`.

    Returns
    -------
    CellSolution
    """
    start = start_cells(X, mask, sample, n_components, choose_rows)
    cells = Cells(X, mask)
    for part in cells.blocks():
        X[part] = standardized(X[part], mask[part], start.location, start.unit)
    if len(sample) < len(X):
        start = _from_sample(cells, start, sample, max_iter, tol)
    else:
        start = settle_units(cells, start, tol)
    kept = Cells(X, mask & ~_flags(cells, start.plane, start.scores))
    fit = minimize_cell_loss(kept, start.plane, start.scores, start.rows, max_iter=max_iter, tol=tol)
    plane = _with_usual_variances(fit, start.rows)
    found = _assess_blocks(CellModel(start.location, start.unit, plane, 0.0), cells)
    flagged, seen = found.flags[start.rows].sum(), mask[start.rows].sum()
    model = CellModel(start.location, start.unit, plane, float(flagged / max(seen, 1)))
    far = [model.distances(found.rows(part), mask[part]) for part in cells.blocks()]
    inside, off = (np.concatenate(side) for side in zip(*far))
    return CellSolution(model, found, start.rows, inside, off, fit.path, fit.converged)


def _with_usual_variances(fit: CellFit, rows: Array) -> CellPlane:
    """The plane with variances at which the median row of the fit is at its usual score distance.

    Long tails of the scores inflate the variances of all. It is done before rows are judged, as scores
    are held by these variances: new rows are to be judged like those of the fit.
    """
    plane = fit.plane
    far = np.median(score_distances(fit.scores[rows], plane.variances) ** 2)
    size = float(far) / float(chdtri(len(plane.variances), 0.5))
    return CellPlane(plane.center, plane.V, (size if size > 0 else 1.0) * plane.variances)


def _from_sample(cells: Cells, start: CellStart, sample: Array, max_iter: int, tol: float) -> CellStart:
    """The fit of the sample as a start for all rows, whose values are turned to its units."""
    some = cells.take(sample)
    inside = CellStart(start.location, start.unit, start.plane, start.scores[sample], start.rows[sample])
    inside = settle_units(some, inside, tol)
    fit = minimize_cell_loss(some, inside.plane, inside.scores, inside.rows, max_iter=max_iter, tol=tol)
    factor = inside.unit / start.unit
    scores = np.empty_like(start.scores)
    for part in cells.blocks():
        some = cells.take(part)  # a view: the values are turned to the new units in place
        R = some.values - start.plane.center - start.scores[part] @ start.plane.V.T
        W = CellLoss.cell_weights(R, some.mask)[0]
        some.values[...] /= factor
        scores[part] = solve_scores(some.values - fit.plane.center, W, fit.plane.V)
    return CellStart(start.location, inside.unit, fit.plane, scores, start.rows)


def _flags(cells: Cells, plane: CellPlane, U: Array) -> Array:
    return np.concatenate(
        [assess_cells(cells.take(part), plane, U[part], CELL_CUTOFF).flags for part in cells.blocks()]
    )


def _assess_blocks(model: CellModel, cells: Cells) -> CellAssessment:
    """`CellModel.assess` block by block; the residuals take the place of the values."""
    n, d = cells.values.shape
    scores = np.empty((n, model.plane.V.shape[1]))
    out = CellAssessment(scores, cells.values, np.empty((n, d)), np.empty((n, d), dtype=bool))
    for part in cells.blocks():
        some = cells.take(part)
        found = model.assess(some)  # from the start, so that new rows with the same cells are judged alike
        out.scores[part], out.residuals[part] = found.scores, found.residuals
        out.weights[part], out.flags[part] = found.weights, found.flags
    return out


def row_cutoffs(orthogonal_distances: Array, k: int, count: int) -> Cutoffs:
    """Cut-offs: chi for score distances, for orthogonal ones from their main mode.

    Powers of 2/3 of the orthogonal distances are nearly normal (Hubert et al. 2005).

    Parameters
    ----------
    orthogonal_distances : ndarray of shape (n,)
    k : int
        Dimension of the plane.
    count : int
        Rows that are taken to be good.

    Returns
    -------
    Cutoffs
    """
    location, scale = main_mode(np.cbrt(orthogonal_distances**2), count)
    orthogonal = max(location + float(ndtri(ROW_LEVEL)) * scale, 0.0) ** 1.5
    return Cutoffs(float(np.sqrt(chdtri(k, 1.0 - ROW_LEVEL))), max(orthogonal, 1e-9))
