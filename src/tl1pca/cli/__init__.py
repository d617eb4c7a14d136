"""The command line: parse, call the public API, print.

A command is one module with a function `command`, named in `COMMANDS`. Such a
module imports nothing heavy until it is called, so that ``--help`` is instant.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["main"]

#: Modules of this package, one command each.
COMMANDS = ("reproduce",)

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
        build_app(COMMANDS)(arguments)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except (ValueError, OSError, ImportError) as error:
        _fail(str(error))


def _fail(message: str) -> NoReturn:
    print(f"tl1pca: error: {message}", file=sys.stderr)
    sys.exit(1)
