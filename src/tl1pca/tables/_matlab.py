"""Matrices in MATLAB files up to version 7; scipy reads them, and only the one that is wanted."""

from __future__ import annotations

import os
import zlib
from typing import Any, BinaryIO, Literal

import scipy.io
import scipy.io.matlab

from ._numpy import check_matrix, choose, from_array, unusable
from ._table import Options, Table, TableError, check_size, parsing

# Typed as functions of a path; they take streams as well.
whosmat: Any = scipy.io.whosmat
loadmat: Any = scipy.io.loadmat
matfile_version: Any = scipy.io.matlab.matfile_version

#: Classes of MATLAB with what NumPy calls their kind; the others hold no plain numbers.
KINDS = {"double": "f", "single": "f", "logical": "b"} | {
    f"{sign}int{bits}": sign or "i" for sign in ("", "u") for bits in (8, 16, 32, 64)
}

HEADER, COMPRESSED = 128, 15  # of version 5: bytes before the first part, and what marks a compressed one
PIECE = 1 << 16  # bytes that are inflated at a time


def read_mat(stream: BinaryIO, options: Options) -> Table:
    """One matrix of a file; cells, structures and sparse matrices are named and left alone."""
    with parsing(".mat file"):
        version = 7.3 if stream.read(4) == b"\x89HDF" else _version(stream)
        if version == 7.3:
            raise TableError(
                "is a MATLAB 7.3 (HDF5) file, which is not read; in MATLAB: save(file, 'X', '-v7'), "
                "or write a CSV or Parquet file."
            )
        if version == 5:
            _check_inflated(stream, options)
        found = {
            name: (shape, unusable(shape, KINDS.get(kind, kind), kind))
            for name, shape, kind in whosmat(stream, appendmat=False)
        }
        name = choose(found, options)
        check_matrix(found[name][0], options)
        stream.seek(0)
        values = loadmat(stream, appendmat=False, variable_names=[name])[name]
        problem = unusable(values.shape, values.dtype.kind, values.dtype.name)
        if problem or values.shape != found[name][0]:
            raise TableError(f"needs a matrix of numbers; {name!r} {problem or 'contradicts itself'}.")
    return from_array(values)


def _version(stream: BinaryIO) -> float:
    stream.seek(0)
    major = matfile_version(stream, appendmat=False)[0]
    stream.seek(0)
    return {0: 4.0, 1: 5.0, 2: 7.3}[major]


def _check_inflated(stream: BinaryIO, options: Options) -> None:
    """Hold what compressed parts inflate to against the limit, a piece at a time.

    scipy inflates a whole part even for a look at its name.
    """
    stream.seek(0)
    header = stream.read(HEADER)
    order: Literal["little", "big"] = "little" if header.endswith(b"IM") else "big"
    while len(tag := stream.read(8)) == 8:
        kind, left = int.from_bytes(tag[:4], order), int.from_bytes(tag[4:], order)
        if kind != COMPRESSED:
            stream.seek(left, os.SEEK_CUR)
            continue
        inflater, size = zlib.decompressobj(), 0
        while left > 0 and (block := stream.read(min(left, PIECE))):
            left -= len(block)
            while block:
                size += len(inflater.decompress(block, PIECE))
                block = inflater.unconsumed_tail
                check_size(size, options, "a compressed part")
    stream.seek(0)
