"""Dask arrays and data frames: how they are opened for a fit, and answered without computing anything.

Dask itself is imported only where one of its collections has been given.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from ..extraction import SAMPLE_ABOVE
from ..location import host_weights
from ..rows import Rows
from ..rows.dask import find_client, open_rows

Array = NDArray[Any]
Method = TypeVar("Method", bound=Callable[..., Any])

#: Data of so many entries at most are fitted where the user is, like those of few rows.
_LOCAL = 1 << 20


def is_dask(X: Any) -> bool:
    """Whether X is a collection of Dask; tells without importing it."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def open_dask(estimator: Any, X: Any, sample_weight: Any) -> Rows | tuple[Any, Any]:
    """The port to rows on the cluster, or X and its weights in memory where they are few.

    Raises readable errors for methods that need all rows in memory.
    """
    name, reason = type(estimator).__name__, estimator._needs_memory()
    if reason is not None:
        raise ValueError(
            f"{name} {reason}, and takes data in memory only, not a Dask collection. Fit X.compute() if you "
            "have the memory, or use TL1SubspacePCA, which works on a cluster."
        )
    A = _as_array(X)
    n, d = A.shape
    validate_data(estimator, _one_row(X, A), reset=True, skip_check_array=True)
    if np.isnan(n) and find_client() is None:
        n = A.copy().compute_chunk_sizes().shape[0]
    if _is_small(n, d):
        return X.compute(), sample_weight.compute() if is_dask(sample_weight) else sample_weight
    rows = open_rows(A, sample_weight)
    if _is_small(*rows.shape):
        each = np.arange(rows.shape[0])
        return _named(X, rows.take(each)), host_weights(rows)
    if d > rows.shape[0]:
        raise ValueError(
            f"{name} needs data of more columns than rows, here {rows.shape}, in memory: fit X.compute()."
        )
    return rows


def lazy(method: Method) -> Method:
    """Method of a fitted estimator, row by row, that answers a Dask collection with a Dask array."""

    @wraps(method)
    def call(self: Any, X: Any) -> Any:
        return _in_blocks(self, method.__name__, X) if is_dask(X) else method(self, X)

    return cast(Method, call)


def _in_blocks(estimator: Any, method: str, X: Any) -> Any:
    A = _as_array(X)
    # Raises what is to be raised now, and tells what the blocks will look like.
    answer = getattr(estimator, method)(_one_row(X, A))
    empty = _stacked(answer)[:0]
    # Neither what was learned of the training rows travels nor the names, which blocks do not have.
    lean = copy(estimator)
    for attribute in (*estimator._per_row, "feature_names_in_", "_sklearn_output_config"):
        vars(lean).pop(attribute, None)
    shape = {"drop_axis": 1} if empty.ndim == 1 else {"chunks": (A.chunks[0], (empty.shape[1],))}
    out = A.map_blocks(_apply, lean, method, empty, dtype=empty.dtype, meta=empty, **shape)
    return tuple(out[:, j] for j in range(len(answer))) if isinstance(answer, tuple) else out


def _apply(block: Array, lean: Any, method: str, empty: Array) -> Array:
    return _stacked(getattr(lean, method)(block)) if len(block) else empty


def _stacked(answer: Any) -> Array:
    return np.column_stack(answer) if isinstance(answer, tuple) else np.asarray(answer)


def _is_small(n: float, d: int) -> bool:
    return n <= SAMPLE_ABOVE or n * d <= _LOCAL


def _as_array(X: Any) -> Any:
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


def _one_row(X: Any, A: Any) -> Any:
    """A row of ones with the names and the precision of the collection."""
    return _named(X, np.ones((1, A.shape[1]), dtype=A.dtype))


def _named(X: Any, A: Array) -> Any:
    """A as a data frame in memory if the collection is one, with its names."""
    return type(X._meta)(A, columns=X.columns) if hasattr(X, "columns") else A
