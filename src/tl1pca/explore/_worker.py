"""A process for what takes long: it can be ended at any time, and its end does not end the server."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from typing import Any

from . import _tasks
from ._settings import ChoiceError


class CancelledError(Exception):
    """The task was canceled."""


class TaskError(Exception):
    """The task failed; the message is for the page."""


class Worker:
    """One process that runs one task at a time.

    It is started anew after a task was canceled or has crashed, with a new
    copy of the table.
    """

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._lock = threading.Lock()
        self._canceled = False
        self._closed = False
        self._key: int | None = None  # of the table that the process holds
        self._start()

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe, self._key = ours, None

    @property
    def pid(self) -> int | None:
        """Of the process at work."""
        return self._process.pid

    def run(self, task: str, arguments: tuple[Any, ...], table: Any, key: int, tell: _tasks.Tell) -> Any:
        """Run a task and wait for its result; `tell` hears how far it is.

        Parameters
        ----------
        task : str
            A function of `_tasks`.
        arguments : tuple
        table : Table or None
            Handed to the process unless it holds the one of this `key` already; None: the task needs none.
        key : int
        tell : callable

        Raises
        ------
        TaskError, CancelledError
        """
        with self._lock:
            self._canceled = False
            if not self._process.is_alive():
                self._start()
        try:
            if table is not None and self._key != key:
                self._pipe.send(("table", table))
                self._key = key
            self._pipe.send((task, table is not None, arguments))
            while True:
                kind, *content = self._pipe.recv()
                if kind == "progress":
                    tell(*content)
                elif kind == "done":
                    return content[0]
                else:
                    raise TaskError(content[0])
        except (EOFError, OSError):
            self._process.join(5)
            code = self._process.exitcode
            if self._closed:
                raise CancelledError from None
            self._start()
            if self._canceled:
                raise CancelledError from None
            raise TaskError(
                f"The process that computes has ended (exit code {code}), perhaps for want of memory. The "
                "table and all decisions are still there; try again, or with fewer columns."
            ) from None

    def cancel(self) -> None:
        """End the task at work, if there is one."""
        with self._lock:
            self._canceled = True
            self._process.kill()

    def close(self) -> None:
        """End the process."""
        self._closed = True
        self._process.kill()
        self._process.join(5)


def _serve(pipe: Any) -> None:
    """The process: tasks come in, progress and results go out, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    table: Any = None

    def tell(text: str, done: int, total: int) -> None:
        pipe.send(("progress", text, done, total))

    while True:
        try:
            task, *content = pipe.recv()
            if task == "table":
                table = content[0]
                continue
            needs_table, arguments = content
            pipe.send(_answer(task, (table, *arguments) if needs_table else arguments, tell))
        except (EOFError, OSError):
            return


def _answer(task: str, arguments: tuple[Any, ...], tell: _tasks.Tell) -> tuple[Any, ...]:
    try:
        return "done", getattr(_tasks, task)(*arguments, tell)
    except ChoiceError as error:
        return "error", str(error)
    except MemoryError:
        return "error", "There is not enough memory for this; try fewer columns."
    except Exception as error:  # whatever a fit stumbles over is said on the page
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        return "error", f"This did not work. {kind}{error}"
