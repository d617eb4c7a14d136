"""What reaches the user: notes and progress on stderr, tables, CSV and JSON on stdout or in a file."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._options import Output

PATIENCE = 2.0  # seconds before there is something to see


def visible(text: str) -> str:
    r"""The text with whatever a terminal could act on written out.

    Names in data may hold escape sequences, line ends and marks that turn the
    direction of writing.

    Examples
    --------
    >>> print(visible("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def note(text: str) -> None:
    """A line on stderr, beside the result."""
    print(f"Note: {visible(text)}", file=sys.stderr)


def check_folder(path: Path | None) -> None:
    """Say that a file cannot be written before the work for it is done."""
    if path is not None and not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder of {str(path)!r} does not exist; create it first.")


def emit(text: str) -> None:
    """Print to stdout, all of it.

    Python's own `print` loses the end of a long text without a word when
    streams are unbuffered (PYTHONUNBUFFERED, as many containers have it) and
    a pipe takes only a part of it.
    """
    sys.stdout.flush()
    ended = text if text.endswith("\n") else text + "\n"
    left = memoryview(ended.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


def emit_json(document: Mapping[str, Any]) -> None:
    """One JSON document, without the NaN and Infinity that JSON does not have."""
    emit(json.dumps(_strict(document), allow_nan=False, indent=2))


def _strict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _strict(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(part) for part in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return _strict(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@dataclass(frozen=True)
class Sheet:
    """A table to show; cells are text, whole numbers or floats."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def records(self) -> list[dict[str, Any]]:
        """The rows for JSON."""
        return [dict(zip(self.columns, row)) for row in self.rows]

    def csv(self) -> str:
        """The table as CSV with all digits, safe to open in a spreadsheet."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([_inert(name) for name in self.columns])
        writer.writerows([_inert(c) if isinstance(c, str) else c for c in row] for row in self.rows)
        return text.getvalue()

    def plain(self) -> str:
        """The table in aligned columns, of characters only."""
        cells = [[visible(name) for name in self.columns], *([_short(c) for c in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        right = [not any(isinstance(row[j], str) for row in self.rows) for j in range(len(self.columns))]
        return "\n".join(
            "  ".join(
                c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)
            ).rstrip()
            for row in cells
        )

    def draw(self) -> None:
        """The table on a terminal."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table()
        for j, name in enumerate(self.columns):
            right = not any(isinstance(row[j], str) for row in self.rows)
            table.add_column(Text(visible(name)), justify="right" if right else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*(Text(_short(c)) for c in row))
        Console(highlight=False, markup=False).print(table)


def _short(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return visible(cell) if isinstance(cell, str) else str(cell)


def _inert(text: str) -> str:
    """A cell of text that a spreadsheet takes for text and not for a formula."""
    text = visible(text)
    if text[:1] in ("=", "+", "-", "@"):
        try:
            float(text)
        except ValueError:
            return f"'{text}"
    return text


def write(text: str, out: Path | None) -> None:
    """Write a text to a file, or print it where there is none."""
    from .._files import write_atomically

    if out is None:
        emit(text)
        return
    write_atomically(out, text)
    print(f"Written: {visible(str(out))}", file=sys.stderr)


def show(sheet: Sheet, output: Output, document: Mapping[str, Any], heading: str = "") -> None:
    """Print a table the way that was asked for, or write it to a file."""
    if output.out is not None:
        write(sheet.csv(), output.out)
    if output.json:
        emit_json(document)
    elif output.out is not None:
        return
    elif output.format == "csv":
        emit(sheet.csv())
    else:
        if heading:
            emit(heading)
        if sheet.rows and sys.stdout.isatty():
            sheet.draw()
        elif sheet.rows:
            emit(sheet.plain())


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """A sign of life with the time on a terminal, for whatever takes longer than two seconds.

    Warnings of the library become notes.
    """
    alive: list[Any] = []
    lock = threading.Lock()
    ended = False

    def appear() -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        with lock:
            if not ended:
                bar.add_task(visible(text))
                bar.start()
                alive.append(bar)

    timer = threading.Timer(PATIENCE, appear)
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            yield
    finally:
        timer.cancel()
        with lock:
            ended = True
            for bar in alive:
                bar.stop()
    for message in dict.fromkeys(str(w.message) for w in said if issubclass(w.category, UserWarning)):
        note(message)
