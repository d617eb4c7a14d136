"""Containers whose numbers mean something else than they look like: masks, dates, sparse columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._pipelines import DATE_TYPES, check_columns
from ..rows import MAX_LOADED_ENTRIES

__all__ = ["as_numbers"]


def as_numbers(estimator: Any, X: Any) -> Any:
    """X as the readers of arrays understand it; an error where numbers would be read that are none.

    Masked entries are missing ones; dates and words are no measurements; sparse columns
    of pandas are filled up where that is a matter of little memory.
    """
    if isinstance(X, np.ma.MaskedArray):
        return _unmasked(estimator, X)
    if isinstance(X, np.ndarray) and (_kind_of_objects(X) if X.dtype == object else X.dtype.kind) in "mM":
        raise ValueError(
            "X holds dates or times, which are no measurements. Subtract a date and divide by a unit, such "
            "as np.timedelta64(1, 'D')."
        )
    check_columns(X)
    if hasattr(X, "sparse") and hasattr(X, "dtypes") and _all_sparse(X):
        n, d = X.shape
        if n * d > MAX_LOADED_ENTRIES:
            raise ValueError(
                f"X is a data frame of sparse columns, of shape {(n, d)}, too large to be filled up unasked. "
                "Pass X.sparse.to_coo().tocsr(), which stays sparse."
            )
        return X.sparse.to_dense()
    return X


def _unmasked(estimator: Any, X: Any) -> Any:
    if not np.ma.getmaskarray(X).any():
        return np.asarray(X.data)
    if not estimator._takes_missing:
        raise ValueError(
            f"X is a masked array with masked entries, and {type(estimator).__name__} takes complete rows "
            "only. Leave such rows out, impute the entries, or use TL1CellPCA, which fits the cells that "
            "are there."
        )
    return X.astype(np.float32 if X.dtype == np.float32 else np.float64).filled(np.nan)


def _kind_of_objects(values: Any) -> str:
    """Kind of what Python objects are; an error for integers that no floating number can hold."""
    kinds = {type(value) for value in values.flat}
    if any(issubclass(kind, DATE_TYPES) for kind in kinds):
        return "M"
    most = int(np.finfo(np.float64).max)
    if int in kinds and any(abs(value) > most for value in values.flat if type(value) is int):
        raise ValueError("X holds integers beyond the largest floating number.")
    return "O"


def _all_sparse(X: Any) -> bool:
    return len(X.dtypes) > 0 and all(str(kind).startswith("Sparse") for kind in X.dtypes)
