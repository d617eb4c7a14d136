"""A second look at the rows that the first choice has left out.

The first choice is made on rows repaired by what predicts cells when hardly
anything is known. Where rows lie in groups, cells of one are repaired that are
good, and slips that lie where another group is are not. Once there is a fit, it
repairs rows better, and a group that was left out may turn out to be like the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .cell_rows import USUAL_RATE, Array, common_directions, left_cells, surprise
from .cell_start import CellStart, RowChoice, usable_rows
from .cellwise import CELL_CUTOFF, CellPlane, Cells, judge_cells

#: Share of the rows that a group has, at least: fewer rows more or less are no reason to start again.
GROUP = 0.05


@dataclass(frozen=True)
class _Repaired:
    """Rows as a fit repairs them.

    Attributes
    ----------
    values : ndarray of shape (n, d)
    left, good : ndarray of bool of shape (n, d)
        Cells that are not repaired, and those that are not bad: of lost rows none is repaired.
    """

    values: Array
    left: Array
    good: Array

    @classmethod
    def of(cls, cells: Cells, plane: CellPlane, held: int) -> _Repaired:
        """By a plane whose last `held` directions are those that bad rows have in common."""
        parts = []
        for part in cells.blocks():
            some = cells.take(part)
            found = judge_cells(some, plane, held)
            left = left_cells(some, found)
            fitted = plane.center + found.scores @ plane.V.T
            parts.append((np.where(left, some.values, fitted), left, some.mask & ~found.flags))
        return cls(*(np.concatenate(side) for side in zip(*parts)))

    def usual(self, mask: Array, rate: float) -> Array:
        """Mask of the rows with no more bad cells than is usual: what is left of others is not theirs."""
        seen = mask.sum(axis=1)
        return surprise(seen - self.good.sum(axis=1), seen, max(rate, USUAL_RATE)) <= CELL_CUTOFF


@dataclass(frozen=True)
class SecondChoice:
    """What the rowwise method says of rows that a fit has repaired.

    Attributes
    ----------
    choice : RowChoice
    rows : ndarray of bool of shape (n,)
        Those to trust among the rows that it was made on.
    good : ndarray of bool of shape (n, d)
        Their good cells.
    plane : CellPlane
        What rows are repaired by, `held` of its directions common to bad rows.
    held : int
    rate : float
        Share of bad cells in the rows of the fit.
    unit : ndarray of shape (d,)
        Units of all that.
    """

    choice: RowChoice
    rows: Array
    good: Array
    plane: CellPlane
    held: int
    rate: float
    unit: Array

    def of(self, cells: Cells) -> tuple[Array, Array]:
        """Mask of the rows to trust among others, and their good cells."""
        repaired = _Repaired.of(cells, self.plane, self.held)
        rows = self.choice.accepts(repaired.values) & repaired.usual(cells.mask, self.rate)
        return _enough(rows, cells.mask, self.choice), repaired.good


def choose_again(
    cells: Cells, start: CellStart, choose_rows: Callable[[Array, Array], RowChoice]
) -> SecondChoice | None:
    """A choice that trusts a group of rows more than the first one, if there is one.

    Parameters
    ----------
    cells : Cells
        In the units of the start.
    start : CellStart
        With a plane that fits its rows.
    choose_rows : callable
        See `start_cells`.
    """
    least = np.count_nonzero(start.rows) + GROUP * len(start.rows)
    common = common_directions(cells, start.plane, start.vectors / start.unit[:, None], start.rows)
    plane, held = common.added_to(start.plane), len(common.variances)
    repaired = _Repaired.of(cells, plane, held)
    seen = cells.mask[start.rows].sum()
    rate = 1.0 - float(repaired.good[start.rows].sum() / max(seen, 1))
    usual = repaired.usual(cells.mask, rate)
    if np.count_nonzero(usual | start.rows) <= least:
        return None
    choice = choose_rows(repaired.values, repaired.left)
    rows = _enough(choice.trusted & usual, cells.mask, choice)
    if np.count_nonzero(rows) <= least:
        return None
    return SecondChoice(choice, rows, repaired.good, plane, held, rate, start.unit)


def _enough(rows: Array, mask: Array, choice: RowChoice) -> Array:
    enough = np.zeros(len(rows), dtype=bool)
    enough[usable_rows(mask, choice.V.shape[1])] = True
    return rows & enough
