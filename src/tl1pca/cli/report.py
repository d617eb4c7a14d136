"""``tl1pca report``: a page about the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._options import Choice, Data, Json, Model, Reading


def command(
    data: Data,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")],
    choice: Choice,
    reading: Reading,
    model: Model = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    json: Json = False,
) -> None:
    """Write a page about DATA: one HTML file.

    It shows what was fitted, which rows stand out, and what to do next.
    """
    from .._pipelines import split
    from ..report import write_report
    from ._data import frame
    from ._models import model_or_fit
    from ._outputs import check_output
    from ._terminal import emit, emit_json, visible, waiting

    check_output(out, data, model)
    fitted, table = model_or_fit(data, reading, choice, model)
    with waiting(f"Writing {out}"):
        page = write_report(
            frame(table, fitted),
            out,
            estimator=fitted,
            columns=table.columns,
            labels=table.labels,
            row_numbers=table.rows,
            title=title,
            source="standard input" if data == "-" else Path(data).name,
        )
    if json:
        emit_json(
            {"page": str(page), "rows": len(table.values), "estimator": type(split(fitted)[1]).__name__}
        )
    else:
        emit(f"Page: {visible(str(page))}")
