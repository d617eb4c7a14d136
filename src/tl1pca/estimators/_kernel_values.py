"""Values of kernels, of rows of any size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels

from .._arrays import saturated
from ..rows import safe_factor

__all__ = ["kernel_values"]

Array = NDArray[Any]

#: Kernels that are a number whatever the size of the rows, and the power of their units in gamma.
BOUNDED = {"rbf": 2, "laplacian": 1}


def kernel_values(X: Array, Y: Array, kernel: Any, parameters: dict[str, Any]) -> Array:
    """k(x, y) of all rows of X and of Y, in double precision.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    Y : ndarray of shape (m, d)
    kernel : str or callable
        As in scikit-learn's ``pairwise_kernels``.
    parameters : dict
        Of the kernel; those that it does not have are left out.

    Returns
    -------
    ndarray of shape (n, m)
    """
    named = isinstance(kernel, str)
    with np.errstate(over="ignore", invalid="ignore"):
        if named and kernel == "rbf":  # by differences of squares, of which little is left far from zero
            middle = np.median(Y, axis=0)
            moved = X - middle, Y - middle
            X, Y = moved if all(np.isfinite(part).all() for part in moved) else (X, Y)
        if named and kernel == "cosine":  # by lengths, whose squares may over- or underflow
            X, Y = _of_unit_size(X), _of_unit_size(Y)
        K = _pairwise(X, Y, kernel, parameters)
        lost = ~np.isfinite(K).all(axis=1)
        if named and kernel in BOUNDED and lost.any():  # squares on the way are not bounded
            factor = safe_factor(max(float(np.abs(X[lost]).max()), float(np.abs(Y).max())), K.dtype)
            gamma = np.float64(parameters["gamma"])
            for _ in range(BOUNDED[kernel]):
                gamma = saturated(gamma, factor)
            K[lost] = _pairwise(X[lost] * factor, Y * factor, kernel, {"gamma": float(gamma)})
    if not np.isfinite(K).all():
        raise ValueError(
            f"The kernel {kernel!r} has values that are not finite. Scale the columns of X first, "
            "or take another kernel or a smaller degree."
        )
    return K


def _of_unit_size(A: Array) -> Array:
    size = np.abs(A).max(axis=1, keepdims=True)
    return np.asarray(A / np.where(size > 0, size, 1.0))


def _pairwise(X: Array, Y: Array, kernel: Any, parameters: dict[str, Any]) -> Array:
    return np.asarray(
        pairwise_kernels(X, Y, metric=kernel, filter_params=True, **parameters), dtype=np.float64
    )
