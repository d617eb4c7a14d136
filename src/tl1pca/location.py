"""Centers of a data matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import namespace, to_numpy
from .linear import conjugate_gradients
from .rows import Rows
from .statistics import subsample, weighted_median

Array = NDArray[Any]

CENTERS = (None, "mean", "median", "spatial_median")

#: With more than twice so many rows the spatial median of a sample of them comes first.
SAMPLE_ROWS = 1000
#: As with more entries than this.
SAMPLE_ENTRIES = 1 << 21


def locate(rows: Rows, center: str | Sequence[float] | Array | None) -> Array:
    """Center of rows by name, or the given vector, checked; at the home of the rows.

    Parameters
    ----------
    rows : Rows
    center : None, "mean", "median", "spatial_median" or array-like of shape (d,)

    Returns
    -------
    array of shape (d,), in the precision of the rows

    Examples
    --------
    >>> from tl1pca.rows import DenseRows
    >>> locate(DenseRows(np.array([[0.0], [1.0], [8.0]])), "mean").tolist()
    [3.0]
    """
    n, d = rows.shape
    if center is None:
        return rows.asarray(np.zeros(d))
    if isinstance(center, str):
        if center == "mean":
            return rows.mean()
        if center == "median":
            return rows.asarray(weighted_median(rows.gather_rows(np.arange(n)), host_weights(rows)))
        if center == "spatial_median":
            return spatial_median(rows)
        raise ValueError(f"center must be one of {CENTERS} or a vector of length {d}, got {center!r}.")
    given = np.asarray(center, dtype=rows.dtype)
    if given.shape != (d,):
        raise ValueError(
            f"center as a vector must have one entry per feature, shape ({d},), got shape {given.shape}."
        )
    if not np.isfinite(given).all():
        raise ValueError("center as a vector must be finite, got NaN or infinity in it.")
    return rows.asarray(given)


def spatial_median(rows: Rows) -> Array:
    """Point with the least sum of distances to the rows (the geometric or l1 median).

    Newton's method on a convex problem. With many rows it starts from the
    median of a sample and takes the curvature from that sample, so that three
    or four passes over all rows are enough.

    Parameters
    ----------
    rows : Rows

    Returns
    -------
    array of shape (d,)

    Examples
    --------
    >>> from tl1pca.rows import DenseRows
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [90.0, 90.0]])
    >>> spatial_median(DenseRows(X)).round(6).tolist()
    [0.5, 0.5]
    """
    n, d = rows.shape
    if d == 1:  # the ordinary median; between two middle values the criterion is flat
        return rows.asarray(weighted_median(rows.gather_rows(np.arange(n)), host_weights(rows)))
    many = n > 2 * SAMPLE_ROWS or n * d > SAMPLE_ENTRIES
    part = rows.subset(subsample(n, SAMPLE_ROWS)) if many else rows
    A, center = part.array(), column_medians(part)
    weights = part.asarray(np.ones(part.shape[0])) if part.weights is None else part.weights
    tol = max(1e-11, 8 * float(np.finfo(rows.dtype).eps))
    if many:  # a start as good as a sample can tell
        center = center + _newton_median(part.shifted(center), A - center, weights, 1e-3)
        tol = 1e-5
    start = rows.asarray(center)
    return start + _newton_median(rows.shifted(start), rows.asarray(A - center), rows.asarray(weights), tol)


def column_medians(part: Rows) -> Array:
    """Median of every column, where the rows are; on a device the upper one of two in the middle."""
    A = part.array()
    if isinstance(A, np.ndarray) or part.weights is not None:
        return part.asarray(weighted_median(to_numpy(A), host_weights(part)))
    return namespace(A).sort(A, axis=0)[A.shape[0] // 2, :]


def host_weights(rows: Rows, index: Array | None = None) -> Array | None:
    """Row weights, of some rows or of all, as a NumPy array."""
    return rows.gather_weights(index)


@dataclass(frozen=True)
class _Pull:
    """Sum of the distances to a point, sum of their inverses, and the pull of the rows on it."""

    total: float
    mass: float
    gradient: Array


def _newton_median(rows: Rows, A: Array, v: Array, tol: float) -> Array:
    """Spatial median of centered rows; the curvature comes from A (m, d), some of them with weights v.

    Ends with a step of `tol` times the median distance.
    """
    xp = namespace(A)
    squares = rows.map(lambda r: r * r, rows.norms())
    length = to_numpy(xp.sqrt(xp.sum(A * A, axis=1)))
    spread = float(np.median(length)) or float(np.sqrt(rows.largest(squares)))
    delta, rounding = rows.asarray(np.zeros(rows.shape[1])), 500 * float(np.finfo(rows.dtype).eps)
    if spread == 0.0:
        return delta
    # With the curvature of a sample each step leaves a few percent of the error of the last.
    near = np.inf if len(length) == rows.shape[0] else 1e-2 * spread
    here, tried = _pull(rows, squares, delta, spread), -1
    for _ in range(100):
        distances = xp.sqrt(xp.sum((A - delta) ** 2, axis=1))
        nearest = int(xp.argmin(distances))
        gap = float(distances[nearest])
        if gap <= 1e-6 * spread or (gap <= near and nearest != tried):
            tried, row = nearest, A[nearest, :]
            away = _vardi_zhang_step(rows, squares, row)
            if away is None:
                return row
            if gap <= 1e-6 * spread:  # where every step ends on the row again
                delta = row + away
                here = _pull(rows, squares, delta, spread)
        step = _newton_step(A - delta, v, here)
        for move in (step, 0.25 * step, here.gradient / here.mass):  # the last, Weiszfeld's, never fails
            there = _pull(rows, squares, delta + move, spread)
            # Near the minimum the sum is flat to rounding and only the step still tells.
            if there.total <= here.total * (1 + rounding):
                break
        delta, here = delta + move, there
        if float(xp.sqrt(move @ move)) <= tol * spread:
            break
    return delta


def _distances(t: Any, squares: Any, size: float) -> Any:
    """|x - delta| from the scores t = x.delta, the squares |x|^2 and |delta|^2."""
    xp = namespace(t)
    return xp.sqrt(xp.maximum(squares - 2.0 * t + size, 0.0))


def _pull(rows: Rows, squares: Any, delta: Array, spread: float) -> _Pull:
    size, least = float(delta @ delta), 1e-12 * spread

    def evaluate(T: Any, s: Any) -> tuple[Any, ...]:
        r = _distances(T[:, 0], s, size)
        inverse = 1.0 / namespace(r).maximum(r, least)
        return inverse[:, None], r, inverse

    (total, mass), G = rows.map_reduce(evaluate, delta[:, None], squares)
    return _Pull(float(total), float(mass), G[:, 0] - float(mass) * delta)


def _vardi_zhang_step(rows: Rows, squares: Any, row: Array) -> Array | None:
    """Descent step from a row (Vardi and Zhang 2000); None if the row is the median.

    It is when the pull of the other rows does not exceed the weight there.
    """
    size = float(row @ row)
    r = rows.map(lambda t, s: _distances(t, s, size), rows.project(row), squares)
    near = 1e-7 * rows.largest(r)

    def inverse(r: Any) -> Any:
        xp = namespace(r)
        return xp.where(r <= near, xp.zeros_like(r), 1.0 / xp.where(r <= near, xp.ones_like(r), r))

    def here(r: Any) -> Any:
        xp = namespace(r)
        return xp.where(r <= near, xp.ones_like(r), xp.zeros_like(r))

    mass, held = float(rows.total(inverse, r)), float(rows.total(here, r))
    pull = rows.pullback(rows.map(inverse, r)) - mass * row
    strength = float(pull @ pull) ** 0.5
    return None if strength <= held else (1.0 - held / strength) / mass * pull


def _newton_step(A: Array, v: Array, here: _Pull) -> Array:
    """Solve (mass I - sum v a a'/|a|^3) x = pull by conjugate gradients, the sum from a sample."""
    xp = namespace(A)
    top, size = float(xp.max(abs(A))), float(xp.max(abs(here.gradient)))
    if top == 0.0 or size == 0.0:
        return here.gradient / here.mass
    # The matrix is free of units, and so are its parts: no cube over- or underflows.
    A = A / top
    length = xp.sqrt(xp.sum(A * A, axis=1))
    bend = v / xp.maximum(length, 1e-12) ** 3
    # On the sample the two parts balance exactly; scaled, their difference stays definite.
    share = here.mass / float(bend @ length**2)
    matrix = lambda P: here.mass * P - share * (A.T @ (bend[:, None] * (A @ P)))  # noqa: E731
    least = float(xp.finfo(A.dtype).eps) * here.mass
    g = here.gradient[:, None] / size
    x = conjugate_gradients(matrix, g, tol=1e-4, max_iter=100, least_curvature=least)[:, 0]
    # Beyond the rows nothing is nearer to them: such a step is that of a matrix that is singular to rounding.
    useful = bool(xp.any(x != 0)) and float(xp.max(abs(x))) <= top / size
    return x * size if useful else here.gradient / here.mass
