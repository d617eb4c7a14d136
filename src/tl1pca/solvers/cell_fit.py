"""From a table with bad cells, bad rows and missing cells to a plane: start, units, iteration, verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from .._subspace import score_distances
from .cell_groups import GROUP, SecondChoice, choose_again
from .cell_levels import find_levels
from .cell_refit import refit_cells
from .cell_rows import Common, RowEvidence, common_directions, left_cells, row_evidence
from .cell_start import CellStart, RowChoice, settle_units, start_cells
from .cell_tails import TAIL_ROWS, tail_shapes, telling_rows
from .cellwise import (
    CELL_CUTOFF,
    CellAssessment,
    CellLoss,
    CellPlane,
    Cells,
    assess_cells,
    first_scores,
    judge_cells,
    minimize_cell_loss,
    orthonormal,
    solve_scores,
    standardized,
)

Array = NDArray[Any]


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
    usual : float
        Median of their residuals, as normal scores of rows.
    common : Common
        What bad rows have in common.
    tails : ndarray of shape (2, d)
        Shapes of the long tails of good cells below and above the fit, see `tail_shapes`.
    """

    location: Array
    unit: Array
    plane: CellPlane
    rate: float
    usual: float
    common: Common
    tails: Array

    def cells(self, X: Array) -> Cells:
        """Rows with NaN in the units of the columns."""
        mask = ~np.isnan(X)
        return Cells(standardized(X.astype(np.float64), mask, self.location, self.unit), mask)

    def first(self, cells: Cells) -> Array:
        """Scores to start from, those along what bad rows have in common among them."""
        return first_scores(cells, self.common.added_to(self.plane))

    def assess(self, cells: Cells, first: Array | None = None) -> CellAssessment:
        """Scores, residuals and flags."""
        first = self.first(cells) if first is None else first
        return judge_cells(cells, self.plane, first=first).within(self.tails)

    def evidence(self, cells: Cells, found: CellAssessment, first: Array | None = None) -> RowEvidence:
        """What speaks against the repaired rows."""
        first = self.first(cells) if first is None else first
        return row_evidence(cells, self.plane, found, self.common, self.tails, first)

    def distances(self, cells: Cells, found: CellAssessment) -> tuple[Array, Array]:
        """Score and orthogonal distances of the repaired rows."""
        orthogonal = self.evidence(cells, found).distances(
            self.rate, self.usual, np.subtract(*self.plane.V.shape)
        )
        return score_distances(found.scores, self.plane.variances), orthogonal

    def explained(self, cells: Cells, found: CellAssessment) -> tuple[Array, Array, Array, Array]:
        """What columns add to the two squared distances of repaired rows; residuals and fits of all cells.

        The score distance is that of the fit, whose cells it is a sum over.
        The orthogonal one is divided as the squares of the residuals that the
        repair leaves; evenly where it leaves none.
        """
        V, variances = self.plane.V, self.plane.variances
        live = variances > 1e-20 * variances.max(initial=0.0)
        precisions = np.where(live, 1.0 / np.where(live, variances, 1.0), 0.0)
        inside = (found.scores @ V.T) * ((found.scores * precisions) @ V.T)
        squares = np.where(left_cells(cells, found), found.residuals, 0.0) ** 2
        squares += np.where(squares.sum(axis=1, keepdims=True) > 0, 0.0, 1.0)
        off = self.distances(cells, found)[1][:, None] ** 2 * squares / squares.sum(axis=1, keepdims=True)
        return inside, off, np.where(cells.mask, found.residuals, np.nan), self.fitted(found)

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
    choose_rows: Callable[[Array, Array], RowChoice],
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
    levels, cells = find_levels(X[sample], mask[sample]), Cells(X, mask)
    stepped, blur = np.flatnonzero(levels.step), levels.blur(X, mask)
    X[:, stepped] += blur  # or the rows that share some values would be a subspace of their own
    start = start_cells(X, mask, sample, levels, n_components, choose_rows)
    for part in cells.blocks():
        X[part] = standardized(X[part], mask[part], start.location, start.unit)
    if len(sample) < len(X):
        start = _from_sample(cells, start, sample, choose_rows, max_iter, tol)
    else:
        start = _settled(cells, start, choose_rows, max_iter, tol)[0]
    X[:, stepped] -= blur / start.unit[stepped]
    kept = Cells(X, mask & ~_flags(cells, start.plane, start.scores))
    fit = minimize_cell_loss(kept, start.plane, start.scores, start.rows, max_iter=max_iter, tol=tol)
    plane, scores, factor = refit_cells(cells, fit, start.rows, start.least / start.unit)
    start = replace(start, unit=start.unit * factor)
    plane = _with_usual_variances(plane, scores[start.rows])
    common = common_directions(cells, plane, start.vectors / start.unit[:, None], start.rows)
    model = CellModel(start.location, start.unit, plane, 0.0, 0.0, common, np.zeros((2, X.shape[1])))
    model, found, evidence = _assess_blocks(model, cells, start.rows, ~levels.common)
    inside = score_distances(found.scores, plane.variances)
    off = evidence.distances(model.rate, model.usual, np.subtract(*plane.V.shape))
    return CellSolution(model, found, start.rows, inside, off, fit.path, fit.converged)


