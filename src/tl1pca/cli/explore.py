"""``tl1pca explore``: the table in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from ._options import Reading


def command(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="A .csv, .tsv, .txt, .xlsx, .parquet, .npy, .npz or .mat file; or drop one on the page.",
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page. 0: one that is free.")] = 0,
    browser: Annotated[
        bool,
        typer.Option("--browser/--no-browser", help="Whether to open the page, or print its address only."),
    ] = True,
    labels: Annotated[
        str | None, typer.Option(help="Column that names the rows. Default: the first, if it is text.")
    ] = None,
    max_memory: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            envvar="TL1PCA_MAX_MEMORY",
            help="Refuse data that need more memory, for example 8G.",
        ),
    ] = "2G",
) -> None:
    """Look at DATA in the browser, decide about rows and cells, and take the cleaned table out.

    The page is served on this computer, for this computer alone, at an
    address with a secret in it. Ctrl-C ends it.
    """
    from ..explore import serve
    from ._terminal import emit

    limit = Reading(max_memory=max_memory).limit
    serve(data, port=port, browser=browser, labels=labels, max_memory=limit, say=emit)
