"""``tl1pca fit``: fit a method and keep the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    from ..diagnostics import diagnose
    from ._data import check, fit, read
    from ._terminal import Sheet, check_folder, show, visible

    if model is not None and choice.method is Method.pca:
        raise typer.BadParameter("scikit-learn's PCA has no model file; leave --model out or choose another.")
    check(choice)
    check_folder(model)
    table = read(data, reading)
    fitted = fit(table, choice)
    if model is not None:
        save(fitted, model)
    flagged = int((diagnose(fitted, table.values).flags > 0).sum())
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
        "rows": n,
        "columns": table.columns,
        "set_aside": table.set_aside,
        "components": fitted.components_,
        "center": fitted.mean_,
        "variances": fitted.explained_variance_,
        "shares": fitted.explained_variance_ratio_,
        "flagged": flagged,
        "converged": bool(getattr(fitted, "converged_", True)),
        "model": None if model is None else str(model),
    }
    heading = f"{type(fitted).__name__} of {n} rows and {d} columns. Rows that stand out: {flagged}."
    if model is not None:
        heading += f"\nModel: {visible(str(model))}"
    show(sheet, Output(json=json), document, heading)
