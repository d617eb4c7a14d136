"""Linear systems with a positive definite matrix that is known by its products only, and eigenpairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ._arrays import asarray_like, dots, namespace

Array = NDArray[Any]


def conjugate_gradients(
    apply: Callable[[Array], Array],
    B: Array,
    *,
    tol: float,
    max_iter: int,
    least_curvature: Array | float = 0.0,
) -> Array:
    """Solve apply(X) = B for every column by conjugate gradients.

    Parameters
    ----------
    apply : callable
        Products of the matrices, which may differ from column to column.
    B : array of shape (d, k)
    tol : float
        Residual, relative to that of zero, at which a column is solved.
    max_iter : int
    least_curvature : float or array of shape (k,), default=0
        A column stops where p'Ap falls to this share of p'p: the matrix is
        not definite there, or about to be singular.

    Returns
    -------
    array of shape (d, k)
        Zero for a column that was stopped before its first step.
    """
    xp = namespace(B)
    zero, one = asarray_like(0.0, B), asarray_like(1.0, B)
    X, R, P = xp.zeros_like(B), B, B
    rr = dots(R, R)
    stop, active = tol * tol * rr, rr > 0
    for _ in range(max_iter):
        Q = apply(P)
        pq = dots(P, Q)
        active = active & (rr > stop) & (pq > least_curvature * dots(P, P))
        if not bool(xp.any(active)):
            break
        step = xp.where(active, rr, zero) / xp.where(active, pq, one)
        X = X + step * P
        R = R - step * Q
        new = dots(R, R)
        P = R + xp.where(active, new, zero) / xp.where(active, rr, one) * P
        rr = new
    return X


def leading_eigenpairs(C: Array, n_axes: int) -> tuple[Array, Array]:
    """The largest eigenvalues of a symmetric matrix first, and eigenvectors, by a decomposition."""
    d = len(C)
    # All axes take less time than more than an eighth of them alone.
    first = 0 if 8 * n_axes > d else d - n_axes
    values, axes = linalg.eigh(
        C,
        subset_by_index=[first, d - 1] if first else None,
        check_finite=False,
        driver="evr" if first else "evd",
    )
    return values[::-1][:n_axes], np.ascontiguousarray(axes[:, ::-1][:, :n_axes])
