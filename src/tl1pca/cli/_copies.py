"""The input table once more, with what was found about its rows, or without the rows that stand out."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..tables import Table, TableError
from ._data import read_as_is
from ._options import Reading
from ._terminal import note

#: Files that are copied cell by cell, as they are; with what may separate cells, in the order of the reader.
TEXT = {".csv": "\t;|,", ".tsv": "\t", ".txt": "\t;|, "}


@dataclass(frozen=True)
class Original:
    """A table as text: names of its columns, cells, and what lies between them."""

    names: list[str]
    rows: list[list[str]]
    delimiter: str = ","

    @property
    def decimal_comma(self) -> bool:
        """Whether numbers are written 1,5."""
        number = re.compile(r"\s*[+-]?\d+,\d+\s*")
        cells = (cell for row in self.rows[:100] for cell in row)
        return self.delimiter != "," and any(number.fullmatch(cell) for cell in cells)


def original(path: str, reading: Reading) -> Original:
    """The whole table in a file, text and rows with gaps included."""
    table = read_as_is(path, reading)
    file = Path(path)
    zipped = file.suffix.lower() == ".gz"
    ending = (Path(file.stem) if zipped else file).suffix.lower()
    if ending in TEXT:
        with gzip.open(path, "rb") if zipped else file.open("rb") as stream:
            return _cells(path, stream.read(), TEXT[ending], table)
    if table.set_aside:
        note(f"Not in the copy, which holds numbers and labels: {', '.join(table.set_aside)}.")
    labels = [] if table.labels is None else [list(table.labels)]
    columns = [[_written(x) for x in column] for column in table.values.T.tolist()]
    names = [*(["label"] if labels else []), *table.columns]
    return Original(names, [list(row) for row in zip(*labels, *columns)])


def _cells(path: str, content: bytes, delimiters: str, table: Table) -> Original:
    """The cells of a text file that was read as a table before: that says how to split it."""
    text = _decoded(content)
    for delimiter in delimiters:
        records = csv.reader(
            io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=delimiter != "\t"
        )
        try:
            found = [record for record in records if record and record != [""]]
        except csv.Error:
            continue
        width = len(found[0]) if found else 0
        if len(found) == len(table.values) + table.named and {len(record) for record in found} == {width}:
            if table.named and width >= len(table.columns):
                return Original(found[0], found[1:], delimiter)
            if not table.named and width >= len(table.columns):
                return Original([f"column {j + 1}" for j in range(width)], found, delimiter)
    raise TableError(f"{path}: its lines cannot be copied; convert it to plain CSV first.")


def _decoded(content: bytes) -> str:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _written(x: float) -> str:
    return "" if x != x else repr(x)  # noqa: PLR0124


def copied(
    source: Original, numbers: Sequence[int], more: Mapping[str, Sequence[Any]], keep: Sequence[bool] | None
) -> tuple[str, int]:
    """The table as text with columns added, and how many rows it has.

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
    comma = source.decimal_comma
    text = io.StringIO()
    writer = csv.writer(text, delimiter=source.delimiter, lineterminator="\n")
    writer.writerow([*source.names, *names])
    written = 0
    for number, cells in enumerate(source.rows, start=1):
        i = place.get(number)
        if keep is not None and (i is None or not keep[i]):
            continue
        fresh = ["" if i is None else _cell(column[i], comma) for column in more.values()]
        writer.writerow([*cells, *fresh])
        written += 1
    return text.getvalue(), written


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


def _cell(value: Any, comma: bool) -> str:
    if not isinstance(value, float):
        return str(value)
    return _written(value).replace(".", ",") if comma else _written(value)
