"""What a person should know of each column before choosing: its kind, its spread, what is missing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tables import Table
from ..tables._copies import Original
from ..tables._table import unique_names
from ..tables._words import is_missing

Array = NDArray[Any]

#: Cells of a column of text that are looked at to say what it holds.
SEEN_CELLS = 2000
#: Columns of text that are kept to be shown beside the numbers.
MOST_TEXTS = 20
#: At most so many different whole numbers look like a code.
FEW_VALUES = 10

_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}([T ]\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4}"
)


@dataclass(frozen=True)
class Column:
    """A column as it is shown for choosing.

    Attributes
    ----------
    name : str
    kind : {"numbers", "yes/no", "code", "constant", "dates", "identifier", "text"}
    guess : str
        The same in words, with what follows from it.
    usable : bool
        Whether it holds numbers.
    advised : bool
        Whether it takes part unless the user says otherwise.
    missing : float
        Share of cells without a value.
    median, spread, low, high : float or None
        The spread is 1.4826 times the median absolute deviation.
    """

    name: str
    kind: str
    guess: str
    usable: bool
    advised: bool
    missing: float
    median: float | None = None
    spread: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Texts:
    """Columns of text, to be shown beside the numbers."""

    names: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]


def numeric(table: Table) -> list[Column]:
    """What the columns of numbers hold."""
    gaps = bool(np.isnan(table.values).any())  # a table with gaps is one for the method that judges cells
    return [_numeric(name, table.values[:, j], gaps) for j, name in enumerate(table.columns)]


def _numeric(name: str, x: Array, gaps: bool) -> Column:
    known = x[~np.isnan(x)]
    missing = 1.0 - len(known) / len(x)
    median = float(np.median(known))
    spread = 1.4826 * float(np.median(np.abs(known - median)))
    low, high = float(known.min()), float(known.max())
    kind, guess, advised = "numbers", "numbers", True
    if low == high:
        kind, guess, advised = (
            "constant",
            "always the same value: left out, it says nothing about rows",
            False,
        )
    elif len(known) and np.isin(known, (0.0, 1.0)).all():
        kind, guess, advised = "yes/no", "yes or no, as 1 and 0", not gaps
        if gaps:
            guess += ": left out, because the rarer answer would be called a bad cell"
    elif (known[:SEEN_CELLS] == np.round(known[:SEEN_CELLS])).all():
        values = len(np.unique(known))
        if values <= FEW_VALUES:
            kind, guess = "code", f"{values} whole numbers: leave it out if it is a code"
        elif values == len(x) and _counts(known):
            kind, guess, advised = "identifier", "a running number: left out", False
        else:
            guess = "whole numbers"
    return Column(name, kind, guess, True, advised, missing, median, spread, low, high)


def _counts(x: Array) -> bool:
    """Whether whole numbers count, in whatever order."""
    return bool(x.max() - x.min() == len(x) - 1)


def texts(source: Original, table: Table, label: str | None) -> tuple[list[Column], Texts]:
    """What the columns hold that are not numbers, and their cells."""
    wanted = [*([] if label is None else [label]), *table.set_aside]
    places = {name: j for j, name in enumerate(unique_names(source.names)[0])}
    chosen = [name for name in dict.fromkeys(wanted) if name in places][:MOST_TEXTS]
    if not chosen:
        return [], Texts((), ())
    columns = [places[name] for name in chosen]
    cells = list(zip(*([record[j] for j in columns] for record in source.records())))
    found = [_text(name, part) for name, part in zip(chosen, cells)]
    return found, Texts(tuple(chosen), tuple(cells))


def _text(name: str, cells: tuple[str, ...]) -> Column:
    known = list(islice((cell.strip() for cell in cells if not is_missing(cell)), SEEN_CELLS))
    missing = sum(map(is_missing, cells)) / len(cells)
    if not known:
        return Column(name, "text", "without a value", False, False, missing)
    if all(_DATE.fullmatch(cell) for cell in known):
        return Column(name, "dates", "dates or times: shown, not analyzed", False, False, missing)
    words = len(set(known))
    if words == len(known) > 1:
        return Column(name, "identifier", "every row has its own: names of the rows", False, False, missing)
    what = f"{words} different words" if words <= FEW_VALUES else "text"
    return Column(name, "text", f"{what}: shown, not analyzed", False, False, missing)
