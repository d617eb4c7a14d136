"""From data to the port: which adapter, and whether the numbers can be used."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import assert_all_finite

from .._arrays import double, is_array, namespace
from .array import ArrayRows
from .base import Predictable, Rows
from .blocks import BlockRows
from .dense import DenseRows
from .lazy import LazyRows, dask_array, is_dask
from .sources import floating, is_source, open_source
from .sparse import SparseRows

Array = NDArray[Any]


def as_rows(X: Any, weights: Any = None) -> Rows:
    """The port to the rows of X where they are.

    Parameters
    ----------
    X : array of any library, sparse matrix, what is read in blocks or Rows, of shape (n, d)
        See `is_source` for what is read in blocks.
    weights : array of shape (n,), optional
        Non-negative row weights, of the library of X or NumPy's for what is no array.

    Returns
    -------
    Rows
    """
    if is_rows(X):
        X = copy(X)
        X.weights = X.weights if weights is None else weights
        return X
    if is_source(X):
        return BlockRows(open_source(X), weights=weights)
    if is_sparse(X):
        return SparseRows(X.tocsr().astype(floating(X.dtype), copy=False), weights=weights)
    if is_array(X):
        xp = namespace(X)
        return ArrayRows(X if X.dtype in (xp.float32, xp.float64) else double(X), weights=weights)
    X = np.asarray(X)
    return DenseRows(X.astype(floating(X.dtype), copy=False), weights=weights)


def as_predictable(X: Any) -> Predictable:
    """`as_rows`, or for a Dask collection what answers without computing anything."""
    return LazyRows(dask_array(X)) if is_dask(X) else as_rows(X)


def is_rows(X: Any) -> bool:
    """Whether X is the port itself, an engine of the user: nothing but its base class tells it from data."""
    return isinstance(X, Rows)


def is_sparse(X: Any) -> bool:
    """Whether X is a matrix or array of scipy.sparse."""
    return bool(sparse.issparse(X))


#: What to do about missing values.
_NAN_ADVICE = (
    "{0} takes complete rows: drop those with missing values, or fill them in first, "
    "make_pipeline(SimpleImputer(strategy='median'), {0}()). TL1CellPCA fits the cells that "
    "are there."
)


def finite_max_abs(rows: Rows, name: str | None = None) -> float:
    """Largest magnitude; scikit-learn's error, which names an estimator, where an entry is not finite."""
    found = rows.max_abs()
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # it adds all entries up first
            assert_all_finite(np.array([found], dtype=rows.dtype), input_name="X")
    except ValueError as error:  # what helps here, in place of scikit-learn's advice
        advice = _NAN_ADVICE.format(name) if "NaN" in str(error) and name else ""
        raise ValueError(f"{error} {advice}".strip()) from None
    return found


def safe_factor(top: float, dtype: np.dtype[Any], before: float = 1.0) -> float:
    """Power of two that brings data as large as `top` to where no square over- or underflows.

    `before` is what they were multiplied by already, when they were larger.
    """
    info = np.finfo(dtype)
    # Small residuals of small data are to be safe as well.
    if top == 0.0 or float(info.tiny) ** 0.125 < top < float(info.max) ** 0.25:
        return 1.0
    # Enough for denormal data, and no more: parameters in the units of the data are multiplied, too.
    # Its inverse is a number as well, for data as large as numbers get.
    most = 3 * info.maxexp // 4 - int(np.log2(before))
    return float(2.0 ** max(min(-int(np.frexp(top)[1]), most), 1 - info.maxexp))
