"""``tl1pca outliers``: the rows that stand out."""

from __future__ import annotations

from typing import Annotated

import typer

from ._options import Choice, Data, Model, Output, Reading


def command(
    data: Data,
    choice: Choice,
    reading: Reading,
    output: Output,
    model: Model = None,
    every: Annotated[bool, typer.Option("--all", help="List the regular rows as well.")] = False,
) -> None:
    """List the rows of DATA that stand out, with their distances.

    The most unusual come first. A row is far out inside the fitted subspace
    (good leverage), off the subspace (orthogonal outlier), or both (bad
    leverage). The last column says how many times the larger distance exceeds
    what is usual.
    """
    import numpy as np

    from ..diagnostics import Flag, diagnose, excess
    from ._data import model_or_fit, row_columns
    from ._terminal import Sheet, check_folder, show

    check_folder(output.out)
    fitted, table = model_or_fit(data, reading, choice, model)
    found = diagnose(fitted, table.values)
    sd, od, limits = found.score_distances, found.orthogonal_distances, found.cutoffs
    beyond = excess(sd, od, limits, len(fitted.components_))
    rows = np.arange(len(sd)) if every else np.flatnonzero(found.flags)
    order = rows[np.argsort(-beyond[rows], kind="stable")].tolist()
    about = row_columns(table)
    sheet = Sheet(
        (*about, "flag", "score_distance", "orthogonal_distance", "excess"),
        [
            (
                *(column[i] for column in about.values()),
                Flag(found.flags[i]).name.lower().replace("_", " "),
                *(float(distance[i]) for distance in (sd, od, beyond)),
            )
            for i in order
        ],
    )
    flagged = int((found.flags > 0).sum())
    heading = (
        f"{flagged} of {len(sd)} rows stand out from {len(fitted.components_)} components "
        f"({type(fitted).__name__}; usual up to score distance {limits.score:.4g}, "
        f"orthogonal distance {limits.orthogonal:.4g})."
    )
    document = {
        "estimator": type(fitted).__name__,
        "components": len(fitted.components_),
        "rows": len(sd),
        "flagged": flagged,
        "cutoffs": {"score_distance": limits.score, "orthogonal_distance": limits.orthogonal},
        "outliers": sheet.records(),
    }
    show(sheet, output, document, heading)