def _with_usual_variances(plane: CellPlane, scores: Array) -> CellPlane:
    """The plane with variances at which the median row of the fit is at its usual score distance.

    Long tails of the scores inflate the variances of all. It is done before rows are judged, as scores
    are held by these variances: new rows are to be judged like those of the fit.
    """
    far = np.median(score_distances(scores, plane.variances) ** 2)
    size = float(far) / float(chdtri(len(plane.variances), 0.5))
    return CellPlane(plane.center, plane.V, (size if size > 0 else 1.0) * plane.variances)


def _settled(
    cells: Cells,
    start: CellStart,
    choose_rows: Callable[[Array, Array], RowChoice],
    max_iter: int,
    tol: float,
) -> tuple[CellStart, SecondChoice | None]:
    """The start in settled units, from the rows of a second choice where that lets a group of them in."""
    start, second = settle_units(cells, start, tol), None
    while np.mean(~start.rows) > GROUP:
        fit = minimize_cell_loss(cells, start.plane, start.scores, start.rows, max_iter=max_iter, tol=tol)
        # The start itself is not at its end: cells that are seen to be bad are to leave before.
        found = choose_again(cells, replace(start, plane=fit.plane, scores=fit.scores), choose_rows)
        if found is None:
            break
        second, center, V = found, found.choice.center, found.choice.V
        scores = solve_scores(cells.values - center, found.good.astype(np.float64), V)
        plane, scores = orthonormal(center, V, scores, found.rows)
        start = settle_units(cells, replace(start, plane=plane, scores=scores, rows=found.rows), tol)
    return start, second


def _from_sample(
    cells: Cells,
    start: CellStart,
    sample: Array,
    choose_rows: Callable[[Array, Array], RowChoice],
    max_iter: int,
    tol: float,
) -> CellStart:
    """The fit of the sample as a start for all rows, whose values are turned to its units."""
    some = cells.take(sample)
    inside = replace(start, scores=start.scores[sample], rows=start.rows[sample])
    inside, second = _settled(some, inside, choose_rows, max_iter, tol)
    fit = minimize_cell_loss(some, inside.plane, inside.scores, inside.rows, max_iter=max_iter, tol=tol)
    rows, scores = start.rows.copy(), np.empty((len(start.rows), fit.plane.V.shape[1]))
    for part in cells.blocks():
        some = cells.take(part)  # a view: the values are turned to the new units in place
        if second is None:
            R = some.values - start.plane.center - start.scores[part] @ start.plane.V.T
            W = CellLoss.cell_weights(R, some.mask)
            some.values[...] /= inside.unit / start.unit
        else:
            some.values[...] /= second.unit / start.unit
            rows[part], W = second.of(some)
            some.values[...] /= inside.unit / second.unit
        scores[part] = solve_scores(some.values - fit.plane.center, W, fit.plane.V)
    return replace(start, unit=inside.unit, plane=fit.plane, scores=scores, rows=rows)


def _flags(cells: Cells, plane: CellPlane, U: Array) -> Array:
    return np.concatenate(
        [assess_cells(cells.take(part), plane, U[part], CELL_CUTOFF).flags for part in cells.blocks()]
    )


def _assess_blocks(
    model: CellModel, cells: Cells, rows: Array, tailed: Array
) -> tuple[CellModel, CellAssessment, RowEvidence]:
    """The model with the tails, bad cells and residuals that are usual, and what it says of cells and rows.

    Block by block. The residuals take the place of the values, but those of few rows that are judged by a
    wider plane as well, once the tails are known; of many rows some tell the tails before.
    """
    n, d = cells.values.shape
    wider = len(model.common.variances) > 0
    before = wider and n > TAIL_ROWS
    if before:
        some = cells.take(telling_rows(rows))
        found = model.assess(some)
        every = np.ones(len(some.mask), dtype=bool)
        model = replace(model, tails=tail_shapes(found.residuals, some.mask, every, tailed))
    residuals = np.empty((n, d)) if wider and not before else cells.values
    scores = np.empty((n, model.plane.V.shape[1]))
    out = CellAssessment(scores, residuals, np.empty((n, d)), np.empty((n, d), dtype=bool))
    evidence = RowEvidence(np.empty(n), np.empty(n, dtype=int), np.empty(n, dtype=int))

    def judge(part: slice, found: CellAssessment, first: Array | None = None) -> None:
        said = model.evidence(cells.take(part), found, first)
        evidence.residual[part], evidence.bad[part], evidence.seen[part] = said.residual, said.bad, said.seen

    for part in cells.blocks():
        first = model.first(cells.take(part))  # no scores of the fit, so that new rows are judged alike
        found = model.assess(cells.take(part), first)
        if before:
            judge(part, found, first)
        out.scores[part], out.residuals[part] = found.scores, found.residuals
        out.weights[part], out.flags[part] = found.weights, found.flags
    if not before:
        model = replace(model, tails=tail_shapes(out.residuals, cells.mask, rows, tailed))
        for part in cells.blocks():
            judge(part, out.rows(part).within(model.tails))
    rate = float(out.flags[rows].sum() / max(cells.mask[rows].sum(), 1))
    return replace(model, rate=rate, usual=float(np.median(evidence.residual[rows]))), out, evidence
