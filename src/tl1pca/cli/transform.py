"""``tl1pca transform``: scores of rows in a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._options import Data, Format, Output, Reading


def command(
    data: Data,
    model: Annotated[Path, typer.Option(help="Model file, as written by fit.")],
    reading: Reading,
    out: Annotated[Path | None, typer.Option(help="Write CSV to this file instead.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
) -> None:
    """Print the scores of DATA in a fitted model, as CSV.

    Columns are found by their names, in whatever order the file has them.
    """
    from ._data import frame, load, read, row_columns
    from ._terminal import Sheet, check_folder, show

    check_folder(out)
    fitted = load(model)
    table = read(data, reading, fitted)
    scores = fitted.transform(frame(table, fitted)).tolist()
    about = row_columns(table)
    names = [str(name) for name in fitted.get_feature_names_out()]
    sheet = Sheet(
        (*about, *names), [(*row, *score) for row, score in zip(zip(*about.values()), scores, strict=True)]
    )
    show(sheet, Output(Format.csv, out, json), {"model": str(model), "scores": sheet.records()})
