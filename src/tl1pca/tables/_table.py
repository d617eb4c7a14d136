"""What reading gives: numbers with names, row labels, and what was set aside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEFAULT_MAX_MEMORY", "FEATURES", "Table", "TableError"]

Array = NDArray[Any]

#: Bytes of decoded data that are accepted unless the caller says otherwise.
DEFAULT_MAX_MEMORY = 2 << 30

#: Columns that are accepted, whatever the memory: each costs time of its own.
MOST_COLUMNS = 1_000_000

#: Rows from which on whole numbers that go up by one are no coincidence.
FEWEST_COUNTED = 10

#: Whole numbers from which on not every one is a float of its own.
LARGEST_EXACT = 2.0**53

#: Names of columns that say which row this is: id, ID, customer_id, sampleId.
_IDENTIFIER = re.compile(r"(?:^|[^A-Za-z])(?:id|ID|Id)$|[a-z]I[Dd]$")

#: Names of columns that say when: time, Time (s), timestamp_ms, Datum.
_TIME = re.compile(
    r"(?:date|time|date[ _]?time|time[ _]?stamp|epoch|datum|zeit|zeitstempel)(?:[^a-z].*)?", re.I | re.S
)

#: Name of the i-th column (from one) of a file that names none.
FEATURES = "column {}"


class TableError(ValueError):
    """A file that is no table of numbers, or one larger than allowed."""


@dataclass(frozen=True)
class Options:
    """What the readers need to know; see `read_table`."""

    max_memory: int = DEFAULT_MAX_MEMORY
    labels: str | None = None
    array: str | None = None
    header: bool | None = None
    decimal: str | None = None
    sheet: str | int | None = None
    numbers: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Table:
    """A table of numbers.

    Attributes
    ----------
    values : ndarray of float64 of shape (n_rows, n_columns)
        NaN where a value is missing.
    columns : tuple of str
        Unique names; `FEATURES` numbered from one where the file has none.
    named : bool
        Whether the names come from the file.
    rows : ndarray of int of shape (n_rows,)
        Number of each row in the file, from one, not counting a header.
    labels : tuple of str or None
        One name per row, where a column of the file holds them.
    set_aside : tuple of str
        Names of the columns that are not used.
    notes : tuple of str
        What a user should know about how the file was read.
    decimal : str
        Decimal mark of the numbers in a text file, "." or ",".
    units : bool
        Whether row 1 has words in all columns of numbers: units, or names.
    """

    values: Array
    columns: tuple[str, ...]
    named: bool
    rows: Array
    labels: tuple[str, ...] | None = None
    set_aside: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    decimal: str = "."
    units: bool = False

    def missing(self) -> dict[str, int]:
        """Number of missing values of each column that has some."""
        counts = np.isnan(self.values).sum(axis=0)
        return {self.columns[j]: int(counts[j]) for j in np.flatnonzero(counts)}

    def take(self, keep: Array) -> Table:
        """The rows where the mask `keep` of shape (n_rows,) is true."""
        labels = None
        if self.labels is not None:
            labels = tuple(label for label, kept in zip(self.labels, keep) if kept)
        return replace(self, values=self.values[keep], rows=self.rows[keep], labels=labels)

    def select(self, names: Sequence[str]) -> Table:
        """The named columns in the given order."""
        position = {name: j for j, name in enumerate(self.columns)}
        absent = [name for name in names if name not in position]
        if absent:
            raise TableError(_absent(absent, self))
        if tuple(names) == self.columns:
            return self
        return replace(self, values=self.values[:, [position[n] for n in names]], columns=tuple(names))

    def without(self, names: Iterable[str]) -> Table:
        """All columns but the named ones."""
        dropped = set(names)
        unknown = dropped.difference(self.columns, self.set_aside)
        if unknown:
            raise TableError(_absent(sorted(unknown), self))
        kept = [name for name in self.columns if name not in dropped]
        if not kept:
            raise TableError("no column of numbers is left.")
        aside = (*self.set_aside, *(name for name in self.columns if name in dropped))
        return replace(self.select(kept), set_aside=aside)

    def filled(self) -> Table:
        """Missing values replaced by the median of their column."""
        gaps = np.isnan(self.values)
        if not gaps.any():
            return self
        values = self.values.copy()
        for j in np.flatnonzero(gaps.any(axis=0)):
            values[gaps[:, j], j] = np.median(self.values[~gaps[:, j], j])
        return replace(self, values=values)


def _absent(names: Sequence[str], table: Table) -> str:
    text = f"there is no column of numbers {listed(names)}"
    unusable = [name for name in names if name in table.set_aside]
    if unusable:
        return f"{text}: {listed(unusable)} is in the file, but was set aside."
    near = get_close_matches(names[0], table.columns, n=3)
    return (
        f"{text}; did you mean {listed(near)}?" if near else f"{text}; the file has {listed(table.columns)}."
    )


def assemble(
    values: Array,
    columns: Sequence[str],
    *,
    named: bool,
    labels: Sequence[str] | None = None,
    set_aside: Sequence[str] = (),
    notes: Sequence[str] = (),
    options: Options | None = None,
    decimal: str = ".",
) -> Table:
    """The table of what a reader found, once it is clear that it can be used."""
    said = list(notes)
    if not len(values):
        raise TableError("holds no rows.")
    if not values.shape[1]:
        raise TableError(" ".join(["holds no column of numbers.", *said]))
    infinite = np.isinf(values)
    if infinite.any():
        values = np.where(infinite, np.nan, values)
        said.append(f"Infinite values count as missing ({int(infinite.sum()):,}).")
    empty = np.isnan(values).all(axis=0)
    aside = list(set_aside)
    if empty.all():
        raise TableError("holds no value that is a number.")
    if empty.any():
        names = [columns[j] for j in np.flatnonzero(empty).tolist()]
        said.append(f"Set aside {listed(names)}: without a value.")
        aside += names
        values, columns = values[:, ~empty], [columns[j] for j in np.flatnonzero(~empty).tolist()]
    if named and options is not None:
        values, columns, labels = _without_counters(values, columns, labels, aside, said, options)
    rows = np.arange(1, len(values) + 1)
    return Table(
        np.ascontiguousarray(values, dtype=np.float64),
        tuple(columns),
        named,
        rows,
        None if labels is None else tuple(labels),
        tuple(aside),
        tuple(said),
        decimal,
    )


def _without_counters(
    values: Array,
    columns: Sequence[str],
    labels: Sequence[str] | None,
    aside: list[str],
    said: list[str],
    options: Options,
) -> tuple[Array, Sequence[str], Sequence[str] | None]:
    """Take out the columns that only count: they say which row this is, and nothing about it."""
    if len(values) < FEWEST_COUNTED:
        return values, columns, labels
    counters = {
        j: reason
        for j, name in enumerate(columns)
        if name not in options.numbers and (reason := _identifies(values[:, j], name))
    }
    if not counters or len(counters) == len(columns):
        return values, columns, labels
    for j, reason in counters.items():
        begin = f"{values[0, j]:.15g}, {values[1, j]:.15g}, ..."
        name = repr(shortened(columns[j]))
        if labels is None and j == 0 and np.abs(values[:, j]).max() < LARGEST_EXACT:
            check_size(values.nbytes + len(values) * 72, options, "what was read, with labels,")
            labels = [f"{value:.15g}" for value in values[:, j].tolist()]
            said.append(f"Column {name} {reason} ({begin}): taken for the names of the rows.")
        else:
            aside.append(columns[j])
            said.append(f"Set aside column {name}: it {reason} ({begin}).")
    kept = [j for j in range(len(columns)) if j not in counters]
    return values[:, kept], [columns[j] for j in kept], labels


def _identifies(column: Array, name: str) -> str:
    """Why a column says which row this is, and nothing about it; empty where it does not."""
    counted = column[-1] - column[0] == len(column) - 1 and float(column[0]).is_integer()
    if counted and (np.diff(column) == 1.0).all():
        return "only counts"
    if _IDENTIFIER.search(name) and (column == np.floor(column)).all() and len(set(column)) == len(column):
        return "is an identifier"
    if _are_dates(column):
        return "holds dates"
    if _TIME.fullmatch(name) and (np.diff(column) > 0).all():
        return "is a time that goes up"
    return ""


def _are_dates(column: Array) -> bool:
    """Whether all numbers are dates of the years 1900 to 2099 without marks between, such as 20240131."""
    if not ((column >= 19000101) & (column <= 20991231) & (column == np.floor(column))).all():
        return False
    try:
        for number in set(column.tolist()):
            date.fromisoformat(f"{number:.0f}")
    except ValueError:
        return False
    return True


def numbered(count: int) -> list[str]:
    """Names of the columns of a file that names none."""
    return [FEATURES.format(j + 1) for j in range(count)]


def unique_names(record: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names for the columns of a header, and which names occur there more than once."""
    names: list[str] = []
    used: set[str] = set()
    counts: dict[str, int] = {}
    for j, cell in enumerate(record):
        name = base = cell.strip() or FEATURES.format(j + 1)
        while name in used:
            counts[base] = counts.get(base, 1) + 1
            name = f"{base} ({counts[base]})"
        used.add(name)
        names.append(name)
    return names, list(counts)


