"""Centres of a data matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rows import DenseRows, Rows
from .statistics import weighted_median

Array = NDArray[Any]

CENTERS = (None, "mean", "median", "spatial_median")


def locate(X: Array, center: str | Sequence[float] | Array | None, weights: Array | None = None) -> Array:
    """Centre of the rows of X by name, or the given vector, checked.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    center : None, "mean", "median", "spatial_median" or array-like of shape (d,)
    weights : ndarray of shape (n,), optional

    Returns
    -------
    ndarray of shape (d,), in the dtype of X

    Examples
    --------
    >>> locate(np.array([[0.0], [1.0], [8.0]]), "mean").tolist()
    [3.0]
    """
    d = X.shape[1]
    if center is None:
        return np.zeros(d, dtype=X.dtype)
    if isinstance(center, str):
        if center == "mean":
            return np.average(X, axis=0, weights=weights).astype(X.dtype)
        if center == "median":
            return weighted_median(X, weights).astype(X.dtype)
        if center == "spatial_median":
            return spatial_median(X, weights).astype(X.dtype)
        raise ValueError(f"center must be one of {CENTERS} or a vector of length {d}, got {center!r}.")
    given = np.asarray(center, dtype=X.dtype)
    if given.shape != (d,):
        raise ValueError(
            f"center as a vector must have one entry per feature, shape ({d},), got shape {given.shape}."
        )
    if not np.isfinite(given).all():
        raise ValueError("center as a vector must be finite, got NaN or infinity in it.")
    return given


def spatial_median(X: Array, weights: Array | None = None) -> Array:
    """Point with the least sum of distances to the rows (the geometric or l1 median).

    Newton's method on a convex problem. With many rows it starts from the
    median of a sample and takes the curvature from that sample, so that three
    or four passes over all rows are enough.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    weights : ndarray of shape (n,), optional

    Returns
    -------
    ndarray of shape (d,)

    Examples
    --------
    >>> spatial_median(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [90.0, 90.0]])).round(6).tolist()
    [0.5, 0.5]
    """
    n, d = X.shape
    if d == 1:  # the ordinary median; between two middle values the criterion is flat
        return weighted_median(X, weights)
    if n > 2 * _SAMPLE:
        index = np.sort(np.random.RandomState(0).permutation(n)[:_SAMPLE])
        part = None if weights is None else weights[index]
        center = spatial_median(X[index], part)
    else:
        index = np.arange(n)
        center = weighted_median(X, weights)
    rows = DenseRows(X, center.astype(X.dtype), weights)
    return np.asarray(center + _newton_median(rows, index))


_SAMPLE = 1000


@dataclass(frozen=True)
class _Pull:
    """Sum of the distances to a point, sum of their inverses, and the pull of the rows on it."""

    total: float
    mass: float
    force: Array


def _newton_median(rows: Rows, sample: Array) -> Array:
    """Spatial median of centred rows; the curvature comes from the sample."""
    squares = rows.norms() ** 2
    A = rows.take(sample)
    v = np.ones(len(sample), dtype=A.dtype) if rows.weights is None else rows.weights[sample]
    length = np.sqrt(np.einsum("ij,ij->i", A, A))
    spread = float(np.median(length)) or float(np.sqrt(squares.max(initial=0.0)))
    delta = np.zeros(rows.shape[1], dtype=rows.dtype)
    if spread == 0.0:
        return delta
    # With the curvature of a sample each step leaves a few per cent of the error of the last.
    tol, near = (1e-11, np.inf) if len(sample) == rows.shape[0] else (1e-5, 1e-2 * spread)
    here, tried = _pull(rows, squares, delta, spread), -1
    for _ in range(100):
        nearest = int(np.argmin(((A - delta) ** 2).sum(axis=1)))
        gap = float(np.linalg.norm(A[nearest] - delta))
        if gap <= 1e-6 * spread or (gap <= near and nearest != tried):
            tried = nearest
            away = _way_out(rows, squares, A[nearest])
            if not away.any():
                return np.asarray(A[nearest])
            if gap <= 1e-6 * spread:  # where every step ends on the row again
                delta = A[nearest] + away
                here = _pull(rows, squares, delta, spread)
        step = _newton_step(A - delta, v, here.force, here.mass)
        for move in (step, 0.25 * step, here.force / here.mass):  # the last, Weiszfeld's, never fails
            there = _pull(rows, squares, delta + move, spread)
            # Near the minimum the sum is flat to rounding and only the step still tells.
            if there.total <= here.total * (1 + 1e-13):
                break
        delta, here = delta + move, there
        if np.linalg.norm(move) <= tol * spread:
            break
    return np.asarray(delta)


def _distances(t: Array, squares: Array, delta: Array) -> Array:
    """|x - delta| from the scores t = x.delta and the squares |x|^2."""
    return np.asarray(np.sqrt(np.maximum(squares - 2.0 * t + delta @ delta, 0.0)))


def _pull(rows: Rows, squares: Array, delta: Array, spread: float) -> _Pull:
    def look(T: Array, s: Array) -> tuple[Array, ...]:
        r = _distances(T[:, 0], s, delta)
        inverse = 1.0 / np.maximum(r, 1e-12 * spread)
        return inverse[:, None], r, inverse

    (total, mass), G = rows.fold(look, delta[:, None], squares)
    return _Pull(float(total), float(mass), np.asarray(G[:, 0] - mass * delta))


def _way_out(rows: Rows, squares: Array, row: Array) -> Array:
    """Descent step from a row (Vardi and Zhang 2000); zero if the row is the median.

    It is when the pull of the other rows does not exceed the weight there.
    """
    r = _distances(rows.project(row), squares, row)
    here = r <= 1e-7 * float(r.max())
    inverse = np.where(here, 0.0, 1.0 / np.where(here, 1.0, r))
    mass = float(rows.total(np.asarray, inverse))
    pull = rows.pullback(inverse) - mass * row
    strength = float(np.linalg.norm(pull))
    held = float(rows.total(lambda z: z.astype(np.float64), here))
    return np.asarray(max(0.0, 1.0 - held / strength) * pull / mass if strength > 0 else np.zeros_like(pull))


def _newton_step(A: Array, v: Array, pull: Array, mass: float) -> Array:
    """Solve (mass I - sum v a a'/|a|^3) x = pull by conjugate gradients, the sum from a sample."""
    top = float(np.abs(A).max(initial=0.0))
    if top == 0.0:
        return pull / mass
    # The matrix is free of units, and so are its parts: no cube over- or underflows.
    A = A / top
    length = np.sqrt(np.einsum("ij,ij->i", A, A))
    bend = v / np.maximum(length, 1e-12) ** 3
    # On the sample the two parts balance exactly; scaled, their difference stays definite.
    share = mass / float(bend @ length**2)
    x, r = np.zeros_like(pull), pull.copy()
    p, rr = r, float(pull @ pull)
    stop = 1e-8 * rr
    for _ in range(100):
        q = mass * p - share * (A.T @ (bend * (A @ p)))
        pq = float(p @ q)
        if pq <= 0 or rr <= stop:
            break
        x = x + (rr / pq) * p
        r = r - (rr / pq) * q
        new = float(r @ r)
        p, rr = r + (new / rr) * p, new
    return x if x.any() else pull / mass
