"""Sheets of Excel workbooks (.xlsx), read by calamine once it is clear how much memory that takes.

calamine keeps the whole rectangle from the first to the last cell of a sheet
and ends the process when there is not enough memory for it.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, BinaryIO

from python_calamine import CalamineWorkbook

from ._cells import Cells
from ._lines import SAMPLE_LINES, first_of_table, said_of
from ._numpy import LimitedReader
from ._table import Options, Table, TableError, check_columns, check_size, listed, parsing, size
from ._text import add_records, layout_of
from ._words import decimal_mark

CELL = 100  # bytes of a cell in calamine and as an object of Python
PIECE = 1 << 20  # bytes that are unpacked at a time
BLOCK = 10_000  # rows that are converted at a time
MOST_COLUMNS = 16_384  # of Excel

_PLACE = re.compile(rb'<(?:\w+:)?(?:c|row)\s[^<>]*?\br="([A-Z]{0,3})([0-9]{1,7})"')
_ODD_PLACE = re.compile(rb'<(?:\w+:)?(?:c|row)\s[^<>]*?\br\s*=\s*(?!"[A-Z]{0,3}[0-9]{1,7}")')
_CELL = re.compile(rb"<(?:\w+:)?c[\s/>]")
_ROW = re.compile(rb"<(?:\w+:)?row[\s/>]")


def read_xlsx(stream: BinaryIO, options: Options) -> Table:
    """The sheet that was asked for, or the first that holds numbers."""
    with parsing(".xlsx file"):
        _check(stream, options)
        stream.seek(0)
        workbook = CalamineWorkbook.from_filelike(stream)
        names = list(workbook.sheet_names)
    if not names:
        raise TableError("holds no sheets.")
    if options.sheet is not None or len(names) == 1:
        return _read_sheet(workbook, _place(names, options), options, [])
    problem = None
    for index, name in enumerate(names):
        which = "the first" if index == 0 else "the first with numbers"
        note = f"Sheet {name!r} was read, {which} of {listed(names)} (--sheet for another)."
        try:
            return _read_sheet(workbook, index, options, [note])
        except TableError as error:
            problem = problem or error
    raise problem or TableError("holds no numbers.")


def _read_sheet(workbook: Any, index: int, options: Options, notes: list[str]) -> Table:
    """One sheet; its first row with something in it is the header, or the first row of data."""
    with parsing(".xlsx file"):
        sheet = workbook.get_sheet_by_index(index)
        if not sheet.height or not sheet.width:
            raise TableError(f"sheet {sheet.name!r} holds no rows.")
        check_columns(sheet.width)
        begin = sheet.start[0] + 1
        rows = [
            (number, row)
            for number, row in enumerate(sheet.to_python(), start=begin)
            if any(cell != "" for cell in row)
        ]
    if not rows:
        raise TableError(f"sheet {sheet.name!r} holds no rows with anything in them.")
    if options.decimal is None:
        texts = [cell for _, row in rows[:SAMPLE_LINES] for cell in row if isinstance(cell, str)]
        options = replace(options, decimal=decimal_mark(texts))
    mark = options.decimal or "."
    first = [(number, _texts(row, mark)) for number, row in rows[:SAMPLE_LINES]]
    above = first_of_table(first, [row[0].startswith("#") for _, row in first])
    if note := said_of([" ".join(row) for _, row in first[:above]]):
        notes.append(note)
    rows = rows[above:]
    layout = layout_of(first[above:], ",", options, notes)
    cells = Cells(layout, options)
    for start in range(int(layout.header), len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        add_records(cells, [_texts(row, mark) for _, row in part], [number for number, _ in part])
    return cells.table(notes)


def _place(names: Sequence[str], options: Options) -> int:
    """Index of the sheet that was asked for, or of the only one."""
    asked = options.sheet
    if asked is None:
        return 0
    if asked in names:
        return list(names).index(str(asked))
    if str(asked).isdecimal() and 1 <= int(asked) <= len(names):
        return int(asked) - 1
    raise TableError(f"there is no sheet {asked!r}; the file has {listed(names)}, numbered from one.")


def _texts(row: Sequence[Any], mark: str) -> list[str]:
    """The cells of a row as they would stand in a text file."""
    return [cell if isinstance(cell, str) else _text(cell, mark) for cell in row]


def _text(cell: Any, mark: str) -> str:
    if isinstance(cell, float):
        whole = cell.is_integer() and abs(cell) < 1e15
        return f"{cell:.0f}" if whole else repr(cell).replace(".", mark)
    return str(cell)


def _check(stream: BinaryIO, options: Options) -> None:
    """Unpack every part once, piece by piece, and hold what it needs against the limit."""
    most = 8 * options.max_memory
    with zipfile.ZipFile(LimitedReader(stream)) as archive:
        parts = [part for part in archive.infolist() if part.filename.lower().endswith((".xml", ".rels"))]
        total = sum(part.file_size for part in parts)
        if total > most:
            raise TableError(
                f"unpacks to {size(total)}: no table within the limit does "
                "(max_memory; --max-memory on the command line)."
            )
        for part in parts:
            with archive.open(part) as content:
                _check_part(content, options, "worksheets/" in part.filename.lower())


def _check_part(content: Any, options: Options, is_sheet: bool) -> None:
    rows = columns = cells = 0
    rest = b""
    while piece := content.read(PIECE):  # to the end, where the checksum is compared
        if not is_sheet:
            continue
        text = rest + piece
        cut = text.rfind(b"<")
        text, rest = (text[:cut], text[cut:]) if cut > 0 else (text, b"")
        if len(rest) > PIECE or _ODD_PLACE.search(text):
            raise TableError("is written as no spreadsheet program does it; save it anew from one.")
        places = _PLACE.findall(text)
        rows = max(rows, max((int(row) for _, row in places), default=0))
        columns = max(columns, max((_column(letters) for letters, _ in places), default=0))
        cells += len(_CELL.findall(text)) - sum(1 for letters, _ in places if letters)
        rows = max(rows, len(_ROW.findall(text)))
    if cells:  # some do not say where they are
        columns = max(columns, min(cells, MOST_COLUMNS))
    check_size(rows * columns * CELL, options, f"a sheet of {rows:,} x {columns:,} cells")


def _column(letters: bytes) -> int:
    """Number of a column.

    Examples
    --------
    >>> _column(b"A"), _column(b"Z"), _column(b"AA"), _column(b"")
    (1, 26, 27, 0)
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number
