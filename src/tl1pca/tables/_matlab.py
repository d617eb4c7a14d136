"""Matrices in MATLAB files up to version 7; scipy reads them, and only the one that is wanted."""

from __future__ import annotations

from typing import Any, BinaryIO

import scipy.io
import scipy.io.matlab

from ._numpy import check_matrix, choose, from_array, unusable
from ._table import Options, Table, TableError, parsing

# Typed as functions of a path; they take streams as well.
whosmat: Any = scipy.io.whosmat
loadmat: Any = scipy.io.loadmat
matfile_version: Any = scipy.io.matlab.matfile_version

#: Classes of MATLAB with what NumPy calls their kind; the others hold no plain numbers.
KINDS = {"double": "f", "single": "f", "logical": "b"} | {
    f"{sign}int{bits}": sign or "i" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def read_mat(stream: BinaryIO, options: Options) -> Table:
    """One matrix of a file; cells, structures and sparse matrices are named and left alone."""
    with parsing(".mat file"):
        if stream.read(4) == b"\x89HDF" or _major(stream) == 2:
            raise TableError(
                "is a MATLAB 7.3 (HDF5) file, which is not read; in MATLAB: save(file, 'X', '-v7'), "
                "or write a CSV or Parquet file."
            )
        found = {
            name: (shape, unusable(shape, KINDS.get(kind, kind), kind))
            for name, shape, kind in whosmat(stream, appendmat=False)
        }
        name = choose(found, options)
        check_matrix(found[name][0], options)
        stream.seek(0)
        values = loadmat(stream, appendmat=False, variable_names=[name])[name]
        if unusable(values.shape, values.dtype.kind, values.dtype.name) or values.shape != found[name][0]:
            raise TableError(f"{name!r} is not the matrix that it is declared to be.")
    return from_array(values)


def _major(stream: BinaryIO) -> int:
    stream.seek(0)
    major: int = matfile_version(stream, appendmat=False)[0]
    stream.seek(0)
    return major
