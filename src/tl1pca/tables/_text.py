"""Tables in text: the standard library splits lines into cells, here columns become numbers."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from ._table import (
    FEATURES,
    Options,
    Table,
    TableError,
    assemble,
    check_columns,
    check_size,
    listed,
    numbered,
    shortened,
    size,
)

Array = NDArray[Any]

#: Cells that stand for a missing value, in lower case.
MISSING = frozenset(
    {"", "na", "n/a", "nan", "null", "none", "nil", "?", ".", "-", "--", "missing", "#n/a", "#na"}
    | {"#null!", "#num!", "#value!", "#div/0!", "#ref!", "#name?"}  # formulas that failed
)

#: Tried in this order, because commas are decimal marks in files separated otherwise.
DELIMITERS = "\t;|,"

SAMPLE_LINES, SAMPLE_SIZE = 100, 1 << 20  # what delimiter and header are judged by
BLOCK_SIZE = 1 << 20  # characters that are held as text at a time
CELL_OVERHEAD = 64  # bytes of a Python string beside its characters


def read_csv(stream: BinaryIO, options: Options) -> Table:
    """Text separated by commas, semicolons, tabs or bars."""
    return _decoded(stream, options, DELIMITERS)


def read_tsv(stream: BinaryIO, options: Options) -> Table:
    """Text separated by tabs."""
    return _decoded(stream, options, "\t")


def _decoded(stream: BinaryIO, options: Options, delimiters: str) -> Table:
    start = stream.read(2)
    wide = start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    for encoding in ("utf-16",) if wide else ("utf-8-sig", "latin-1"):
        stream.seek(0)
        text = io.TextIOWrapper(stream, encoding=encoding, newline="")
        try:
            notes = ["Not UTF-8: read as Latin-1."] if encoding == "latin-1" else []
            return _parse(text, options, delimiters, notes)
        except UnicodeError:
            continue
        except csv.Error as error:
            raise TableError(f"cannot be read as text in columns: {error}.") from None
        finally:
            text.detach()  # so that the stream stays open
    raise TableError("begins like UTF-16 text, but is not.")


class _Lines:
    """The lines of a text, none longer than allowed."""

    def __init__(self, text: io.TextIOWrapper, longest: int):
        self._text, self._longest = text, longest
        self.length = 0  # characters since it was last set to zero

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(iter(partial(self._text.readline, self._longest), ""), start=1):
            if len(line) == self._longest and line[-1] not in "\r\n":
                raise TableError(
                    f"line {number} is longer than {size(self._longest)}: this is no table, or one too wide "
                    "for the limit (max_memory; --max-memory on the command line)."
                )
            if "\0" in line:
                raise TableError(
                    f"line {number} holds a NUL character: this is not text (or UTF-16 without its mark)."
                )
            self.length += len(line)
            yield line


@dataclass(frozen=True)
class _Layout:
    """How the text is laid out: what lies between fields, and the names of the columns."""

    delimiter: str
    header: bool
    names: Sequence[str]
    unnamed_first: bool = False

    def records(self, lines: Iterable[str]) -> Any:
        return csv.reader(
            lines, delimiter=self.delimiter, strict=True, skipinitialspace=self.delimiter != "\t"
        )


def _parse(text: io.TextIOWrapper, options: Options, delimiters: str, notes: list[str]) -> Table:
    # A line becomes up to twenty times its length in strings of two characters.
    lines = _Lines(text, min(64 << 20, max(4096, options.max_memory // 32)))
    source = iter(lines)
    sample: list[str] = []
    for line in source:
        sample.append(line)
        if len(sample) == SAMPLE_LINES or (lines.length > SAMPLE_SIZE and len(sample) > 1):
            break
    layout = _layout(sample, delimiters, options, notes)
    cells = _Cells(layout, options)
    reader = layout.records(chain(sample, source))
    try:
        _fill(cells, reader, layout, lines)
    except csv.Error as error:
        raise TableError(_csv_error(str(error), reader.line_num)) from None
    return cells.table(notes)


def _layout(sample: Sequence[str], delimiters: str, options: Options, notes: list[str]) -> _Layout:
    delimiter = _delimiter(sample, delimiters)
    first = _records(sample, delimiter)
    if not first:
        raise TableError("holds no rows.")
    width = len(first[0])
    check_columns(width)
    check_size(width * CELL_OVERHEAD, options, f"a line of {width:,} fields")
    if _has_header(first) if options.header is None else options.header:
        return _Layout(delimiter, True, _names(first[0], notes), width > 1 and not first[0][0].strip())
    if options.header is None:
        notes.append("The first line was read as data: it does not look like names.")
    return _Layout(delimiter, False, numbered(width))


def _fill(cells: _Cells, reader: Any, layout: _Layout, lines: _Lines) -> None:
    width, header = len(layout.names), layout.header
    block: list[list[str]] = []
    numbers: list[int] = []
    for record in reader:
        if not record or (record == [""] and width > 1):
            continue
        if len(record) != width:
            raise TableError(
                f"line {reader.line_num} has {len(record):,} fields, the first has {width:,} "
                f"(separated by {layout.delimiter!r}). Every line needs the same number."
            )
        if header:
            header = False
            continue
        block.append(record)
        numbers.append(reader.line_num)
        if lines.length > BLOCK_SIZE:
            cells.add(block, numbers)
            block, numbers, lines.length = [], [], 0
    cells.add(block, numbers)


def _csv_error(reason: str, line: int) -> str:
    if "unexpected end" in reason:
        return 'ends inside a field: a quotation mark (") is not closed.'
    if "field limit" in reason:
        return f'a field in line {line} is far too long; is a quotation mark (") not closed?'
    return f"line {line}: {reason}."


def _records(sample: Sequence[str], delimiter: str) -> list[list[str]]:
    """The complete records of a sample, blank lines left out."""
    found = []
    try:
        for record in csv.reader(sample, delimiter=delimiter, skipinitialspace=delimiter != "\t"):
            if record and record != [""]:
                found.append(record)
    except csv.Error:
        pass  # said with its line number when the file is read
    return found


def _delimiter(sample: Sequence[str], delimiters: str) -> str:
    """The first that splits every line into the same number of fields, or else what is most frequent."""
    for delimiter in delimiters:
        records = _records(sample, delimiter)
        if len(sample) == SAMPLE_LINES:
            records = records[:-1]  # may have been cut inside quotation marks
        if len({len(record) for record in records}) == 1 and len(records[0]) > 1:
            return delimiter
    start = "".join(sample[:20])
    return max(delimiters[::-1], key=start.count)


def _has_header(records: Sequence[Sequence[str]]) -> bool:
    """Whether the first record has text where those below have numbers, or all is text.

    pandas writes a frame without names under the header ",0,1,2".
    """
    rest = [cell.strip() for cell in records[0][1:]]
    if rest and not records[0][0].strip() and rest == [str(j) for j in range(len(rest))]:
        return True
    below = [record for record in records[1:] if len(record) == len(records[0])]
    numeric = [
        j
        for j in range(len(records[0]))
        if below and all(_looks_numeric(record[j]) or _is_missing(record[j]) for record in below)
    ]
    if not numeric:
        return not any(_looks_numeric(cell) for cell in records[0])
    return any(not _looks_numeric(records[0][j]) and not _is_missing(records[0][j]) for j in numeric)


def _looks_numeric(cell: str) -> bool:
    """A number with either decimal mark."""
    try:
        _number(cell.replace(",", ".", 1))
    except ValueError:
        return False
    return not _is_missing(cell)


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def _names(record: Sequence[str], notes: list[str]) -> list[str]:
    """Unique names."""
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
    if counts:
        notes.append(f"Names that occur more than once were numbered: {listed(list(counts))}.")
    return names


def _position(label: str, names: Sequence[str]) -> int:
    if label not in names:
        raise TableError(f"there is no column {label!r} for the labels; the file has {listed(names)}.")
    return list(names).index(label)


class _Cells:
    """Columns of numbers in the making; a column with a cell that is no number is text."""

    def __init__(self, layout: _Layout, options: Options):
        self._layout, self._options = layout, options
        self._names = layout.names
        self._numeric = np.ones(len(self._names), dtype=bool)
        self._blocks: list[Array] = []
        self._label: int | None = None
        self._labels: list[str] = []
        self._used = sum(len(name) + CELL_OVERHEAD for name in self._names)
        self._reasons: dict[int, str] = {}

    def add(self, block: Sequence[Sequence[str]], lines: Sequence[int]) -> None:
        """Convert some records, which end in the given lines."""
        if not block:
            return
        if not self._blocks:
            self._find_labels(block[0], lines[0])
        self._used += len(block) * len(self._names) * 8
        if self._label is not None:
            fresh = [record[self._label] for record in block]
            self._used += sum(map(len, fresh)) + CELL_OVERHEAD * len(fresh)
            self._labels += fresh
        check_size(self._used, self._options, f"what was read up to line {lines[-1]:,}")
        values = np.full((len(block), len(self._names)), np.nan)
        wanted = np.flatnonzero(self._numeric)
        if len(wanted):
            try:
                values[:, wanted] = self._fast(block, wanted)
            except pa.ArrowInvalid:  # some cell is not a number, or written in a way only Python takes
                for j in wanted.tolist():
                    self._slow(block, j, values[:, j], lines)
        self._blocks.append(values)

    def _find_labels(self, record: Sequence[str], line: int) -> None:
        """Take the named column, or else the first if it begins with text or has no name.

        R and pandas leave the name of the column of row names empty.
        """
        if self._options.labels is not None:
            self._label = _position(self._options.labels, self._names)
        elif len(record) > 1:
            self._convert(record[0], 0, line)
            if self._layout.unnamed_first or not self._numeric[0]:
                self._label = 0
        if self._label is not None:
            self._numeric[self._label] = False

    def _fast(self, block: Sequence[Sequence[str]], wanted: Array) -> Array:
        """All cells at once, where each is a number or missing."""
        width = len(wanted)
        parts: Any = block
        if width < len(self._names):
            pick = itemgetter(*wanted.tolist())
            parts = map(pick, block) if width > 1 else ((cell,) for cell in map(pick, block))
        cells = compute.utf8_trim_whitespace(pa.array(chain.from_iterable(parts), pa.large_string()))
        if self._options.decimal != ".":
            cells = compute.replace_substring(cells, self._options.decimal, ".")
        blank = compute.is_in(compute.utf8_lower(cells), pa.array(sorted(MISSING), pa.large_string()))
        numbers = compute.cast(compute.if_else(blank, None, cells), pa.float64())
        return np.asarray(numbers.to_numpy(zero_copy_only=False)).reshape(len(block), width)

    def _slow(self, block: Sequence[Sequence[str]], j: int, out: Array, lines: Sequence[int]) -> None:
        for i, record in enumerate(block):
            out[i] = self._convert(record[j], j, lines[i])
            if not self._numeric[j]:
                return

    def _convert(self, cell: str, j: int, line: int) -> float:
        """A cell as a number; otherwise its column is text from here on, and there is a reason."""
        decimal = self._options.decimal
        try:
            return _number(cell if decimal == "." else cell.replace(decimal, "."))
        except ValueError:
            self._numeric[j] = False
            self._reasons[j] = f"{shortened(cell, 30)!r} in line {line} is not a number"
            if decimal == "." and re.fullmatch(r"\s*[+-]?\d+,\d+\s*", cell):
                self._reasons[j] += " (for a decimal comma: --decimal ,)"
            return np.nan

    def table(self, notes: list[str]) -> Table:
        """The table; the label column and columns of text are not part of it."""
        if not self._blocks:
            raise TableError("holds no rows below its header.")
        if self._label is not None:
            reason = self._reasons.pop(self._label, "")
            name = shortened(self._names[self._label])
            notes.append(f"Column {name!r} names the rows{': ' * bool(reason)}{reason}.")
        text = sorted(self._reasons)
        for j in text[:8]:
            notes.append(f"Set aside column {shortened(self._names[j])!r}: {self._reasons[j]}.")
        if len(text) > 8:
            notes.append(f"Set aside {len(text) - 8:,} more columns that are not numbers.")
        kept = np.flatnonzero(self._numeric)
        values = np.empty((sum(map(len, self._blocks)), len(kept)))
        row = 0
        while self._blocks:  # each block goes as it is copied, so that memory is not taken twice
            piece = self._blocks.pop(0)
            values[row : row + len(piece)] = piece[:, kept]
            row += len(piece)
        return assemble(
            values,
            [self._names[j] for j in kept.tolist()],
            named=self._layout.header,
            labels=None if self._label is None else self._labels,
            set_aside=[self._names[j] for j in text],
            notes=notes,
        )


def _number(cell: str) -> float:
    text = cell.strip()
    if text.lower() in MISSING:
        return np.nan
    if "_" in text:  # Python takes 1_000 for a number, a user takes it for a name
        raise ValueError(text)
    return float(text)
