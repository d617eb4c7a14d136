"""Rows of a NumPy array."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._threads import is_limited, one_thread
from .base import MANY_ROWS, Lift, MapReduce, Rows

Array = NDArray[Any]

# Below this many entries a centered copy costs less than one iteration and is
# exact when the mean is large; above it the mean is subtracted from products.
_COPIED_ENTRIES = 1 << 18
# Entries of one block of rows in the products that need a temporary.
_BLOCK_ENTRIES = 1 << 16
# Bytes of a block in `map_reduce`, where it is read twice and should still be in cache.
_CACHED_BYTES = 1 << 19
# Multiplications of a product up to which OpenBLAS leaves the operands where they are.
_UNPACKED_PRODUCT = 950_000
# Entries of the data for each thread, at least, and the most threads: beyond, memory is the limit,
# and the interpreter, which lets one thread at a time through to the next product.
THREADED_ENTRIES, _MOST_THREADS = 1 << 20, 8
# With more threads than two, blocks are so many times as long: fewer visits to the interpreter.
_LONGER = 8
# Columns up to which a decomposition is worth no second thread.
NARROW_COLUMNS = 500


class DenseRows(Rows):
    """Adapter for an in-memory array of shape (n, d), never modified.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    mean : ndarray of shape (d,), optional
        Subtracted from every row, implicitly when X is large.
    weights : ndarray of shape (n,), optional
        Non-negative row weights.
    """

    in_memory = True

    def __init__(self, X: Array, mean: Array | None = None, weights: Array | None = None):
        if mean is not None and not mean.any():
            mean = None
        if mean is not None and X.size <= _COPIED_ENTRIES:
            X, mean = X - mean, None
        self._X, self._mean = X, mean
        self.shape = (X.shape[0], X.shape[1])
        self.dtype = X.dtype
        self.weights = weights

    def project(self, W: Array) -> Array:
        if self._small() and W.ndim == 1:
            return self._X @ W
        # The transpose, so that the scores of one direction are contiguous.
        T = np.empty((*W.shape[1:], self.shape[0]), dtype=np.result_type(self._X, W)).T

        def work(blocks: list[slice]) -> list[Any]:
            for block in blocks:
                T[block] = self._X[block] @ W
            return []

        _spread(work, self._blocks(), self.shape)
        if self._mean is not None:
            T -= self._mean @ W
        return T

    def pullback(self, Z: Array) -> Array:
        if self.weights is not None:
            Z = Z * (self.weights if Z.ndim == 1 else self.weights[:, None])
        if self._small():
            return self._X.T @ Z
        longer = self._longer()

        def work(blocks: list[slice]) -> list[Any]:
            return [sum(_pulled_back(self._X[block], Z[block], longer) for block in blocks)]

        G = sum(part for (part,) in _spread(work, self._blocks(), self.shape))
        return G if self._mean is None else G - _outer(self._mean, Z.sum(axis=0))

    def map_reduce(self, fn: MapReduce, W: Array, *Z: Array) -> tuple[list[Array], Array]:
        shift = None if self._mean is None else self._mean @ W
        # Rows of a block are still in cache when their slopes are pulled back.
        cached = _CACHED_BYTES // max(self.shape[1] * self.dtype.itemsize, 1)
        step = max(16, min(cached, _UNPACKED_PRODUCT // max(W.size, 1)))
        longer = self._longer()
        step *= longer
        ones = np.ones(step, dtype=self.dtype)

        def work(blocks: list[slice]) -> list[Any]:
            sums: list[Any] = []
            for block in blocks:
                A = self._X[block]
                T = A @ W
                if shift is not None:
                    T -= shift
                slopes, *values = fn(T, *(z[block] for z in Z))
                v = ones[: len(A)] if self.weights is None else self.weights[block]
                if self.weights is not None:
                    slopes = slopes * v[:, None]
                part = [
                    _pulled_back(A, slopes, longer),
                    ones[: len(A)] @ slopes,
                    *(np.float64(v @ value) for value in values),
                ]
                sums = [a + b for a, b in zip(sums, part)] if sums else part
            return sums

        G, mass, *totals = (sum(parts) for parts in zip(*_spread(work, self._blocks(step), self.shape)))
        if self._mean is not None:
            G = G - np.outer(self._mean, mass)
        return totals, G

    def gram(self, weights: Array | None = None) -> Array:
        v = _product(self.weights, weights)
        root = None if v is None else np.sqrt(v)

        def work(blocks: list[slice]) -> list[Any]:
            C = np.zeros((self.shape[1], self.shape[1]), dtype=self.dtype)
            for block in blocks:
                A = self._centered(block)
                A = A if root is None else A * root[block, None]
                C += A.T @ A  # one array twice: BLAS computes half of it
            return [C]

        if self.shape[1] > NARROW_COLUMNS:  # one, with the threads of BLAS: many would be large
            return work(self._blocks(max(256, _BLOCK_ENTRIES // self.shape[1])))[0]
        return sum(part for (part,) in _spread(work, self._blocks(), self.shape))

    def scores_and_distances(self, W: Array) -> tuple[Array, Array]:
        T = np.empty((self.shape[0], W.shape[1]), dtype=self.dtype, order="F")
        r = np.empty(self.shape[0], dtype=self.dtype)
        cross = W.T @ W - 2.0 * np.eye(W.shape[1], dtype=W.dtype)  # not quite minus one: W is rounded

        def work(blocks: list[slice]) -> list[Any]:
            for block in blocks:
                T[block], squares = _scores_and_left(self._centered(block), W, cross)
                r[block] = np.sqrt(squares)
            return []

        _spread(work, self._blocks(), self.shape)
        return T, r

    def mean(self) -> Array:
        mean = np.average(self._X, axis=0, weights=self.weights).astype(self.dtype)
        return mean if self._mean is None else mean - self._mean

    def threads(self) -> AbstractContextManager[None]:
        # Large products are shared here, by rows; what is left is small, but for wide decompositions.
        small = self.shape[1] <= NARROW_COLUMNS or self._X.size <= THREADED_ENTRIES
        return one_thread() if small else nullcontext()

    def max_abs(self) -> float:
        def work(blocks: list[slice]) -> list[Any]:
            ends = [(self._X[block].max(initial=0.0), self._X[block].min(initial=0.0)) for block in blocks]
            return [np.max(np.abs(ends), initial=0.0)]

        return float(np.max(_spread(work, self._blocks(), self.shape)))

    def scaled(self, factor: float) -> DenseRows:
        mean = None if self._mean is None else self._mean * self.dtype.type(factor)
        return DenseRows(self._X * self.dtype.type(factor), mean, self.weights)

    def map(self, fn: Callable[..., Any], *Z: Any) -> Any:
        if self._small():
            return fn(*Z)

        def work(blocks: list[slice]) -> list[Any]:
            return [fn(*(z[block] for z in Z)) for block in blocks]

        found = [part for parts in _spread(work, self._strips(), _extent(Z)) for part in parts]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def total(self, fn: Callable[..., Any], *Z: Any) -> Array:
        if self._small():
            return self._strip_total(fn, slice(None), Z)

        def work(blocks: list[slice]) -> list[Any]:
            return [self._strip_total(fn, block, Z) for block in blocks]

        # Added in the order of the strips, whatever the number of threads.
        return np.asarray(sum(part for parts in _spread(work, self._strips(), _extent(Z)) for part in parts))

    def gather_rows(self, index: Array) -> Array:
        A = self._X[index]
        return A if self._mean is None else A - self._mean

    def array(self) -> Array:
        return self._centered(slice(None))

    def deflated(self, W: Array) -> Rows:
        if self.shape[0] > MANY_ROWS:
            return super().deflated(W)
        A = self.array()
        for w in W.T:
            A = A - np.outer(A @ w, w)
        return DenseRows(A, weights=self.weights)

    def shifted(self, center: Array) -> DenseRows:
        return DenseRows(self._X, center if self._mean is None else self._mean + center, self.weights)

    def to_row_space(self) -> tuple[DenseRows, Lift]:
        (reflectors, factors), R = linalg.qr(self.array().T, mode="raw", check_finite=False)
        apply: Any = linalg.get_lapack_funcs("ormqr", (reflectors,))

        def lift(U: Array) -> Array:
            """Q U, by the reflectors that Q is made of: forming it would cost as much as they did."""
            V = np.zeros((len(reflectors), U.size // len(U)), dtype=self.dtype, order="F")
            V[: len(U)] = U.reshape(len(U), -1)
            size = int(apply("L", "N", reflectors, factors, V, -1)[1][0])
            return apply("L", "N", reflectors, factors, V, size, overwrite_c=1)[0].reshape(-1, *U.shape[1:])

        return DenseRows(np.ascontiguousarray(R.T), weights=self.weights), lift

    def _centered(self, block: slice) -> Array:
        A = self._X[block]
        return A if self._mean is None else A - self._mean

    def _small(self) -> bool:
        """Whether all is one block, on one thread: sharing it out would take longer than a product."""
        return self._mean is None and self._X.size <= _BLOCK_ENTRIES and is_limited()

    def _longer(self) -> int:
        return _LONGER if _workers(self.shape) > 2 else 1

    def _blocks(self, step: int | None = None) -> list[slice]:
        n, d = self.shape
        step = step or max(16, _BLOCK_ENTRIES // max(d, 1)) * self._longer()
        return [slice(i, i + step) for i in range(0, n, step)] or [slice(0, 0)]


def _workers(shape: tuple[int, int]) -> int:
    """Threads for a pass over so many entries, within what cores and the usual variables allow."""
    worth = min(_MOST_THREADS, shape[0] * shape[1] // THREADED_ENTRIES)
    return 1 if worth <= 1 else min(worth, _allowed())


def _allowed() -> int:
    """The cores of this process, or what the usual variables allow."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    allowed = [int(value) for value in map(os.environ.get, names) if value and value.isdigit()]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([cores, *allowed]))


