"""Coordinates for the rows between and within classes: those that the rows within span."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..rows import DenseRows
from ..statistics import weighted_median

__all__ = ["EQUAL_ROWS", "reduced", "spherical"]

Array = NDArray[Any]

#: Reweightings of the scatter within the classes, and its least shrinkage, which keeps it regular.
SCATTER_STEPS, LEAST_SHRINKAGE = 10, 1e-6

EQUAL_ROWS = "The rows of each class are all equal: the quotient is infinite, and any rule tells them."


def reduced(total: Array, above: DenseRows, below: DenseRows) -> tuple[DenseRows, DenseRows, Array]:
    """Both sets of rows on the first principal axes of all rows, as many as the rows within span there."""
    S, B = below.array(), above.array()
    P = np.eye(S.shape[1])
    axes: Array | None = None
    while (rank := _rank(S @ P)) < P.shape[1]:
        if rank == 0:
            raise ValueError(EQUAL_ROWS)
        axes = linalg.svd(total, full_matrices=False)[2].T if axes is None else axes
        P = axes[:, : min(rank, axes.shape[1])]
    return DenseRows(B @ P, weights=above.weights), DenseRows(S @ P, weights=below.weights), P


def spherical(total: Array, above: DenseRows, below: DenseRows) -> tuple[DenseRows, DenseRows, Array]:
    """Both sets of rows in coordinates of the span of all rows in which those within are spherical."""
    S, B = below.array(), above.array()
    if not S.any():
        raise ValueError(EQUAL_ROWS)
    _, s, axes = linalg.svd(total, full_matrices=False)
    axes = axes[s > 1e-9 * s.max()].T
    e, Q = linalg.eigh(_shrunk_scatter(S @ axes, below.weights))
    P = axes @ (Q / np.sqrt(e))
    return DenseRows(B @ P, weights=above.weights), DenseRows(S @ P, weights=below.weights), P


def _shrunk_scatter(S: Array, u: Array) -> Array:
    """Scatter of rows by weights 1/(1 + d^2)^2, d the distance in medians, shrunk (Ledoit and Wolf 2004)."""
    n, r = float(u.sum()), S.shape[1]
    V = np.eye(r)
    for _ in range(SCATTER_STEPS):
        square, middle = _squared_distances(S, u, V)
        with np.errstate(over="ignore"):  # a row that far has no weight
            Y = S / (1.0 + square / middle)[:, None]
        C = (Y.T * u) @ Y / n
        mean = float(np.trace(C)) / r
        if mean == 0.0:  # next to what is between the classes
            raise ValueError(EQUAL_ROWS)
        apart = float(((C - mean * np.eye(r)) ** 2).sum())
        error = (float(u @ (Y**2).sum(axis=1) ** 2) / n - float((C**2).sum())) / n
        gamma = min(1.0, max(LEAST_SHRINKAGE, error / apart)) if apart > 0 else 1.0
        V = ((1.0 - gamma) * C + gamma * mean * np.eye(r)) / mean
    return V * (_squared_distances(S, u, V)[1] / r)


def _squared_distances(S: Array, u: Array, V: Array) -> tuple[Array, float]:
    """Squared distances of rows by the scatter V, and a typical one: half of them may be zero."""
    square = np.einsum("ij,ji->i", S, linalg.solve(V, S.T, assume_a="pos"))
    return square, float(weighted_median(square, u)) or float(square.max())


def _rank(A: Array) -> int:
    s = linalg.svdvals(A)
    return int(np.count_nonzero(s > 1e-9 * s.max(initial=0.0)))
