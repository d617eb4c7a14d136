"""``tl1pca compare``: several methods side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from ._options import Data, Method, Output, Reading, Scale, ScaleOption, Seed

USUAL = (Method.pca, Method.l1, Method.r1, Method.tl1, Method.subspace)


def command(
    data: Data,
    reading: Reading,
    output: Output,
    components: Annotated[
        int | None, typer.Option("-k", "--components", min=1, help="Number of components.")
    ] = None,
    method: Annotated[
        list[Method] | None, typer.Option(help="A method; may be given several times. Default: five of them.")
    ] = None,
    scale: ScaleOption = Scale.auto,
    seed: Seed = 0,
) -> None:
    """Fit several methods to DATA and show them side by side.

    For each the rows that stand out, and the angles between the subspaces in
    degrees.
    """
    from sklearn.pipeline import make_pipeline

    from .. import compare
    from ..diagnostics import rows_for_flags
    from ..report._words import too_few
    from ._data import read
    from ._models import check_count, choose_scaler, count_components, estimator
    from ._outputs import check_output
    from ._terminal import Sheet, note, show, waiting

    check_output(output.out, data)
    table = read(data, reading)
    check_count(components, table)
    scaler = choose_scaler(table, scale)
    count = components or count_components(table, scaler, seed)
    methods = dict.fromkeys(method or USUAL)
    models = {m.value: estimator(m, count, seed) for m in methods}
    if scaler is not None:
        models = {name: make_pipeline(scaler, model) for name, model in models.items()}
    with waiting(f"Fitting {len(methods)} methods to {len(table.values)} rows"):
        result = compare(table.values, models)
    if len(table.values) < rows_for_flags(count):
        note(too_few(len(table.values), count))
        result = result.drop(columns="outliers")
    result = result.reset_index()
    shown = [name for name in ("method", "outliers", "time", "converged") if name in result]
    angles = [f"angle to {m.value}" for m in methods]
    sheet = Sheet((*shown, *angles), result[shown + angles].round(6).to_numpy(dtype=object).tolist())
    document = {"rows": len(table.values), "components": count, "methods": sheet.records()}
    show(sheet, output, document)
