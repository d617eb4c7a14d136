"""Split text the fast way, with Arrow, where it is sure to split as Python's csv does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import csv

from ._cells import Cells
from ._words import MISSING

BLOCK_SIZE = 1 << 20  # bytes that are held as text at a time
LONGEST_LINE = 1 << 17  # bytes; what Python's csv allows a single field

MOST_COLUMNS = 5000  # Arrow takes some kilobytes for each
_NULLS = sorted({form for text in MISSING for form in (text, text.upper(), text.title())} | {"NaN"})


class IrregularError(Exception):
    """Text that needs Python's csv: for how it is split, or for what it says about an error."""


def skip(stream: BinaryIO, above: Sequence[str]) -> None:
    """Go on to the table below some lines."""
    for line in above:
        if not line.endswith("\n") or "\0" in line:
            raise IrregularError
        stream.readline()


def fill(cells: Cells, stream: BinaryIO, longest: int) -> None:
    """Read the lines below the header into `cells`."""
    if cells.layout.delimiter == " " or not 1 <= len(cells.kept) <= MOST_COLUMNS:
        raise IrregularError
    options = _options(cells)
    rest, line, first = b"", 1 + cells.layout.above, cells.layout.header
    while True:
        block = stream.read(BLOCK_SIZE)
        if block:
            whole = rest + block
            cut = whole.rfind(b"\n") + 1
            if not cut:
                raise IrregularError
            part, rest = whole[:cut], whole[cut:]
        else:
            part = rest.rstrip(b"\r\n")
        if part:
            count = _check(part, cells.layout.delimiter.encode(), min(longest, LONGEST_LINE))
            if first:
                part = part[part.find(b"\n") + 1 :] if b"\n" in part else b""
            if part:
                _add(cells, part, range(line + first, line + count), options)
            line, first = line + count, False
        if not block:
            return


def _options(cells: Cells) -> Mapping[str, Any]:
    names = [str(j) for j in range(len(cells.layout.names))]
    wanted = sorted({*cells.kept, *([] if cells.label is None else [cells.label])})
    return {
        "read": {"column_names": names, "use_threads": False, "block_size": 8 * BLOCK_SIZE},
        "parse": csv.ParseOptions(delimiter=cells.layout.delimiter, newlines_in_values=False),
        "numbers": csv.ConvertOptions(
            include_columns=[str(j) for j in wanted],
            column_types={
                str(j): pa.float64() if cells.is_number(j) and j != cells.label else pa.large_string()
                for j in wanted
            },
            null_values=_NULLS,
            decimal_point=cells.layout.decimal,
        ),
        "text": csv.ConvertOptions(
            include_columns=[str(j) for j in wanted],
            column_types={str(j): pa.large_string() for j in wanted},
        ),
    }


def _add(cells: Cells, part: bytes, lines: range, options: Mapping[str, Any]) -> None:
    try:
        table = _parse(part, options, "numbers")
    except pa.ArrowInvalid:  # some cell is not a plain number
        table = _parse(part, options, "text")
    if len(table) != len(lines):
        raise IrregularError
    columns = {}
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if pa.types.is_floating(column.type):
            columns[int(name)] = column.to_numpy(zero_copy_only=False)
        elif cells.layout.delimiter == "\t":
            columns[int(name)] = column
        else:
            columns[int(name)] = pa.compute.utf8_ltrim(column, " ")
    cells.add(columns, lines)


def _parse(part: bytes, options: Mapping[str, Any], how: str) -> Any:
    try:
        return csv.read_csv(
            pa.BufferReader(part),
            read_options=csv.ReadOptions(**options["read"]),
            parse_options=options["parse"],
            convert_options=options[how],
        )
    except pa.ArrowInvalid:
        if how == "numbers":
            raise
        raise IrregularError from None


def _check(part: bytes, delimiter: bytes, longest: int) -> int:
    """Number of lines, none of which is blank, too long, or quoted in an unusual way."""
    if not part.isascii():
        part.decode()  # raises UnicodeError
    if b"\0" in part or part.count(b"\r") != part.count(b"\r\n"):
        raise IrregularError
    if part[:1] in (b"\n", b"\r") or b"\n\n" in part or b"\n\r\n" in part:
        raise IrregularError
    data = np.frombuffer(part, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    if np.diff(ends, prepend=-1, append=len(part)).max() > longest:
        raise IrregularError
    if b'"' in part:
        _check_quotes(data, ends, delimiter)
    return len(ends) + (not part.endswith(b"\n"))


def _check_quotes(data: Any, ends: Any, delimiter: bytes) -> None:
    """Every quotation mark opens or closes a field of one line."""
    marks = np.flatnonzero(data == ord('"'))
    opening, closing = marks[::2], marks[1::2]
    if len(opening) != len(closing):
        raise IrregularError
    before = np.where(opening > 0, data[opening - 1], ord("\n"))
    after = np.where(closing + 1 < len(data), data[np.minimum(closing + 1, len(data) - 1)], ord("\n"))
    if not (
        np.isin(before, [*delimiter, ord("\n")]).all()
        and np.isin(after, [*delimiter, ord("\n"), ord("\r")]).all()
        and (np.searchsorted(ends, opening) == np.searchsorted(ends, closing)).all()
    ):
        raise IrregularError
