"""One function for all formats: open with care, choose the reader, name the file in errors."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, cast

from ._table import DEFAULT_MAX_MEMORY, Options, Table, TableError, parsing
from ._table import size as size_in_words

#: Ending of the name: module of the reader, and its function.
FORMATS = {
    ".csv": ("_text", "read_csv"),
    ".tsv": ("_text", "read_tsv"),
    ".txt": ("_text", "read_txt"),
    ".xlsx": ("_excel", "read_xlsx"),
    ".parquet": ("_parquet", "read_parquet"),
    ".npy": ("_numpy", "read_npy"),
    ".npz": ("_numpy", "read_npz"),
    ".mat": ("_matlab", "read_mat"),
}

#: Endings of text that may be followed by .gz.
PACKED = (".csv", ".tsv", ".txt")

_SAVE_AS = "open it where it comes from and save it as .csv or .xlsx"
#: What people have and what is not read, and what to do.
NOT_READ = {
    ".xls": "the old format of Excel; open it in Excel or LibreOffice and save it as .xlsx",
    ".xlsb": "a binary format of Excel; save it as .xlsx",
    ".ods": "a LibreOffice sheet; save it there as .xlsx or .csv",
    ".numbers": "a sheet of Apple Numbers; export it from there as CSV",
    ".sav": f"an SPSS file; {_SAVE_AS}, or: pandas.read_spss(path).to_parquet('x.parquet')",
    ".dta": f"a Stata file; {_SAVE_AS}, or: pandas.read_stata(path).to_parquet('x.parquet')",
    ".sas7bdat": f"a SAS file; {_SAVE_AS}, or: pandas.read_sas(path).to_parquet('x.parquet')",
    ".rds": "an R object; in R: write.csv(readRDS(file), 'x.csv')",
    ".rdata": "R objects; in R: load(file), then write.csv(x, 'x.csv')",
    ".feather": "a Feather file; pandas.read_feather(path).to_parquet('x.parquet')",
    ".h5": "an HDF5 file; save the array in it as .npy, .csv or .parquet",
    ".hdf5": "an HDF5 file; save the array in it as .npy, .csv or .parquet",
    ".json": "JSON; pandas.read_json(path).to_csv('x.csv', index=False)",
    ".pkl": "a pickle, which could run anything when it is opened; save the table as .csv or .parquet",
    ".pickle": "a pickle, which could run anything when it is opened; save the table as .csv or .parquet",
    ".zip": "an archive; unpack it first",
    ".pdf": "a document; copy the table into a spreadsheet and save it as .csv or .xlsx",
    ".docx": "a document; copy the table into a spreadsheet and save it as .csv or .xlsx",
}

#: First bytes by which data on standard input is known; anything else is text.
MAGIC = {
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".npz",
    b"PAR1": ".parquet",
    b"MATLAB ": ".mat",
    b"\x89HDF": ".mat",
    b"\x1f\x8b": ".csv.gz",
}

#: What one of the first parts of a workbook is called, which is a zip archive as an .npz file is.
WORKBOOK = (b"[Content_Types].xml", b"xl/", b"docProps/", b"_rels/")


def read_table(
    path: str | os.PathLike[str],
    *,
    max_memory: int = DEFAULT_MAX_MEMORY,
    labels: str | None = None,
    array: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    sheet: str | int | None = None,
    numbers: Iterable[str] = (),
) -> Table:
    r"""Read a table of numbers from a file, however hostile.

    Parameters
    ----------
    path : path-like
        The ending says the format: .csv, .tsv or .txt (each also with .gz
        after it), .xlsx, .parquet, .npy, .npz or .mat. "-" is standard input,
        whose format is told from its first bytes.
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
        it does where it holds text above numbers, or numbers that go up evenly
        as no other line does (years, wavelengths).
    decimal : {".", ","}, optional
        Decimal mark of a text file. By default the one that its first lines
        speak for. The other one is taken for a thousands separator where it
        groups digits in threes, and is an error elsewhere.
    sheet : str or int, optional
        Sheet of a workbook, by name or by number from one. By default the first
        that holds numbers.
    numbers : iterable of str, optional
        Columns that are data even where they only count (1000, 1001, ...) or
        say when; others of that kind are taken for identifiers.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        The file is no table of numbers, or takes more than `max_memory`.
    OSError
        The file cannot be opened.
    ImportError
        The format needs a package that is not installed.

    Notes
    -----
    A column of text counts as numbers if it has few cells that are none: at
    most a tenth, or at most five different words in less than half of the
    cells. Those cells are missing values. Columns of true and false, or of
    yes and no, are ones and zeros. All of this is said in `Table.notes`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "wine.csv"
    >>> _ = path.write_text("name,alcohol,ash\nfirst,14.2,2.43\nsecond,13.2,\n")
    >>> table = read_table(path)
    >>> table.columns, table.labels, table.missing()
    (('alcohol', 'ash'), ('first', 'second'), {'ash': 1})
    """
    options = Options(max_memory, labels, array, header, decimal, sheet, frozenset(map(str, numbers)))
    name = "standard input" if str(path) == "-" else str(path)
    try:
        with _open(path, max_memory) as stream:
            ending = _recognized(stream) if str(path) == "-" else _ending(Path(path))
            packed = ending.endswith(".gz")
            read = _reader(ending.removesuffix(".gz"))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # parsers warn of oddities; what matters here is an error
                try:
                    return _read_packed(read, stream, options) if packed else read(stream, options)
                except TableError as error:
                    raise TableError(f"{error}{_other_kind(stream, ending)}") from None
    except TableError as error:
        raise TableError(f"{name}: {error}") from None
    except MemoryError:
        raise TableError(
            f"{name}: needs more memory than there is, or than the limit of {size_in_words(max_memory)}."
        ) from None


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    if ending == ".gz" and inner in PACKED:
        return inner + ending
    if ending in NOT_READ:
        raise TableError(f"{ending} files are not read: this is {NOT_READ[ending]}.")
    if ending not in FORMATS:
        known = ", ".join([*FORMATS, *(f"{kind}.gz" for kind in PACKED)])
        given = inner + ending if ending == ".gz" else ending
        raise TableError(
            f"the format is not known from the ending {given!r}; known are {known}. "
            "Text in another file can be piped in, with - for the name."
        )
    return ending


def _read_packed(read: Callable[[BinaryIO, Options], Table], stream: BinaryIO, options: Options) -> Table:
    with parsing("gzip file"), gzip.GzipFile(fileobj=stream) as content:
        return read(cast(BinaryIO, _Limited(content, 8 * options.max_memory)), options)


class _Limited(io.RawIOBase):
    """Unpacked data; not more than any text of a table within the limit takes."""

    def __init__(self, content: gzip.GzipFile, most: int):
        self._content, self._most = content, most

    def read(self, size: int = -1, /) -> bytes:
        block = self._content.read(size)
        if self._content.tell() > self._most:
            raise TableError(
                f"unpacks to more than {size_in_words(self._most)}: no table within the limit does "
                "(max_memory; --max-memory on the command line)."
            )
        return block

    read1 = read

    def seek(self, place: int, whence: int = 0, /) -> int:
        return self._content.seek(place, whence)

    def tell(self) -> int:
        return self._content.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


def _magic(stream: BinaryIO) -> str:
    start = stream.read(4096)
    stream.seek(0)
    if start.startswith(b"PK") and any(name in start[:100] for name in WORKBOOK):
        return ".xlsx"
    return next((ending for magic, ending in MAGIC.items() if start.startswith(magic)), ".csv")


def _recognized(stream: BinaryIO) -> str:
    """The ending that would suit; text is separated by spaces if its first line has nothing else to do it."""
    ending = _magic(stream)
    line = stream.readline(4096).strip()
    stream.seek(0)
    return ".txt" if ending == ".csv" and b" " in line and not any(c in line for c in b"\t;|,") else ending


def _other_kind(stream: BinaryIO, ending: str) -> str:
    """A hint where the first bytes are those of another format than the ending says."""
    stream.seek(0)
    start = stream.read(4096)
    stream.seek(0)
    kind = _magic(stream)
    if kind == ending or (kind == ".csv.gz" and ending.endswith(".gz")):
        return ""
    if kind == ".csv" and (ending in PACKED or b"\0" in start or not start.strip()):
        return ""
    what = "text, as a .csv file is" if kind == ".csv" else f"what a {kind} file begins with"
    return f" It begins with {what}: is the ending right?"


def _reader(ending: str) -> Callable[[BinaryIO, Options], Table]:
    module, function = FORMATS[ending]
    try:
        reader: Callable[[BinaryIO, Options], Table] = getattr(
            import_module(f".{module}", __package__), function
        )
    except ModuleNotFoundError as error:
        extra = "excel" if error.name == "python_calamine" else "cli"
        raise ImportError(f"{ending} files need {error.name}: pip install 'tl1pca[{extra}]'.") from None
    return reader


def _open(path: str | os.PathLike[str], max_memory: int) -> BinaryIO:
    """The file, open at its beginning; standard input is copied first, because readers seek."""
    if str(path) == "-":
        if sys.stdin is None:
            raise TableError("is closed; there is nothing to read from.")
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
                f"is longer than the limit of {size_in_words(max_memory)} "
                "(max_memory; --max-memory on the command line)."
            )
        copy.write(block)
    copy.seek(0)
    return copy


def _temporary() -> int:
    """A file without a name, gone when it is closed."""
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