def _scores_and_left(A: Array, W: Array, cross: Array) -> tuple[Array, Array]:
    """Scores A W and the squared lengths of what they leave, |a - W t|^2 = |a|^2 + t' (W'W - 2) t.

    Half the work of the residuals themselves, which are formed where the difference loses too many digits.
    """
    T = A @ W
    whole = np.einsum("ij,ij->i", A, A)
    left = whole + np.einsum("ij,ij->i", T @ cross, T)
    canceled = np.flatnonzero(left <= np.cbrt(np.finfo(A.dtype).eps) * whole)
    if len(canceled):
        rest = T[canceled] @ W.T - A[canceled]
        left[canceled] = np.einsum("ij,ij->i", rest, rest)
    return T, left


def _spread(
    work: Callable[[list[slice]], list[Any]], blocks: list[slice], shape: tuple[int, int]
) -> list[Any]:
    """Results of `work` on consecutive shares of the blocks, one for each thread, in order.

    BLAS leaves the products of a block to the thread that asks for them.
    """
    n_workers = min(_workers(shape), len(blocks)) if len(blocks) > 1 else 1
    if n_workers == 1:
        if is_limited():
            return [work(blocks)]
        with one_thread():
            return [work(blocks)]
    size = -(-len(blocks) // n_workers)
    with one_thread(), ThreadPoolExecutor(n_workers) as pool:
        return list(pool.map(work, [blocks[i : i + size] for i in range(0, len(blocks), size)]))


def _extent(Z: tuple[Any, ...]) -> tuple[int, int]:
    """Rows and columns of handles, taken as four times as many: functions cost more than products."""
    return len(Z[0]), 4 * (Z[0].shape[1] if Z[0].ndim > 1 else 1)


def _pulled_back(A: Array, Z: Array, longer: int) -> Array:
    """A' Z. One column among many threads is left to NumPy: in OpenBLAS eight take as long as one."""
    if longer == 1 or Z.size != len(Z):
        return A.T @ Z
    return np.einsum("ij,i->j", A, Z.reshape(len(Z))).reshape(-1, *Z.shape[1:])


def _outer(w: Array, s: Array) -> Array:
    return w * s if s.ndim == 0 else np.outer(w, s)


def _product(v: Array | None, w: Array | None) -> Array | None:
    return w if v is None else (v if w is None else v * w)
