"""Files that results go to: never over the file that they come from."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ._terminal import check_folder


def check_output(path: Path | None, *inputs: str | Path | None) -> None:
    """Say before any work that a file cannot be written, or that it is one of the inputs.

    Any path or link to an input counts, and so does a file that standard
    input comes from.
    """
    if path is None:
        return
    if str(path) == "-":
        raise ValueError("'-' is no name of a file; results go to standard output where none is given.")
    check_folder(path)
    for given in inputs:
        if given is not None and _is_same(path, given):
            name = "standard input" if given == "-" else repr(str(given))
            raise ValueError(
                f"{str(path)!r} is the same file as {name}, which is read here; the result would take its "
                "place. Give another name."
            )


def _is_same(path: Path, given: str | Path) -> bool:
    with suppress(OSError, ValueError):
        there = os.fstat(0) if given == "-" else os.stat(given)
        return os.path.samestat(os.stat(path), there)
    return False
