"""The command line: parse, call the public API, print.

A command is one module with a function `command`, named in `COMMANDS`. Such a
module imports nothing heavy until it is called, so that ``--help`` is instant;
what commands share lies in modules with an underscore.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["main"]

#: Modules of this package, one command each.
COMMANDS = ("fit", "transform", "outliers", "report", "compare", "reproduce", "demo")

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``tl1pca``.

    Exit codes: 0 done, 1 something given cannot be used (said on stderr), 2
    wrong usage, 130 interrupted.
    """
    try:
        from ._app import build_app
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        _fail("the command line needs typer and rich: pip install 'tl1pca[cli,plot,report]'.")
    try:
        build_app(COMMANDS)(arguments, prog_name="tl1pca")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except OSError as error:
        named = "" if error.filename is None else f"{error.filename!r}: "
        _fail(named + (error.strerror or str(error)))
    except (ValueError, ImportError) as error:
        _fail(str(error))
    except MemoryError:
        _fail("there is not enough memory for this.")


def _fail(message: str) -> NoReturn:
    from ._terminal import visible

    lines = (visible(line) for line in message.splitlines())
    print("tl1pca: error: " + "\n".join(lines), file=sys.stderr)
    sys.exit(1)
