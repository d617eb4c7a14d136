"""What a study hands over - text, tables, figures, results - and how it gets to the disk.

Files are written under another name and moved into place, so that whoever
reads the folder finds the old file or the new one, never half of one.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._files import write_atomically

if TYPE_CHECKING:
    from .claims import Claim


@dataclass(frozen=True)
class Table:
    """A table of text.

    Parameters
    ----------
    name : str
        Name of the file.
    title : str
    columns : tuple of str
    rows : tuple of tuple of str
    note : str
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        """The table in GitHub's Markdown, under its title."""
        head = [_row(self.columns), _row(["---"] * len(self.columns))]
        body = [_row(row) for row in self.rows]
        parts = [f"**{self.title}**", "\n".join(head + body), self.note]
        return "\n\n".join(part for part in parts if part) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


@dataclass(frozen=True)
class Picture:
    """A drawn matplotlib figure with what a reader and a screen reader need."""

    name: str
    caption: str
    alt: str
    figure: Any


@dataclass(frozen=True)
class Section:
    """What one study has to say."""

    name: str
    title: str
    paragraphs: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    #: Tidy DataFrames by file name.
    results: dict[str, Any] = field(default_factory=dict)
    #: One-line findings for the top of the page.
    findings: tuple[str, ...] = ()
    #: What the study says of the sentences of the paper.
    claims: tuple[Claim, ...] = ()


def write_section(section: Section, folder: Path) -> None:
    """Results as CSV (and Parquet where pyarrow is installed), tables as Markdown, figures as PNG and SVG."""
    for name, frame in section.results.items():
        write(folder / "results" / f"{name}.csv", frame.to_csv(index=False).encode())
        parquet = _parquet(frame)
        if parquet is not None:
            write(folder / "results" / f"{name}.parquet", parquet)
    for table in section.tables:
        write(folder / "tables" / f"{table.name}.md", table.markdown().encode())
    for picture in section.pictures:
        for suffix in ("png", "svg"):
            write(folder / "figures" / f"{picture.name}.{suffix}", render(picture.figure, suffix))


def render(figure: Any, suffix: str) -> bytes:
    """A figure as the bytes of a file, the same bytes for the same figure."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "tl1pca", "svg.fonttype": "path"}):
        figure.savefig(
            buffer, format=suffix, dpi=180, metadata={"Date": None} if suffix == "svg" else {"Software": ""}
        )
    return buffer.getvalue()


def write(path: Path, content: bytes) -> None:
    """Put a file in place in one step, in a folder that is made when missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)


def _parquet(frame: Any) -> bytes | None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return None
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def number(x: float, digits: int = 1) -> str:
    """A number for a table; a dash for none.

    Examples
    --------
    >>> number(2.857, 2), number(float("nan"))
    ('2.86', '-')
    """
    return "-" if math.isnan(x) else f"{x:.{digits}f}"


def with_error(x: float, error: float, digits: int = 1) -> str:
    """A number with its standard error, or alone where there is none.

    Examples
    --------
    >>> with_error(61.25, 1.5), with_error(61.25, float("nan"))
    ('61.2 ± 1.5', '61.2')
    """
    return number(x, digits) if math.isnan(error) else f"{number(x, digits)} ± {number(error, digits)}"


def paired(difference: float, error: float, digits: int = 1) -> str:
    """A difference with its sign and its standard error.

    Examples
    --------
    >>> paired(-1e-15, 0.26), paired(2.0, float("nan"))
    ('+0.0 ± 0.3', '+2.0')
    """
    if math.isnan(difference):
        return "-"
    text = f"{round(difference, digits) + 0.0:+.{digits}f}"
    return text if math.isnan(error) else f"{text} ± {number(error, digits)}"


def shape_value(x: float) -> str:
    """A parameter as it is written in the paper.

    Examples
    --------
    >>> shape_value(100.0), shape_value(0.05)
    ('100', '0.05')
    """
    return "-" if math.isnan(x) else f"{x:g}"
