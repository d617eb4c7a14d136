"""``tl1pca compare``: several methods side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from ._options import Data, Method, Output, Reading

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
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all that is drawn at random.")] = 0,
) -> None:
    """Fit several methods to DATA and show them side by side.

    For each the rows that stand out, and the angles between the subspaces in
    degrees.
    """
    from .. import compare
    from ._data import count_components, estimator, read
    from ._terminal import Sheet, check_folder, show, waiting

    check_folder(output.out)
    table = read(data, reading)
    count = components or count_components(table, seed)
    methods = dict.fromkeys(method or USUAL)
    with waiting(f"Fitting {len(methods)} methods to {len(table.values)} rows"):
        result = compare(table.values, {m.value: estimator(m, count, seed) for m in methods})
    result = result.reset_index()
    shown = ["method", "outliers", "score", "time", "converged"]
    angles = [f"angle to {m.value}" for m in methods]
    sheet = Sheet((*shown, *angles), result[shown + angles].round(6).to_numpy(dtype=object).tolist())
    document = {"rows": len(table.values), "components": count, "methods": sheet.records()}
    show(sheet, output, document)
