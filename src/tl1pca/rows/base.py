"""The port: all a solver may ask of data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Fold = Callable[..., tuple[Array, ...]]


class Rows(ABC):
    """Centred, weighted rows x_i - m of a data matrix.

    Scores are handles: a solver may add and scale them, cut columns out of
    them and give them back to the port, and nothing else, so that they can
    live on another device or machine. Sums over rows always carry the row
    weights v, so that no solver needs to know whether there are any.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    weights: Array | None

    @property
    def mass(self) -> float:
        """Sum of the row weights, the number of rows when there are none."""
        if self.weights is None:
            return float(self.shape[0])
        return float(self.weights.sum(dtype=np.float64))

    @abstractmethod
    def project(self, W: Array) -> Array:
        """Scores (X - m) W of B directions at once, (n, B); a vector for a vector."""

    @abstractmethod
    def pullback(self, Z: Array) -> Array:
        """Weighted sums (X - m)' diag(v) Z, (d, B); a vector for a vector."""

    @abstractmethod
    def fold(self, fn: Fold, W: Array, *Z: Array) -> tuple[list[Array], Array]:
        """Totals and a pullback of functions of the scores, in one pass over the data.

        fn takes the scores of some rows (and the same rows of Z) and returns
        slopes, to be pulled back, and any number of values, to be summed.
        """

    @abstractmethod
    def gram(self, weights: Array | None = None) -> Array:
        """Scatter (X - m)' diag(v * weights) (X - m), (d, d)."""

    @abstractmethod
    def split(self, W: Array) -> tuple[Array, Array]:
        """Scores (n, k) and distances (n,) to the span of orthonormal columns, in one pass.

        The distance is that of the residual itself: |x|^2 - |t|^2 would lose
        all digits of a row that lies in the span.
        """

    @abstractmethod
    def norms(self) -> Array:
        """Row lengths |x_i - m|, (n,)."""

    @abstractmethod
    def take(self, index: Array) -> Array:
        """Some centred rows as an array, (len(index), d)."""

    @abstractmethod
    def sample(self, index: Array) -> Rows:
        """The port to some of the rows."""

    @abstractmethod
    def shifted(self, center: Array) -> Rows:
        """The port to the same rows less `center`."""

    @abstractmethod
    def map(self, fn: Callable[..., Array], *Z: Array) -> Array:
        """fn of scores, row by row; what comes back is a handle like its arguments."""

    @abstractmethod
    def total(self, fn: Callable[..., Array], *Z: Array) -> Array:
        """Weighted sum over rows of fn(*Z), accumulated in double precision.

        A scalar for values (n,), a vector for (n, B): a batch of directions,
        or of step sizes.
        """
