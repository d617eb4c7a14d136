"""``tl1pca impute``: a table with its missing and bad cells replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._options import Choice, Data, Format, Model, Output, Reading


def command(
    data: Data,
    choice: Choice,
    reading: Reading,
    model: Model = None,
    out: Annotated[Path | None, typer.Option(help="Write CSV to this file instead.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
) -> None:
    """Print DATA with missing and bad cells replaced, as CSV.

    A cell is bad if it does not fit the others of its row; it is replaced by
    what they say. All other cells stay as they are. outliers --cells lists the
    bad ones.
    """
    import numpy as np

    from ._data import frame, row_columns
    from ._models import cell_model_or_fit
    from ._outputs import check_output
    from ._terminal import Sheet, note, show

    check_output(out, data, model)
    fitted, table = cell_model_or_fit(data, reading, choice, model)
    X = frame(table, fitted)
    values = np.asarray(fitted.impute(X))
    missing = np.isnan(table.values)
    bad = int(np.count_nonzero((values != table.values) & ~missing))
    note(f"{int(missing.sum())} missing and {bad} bad cells of {values.size} were replaced.")
    about = row_columns(table)
    sheet = Sheet(
        (*about, *table.columns),
        [(*row, *cells) for row, cells in zip(zip(*about.values()), values.tolist(), strict=True)],
    )
    document = {"missing": int(missing.sum()), "bad": bad, "rows": sheet.records()}
    show(sheet, Output(Format.csv, out, json), document)
