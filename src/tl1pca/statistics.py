"""Weighted order statistics and the Tl1 scale of a sample.

Integer weights mean repeated observations, exactly: a weight of two and a row
that occurs twice give the same number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Array = NDArray[Any]

#: Standard deviation of a normal sample over its Tl1 scale: 1/alpha, where
#: E[|z| / (alpha + |z|)] = 1/2 for a standard normal z.
NORMAL_CONSISTENCY = 1.7450738164605932


def subsample(n: int, most: int = 20_000, rng: np.random.RandomState | None = None) -> Array:
    """Indices of at most `most` of n rows, ordered; the default is enough for a median or a mode.

    A random one of every n/most consecutive rows; with a fixed seed unless a
    generator is given, so that a result depends on the data alone.
    """
    if n <= most:
        return np.arange(n)
    rng = np.random.RandomState(0) if rng is None else rng
    edges = np.arange(most + 1) * n // most  # of strata, so that no row is taken twice
    return edges[:-1] + (rng.uniform(size=most) * np.diff(edges)).astype(np.intp)


def weighted_median(values: Array, weights: Array | None = None, *, lower: bool = False) -> Array:
    """Median along the first axis.

    Parameters
    ----------
    values : ndarray of shape (n,) or (n, m)
    weights : ndarray of shape (n,) or (n, m), optional
        Non-negative; the median of the observations repeated so often.
    lower : bool, default=False
        Where two values share the middle, the lower one and not their mean.

    Returns
    -------
    ndarray of shape () or (m,)

    Examples
    --------
    >>> float(weighted_median(np.array([1.0, 2.0, 5.0]), np.array([1.0, 1.0, 2.0])))
    3.5
    """
    if weights is None:
        middle = (len(values) - 1) // 2, len(values) // 2
        ordered = np.partition(values, middle, axis=0)
        return np.asarray(0.5 * ordered[middle[0]] + 0.5 * ordered[middle[1]])
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    each = weights[order] if weights.ndim == 1 else np.take_along_axis(weights, order, axis=0)
    mass = np.cumsum(each, axis=0)
    half = 0.5 * mass[-1]
    # At exactly half the mass the median is the midpoint, as for an even count.
    first = np.argmax(mass >= half * (1 - 1e-12), axis=0)
    last = first if lower else np.argmax(mass > half * (1 + 1e-12), axis=0)
    ends = [np.take_along_axis(ordered, np.expand_dims(i, 0), axis=0)[0] for i in (first, last)]
    return np.asarray(0.5 * ends[0] + 0.5 * ends[1])


def tl1_scale(
    magnitudes: Array,
    weights: Array | None = None,
    start: Array | float | None = None,
    share: float = 0.5,
) -> Array:
    """Scale alpha of a sample: the root of ``mean u / (alpha + u) = share``.

    The operator is the Tl1 operator up to a constant, so alpha is an M-scale:
    it moves with the units of the data, and with a share of one half the
    other half of the observations may be arbitrary before it breaks down, with
    an efficiency at the normal distribution of 50 % (the median absolute
    deviation has 37 %).

    Parameters
    ----------
    magnitudes : ndarray of shape (n,) or (n, m)
        Non-negative.
    weights : ndarray of shape (n,), optional
    start : float or ndarray of shape (m,), optional
        A guess that saves some of the iterations; the mean by default.
    share : float, default=0.5

    Returns
    -------
    ndarray of shape () or (m,)
        Zero where no more than the share of the sample is above zero.

    Examples
    --------
    >>> float(tl1_scale(np.array([3.0, 3.0, 3.0])).round(12))
    3.0
    """
    u = magnitudes.astype(np.float64, copy=False)
    v = np.full(len(u), 1.0 / len(u)) if weights is None else weights / weights.sum(dtype=np.float64)

    def moments(alpha: Array) -> tuple[Array, Array]:
        q = alpha / (alpha + u)
        return v @ q, v @ (q * q)

    alive = v @ (u > 0) > share + 1e-12
    return solve_tl1_scale(moments, v @ u if start is None else start, alive, share=share)


#: Logarithm of the smallest scale.
LEAST_LOG = float(np.log(np.finfo(np.float64).tiny))


def solve_tl1_scale(
    moments: Callable[[Array], tuple[Array, Array]],
    start: Array | float,
    alive: Array | bool = True,
    tol: float = 1e-8,
    share: float = 0.5,
) -> Array:
    """Roots alpha of ``mean q = 1 - share`` with q = alpha/(alpha + u), for several samples at once.

    Newton in log(alpha), where the mean of q is a sum of logistic curves;
    bisection where a step would leave the bracket.

    Parameters
    ----------
    moments : callable
        Takes the alphas and returns the means of q and of q^2.
    start : ndarray of shape (m,)
        Positive.
    alive : ndarray of bool of shape (m,), default=True
        Samples that have a root; it is zero for the others.
    tol : float, default=1e-8
        Relative step at which to stop; the next one would be its square.
    share : float, default=0.5

    Returns
    -------
    ndarray of shape (m,)
    """
    s, farthest = np.log(np.where(alive, start, 1.0)), 3.0
    low, high = np.full_like(s, -np.inf), np.full_like(s, np.inf)
    for _ in range(200):
        first, second = moments(np.exp(s))
        step = np.where(alive, tl1_scale_step(first, second, farthest, share), 0.0)
        size = float(np.abs(step).max())
        if size > 0.1:  # the second derivative is below the first: shorter steps need no bracket
            farthest *= 2.0
            small = first <= 1.0 - share
            low, high = np.where(small, s, low), np.where(small, high, s)
            out, middle = (s + step < low) | (s + step > high), 0.5 * (low + high)
            step = np.where(out & np.isfinite(middle), middle - s, step)
        s = np.maximum(s + step, LEAST_LOG)  # at an alpha of zero, zeros have no ratio
        if size <= tol:
            break
    return np.where(alive, np.exp(s), 0.0)


def tl1_scale_step(first: Array, second: Array, farthest: float = 3.0, share: float = 0.5) -> Array:
    """Newton step of log(alpha) toward ``mean q = 1 - share``, from the means of q and of q^2."""
    step = (1.0 - share - first) / np.maximum(first - second, 1e-300)
    return np.asarray(np.minimum(np.maximum(step, -farthest), farthest))


def shortest_interval(ordered: Array, count: int) -> tuple[Array, Array]:
    """Center and half-length of the shortest interval with `count` values, for sorted rows (m, n)."""
    length = ordered[:, count - 1 :] - ordered[:, : ordered.shape[1] - count + 1]
    each, first = np.arange(len(ordered)), np.argmin(length, axis=1)
    half = 0.5 * length[each, first]
    return ordered[each, first] + half, half


def majority_share(share: float) -> float:
    """Share of the majority that its shortest interval with `share` of all values holds.

    As if four fifths of the other values were foreign.
    """
    return min(share / (1.0 - 0.8 * (1.0 - share)), 0.99)


def main_mode(x: Array, count: int, window: float = 2.5) -> tuple[float, float]:
    """Location and scale of the main mode of a sample, consistent at the normal distribution.

    From the shortest interval with `count` values on: mean and standard
    deviation, corrected for the truncation, of the values within `window`
    scales, until they repeat. What lies farther has no influence, where the
    median absolute deviation is blown up several times by 40 % of outliers.
    """
    S = np.sort(x)
    center, half = (float(value[0]) for value in shortest_interval(S[None], count))
    S = S - center
    mu, s = 0.0, half / float(ndtri(0.5 + 0.5 * majority_share(count / len(x))))
    correction = 1.0 / truncated_normal(window)[1]
    first, second = np.append(0.0, np.cumsum(S)), np.append(0.0, np.cumsum(S * S))
    a = b = -1
    for _ in range(50):
        before = a, b
        a, b = (int(i) for i in np.searchsorted(S, (mu - window * s, mu + window * s * (1 + 1e-12))))
        if (a, b) == before or b - a < 0.8 * count or s == 0.0:
            break
        mu = float(first[b] - first[a]) / (b - a)
        s = float(np.sqrt(correction * max(float(second[b] - second[a]) / (b - a) - mu**2, 0.0)))
    return center + mu, s


def main_mode_of_counts(values: Array, counts: Array, window: float = 2.5) -> tuple[float, float]:
    """`main_mode` of a sample of which only a histogram is left.

    Parameters
    ----------
    values : ndarray of shape (m,)
        Of the bins, increasing.
    counts : ndarray of shape (m,)
        Mass in each bin, not all zero.
    window : float, default=2.5

    Returns
    -------
    location, scale : float

    Examples
    --------
    >>> values = np.arange(-40.0, 41.0) / 10
    >>> counts = np.exp(-0.5 * values**2) + 5.0 * (values == 4.0)
    >>> location, scale = main_mode_of_counts(values, counts)
    >>> round(abs(location), 3), round(scale, 1)
    (0.0, 1.0)
    """
    first, second, mass = (
        np.append(0.0, np.cumsum(counts * part)) for part in (values, values * values, np.ones(len(values)))
    )
    total = float(mass[-1])
    last = np.searchsorted(mass, mass[:-1] + 0.5 * total * (1 - 1e-12))
    begin = np.flatnonzero(last < len(mass))
    length = values[last[begin] - 1] - values[begin]
    best = int(np.argmin(length))
    mu = float(0.5 * (values[begin[best]] + values[last[begin[best]] - 1]))
    s = 0.5 * float(length[best]) / float(ndtri(0.5 + 0.5 * majority_share(0.5)))
    correction = 1.0 / truncated_normal(window)[1]
    a = b = -1
    for _ in range(50):
        before = a, b
        a, b = (int(i) for i in np.searchsorted(values, (mu - window * s, mu + window * s * (1 + 1e-12))))
        inside = float(mass[b] - mass[a])
        if (a, b) == before or inside < 0.4 * total or s == 0.0:
            break
        mu = float(first[b] - first[a]) / inside
        s = float(np.sqrt(correction * max(float(second[b] - second[a]) / inside - mu**2, 0.0)))
    return mu, s


def truncated_normal(window: float) -> tuple[float, float]:
    """Share of a normal sample within `window` standard deviations, and the variance of these values."""
    share = 2.0 * float(ndtr(window)) - 1.0
    density = float(np.exp(-0.5 * window**2)) / float(np.sqrt(2.0 * np.pi))
    return share, 1.0 - 2.0 * window * density / share


def effective_dimension(residuals: Array, lost: float) -> float:
    """Directions over which residuals are spread evenly: (tr S)^2 / tr S^2 of their covariance S.

    Free of the bias of few rows (Bai and Saranadasa, 1996): the squares of
    an estimated covariance are too large.

    Parameters
    ----------
    residuals : ndarray of shape (n, d)
    lost : float
        Share of their degrees of freedom that the mean and the plane have taken.

    Returns
    -------
    float
        At least one; NaN where too few rows tell.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(400, 8)) * [2, 2, 2, 2, 0, 0, 0, 0]
    >>> round(effective_dimension(rows, 0.0))
    4
    """
    f = len(residuals) * (1.0 - lost)
    size = float(np.abs(residuals).max(initial=0.0))
    if f < 3 or size == 0:
        return float("nan")
    R = np.asarray(residuals, dtype=np.float64) / size
    G = R @ R.T if len(R) < R.shape[1] else R.T @ R
    first, second = float(np.trace(G)), float((G * G).sum())
    second = (second - first**2 / f) * f * f / ((f - 1) * (f + 2))
    return max(1.0, first**2 / second) if second > 0 else float("nan")
