"""``tl1pca fit``: fit a method and keep the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._options import Choice, Data, Json, Method, Output, Reading


def command(
    data: Data,
    choice: Choice,
    reading: Reading,
    model: Annotated[Path | None, typer.Option(help="Write the model to this file.")] = None,
    json: Json = False,
) -> None:
    """Fit a method to DATA and keep the model."""
    from .. import save
    from .._pipelines import split
    from ..report._words import count
    from ._data import read
    from ._judged import judge
    from ._models import check, fit
    from ._outputs import check_output
    from ._terminal import Sheet, show, visible

    if model is not None and choice.method is Method.pca:
        raise typer.BadParameter("scikit-learn's PCA has no model file; leave --model out or choose another.")
    gaps = check(choice)
    check_output(model, data)
    table = read(data, reading, gaps=gaps)
    whole = fit(table, choice)
    if model is not None:
        save(whole, model)
    judged = judge(whole, table)
    steps, fitted = split(whole)
    n, d = table.values.shape
    sheet = Sheet(
        ("component", "variance", "share"),
        [
            (i + 1, float(variance), float(share))
            for i, (variance, share) in enumerate(
                zip(fitted.explained_variance_, fitted.explained_variance_ratio_)
            )
        ],
    )
    document = {
        "method": choice.method.value,
        "estimator": type(fitted).__name__,
        "parameters": fitted.get_params(deep=False),
        "scale": None if steps is None else _scaling(steps[0]),
        "rows": n,
        "columns": table.columns,
        "set_aside": table.set_aside,
        "components": fitted.components_,
        "center": fitted.mean_,
        "variances": fitted.explained_variance_,
        "shares": fitted.explained_variance_ratio_,
        "flagged": judged.flagged,
        "converged": bool(getattr(fitted, "converged_", True)),
        "model": None if model is None else str(model),
    }
    heading = f"{type(fitted).__name__} of {count(n, 'row')} and {count(d, 'column')}. "
    heading += judged.too_few or f"Rows that stand out: {judged.flagged}."
    if model is not None:
        heading += f"\nModel: {visible(str(model))}"
    show(sheet, Output(json=json), document, heading)


def _scaling(scaler: Any) -> dict[str, Any]:
    """What is subtracted from the columns, and what they are divided by."""
    center = scaler.center_ if hasattr(scaler, "center_") else scaler.mean_
    return {"estimator": type(scaler).__name__, "center": center, "scale": scaler.scale_}
