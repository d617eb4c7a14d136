"""What was decided about rows, cells and settings: a list in words, each of which can be taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..report._words import count, listing, shorten
from ..tables import Table
from ._settings import ChoiceError, Settings, changes

#: Decisions that can be taken back.
MOST_STEPS = 200

Cell = tuple[int, int]


@dataclass(frozen=True)
class Chosen:
    """All that was decided: positions of rows and cells that are set aside, and the settings."""

    settings: Settings
    rows: frozenset[int] = frozenset()
    cells: frozenset[Cell] = frozenset()


@dataclass
class Decisions:
    """The decisions so far, with what they were before each."""

    chosen: Chosen
    said: list[str] = field(default_factory=list)
    _before: list[Chosen] = field(default_factory=list)

    def _change(self, text: str, after: Chosen) -> None:
        if after == self.chosen:
            return
        self._before = [*self._before[-MOST_STEPS:], self.chosen]
        self.chosen = after
        self.said.append(text)

    @property
    def can_undo(self) -> bool:
        """Whether there is a decision that can be taken back."""
        return bool(self._before)

    def undo(self) -> None:
        """Take the last decision back."""
        if not self._before:
            raise ChoiceError("There is nothing to take back.")
        self.chosen = self._before.pop()
        self.said.pop()

    def set(self, settings: Settings) -> None:
        """Other settings."""
        said = changes(self.chosen.settings, settings)
        if said:
            self._change(" ".join(said), replace(self.chosen, settings=settings))

    def rows_aside(self, rows: Iterable[int], table: Table, why: str = "") -> None:
        """Set rows aside."""
        new = sorted(set(rows) - self.chosen.rows)
        if len(self.chosen.rows) + len(new) > len(table.values) - 3:
            raise ChoiceError("At least three rows must stay.")
        if new:
            text = f"{name_rows(new, table)} set aside{why}."
            self._change(text, replace(self.chosen, rows=self.chosen.rows.union(new)))

    def rows_back(self, rows: Iterable[int], table: Table) -> None:
        """Put rows back."""
        found = sorted(self.chosen.rows.intersection(rows))
        if found:
            text = f"{name_rows(found, table)} put back."
            self._change(text, replace(self.chosen, rows=self.chosen.rows.difference(found)))

    def cells_aside(self, cells: Iterable[Cell], table: Table, why: str = "") -> None:
        """Set cells aside."""
        new = sorted(set(cells) - self.chosen.cells)
        if new:
            text = f"{name_cells(new, table)} set aside{why}."
            self._change(text, replace(self.chosen, cells=self.chosen.cells.union(new)))

    def cells_back(self, cells: Iterable[Cell], table: Table) -> None:
        """Put cells back."""
        found = sorted(self.chosen.cells.intersection(cells))
        if found:
            text = f"{name_cells(found, table)} put back."
            self._change(text, replace(self.chosen, cells=self.chosen.cells.difference(found)))

    def all_back(self) -> None:
        """Put everything back."""
        rows, cells = len(self.chosen.rows), len(self.chosen.cells)
        if rows or cells:
            parts = [count(rows, "row")] * bool(rows) + [count(cells, "cell")] * bool(cells)
            text = f"All put back: {listing(parts)}."
            self._change(text, replace(self.chosen, rows=frozenset(), cells=frozenset()))


def name_row(i: int, table: Table) -> str:
    """A row as people call it."""
    number = f"row {table.rows[i]}"
    return number if table.labels is None else f"“{shorten(table.labels[i])}” ({number})"


def name_rows(rows: Sequence[int], table: Table) -> str:
    """Some rows, at the beginning of a sentence."""
    if len(rows) == 1:
        name = name_row(rows[0], table)
        return name[0].upper() + name[1:]
    return f"{len(rows):,} rows ({listing([str(table.rows[i]) for i in rows])})"


def name_cells(cells: Sequence[Cell], table: Table) -> str:
    """Some cells, at the beginning of a sentence."""
    if len(cells) == 1:
        i, j = cells[0]
        return f"“{shorten(table.columns[j])}” of {name_row(i, table)}, {table.values[i, j]:.6g},"
    named = [f"“{shorten(table.columns[j], 20)}” of row {table.rows[i]}" for i, j in cells]
    return f"{len(cells):,} cells ({listing(named, 3)})"
