"""Rows of many columns as coordinates in a span of few directions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dense import DenseRows

Array = NDArray[Any]


class SpannedRows(DenseRows):
    """Coordinates of rows in a span, and the lengths of what lies outside of it.

    Directions are those of the span; distances are those of the rows themselves.

    Parameters
    ----------
    T : ndarray of shape (n, p)
    outside : ndarray of shape (n,), or None
        None where the span is that of all columns.
    dimension : int
        That of the rows themselves.
    mean : ndarray of shape (p,), optional
    """

    def __init__(self, T: Array, outside: Array | None, dimension: int, mean: Array | None = None):
        super().__init__(T, mean)
        self.outside, self._dimension = outside, dimension

    @property
    def dimension(self) -> int:
        return self._dimension

    def scores_and_distances(self, W: Array) -> tuple[Array, Array]:
        T, r = super().scores_and_distances(W)
        return T, r if self.outside is None else np.hypot(r, self.outside)

    def shifted(self, center: Array) -> SpannedRows:
        mean = center if self._mean is None else self._mean + center
        return SpannedRows(self._X, self.outside, self.dimension, mean)

    def scaled(self, factor: float) -> SpannedRows:
        outside = None if self.outside is None else self.outside * factor
        return SpannedRows(self.array() * factor, outside, self.dimension)

    def subset(self, index: Array) -> SpannedRows:
        outside = None if self.outside is None else self.outside[index]
        return SpannedRows(self.gather_rows(index), outside, self.dimension)
