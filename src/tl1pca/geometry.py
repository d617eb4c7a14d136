"""The sets the directions live on: sphere, complement, Stiefel, sparse sphere, p-ball.

Each has one question to answer: which of its points is largest in a given
direction (the linear maximizer of a fixed-point step)?
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ._arrays import asarray_like, columns, dots, namespace

Array = NDArray[Any]

#: Cosine between columns up to which the way by the Gram matrix is tried, and its most corrections.
_SKEWED, _CORRECTIONS = 1e-3, 5
#: Columns from which it is faster than a singular value decomposition.
WIDE_FRAME = 32


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


def polar(M: Array, near: Array | None = None) -> Array:
    """Orthonormal polar factor: the maximizer of trace(W'M) over W'W = I.

    It is unique when M has full column rank. Otherwise `near` decides: of all
    maximizers the one closest to it, the limit of polar(M + e near) for small
    positive e. Without it rounding would choose.
    """
    found = _gram_polar(M) if M.shape[1] >= WIDE_FRAME else None
    return svd_polar(M, near) if found is None else found


def svd_polar(M: Array, near: Array | None = None) -> Array:
    """`polar` by a singular value decomposition, for matrices known to be close to singular."""
    U, s, Vt = linalg.svd(M, full_matrices=False)
    rank = _positive(s, M)
    if near is None or rank == len(s):
        return np.asarray(U @ Vt)
    fixed = U[:, :rank]
    A, size, Bt = linalg.svd(project_out(near @ Vt[rank:].T, fixed), full_matrices=False)
    known = _positive(size, M, 1.0)
    basis = complete_basis(np.column_stack([fixed, A[:, :known]]), len(s))
    return np.asarray(fixed @ Vt[:rank] + basis[:, rank:] @ Bt @ Vt[rank:])


def _gram_polar(M: Array) -> Array | None:
    """Polar factor from the eigenvectors V of M'M, as exact as by an SVD; None near singular M.

    The columns of B = MV have lengths d and should be orthogonal; squaring
    cost half the digits of the short ones. P = BS with a symmetric S is the
    polar factor of B when E = P'P - I vanishes, and about S = 1/d a change of
    S by -E_ij/(d_i + d_j) removes E but for a share as large as the first E.
    """
    largest = float(np.abs(M).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return None
    M = M / M.dtype.type(largest)
    B = M @ (V := np.linalg.eigh(M.T @ M)[1])
    d = np.sqrt(np.einsum("ij,ij->j", B, B))
    eps = np.finfo(M.dtype).eps
    if not d.min() > np.sqrt(eps) * d.max():
        return None
    P, S, pairs = B / d, np.diag(1.0 / d), d[:, None] + d
    first = 0.0
    for _ in range(_CORRECTIONS):
        E = P.T @ P
        E.flat[:: len(d) + 1] -= 1.0
        size = float(np.abs(E).max())
        first = first or size
        if first > _SKEWED:
            return None
        S -= E / pairs
        if size * first <= eps:
            return np.asarray(B @ (S @ V.T))
        P = B @ S
    return None


def inverse_root(C: Array, accuracy: float) -> Array | None:
    """Symmetric S with SCS = I to an accuracy, for positive definite C; None too close to singular C.

    From the eigenvectors, whose values are exact to roundings of the largest
    one. Where the least one asks for more, E = SCS - I is removed to the first
    order: products of columns of very different lengths know them all.
    """
    values, V = np.linalg.eigh(C)
    eps = float(np.finfo(C.dtype).eps)
    error = eps * float(values[-1])
    if error <= accuracy * values[0]:
        root = V / np.sqrt(np.sqrt(values))
        return np.asarray(root @ root.T)
    if not error < values[0]:
        return None
    d = np.sqrt(values)
    E = V.T @ C @ V
    E /= np.outer(d, d)
    E.flat[:: len(d) + 1] -= 1.0
    S = E / -(d[:, None] + d)
    S.flat[:: len(d) + 1] += 1.0 / d
    root = V @ S @ V.T
    # What is left: E in second order, and the roundings of the products themselves.
    left = float(np.abs(E).max()) ** 2, eps * float((np.abs(root) @ np.sqrt(C.diagonal())).max()) ** 2
    return np.asarray(root) if max(left) <= accuracy else None


def polar_rank(M: Array) -> int:
    """Columns of the polar factor that M decides."""
    return _positive(linalg.svdvals(M), M)


def _positive(s: Array, M: Array, largest: float | None = None) -> int:
    """Singular values that are more than the roundings of a matrix like M, whose largest one is given."""
    top = float(s.max(initial=0.0)) if largest is None else largest
    return int(np.count_nonzero(s > 4 * max(M.shape) * np.finfo(M.dtype).eps * top))


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


def hard_threshold(v: Array, n_nonzero: int) -> Array:
    """The `n_nonzero` largest entries of v at unit length: the linear maximizer over sparse unit vectors."""
    w = np.zeros_like(v)
    keep = np.argsort(-np.abs(v), kind="stable")[:n_nonzero]
    w[keep] = v[keep]
    # By a power of two, which changes no digit: no square of a large gradient overflows.
    return unit(np.ldexp(w, -np.frexp(np.abs(w).max(initial=0.0))[1]))


def sphere_maximizer(v: Array, d: Array) -> Array:
    """The unit w with the largest v'w - sum_j d_j w_j^2 / 2: w_j = v_j/(d_j + m), by bisection for m."""
    least = float(d.min())
    norm = float(np.linalg.norm(v))
    if norm == 0.0:
        return np.asarray((d == least) / np.sqrt(np.count_nonzero(d == least)))
    # Relative to the least d, at which the sum of squares is infinite or, for v_j = 0, not larger than one.
    gap = d - least
    low, high = float(np.abs(v[gap == 0.0]).max()), norm
    for _ in range(60):
        middle = 0.5 * (low + high)
        if float(((v / (gap + middle)) ** 2).sum()) > 1.0:
            low = middle
        else:
            high = middle
    return unit(v / (gap + high))


def ball_maximizer(v: Array, p: float, w: Array) -> Array:
    """Point of the unit p-sphere for the gradient v: Liang's step of Lp GPCA.

    p > 1 is the exact linear maximizer (Hoelder), p = 1 a single coordinate,
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
    return Q * xp.where(dots(Q, W[:, : Q.shape[1]]) < 0, asarray_like(-1.0, W), asarray_like(1.0, W))


def largest_entry_signs(components: Array) -> Array:
    """Sign of the entry of largest magnitude in each row: what makes a component's sign definite."""
    largest = np.argmax(np.abs(components), axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return np.where(signs == 0, 1.0, signs).astype(components.dtype)
