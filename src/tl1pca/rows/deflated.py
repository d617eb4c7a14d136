"""Rows without what earlier directions explain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import columns, to_numpy
from .base import MapReduce, Rows

Array = NDArray[Any]


class DeflatedRows(Rows):
    """Rows with directions taken out one after the other: x <- x - (x.w) w.

    The directions need not be orthogonal to each other (sparse methods), so
    the product of the (I - w w') is kept as P = I - W S W' with a triangular
    S. The data are not touched: P acts on directions and on pullbacks.
    """

    def __init__(self, rows: Rows, directions: Array):
        self._rows, self._W = rows, directions
        self.shape, self.dtype, self.weights = rows.shape, rows.dtype, rows.weights
        k = directions.shape[1]
        S = np.zeros((k, k), dtype=rows.dtype)
        inner = to_numpy(directions.T @ directions)
        for j in range(k):
            S[j, j] = 1.0
            S[:j, j] = -S[:j, :j] @ inner[:j, j]
        self._S = rows.asarray(S)

    def project(self, W: Array) -> Any:
        return self._rows.project(self._seen(W))

    def pullback(self, Z: Any) -> Array:
        return self._clean(self._rows.pullback(Z))

    def map_reduce(self, fn: MapReduce, W: Array, *Z: Any) -> tuple[list[Array], Array]:
        totals, G = self._rows.map_reduce(fn, self._seen(W), *Z)
        return totals, self._clean(G)

    def gram(self, weights: Any = None) -> Array:
        return self._clean(self._clean(self._rows.gram(weights)).T)

    def norms(self) -> Any:
        inner = to_numpy(self._W.T @ self._W)
        orthonormal = np.abs(inner - np.eye(len(inner))).max(initial=0.0) < 1e-6
        return self._rows.scores_and_distances(self._W)[1] if orthonormal else super().norms()

    def mean(self) -> Array:
        return self._clean(self._rows.mean())

    def map(self, fn: Callable[..., Any], *Z: Any) -> Any:
        return self._rows.map(fn, *Z)

    def total(self, fn: Callable[..., Any], *Z: Any) -> Array:
        return self._rows.total(fn, *Z)

    def inner(self, Z: Any, Y: Any) -> Array:
        return self._rows.inner(Z, Y)

    def largest(self, Z: Any) -> float:
        return self._rows.largest(Z)

    def gather_scores(self, Z: Any, index: Array) -> Array:
        return self._rows.gather_scores(Z, index)

    def to_user(self, Z: Any) -> Any:
        return self._rows.to_user(Z)

    def asarray(self, a: Array) -> Array:
        return self._rows.asarray(a)

    def gather_rows(self, index: Array) -> Array:
        A, W, S = self._rows.gather_rows(index), to_numpy(self._W), to_numpy(self._S)
        return np.asarray(A - ((A @ W) @ S) @ W.T)

    def array(self) -> Array:
        A = self._rows.array()
        return A - ((A @ self._W) @ self._S) @ self._W.T

    def deflated(self, W: Array) -> Rows:
        return DeflatedRows(self._rows, columns(self._W, W))

    def subset(self, index: Array) -> Rows:
        return DeflatedRows(self._rows.subset(index), self._W)

    def shifted(self, center: Array) -> Rows:
        return DeflatedRows(self._rows.shifted(center), self._W)

    def scaled(self, factor: float) -> Rows:
        return DeflatedRows(self._rows.scaled(factor), self._W)

    def max_abs(self) -> float:
        return self._rows.max_abs()

    def _seen(self, W: Array) -> Array:
        return W - self._W @ (self._S @ (self._W.T @ W))

    def _clean(self, G: Array) -> Array:
        return G - self._W @ (self._S.T @ (self._W.T @ G))
