"""Arrays of NumPy: .npy, and .npz archives of them. Never unpickled."""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections import Counter
from collections.abc import Mapping
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ._table import (
    Options,
    Table,
    TableError,
    assemble,
    check_columns,
    check_size,
    listed,
    numbered,
    parsing,
    shortened,
    size,
)

Array = NDArray[Any]

MOST_MEMBERS = 1000  # parts of an archive whose headers are looked at
LONGEST_HEADER = 10_000  # bytes before the data of an array; NumPy takes no more either
DOLE = 1 << 20  # bytes that are read at a time


def read_npy(stream: BinaryIO, options: Options) -> Table:
    """A file of one array."""
    with parsing(".npy file"):
        shape, dtype = _header(stream)
        problem = unusable(shape, dtype.kind, dtype.name)
        if problem:
            raise TableError(f"needs a matrix of numbers, rows by columns; the array {problem}.")
        check_matrix(shape, options)
        there = os.fstat(stream.fileno()).st_size - stream.tell()
        if there < math.prod(shape) * dtype.itemsize:
            raise TableError("ends before the array does: the file was cut off.")
        stream.seek(0)
        values = npy.read_array(stream, allow_pickle=False)
    return from_array(values)


def read_npz(stream: BinaryIO, options: Options) -> Table:
    """One array of an archive."""
    with parsing(".npz file"), zipfile.ZipFile(LimitedReader(stream)) as archive:
        members = {m.filename.removesuffix(".npy"): m for m in _arrays(archive)}
        found = {}
        for name, member in members.items():
            with archive.open(member) as part:
                shape, dtype = _header(part)
            found[name] = shape, unusable(shape, dtype.kind, dtype.name)
        name = choose(found, options)
        check_matrix(found[name][0], options)
        with archive.open(members[name]) as part:
            values = npy.read_array(part, allow_pickle=False)
    return from_array(values)


def _arrays(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The parts that are arrays; no two of the same name, or one could be checked and the other read."""
    parts = [part for part in archive.infolist() if part.filename.endswith(".npy")]
    if len(parts) > MOST_MEMBERS:
        raise TableError(f"holds {len(parts):,} arrays; up to {MOST_MEMBERS:,} are looked through.")
    repeated = [name for name, count in Counter(part.filename for part in parts).items() if count > 1]
    if repeated:
        raise TableError(f"has several arrays of the same name: {listed(repeated)}.")
    return parts


class _Through(io.RawIOBase):
    """A stream as another one has it: the descriptor alone would be moved behind the buffer of that."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream

    def readinto(self, buffer: Any, /) -> int:
        block = self._stream.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    def seek(self, place: int, whence: int = 0, /) -> int:
        return self._stream.seek(place, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


class LimitedReader(io.BufferedReader):
    """A stream that gives little at a time.

    `zipfile` reads the directory of an archive in one go and makes some
    twenty times its size in objects of it.
    """

    def __init__(self, stream: BinaryIO):
        super().__init__(_Through(stream))

    def read(self, size: int | None = -1, /) -> bytes:
        block = super().read(DOLE + 1 if size is None or size < 0 else min(size, DOLE + 1))
        if len(block) > DOLE:
            raise TableError("is an archive of far too many parts.")
        return block


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """What stands before the data; NumPy itself would read a header of any length before it refuses it."""
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise TableError(f"version {version} of the format is not for plain numbers.")
    field = stream.read(2 * version[0])
    length = int.from_bytes(field, "little")
    if length > LONGEST_HEADER:
        raise TableError(f"declares a header of {size(length)}, which no array needs.")
    content = io.BytesIO(field + stream.read(length))
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(content)
    return shape, dtype


def unusable(shape: tuple[int, ...], kind: str, name: str) -> str:
    """Why an array is no table, or nothing."""
    if kind == "O":
        return "holds Python objects, which are never loaded"
    if kind not in "fiub":
        return f"has the type {shortened(name, 30)}"
    if len(shape) != 2:
        return f"has {len(shape)} dimension{'s' * (len(shape) != 1)}"
    return "is empty" if min(shape) < 1 else ""


def choose(found: Mapping[str, tuple[tuple[int, ...], str]], options: Options) -> str:
    """The array that was asked for, or the only matrix; `found` has shapes and why one will not do."""
    contents = "; ".join(
        f"{shortened(name, 40)!r}: {problem or 'x'.join(map(str, shape))}"
        for name, (shape, problem) in list(found.items())[:12]
    ) + f"; and {len(found) - 12} more" * (len(found) > 12)
    contents = f"The file has {contents}." if found else "The file has no arrays."
    if options.array is not None:
        if options.array not in found:
            raise TableError(f"there is no array {options.array!r}. {contents}")
        problem = found[options.array][1]
        if problem:
            raise TableError(f"needs a matrix of numbers; {options.array!r} {problem}. {contents}")
        return options.array
    matrices = [name for name, (_, problem) in found.items() if not problem]
    if len(matrices) == 1:
        return matrices[0]
    if not matrices:
        raise TableError(f"holds no matrix of numbers, rows by columns. {contents}")
    raise TableError(f"holds {len(matrices)} matrices; say which (array; --array NAME). {contents}")


def check_matrix(shape: tuple[int, ...], options: Options) -> None:
    """Hold the declared shape against the limit."""
    rows, columns = shape
    check_columns(columns)
    # A name takes some seventy bytes, which counts where rows are few.
    check_size(
        rows * columns * 8 + columns * 72, options, f"a matrix of {shortened(f'{rows:,}', 20)} x {columns:,}"
    )


def from_array(values: Array) -> Table:
    """A table of a matrix without names."""
    return assemble(np.asarray(values, dtype=np.float64), numbered(values.shape[1]), named=False)
