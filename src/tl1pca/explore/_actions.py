"""What the page may ask to be decided, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._decisions import Cell, Decisions
from ._settings import ChoiceError
from ._tasks import Loaded
from ._view import View

Act = Callable[[Decisions, Loaded, View | None], None]


def decide(name: str, given: dict[str, Any]) -> Act:
    """The change that a request stands for."""
    if name not in ACTIONS:
        raise ChoiceError("There is no such action.")
    return lambda decisions, loaded, view: ACTIONS[name](decisions, loaded, view, given)


def _rows(loaded: Loaded, given: dict[str, Any]) -> list[int]:
    """Positions of rows that were named by their numbers."""
    n, rows = len(loaded.table.values), given.get("rows", [])
    if not isinstance(rows, list) or not all(type(row) is int and 1 <= row <= n for row in rows):
        raise ChoiceError(f"rows must be a list of whole numbers from 1 to {n}.")
    return [row - 1 for row in rows]


def _cells(loaded: Loaded, given: dict[str, Any]) -> list[Cell]:
    """Positions of cells that were named by row and column, both as positions in the table."""
    n, d = loaded.table.values.shape
    cells = given.get("cells", [])
    if not isinstance(cells, list) or not all(
        isinstance(cell, list)
        and len(cell) == 2
        and all(type(part) is int for part in cell)
        and 1 <= cell[0] <= n
        and 0 <= cell[1] < d
        for cell in cells
    ):
        raise ChoiceError(f"cells must be pairs of a row from 1 to {n} and a column from 0 to {d - 1}.")
    return [(row - 1, column) for row, column in cells]


def _aside(decisions: Decisions, loaded: Loaded, view: View | None, given: dict[str, Any]) -> None:
    decisions.rows_aside(_rows(loaded, given), loaded.table)
    decisions.cells_aside(_cells(loaded, given), loaded.table)


def _back(decisions: Decisions, loaded: Loaded, view: View | None, given: dict[str, Any]) -> None:
    decisions.rows_back(_rows(loaded, given), loaded.table)
    decisions.cells_back(_cells(loaded, given), loaded.table)


def _flagged(decisions: Decisions, loaded: Loaded, view: View | None, given: dict[str, Any]) -> None:
    if view is None:
        raise ChoiceError("Fit first.")
    rows = view.flagged(decisions.chosen.rows)
    decisions.rows_aside(rows.tolist(), loaded.table, ", all that were flagged")


def _bad_cells(decisions: Decisions, loaded: Loaded, view: View | None, given: dict[str, Any]) -> None:
    if view is None or not view.judges_cells:
        raise ChoiceError("This method judges rows; fit TL1CellPCA to judge cells.")
    cells = [(i, j) for i, columns in view.marks.items() if i not in decisions.chosen.rows for j in columns]
    decisions.cells_aside(cells, loaded.table, ", all that were bad")


def _all_back(decisions: Decisions, loaded: Loaded, view: View | None, given: dict[str, Any]) -> None:
    decisions.all_back()


def _undo(decisions: Decisions, loaded: Loaded, view: View | None, given: dict[str, Any]) -> None:
    decisions.undo()


ACTIONS: dict[str, Callable[[Decisions, Loaded, View | None, dict[str, Any]], None]] = {
    "aside": _aside,
    "back": _back,
    "flagged-aside": _flagged,
    "cells-aside": _bad_cells,
    "all-back": _all_back,
    "undo": _undo,
}
