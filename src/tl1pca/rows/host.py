"""Adapters whose scores are NumPy arrays, wherever the rows themselves are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Rows
from .dense import DenseRows

Array = NDArray[Any]

#: Most entries of rows that are brought into memory at once, 1 GiB in double precision.
MOST = 1 << 27


class HostRows(Rows):
    """What does not ask for the rows themselves: functions of scores (n, k) in memory.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype
    weights : ndarray of shape (n,), optional
    """

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any], weights: Array | None):
        self.shape, self.dtype, self.weights = shape, dtype, weights
        self._scores = DenseRows(np.empty((shape[0], 0), dtype=dtype), weights=weights)

    def map(self, fn: Callable[..., Array], *Z: Array) -> Array:
        return self._scores.map(fn, *Z)

    def total(self, fn: Callable[..., Array], *Z: Array) -> Array:
        return self._scores.total(fn, *Z)

    def inner(self, Z: Array, Y: Array) -> Array:
        return self._scores.inner(Z, Y)

    def largest(self, Z: Array) -> float:
        return self._scores.largest(Z)

    def pick(self, Z: Array, index: Array) -> Array:
        return self._scores.pick(Z, index)

    def put(self, a: Array) -> Array:
        return self._scores.put(a)

    def _check_size(self, count: int) -> None:
        """Raise for so many rows that nobody can have meant to hold them in memory."""
        if count * self.shape[1] > MOST:
            size = count * self.shape[1] * self.dtype.itemsize / 2**30
            raise ValueError(
                f"a step of this method needs {count} rows of {self.shape[1]} features in memory at once, "
                f"{size:.1f} GiB. Give X as an array if you have the memory, or use TL1SubspacePCA or "
                "TL1PCA with their default parameters, which work on blocks."
            )
