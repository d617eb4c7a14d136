"""The command line: parse, call the public API, print.

A command is one module with a function `command`, named in `COMMANDS`. Such a
module imports nothing heavy until it is called, so that ``--help`` is instant;
what commands share lies in modules with an underscore.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

__all__ = ["main"]

#: Modules of this package, one command each.
COMMANDS = (
    "fit",
    "transform",
    "outliers",
    "impute",
    "explain",
    "monitor",
    "report",
    "explore",
    "compare",
    "reproduce",
    "demo",
)

INTERRUPTED = 130
BROKEN_PIPE = 141  # what a shell reports for a program that SIGPIPE ended

#: Packages that an extra brings: `explore` those of the page in the browser, `cli` all others.
OPTIONAL = (
    "typer",
    "rich",
    "pandas",
    "pyarrow",
    "joblib",
    "matplotlib",
    "jinja2",
    "python_calamine",
    "starlette",
    "uvicorn",
)
BROWSER = ("starlette", "uvicorn")


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``tl1pca``.

    Exit codes: 0 done, 1 something given cannot be used (said on stderr), 2
    wrong usage, 130 interrupted, 141 whoever read the output has gone away.
    """
    _occupy_closed_streams()
    with _interrupts() as seen:
        try:
            from ._app import build_app

            build_app(COMMANDS)(arguments, prog_name="tl1pca")
        except BaseException as error:
            if seen and not isinstance(error, OSError) and getattr(error, "code", True):
                _leave(INTERRUPTED)  # an import that is interrupted may raise nearly anything
            if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
                _leave(BROKEN_PIPE)
            reason = _reason(error)
            if reason is None:
                raise
            _fail(reason)


def _reason(error: BaseException) -> str | None:
    """What a user is told; None for what is an error of this program, or none at all."""
    if isinstance(error, OSError):
        if error.errno == errno.EBADF and error.filename is None:
            return "standard output is closed; there is nowhere to print to."
        named = "" if error.filename is None else f"{error.filename!r}: "
        return named + (error.strerror or str(error))
    if isinstance(error, ModuleNotFoundError):
        package = (error.name or "").partition(".")[0]
        if package in OPTIONAL:
            extra = "explore" if package in BROWSER else "cli"
            return f"this command needs {package}, which is not installed: pip install 'tl1pca[{extra}]'."
    if isinstance(error, MemoryError):
        return "there is not enough memory for this."
    return str(error) if isinstance(error, (ValueError, ImportError)) else None


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Collect Ctrl-C while it does what it always does."""
    seen: list[int] = []

    def interrupt(number: int, frame: Any) -> None:
        seen.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored, as under nohup
        yield seen
        return
    try:
        signal.signal(signal.SIGINT, interrupt)
    except ValueError:  # not the main thread, which alone gets signals
        yield seen
        return
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _occupy_closed_streams() -> None:
    """Keep a file of ours from getting the number of a closed standard stream.

    Python has None for such a stream. Messages for a closed stderr are
    dropped; writing to a closed stdout fails, because results would be lost.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if number != 1 else os.O_RDONLY)  # takes the lowest free number
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def _fail(message: str) -> NoReturn:
    from ._terminal import visible

    lines = (visible(line) for line in message.splitlines())
    with suppress(OSError):
        print("tl1pca: error: " + "\n".join(lines), file=sys.stderr, flush=True)
    _leave(1)


def _leave(code: int) -> NoReturn:
    """End; what can no longer be printed must not be tried again at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)
