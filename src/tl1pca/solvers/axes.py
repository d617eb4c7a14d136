"""Classical and spherical axes of the rows, and how many dimensions they span."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._arrays import asarray_like, namespace, to_numpy
from .._threads import one_thread
from ..geometry import orthonormalize
from ..linear import leading_eigenpairs
from ..rows import Rows
from ..rows.array import HOST_COLUMNS
from ..rows.dense import NARROW_COLUMNS
from ..statistics import subsample

Array = NDArray[Any]


#: Columns of a subspace iteration beyond the axes wanted.
OVERSAMPLED = 20
#: Multiplications by such a block that find the axes of most spectra.
MULTIPLIED = 20
#: The same where the axes are nearly known.
POLISHED = 4
#: Residual of an axis at which it is found, as a share of the largest eigenvalue.
SETTLED = 1e-11


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
    """Principal axes of the rows scaled to length one, (d, n_axes): spherical PCA (Locantore et al. 1999).

    Of many columns and rows, as good as a start needs it.
    """
    if min(rows.shape) <= 4 * (n_axes + OVERSAMPLED):
        return principal_axes(rows, n_axes, _equal_lengths(rows))
    Q = spherical_span(rows, n_axes + OVERSAMPLED, steps=4)
    w, T = _equal_lengths(rows), rows.project(Q)
    C = rows.inner(rows.map(lambda t, w: t * w[:, None], T, w), T)
    return Q @ rows.asarray(scatter_axes(C, n_axes)[1])


def spherical_span(rows: Rows, n_axes: int, steps: int) -> Array:
    """Span of the leading axes of spherical PCA, (d, n_axes), after some steps of subspace iteration.

    From some of the rows on, without a d x d matrix.
    """
    w = _equal_lengths(rows)
    Q = orthonormalize(rows.asarray(rows.gather_rows(subsample(rows.shape[0], n_axes))).T)
    for _ in range(steps):
        Q = orthonormalize(rows.pullback(rows.map(lambda t, w: t * w[:, None], rows.project(Q), w)))
    return Q


def _equal_lengths(rows: Rows) -> Any:
    """Weights that make all rows as long as one."""

    def weight(length: Any) -> Any:
        xp = namespace(length)
        return xp.where(length > 0, 1.0 / xp.where(length > 0, length, xp.ones_like(length)) ** 2, length)

    return rows.map(weight, rows.norms())


def scatter_axes(C: Array, n_axes: int, start: Array | None = None) -> tuple[Array, Array]:
    """Leading eigenvalues and eigenvectors of a scatter matrix as NumPy arrays, largest first.

    A few axes of a large matrix come from subspace iteration, if that converges: it goes out from
    `start` where the axes are nearly known.
    """
    d = C.shape[0]
    if most := _affordable(d, n_axes, start):
        block = asarray_like(_block(d, n_axes, start), C)
        values, axes, error = _subspace_iteration(lambda Q: C @ Q, block, n_axes, most)
        if error <= SETTLED * float(values[0]):
            return values[:n_axes], axes[:, :n_axes]
    if not isinstance(C, np.ndarray) and d > HOST_COLUMNS:
        values, axes = namespace(C).linalg.eigh(C)
        leading = to_numpy(axes[:, max(0, d - n_axes) :])[:, ::-1]  # no more than these comes to the host
        return to_numpy(values)[::-1][:n_axes], np.ascontiguousarray(leading)
    with one_thread() if d <= NARROW_COLUMNS else nullcontext():
        return leading_eigenpairs(to_numpy(C), n_axes)


def symmetric_axes(C: Array) -> tuple[Array, Array]:
    """All eigenvalues of a scatter matrix, ascending, and eigenvectors, as NumPy arrays."""
    if isinstance(C, np.ndarray):
        values, axes = linalg.eigh(C, check_finite=False)
        return values, axes
    values, axes = namespace(C).linalg.eigh(C)
    return to_numpy(values), to_numpy(axes)


def row_axes(A: Array, n_axes: int, start: Array | None = None) -> tuple[Array, Array]:
    """`scatter_axes` of A'A for rows A (n, d) in memory: for few axes of many columns it is never formed."""
    n, d = A.shape
    if most := _affordable(min(n, d) // 2, n_axes, start):  # the rows are multiplied twice
        block = _block(d, n_axes, start)
        values, axes, error = _subspace_iteration(lambda Q: A.T @ (A @ Q), block, n_axes, most)
        if error <= SETTLED * float(values[0]):
            return values[:n_axes], axes[:, :n_axes]
    if d > n:
        values, U = scatter_axes(A @ A.T, n_axes)
        return values, orthonormalize(A.T @ U)
    return scatter_axes(A.T @ A, n_axes)


def port_axes(rows: Rows, weights: Any, n_axes: int, start: Array | None = None) -> tuple[Array, Array]:
    """`scatter_axes` of weighted rows of more columns than a scatter has room for, by products alone."""

    def apply(Q: Array) -> Array:
        return rows.pullback(rows.map(lambda t, w: t * w[:, None], rows.project(Q), weights))

    block = rows.asarray(_block(rows.shape[1], n_axes, start))
    values, axes, _ = _subspace_iteration(apply, block, n_axes, 2 * MULTIPLIED)
    return values[:n_axes], axes[:, :n_axes].astype(np.float64)


def _affordable(size: int, n_axes: int, start: Array | None) -> int:
    """Multiplications that take no longer than a decomposition; none if too few of them to find the axes.

    As many as multiply by no more columns in all than a matrix of this size has.
    """
    most = size // (n_axes + OVERSAMPLED)
    return most if most >= (MULTIPLIED if start is None else POLISHED) else 0


def _block(d: int, n_axes: int, start: Array | None) -> Array:
    """Columns that a subspace iteration starts from: those that are known, and enough others."""
    others = np.random.RandomState(0).standard_normal((d, n_axes + OVERSAMPLED)) / np.sqrt(d)
    return others if start is None else np.hstack([start, others[:, start.shape[1] :]])


def _subspace_iteration(
    apply: Callable[[Array], Array], Q: Array, n_axes: int, most: int
) -> tuple[Array, Array, float]:
    """Ritz pairs of a scatter after about `most` multiplications, and the largest residual of the first ones.

    Between two looks at them the block is multiplied by a Chebyshev polynomial
    that is small on the eigenvalues below those of the block: a flat spectrum,
    where powers get nowhere, is told apart as well.
    """
    Q, done, degree = orthonormalize(Q), 0, 2
    eps = float(namespace(Q).finfo(Q.dtype).eps)
    settled = max(SETTLED, 10.0 * eps)
    while True:
        image, done = apply(Q), done + 1
        values, turn = np.linalg.eigh(to_numpy(Q.T @ image))
        values, turn = values[::-1], asarray_like(np.ascontiguousarray(turn[:, ::-1]), Q)
        Q, image = Q @ turn, image @ turn
        rest = to_numpy((image - Q * asarray_like(values, Q))[:, :n_axes])
        error = float(np.sqrt(np.einsum("ij,ij->j", rest, rest).max(initial=0.0)))
        if error <= settled * float(values[0]) or done >= most:
            return values, to_numpy(Q), error
        # The first axis must not outgrow the others by more than half of their digits.
        half = 0.5 * max(float(values[-1]), 1e-12 * float(values[0]))
        growth = float(np.arccosh(max(float(values[0]) / half - 1.0, 1.0 + 1e-9)))
        degree = int(np.clip(-0.5 * np.log(eps) / growth, 1, degree))
        before, Q = Q, image / half - Q
        for _ in range(degree - 1):
            before, Q, done = Q, 2.0 * (apply(Q) / half - Q) - before, done + 1
        Q, degree = orthonormalize(Q), 10


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
