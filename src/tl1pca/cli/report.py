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
    in_order: Annotated[
        bool,
        typer.Option(
            "--in-order",
            help="Rows are in the order of time: add control charts. Labels that are dates do it too.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Write a page about DATA: one HTML file.

    It shows what was fitted, which rows stand out, and what to do next.
    """
    from .._pipelines import split
    from ..report import write_report
    from ..report._analysis import are_dates
    from ._data import frame
    from ._models import model_or_fit
    from ._outputs import check_output
    from ._terminal import emit, emit_json, visible, waiting

    check_output(out, data, model)
    fitted, table = model_or_fit(data, reading, choice, model)
    dated = table.labels is not None and are_dates(table.labels)
    with waiting(f"Writing {out}"):
        page = write_report(
            frame(table, fitted),
            out,
            estimator=fitted,
            columns=table.columns,
            labels=table.labels,
            row_numbers=table.rows,
            time=table.labels if dated else in_order or None,
            title=title,
            source="standard input" if data == "-" else Path(data).name,
        )
    if json:
        emit_json(
            {"page": str(page), "rows": len(table.values), "estimator": type(split(fitted)[1]).__name__}
        )
    else:
        emit(f"Page: {visible(str(page))}")
