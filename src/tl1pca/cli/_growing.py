"""A text file that another program writes: its rows as they come."""

from __future__ import annotations

import re
import tempfile
import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import typer

from ..tables import Table, TableError
from ..tables._words import looks_numeric
from ._data import chosen, complete, read_as_is, takes_missing
from ._options import Missing, Reading
from ._terminal import note

#: First lines below which all others are read, so that columns mean the same in them: as many as the
#: reader judges the layout by.
HEAD_LINES = 100
#: Bytes at the end of what was read by which the file is known again.
KNOWN_BYTES = 4096
ENDINGS = (".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class Part:
    """Rows that came together.

    Attributes
    ----------
    table : Table
        `rows` are their numbers in the file.
    finished : bool
        False for a last line that nothing ends yet: it will come again.
    told : int or None
        The row that came before as such a line and has not changed.
    """

    table: Table
    finished: bool = True
    told: int | None = None


@dataclass
class Seen:
    """What was read of the file."""

    head: bytes = b""  # its first lines
    end: bytes = b""  # its last bytes
    size: int = 0
    lines: int = 0
    head_rows: int = 0
    rows: int = 0
    rest: bytes = b""  # behind the last line that ended
    told: bytes = b""  # such a rest that was told as a row
    gaps: bool = False  # whether lines were left out, so that the head cannot go on

    def is_part_of(self, content: bytes) -> bool:
        """Whether a file goes on from what was read, by its bytes from the last known ones on."""
        return content[: len(self.end)] == self.end


@dataclass
class Growing:
    """Reads what is added to a file, complete lines first."""

    path: Path
    reading: Reading
    fitted: Any
    part: Path
    seen: Seen = field(default_factory=Seen)
    said: set[str] = field(default_factory=set)
    strange: bool = False

    def look(self) -> Iterator[Part]:
        """What there is to read now."""
        content = self._content()
        if content is None:
            if self.strange and self.seen.size:  # the second time: a program may be writing it anew
                note(
                    f"{self.path} is another file now, or has become shorter: it is read from the beginning."
                )
                self.seen, self.said = Seen(), set()
            self.strange = True
            return
        self.strange = False
        fresh = content[len(self.seen.end) :]
        cut = fresh.rfind(b"\n") + 1
        text, rest = fresh[:cut], fresh[cut:]
        stands_still = rest == self.seen.rest
        if text.strip():
            found = self._lines(text)
            if found is None:
                return
            yield from found
        elif rest.strip() and stands_still and rest != self.seen.told:
            yield from self._unfinished(rest)
        self.seen.rest = rest

    def _content(self) -> bytes | None:
        """The file from the last bytes that are known; None if they are no longer there."""
        seen = self.seen
        try:
            with self.path.open("rb") as stream:
                if stream.read(len(seen.head)) != seen.head:
                    return None
                stream.seek(seen.size - len(seen.end))
                content = stream.read(len(seen.end) + self.reading.limit)
        except FileNotFoundError:
            return None
        return content if seen.is_part_of(content) else None

    def _lines(self, text: bytes) -> Iterator[Part] | None:
        """Rows of lines that ended."""
        seen, lines = self.seen, text.splitlines(keepends=True)
        first = not seen.head
        if first and sum(bool(line.strip()) for line in lines) < 2:  # names, or a row by itself
            return None
        try:
            table, rows = self._table(text)
        except TableError:
            if first and not self._has_numbers(lines[-1]):  # titles and names: nothing to read yet
                return None
            good = self._readable(lines)
            if good == len(lines) or (first and not good):
                raise  # for something else than a line among rows that is none
            return self._without_bad_lines(lines)
        return self._taken(lines, table, rows)

    def _without_bad_lines(self, lines: list[bytes]) -> Iterator[Part]:
        """Rows of lines of which some are none: these are told, and left out."""
        seen = self.seen
        while any(line.strip() for line in lines):
            good = self._readable(lines)
            if any(line.strip() for line in lines[:good]):
                yield from self._taken(lines[:good], *self._table(b"".join(lines[:good])))
            for line in lines[good : good + 1]:
                note(f"{self._problem(line)} It is left out.")
                seen.end = (seen.end + line)[-KNOWN_BYTES:]
                seen.size, seen.lines = seen.size + len(line), seen.lines + 1
                seen.told, seen.gaps = b"", True
            lines = lines[good + 1 :]

    def _readable(self, lines: list[bytes]) -> int:
        """How many of the lines can be read, from the first on."""
        least = 0
        if not self.seen.head:
            tried = range(2, min(len(lines), HEAD_LINES) + 1)
            least = next((n for n in tried if not self._problem(b"".join(lines[:n]))), 0)
            if not least:
                return 0
        more = range(least + 1, len(lines) + 1)
        return least + bisect_right(more, False, key=lambda n: bool(self._problem(b"".join(lines[:n]))))

    def _problem(self, text: bytes) -> str:
        """Why some lines cannot be read below the first ones; empty if they can."""
        self.part.write_bytes(self.seen.head + text)
        try:
            read_as_is(str(self.part), self.reading, self.fitted)
        except TableError as error:
            return self._at_its_place(f"{error}")
        return ""

    def _taken(self, lines: list[bytes], table: Table, rows: int) -> Iterator[Part]:
        """The rows of a table of lines, which are known from now on."""
        seen, text = self.seen, b"".join(lines)
        told = seen.rows + 1 if seen.told and lines[0].rstrip(b"\r\n") == seen.told.rstrip(b"\r") else None
        if seen.told and told is None:
            note(f"Row {seen.rows + 1} went on after it was read: it is read again.")
        more = [] if seen.gaps else lines[: max(HEAD_LINES - seen.head.count(b"\n"), 0)]
        below = sum(bool(line.strip()) for line in lines[len(more) :])
        seen.head += b"".join(more)
        seen.head_rows += rows - below
        seen.end = (seen.end + text)[-KNOWN_BYTES:]
        seen.size += len(text)
        seen.lines += len(lines)
        seen.rows += rows
        seen.told = b""
        return iter([Part(table, told=told)] if len(table.values) else [])

    def _has_numbers(self, line: bytes) -> bool:
        between = r"[\t;|,\s]" if self.path.suffix.lower() == ".txt" else r"[\t;|,]"
        return any(map(looks_numeric, re.split(between, line.decode("latin-1").strip())))

    def _unfinished(self, rest: bytes) -> Iterator[Part]:
        """A last line without an end, once it stands still and has all its fields."""
        try:
            table, rows = self._table(rest, quiet=True)
        except TableError:
            return  # half a line
        if rows == 1:
            self.seen.told = rest
            if len(table.values):
                yield Part(table, finished=False)

    def _table(self, text: bytes, quiet: bool = False) -> tuple[Table, int]:
        """The rows of some lines, read below the first lines of the file, and how many there are."""
        seen, gaps = self.seen, takes_missing(self.fitted)
        self.part.write_bytes(seen.head + text)

        def say(words: str) -> None:
            words = self._at_its_place(words)
            if not quiet and words not in self.said:
                self.said.add(words)
                note(words)

        try:
            table = read_as_is(str(self.part), self.reading, self.fitted)
            for words in table.notes:
                say(words)
            rows = len(table.values) - seen.head_rows
            table = chosen(table, self.reading, self.fitted, say)
            fill = self.reading.missing is Missing.median  # from the first rows as well
            if not fill:
                table = table.take(table.rows > seen.head_rows)
            table = complete(table, self.reading.missing, gaps, say, none=True, model=self.fitted)
            table = table.take(table.rows > seen.head_rows)
        except TableError as error:
            raise TableError(self._at_its_place(f"{error}")) from None
        return replace(table, rows=table.rows - seen.head_rows + seen.rows), rows

    def _at_its_place(self, words: str) -> str:
        """A message about the part that was read, about the file."""
        head = self.seen.head.count(b"\n")

        def line(match: re.Match[str]) -> str:
            number = int(match[2].replace(",", ""))
            return f"{match[1]} {number + (self.seen.lines - head) * (number > head)}"

        return re.sub(r"\b([Ll]ine) (\d[\d,]*)", line, words.replace(str(self.part), str(self.path)))


def growing(path: str, reading: Reading, fitted: Any, interval: float) -> Iterator[Part]:
    """The rows of a text file, and those that are added to it, for ever."""
    file = Path(path)
    if path == "-" or file.suffix.lower() not in ENDINGS:
        raise typer.BadParameter("--follow needs a text file that grows, such as .csv or .tsv.")
    with file.open("rb") as stream:
        if stream.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise typer.BadParameter("--follow reads UTF-8, and this is UTF-16.")
    with tempfile.TemporaryDirectory() as folder:
        watched = Growing(file, reading, fitted, Path(folder) / f"rows{file.suffix}")
        while True:
            yield from watched.look()
            time.sleep(interval)
