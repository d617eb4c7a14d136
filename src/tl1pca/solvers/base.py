"""What every solver shares: a result as a value, and the two classical starts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import BaseEstimator

from .._arrays import like, namespace, to_numpy
from ..geometry import orthonormalize, unit
from ..objectives import Dispersion
from ..rows import Rows
from ..statistics import some_rows

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
        return rows.put(scatter_axes(rows.gram(weights), n_axes)[1])
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

    w = rows.map(weight, rows.norms())
    n, d = rows.shape
    wide = n_axes + 20
    if d <= 4 * wide or n <= d:
        return principal_axes(rows, n_axes, w)
    # Subspace iteration from some of the rows: no d x d matrix, and as good as a start needs it.
    Q = orthonormalize(rows.put(rows.take(some_rows(n, wide))).T)
    for _ in range(4):
        Q = orthonormalize(rows.pullback(rows.map(lambda t, w: t * w[:, None], rows.project(Q), w)))
    T = rows.project(Q)
    C = rows.inner(rows.map(lambda t, w: t * w[:, None], T, w), T)
    return Q @ rows.put(scatter_axes(C, n_axes)[1])


def scatter_axes(C: Array, n_axes: int, rough: bool = False) -> tuple[Array, Array]:
    """Leading eigenvalues and eigenvectors of a scatter matrix as NumPy arrays, largest first.

    A few axes of a large matrix come from subspace iteration where that
    converges, or as far as it came where rough ones will do.
    """
    d, wide = C.shape[0], n_axes + 20
    if d > 4 * wide:
        values, axes, error = _subspace_iteration(C, wide, n_axes, (4,) if rough else (6, 6, 12))
        if rough or error <= 1e-11 * float(values[0]):
            return values[:n_axes], axes[:, :n_axes]
    values, axes = linalg.eigh(to_numpy(C), subset_by_index=[d - n_axes, d - 1], check_finite=False)
    return values[::-1], np.ascontiguousarray(axes[:, ::-1])


def _subspace_iteration(
    C: Array, wide: int, n_axes: int, bouts: tuple[int, ...]
) -> tuple[Array, Array, float]:
    """Ritz pairs of C after bouts of multiplications, and the largest residual of the first `n_axes`."""
    Q = orthonormalize(like(np.random.RandomState(0).standard_normal((C.shape[0], wide)), C))
    for steps in bouts:
        for _ in range(steps):
            Q = orthonormalize(C @ Q)
        image = C @ Q
        values, turn = np.linalg.eigh(to_numpy(Q.T @ image))
        values, turn = values[::-1], like(np.ascontiguousarray(turn[:, ::-1]), C)
        Q, image = Q @ turn, image @ turn
        rest = to_numpy((image - Q * like(values, C))[:, :n_axes])
        error = float(np.sqrt(np.einsum("ij,ij->j", rest, rest).max(initial=0.0)))
        if error <= 1e-11 * float(values[0]):
            break
    return values, to_numpy(Q), error


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
