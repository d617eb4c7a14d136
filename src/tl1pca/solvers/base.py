"""What every solver shares: a result as a value, and the two classical starts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import BaseEstimator

from .._arrays import namespace, to_numpy
from ..geometry import unit
from ..objectives import Dispersion
from ..rows import Rows

Array = NDArray[Any]

#: Rows shorter than this share of the longest one are too short to point anywhere.
SHORT = 1e-6


@dataclass(frozen=True)
class Solution:
    """Directions with the way that led there.

    Attributes
    ----------
    W : ndarray of shape (d, k)
    path : tuple of float
        Objective at the start and after every iteration.
    converged : bool
    """

    W: Array
    path: tuple[float, ...]
    converged: bool


class Solver(BaseEstimator, ABC):
    """Maximises a dispersion; hyper-parameters in, `Solution` out."""

    #: Whether the directions of `maximize` stay in the complement of earlier ones.
    orthogonal = True

    @abstractmethod
    def maximize(self, dispersion: Dispersion, rng: np.random.RandomState) -> Solution:
        """One direction, W of shape (d, 1)."""

    def maximize_joint(self, dispersion: Dispersion, W: Array) -> Solution:
        """All directions at once, from the orthonormal start W of shape (d, k)."""
        raise ValueError(
            f"{type(self).__name__} finds one component at a time; use extraction='greedy', "
            "or solver='auto' for a joint solution."
        )


@dataclass(frozen=True)
class Start:
    """Best sample direction: its row, the unit vector, and the objective there."""

    index: int
    w: Array
    value: float


def best_sample(dispersion: Dispersion, index: Array | None = None) -> Start:
    """The paper's start: the normalised row with the largest objective.

    Parameters
    ----------
    dispersion : Dispersion
        Its rows may be deflated.
    index : ndarray of int, optional
        Rows to consider; all by default.

    Returns
    -------
    Start
        With index -1 when every row is zero.
    """
    rows = dispersion.rows
    index = np.arange(rows.shape[0]) if index is None else index
    candidates = rows.take(index)
    length = np.linalg.norm(candidates, axis=1)
    keep = length > SHORT * length.max(initial=0.0)
    if not keep.any():
        return Start(-1, np.zeros(rows.shape[1], dtype=rows.dtype), 0.0)
    index, candidates = index[keep], candidates[keep] / length[keep, None]
    values = _sample_values(dispersion, candidates)
    best = int(np.argmax(values))
    return Start(int(index[best]), candidates[best], float(values[best]))


def _sample_values(dispersion: Dispersion, candidates: Array) -> Array:
    """Objective of every candidate, in blocks so that no n x n matrix is formed at large n."""
    step = max(1, (1 << 21) // dispersion.rows.shape[0])
    blocks = [candidates[i : i + step] for i in range(0, len(candidates), step)]
    return np.concatenate([dispersion.measure(dispersion.rows.project(block.T)) for block in blocks])


def principal_axes(rows: Rows, n_axes: int, weights: Array | None = None) -> Array:
    """Leading eigenvectors of the (re)weighted scatter, (d, n_axes), largest first."""
    n, d = rows.shape
    if d <= n:
        return rows.put(scatter_axes(to_numpy(rows.gram(weights)), n_axes)[1])
    # Fewer rows than columns: the same axes without a d x d matrix.
    A, each = rows.take(np.arange(n)), np.arange(n)
    for handle in (rows.weights, weights):
        if handle is not None:
            A = A * np.sqrt(rows.pick(handle, each))[:, None]
    axes = linalg.svd(A, full_matrices=False, check_finite=False)[2][:n_axes].T
    return rows.put(np.ascontiguousarray(axes))


def spherical_axes(rows: Rows, n_axes: int) -> Array:
    """Principal axes of the rows scaled to length one, (d, n_axes): spherical PCA (Locantore et al. 1999)."""

    def weight(length: Any) -> Any:
        xp = namespace(length)
        return xp.where(length > 0, 1.0 / xp.where(length > 0, length, xp.ones_like(length)) ** 2, length)

    return principal_axes(rows, n_axes, rows.map(weight, rows.norms()))


def scatter_axes(C: Array, n_axes: int) -> tuple[Array, Array]:
    """Leading eigenvalues and eigenvectors of a scatter matrix, largest first."""
    d = len(C)
    values, axes = linalg.eigh(C, subset_by_index=[d - n_axes, d - 1], check_finite=False)
    return values[::-1], np.ascontiguousarray(axes[:, ::-1])


def span(rows: Rows) -> int:
    """Dimension of the span of the rows."""
    n, d = rows.shape
    if d >= n or n * d <= 1 << 20:
        size = linalg.svdvals(rows.take(np.arange(n)), check_finite=False)
        return int(np.count_nonzero(size > max(n, d) * np.finfo(rows.dtype).eps * size.max(initial=0.0)))
    # Squares hide what is smaller than the root of the precision; good enough to count columns.
    squares = linalg.eigvalsh(to_numpy(rows.gram()).astype(np.float64), check_finite=False)
    floor = n * np.finfo(rows.dtype).eps * max(float(squares.max(initial=0.0)), 0.0)
    return int(np.count_nonzero(squares > floor))


def longest_row(rows: Rows) -> Array:
    """The longest row, normalised; zero if all are."""
    length = rows.pick(rows.norms(), np.arange(rows.shape[0]))
    return unit(rows.take(np.array([int(np.argmax(length))]))[0])
