"""Lines of text as records: how they are split, and where the table begins among them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ._table import shortened
from ._words import ONE_MARK, bare, decimal_mark, is_missing, looks_numeric, number

SAMPLE_LINES = 100  # by which the layout is judged

#: What is taken to separate the columns of a file that has one, with commas inside its numbers.
ALONE = ";"

#: Tried in this order for text that does not begin with the mark of UTF-16. Windows-1252 is Latin-1 with
#: letters, dashes and the sign of the euro in place of control characters; only five bytes are none of these.
ENCODINGS = {"utf-8-sig": "UTF-8", "cp1252": "Windows-1252 (Latin-1)", "latin-1": "Latin-1"}

Record = tuple[int, Sequence[str]]  # with the line in which it ends

_SEPARATOR_LINE = re.compile(r"sep=.\s*", re.IGNORECASE)  # written for Excel, and by it
_MARK = re.compile(r"#+\s*(?=\w)")  # NumPy begins a line of names with it


def split_lines(lines: Iterable[str], delimiter: str, strict: bool = True) -> Any:
    """A reader of records; any number of spaces is one delimiter."""
    if delimiter == " ":
        lines = (" ".join(line.split()) + "\n" for line in lines)
    return csv.reader(lines, delimiter=delimiter, strict=strict, skipinitialspace=delimiter != "\t")


def records_of(sample: Sequence[str], delimiter: str) -> list[Record]:
    """The complete records of a sample, blank lines left out."""
    found: list[Record] = []
    reader = split_lines(sample, delimiter, strict=False)
    try:
        for record in reader:
            if record and record != [""]:
                found.append((reader.line_num, record))
    except csv.Error:
        pass  # said with its line number when the file is read
    return found


def lines_above(sample: Sequence[str], delimiters: str) -> int:
    r"""How many lines stand above the table: titles, comments, the separator written for Excel.

    Examples
    --------
    >>> lines_above(["Sales in 2024\n", "\n", "a,b\n", "1,2\n"], ",")
    2
    """
    first = int(bool(sample) and _SEPARATOR_LINE.fullmatch(sample[0]) is not None)
    lines = [_MARK.sub("", line, count=1) if line.startswith("#") else line for line in sample[first:]]
    counts = {}
    for delimiter in delimiters:
        records = records_of(lines, delimiter)
        if len(sample) == SAMPLE_LINES:
            records = records[:-1]  # may have been cut inside quotation marks
        begin = first_of_table(records, [sample[first + end - 1].startswith("#") for end, _ in records])
        counts[delimiter] = first
        if begin:  # and blank lines go with what they set apart
            rest = lines[records[begin - 1][0] :]
            counts[delimiter] = (
                len(sample) - len(rest) + next(i for i, line in enumerate(rest) if line.strip())
            )
        table = [record for _, record in records[begin:]]
        if is_even(table) and len(table[-1]) > 1:
            return counts[delimiter]
    return counts[most_frequent(lines, delimiters)]


def is_one_column(sample: Sequence[str], decimal: str | None) -> bool:
    r"""Whether commas do not separate columns: each line is one number with at most one comma.

    Two columns of whole numbers may look the same. One name right above them,
    with or without titles above it, speaks for one column, and so does a
    decimal comma that was asked for.

    Examples
    --------
    >>> is_one_column(["x\n", "39,008\n", "38,2\n"], None), is_one_column(["39,008\n", "38,2\n"], None)
    (True, False)
    """
    lines = [line.strip() for line in sample]
    first = next((i for i, line in enumerate(lines) if line and (looks_numeric(line) or is_missing(line))), 0)
    above, cells = lines[:first], [line for line in lines[first:] if line]
    if above:
        said = above[0].lower() == "sep=,"
        if said or not above[-1] or above[-1].startswith("#") or not _is_lone(above[-1]):
            return False
    elif decimal != ",":
        return False
    return _have_one_comma(cells) and _are_numbers(cells, decimal or decimal_mark(cells))


def _is_lone(line: str) -> bool:
    """Whether nothing separates fields in a line."""
    return all(len(record) == 1 for mark in "\t;|," for _, record in records_of([line], mark))


def may_be_one_column(sample: Sequence[str]) -> bool:
    """Whether lines that are read as two columns may hold one number each, with a decimal comma."""
    cells = [line.strip() for line in sample if line.strip()]
    return _have_one_comma(cells) and all("," in cell for cell in cells)


def _have_one_comma(cells: Sequence[str]) -> bool:
    numbers = [bare(cell) for cell in cells if not is_missing(cell)]
    return any("," in cell for cell in numbers) and all(
        cell.lstrip("+-").isdigit() or ((mark := ONE_MARK.fullmatch(cell)) and mark["mark"] == ",")
        for cell in numbers
    )


def _are_numbers(cells: Sequence[str], decimal: str) -> bool:
    try:
        return all(is_missing(cell) or number(cell, decimal) is not None for cell in cells)
    except ValueError:
        return False


def most_frequent(lines: Sequence[str], delimiters: str) -> str:
    """The delimiter of lines that none of them splits evenly; the first ones decide."""
    return max(delimiters[::-1], key="".join(lines[:20]).count)


def first_of_table(records: Sequence[Record], comments: Sequence[bool]) -> int:
    """Index of the first record that is part of the table: the names of the columns, or data."""
    width = max(Counter(len(record) for _, record in records).items(), default=(0, 0), key=lambda n: n[::-1])[
        0
    ]
    if width < 2:
        return _titles_of_one_column([record[0] for _, record in records if record])

    def is_above(i: int) -> bool:
        record = records[i][1]
        title = _filled(record) <= 1 and not any(map(looks_numeric, record))
        return (
            comments[i] or len(record) < width or title or _names_groups([r for _, r in records[i : i + 4]])
        )

    begin = 0
    while begin < len(records) - 1 and is_above(begin):
        begin += 1
    if begin and any(map(looks_numeric, records[begin][1])):
        names = records[begin - 1][1]  # pandas leaves the first one empty, R leaves it out
        if width - 1 <= len(names) <= width and _filled(names) >= width - 1 and len(names) > 1:
            return begin - 1
    return begin


def _titles_of_one_column(cells: Sequence[str]) -> int:
    """How many lines stand above the name of a single column of numbers."""
    first = next((i for i, cell in enumerate(cells) if looks_numeric(cell) or is_missing(cell)), 0)
    numbers = all(looks_numeric(cell) or is_missing(cell) for cell in cells[first:])
    return max(first - 1, 0) if numbers else 0


def _filled(record: Sequence[str]) -> int:
    return sum(1 for cell in record if cell.strip())


def _names_groups(records: Sequence[Sequence[str]]) -> bool:
    """Whether the first record names groups of columns, as merged cells do, the second one the columns.

    Below these begin the numbers, or there are units first.
    """
    if len(records) < 3 or len({len(record) for record in records}) > 1:
        return False
    groups, names, *rows = (record[1:] for record in records)  # the first column may have no name
    gaps = len(groups) - _filled(groups)
    words = _filled(names) == len(names) and not any(map(looks_numeric, names))
    numbers = any(looks_numeric(cell) for row in rows for cell in row)
    return gaps >= 2 and 2 * gaps >= len(groups) and words and numbers


def said_of(above: Sequence[str]) -> str:
    """A note on lines that were left out above a table."""
    texts = [line.strip() for line in above if line.strip() and not _SEPARATOR_LINE.fullmatch(line)]
    if not texts:
        return ""
    example = repr(shortened(texts[0], 40))
    if len(texts) == 1:
        return f"A line above the table was left out: {example}."
    return f"{len(texts)} lines above the table were left out: {example}, ..."


def marked_off(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a table, without the mark of a comment before its names."""
    waiting = True
    for line in lines:
        marked = waiting and line.startswith("#")
        waiting = waiting and not line.strip()
        yield _MARK.sub("", line, count=1) if marked else line


def is_even(records: Sequence[Sequence[str]]) -> bool:
    """Whether all records have the same length, or the first is a header that `whole_header` completes."""
    if not records:
        return False
    lengths = {len(record) for record in records[1:]} or {len(records[0])}
    return len(lengths) == 1 and len(whole_header(records)) in lengths


def whole_header(records: Sequence[Sequence[str]]) -> Sequence[str]:
    """The first record, with an empty name where it has one name fewer than the others have fields.

    R leaves out the name of the first column, which then holds a name for each
    row; some programs end every line with a delimiter but that of the names.
    """
    names, below = records[0], records[1:]
    if len(names) < 2 or any(len(record) != len(names) + 1 for record in below) or not below:
        return names
    if not any(record[-1].strip() for record in below):
        return [*names, ""]
    rows = [record[0] for record in below]
    return ["", *names] if len(set(rows)) == len(rows) else names
