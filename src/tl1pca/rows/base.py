"""The port: all a solver may ask of data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import namespace

Array = NDArray[Any]
Fold = Callable[..., tuple[Array, ...]]
#: Takes directions to another space.
Lift = Callable[[Array], Array]


class Rows(ABC):
    """Centred, weighted rows x_i - m of a data matrix.

    Scores are handles: a solver may give them back to the port, and nothing
    else, so that they can live on another device or machine. Directions, and
    what is pulled back, live at the home of the rows (`put` brings an array
    there): on the device of a GPU array, in NumPy arrays otherwise. Totals
    are NumPy arrays of double precision, a number for each direction. Sums
    over rows always carry the row weights v, so that no solver needs to know
    whether there are any.
    """

    shape: tuple[int, int]
    #: Precision of the data, as NumPy names it.
    dtype: np.dtype[Any]
    #: A handle, or None where all rows weigh one.
    weights: Any

    @property
    def mass(self) -> float:
        """Sum of the row weights, the number of rows when there are none."""
        if self.weights is None:
            return float(self.shape[0])
        return float(self.total(lambda v: namespace(v).ones_like(v), self.weights))

    # ---------------------------------------------------------------- products
    @abstractmethod
    def project(self, W: Array) -> Any:
        """Scores (X - m) W of B directions at once, (n, B); a vector for a vector."""

    @abstractmethod
    def pullback(self, Z: Any) -> Array:
        """Weighted sums (X - m)' diag(v) Z, (d, B); a vector for a vector."""

    @abstractmethod
    def fold(self, fn: Fold, W: Array, *Z: Any) -> tuple[list[Array], Array]:
        """Totals and a pullback of functions of the scores, in one pass over the data.

        fn takes the scores of some rows (and the same rows of Z) and returns
        slopes, to be pulled back, and any number of values, to be summed.
        """

    @abstractmethod
    def gram(self, weights: Any = None) -> Array:
        """Scatter (X - m)' diag(v * weights) (X - m), (d, d)."""

    @abstractmethod
    def split(self, W: Array) -> tuple[Any, Any]:
        """Scores (n, k) and distances (n,) to the span of orthonormal columns, in one pass.

        The distance is that of the residual itself: |x|^2 - |t|^2 would lose
        all digits of a row that lies in the span.
        """

    @abstractmethod
    def norms(self) -> Any:
        """Row lengths |x_i - m|, (n,)."""

    @abstractmethod
    def mean(self) -> Array:
        """Weighted mean of the rows, (d,)."""

    # ---------------------------------------------------------------- handles
    @abstractmethod
    def map(self, fn: Callable[..., Any], *Z: Any) -> Any:
        """fn of scores, row by row; what comes back is a handle like its arguments."""

    @abstractmethod
    def total(self, fn: Callable[..., Any], *Z: Any) -> Array:
        """Weighted sum over rows of fn(*Z), accumulated in double precision.

        A scalar for values (n,), a vector for (n, B): a batch of directions,
        or of step sizes.
        """

    @abstractmethod
    def inner(self, Z: Any, Y: Any) -> Array:
        """Weighted products Z' diag(v) Y of two handles, (B, C), as a NumPy array."""

    @abstractmethod
    def largest(self, Z: Any) -> float:
        """Largest value of a handle."""

    @abstractmethod
    def pick(self, Z: Any, index: Array) -> Array:
        """Some rows of a handle as a NumPy array."""

    def owned(self, Z: Any) -> Any:
        """A handle as an array that the user may keep."""
        return Z

    # ---------------------------------------------------------------- rows themselves
    @abstractmethod
    def put(self, a: Array) -> Array:
        """A NumPy array at the home of the rows, in their precision."""

    @abstractmethod
    def take(self, index: Array) -> Array:
        """Some centred rows as a NumPy array, (len(index), d)."""

    def threads(self) -> AbstractContextManager[None]:
        """Inside, BLAS uses as many threads as suits a fit to these rows."""
        return nullcontext()

    def array(self) -> Array:
        """All centred rows as an array at their home; for samples, which are small."""
        return self.put(self.take(np.arange(self.shape[0])))

    @abstractmethod
    def sample(self, index: Array) -> Rows:
        """The port to some of the rows, with the same home."""

    def precise(self, index: Array) -> Rows:
        """The port to some of the rows in double precision, without their weights."""
        from .dense import DenseRows

        return DenseRows(self.take(index).astype(np.float64))

    @abstractmethod
    def shifted(self, center: Array) -> Rows:
        """The port to the same rows less `center`."""

    def compact(self) -> tuple[Rows, Lift]:
        """The same rows in an orthonormal basis of their span, for more columns than rows.

        Returns
        -------
        rows : Rows of shape (n, min(n, d))
        lift : callable
            From directions of the small space, as columns or one alone, to
            those of the large one.
        """
        raise ValueError(
            f"data of more columns than rows, here {self.shape}, must be given as an array in memory."
        )

    @abstractmethod
    def scaled(self, factor: float) -> Rows:
        """The port to the same rows, multiplied by `factor`, a power of two."""

    @abstractmethod
    def extent(self) -> float:
        """Largest magnitude of an entry of the data; NaN or infinite where an entry is."""
