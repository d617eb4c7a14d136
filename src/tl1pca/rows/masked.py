"""Rows of which some entries are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import asarray_like, namespace, to_numpy
from .base import Rows
from .dense import DenseRows

Array = NDArray[Any]


class MaskedRows(DenseRows):
    """Adapter for an array with NaN where an entry is missing: a centered row is zero there.

    Products, lengths and scatters are then sums over what is observed, and so
    is the distance to a subspace, whose scores are those of least squares.

    Parameters
    ----------
    X : array of shape (n, d)
        Of any library; worked on in NumPy.
    weights : ndarray of shape (n,), optional
    like : array, optional
        The user gets arrays of its library, on its device; by default those of X.
    """

    observed: Array

    def __init__(self, X: Any, weights: Array | None = None, like: Any = None):
        host = to_numpy(X)
        self._like, self.observed = X[:0, ...] if like is None else like, ~np.isnan(host)
        super().__init__(np.where(self.observed, host, host.dtype.type(0)), weights=weights)

    def scores_and_distances(self, W: Array) -> tuple[Array, Array]:
        A = self.array()
        T = weighted_least_squares(A, W, self.observed).astype(self.dtype)
        rest = np.where(self.observed, A - T @ W.T, 0.0)
        return T, np.sqrt(np.einsum("ij,ij->i", rest, rest))

    def mean(self) -> Array:
        v = np.ones(self.shape[0]) if self.weights is None else self.weights
        return self.asarray(v @ self.array() / (v @ self.observed))

    def shifted(self, center: Array) -> MaskedRows:
        return MaskedRows(self._marked() - center, self.weights, self._like)

    def scaled(self, factor: float) -> MaskedRows:
        return MaskedRows(self._marked() * self.dtype.type(factor), self.weights, self._like)

    def subset(self, index: Array) -> MaskedRows:
        return MaskedRows(self._marked()[index], self.gather_weights(index), self._like)

    def to_user(self, Z: Array) -> Any:
        return asarray_like(Z, self._like)

    def _marked(self) -> Array:
        return np.where(self.observed, self.array(), self.dtype.type(np.nan))


def mask_missing(rows: Rows) -> Rows:
    """The port to rows at hand in which NaN says that an entry is missing; as it is where none does."""
    X: Any = rows.array()
    return MaskedRows(X, rows.weights) if bool(namespace(X).any(namespace(X).isnan(X))) else rows


def weighted_least_squares(X: Array, basis: Array, weights: Array) -> Array:
    """Coefficients (n, k) of each row of X (n, d) in basis (d, k), entries with weights (n, d).

    The shortest solution where there are several: a row without weight gets zeros.
    """
    k = basis.shape[1]
    products = (basis[:, :, None] * basis[:, None, :]).reshape(-1, k * k)
    # A pseudo-inverse, for rows with fewer observed entries than components.
    inverse = np.linalg.pinv((weights @ products).reshape(-1, k, k), rcond=1e-13, hermitian=True)
    return np.asarray(inverse @ ((weights * X) @ basis)[:, :, None], dtype=float)[:, :, 0]
