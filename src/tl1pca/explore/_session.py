"""The one table that is looked at: its state on the server, which every tab of the browser shows."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from . import _tasks
from ._decisions import Chosen, Decisions
from ._rows import Order, page
from ._settings import METHODS, MISSING, SCALES, ChoiceError, Settings, checked
from ._tasks import Fit, Loaded, Work, ending
from ._view import View
from ._worker import CancelledError, TaskError, Worker


class BusyError(Exception):
    """Something is being computed already."""


@dataclass
class Job:
    """What is being computed, and how far it is."""

    what: str
    text: str
    begin: float
    done: int = 0
    total: int = 1

    def tell(self, text: str, done: int, total: int) -> None:
        """Take in what the process reports."""
        self.text, self.done, self.total = text, done, total

    def described(self) -> dict[str, Any]:
        """For the page."""
        return {
            "what": self.what,
            "text": self.text,
            "done": self.done,
            "total": self.total,
            "seconds": round(time.monotonic() - self.begin, 1),
        }


class Session:
    """A table, what was decided about it, and the last fit.

    Every change has a version of its own, by which a page sees that it is out
    of date. Calls may come from many threads.
    """

    def __init__(self, max_memory: int):
        self.max_memory = max_memory
        self._lock = threading.RLock()
        self._folder = tempfile.TemporaryDirectory(prefix="tl1pca-")
        self._worker = Worker()
        self._version = self._fitted = self._files = self._loads = 0
        self._loaded: Loaded | None = None
        self._path: Path | None = None
        self._decisions: Decisions | None = None
        self._view: View | None = None
        self._job: Job | None = None
        self._error = ""
        self._curve: dict[str, Any] | None = None
        self._order: Order | None = None

    def close(self) -> None:
        """End the process and remove the copy of the file."""
        self._worker.close()
        self._folder.cleanup()

    # ------------------------------------------------------------------------------- what is there
    @property
    def loaded(self) -> Loaded:
        """The file."""
        if self._loaded is None:
            raise ChoiceError("Load a file first.")
        return self._loaded

    @property
    def decisions(self) -> Decisions:
        """What was decided."""
        if self._decisions is None:
            raise ChoiceError("Load a file first.")
        return self._decisions

    @property
    def view(self) -> View:
        """The last fit."""
        if self._view is None:
            raise ChoiceError("Fit first.")
        return self._view

    @property
    def path(self) -> Path:
        """The copy of the file."""
        if self._path is None:
            raise ChoiceError("Load a file first.")
        return self._path

    def snapshot(self) -> tuple[Loaded, Chosen, View | None]:
        """What belongs together, at one moment."""
        with self._lock:
            return self.loaded, self.decisions.chosen, self._view

    def described(self, known: int | None = None) -> dict[str, Any]:
        """All that the page shows beside figures and table; little where it has that version already."""
        with self._lock:
            job = None if self._job is None else self._job.described()
            state: dict[str, Any] = {"version": self._version, "job": job, "error": self._error}
            if known == self._version:
                return state
            state["file"] = None
            state["accepts"] = {"methods": METHODS, "scales": SCALES, "missing": MISSING}
            if self._loaded is not None and self._decisions is not None:
                state |= self._described_table(self._loaded, self._decisions)
            return state

    def _described_table(self, loaded: Loaded, decisions: Decisions) -> dict[str, Any]:
        table, chosen = loaded.table, decisions.chosen
        state: dict[str, Any] = {
            "file": {"name": loaded.name, "rows": len(table.values), "notes": table.notes, "id": self._loads},
            "columns": [asdict(column) for column in loaded.columns],
            "numbers": table.columns,
            "texts": loaded.texts.names,
            "label": loaded.label,
            "labeled": table.labels is not None,
            "settings": asdict(chosen.settings),
            "missing": bool(np.isnan(table.values).any()),
            "decisions": decisions.said,
            "undo": decisions.can_undo,
            "aside": {"rows": len(chosen.rows), "cells": len(chosen.cells)},
            "curve": self._curve,
            "fit": None,
        }
        if self._view is not None:
            done = self._view.fit.work
            same = self._work(chosen)
            stale = (
                replace(done.settings, level=None) != replace(same.settings, level=None)
                or not np.array_equal(done.rows, same.rows)
                or not np.array_equal(done.cells, same.cells)
            )
            state["fit"] = {**self._view.summary(), "version": self._fitted, "stale": stale}
        return state

    def _work(self, chosen: Chosen) -> Work:
        rows = np.array(sorted(chosen.rows), dtype=np.int64)
        cells = np.array(sorted(chosen.cells), dtype=np.int64).reshape(-1, 2)
        return Work(chosen.settings, rows, cells)

    # ------------------------------------------------------------------------------- what takes long
    def _start(self, what: str, text: str, act: Callable[[Callable[..., Any]], None]) -> None:
        """Run something beside the server; `act` gets a function that runs a task in the process."""
        with self._lock:
            if self._job is not None:
                raise BusyError("Something is being computed already; wait, or cancel it.")
            job = self._job = Job(what, text, time.monotonic())
            self._error = ""
            self._version += 1
            key, table = self._loads, None if self._loaded is None else self._loaded.table

        def run(task: str, *arguments: Any, needs_table: bool = True) -> Any:
            return self._worker.run(task, arguments, table if needs_table else None, key, job.tell)

        def work() -> None:
            error = ""
            try:
                act(run)
            except CancelledError:
                pass
            except (TaskError, ChoiceError) as problem:
                error = str(problem)
            except Exception as problem:  # said on the page; the server goes on
                error = f"This did not work. {type(problem).__name__}: {problem}"
            with self._lock:
                self._job, self._error = None, error
                self._version += 1

        threading.Thread(target=work, daemon=True).start()

    def cancel(self) -> None:
        """End what is being computed."""
        with self._lock:
            if self._job is not None:
                self._worker.cancel()

    def new_file(self, name: str) -> Path:
        """Where the copy of a file goes, before `load`."""
        known = ending(name)
        if not known:
            raise ChoiceError(
                "The format of a file is known from the ending of its name, such as .csv or .xlsx."
            )
        with self._lock:
            self._files += 1
            return Path(self._folder.name) / f"table-{self._files}{known}"

    def load(self, path: Path, name: str, label: str | None = None) -> None:
        """Read a copy of a file that lies at `path`; `name` is what people call it."""
        again = path == self._path

        def act(run: Callable[..., Any]) -> None:
            try:
                loaded: Loaded = run("read", str(path), name, label, self.max_memory, needs_table=False)
                before = self._decisions.chosen if again and self._decisions is not None else None
                choice = _first_choice(loaded, before)
            except Exception:
                if not again:
                    path.unlink(missing_ok=True)
                raise
            with self._lock:
                old, self._path = self._path, path
                self._loaded, self._decisions = loaded, Decisions(choice)
                self._view = self._curve = self._order = None
                self._loads += 1
                self._version += 1
            if old is not None and old != path:
                old.unlink(missing_ok=True)
            self._fit(loaded)

        self._start("load", f"Reading {name}", act)

    def relabel(self, label: str | None) -> None:
        """Read the file again with another column that names the rows."""
        with self._lock:
            names = [*self.loaded.texts.names, *self.loaded.table.columns]
            if label is not None and label not in names:
                raise ChoiceError("There is no such column.")
            self.load(self.path, self.loaded.name, label)

    def fit(self, settings: Any = None) -> None:
        """Fit, with other settings where some are given."""
        with self._lock:
            loaded = self.loaded
            if self._job is not None:
                raise BusyError("Something is being computed already; wait, or cancel it.")
            if settings is not None:
                self.decisions.set(checked(settings, loaded.table, self.decisions.chosen.settings))
        self._start("fit", "Fitting", lambda _: self._fit(loaded))

    def _fit(self, loaded: Loaded) -> None:
        with self._lock:
            chosen, key = self.decisions.chosen, self._loads
        # The process may hold the table of before.
        found: Fit = self._worker.run("fit", (self._work(chosen),), loaded.table, key, self._told)
        view = View(found, loaded.table, chosen.settings.level)
        with self._lock:
            self._view, self._order = view, None
            self._fitted += 1
            self._version += 1

    def _told(self, text: str, done: int, total: int) -> None:
        if self._job is not None:
            self._job.tell(text, done, total)

    def choose_components(self) -> None:
        """Compute the curve behind the number of components."""
        work = self._work(self.decisions.chosen)

        def act(run: Callable[..., Any]) -> None:
            found = run("curve", work)
            with self._lock:
                self._curve = found
                self._version += 1

        self._start("curve", "Choosing the number of components", act)

    # ------------------------------------------------------------------------------- what is quick
    def set_level(self, level: Any) -> None:
        """Judge rows at another level of the limits."""
        with self._lock:
            settings = checked({"level": level}, self.loaded.table, self.decisions.chosen.settings)
            self.decisions.set(settings)
            self._look_again()

    def _look_again(self) -> None:
        if self._view is not None:
            fit, table = self._view.fit, self.loaded.table
            self._view = View(fit, table, self.decisions.chosen.settings.level)
            self._fitted += 1
        self._order = None
        self._version += 1

    def decide(self, act: Callable[[Decisions, Loaded, View | None], None]) -> None:
        """Change what was decided."""
        with self._lock:
            level = self.decisions.chosen.settings.level
            act(self.decisions, self.loaded, self._view)
            self._error = ""
            if self.decisions.chosen.settings.level != level:
                self._look_again()
            self._fitted += 1  # rows that are set aside are drawn so
            self._order = None
            self._version += 1

    def rows(self, query: dict[str, Any]) -> dict[str, Any]:
        """A page of the table."""
        with self._lock:
            loaded, chosen, view, version = self.loaded, self.decisions.chosen, self._view, self._version
            order = self._order
        fresh = order if order is not None and order.fits(query, version) else None
        if fresh is None:
            fresh = Order.of(query, version, loaded, chosen, view)
            with self._lock:
                if version == self._version:
                    self._order = fresh
        return page(fresh, query, loaded, chosen, view)

    def position(self, number: Any) -> int:
        """The position of a row by its number."""
        if type(number) is not int or not 1 <= number <= len(self.loaded.table.values):
            raise ChoiceError("There is no such row.")
        return number - 1


def _first_choice(loaded: Loaded, before: Chosen | None) -> Chosen:
    """What is chosen for a table that was just read; read again, it keeps what was decided about it."""
    table = loaded.table
    advised = tuple(column.name for column in loaded.columns if column.usable and column.advised)
    columns = advised if len(advised) >= 2 else table.columns
    if len(columns) < 2:
        raise ChoiceError(f"{loaded.name} has one column of numbers; an analysis needs at least two.")
    gaps = np.isnan(table.values)
    incomplete = gaps.any(axis=1) & ~gaps.all(axis=1)  # a row without a value says nothing of single cells
    method = "cell" if incomplete.any() and len(columns) > 2 else "subspace"
    if before is None:
        return Chosen(Settings(columns, method))
    kept = tuple(name for name in table.columns if name in set(before.settings.columns))
    settings = replace(before.settings, columns=kept if len(kept) >= 2 else columns)
    return Chosen(settings, before.rows)


__all__ = ["BusyError", "ChoiceError", "Session", "_tasks"]
