"""``tl1pca outliers``: the rows that stand out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._options import Choice, Data, Keep, Model, Output, Reading

if TYPE_CHECKING:
    from ..tables import Table
    from ._judged import Judged


def command(
    data: Data,
    choice: Choice,
    reading: Reading,
    output: Output,
    model: Model = None,
    every: Annotated[bool, typer.Option("--all", help="List the regular rows as well.")] = False,
    append: Annotated[
        bool, typer.Option("--append", help="Write DATA again, with flag and distances as columns.")
    ] = False,
    keep: Annotated[
        Keep | None, typer.Option(help="Write DATA again, without the rows that stand out.")
    ] = None,
    cells: Annotated[
        bool, typer.Option("--cells", help="List single bad cells instead; missing ones may stay.")
    ] = False,
) -> None:
    """List the rows of DATA that stand out, with their distances.

    The most unusual come first. A row is far out inside the fitted subspace
    (good leverage), off the subspace (orthogonal outlier), or both (bad
    leverage). The excess says how many times the larger distance exceeds
    what is usual. The last column names what makes the row unusual: columns
    with their distance from what the others predict, in usual spreads, or
    with their share of the score distance.

    With --cells the method judges every cell by the others of its row: listed
    are the bad ones with the value to expect and how many deviations they are
    off, the furthest first.
    """
    from ._models import model_or_fit
    from ._outputs import check_output

    if cells and (append or keep or every):
        raise typer.BadParameter("--cells lists cells; --append, --keep and --all are about rows.")
    if (append or keep) and (output.json or every or data == "-"):
        raise typer.BadParameter(
            "--append and --keep write a file again as CSV: DATA must be a file, and --json and --all do not "
            "go with them."
        )
    from ._judged import judge

    check_output(output.out, data, model)
    if cells:
        _list_cells(data, choice, reading, output, model)
        return
    fitted, table = model_or_fit(data, reading, choice, model)
    judged = judge(fitted, table)
    if append or keep:
        _copy(data, reading, output, judged, table, append, keep)
    else:
        _list(output, judged, table, every)


def _list(output: Output, judged: Judged, table: Table, every: bool) -> None:
    """A table of the rows that stand out, or of all."""
    import numpy as np

    from ._data import row_columns
    from ._judged import DISTANCES
    from ._terminal import Sheet, show

    found = judged.found
    chosen = np.arange(len(judged.data)) if every else np.flatnonzero(found.flags)
    if judged.too_few:
        chosen = chosen[:0]
    order = chosen[np.argsort(-judged.excess[chosen], kind="stable")]
    about, flags, distances = row_columns(table), judged.flags(), judged.distances()
    rows: list[tuple[Any, ...]] = [
        (*(column[i] for column in about.values()), flags[i], *distances[i], reason)
        for i, reason in zip(order.tolist(), judged.unusual(order))
    ]
    sheet = Sheet((*about, "flag", *DISTANCES, "unusual_columns"), rows)
    limits = found.cutoffs
    document = {
        "estimator": type(judged.pca).__name__,
        "components": judged.n_components,
        "rows": len(judged.data),
        "flagged": judged.flagged,
        "cutoffs": {"score_distance": limits.score, "orthogonal_distance": limits.orthogonal},
        "outliers": sheet.records(),
    }
    show(sheet, output, document, judged.heading)


def _copy(
    data: str, reading: Reading, output: Output, judged: Judged, table: Table, append: bool, keep: Keep | None
) -> None:
    """The input once more."""
    import sys

    import numpy as np

    from ..tables._copies import copied, is_text, original
    from ._data import read_as_is
    from ._judged import DISTANCES
    from ._terminal import note, write

    if judged.too_few:
        raise ValueError(f"{judged.too_few} --append and --keep need flags.")
    flags, distances = judged.flags(), judged.distances()
    more: dict[str, Any] = {}
    if append:
        reasons = judged.unusual(np.arange(len(judged.data)))
        more = {"flag": flags, **dict(zip(DISTANCES, zip(*distances))), "unusual_columns": reasons}
    kept = None if keep is None else (judged.found.flags == 0).tolist()
    whole = read_as_is(data, reading)
    if whole.set_aside and not is_text(data):
        note(f"Not in the copy, which holds numbers and labels: {', '.join(whole.set_aside)}.")
    text, written, n = copied(original(data, whole), table.rows.tolist(), more, kept)
    print(f"{judged.heading}\nRows written: {written:,} of {n:,}.", file=sys.stderr)
    write(text, output.out)


def _list_cells(data: Data, choice: Choice, reading: Reading, output: Output, model: Model) -> None:
    import numpy as np

    from ._data import frame, row_columns
    from ._models import cell_model_or_fit
    from ._terminal import Sheet, show

    fitted, table = cell_model_or_fit(data, reading, choice, model)
    X = frame(table, fitted)
    residuals = fitted.cell_residuals(X)
    expected = fitted.inverse_transform(fitted.transform(X))
    size = np.abs(np.nan_to_num(residuals))
    rows, columns = np.nonzero(size > fitted.cell_cutoff)
    order = np.argsort(-size[rows, columns], kind="stable")
    about = row_columns(table)
    sheet = Sheet(
        (*about, "column", "value", "expected", "deviations"),
        [
            (
                *(column[i] for column in about.values()),
                table.columns[j],
                *(float(part[i, j]) for part in (table.values, expected, residuals)),
            )
            for i, j in zip(rows[order].tolist(), columns[order].tolist())
        ],
    )
    seen = int(np.isfinite(residuals).sum())
    heading = (
        f"{len(order)} of {seen} cells, in {len(set(rows.tolist()))} of {len(table.values)} rows, are bad: "
        f"more than {fitted.cell_cutoff:.2f} deviations from what the rest of their row says."
    )
    document = {
        "estimator": type(fitted).__name__,
        "components": len(fitted.components_),
        "rows": len(table.values),
        "cells": seen,
        "missing": int(residuals.size) - seen,
        "bad_cells": sheet.records(),
    }
    show(sheet, output, document, heading)
