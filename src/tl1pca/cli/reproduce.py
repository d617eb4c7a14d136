"""``tl1pca reproduce``: the figures and tables of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from . import INTERRUPTED


class Database(StrEnum):
    """One face database."""

    yale = "yale"
    jaffe = "jaffe"


class Which(StrEnum):
    """What to reproduce."""

    operators = "operators"
    toy = "toy"
    faces = "faces"
    convergence = "convergence"
    family = "family"
    all = "all"


def command(
    which: Annotated[
        Which, typer.Argument(help="A study of the paper, or all of them; family goes beyond it.")
    ] = Which.all,
    out: Annotated[Path, typer.Option(help="Folder for results, tables, figures and the page.")] = Path(
        "reproduced"
    ),
    data: Annotated[
        Path | None,
        typer.Option(
            envvar="TL1PCA_DATA",
            help="Folder with your copies of the data: toy_paper.csv; yale_32x32.npz or Yale_32x32.mat; "
            "jaffe_32x32.mat or a folder jaffe with the 213 TIFF files. Without it: redraws and built-in "
            "images.",
        ),
    ] = None,
    source: Annotated[Database | None, typer.Option(help="Only this face database.")] = None,
    splits: Annotated[
        int | None,
        typer.Option(
            min=1, help="Random splits of the faces; 15 as in the paper by default, 90 to separate one point."
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A version of about a minute; it cannot tell which method is better."),
    ] = False,
) -> None:
    """Regenerate the figures and tables of the paper, with a verdict on each of its claims.

    What the paper prints stands beside them. The toy points are in the
    authors' release, https://github.com/YangSkywalker/TL1PCA; Yale is expected
    in the 32 x 32 crops by Deng Cai, JAFFE as its owner ships it or cropped to
    a MATLAB file. The variable TL1PCA_DATA may name the folder. Finished work is kept in the
    output folder: a run that was stopped or killed goes on where it was when
    the same command is given again.
    """
    try:
        from ..experiments.reproduce import reproduce
    except ModuleNotFoundError as error:
        raise ImportError(f"reproduce needs {error.name}: pip install 'tl1pca[cli,plot,report]'.") from None
    with _progress() as tick:
        report = reproduce(
            which.value,
            out,
            data=data,
            source=source.value if source else None,
            splits=splits,
            jobs=jobs,
            quick=quick,
            tick=tick,
        )
    for note in report.notes:
        typer.echo(f"Note: {note}", err=True)
    for claim in report.claims:
        typer.echo(f"{claim.verdict + ':':<19} {claim.says} (section {claim.place})")
    for finding in report.findings:
        typer.echo(f"- {finding}")
    typer.echo(f"Page: {report.page}")
    if not report.complete:
        typer.echo("Interrupted: the result is partial. The same command goes on from here.", err=True)
        raise typer.Exit(INTERRUPTED)


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar per study with the time left, on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as Left

    columns = (
        TextColumn("{task.description:<12}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        Left(compact=True),
    )
    bars = Progress(*columns, console=Console(stderr=True), speed_estimate_period=300)
    tasks: dict[str, TaskID] = {}

    def tick(study: str, done: int, total: int) -> None:
        if study not in tasks:
            bars.start()  # not before there is something to show
            tasks[study] = bars.add_task(study, total=total)
        bars.update(tasks[study], completed=done)

    try:
        yield tick
    finally:
        if tasks:
            bars.stop()
