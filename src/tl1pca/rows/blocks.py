"""Rows that are read in blocks, for data larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import MapReduce, Rows
from .dense import DenseRows
from .sources import Source

Array = NDArray[Any]


class BlockRows(Rows):
    """Adapter for a source; every verb reads it once, and each block is a `DenseRows`.

    In memory are three blocks of 16 MiB (or the chunks or row groups of the
    source, where these are larger), the scores (n, k) that a solver holds, and samples of
    at most 20,000 rows.

    Parameters
    ----------
    source : Source
    mean : ndarray of shape (d,), optional
        Subtracted from every row.
    weights : ndarray of shape (n,), optional
        Non-negative row weights.
    factor : float, default=1.0
        Every entry is multiplied by it, before the mean is subtracted.
    """

    def __init__(
        self, source: Source, mean: Array | None = None, weights: Array | None = None, factor: float = 1.0
    ):
        self.shape, self.dtype, self.weights = source.shape, source.dtype, weights
        self._source, self._mean, self._factor = source, mean, factor

    def map_blocks(self, fn: Callable[[Rows], Any]) -> Any:
        found = [fn(rows) for _, rows in self._parts()]
        if isinstance(found[0], tuple):
            return tuple(np.concatenate(pieces) for pieces in zip(*found))
        return np.concatenate(found)

    def project(self, W: Array) -> Array:
        T = np.empty((self.shape[0], *W.shape[1:]), dtype=self.dtype, order="F")
        for block, rows in self._parts():
            T[block] = rows.project(W)
        return T

    def pullback(self, Z: Array) -> Array:
        return self._sum(lambda block, rows: rows.pullback(Z[block]))

    def map_reduce(self, fn: MapReduce, W: Array, *Z: Array) -> tuple[list[Array], Array]:
        sums: list[Any] = []
        for block, rows in self._parts():
            totals, G = rows.map_reduce(fn, W, *(z[block] for z in Z))
            sums = [a + b for a, b in zip(sums, [G, *totals])] if sums else [G, *totals]
        return sums[1:], sums[0]

    def gram(self, weights: Array | None = None) -> Array:
        return self._sum(lambda block, rows: rows.gram(None if weights is None else weights[block]))

    def scores_and_distances(self, W: Array) -> tuple[Array, Array]:
        T = np.empty((self.shape[0], W.shape[1]), dtype=self.dtype, order="F")
        r = np.empty(self.shape[0], dtype=self.dtype)
        for block, rows in self._parts():
            T[block], r[block] = rows.scores_and_distances(W)
        return T, r

    def mean(self) -> Array:
        total = self._sum(lambda block, rows: rows.mass * rows.mean().astype(np.float64))
        return self.asarray(total / self.mass)

    def gather_rows(self, index: Array) -> Array:
        self._check_loadable(len(index))
        A = self._scaled(self._source.gather_rows(index))
        if self._mean is not None:
            A -= self._mean
        return A

    def shifted(self, center: Array) -> BlockRows:
        mean = center if self._mean is None else self._mean + center
        return BlockRows(self._source, mean, self.weights, self._factor)

    def scaled(self, factor: float) -> BlockRows:
        mean = None if self._mean is None else self._mean * self.dtype.type(factor)
        return BlockRows(self._source, mean, self.weights, self._factor * factor)

    def max_abs(self) -> float:
        return abs(self._factor) * self._source.max_abs()

    def _scaled(self, A: Array) -> Array:
        return A if self._factor == 1.0 else A * self.dtype.type(self._factor)

    def _parts(self) -> Iterator[tuple[slice, DenseRows]]:
        for block, A in self._source.blocks():
            v = None if self.weights is None else self.weights[block]
            yield block, DenseRows(self._scaled(A), self._mean, v)

    def _sum(self, fn: Callable[[slice, DenseRows], Any]) -> Array:
        total: Any = 0
        for block, rows in self._parts():
            total = total + fn(block, rows)
        return np.asarray(total)