def listed(names: Sequence[str], most: int = 8) -> str:
    """Some names, quoted and free of control characters.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    text = ", ".join(repr(shortened(name)) for name in names[:most])
    return text + (f" and {len(names) - most:,} more" if len(names) > most else "")


def shortened(text: str, longest: int = 60) -> str:
    """A text that fits into a message."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def size(count: int) -> str:
    """A number of bytes in words.

    Examples
    --------
    >>> size(3 << 30), size(1000)
    ('3.0 GiB', '1.0 KiB')
    """
    if count >= 1 << 60:  # may be too long for a float
        return "over a million TiB"
    for unit, bits in (("TiB", 40), ("GiB", 30), ("MiB", 20)):
        if count >> bits:
            return f"{count / (1 << bits):.1f} {unit}"
    return f"{count / 1024:.1f} KiB"


def check_size(needed: int, options: Options, what: str) -> None:
    """Refuse what would take more memory than allowed, before it does."""
    if needed > options.max_memory:
        raise TableError(
            f"{what} takes {size(needed)} in memory, the limit is {size(options.max_memory)}. "
            "If the file is to be trusted, raise the limit (max_memory; --max-memory 8G on the command line)."
        )


def check_columns(count: int) -> None:
    """Refuse what is wider than any table."""
    if count > MOST_COLUMNS:
        raise TableError(
            f"has {count:,} columns; up to {MOST_COLUMNS:,} are read. Are rows and columns swapped?"
        )


@contextmanager
def parsing(kind: str) -> Iterator[None]:
    """Whatever a library raises about a broken or hostile file becomes a `TableError`.

    The parsers behind this raise nearly anything for such files, from
    KeyError to RecursionError; hence the broad clause.
    """
    try:
        yield
    except TableError:
        raise
    except MemoryError:
        raise TableError(f"this {kind} needs more memory than there is, or than is allowed.") from None
    except Exception as error:
        reason = re.sub(r"\s+", " ", str(error)).strip() or type(error).__name__
        raise TableError(f"cannot be read as {kind}: {shortened(reason, 200)!r}.") from None
