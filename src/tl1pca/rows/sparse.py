"""Rows of a scipy.sparse matrix, centered without being filled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .base import MapReduce, Rows
from .dense import DenseRows

Array = NDArray[Any]

# Entries of a block of rows, or of columns, that is filled in.
_FILLED_ENTRIES = 1 << 22
# Rows of a block in a pass.
_BLOCK_ROWS = 1 << 13
# Share of entries stored from which blocks filled in multiply faster than sparse ones.
_DENSE_SHARE = 0.05
# Columns whose scatter matrix, 3.2 GB in double precision, is still formed.
_GRAM_COLUMNS = 20_000
# Squared distances below this share of the squares they are the difference of are computed anew.
_CANCELED_SHARE = 1e-4


class SparseRows(Rows):
    """Adapter for a CSR matrix (n, d), never modified and never filled in as a whole.

    Products are sparse and the mean is subtracted from them. A distance is
    first the difference of squares; where that has lost digits, the row lies
    close to the mean or to the subspace, and is filled in, block by block.

    Parameters
    ----------
    X : csr_array or csr_matrix of shape (n, d)
        In float32 or float64.
    mean : ndarray of shape (d,), optional
        Subtracted from every row, implicitly.
    weights : ndarray of shape (n,), optional
        Non-negative row weights.
    """

    def __init__(self, X: Any, mean: Array | None = None, weights: Array | None = None):
        self.shape, self.dtype, self.weights = (X.shape[0], X.shape[1]), X.dtype, weights
        X = X if isinstance(X, sparse.csr_array) else sparse.csr_array(X)
        if not X.has_canonical_format:  # entries given twice are sums, which squares must not miss
            X = X.copy()
            X.sum_duplicates()
        self._X, self._mean = X, mean

    def project(self, W: Array) -> Array:
        T = np.asarray(self._X @ W)
        return T if self._mean is None else T - self._mean @ W

    def pullback(self, Z: Array) -> Array:
        if self.weights is not None:
            Z = Z * (self.weights if Z.ndim == 1 else self.weights[:, None])
        G = np.asarray(self._X.T @ Z)
        return G if self._mean is None else G - np.multiply.outer(self._mean, Z.sum(axis=0))

    def map_reduce(self, fn: MapReduce, W: Array, *Z: Array) -> tuple[list[Array], Array]:
        sums: list[Any] = []
        for block, part in self._blocks(_BLOCK_ROWS):
            slopes, *values = fn(part.project(W), *(z[block] for z in Z))
            totals = [part.total(lambda value: value, value) for value in values]
            new = [part.pullback(slopes), *totals]
            sums = [a + b for a, b in zip(sums, new)] if sums else new
        return sums[1:], sums[0]

    def gram(self, weights: Array | None = None) -> Array:
        n, d = self.shape
        if d > _GRAM_COLUMNS:
            raise ValueError(
                f"this method needs the {d} x {d} scatter matrix of sparse data, which is formed for at most "
                f"{_GRAM_COLUMNS} features. Keep fewer features, or project them at random first "
                "(sklearn.random_projection)."
            )
        if self._X.nnz > _DENSE_SHARE * n * d:
            parts = (
                part._filled().gram(None if weights is None else weights[b])
                for b, part in self._blocks(_FILLED_ENTRIES // max(d, 1))
            )
            return np.asarray(sum(parts))
        v = np.ones(n) if self.weights is None else self.weights
        v = (v if weights is None else v * weights).astype(self.dtype, copy=False)
        A = _scale_rows(self._X, v)
        C, right = np.empty((d, d), dtype=self.dtype), self._X.tocsc()
        step = max(1, _FILLED_ENTRIES // max(d, 1))
        for i in range(0, d, step):
            C[:, i : i + step] = (A.T @ right[:, i : i + step]).toarray()
        if self._mean is not None:
            # Harmless where data are sparse: a mean square is at most the share of non-zeros of the square.
            cross = np.multiply.outer(self._mean, np.asarray(A.sum(axis=0)))
            C += v.sum() * np.multiply.outer(self._mean, self._mean) - cross - cross.T
        return C

    def scores_and_distances(self, W: Array) -> tuple[Array, Array]:
        T = np.empty((self.shape[0], W.shape[1]), dtype=self.dtype, order="F")
        r = np.empty(self.shape[0], dtype=self.dtype)
        for block, part in self._blocks(_BLOCK_ROWS):
            T[block], r[block] = part._split(W)
        return T, r

    def mean(self) -> Array:
        v = np.ones(self.shape[0]) if self.weights is None else self.weights.astype(np.float64)
        mean = np.asarray(self._X.T @ v) / v.sum()
        return self.asarray(mean if self._mean is None else mean - self._mean)

    def gather_rows(self, index: Array) -> Array:
        self._check_loadable(len(index))
        A = self._X[index].toarray()
        return A if self._mean is None else A - self._mean

    def subset(self, index: Array) -> SparseRows:
        return SparseRows(self._X[index], self._mean, self.gather_weights(index))

    def shifted(self, center: Array) -> SparseRows:
        return SparseRows(self._X, center if self._mean is None else self._mean + center, self.weights)

    def scaled(self, factor: float) -> SparseRows:
        size = self.dtype.type(factor)
        return SparseRows(self._X * size, None if self._mean is None else self._mean * size, self.weights)

    def max_abs(self) -> float:
        return float(np.abs(self._X.data).max(initial=0.0))

    def _blocks(self, step: int) -> Iterator[tuple[slice, SparseRows]]:
        """Blocks of consecutive rows, as views."""
        X, (n, d) = self._X, self.shape
        step = max(1, step)
        for i in range(0, n, step):
            rows = slice(i, min(i + step, n))
            edges = X.indptr[rows.start : rows.stop + 1]
            stored = slice(edges[0], edges[-1])
            part = sparse.csr_array(
                (X.data[stored], X.indices[stored], edges - edges[0]), shape=(rows.stop - i, d)
            )
            part.has_canonical_format = True
            yield rows, SparseRows(part, self._mean, None if self.weights is None else self.weights[rows])

    def _filled(self) -> DenseRows:
        return DenseRows(self._X.toarray(), self._mean, self.weights)

    def _split(self, W: Array) -> tuple[Array, Array]:
        """Scores and distances of a block, in double precision as long as squares are subtracted."""
        X, m = self._X.astype(np.float64, copy=False), self._mean
        T = X @ W.astype(np.float64)
        large = _square_sums(X)
        left = large.copy()
        if m is not None:
            m = m.astype(np.float64)
            T -= m @ W
            large += m @ m
            left += m @ m - 2.0 * (X @ m)
        left -= np.einsum("ij,ij->i", T, T)
        r = np.sqrt(np.maximum(left, 0.0)).astype(self.dtype)
        canceled = np.flatnonzero(left <= _CANCELED_SHARE * large)
        for few in _pieces(canceled, _FILLED_ENTRIES // max(self.shape[1], 1)):
            r[few] = self.subset(few)._filled().scores_and_distances(W)[1]
        return T, r


def _square_sums(X: Any) -> Array:
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.bincount(rows, weights=X.data * X.data, minlength=X.shape[0])


def _scale_rows(X: Any, v: Array) -> Any:
    data = X.data * np.repeat(v, np.diff(X.indptr))
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


def _pieces(index: Array, step: int) -> list[Array]:
    return [index[i : i + max(1, step)] for i in range(0, len(index), max(1, step))]
