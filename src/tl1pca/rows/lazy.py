"""Dask collections as they are: a prediction is one more step of their graph, and computes nothing.

Dask itself is imported only where one of its collections has been given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Predictable, Rows
from .dense import DenseRows

Array = NDArray[Any]


class LazyRows(Predictable):
    """What prediction asks, answered by Dask arrays.

    Parameters
    ----------
    X : dask.array.Array of shape (n, d)
        As `dask_array` gives it.
    """

    def __init__(self, X: Any):
        self._X, self.shape, self.dtype = X, X.shape, X.dtype

    def map_blocks(self, fn: Callable[[Rows], Any]) -> Any:
        # Raises what is to be raised now, and tells what the blocks will look like.
        answer = fn(DenseRows(np.ones((1, self.shape[1]), dtype=self.dtype)))
        empty = _stacked(answer)[:0]
        shape = {"drop_axis": 1} if empty.ndim == 1 else {"chunks": (self._X.chunks[0], (empty.shape[1],))}
        out = self._X.map_blocks(_ask_block, fn, empty, dtype=empty.dtype, meta=empty, **shape)
        return tuple(out[:, j] for j in range(len(answer))) if isinstance(answer, tuple) else out


def _ask_block(block: Array, fn: Callable[[Rows], Any], empty: Array) -> Array:
    return _stacked(fn(DenseRows(block))) if len(block) else empty


def _stacked(answer: Any) -> Array:
    return np.column_stack(answer) if isinstance(answer, tuple) else np.asarray(answer)


def is_dask(X: Any) -> bool:
    """Whether X is a collection of Dask; tells without importing it."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def dask_array(X: Any) -> Any:
    """A collection as a Dask array (n, d) of floating numbers, all columns in one chunk."""
    if hasattr(X, "to_dask_array") and hasattr(X, "columns"):
        dtypes = dict(zip(X.columns, X.dtypes))
        bad = [column for column, dtype in dtypes.items() if getattr(dtype, "kind", "O") not in "buif"]
        if bad:
            raise ValueError(
                f"all columns must be numbers, and {', '.join(map(repr, bad))} are not: encode or drop them."
            )
        single = all(dtype == np.float32 for dtype in dtypes.values())
        return X.astype(np.float32 if single else np.float64).to_dask_array()
    if getattr(X, "ndim", None) != 2 or not hasattr(X, "rechunk"):
        raise ValueError(f"a Dask array of shape (n, d) or a Dask data frame is expected, got {X!r}.")
    if X.dtype.kind not in "buif" or not isinstance(X._meta, np.ndarray):
        raise ValueError(
            f"a Dask array must hold NumPy arrays of real numbers, got {type(X._meta).__name__} of {X.dtype}."
        )
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})
