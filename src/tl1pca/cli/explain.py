"""``tl1pca explain``: why a row stands out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._options import Data, Json, ModelArgument, Output, Reading

if TYPE_CHECKING:
    from ..tables import Table

#: Columns to name for a row none of whose cells contradicts the others.
N_LARGEST = 3


def command(
    model: ModelArgument,
    data: Data,
    row: Annotated[list[str], typer.Argument(metavar="ROW...", help="Labels of rows, or their numbers.")],
    reading: Reading,
    json: Json = False,
) -> None:
    """Say why rows of DATA stand out from a fitted model.

    For each row: its distances, and the cells that do not fit the others of
    the row, with the value that these predict. A row without such cells is
    unusual as a whole: the columns that take it farthest out are named.
    """
    from ._data import read, takes_missing
    from ._models import load
    from ._terminal import Sheet, emit, show

    fitted = load(model)
    table = read(data, reading, fitted, takes_missing(fitted))
    documents = []
    for i in [find(table, name) for name in row]:
        document = explained(fitted, table, i)
        documents.append(document)
        if not json:
            sheet = Sheet(
                ("column", "value", "expected", "deviations"),
                [tuple(cell.values()) for cell in document["cells"]],
            )
            emit(said(document))
            if sheet.rows:
                show(sheet, Output(), {})
    if json:
        show(Sheet((), ()), Output(json=True), {"model": str(model), "rows": documents})


def find(table: Table, name: str) -> int:
    """Position of the row with this label, or else this number."""
    labels = list(table.labels or ())
    if labels.count(name) == 1:
        return labels.index(name)
    if labels.count(name) > 1:
        raise typer.BadParameter(
            f"{labels.count(name)} rows are labeled {name!r}; give the number of the row."
        )
    numbers = table.rows.tolist()
    if name.isdecimal() and int(name) in numbers:
        return int(numbers.index(int(name)))
    raise typer.BadParameter(f"There is no row {name!r}; give a label, or a number from 1 to {max(numbers)}.")


def explained(fitted: Any, table: Table, i: int) -> dict[str, Any]:
    """What there is to say about row i."""
    import numpy as np

    from .._pipelines import inner_rows, split
    from ..diagnostics import Flag, contributions, diagnose, suspects
    from ._data import frame, row_columns

    rows = frame(table, fitted)
    one = rows.iloc[[i]] if hasattr(rows, "iloc") else rows[[i]]
    found = diagnose(split(fitted)[1], inner_rows(fitted, one))
    cells = [vars(suspect) for suspect in suspects(fitted, one)]
    suspect_cells = len(cells)
    parts = contributions(fitted, one)
    flag = Flag(int(found.flags[0]))
    if not cells and flag is not Flag.REGULAR:
        far = parts.score[0] if flag is Flag.GOOD_LEVERAGE else parts.orthogonal[0]
        cells = [
            {
                "column": parts.feature_names[j],
                "value": float(np.asarray(one)[0, j]),
                "expected": float(parts.expected[0, j]),
                "deviations": float(parts.cell[0, j]),
            }
            for j in np.argsort(-far, kind="stable")[:N_LARGEST]
        ]
    return {
        **{key: values[i] for key, values in row_columns(table).items()},
        "flag": flag.label,
        "score_distance": float(found.score_distances[0]),
        "score_cutoff": found.cutoffs.score,
        "orthogonal_distance": float(found.orthogonal_distances[0]),
        "orthogonal_cutoff": found.cutoffs.orthogonal,
        "suspect_cells": suspect_cells,
        "cells": cells,
    }


def said(document: dict[str, Any]) -> str:
    """The heading of a row, in words."""
    from ._terminal import visible

    name = f"Row {document['row']}"
    if "label" in document:
        name += f" ({visible(str(document['label']))})"
    text = (
        f"{name}: {document['flag']}; score distance {document['score_distance']:.4g} "
        f"(usual up to {document['score_cutoff']:.4g}), orthogonal distance "
        f"{document['orthogonal_distance']:.4g} (usual up to {document['orthogonal_cutoff']:.4g})."
    )
    if document["suspect_cells"]:
        return text + "\nCells that do not fit the others of the row:"
    if document["cells"]:
        return text + "\nNo single cell contradicts the others. What takes the row farthest out:"
    return text + "\nIts cells agree with each other."
