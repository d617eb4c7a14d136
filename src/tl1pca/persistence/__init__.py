"""Model files: a fitted estimator in one file that can be read without running anything.

The header of a model file names classes from a closed list, and nothing is
imported by a name in a file. docs/model_files.md describes the format.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from .._archive import ASK, RefusedError, pack, refuse, unpack
from .._files import write_atomically
from .._version import __version__
from ._models import read_model, write_model
from ._values import Reader, Writer

__all__ = ["load", "save"]

FORMAT = "tl1pca model"
VERSION = 2
MAX_BYTES = 1 << 30


def save(estimator: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator of the package to a model file.

    The file is put in place in one step: a process that dies while it saves
    leaves the old file. The same model gives the same bytes.

    Parameters
    ----------
    estimator : fitted estimator of tl1pca, or a pipeline that ends in one
        Its parameters may be numbers, text, arrays, random states, and
        operators and solvers of the package. The steps of a pipeline before
        the last may be `tl1pca.preprocessing.MADScaler`, StandardScaler,
        RobustScaler, MinMaxScaler, MaxAbsScaler, PowerTransformer,
        SimpleImputer, a ColumnTransformer of these, and pipelines of them.
    path : path-like
        By custom it ends in ``.npz``; nothing is appended.

    Raises
    ------
    ValueError
        If something of the estimator cannot be kept, your own classes among
        them; it is named.

    See Also
    --------
    load : Read it again.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import tl1pca
    >>> from tl1pca.datasets import make_toy
    >>> X, outlier = make_toy(random_state=0)
    >>> pca = tl1pca.TL1SubspacePCA(n_components=1, random_state=0).fit(X)
    >>> path = Path(tempfile.mkdtemp()) / "model.npz"
    >>> tl1pca.save(pca, path)
    >>> bool((tl1pca.load(path).transform(X) == pca.transform(X)).all())
    True
    """
    try:
        content = _pack(estimator)
        _unpack(content)  # never a file that cannot be read again
    except RefusedError as refusal:
        raise ValueError(f"The estimator cannot be saved: {refusal}") from refusal.__cause__
    write_atomically(path, content)


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a model file.

    Safe for files from anywhere: nothing in the file is run, and no more
    memory is taken than a few times its size.

    Parameters
    ----------
    path : path-like
    max_bytes : int, default=2**30
        Largest file to read.

    Returns
    -------
    fitted estimator
        Equal to the last bit to the one that was saved.

    Raises
    ------
    ValueError
        If the file is no model file, is damaged, is of another version, or
        holds what no fitted estimator of the package has.

    See Also
    --------
    save : Write such a file.
    """
    where = Path(path)
    try:
        return _unpack(_read(where, max_bytes))
    except RefusedError as refusal:
        raise ValueError(f"{str(where)!r} cannot be loaded: {refusal}") from refusal.__cause__


def _read(path: Path, max_bytes: int) -> bytes:
    # What was opened is looked at, not what had the name before; and opening a pipe must not wait.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            refuse("it is no plain file. Give the path of a file that tl1pca.save wrote.")
        if status.st_size > max_bytes:
            refuse(
                f"it has {status.st_size} bytes, more than the {max_bytes} allowed. If you expect a model of "
                "that size, give max_bytes."
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(status.st_size)
    finally:
        os.close(descriptor)


def _pack(estimator: Any) -> bytes:
    """The bytes of a model file."""
    writer = Writer()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "tl1pca": __version__,
        "model": write_model(estimator, writer),
    }
    return pack(header, writer.arrays)


def _unpack(content: bytes) -> Any:
    """The estimator in the bytes of a model file."""
    try:
        header, arrays = unpack(content)
        reader = Reader(arrays)
        model = read_model(_model(header), reader)
        reader.check_all_used()
    except RefusedError:
        raise
    # Whatever a crafted file makes the readers stumble over is one thing to the caller.
    except Exception as error:
        raise RefusedError(f"its content makes no sense ({error!r}). {ASK}") from error
    return model


def _model(header: Any) -> Any:
    if header.get("format") != FORMAT:
        refuse("it is no model file. Give a file that tl1pca.save wrote.")
    if header.get("version") != VERSION:
        refuse(
            f"it is of version {header.get('version')!r} of the format and tl1pca {__version__} reads "
            f"version {VERSION}. It was written by tl1pca {header.get('tl1pca')!r}: use that one, or "
            "fit and save the model again."
        )
    if header.keys() != {"format", "version", "tl1pca", "model"} or type(header["tl1pca"]) is not str:
        refuse(f"its header has other entries than a model file has. {ASK}")
    return header["model"]
