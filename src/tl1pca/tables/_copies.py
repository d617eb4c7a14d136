"""A table once more as text: with what was found about its rows, or without rows and cells set aside."""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from .._files import write_atomically
from ._lines import (
    ALONE,
    ENCODINGS,
    SAMPLE_LINES,
    is_one_column,
    lines_above,
    marked_off,
    split_lines,
    whole_header,
)
from ._read import read_table
from ._table import DEFAULT_MAX_MEMORY, Table, TableError, listed, numbered, unique_names

#: Files that are copied cell by cell, as they are; with what may separate cells, in the order of the reader.
TEXT = {".csv": "\t;|,", ".tsv": "\t", ".txt": "\t;|, "}


@dataclass(frozen=True)
class Original:
    """A table as text: names of its columns, cells, and what lies between them."""

    names: Sequence[str]
    records: Callable[[], Iterator[Sequence[str]]]  # the rows, from the first on
    delimiter: str = ","
    decimal: str = "."


def is_text(path: str | os.PathLike[str]) -> bool:
    """Whether a file is copied cell by cell."""
    return _ending(path) in TEXT


def _ending(path: str | os.PathLike[str]) -> str:
    """What the name ends in before .gz."""
    file = Path(path)
    return (Path(file.stem) if file.suffix.lower() == ".gz" else file).suffix.lower()


def original(path: str | os.PathLike[str], table: Table) -> Original:
    """The whole of a file that was read as a table, text and rows with gaps included.

    Of other formats than text it holds numbers and labels.
    """
    if is_text(path):
        with gzip.open(path, "rb") if Path(path).suffix.lower() == ".gz" else Path(path).open("rb") as stream:
            return _cells(str(path), stream.read(), TEXT[_ending(path)], table)
    names = [*([] if table.labels is None else ["label"]), *table.columns]

    def records() -> Iterator[Sequence[str]]:
        for i, row in enumerate(table.values):
            label = [] if table.labels is None else [table.labels[i]]
            yield [*label, *(_written(x) for x in row.tolist())]

    return Original(names, records)


def _cells(path: str, content: bytes, delimiters: str, table: Table) -> Original:
    """The cells of a text file that was read as a table before: that says how to split it."""
    lines = io.StringIO(_decoded(content), newline="").readlines()
    if "," in delimiters and is_one_column(lines[:SAMPLE_LINES], table.decimal):
        delimiters = ALONE
    lines = list(marked_off(lines[lines_above(lines[:SAMPLE_LINES], delimiters) :]))
    for delimiter in delimiters:

        def records(delimiter: str = delimiter) -> Iterator[Sequence[str]]:
            reader = split_lines(lines, delimiter, strict=False)
            return (record for record in reader if record and record != [""])

        found = _shape(records(), table.named)
        if found is None:
            continue
        count, names = found
        if count == len(table.values) and len(names) >= len(table.columns):
            below = (lambda: islice(records(), 1, None)) if table.named else records
            alone = len(names) == 1 and delimiters != "\t"  # anything separates one column
            return Original(names, below, "," if alone else delimiter, table.decimal)
    raise TableError(f"{path}: its lines cannot be copied; convert it to plain CSV first.")


def _shape(records: Iterator[Sequence[str]], named: bool) -> tuple[int, Sequence[str]] | None:
    """Number of the rows and names of the columns; None if the records differ in length."""
    try:
        first = list(islice(records, SAMPLE_LINES))
        if not first:
            return None
        names = whole_header(first) if named else numbered(len(first[0]))
        count = 0
        for record in chain(first[named:], records):
            if len(record) != len(names):
                return None
            count += 1
    except csv.Error:
        return None
    return count, names


def _decoded(content: bytes) -> str:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16")
    for encoding in ENCODINGS:
        with suppress(UnicodeDecodeError):
            return content.decode(encoding)
    raise AssertionError("Latin-1 has a character for every byte")


def _written(x: float) -> str:
    return "" if x != x else repr(x)  # noqa: PLR0124


