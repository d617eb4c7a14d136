"""Pages of the table: sorted, searched and colored on the server, so that any number of rows can be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._decisions import Chosen
from ._settings import ChoiceError
from ._tasks import Loaded
from ._view import ASIDE, STATES, View, finite

Array = NDArray[Any]

#: Rows, and columns, of one answer.
MOST_ROWS, MOST_COLUMNS = 200, 100
MOST_SEARCHED = 200
KINDS = ("all", "flagged", "cells", "aside")
#: Sorted by what a fit says.
BY_FIT = {"flag": "flags", "excess": "excess", "score distance": "sd", "orthogonal distance": "od"}


@dataclass(frozen=True)
class Order:
    """Which rows are shown, in which order."""

    asked: tuple[Any, ...]
    version: int
    rows: Array

    @staticmethod
    def _asked(query: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(query[name] for name in ("by", "kind", "down", "find", "only"))

    def fits(self, query: dict[str, Any], version: int) -> bool:
        """Whether this is the answer to a query."""
        return self.version == version and self.asked == self._asked(query)

    @classmethod
    def of(
        cls, query: dict[str, Any], version: int, loaded: Loaded, chosen: Chosen, view: View | None
    ) -> Order:
        """Find the rows, and sort them."""
        rows = _shown(query["only"], loaded, chosen, view)
        if query["find"]:
            rows = rows[_found(query["find"][:MOST_SEARCHED], rows, loaded)]
        rows = _sorted(rows, query["by"], query["kind"], query["down"], loaded, view)
        return cls(cls._asked(query), version, rows)


def _shown(only: str, loaded: Loaded, chosen: Chosen, view: View | None) -> Array:
    n = len(loaded.table.values)
    if only not in KINDS:
        raise ChoiceError(f"only must be one of {', '.join(KINDS)}.")
    if only == "aside":
        return np.array(sorted(chosen.rows.union(i for i, _ in chosen.cells)), dtype=np.int64)
    if only == "all" or view is None:
        return np.arange(n)
    if only == "flagged":
        return view.flagged(chosen.rows)
    return np.array(sorted(view.marks), dtype=np.int64)


def _found(text: str, rows: Array, loaded: Loaded) -> list[int]:
    """Which of the rows have a text in their number, label or other text."""
    wanted = text.strip().casefold()
    table = loaded.table
    columns: list[Sequence[str]] = [*loaded.texts.cells]
    if table.labels is not None:
        columns.append(table.labels)
    return [
        at
        for at, i in enumerate(rows.tolist())
        if str(i + 1).startswith(wanted) or any(wanted in column[i].casefold() for column in columns)
    ]


def _sorted(rows: Array, by: str, kind: str, down: bool, loaded: Loaded, view: View | None) -> Array:
    """Rows by a column, those without a value last."""
    table = loaded.table
    keys: Any
    if kind == "fit" and by in BY_FIT and view is not None:
        keys = getattr(view, BY_FIT[by])[rows].astype(np.float64)
    elif kind == "column" and by in table.columns:
        keys = table.values[rows, table.columns.index(by)]
    elif kind in ("text", "label"):
        cells = _texts(by, kind, loaded)
        order = sorted(range(len(rows)), key=lambda at: (cells[int(rows[at])].casefold(), at), reverse=down)
        return rows[np.array(order, dtype=np.int64)]
    else:
        return rows[::-1] if down else rows
    known = np.isfinite(keys)
    places = np.argsort(np.where(known, -keys if down else keys, np.inf), kind="stable")
    return rows[places]


def _texts(by: str, kind: str, loaded: Loaded) -> Sequence[str]:
    if kind == "label" and loaded.table.labels is not None:
        return loaded.table.labels
    if by in loaded.texts.names:
        return loaded.texts.cells[loaded.texts.names.index(by)]
    raise ChoiceError("There is no such column.")


def page(
    order: Order, query: dict[str, Any], loaded: Loaded, chosen: Chosen, view: View | None
) -> dict[str, Any]:
    """Some rows of the table in an order."""
    start = max(0, min(query["start"], len(order.rows)))
    first = max(0, min(query["column"], len(loaded.table.columns)))
    shown = order.rows[start : start + min(query["count"], MOST_ROWS)]
    lines = [_line(i, first, loaded, chosen, view) for i in shown.tolist()]
    return {"total": len(order.rows), "start": start, "rows": lines, "version": order.version}


def _line(i: int, first: int, loaded: Loaded, chosen: Chosen, view: View | None) -> dict[str, Any]:
    table = loaded.table
    last = min(first + MOST_COLUMNS, len(table.columns))
    aside = i in chosen.rows
    kind = ASIDE if aside else None if view is None else int(view.flags[i])
    return {
        "row": int(table.rows[i]),
        "label": None if table.labels is None else table.labels[i],
        "kind": kind,
        "flag": "" if kind is None else STATES[kind],
        "excess": None if view is None else finite(view.excess[i]),
        "values": [finite(x) for x in table.values[i, first:last].tolist()],
        "texts": [cells[i] for cells in loaded.texts.cells],
        "bad": [] if view is None else [j for j in view.marks.get(i, ()) if first <= j < last],
        "off": [j for j in range(first, last) if (i, j) in chosen.cells] if chosen.cells else [],
    }
