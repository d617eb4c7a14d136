"""``tl1pca transform``: scores of rows in a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._options import Choice, Data, Format, Json, Model, Output, Reading


def command(
    data: Data,
    choice: Choice,
    reading: Reading,
    model: Model = None,
    out: Annotated[Path | None, typer.Option(help="Write CSV to this file instead.")] = None,
    json: Json = False,
) -> None:
    """Print the scores of DATA in a fitted model, as CSV.

    Columns are found by their names, in whatever order the file has them.
    """
    from ._data import frame, row_columns
    from ._models import model_or_fit
    from ._outputs import check_output
    from ._terminal import Sheet, show

    check_output(out, data, model)
    fitted, table = model_or_fit(data, reading, choice, model)
    scores = fitted.transform(frame(table, fitted)).tolist()
    about = row_columns(table)
    names = [str(name) for name in fitted.get_feature_names_out()]
    sheet = Sheet(
        (*about, *names), [(*row, *score) for row, score in zip(zip(*about.values()), scores, strict=True)]
    )
    used = None if model is None else str(model)
    show(sheet, Output(Format.csv, out, json), {"model": used, "scores": sheet.records()})
