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
    what they say. All else stays as it is, a row of units below the names too:
    a text file is copied cell by cell.
    outliers --cells lists the bad cells.
    """
    import numpy as np

    from ..tables._copies import cleaned, is_text, original
    from ._data import frame, read_as_is, row_columns
    from ._models import cell_model_or_fit
    from ._outputs import check_output
    from ._terminal import Sheet, note, show, write

    check_output(out, data, model)
    fitted, table = cell_model_or_fit(data, reading, choice, model)
    values = np.asarray(fitted.impute(frame(table, fitted)), dtype=np.float64)
    missing = np.isnan(table.values)
    changed = (values != table.values) & ~np.isnan(values)
    n_missing, n_bad = int(missing.sum()), int(np.count_nonzero(changed & ~missing))
    note(f"Replaced: {n_missing:,} missing and {n_bad:,} bad of {values.size:,} cells.")
    if json or data == "-":  # which cannot be read a second time
        about = row_columns(table)
        sheet = Sheet(
            (*about, *table.columns),
            [(*row, *cells) for row, cells in zip(zip(*about.values()), values.tolist(), strict=True)],
        )
        document = {"missing": n_missing, "bad": n_bad, "rows": sheet.records()}
        show(sheet, Output(Format.csv, out, json), document)
        return
    fresh = {
        int(table.rows[i]): {table.columns[j]: float(values[i, j]) for j in np.flatnonzero(changed[i])}
        for i in np.flatnonzero(changed.any(axis=1))
    }
    whole = read_as_is(data, reading, fitted)
    if whole.set_aside and not is_text(data):
        note(f"Not in the copy, which holds numbers and labels: {', '.join(whole.set_aside)}.")
    dropped = set(whole.rows.tolist()) - set(table.rows.tolist())  # by --missing drop
    if whole.units:  # which are no row, and stay below the names
        dropped.discard(1)
    write(cleaned(original(data, whole), dropped, fresh), out)
