"""One function for all formats: open with care, choose the reader, name the file in errors."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from ._table import DEFAULT_MAX_MEMORY, Options, Table, TableError, size

#: Ending of the name: module of the reader, and its function.
FORMATS = {
    ".csv": ("_text", "read_csv"),
    ".tsv": ("_text", "read_tsv"),
    ".parquet": ("_parquet", "read_parquet"),
    ".npy": ("_numpy", "read_npy"),
    ".npz": ("_numpy", "read_npz"),
    ".mat": ("_matlab", "read_mat"),
}

#: First bytes by which data on standard input is known; anything else is taken for CSV.
MAGIC = {
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
    b"PAR1": ".parquet",
    b"MATLAB ": ".mat",
    b"\x89HDF": ".mat",
}


def read_table(
    path: str | os.PathLike[str],
    *,
    max_memory: int = DEFAULT_MAX_MEMORY,
    labels: str | None = None,
    array: str | None = None,
    header: bool | None = None,
    decimal: str = ".",
) -> Table:
    r"""Read a table of numbers from a file, however hostile.

    Parameters
    ----------
    path : path-like
        The ending says the format: .csv, .tsv, .parquet, .npy, .npz or .mat.
        "-" is standard input, whose first bytes say it.
    max_memory : int, default=2 GiB
        Bytes of decoded data that are accepted: eight per number, and what
        names and labels take.
    labels : str, optional
        Column with the names of the rows. By default the first one, where it
        holds text or has no name of its own.
    array : str, optional
        Which array of an .npz or .mat file. By default the only matrix.
    header : bool, optional
        Whether the first line of a text file names the columns. By default,
        it does where it holds text above numbers.
    decimal : {".", ","}
        Decimal mark of a text file.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        The file is no table of numbers, or takes more than `max_memory`.
    OSError
        The file cannot be opened.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "wine.csv"
    >>> _ = path.write_text("name,alcohol,ash\nfirst,14.2,2.43\nsecond,13.2,\n")
    >>> table = read_table(path)
    >>> table.columns, table.labels, table.missing()
    (('alcohol', 'ash'), ('first', 'second'), {'ash': 1})
    """
    options = Options(max_memory, labels, array, header, decimal)
    name = "standard input" if str(path) == "-" else str(path)
    try:
        with _open(path, max_memory) as stream:
            ending = _magic(stream) if str(path) == "-" else _ending(Path(path))
            read = _reader(ending)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # parsers warn of oddities; what matters here is an error
                return read(stream, options)
    except TableError as error:
        raise TableError(f"{name}: {error}") from None
    except MemoryError:
        raise TableError(
            f"{name}: needs more memory than there is, or than the limit of {size(max_memory)}."
        ) from None


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise TableError(
            f"the format is not known from the ending {ending!r}; known are {', '.join(FORMATS)}. "
            "Text in another file can be piped in, with - for the name."
        )
    return ending


def _magic(stream: BinaryIO) -> str:
    start = stream.read(8)
    stream.seek(0)
    return next((ending for magic, ending in MAGIC.items() if start.startswith(magic)), ".csv")


def _reader(ending: str) -> Callable[[BinaryIO, Options], Table]:
    module, function = FORMATS[ending]
    try:
        reader: Callable[[BinaryIO, Options], Table] = getattr(
            import_module(f".{module}", __package__), function
        )
    except ModuleNotFoundError as error:
        raise ImportError(f"{ending} files need {error.name}: pip install 'tl1pca[cli]'.") from None
    return reader


def _open(path: str | os.PathLike[str], max_memory: int) -> BinaryIO:
    """The file, open at its beginning; standard input is copied first, because readers seek."""
    if str(path) == "-":
        return _spooled(sys.stdin.buffer, max_memory)
    if "\0" in str(path):
        raise TableError("a file name cannot contain a NUL character.")
    # Without O_NONBLOCK, opening a pipe that nobody writes to waits for ever.
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(number).st_mode
        if stat.S_ISDIR(mode):
            raise TableError("is a folder; name one file.")
        if not stat.S_ISREG(mode):
            raise TableError("is not a regular file; pipe the data in, with - for the name.")
        return os.fdopen(number, "rb")
    except BaseException:
        os.close(number)
        raise


def _spooled(source: BinaryIO, max_memory: int) -> BinaryIO:
    copy = os.fdopen(_temporary(), "w+b")
    left = max_memory
    while block := source.read(1 << 20):
        left -= len(block)
        if left < 0:
            copy.close()
            raise TableError(
                f"is longer than the limit of {size(max_memory)} "
                "(max_memory; --max-memory on the command line)."
            )
        copy.write(block)
    copy.seek(0)
    return copy


def _temporary() -> int:
    """A file without a name, gone when it is closed."""
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
