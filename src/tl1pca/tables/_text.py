"""Tables in text: what lies between fields, which line names the columns, and the splitting into cells."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice, pairwise
from typing import Any, BinaryIO

import pyarrow as pa

from . import _regular
from ._cells import NAME_OVERHEAD, Cells, Layout
from ._lines import (
    ALONE,
    ENCODINGS,
    SAMPLE_LINES,
    Record,
    is_even,
    is_one_column,
    lines_above,
    marked_off,
    may_be_one_column,
    most_frequent,
    records_of,
    said_of,
    split_lines,
    whole_header,
)
from ._table import (
    Options,
    Table,
    TableError,
    check_columns,
    check_size,
    listed,
    numbered,
    size,
    unique_names,
)
from ._words import decimal_mark, is_missing, looks_numeric, number

#: Tried in this order, because commas are decimal marks in files separated otherwise.
DELIMITERS = "\t;|,"

SAMPLE_SIZE = 1 << 20  # characters by which the layout is judged
BLOCK_SIZE = 1 << 20  # characters that are held as text at a time
FEWEST_STEPS = 4  # numbers that go up by one and the same whole number are names from there on
MANY_STEPS = 10  # from there on any that go up about evenly


def read_csv(stream: BinaryIO, options: Options) -> Table:
    """Text separated by commas, semicolons, tabs or bars."""
    return _decoded(stream, options, DELIMITERS)


def read_tsv(stream: BinaryIO, options: Options) -> Table:
    """Text separated by tabs."""
    return _decoded(stream, options, "\t")


def read_txt(stream: BinaryIO, options: Options) -> Table:
    """Text separated by anything of the above, or by spaces."""
    return _decoded(stream, options, DELIMITERS + " ")


def _decoded(stream: BinaryIO, options: Options, delimiters: str) -> Table:
    start = stream.read(2)
    wide = start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    for encoding, name in {"utf-16": "UTF-16"}.items() if wide else ENCODINGS.items():
        stream.seek(0)
        text = io.TextIOWrapper(stream, encoding=encoding, newline="")
        try:
            notes = [] if name.startswith("UTF") else [f"Not UTF-8: read as {name}."]
            return _parse(text, options, delimiters, notes, stream if encoding == "utf-8-sig" else None)
        except UnicodeError:
            continue
        except csv.Error as error:
            raise TableError(f"cannot be read as text in columns: {error}.") from None
        finally:
            text.detach()  # so that the stream stays open
    raise TableError("begins like UTF-16 text, but is not.")


class _Lines:
    """The lines of a text, none longer than allowed, nor a record of several."""

    def __init__(self, text: io.TextIOWrapper, longest: int):
        self._text, self._longest = text, longest
        self.length = 0  # characters since it was last set to zero
        self.record = 0  # characters since the last record ended

    def __iter__(self) -> Iterator[str]:
        for at, line in enumerate(iter(partial(self._text.readline, self._longest), ""), start=1):
            if len(line) == self._longest and line[-1] not in "\r\n":
                raise TableError(
                    f"line {at} is longer than {size(self._longest)}: this is no table, or one too wide "
                    "for the limit (max_memory; --max-memory on the command line)."
                )
            if "\0" in line:
                raise TableError(
                    f"line {at} holds a NUL character: this is not text (or UTF-16 without its mark)."
                )
            self.length += len(line)
            self.record += len(line)
            if self.record > 2 * self._longest:
                raise TableError(
                    f"a row that goes on in line {at} is longer than {size(self._longest)}; "
                    'is a quotation mark (") not closed?'
                )
            yield line


def _parse(
    text: io.TextIOWrapper, options: Options, delimiters: str, notes: list[str], raw: BinaryIO | None
) -> Table:
    # A line becomes up to twenty times its length in strings of two characters.
    longest = min(64 << 20, max(4096, options.max_memory // 32))
    lines = _Lines(text, longest)
    source = iter(lines)
    sample: list[str] = []
    for line in source:
        lines.record = 0  # no more is held than the sample
        sample.append(line)
        if len(sample) == SAMPLE_LINES or (lines.length > SAMPLE_SIZE and len(sample) > 1):
            break
    layout = _layout(sample, delimiters, options, notes)
    if raw is not None:
        try:
            raw.seek(0)
            if raw.read(3) != codecs.BOM_UTF8:
                raw.seek(0)
            _regular.skip(raw, sample[: layout.above])
            cells = Cells(layout, options)
            _regular.fill(cells, raw, longest)
            return cells.table(notes)
        except _regular.IrregularError:
            text.seek(0)
            lines = _Lines(text, longest)
            sample, source = [], iter(lines)
    cells = Cells(layout, options)
    reader = split_lines(marked_off(islice(chain(sample, source), layout.above, None)), layout.delimiter)
    try:
        _fill(cells, reader, lines)
    except csv.Error as error:
        raise TableError(_csv_error(str(error), layout.above + reader.line_num)) from None
    return cells.table(notes)


def _layout(sample: Sequence[str], delimiters: str, options: Options, notes: list[str]) -> Layout:
    alone = "," in delimiters and is_one_column(sample, options.decimal)
    if alone:
        delimiters = ALONE
    above = lines_above(sample, delimiters)
    if note := said_of(sample[:above]):
        notes.append(note)
    lines = list(marked_off(sample[above:]))
    delimiter = _delimiter(lines, delimiters, cut=len(sample) == SAMPLE_LINES)
    first = [(above + line, record) for line, record in records_of(lines, delimiter)]
    if not first:
        raise TableError("holds no rows.")
    if first[0][1][0].lstrip().lower().startswith(("<!doctype", "<html", "<table")):
        raise TableError("is a web page (HTML), no table; was it saved from the page instead of downloaded?")
    layout = layout_of(first, delimiter, options, notes, above)
    if alone and options.decimal is None and layout.decimal == ",":
        notes.append("One name stands above them, so they are one column; --decimal . reads two columns.")
    elif delimiter == "," and options.decimal is None and options.header is None and may_be_one_column(lines):
        notes.append("Commas were read as what separates two columns; --decimal , reads one column.")
    return layout


def layout_of(
    first: Sequence[Record], delimiter: str, options: Options, notes: list[str], above: int = 0
) -> Layout:
    """Header, names and decimal mark of a table that begins with these records."""
    top = whole_header([record for _, record in first])
    width = len(top)
    check_columns(width)
    check_size(width * NAME_OVERHEAD, options, f"a line of {width:,} fields")
    header = options.header
    if header is None:
        records = [record for _, record in first]
        header = len(first[0][1]) < width or has_header(records)
        if not header and (axis := counted_header(records)):
            header = True
            notes.append(
                f"The first line was read as names, as its numbers go up evenly ({listed(axis, 3)}). "
                "--no-header reads it as data."
            )
    below = [(line, record) for line, record in first[header:] if len(record) == width]
    decimal = options.decimal
    if decimal is None:
        decimal = decimal_mark([cell for _, record in below for cell in record])
        if decimal == ",":
            notes.append("Numbers were read with a decimal comma.")
    if header:
        names = _names(top, notes)
        return Layout(delimiter, True, names, decimal, below, width > 1 and not top[0].strip(), above)
    if options.header is None:
        notes.append(
            "The first line was read as data: it does not look like names. --header reads it as names."
        )
    return Layout(delimiter, False, numbered(width), decimal, below, above=above)


def _fill(cells: Cells, reader: Any, lines: _Lines) -> None:
    width, header, above = len(cells.layout.names), cells.layout.header, cells.layout.above
    block: list[Sequence[str]] = []
    numbers: list[int] = []
    for record in reader:
        lines.record = 0
        if not record or (record == [""] and width > 1):
            continue
        if header:
            header = False
            continue
        if len(record) != width:
            raise TableError(
                f"line {above + reader.line_num} has {len(record):,} field{'s' * (len(record) != 1)}, "
                f"the first has {width:,} "
                f"(separated by {cells.layout.delimiter!r}). Every line needs the same number."
            )
        block.append(record)
        numbers.append(above + reader.line_num)
        if lines.length > BLOCK_SIZE:
            add_records(cells, block, numbers)
            block, numbers, lines.length = [], [], 0
    add_records(cells, block, numbers)


def add_records(cells: Cells, records: Sequence[Sequence[str]], lines: Sequence[int]) -> None:
    """Put some records into the table, which end in the given lines."""
    wanted = [*cells.kept, *([] if cells.label is None else [cells.label])]
    cells.add({j: pa.array([r[j] for r in records], pa.large_string()) for j in wanted}, lines)


def _csv_error(reason: str, line: int) -> str:
    if "unexpected end" in reason:
        return 'ends inside a field: a quotation mark (") is not closed.'
    if "field limit" in reason:
        return f'a field in line {line} is far too long; is a quotation mark (") not closed?'
    return f"line {line}: {reason}."


def _delimiter(sample: Sequence[str], delimiters: str, cut: bool) -> str:
    """The first that splits every line into the same number of fields, or else what is most frequent."""
    for delimiter in delimiters:
        records = [record for _, record in records_of(sample, delimiter)]
        if cut:
            records = records[:-1]  # may have been cut inside quotation marks
        if is_even(records) and len(records[-1]) > 1:
            return delimiter
    return most_frequent(sample, delimiters)


def has_header(records: Sequence[Sequence[str]]) -> bool:
    """Whether the first record has text where those below have numbers, or all is text.

    pandas writes a frame without names under the header ",0,1,2".
    """
    rest = [cell.strip() for cell in records[0][1:]]
    if rest and not records[0][0].strip() and rest == [str(j) for j in range(len(rest))]:
        return True
    below = [record for record in records[1:] if len(record) == len(records[0])]
    numeric = [j for j in range(len(records[0])) if _mostly_numbers([record[j] for record in below])]
    if not numeric:
        return not any(looks_numeric(cell) for cell in records[0])
    return any(not looks_numeric(records[0][j]) and not is_missing(records[0][j]) for j in numeric)


def counted_header(records: Sequence[Sequence[str]]) -> Sequence[str]:
    """The numbers of a first record that name columns: years, wavelengths, days; none if they do not.

    They go up (or down) evenly, and no record below does.

    Examples
    --------
    >>> counted_header([["site", "2019", "2020", "2021", "2022"], ["a", "3", "1", "4", "1"]])
    ['2019', '2020', '2021', '2022']
    """
    below = [record for record in records[1:] if len(record) == len(records[0])]
    numeric = [j for j in range(len(records[0])) if _mostly_numbers([record[j] for record in below])]
    first, *others = ([record[j] for j in numeric] for record in [records[0], *below])
    return first if _is_even_scale(first) and not any(map(_is_even_scale, others)) else []


def _is_even_scale(cells: Sequence[str]) -> bool:
    """Numbers with equal steps, or at least ten with steps that differ by no more than a factor of two."""
    if len(cells) < FEWEST_STEPS or not all(map(looks_numeric, cells)):
        return False
    mark = decimal_mark(list(cells))
    values = [number(cell, mark) for cell in cells]
    steps = [b - a for a, b in pairwise(values)]
    if all(value.is_integer() for value in values) and steps[0] and set(steps) == {steps[0]}:
        return True
    sizes = [abs(step) for step in steps]
    same_way = all(step > 0 for step in steps) or all(step < 0 for step in steps)
    return len(cells) >= MANY_STEPS and same_way and max(sizes) <= 2 * min(sizes)


def _mostly_numbers(cells: Sequence[str]) -> bool:
    numbers = sum(map(looks_numeric, cells))
    return bool(cells) and 2 * numbers >= len(cells) - sum(map(is_missing, cells))


def _names(record: Sequence[str], notes: list[str]) -> list[str]:
    """Unique names, and a note on those that were not."""
    names, repeated = unique_names(record)
    if repeated:
        notes.append(f"Names that occur more than once were numbered: {listed(repeated)}.")
    return names
