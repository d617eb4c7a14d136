"""The port: all that a solver, or a prediction, may ask of data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import columns, namespace

if TYPE_CHECKING:
    from .dense import DenseRows

Array = NDArray[Any]
MapReduce = Callable[..., tuple[Array, ...]]
#: Takes directions to another space.
Lift = Callable[[Array], Array]

#: More rows than this, and an iteration should ask for one pass over them; fewer are copied freely.
MANY_ROWS = 5000
#: Most entries of rows that are brought into memory unasked, 1 GiB in double precision.
MAX_LOADED_ENTRIES = 1 << 27
#: Rows of a strip: their scores, and the temporaries of an operator, stay in cache.
_STRIP_ROWS = 1 << 13
#: Entries of the scores of a group of coordinate axes, where a verb is derived from products with them.
_AXES_ENTRIES = 1 << 22


class Predictable(ABC):
    """Rows that a function of the port can be asked of, block by block: all that prediction needs."""

    shape: tuple[int, int]
    #: Precision of the data, as NumPy names it.
    dtype: np.dtype[Any]

    @abstractmethod
    def map_blocks(self, fn: Callable[[Rows], Any]) -> Any:
        """What `fn` says of the rows, as arrays that the user may keep.

        `fn` is given the port to consecutive rows that are at hand, and returns an
        array, or a tuple of them, with an entry for every row.
        """


class Rows(Predictable):
    """Centered, weighted rows x_i - m of a data matrix.

    Scores are handles: a solver may give them back to the port, and nothing
    else, so that they can live on another device or machine. Directions, and
    what is pulled back, live where the rows are (`asarray` brings an array
    there): on the device of a GPU array, in NumPy arrays otherwise. Totals
    are NumPy arrays of double precision, a number for each direction. Sums
    over rows always carry the row weights v, so that no solver needs to know
    whether there are any.

    An engine whose scores are NumPy arrays writes four verbs: `project`,
    `pullback`, `shifted` and `scaled`. All others follow from these; it
    writes those as well that it can do in fewer passes. One with scores of
    another kind also writes the verbs on handles, and `asarray`.
    """

    #: A handle, or None where all rows weigh one.
    weights: Any
    #: Whether the rows are a dense NumPy array, so that `array` costs next to nothing.
    in_memory = False
    #: Which entries are there, (n, d), the others being zero; None where all are.
    observed: Array | None = None

    @property
    def dimension(self) -> int:
        """Dimension of the space that distances are measured in: that of the columns, if they are all."""
        return self.shape[1]

    @property
    def mass(self) -> float:
        """Sum of the row weights, the number of rows when there are none."""
        if self.weights is None:
            return float(self.shape[0])
        return float(self.total(lambda v: namespace(v).ones_like(v), self.weights))

    # ---------------------------------------------------------------- what an engine must write
    @abstractmethod
    def project(self, W: Array) -> Any:
        """Scores (X - m) W of B directions at once, (n, B); a vector for a vector."""

    @abstractmethod
    def pullback(self, Z: Any) -> Array:
        """Weighted sums (X - m)' diag(v) Z, (d, B); a vector for a vector."""

    @abstractmethod
    def shifted(self, center: Array) -> Rows:
        """The port to the same rows less `center`."""

    @abstractmethod
    def scaled(self, factor: float) -> Rows:
        """The port to the same rows, multiplied by `factor`, a power of two."""

    # ---------------------------------------------------------------- products
    def map_reduce(self, fn: MapReduce, W: Array, *Z: Any) -> tuple[list[Array], Array]:
        """Totals and a pullback of functions of the scores, in one pass over the data where possible.

        fn takes the scores of some rows (and the same rows of Z) and returns
        slopes, to be pulled back, and any number of values, to be summed.
        """
        slopes, *values = fn(self.project(W), *Z)
        return [self.total(_identity, value) for value in values], self.pullback(slopes)

    def gram(self, weights: Any = None) -> Array:
        """Scatter (X - m)' diag(v * weights) (X - m), (d, d)."""

        def weighted(T: Any, *w: Any) -> Any:
            return T * w[0][:, None] if w else T

        given = () if weights is None else (weights,)
        return columns(
            *(self.pullback(self.map(weighted, self.project(axes), *given)) for axes in self._axes())
        )

    def scores_and_distances(self, W: Array) -> tuple[Any, Any]:
        """Scores (n, k) and distances (n,) to the span of orthonormal columns, in one pass where possible.

        The distance is that of the residual itself: |x|^2 - |t|^2 would lose
        all digits of a row that lies in the span.
        """
        squares = None
        for axes in self._axes():
            # The projector to the complement is symmetric: products with its columns are residuals.
            T = self.project(axes - W @ (W.T @ axes))
            parts = (T,) if squares is None else (T, squares)
            squares = self.map(lambda T, *s: namespace(T).sum(T * T, axis=1) + (s[0] if s else 0.0), *parts)
        return self.project(W), self.map(lambda s: namespace(s).sqrt(s), squares)

    def norms(self) -> Any:
        """Row lengths |x_i - m|, (n,): distances to the span of nothing."""
        return self.scores_and_distances(self.asarray(np.zeros((self.shape[1], 0))))[1]

    def mean(self) -> Array:
        """Weighted mean of the rows, (d,)."""
        zero = self.project(self.asarray(np.zeros(self.shape[1])))
        return self.pullback(self.map(lambda t: namespace(t).ones_like(t), zero)) / self.mass

    def max_abs(self) -> float:
        """Largest magnitude of an entry of the data; NaN or infinite where an entry is."""
        with np.errstate(invalid="ignore"):  # products with infinite entries
            found = [self.largest(self.map(abs, self.project(axes))) for axes in self._axes()]
        return float(np.max(found, initial=0.0))

    def _axes(self) -> Iterator[Array]:
        """Coordinate axes as columns, so many at a time that their scores may be held."""
        n, d = self.shape
        for group in np.array_split(np.arange(d), max(1, -(-n * d // _AXES_ENTRIES))):
            axes = np.zeros((d, len(group)))
            axes[group, np.arange(len(group))] = 1.0
            yield self.asarray(axes)

    # ---------------------------------------------------------------- handles
    def map(self, fn: Callable[..., Any], *Z: Any) -> Any:
        """fn of scores, row by row; what comes back is a handle like its arguments."""
        parts = [fn(*(z[block] for z in Z)) for block in self._strips()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def total(self, fn: Callable[..., Any], *Z: Any) -> Array:
        """Weighted sum over rows of ``fn(*Z)``, accumulated in double precision.

        A scalar for values (n,), a vector for (n, B): a batch of directions,
        or of step sizes.
        """
        return np.asarray(sum(self._strip_total(fn, block, Z) for block in self._strips()))

    def _strip_total(self, fn: Callable[..., Any], block: slice, Z: tuple[Any, ...]) -> Array:
        values = fn(*(z[block] for z in Z))
        if self.weights is None:
            return np.asarray(values.sum(axis=0, dtype=np.float64))
        return np.asarray(self.weights[block].astype(np.float64, copy=False) @ values)

    def inner(self, Z: Any, Y: Any) -> Array:
        """Weighted products Z' diag(v) Y of two handles, (B, C), as a NumPy array."""
        Z = Z if self.weights is None else Z * self.weights[:, None]
        return np.asarray(Z.T @ Y, dtype=np.float64)

    def largest(self, Z: Any) -> float:
        """Largest value of a handle."""
        return float(Z.max(initial=0.0))

    def gather_scores(self, Z: Any, index: Array) -> Array:
        """Some rows of a handle as a NumPy array."""
        return np.asarray(Z[index])

    def single_scores(self, Z: Any, index: Array) -> tuple[Any, Any, float]:
        """Some rows of a handle in single precision, at most one in size; their weights; the factor.

        As an array that can be opened: in memory, unless the rows are on a device.
        """
        T, v = self.gather_scores(Z, index), self.gather_weights(index)
        factor = 1.0 / (float(np.abs(T).max(initial=0.0)) or 1.0)
        single = np.ascontiguousarray(factor * T, dtype=np.float32)
        return single, None if v is None else v.astype(np.float32), factor

    def to_user(self, Z: Any) -> Any:
        """A handle as an array that the user may keep."""
        return np.ascontiguousarray(Z)  # scores of a direction are contiguous here, those of a row there

    def _strips(self) -> list[slice]:
        n = self.shape[0]
        return [slice(i, i + _STRIP_ROWS) for i in range(0, n, _STRIP_ROWS)] or [slice(0, 0)]

    # ---------------------------------------------------------------- rows themselves
    def asarray(self, a: Array) -> Array:
        """A NumPy array where the rows are, in their precision."""
        return np.asarray(a, dtype=self.dtype)

    def gather_rows(self, index: Array) -> Array:
        """Some centered rows as a NumPy array, (len(index), d)."""
        self._check_loadable(len(index))
        return np.hstack([self.gather_scores(self.project(axes), index) for axes in self._axes()])

    def gather_weights(self, index: Array | None = None) -> Array | None:
        """Weights of some rows, or of all, as a NumPy array; None where all rows weigh one."""
        if self.weights is None:
            return None
        return self.gather_scores(self.weights, np.arange(self.shape[0]) if index is None else index)

    def array(self) -> Array:
        """All centered rows as an array where they are; for samples, which are small."""
        return self.asarray(self.gather_rows(np.arange(self.shape[0])))

    def subset(self, index: Array) -> Rows:
        """The port to some of the rows; in memory, unless they are on a device."""
        return self._dense(self.gather_rows(index), self.gather_weights(index))

    def subset_float64(self, index: Array) -> Rows:
        """The port to some of the rows in double precision, without their weights."""
        return self._dense(self.gather_rows(index).astype(np.float64))

    def deflated(self, W: Array) -> Rows:
        """The port to what the unit columns of W, taken out one after the other, leave of the rows."""
        from .deflated import DeflatedRows

        return DeflatedRows(self, W)

    def to_row_space(self) -> tuple[Rows, Lift]:
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

    def threads(self) -> AbstractContextManager[None]:
        """Inside, BLAS uses as many threads as suits a fit to these rows."""
        return nullcontext()

    def map_blocks(self, fn: Callable[[Rows], Any]) -> Any:
        return fn(self)

    def _dense(self, X: Array, weights: Array | None = None) -> DenseRows:
        from .dense import DenseRows

        return DenseRows(X, weights=weights)

    def _check_loadable(self, count: int) -> None:
        """Raise for so many rows that nobody can have meant to hold them in memory."""
        if count * self.shape[1] > MAX_LOADED_ENTRIES:
            size = count * self.shape[1] * self.dtype.itemsize / 2**30
            raise ValueError(
                f"a step of this method needs {count} rows of {self.shape[1]} features in memory at once, "
                f"{size:.1f} GiB. Give X as an array if you have the memory, or use TL1SubspacePCA or "
                "TL1PCA with their default parameters, which work on blocks."
            )


def _identity(a: Any) -> Any:
    return a
