"""Entrywise L1 fitting: alternating L1-PCA, and the exact hyperplanes of L1-PCA*.

Published: L1-PCA (Baccini, Besse & de Falguerolles 1996; Ke & Kanade 2003, 2005) minimizes the sum of
``|X - U V'|`` over the observed entries by alternating least-absolute-deviation (LAD) regressions, as linear
programs ("lp") or one coefficient at a time by weighted medians ("median"). L1-PCA* (Brooks, Dula & Boone
2013) finds the best L1 hyperplane exactly, moves the points onto it, and repeats inside it.

Ours: the start. Both alternations stop where no single block improves, so from an SVD they often keep the
gross errors they should reject; we first minimize ``sum sqrt(r^2 + eps^2)`` for decreasing eps. With `start`
given, only the published sweeps run. Ours too are the rotation of the factors to principal axes, which
leaves ``U V'`` as it is, and solving the LPs through their duals.

X is an in-memory array, already centered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import linprog

from .._progress import report_iteration
from ..rows.masked import weighted_least_squares
from ..statistics import weighted_median

Array = NDArray[np.float64]

#: Smoothing levels of the start, relative to the residual scale: 0.8 apart, slow enough for one sweep per
#: level, down to where smoothing no longer shows in the result.
SMOOTHING = np.geomspace(1.0, 1e-10, 104)
#: Entries beyond this many column medians of |x| are pulled in before the SVD of the start; low on purpose,
#: as only directions are needed from that SVD.
CLIP = 2.0
#: Variables of a linear program: as many as memory takes, which share the fixed cost of a call of HiGHS.
LP_VARIABLES = 1 << 16
#: An error below this share of the sum of |X| is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class LowRankResult:
    """Entrywise L1 fit ``U V'``.

    Attributes
    ----------
    scores : ndarray of shape (n, k)
        U. Zero for rows without an observed entry.
    loadings : ndarray of shape (d, k)
        V, with orthonormal columns in order of decreasing (weighted) sum of squared scores. Zero for
        columns without an observed entry, if there are k others.
    path : list of float
        Weighted L1 error at the start and after each sweep; never increases.
    n_iter, converged : int, bool
        Number of sweeps, not counting the start, and whether the last one gained no more than `tol`.
    """

    scores: Array
    loadings: Array
    path: list[float]
    n_iter: int
    converged: bool


class Hyperplane(NamedTuple):
    """Hyperplane through the origin with least L1 error.

    `normal` (d,) has unit length and its largest absolute entry, made positive, at `coordinate`: the axis
    along which points move onto the hyperplane. `objective` is the (weighted) sum of those moves.
    """

    normal: Array
    coordinate: int
    objective: float


@dataclass(frozen=True)
class L1StarResult:
    """Principal directions of L1-PCA*.

    Attributes
    ----------
    components : ndarray of shape (k, d)
        Orthonormal rows, first principal direction first.
    objectives : ndarray of shape (min(n, d) - 1,)
        L1 error of each removed dimension in order of removal (last component first), in the coordinates
        of its level. Zero for dimensions beyond the rank.
    rank, reduced : int, bool
        Numerical rank of X (rows of positive weight), and whether X was first reduced to it (rank < d).
    """

    components: Array
    objectives: Array
    rank: int
    reduced: bool


@dataclass(frozen=True)
class _MaskedMatrix:
    """Checked input: X (n, d) with zeros where not observed, mask (n, d) of 0 and 1, row weights (n,)."""

    X: Array
    mask: Array
    rows: Array

    @property
    def weights(self) -> Array:
        return self.mask * self.rows[:, None]

    def error(self, U: Array, V: Array) -> float:
        return float(np.sum(self.weights * np.abs(self.X - U @ V.T)))


def fit_l1_low_rank(
    X: ArrayLike,
    n_components: int,
    *,
    observed: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    solver: Literal["median", "lp"] = "median",
    max_iter: int = 200,
    tol: float = 1e-8,
    start: ArrayLike | None = None,
) -> LowRankResult:
    """Minimize ``sum_i w_i sum_j |x_ij - u_i'v_j|`` over the observed entries (L1-PCA).

    The problem is not convex; the result is a local minimum. L1 bounds the pull of an entry, not its
    leverage: once the gross errors of one column (or row) weigh more than a true component, spending a
    component on that column is the global minimum, whatever the solver.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Centered data. Values where `observed` is false are never used.
    n_components : int
        k, from 1 to min(n, d).
    observed : array-like of bool of shape (n, d), optional
        False for missing entries; default all observed.
    weights : array-like of shape (n,), optional
        Non-negative row weights; an integer weight equals a repeated row. Default one.
    solver : {"median", "lp"}
        "median": cyclic weighted medians, one rank-one term at a time. "lp": exact LAD regressions of all
        rows, then of all columns; slower, but not stuck where only a joint change of k coefficients helps.
    max_iter, tol : int, float
        Largest number of sweeps, and relative decrease of the error at which to stop.
    start : array-like of shape (d, k), optional
        Loadings to start from, with least-squares scores. Default: our robust start.

    Examples
    --------
    >>> X = np.outer([1.0, -2.0, 3.0, -2.0], [3.0, 4.0, 5.0])
    >>> X[0, 2] = 50.0
    >>> round(fit_l1_low_rank(X, 1).path[-1], 6)
    45.0
    """
    data = _check(X, n_components, observed, weights)
    if solver not in ("median", "lp"):
        raise ValueError(f"solver={solver!r}: choose 'median' or 'lp'.")
    if start is None:
        U, V = _robust_start(data, n_components)
    else:
        V, shape = np.array(start, dtype=float), (data.X.shape[1], n_components)
        if V.shape != shape or not np.isfinite(V).all():
            raise ValueError(f"start has shape {V.shape}: give finite loadings of shape {shape}.")
        U = weighted_least_squares(data.X, V, data.mask)
    sweep = _median_sweep if solver == "median" else _lp_sweep
    negligible = ROUNDING * float(np.sum(data.weights * np.abs(data.X)))
    path = [data.error(U, V)]
    n_iter, converged = 0, path[0] <= negligible
    while not converged and n_iter < max_iter:
        new_U, new_V = sweep(data, U, V)
        error = data.error(new_U, new_V)
        n_iter += 1
        converged = path[-1] - error <= tol * path[-1] or error <= negligible
        # Each block update is exact, so an increase is rounding: keep the better factors.
        if error <= path[-1]:
            U, V = new_U, new_V
        path.append(min(error, path[-1]))
        if report_iteration("subspace", path[-1]):
            break
    return LowRankResult(*_principal_axes(data, U, V), path, n_iter, converged)


def fit_l1_best_hyperplane(X: ArrayLike, weights: ArrayLike | None = None) -> Hyperplane:
    """Hyperplane through the origin with least (weighted) L1 distance to the rows of X (n, d); exact.

    The L1 distance to a hyperplane is along one axis, the same for all points, so the best of the d LAD
    regressions of one coordinate on the others is a global minimum. Cost: d LPs, each with n bounded
    variables and d - 1 equality constraints.
    """
    data = _check(X, 1, None, weights)
    points, w = data.X, data.rows
    planes = []
    for j in range(points.shape[1]):
        slopes = _lad(points[None, :, j], np.delete(points, j, axis=1), w[None])[0]
        normal = np.insert(-slopes, j, 1.0)
        # Equals j, except where coordinates tie, as on data inside a hyperplane.
        axis = int(np.argmax(np.abs(normal)))
        error = float(w @ np.abs(points @ normal))
        planes.append(Hyperplane(normal / np.copysign(np.linalg.norm(normal), normal[axis]), axis, error))
    return min(planes, key=lambda plane: plane.objective)


def fit_l1_star(X: ArrayLike, n_components: int, weights: ArrayLike | None = None) -> L1StarResult:
    """First principal directions of L1-PCA* (Brooks, Dula & Boone 2013).

    At each level the points move along one coordinate onto the best L1 hyperplane; the next level works in
    the right singular basis of the moved points. The normals are the components from last to first, and the
    direction that remains is the first one. Each level is exact, the whole is greedy, and since the L1 norm
    depends on the axes the result is not rotation equivariant.

    If rank(X) < d, always so for d > n, X is first reduced by SVD, and the entrywise L1 norm is then that of
    the reduced coordinates. (The recursion itself would do so, as its first hyperplane holds all points.)

    Parameters
    ----------
    X : array-like of shape (n, d)
        Centered data.
    n_components : int
        k, from 1 to min(n, d). Directions beyond the rank are right singular vectors of X.
    weights : array-like of shape (n,), optional
        Non-negative row weights; an integer weight equals a repeated row. Default one.

    Notes
    -----
    r (r + 1) / 2 - 1 LPs for rank r, whatever k, as the first directions come out last: minutes for r = 100.
    """
    data = _check(X, n_components, None, weights)
    points, root = data.X, np.sqrt(data.rows)[:, None]
    _, singular, axes = np.linalg.svd(root * points, full_matrices=False)
    rank = int(np.sum(singular > np.finfo(float).eps * max(points.shape) * singular[0]))
    reduced = rank < points.shape[1]
    basis = axes[:rank].T if reduced else np.eye(rank)
    points = points @ basis
    found = list(axes[rank:][::-1])
    objectives = [0.0] * (len(singular) - max(rank, 1))
    for _ in range(rank - 1):
        normal, axis, error = fit_l1_best_hyperplane(points, data.rows)
        found.append(basis @ normal)
        objectives.append(error)
        # QR before SVD: the new basis lies inside the hyperplane even where the moved points span less.
        inside = np.linalg.qr(normal[:, None], mode="complete").Q[:, 1:]
        moved = points @ inside - np.outer(points @ normal / normal[axis], inside[axis])
        turn = np.linalg.svd(root * moved, full_matrices=False).Vh.T
        points, basis = moved @ turn, basis @ inside @ turn
    components = np.array([*found, *basis.T][::-1][:n_components])
    return L1StarResult(components, np.array(objectives), rank, reduced)


def _check(X: ArrayLike, k: int, observed: ArrayLike | None, weights: ArrayLike | None) -> _MaskedMatrix:
    """Validate once, for all public functions."""
    data = np.asarray(X, dtype=float)
    if data.ndim != 2 or data.size == 0:
        raise ValueError(f"X has shape {data.shape}: give a non-empty matrix (n, d).")
    if not 1 <= k <= min(data.shape):
        raise ValueError(f"n_components={k}: choose from 1 to min(n, d)={min(data.shape)}.")
    mask = np.ones(data.shape, dtype=bool) if observed is None else np.asarray(observed, dtype=bool)
    if mask.shape != data.shape:
        raise ValueError(f"observed has shape {mask.shape}: give that of X, {data.shape}.")
    data = np.where(mask, data, 0.0)
    if not np.isfinite(data).all():
        raise ValueError("X has NaN or infinite entries: mark them as false in observed.")
    w = np.ones(len(data)) if weights is None else np.asarray(weights, dtype=float)
    if w.shape != data.shape[:1] or not np.isfinite(w).all() or w.min() < 0 or w.max() == 0:
        raise ValueError(f"weights has shape {w.shape}: give {len(data)} row weights >= 0, not all zero.")
    return _MaskedMatrix(data, mask.astype(float), w)


def _lad_one(targets: Array, regressor: Array, weights: Array) -> Array:
    """LAD slope of each target (q, p) on one regressor (p,): the weighted median of the ratios."""
    size = np.abs(regressor)
    # A ratio to (almost) zero has no weight, and could overflow.
    used = size > 1e-100 * size.max()
    ratios = np.divide(targets, regressor, out=np.zeros_like(targets), where=used)
    shares = weights * np.where(used, size, 0.0)
    slopes = weighted_median(ratios.T, shares.T, lower=True)
    return np.where(shares.any(axis=1), slopes, 0.0)


def _median_sweep(data: _MaskedMatrix, U: Array, V: Array) -> tuple[Array, Array]:
    """Update every rank-one term in turn: its scores, then its loadings."""
    U, V = U.copy(), V.copy()
    for c in range(U.shape[1]):
        rest = data.X - np.delete(U, c, axis=1) @ np.delete(V, c, axis=1).T
        U[:, c] = _lad_one(rest, V[:, c], data.mask)
        V[:, c] = _lad_one(rest.T, U[:, c], data.weights.T)
    return U, V


def _lp_sweep(data: _MaskedMatrix, U: Array, V: Array) -> tuple[Array, Array]:
    """Solve the LAD regressions of all rows on V, then of all columns on U."""
    U = _keep_better(data.X, V, data.mask, U)
    return U, _keep_better(data.X.T, U, data.weights.T, V)


def _keep_better(X: Array, basis: Array, weights: Array, old: Array) -> Array:
    """LAD coefficients, or the old ones for rows that an LP, within its tolerance, did not improve."""
    new = _lad(X, basis, weights)
    error, before = (np.sum(weights * np.abs(X - c @ basis.T), axis=1) for c in (new, old))
    return np.where((error < before)[:, None], new, old)


def _lad(targets: Array, design: Array, weights: Array) -> Array:
    """Exact LAD coefficients (q, m), without intercept, of targets (q, p) on design (p, m); weights (q, p).

    The dual of a target t, ``max t'y  s.t.  design'y = 0, |y| <= weights``, has m constraints instead of 2p;
    the coefficients are minus its multipliers. Several targets share a call as diagonal blocks.
    """
    (q, p), m = targets.shape, design.shape[1]
    coefficients = np.zeros((q, m))
    # The tolerances of HiGHS are absolute: bring everything to unit size.
    design_size = _divisor(np.max(np.abs(design), axis=0))
    target_size = _divisor(np.max(np.abs(targets) * (weights > 0), axis=1, keepdims=True))
    costs, bounds = -targets / target_size, weights / _divisor(np.max(weights, axis=1, keepdims=True))
    block, step = sparse.csc_array((design / design_size).T), max(1, LP_VARIABLES // p)
    for first in range(0, q if m else 0, step):
        rows = slice(first, first + step)
        cost, bound = costs[rows].ravel(), bounds[rows].ravel()
        keep, count = bound > 0, len(costs[rows])
        if not keep.any():
            continue
        blocks = sparse.kron(sparse.eye_array(count), block, format="csc")[:, keep]
        box = np.column_stack([-bound[keep], bound[keep]])
        for method in ("highs-ds", "highs-ipm"):  # the simplex of old versions gives up now and then
            solved = linprog(  # type: ignore[call-overload]  # scipy-stubs knows no sparse A_eq
                cost[keep], A_eq=blocks, b_eq=np.zeros(count * m), bounds=box, method=method
            )
            if solved.status == 0:
                break
        if solved.status != 0:
            raise RuntimeError(f"HiGHS could not solve a LAD regression: {solved.message}")
        coefficients[rows] = -solved.eqlin.marginals.reshape(count, m)
    return coefficients * target_size / design_size


def _divisor(size: Array) -> Array:
    """Size to divide by: one in place of zero."""
    return np.where(size > 0, size, 1.0)


def _robust_start(data: _MaskedMatrix, k: int) -> tuple[Array, Array]:
    """Factors from a clipped SVD, then smoothed L1 by reweighted least squares (ours).

    Weights are 1 / sqrt(r^2 + eps^2): at first eps is large and all entries have a say, at the end it is L1.
    """
    X, weights, size = data.X, data.weights, np.abs(data.X)
    mean = np.sum(weights * size, axis=0) / _divisor(np.sum(weights, axis=0))
    limit = CLIP * weighted_median(size, weights, lower=True)
    limit = np.where(limit > 0, limit, mean)  # a column that is mostly zero still has a say
    clipped = np.clip(X, -limit, limit)
    V = np.linalg.svd(np.sqrt(data.rows)[:, None] * clipped, full_matrices=False).Vh[:k].T
    U = clipped @ V
    scale = float(weighted_median(np.abs(X - U @ V.T).ravel(), weights.ravel(), lower=True))
    scale = max(scale, 1e-3 * mean.mean())  # over half of the entries may already fit exactly
    if scale == 0.0:
        return U, V
    for eps in scale * SMOOTHING:
        U = weighted_least_squares(X, V, data.mask / np.hypot(X - U @ V.T, eps))
        V = weighted_least_squares(X.T, U, (weights / np.hypot(X - U @ V.T, eps)).T)
        V, triangle = np.linalg.qr(V)
        U = U @ triangle.T
    return U, V


def _principal_axes(data: _MaskedMatrix, U: Array, V: Array) -> tuple[Array, Array]:
    """Rotate to orthonormal loadings and orthogonal scores: of all factors of U V', one definite pair."""
    seen = np.flatnonzero(data.mask.any(axis=0))
    if len(seen) < V.shape[1]:
        seen = np.arange(len(V))
    basis = np.zeros_like(V)
    # Over observed columns only, as QR completes a deficient V by arbitrary directions.
    basis[seen], triangle = np.linalg.qr(V[seen])
    scores = U @ triangle.T
    turn = np.linalg.svd(np.sqrt(data.rows)[:, None] * scores, full_matrices=False).Vh.T
    return scores @ turn, basis @ turn
