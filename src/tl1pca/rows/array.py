"""Rows of an array of another library: torch, CuPy, anything with the array API."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import asarray_like, cast, compat, double, namespace, to_numpy
from .._threads import one_thread
from .base import Lift, MapReduce, Rows

Array = NDArray[Any]

# Entries of a block in the verbs that need temporaries of its size: an eighth of the data, within these.
_BLOCK_ENTRIES = 1 << 22, 1 << 26
# Entries of the scores of a block: what is left of a pass beside the data.
_SCORES_ENTRIES = 1 << 27
#: Entries up to which the host is faster than a device, for the launches of small kernels.
HOST_ENTRIES = 1 << 20
# Columns of a sample up to which the host is faster than the launches of many small kernels.
HOST_COLUMNS = 256


class ArrayRows(Rows):
    """Adapter for an array (n, d) on whatever device it is, never modified.

    Handles are arrays of the same library on the same device. What leaves the
    device are totals, and rows that are asked for.

    Parameters
    ----------
    X : array of shape (n, d)
    mean : array of shape (d,), optional
        Subtracted from every row, implicitly.
    weights : array of shape (n,), optional
        Non-negative row weights.
    """

    def __init__(self, X: Any, mean: Any = None, weights: Any = None):
        self._X, self._mean, self.weights = X, mean, weights
        self._xp = namespace(X)
        self.shape = (X.shape[0], X.shape[1])
        self.dtype = np.dtype("float32" if X.dtype == self._xp.float32 else "float64")

    def project(self, W: Array) -> Any:
        T = _times(self._X, W)
        return T if self._mean is None else T - self._mean @ W

    def pullback(self, Z: Any) -> Array:
        if self.weights is not None:
            Z = Z * (self.weights if Z.ndim == 1 else self.weights[:, None])
        G = self._X.T @ Z
        if self._mean is None:
            return G
        mass = self._xp.sum(Z, axis=0)
        return G - (self._mean * mass if Z.ndim == 1 else self._mean[:, None] * mass[None, :])

    def map_reduce(self, fn: MapReduce, W: Array, *Z: Any) -> tuple[list[Array], Array]:
        xp, shift = self._xp, None if self._mean is None else self._mean @ W
        G: Any = None
        mass: Any = None
        totals: list[Any] | None = None
        for block in self._blocks(_SCORES_ENTRIES // max(W.shape[1], 1)):
            A = self._X[block, :]
            T = _times(A, W)
            if shift is not None:
                T = T - shift
            slopes, *values = fn(T, *(z[block] for z in Z))
            if self.weights is not None:
                v = self.weights[block]
                slopes = slopes * v[:, None]
                values = [value * (v if value.ndim == 1 else v[:, None]) for value in values]
            part = [xp.sum(value, axis=0, dtype=xp.float64) for value in values]
            G = A.T @ slopes if G is None else G + A.T @ slopes
            if shift is not None:
                push = xp.sum(slopes, axis=0)
                mass = push if mass is None else mass + push
            totals = part if totals is None else [a + b for a, b in zip(totals, part)]
        if mass is not None:
            G = G - self._mean[:, None] * mass[None, :]
        return [to_numpy(total) for total in totals or []], G

    def gram(self, weights: Any = None) -> Array:
        v = self.weights if weights is None else (weights if self.weights is None else self.weights * weights)
        root, C = None if v is None else self._xp.sqrt(v), self.asarray(np.zeros((self.shape[1],) * 2))
        for block in self._blocks():
            A = self._centered(block)
            A = A if root is None else A * root[block][:, None]
            C = C + A.T @ A
        return C

    def scores_and_distances(self, W: Array) -> tuple[Any, Any]:
        xp, scores, lengths = self._xp, [], []
        for block in self._blocks():
            A = self._centered(block)
            T = A @ W
            A = A - T @ W.T if W.shape[1] else A
            scores.append(T)
            lengths.append(xp.linalg.vector_norm(A, axis=1))
        return xp.concat(scores, axis=0), xp.concat(lengths, axis=0)

    def mean(self) -> Array:
        v = self.weights
        mean = self._xp.mean(self._X, axis=0) if v is None else v @ self._X / self.mass
        return mean if self._mean is None else mean - self._mean

    def map(self, fn: Callable[..., Any], *Z: Any) -> Any:
        return fn(*Z)

    def total(self, fn: Callable[..., Any], *Z: Any) -> Array:
        values = fn(*Z)
        if self.weights is not None:
            values = values * (self.weights if values.ndim == 1 else self.weights[:, None])
        return to_numpy(self._xp.sum(values, axis=0, dtype=self._xp.float64))

    def inner(self, Z: Any, Y: Any) -> Array:
        Z = Z if self.weights is None else Z * self.weights[:, None]
        return to_numpy(Z.T @ Y).astype(np.float64)

    def largest(self, Z: Any) -> float:
        return float(self._xp.max(Z))

    def gather_scores(self, Z: Any, index: Array) -> Array:
        return to_numpy(self._xp.take(Z, self._index(index), axis=0))

    def single_scores(self, Z: Any, index: Array) -> tuple[Any, Any, float]:
        xp, chosen = self._xp, self._index(index)
        T = xp.take(Z, chosen, axis=0)
        factor = 1.0 / (float(xp.max(abs(T))) or 1.0)
        v = None if self.weights is None else xp.take(self.weights, chosen, axis=0)
        return cast(factor * T, xp.float32), None if v is None else cast(v, xp.float32), factor

    def to_user(self, Z: Any) -> Any:
        return Z

    def asarray(self, a: Array) -> Array:
        return asarray_like(a, self._X)

    def gather_rows(self, index: Array) -> Array:
        A = to_numpy(self._xp.take(self._X, self._index(index), axis=0))
        return A if self._mean is None else A - to_numpy(self._mean)

    def array(self) -> Any:
        return self._centered(slice(None))

    def subset(self, index: Array) -> ArrayRows:
        chosen = self._index(index)
        weights = None if self.weights is None else self._xp.take(self.weights, chosen, axis=0)
        return ArrayRows(self._xp.take(self._X, chosen, axis=0), self._mean, weights)

    def shifted(self, center: Array) -> ArrayRows:
        return ArrayRows(self._X, center if self._mean is None else self._mean + center, self.weights)

    def to_row_space(self) -> tuple[ArrayRows, Lift]:
        Q, R = self._xp.linalg.qr(self._centered(slice(None)).T)
        return ArrayRows(R.T, weights=self.weights), lambda U: Q @ U

    def scaled(self, factor: float) -> ArrayRows:
        return ArrayRows(self._X * factor, None if self._mean is None else self._mean * factor, self.weights)

    def max_abs(self) -> float:
        blocks = self._blocks()
        ends = [(self._xp.max(self._X[b, :]), -self._xp.min(self._X[b, :])) for b in blocks]
        return float(np.max([float(end) for pair in ends for end in pair]))

    def subset_float64(self, index: Array) -> Rows:
        if self.shape[1] <= HOST_COLUMNS:
            return super().subset_float64(index)
        few = self.subset(index)
        return ArrayRows(double(few._centered(slice(None))))

    def threads(self) -> AbstractContextManager[None]:
        return one_thread()  # what is left to the host is small

    def _index(self, index: Array) -> Any:
        return self._xp.asarray(np.asarray(index, dtype=np.int64), device=compat().device(self._X))

    def _centered(self, block: slice) -> Any:
        A = self._X[block, :]
        return A if self._mean is None else A - self._mean

    def _blocks(self, step: int | None = None) -> list[slice]:
        n, d = self.shape
        least, most = _BLOCK_ENTRIES
        step = max(1, min(max(n * d // 8, least), most) // max(d, 1) if step is None else step)
        return [slice(i, min(i + step, n)) for i in range(0, n, step)]


def _times(A: Any, W: Any) -> Any:
    """A W; the transposed product reads a tall A at half the price on a GPU."""
    return (W.T @ A.T).T if W.ndim > 1 else A @ W