# ------------------------------------------------------------------------------- with more columns
def copied(
    source: Original, numbers: Sequence[int], more: Mapping[str, Sequence[Any]], keep: Sequence[bool] | None
) -> tuple[str, int, int]:
    """The table as text with columns added; how many rows it has, and how many the source has.

    Parameters
    ----------
    source : Original
    numbers : sequence of int
        Which rows of the source, counted from 1, something is known about.
    more : mapping of str to sequence
        Columns to add, an entry for each of them; other rows have empty cells there.
    keep : sequence of bool, optional
        Which of them to write. By default all rows of the source.
    """
    place = {number: i for i, number in enumerate(numbers)}
    names = _distinct(more, source.names)
    text = io.StringIO()
    writer = csv.writer(text, delimiter=source.delimiter, lineterminator="\n")
    writer.writerow([*source.names, *names])
    written = number = 0
    for number, cells in enumerate(source.records(), start=1):
        i = place.get(number)
        if keep is not None and (i is None or not keep[i]):
            continue
        fresh = ["" if i is None else _cell(column[i], source.decimal) for column in more.values()]
        writer.writerow([*cells, *fresh])
        written += 1
    return text.getvalue(), written, number


def _distinct(names: Mapping[str, Any], taken: Sequence[str]) -> list[str]:
    """Names that the table does not have yet."""
    used, found = set(taken), []
    for name in names:
        fresh, count = name, 2
        while fresh in used:
            fresh, count = f"{name} ({count})", count + 1
        used.add(fresh)
        found.append(fresh)
    return found


def _cell(value: Any, decimal: str) -> str:
    return _written(value).replace(".", decimal) if isinstance(value, float) else str(value)


# ------------------------------------------------------------------------------- without rows and cells
def cleaned(source: Original, rows: Collection[int], cells: Mapping[int, Mapping[str, float | None]]) -> str:
    """The table as text without some rows, and with some cells replaced or left empty.

    Parameters
    ----------
    source : Original
    rows : collection of int
        Numbers of the rows to leave out, counted from 1.
    cells : mapping of int to mapping of str to float or None
        New values of cells by number of the row and name of the column; None is an empty cell.
    """
    place = {name: j for j, name in enumerate(unique_names(source.names)[0])}
    unknown = [name for names in cells.values() for name in names if name not in place]
    if unknown:
        raise TableError(f"there is no column {listed(sorted(set(unknown)))}.")
    text = io.StringIO()
    writer = csv.writer(text, delimiter=source.delimiter, lineterminator="\n")
    writer.writerow(source.names)
    for number, record in enumerate(source.records(), start=1):
        if number in rows:
            continue
        fresh = list(record)
        for name, value in cells.get(number, {}).items():
            fresh[place[name]] = "" if value is None else _cell(float(value), source.decimal)
        writer.writerow(fresh)
    return text.getvalue()


def write_cleaned(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    rows: Collection[int] = (),
    cells: Collection[tuple[int, str]] = (),
    labels: str | None = None,
    max_memory: int = DEFAULT_MAX_MEMORY,
) -> None:
    r"""Write a table once more as CSV, without some rows and with some cells left empty.

    Everything else of a text file stays as it is, cell by cell. Of other
    formats numbers and labels are written.

    Parameters
    ----------
    path : path-like
        A file that `read_table` reads.
    out : path-like
        The file to write; an old one is replaced in one step.
    rows : collection of int
        Numbers of the rows to leave out, as in `Table.rows`: from one, not
        counting the header.
    cells : collection of (int, str)
        Rows and names of columns of the cells to leave empty.
    labels, max_memory
        As in `read_table`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "wine.csv").write_text("name,alcohol,ash\nfirst,14.2,2.43\nsecond,999,2.1\nthird,9,9\n")
    >>> write_cleaned(folder / "wine.csv", folder / "cleaned.csv", rows=[3], cells=[(2, "alcohol")])
    >>> print((folder / "cleaned.csv").read_text(), end="")
    name,alcohol,ash
    first,14.2,2.43
    second,,2.1
    """
    by_row: dict[int, dict[str, None]] = {}
    for number, column in cells:
        by_row.setdefault(number, {})[column] = None
    table = read_table(path, labels=labels, max_memory=max_memory)
    write_atomically(out, cleaned(original(path, table), frozenset(rows), by_row))
