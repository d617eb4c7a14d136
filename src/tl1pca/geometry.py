"""The sets the directions live on: sphere, complement, Stiefel, sparse sphere, p-ball.

Each has one question to answer: which of its points is largest in a given
direction (the linear maximiser of a fixed-point step)?
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ._arrays import columns, dots, like, namespace

Array = NDArray[Any]


def unit(v: Array) -> Array:
    """Columns scaled to length one; a zero column stays zero."""
    if isinstance(v, np.ndarray) and v.ndim == 1:
        return v / (np.sqrt(v @ v) or 1.0)
    xp = namespace(v)
    length = xp.sqrt(xp.sum(v * v, axis=0))
    return v / xp.where(length > 0, length, xp.ones_like(length))


def project_out(v: Array, basis: Array) -> Array:
    """Part of v orthogonal to the orthonormal columns of basis (twice is enough)."""
    if basis.shape[1]:
        for _ in range(2):
            v = v - basis @ (basis.T @ v)
    return v


def tangent(gradient: Array, w: Array) -> Array:
    """Projection of a gradient onto the tangent plane of the sphere at w."""
    return np.asarray(gradient - (gradient @ w) * w)


def polar(M: Array) -> Array:
    """Orthonormal polar factor: the maximiser of trace(W'M) over W'W = I."""
    U, _, Vt = linalg.svd(M, full_matrices=False)
    return np.asarray(U @ Vt)


def sparse_maximizer(v: Array, n_nonzero: int) -> Array:
    """Soft-thresholded direction of v with exactly `n_nonzero` non-zero entries.

    The threshold is the next smaller magnitude, as in lpSPCA; ties at the
    threshold, which would leave too few entries, keep the first ones.
    """
    if n_nonzero >= len(v) and v.all():
        return unit(v)
    size = np.abs(v)
    order = np.argsort(-size, kind="stable")
    keep = order[:n_nonzero]
    cut = size[order[n_nonzero]] if n_nonzero < len(v) else 0.0
    shrunk = np.maximum(size[keep] - cut, 0.0)
    # An entry tied with the threshold would vanish and break the promised count.
    shrunk = np.maximum(shrunk, 1e-8 * max(float(shrunk.max(initial=0.0)), float(cut), 1e-300))
    w = np.zeros_like(v)
    w[keep] = np.where(v[keep] < 0, -shrunk, shrunk)
    return unit(w)


def ball_maximizer(v: Array, p: float, w: Array) -> Array:
    """Point of the unit p-sphere for the gradient v: Liang's step of Lp GPCA.

    p > 1 is the exact linear maximiser (Hoelder), p = 1 a single coordinate,
    p = inf the signs; for p < 1 the set is not convex and the published
    reweighting of the current point w is used.
    """
    size = np.abs(v)
    top = float(size.max(initial=0.0))
    if top == 0.0:
        return w
    if p == np.inf:
        return np.asarray(np.where(v < 0, -1.0, 1.0), dtype=v.dtype)
    if p == 1.0:
        z = np.zeros_like(v)
        best = int(np.argmax(size))
        z[best] = np.sign(v[best])
        return z
    scaled = size / top
    z = np.sign(v) * scaled ** (1.0 / (p - 1.0)) if p > 1.0 else np.abs(w) ** (2.0 - p) * (v / top)
    return p_unit(np.asarray(z), p)


def p_unit(w: Array, p: float) -> Array:
    """w scaled to p-norm one."""
    top = float(np.abs(w).max(initial=0.0))
    if top == 0.0:
        return w
    if p == np.inf:
        return np.asarray(w / top)
    length = top * float(np.sum((np.abs(w) / top) ** p)) ** (1.0 / p)
    return np.asarray(w / length)


def complete_basis(W: Array, n_columns: int) -> Array:
    """Orthonormal columns that extend W (d x j, orthonormal) to `n_columns` of them.

    Taken from the coordinate axes farthest from the span, so that the result
    is deterministic.
    """
    while W.shape[1] < n_columns:
        free = 1.0 - np.einsum("ij,ij->i", W, W)
        axis = np.zeros(len(W), dtype=W.dtype)
        axis[int(np.argmax(free))] = 1.0
        W = columns(W, unit(project_out(axis, W))[:, None])
    return W


def orthonormalize(W: Array) -> Array:
    """Orthonormal columns with the same nested spans and signs (Householder QR)."""
    xp = namespace(W)
    Q = xp.linalg.qr(W)[0]
    return Q * xp.where(dots(Q, W[:, : Q.shape[1]]) < 0, like(-1.0, W), like(1.0, W))


def largest_entry_signs(components: Array) -> Array:
    """Sign of the entry of largest magnitude in each row: what makes a component's sign definite."""
    largest = np.argmax(np.abs(components), axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return np.where(signs == 0, 1.0, signs).astype(components.dtype)
