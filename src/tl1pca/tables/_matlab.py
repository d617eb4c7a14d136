"""Matrices in MATLAB files of versions 5 to 7.

`scipy.io.loadmat` reads much more of the format, and trusts it: a forged type
crashes the process, and a compressed part is inflated whole before its name is
known. Of a plain matrix there is little to read, so that is done here, with
every number checked before it is used.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

from ._numpy import MOST_MEMBERS, check_matrix, choose, from_array, unusable
from ._table import Options, Table, TableError, parsing

HEADER = 128  # bytes before the first part
MATRIX, COMPRESSED = 14, 15  # kinds of parts

#: Types of data, by their number in a file.
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}

#: Classes of variables from number one, and those of them that are numbers, with NumPy's letter.
CLASSES = (
    *("cell", "struct", "object", "char", "sparse", "double", "single"),
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
)
KINDS = {name: "i" for name in CLASSES if "int" in name} | {"double": "f", "single": "f"}

COMPLEX = 0x0800  # flag of a variable


class Variable(NamedTuple):
    """What stands before the data of a variable."""

    name: str
    shape: tuple[int, ...]
    kind: str
    complex: bool


def read_mat(stream: BinaryIO, options: Options) -> Table:
    """One matrix of a file; cells, structures and sparse matrices are named and left alone."""
    with parsing(".mat file"):
        order = _byte_order(stream)
        found, places = {}, {}
        for place in _places(stream, order):
            variable = _describe(_Part(stream, place, order))
            if variable is not None and variable.name not in found:
                kind = "complex" if variable.complex else variable.kind
                found[variable.name] = variable.shape, unusable(variable.shape, KINDS.get(kind, kind), kind)
                places[variable.name] = place
        name = choose(found, options)
        shape = found[name][0]
        check_matrix(shape, options)
        part = _Part(stream, places[name], order)
        _describe(part)
        code, size, rest = part.tag()
        if code not in TYPES or size != math.prod(shape) * np.dtype(TYPES[code]).itemsize:
            raise TableError(f"contradicts itself: the data of {name!r} do not fit {shape[0]} x {shape[1]}.")
        data = np.frombuffer(part.data(size, rest), dtype=order + TYPES[code])
    return from_array(data.reshape(shape, order="F"))


def _byte_order(stream: BinaryIO) -> str:
    header = stream.read(HEADER)
    order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
    if header[:4] == b"\x89HDF" or (order and header[125 if order == "<" else 124] == 2):
        raise TableError(
            "is a MATLAB 7.3 (HDF5) file, which is not read; in MATLAB: save(file, 'X', '-v7'), "
            "or write a CSV or Parquet file."
        )
    if order is None:
        raise TableError("is not a MATLAB file of version 5 to 7; in MATLAB: save(file, 'X', '-v7').")
    return order


def _places(stream: BinaryIO, order: str) -> Iterator[tuple[int, int, int]]:
    """Kind, beginning and size of the parts of a file."""
    end = os.fstat(stream.fileno()).st_size
    begin = HEADER
    for _ in range(MOST_MEMBERS):
        if begin + 8 > end:
            return
        stream.seek(begin)
        kind, size = (int(number) for number in np.frombuffer(stream.read(8), order + "u4"))
        if kind in (MATRIX, COMPRESSED):
            yield kind, begin + 8, size
        begin += 8 + size


class _Part:
    """A part of a file from its beginning, inflated as far as it is asked for."""

    def __init__(self, stream: BinaryIO, place: tuple[int, int, int], order: str):
        kind, begin, self._left = place
        stream.seek(begin)
        self._stream, self.order = stream, order
        self._inflater = zlib.decompressobj() if kind == COMPRESSED else None
        if kind == COMPRESSED and self.tag()[0] != MATRIX:
            raise TableError("contradicts itself: a compressed part holds no variable.")

    def take(self, size: int) -> bytearray:
        """The next bytes, exactly so many."""
        taken = bytearray()
        while len(taken) < size:
            block = self._raw(size - len(taken))
            if not block:
                raise TableError("ends inside a variable: the file was cut off.")
            taken += block
        return taken

    def _raw(self, most: int) -> bytes:
        """At least one byte and at most so many; none where the part ends."""
        if self._inflater is None:
            return self._packed(most)
        block = b""
        # A piece of packed data may be too short to give anything yet, but every round takes some.
        while not block and not self._inflater.eof:
            packed = self._inflater.unconsumed_tail or self._packed(1 << 16)
            if not packed:
                break
            block = self._inflater.decompress(packed, most)
        return block

    def _packed(self, most: int) -> bytes:
        block = self._stream.read(min(most, self._left))
        self._left -= len(block)
        return block

    def tag(self) -> tuple[int, int, bytearray | None]:
        """Type and size of what follows; up to four bytes of data stand in the tag itself."""
        head = self.take(8)
        code, size = (int(number) for number in np.frombuffer(head, self.order + "u4"))
        if code >> 16:
            return code & 0xFFFF, min(code >> 16, 4), head[4:]
        return code, size, None

    def data(self, size: int, rest: bytearray | None) -> bytearray:
        """The data after a tag."""
        if rest is not None:
            return rest[:size]
        content = self.take(size)
        self.take(-size % 8)
        return content

    def numbers(self, code: int, most: int) -> bytearray:
        """A short element of a known type."""
        found, size, rest = self.tag()
        if found != code or size > most:
            raise TableError("is damaged: a variable does not begin as it should.")
        return self.data(size, rest)


def _describe(part: _Part) -> Variable | None:
    """What stands before the data; None for what has no shape (function handles and the like)."""
    flags = int(np.frombuffer(part.numbers(6, 8), part.order + "u4")[0])
    if not 1 <= flags & 0xFF <= len(CLASSES):
        return None
    shape = tuple(int(side) for side in np.frombuffer(part.numbers(5, 4 * 64), part.order + "i4"))
    name = part.numbers(1, 4096).decode("latin-1")
    return Variable(name, shape, CLASSES[(flags & 0xFF) - 1], bool(flags & COMPLEX))
