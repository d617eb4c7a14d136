"""The one engine that runs every study."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .journal import Journal, Record
from .spec import Cell, Sample, Source, Study

#: Told the name of the study, the number of finished cells and of all cells.
Tick = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Results:
    """What a run has: the records of the finished cells, in the order of the study."""

    study: Study
    cells: tuple[Cell, ...]
    records: tuple[Record, ...]
    complete: bool

    def table(self) -> Any:
        """Tidy pandas DataFrame, one row per cell and measured point."""
        import pandas as pd

        columns: dict[str, list[Any]] = {}
        for cell, record in zip(self.cells, self.records):
            measured = record["columns"]
            length = len(next(iter(measured.values())))
            for name, value in (_identity(self.study, cell) | record["fit"]).items():
                columns.setdefault(name, []).extend([value] * length)
            for name, values in measured.items():
                columns.setdefault(name, []).extend(values)
        return pd.DataFrame(columns)

    def balanced(self) -> Any:
        """The table of the splits that are complete for a source; all of it when the run is."""
        table = self.table()
        if self.complete or table.empty:
            return table
        names = ["source", "split"]
        done = table.drop_duplicates([*names, "noise", "method", "value"]).groupby(names).size()
        variants = sum(len(method.variants()) for method in self.study.methods)
        needed = {source.name: variants * len(source.noises) for source in self.study.sources}
        whole = {pair for pair, count in done.items() if count == needed[pair[0]]}
        return table[[pair in whole for pair in zip(table["source"], table["split"])]]


def run(
    study: Study, journal: Path, *, jobs: int = 1, tick: Tick | None = None, only_kept: bool = False
) -> Results:
    """Compute the cells of a study that the journal does not hold yet.

    Every finished cell is kept at once. Ctrl-C ends the work and returns what
    there is, marked as not complete.

    Parameters
    ----------
    study : Study
    journal : Path
        File of finished cells.
    jobs : int, default=1
        Number of processes. Each uses one BLAS thread, so that the numbers do
        not depend on how many there are.
    tick : callable, optional
        Told after every cell how far the run is.
    only_kept : bool, default=False
        Compute nothing; return what the journal holds.

    Returns
    -------
    Results
    """
    cells = tuple(study.cells())
    keys = {cell: study.key(cell) for cell in cells}
    with Journal(journal) as kept:
        todo = [cell for cell in cells if keys[cell] not in kept.records]
        done = len(cells) - len(todo)
        if tick is not None:
            tick(study.name, done, len(cells))
        try:
            with closing(_computed(study, [] if only_kept else todo, jobs)) as computed:
                for cell, record in computed:
                    kept.append(keys[cell], record)
                    done += 1
                    if tick is not None:
                        tick(study.name, done, len(cells))
        except KeyboardInterrupt:
            pass  # what is finished is kept; the result says that it is not all
        records = kept.records
    finished = tuple(cell for cell in cells if keys[cell] in records)
    found = tuple(records[keys[cell]] for cell in finished)
    return Results(study, finished, found, complete=len(finished) == len(cells))


def _computed(study: Study, cells: list[Cell], jobs: int) -> Generator[tuple[Cell, Record], None, None]:
    """Cells with their records, as they are finished."""
    if jobs == 1 or len(cells) < 2:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            for cell in cells:
                yield cell, evaluate(study, cell)
        return
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
        yield from parallel(delayed(_in_worker)(study, cell, os.getpid()) for cell in cells)


def _in_worker(study: Study, cell: Cell, parent: int) -> tuple[Cell, Record]:
    if os.getpid() != parent:
        _follow(parent)
    return cell, evaluate(study, cell)


@lru_cache(maxsize=1)
def _follow(parent: int) -> None:
    """Make a worker leave Ctrl-C, which reaches the whole group, to its parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def evaluate(study: Study, cell: Cell) -> Record:
    """Fit one cell and measure it.

    Returns
    -------
    dict
        "columns": what was measured; "fit": CPU seconds, iterations, whether
        the solver converged, and the kinds of warnings it gave.
    """
    source = study.source(cell)
    sample = _draw(source, cell.noise, cell.split, study.seed)
    estimator = study.build(cell)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        estimator.fit(sample.X, sample.y)  # labels are for supervised methods; the others leave them
        seconds = time.process_time() - start
        columns = study.measure(estimator, sample, source)
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    fit = {
        "seconds": seconds,
        "iterations": int(getattr(last, "n_iter_", 0)),
        "converged": bool(getattr(last, "converged_", True)),
        "warnings": " ".join(sorted({warning.category.__name__ for warning in caught})),
    }
    return {"columns": columns, "fit": fit}


@lru_cache(maxsize=8)
def _draw(source: Source, noise: int, split: int, seed: int) -> Sample:
    """Consecutive cells share their sample."""
    return source.draw(noise, split, seed)


def _identity(study: Study, cell: Cell) -> dict[str, Any]:
    return {
        "study": study.name,
        "source": cell.source,
        "noise": cell.noise,
        "method": cell.method,
        "parameter": study.method(cell).symbol,
        "value": float("nan") if cell.value is None else float(cell.value),
        "split": cell.split,
    }
