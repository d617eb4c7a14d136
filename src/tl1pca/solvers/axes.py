"""Classical and spherical axes of the rows, and how many dimensions they span."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._arrays import asarray_like, namespace, to_numpy
from ..geometry import orthonormalize
from ..rows import Rows
from ..statistics import subsample

Array = NDArray[Any]


def principal_axes(rows: Rows, n_axes: int, weights: Array | None = None) -> Array:
    """Leading eigenvectors of the (re)weighted scatter, (d, n_axes), largest first."""
    n, d = rows.shape
    if d <= n:
        return rows.asarray(scatter_axes(rows.gram(weights), n_axes)[1])
    # Fewer rows than columns: the same axes without a d x d matrix.
    A, each = rows.gather_rows(np.arange(n)), np.arange(n)
    for handle in (rows.weights, weights):
        if handle is not None:
            A = A * np.sqrt(rows.gather_scores(handle, each))[:, None]
    axes = linalg.svd(A, full_matrices=False, check_finite=False)[2][:n_axes].T
    return rows.asarray(np.ascontiguousarray(axes))


def spherical_axes(rows: Rows, n_axes: int) -> Array:
    """Principal axes of the rows scaled to length one, (d, n_axes): spherical PCA (Locantore et al. 1999)."""

    def weight(length: Any) -> Any:
        xp = namespace(length)
        return xp.where(length > 0, 1.0 / xp.where(length > 0, length, xp.ones_like(length)) ** 2, length)

    w = rows.map(weight, rows.norms())
    n, d = rows.shape
    wide = n_axes + 20
    if min(n, d) <= 4 * wide:
        return principal_axes(rows, n_axes, w)
    # Subspace iteration from some of the rows: no d x d matrix, and as good as a start needs it.
    Q = orthonormalize(rows.asarray(rows.gather_rows(subsample(n, wide))).T)
    for _ in range(4):
        Q = orthonormalize(rows.pullback(rows.map(lambda t, w: t * w[:, None], rows.project(Q), w)))
    T = rows.project(Q)
    C = rows.inner(rows.map(lambda t, w: t * w[:, None], T, w), T)
    return Q @ rows.asarray(scatter_axes(C, n_axes)[1])


def scatter_axes(C: Array, n_axes: int, rough: bool = False) -> tuple[Array, Array]:
    """Leading eigenvalues and eigenvectors of a scatter matrix as NumPy arrays, largest first.

    A few axes of a large matrix come from subspace iteration where that
    converges, or as far as it came where rough ones will do.
    """
    d, wide = C.shape[0], n_axes + 20
    if d > 4 * wide:
        start = asarray_like(np.random.RandomState(0).standard_normal((d, wide)), C)
        bouts = (4,) if rough else (6, 6, 12)
        values, axes, error = _subspace_iteration(lambda Q: C @ Q, start, n_axes, bouts)
        if rough or error <= 1e-11 * float(values[0]):
            return values[:n_axes], axes[:, :n_axes]
    values, axes = linalg.eigh(to_numpy(C), subset_by_index=[d - n_axes, d - 1], check_finite=False)
    return values[::-1], np.ascontiguousarray(axes[:, ::-1])


def symmetric_axes(C: Array) -> tuple[Array, Array]:
    """All eigenvalues of a scatter matrix, ascending, and eigenvectors, as NumPy arrays."""
    if isinstance(C, np.ndarray):
        values, axes = linalg.eigh(C, check_finite=False)
        return values, axes
    values, axes = namespace(C).linalg.eigh(C)
    return to_numpy(values), to_numpy(axes)


def row_axes(A: Array, n_axes: int) -> tuple[Array, Array]:
    """`scatter_axes` of A'A for rows A (n, d) in memory: for few axes of many columns it is never formed."""
    d, wide = A.shape[1], n_axes + 20
    if min(A.shape) > 4 * wide:
        start = np.random.RandomState(0).standard_normal((d, wide))
        values, axes, error = _subspace_iteration(lambda Q: A.T @ (A @ Q), start, n_axes, (6, 6, 12))
        if error <= 1e-11 * float(values[0]):
            return values[:n_axes], axes[:, :n_axes]
    return scatter_axes(A.T @ A, n_axes)


def _subspace_iteration(
    apply: Callable[[Array], Array], Q: Array, n_axes: int, bouts: tuple[int, ...]
) -> tuple[Array, Array, float]:
    """Ritz pairs of a scatter after bouts of multiplications, and the largest residual of the first ones."""
    Q = orthonormalize(Q)
    for steps in bouts:
        for _ in range(steps):
            Q = orthonormalize(apply(Q))
        image = apply(Q)
        values, turn = np.linalg.eigh(to_numpy(Q.T @ image))
        values, turn = values[::-1], asarray_like(np.ascontiguousarray(turn[:, ::-1]), Q)
        Q, image = Q @ turn, image @ turn
        rest = to_numpy((image - Q * asarray_like(values, Q))[:, :n_axes])
        error = float(np.sqrt(np.einsum("ij,ij->j", rest, rest).max(initial=0.0)))
        if error <= 1e-11 * float(values[0]):
            break
    return values, to_numpy(Q), error


def span(rows: Rows) -> int:
    """Dimension of the span of the rows."""
    n, d = rows.shape
    if d >= n or n * d <= 1 << 20:
        size = linalg.svdvals(rows.gather_rows(np.arange(n)), check_finite=False)
        return int(np.count_nonzero(size > max(n, d) * np.finfo(rows.dtype).eps * size.max(initial=0.0)))
    # Squares hide what is smaller than the root of the precision; good enough to count columns.
    squares = linalg.eigvalsh(to_numpy(rows.gram()).astype(np.float64), check_finite=False)
    floor = n * np.finfo(rows.dtype).eps * max(float(squares.max(initial=0.0)), 0.0)
    return int(np.count_nonzero(squares > floor))
