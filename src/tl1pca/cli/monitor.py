"""``tl1pca monitor``: whether new rows are as usual."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._options import Data, ModelArgument, Output, Reading

if TYPE_CHECKING:
    from ..diagnostics import Monitoring
    from ..tables import Table

#: Exit code that says that a row is beyond a limit.
ALARM = 3


def command(
    model: ModelArgument,
    data: Data,
    reading: Reading,
    output: Output,
    level: Annotated[
        float, typer.Option(min=0.9, max=0.9999, help="Share of regular rows below each limit.")
    ] = 0.99,
    every: Annotated[bool, typer.Option("--all", help="List the rows within the limits as well.")] = False,
    training: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The rows MODEL was fitted to, for a method that keeps nothing of them."
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option(help="Wait for further rows of a text file, until interrupted.")
    ] = False,
    learn: Annotated[
        bool,
        typer.Option(
            help="Learn from the rows as well, after they are judged, and write MODEL again: for a model "
            "fitted with --method stream."
        ),
    ] = False,
    until_alarm: Annotated[
        bool, typer.Option("--until-alarm", help="With --follow: end at the first row beyond a limit.")
    ] = False,
    interval: Annotated[
        float, typer.Option(min=0.05, help="With --follow: seconds between two looks at the file.")
    ] = 1.0,
) -> None:
    """Check new rows against a fitted model, in the order of the file.

    With --learn the model goes on learning: bad rows are rejected, and a real
    change of the process is accepted when it is most of what is remembered.

    Lists the rows beyond a limit with the cells that do not fit, and the rows
    of a run: two of three beyond the limit of five times as many false alarms.
    Ends with exit code 3 if a row is beyond a limit, 0 if none is.
    """
    from .._pipelines import split
    from ._data import frame, read, takes_missing
    from ._growing import growing
    from ._models import load
    from ._outputs import check_output

    check_output(output.out, data, model)
    fitted = load(model)
    if learn and not hasattr(split(fitted)[1], "partial_fit"):
        raise typer.BadParameter(
            f"{type(split(fitted)[1]).__name__} does not learn from further rows; fit with --method stream."
        )
    if training is None and not any(hasattr(split(fitted)[1], name) for name in ("weights_", "remembered")):
        raise typer.BadParameter(
            f"{type(split(fitted)[1]).__name__} keeps nothing of the rows it was fitted to, on which the "
            "limits rest; give them with --training, or fit with --method subspace."
        )
    gaps = takes_missing(fitted)
    known = None if training is None else frame(read(training, reading, fitted, gaps), fitted)
    watch = Watch(fitted, level, known, every, model if learn else None)
    if not follow:
        alarms = watch.show(read(data, reading, fitted, gaps), output)
        raise typer.Exit(ALARM if alarms else 0)
    if output.out is not None or output.json:
        raise typer.BadParameter("--follow prints rows as they come; --out and --json are for a whole file.")
    alarms = 0
    for part in growing(data, reading, fitted, interval):
        alarms += watch.show(part.table, output, part.finished, part.told)
        if until_alarm and alarms:
            raise typer.Exit(ALARM)


class Watch:
    """A model with the rows it has seen, of which the last two belong to the next run."""

    def __init__(self, fitted: Any, level: float, training: Any, every: bool, learned: Path | None = None):
        from .._pipelines import split

        self.fitted, self.level, self.training, self.every = fitted, level, training, every
        self.last: Any = None
        self.learned, self.first = learned, True
        self.name, self.k = type(split(fitted)[1]).__name__, len(split(fitted)[1].components_)

    def judge(self, table: Table, finished: bool = True) -> Monitoring:
        """The rows of the table; those before it are remembered for runs, and so are these if finished."""
        import numpy as np

        from ..diagnostics import monitor
        from ._data import frame

        values = table.values if self.last is None else np.vstack([self.last, table.values])
        rows = frame(replace(table, values=values), self.fitted)
        found = monitor(self.fitted, rows, self.level, training=self.training)
        skip = len(values) - len(table.values)
        self.last = values[-2:] if finished else self.last
        parts = ("score_distances", "orthogonal_distances", "flags", "runs")
        return replace(found, **{name: getattr(found, name)[skip:] for name in parts})

    def show(self, table: Table, output: Output, finished: bool = True, told: int | None = None) -> int:
        """Print what there is to say about the rows of a table; returns how many are beyond a limit.

        Rows that are not finished are neither counted nor learned from: they will come again. Of the row
        that was told all was said.
        """
        import numpy as np

        from ..diagnostics import Flag, orthogonal_limit
        from ._data import row_columns
        from ._terminal import Sheet, show

        found = self.judge(table, finished)
        limit = orthogonal_limit(found.score_distances, found.limits)
        about = row_columns(table)
        beyond = found.flags > 0
        listed = (beyond | found.runs | self.every) & (table.rows != told)
        rows = np.flatnonzero(listed)
        sheet = Sheet(
            (*about, "alarm", "score_distance", "orthogonal_distance", "orthogonal_limit", "cells"),
            [
                (
                    *(column[i] for column in about.values()),
                    _alarm(Flag(int(found.flags[i])), bool(found.runs[i])),
                    float(found.score_distances[i]),
                    float(found.orthogonal_distances[i]),
                    float(limit[i]),
                    self._cells(table, i) if beyond[i] else "",
                )
                for i in rows.tolist()
            ],
        )
        n, count = len(beyond), int(beyond.sum())
        heading = (
            f"{count} of {n} rows are beyond the {100 * self.level:g} % limits of "
            f"{self.name} with {self.k} component{'s' * (self.k != 1)} "
            f"(score distance {found.limits.score:.4g}, orthogonal distance {found.limits.orthogonal:.4g}); "
            f"by chance it would be about {2 * (1 - self.level) * n:.2g}."
        )
        document = {
            "estimator": self.name,
            "level": self.level,
            "rows": n,
            "beyond": count,
            "in_runs": int(found.runs.sum()),
            "limits": {"score": found.limits.score, "orthogonal": found.limits.orthogonal},
            "alarms": sheet.records(),
        }
        if self.learned is not None and finished:  # now that all is said of these rows
            self.learn(table, self.learned)
        if self.first or sheet.rows:
            show(sheet, output, document, heading if self.first else "")
        self.first = False
        return count if finished else 0

    def learn(self, table: Table, model: Path) -> None:
        """Learn from the rows of a table, and put the model in the place of the one before."""
        from .._pipelines import inner_rows, split
        from ..persistence import save
        from ._data import frame

        split(self.fitted)[1].partial_fit(inner_rows(self.fitted, frame(table, self.fitted)))
        save(self.fitted, model)

    def _cells(self, table: Table, i: int) -> str:
        from ..diagnostics import suspects
        from ._data import frame

        rows = frame(table, self.fitted)
        one = rows.iloc[[i]] if hasattr(rows, "iloc") else rows[[i]]
        return ", ".join(cell.column for cell in suspects(self.fitted, one, most=3))


def _alarm(flag: Any, run: bool) -> str:
    from ..diagnostics import Flag

    words = {
        Flag.REGULAR: "run" if run else "",
        Flag.GOOD_LEVERAGE: "score",
        Flag.ORTHOGONAL_OUTLIER: "orthogonal",
        Flag.BAD_LEVERAGE: "both",
    }
    return words[flag]
