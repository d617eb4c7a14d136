"""Columns of numbers from columns of text, block by block."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from ._table import Options, Table, TableError, assemble, check_size, listed, shortened
from ._words import (
    MISSING,
    OtherMarkError,
    answer_words,
    bare,
    has_unit,
    is_grouped,
    is_missing,
    number,
    signed,
)

Array = NDArray[Any]
Strings = Any  # an array of pyarrow

FEW_SHARE = 0.1  # of the cells of a column of numbers may be anything else
FEW_WORDS = 5  # different words may take up to half of them: marks for "not measured" and the like
NAME_OVERHEAD = 64  # bytes of a Python string beside its characters

_MISSING = pa.array(sorted(MISSING), pa.large_string())
_PLAIN = {".": r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$", ",": r"^[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?$"}


class Kind(Enum):
    """What the first lines say a column holds."""

    NUMBER = "number"
    ANSWER = "answer"
    TEXT = "text"


@dataclass(frozen=True)
class Layout:
    """How a text is laid out."""

    delimiter: str
    header: bool
    names: Sequence[str]
    decimal: str
    first: Sequence[tuple[int, Sequence[str]]]  # records below the header, with their lines
    unnamed_first: bool = False
    above: int = 0  # lines before the first of the table


@dataclass
class Column:
    """A column in the making."""

    kind: Kind
    numbers: int = 0
    others: int = 0
    words: dict[str, int] = field(default_factory=dict)  # some cells that are no numbers, with their lines
    grouped: str = ""  # a cell whose digits were taken for grouped
    unit: str = ""  # a cell with a sign that was left out
    answers: tuple[str, str] = ("yes", "no")  # of a column of these words: 1 and 0
    code: bool = False  # digits that begin with a zero
    bookkept: bool = False  # negative numbers may be in parentheses, or have the sign behind
    negative: str = ""  # a cell that was read so

    def refuse(self, cell: str, line: int) -> None:
        self.others += 1
        if len(self.words) <= FEW_WORDS:
            self.words.setdefault(cell, line)

    @property
    def usable(self) -> bool:
        """Whether what is not a number may count as missing."""
        if self.kind is Kind.TEXT:
            return False
        cells = self.numbers + self.others
        return self.others <= FEW_SHARE * cells or (len(self.words) <= FEW_WORDS and 2 * self.others < cells)

    def examples(self, most: int) -> str:
        found = list(self.words.items())[:most]
        return ", ".join(f"{shortened(cell, 30)!r} in line {line}" for cell, line in found)


class Cells:
    """Collects blocks of text and makes a table of them."""

    def __init__(self, layout: Layout, options: Options):
        self.layout, self._options = layout, options
        self._names, self._decimal = layout.names, layout.decimal
        self._columns = [_judge(j, layout) for j in range(len(layout.names))]
        self._set_codes_aside()
        self.label = self._find_label()
        self.kept = [
            j for j, column in enumerate(self._columns) if column.kind is not Kind.TEXT and j != self.label
        ]
        self._blocks: list[Array] = []
        self._labels: list[str] = []
        self._used = sum(len(name) + NAME_OVERHEAD for name in self._names)

    def _set_codes_aside(self) -> None:
        """Columns of digits that begin with a zero are text, unless there are no other numbers."""
        codes = {
            j: found
            for j, name in enumerate(self._names)
            if name not in self._options.numbers and (found := _code(j, self.layout)) is not None
        }
        others = (
            j for j, column in enumerate(self._columns) if column.kind is not Kind.TEXT and j not in codes
        )
        if any(not is_missing(record[j]) for j in others for _, record in self.layout.first):
            for j, (line, cell) in codes.items():
                self._columns[j] = Column(Kind.TEXT, code=True)
                self._columns[j].refuse(cell, line)

    def _find_label(self) -> int | None:
        """The named column, or else the first if it holds text or has no name.

        R and pandas leave the name of the column of row names empty.
        """
        if self._options.labels is not None:
            if self._options.labels not in self._names:
                raise TableError(
                    f"there is no column {self._options.labels!r} for the labels; "
                    f"the file has {listed(self._names)}."
                )
            return list(self._names).index(self._options.labels)
        if len(self._names) > 1 and (self.layout.unnamed_first or self._columns[0].kind is Kind.TEXT):
            return 0
        return None

    def is_number(self, j: int) -> bool:
        """Whether a column may be handed in as numbers."""
        return self._columns[j].kind is Kind.NUMBER

    def add(self, cells: Mapping[int, Any], lines: Sequence[int]) -> None:
        """Take the kept columns and the labels of some records, which end in the given lines.

        Columns are text, or floats with NaN where a value is missing.
        """
        if not len(lines):
            return
        self._used += len(lines) * len(self.kept) * 8
        if self.label is not None:
            fresh = cells[self.label].to_pylist()
            self._used += sum(map(sys.getsizeof, fresh)) + 8 * len(fresh)
            self._labels += fresh
        check_size(self._used, self._options, f"what was read up to line {lines[-1]:,}")
        values = np.empty((len(lines), len(self.kept)))
        for at, j in enumerate(self.kept):
            column = self._columns[j]
            if isinstance(cells[j], np.ndarray):
                values[:, at] = cells[j]
                column.numbers += len(lines) - int(np.isnan(cells[j]).sum())
            elif column.kind is Kind.ANSWER:
                values[:, at] = _answers(cells[j], column, lines)
            else:
                values[:, at] = self._numbers(cells[j], j, lines)
        self._blocks.append(values)

    def _numbers(self, cells: Strings, j: int, lines: Sequence[int]) -> Array:
        """Most cells at once; those that are written in a special way or are no numbers one by one."""
        column = self._columns[j]
        cells = compute.utf8_trim_whitespace(cells)
        blank = compute.is_in(compute.utf8_lower(cells), _MISSING)
        plain = compute.and_not(compute.match_substring_regex(cells, _PLAIN[self._decimal]), blank)
        pointed = cells if self._decimal == "." else compute.replace_substring(cells, ",", ".")
        try:  # Arrow takes no plus before a number, and some versions none beyond the range
            numbers = compute.cast(
                compute.utf8_ltrim(compute.if_else(plain, pointed, None), "+"), pa.float64()
            )
        except pa.ArrowInvalid:
            plain = compute.and_not(plain, plain)
            numbers = pa.nulls(len(cells), pa.float64())
        values = np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
        column.numbers += int(compute.sum(plain).as_py() or 0)
        odd = np.flatnonzero(
            ~np.asarray(compute.or_(plain, blank).to_numpy(zero_copy_only=False), dtype=bool)
        )
        known: dict[str, float | None] = {}
        for i, cell in zip(odd.tolist(), cells.take(pa.array(odd)).to_pylist()):
            if cell not in known:
                known[cell] = self._number(cell, j, lines[i])
            value = known[cell]
            values[i] = np.nan if value is None else value
            if value is None:
                column.refuse(cell, lines[i])
            else:
                column.numbers += 1
        return values

    def _number(self, cell: str, j: int, line: int) -> float | None:
        given = cell
        if self._columns[j].bookkept:
            cell = signed(cell)
        try:
            value = number(cell, self._decimal)
        except OtherMarkError:
            raise TableError(
                f"line {line}: {shortened(cell, 30)!r} in column {shortened(self._names[j])!r} has a decimal "
                "point, and the decimal mark is a comma. Make them the same, or name the right mark "
                "(decimal; --decimal . on the command line)."
            ) from None
        except ValueError:
            return None
        if not self._columns[j].grouped and is_grouped(cell, self._decimal):
            self._columns[j].grouped = f"{shortened(cell, 30)!r} in line {line}"
        if not self._columns[j].unit and has_unit(cell):
            self._columns[j].unit = f"{shortened(cell, 30)!r} in line {line}"
        if cell != given and not self._columns[j].negative:
            self._columns[j].negative = f"{shortened(given, 30)!r} in line {line}"
        return value

    def table(self, notes: list[str]) -> Table:
        """The table; the label column and columns of text are not part of it."""
        if not self._blocks:
            raise TableError("holds no rows below its header.")
        if self.label is not None:
            name = shortened(self._names[self.label])
            notes.append(f"Column {name!r} names the rows{self._reason(self.label)}.")
        text = [j for j, column in enumerate(self._columns) if j != self.label and not column.usable]
        words = self._line_of_words()
        notes += self._notes(text, words)
        kept = [at for at, j in enumerate(self.kept) if self._columns[j].usable]
        values = np.empty((sum(map(len, self._blocks)), len(kept)))
        row = 0
        while self._blocks:  # each block goes as it is copied, so that memory is not taken twice
            piece = self._blocks.pop(0)
            values[row : row + len(piece)] = piece[:, kept]
            row += len(piece)
        table = assemble(
            values,
            [self._names[self.kept[at]] for at in kept],
            named=self.layout.header,
            labels=None if self.label is None else self._labels,
            set_aside=[self._names[j] for j in text],
            notes=notes,
            options=self._options,
            decimal=self._decimal,
        )
        first = self.layout.first[0][0] if self.layout.first else None
        return replace(table, units=first is not None and first == words)

    def _line_of_words(self) -> int | None:
        """A line in which none of the columns of numbers has one; in the first most of them have words."""
        used = [(at, self._columns[j]) for at, j in enumerate(self.kept) if self._columns[j].usable]
        columns = [set(column.words.values()) for _, column in used if column.kind is Kind.NUMBER]
        if len(columns) < 2:
            return None
        first = self.layout.first[0][0] if self.layout.first else 0
        counted = sum(first in lines for lines in columns)
        if (
            counted > 1
            and 2 * counted >= len(columns)
            and np.isnan(self._blocks[0][0, [at for at, _ in used]]).all()
        ):
            return first
        return min(set.intersection(*columns), default=None)

    def _reason(self, j: int) -> str:
        """Why a column holds no numbers, if it is known."""
        found = self._columns[j].examples(1)
        why = "begins with a zero, as codes do" if self._columns[j].code else "is not a number"
        return f": {found} {why}" if found else ""

    def _notes(self, text: Sequence[int], second: int | None) -> list[str]:
        notes = []
        for j in text[:8]:
            hint = ""
            column = self._columns[j]
            if not column.code and self._decimal == "." and any(map(_has_decimal_comma, column.words)):
                hint = " (for a decimal comma: --decimal ,)"
            notes.append(f"Set aside column {shortened(self._names[j])!r}{self._reason(j)}{hint}.")
        if len(text) > 8:
            notes.append(f"Set aside {len(text) - 8:,} more columns that are not numbers.")
        used = [(shortened(self._names[j]), self._columns[j]) for j in self.kept if self._columns[j].usable]
        gaps = [(name, column) for name, column in used if column.others]
        if second is not None:
            words = [cell for _, column in gaps for cell, at in column.words.items() if at == second]
            notes.append(
                f"Line {second} has words in place of numbers ({listed(words, 3)}): is it a second line of "
                "names, or one of units? It counts as a row of missing values."
            )
            gaps = [
                (name, column) for name, column in gaps if column.others > (second in column.words.values())
            ]
        for name, column in gaps[:8]:
            examples = column.examples(3) + ", ..." * (len(column.words) > 3)
            notes.append(f"Column {name!r}: {_cells(column.others)} as missing ({examples}).")
        if len(gaps) > 8:
            notes.append(f"Cells that are not numbers count as missing in {len(gaps) - 8:,} more columns.")
        grouped = [(name, column.grouped) for name, column in used if column.grouped]
        if grouped:
            notes.append(
                f"Digits were read as grouped in thousands in {listed([name for name, _ in grouped])} "
                f"({grouped[0][1]}); if that mark is the decimal mark, say so with --decimal."
            )
        units = [(name, column.unit) for name, column in used if column.unit]
        if units:
            names = listed([name for name, _ in units])
            notes.append(f"Signs of money and percent were left out in {names} ({units[0][1]}).")
        negative = [(name, column.negative) for name, column in used if column.negative]
        if negative:
            notes.append(
                "Numbers in parentheses, or with a minus behind, were read as negative in "
                f"{listed([name for name, _ in negative])} ({negative[0][1]})."
            )
        answers = [(name, column.answers) for name, column in used if column.kind is Kind.ANSWER]
        for yes, no in dict.fromkeys(pair for _, pair in answers):
            names = listed([name for name, pair in answers if pair == (yes, no)])
            notes.append(f"{yes.capitalize()} counts as 1, {no} as 0, in {names}.")
        return notes


def _cells(count: int) -> str:
    if count == 1:
        return "1 cell is not a number and counts"
    return f"{count:,} cells are not numbers and count"


def _has_decimal_comma(cell: str) -> bool:
    try:
        number(cell, ",")
    except ValueError:
        return False
    return True


def _judge(j: int, layout: Layout) -> Column:
    """What the first records say of a column."""
    cells = [(line, record[j]) for line, record in layout.first if not is_missing(record[j])]
    words = {cell.strip().lower() for _, cell in cells}
    if (pair := answer_words(words)) is not None:
        return Column(Kind.ANSWER, answers=pair)
    tried = Column(Kind.NUMBER, bookkept=_is_bookkept([cell for _, cell in cells]))
    for line, cell in cells:
        try:
            number(signed(cell) if tried.bookkept else cell, layout.decimal)
        except OtherMarkError:
            pass  # said with its place when it is read
        except ValueError:
            tried.refuse(cell, line)
    if tried.others == len(cells) > 0 or (len(tried.words) > FEW_WORDS and 2 * tried.others >= len(cells)):
        tried.kind = Kind.TEXT
        return tried
    return Column(Kind.NUMBER, bookkept=tried.bookkept)


def _code(j: int, layout: Layout) -> tuple[int, str] | None:
    """The first cell with a zero in front, of a column of digits of one length: 00123, 04109."""
    cells = [(line, record[j].strip()) for line, record in layout.first if not is_missing(record[j])]
    if len({len(cell) for _, cell in cells}) != 1 or not all(
        re.fullmatch("[0-9]{2,}", cell) for _, cell in cells
    ):
        return None
    return next(((line, cell) for line, cell in cells if cell.startswith("0")), None)


def _is_bookkept(cells: Sequence[str]) -> bool:
    """Whether numbers in parentheses are negative ones, as bookkeepers write them.

    Other numbers of the column have none, and no minus. In tables of
    regressions standard errors are in parentheses below their estimates:
    every second number from the second on, and a third of all or more.
    """
    inside = [signed(cell) != cell for cell in cells]
    if all(inside) or any(bare(cell).startswith("-") for cell in cells):
        return False
    places = [i for i, marked in enumerate(inside) if marked]
    return not (places and places == [*range(1, 2 * len(places), 2)] and 3 * len(places) >= len(cells))


def _answers(cells: Strings, column: Column, lines: Sequence[int]) -> Array:
    cells = compute.utf8_trim_whitespace(cells)
    values = np.full(len(lines), np.nan)
    meaning = dict(zip(column.answers, (1.0, 0.0)))
    for i, cell in enumerate(cells.to_pylist()):
        answer = meaning.get(cell.lower())
        if answer is not None:
            values[i] = answer
            column.numbers += 1
        elif not is_missing(cell):
            column.refuse(cell, lines[i])
    return values
