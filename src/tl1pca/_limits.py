"""Limits of the distances of rows to a fitted subspace, from the distances of the rows behind it.

The model is a plane with normal scores and normal noise, fitted to n rows:

- The orthogonal distance of a row that was not in the fit has
  OD^2 = m D (1 + (1 + SD^2)/n): D is close to chi-square with h degrees of
  freedom over h, m is uncertain, and the plane is tilted by the noise.
- A row in the fit has pulled the plane toward itself: OD^2 = m D (1 - l),
  l = 1/n + SD^2/(n - 1) its leverage.
- The variance of a fitted score holds noise that the component took for
  signal, which new rows do not have; with more columns than rows it is large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv, chdtr, chdtrc, chdtri, fdtrc, ndtri

Array = NDArray[Any]

#: Rows beyond this share of the model take no part in its size: an estimator may have left them out.
TRUNCATION = 0.995


@dataclass(frozen=True)
class Training:
    """What a fit leaves behind.

    Attributes
    ----------
    score_distances, orthogonal_distances : ndarray of shape (m,)
        Of the training rows.
    fitted : ndarray of bool of shape (m,)
        The n rows that took part.
    variances : ndarray of shape (k,)
        Of the scores.
    n_features : int
    noise_dimension : float
        Directions over which the noise is spread evenly, at most.
    factor : float
        Which orthogonal distances and roots of variances were multiplied by, so that no square
        is beyond the range of numbers.
    """

    score_distances: Array
    orthogonal_distances: Array
    fitted: Array
    variances: Array
    n_features: int
    noise_dimension: float
    factor: float = 1.0

    @property
    def n_rows(self) -> int:
        """Rows in the fit."""
        return int(np.count_nonzero(self.fitted))


@dataclass(frozen=True)
class Noise:
    """Squared orthogonal distances as if the plane were known: `mean` times chi-square(dof)/dof."""

    mean: float
    dof: float


@dataclass(frozen=True)
class Spikes:
    """What noise of variance s does to components fitted to n rows of d columns.

    With g = (d - k)/(n - 1) and e the variance of a signal without the noise, a fitted
    variance is too large by g s (e + s)/e; the cosine c between the fitted
    and the true axis has c^2 = (1 - g s^2/e^2)/(1 + g s/e) (Paul, 2007).

    Attributes
    ----------
    fitted : ndarray of shape (q,)
        Variances of the scores of the rows of the fit, of components that have any.
    signal, cosines : ndarray of shape (q,)
        e and c^2.
    noise : float
        s.
    n_off : int
        d - k.
    n_rows : int
    """

    fitted: Array
    signal: Array
    cosines: Array
    noise: float
    n_off: int
    n_rows: int

    @property
    def variances(self) -> Array:
        """Of the scores of new rows."""
        return np.asarray(self.signal * self.cosines + self.noise)

    @property
    def seen(self) -> float:
        """Mean squared score distance of new rows."""
        return float((self.variances / self.fitted).sum())

    @property
    def tilt(self) -> float:
        """Mean signal off the fitted plane, over the noise."""
        off = float((self.signal * (1 - self.cosines)).sum())
        return off / (self.n_off * self.noise) if off > 0 else 0.0

    @property
    def absorbed(self) -> float:
        """Share of the noise that the components have taken from the rows of the fit."""
        if self.noise <= 0:
            return 0.0
        return min(float((1 + self.noise / self.signal).sum()) / (self.n_rows - 1), 0.5)

    def spreads(self, count: int) -> Array:
        """Equally likely ratios, true over fitted variance of a signal, of any direction in the plane.

        The fitted one is uncertain: one over chi-square(n - q)/(n - 1), as in Hotelling's T2.
        """
        n, q = self.n_rows, len(self.fitted)
        return np.asarray((n - 1) / chdtri(n - q, (np.arange(count) + 0.5) / count))

    def new_rows(self, count: int = 512) -> tuple[Array, Array]:
        """Squared score distances of new rows, and what the tilt adds to their squared orthogonal ones.

        The latter over the mean of the noise. The rows are drawn once and for
        all, every coordinate spread evenly over its law.
        """
        rng, q = np.random.RandomState(0), len(self.fitted)
        normal = -ndtri((np.arange(count) + 0.5) / count)
        scores, noise = np.array([rng.permutation(normal) for _ in range(2 * q)]).reshape(2, q, count)
        scores = np.sqrt(rng.permutation(self.spreads(count))[:, None] * self.signal) * scores.T
        seen = np.sqrt(self.cosines) * scores + np.sqrt(self.noise) * noise.T
        off = (scores**2 @ (1 - self.cosines)) / max(self.n_off * self.noise, np.finfo(np.float64).tiny)
        return np.asarray((seen**2 / self.fitted).sum(axis=1)), np.asarray(off)


def spikes_of(fit: Training, noise_mean: float) -> Spikes:
    """The effects of noise on the components, for the mean of the squared orthogonal distances."""
    d, k, n = fit.n_features, len(fit.variances), fit.n_rows
    values = fit.variances[fit.variances > 1e-20 * fit.variances.max(initial=0.0)].astype(np.float64)
    s = noise_mean / max(d - k, 1)
    if s <= 0 or d <= k:
        return Spikes(values, values, np.ones(len(values)), 0.0, max(d - k, 1), n)
    g = (d - k) / (n - 1)
    b = values + s - s * g
    root = b * b - 4 * values * s
    e = 0.5 * (b + np.sqrt(np.maximum(root, 0.0))) - s
    # Below the threshold of detection the axis is random, and the noise is all there is.
    found = (root > 0) & (e > s * np.sqrt(g))
    e = np.where(found, e, s * np.sqrt(g))
    cosines = np.where(found, (1 - g * (s / e) ** 2) / (1 + g * s / e), 0.0)
    return Spikes(values, e, cosines, s, d - k, n)


def stretches(fit: Training, spikes: Spikes) -> Array:
    """Squared orthogonal distance of every training row over what it would be if the plane were known."""
    n = fit.n_rows
    squares = fit.score_distances**2
    usual, tilt = spikes.seen, spikes.tilt
    mean = float(squares[fit.fitted].mean())
    leverage = 1 / n + squares * (spikes.absorbed / mean if mean > 0 else 0.0)
    lengthened = 1 + 1 / n + squares * (tilt / usual if usual > 0 else 0.0)
    return np.where(fit.fitted, 1 - np.minimum(leverage, 1 - 0.5 / n), lengthened)


def noise_of(fit: Training) -> Noise:
    """Size and degrees of freedom of the orthogonal distances of the rows that are no outliers.

    All training rows are looked at, as a fit may have left out good ones, and
    without the tail its size would be too small. The degrees of freedom are the
    directions of the noise, or fewer where the squares below the truncation
    vary by more than that and chance explain: rows may differ in their noise.
    """
    raw = fit.orthogonal_distances**2
    near = fit.fitted & (raw > 0)
    if np.count_nonzero(near) < 3:
        return Noise(0.0, fit.noise_dimension)
    mean = float(raw[near].mean())
    for _ in range(50):
        squares = raw / stretches(fit, spikes_of(fit, mean))
        middle = float(squares[near].mean())
        dof = _dof_of_variance(float((squares[near] / middle).var(ddof=1)), fit.noise_dimension, near.sum())
        edge, kept, _ = _truncated(dof)
        before, mean = mean, middle / kept
        if abs(mean - before) <= 1e-9 * mean:
            break
        near = (raw > 0) & (squares <= mean * edge)
    return Noise(mean, dof)


def _truncated(dof: float) -> tuple[float, float, float]:
    """Of chi-square(dof)/dof below its truncation: the edge, the mean, the variance over its square."""
    edge = float(chdtri(dof, 1 - TRUNCATION))
    # E[D; D < q] is the distribution function with two more degrees of freedom, E[D^2; D < q] with four.
    mean = float(chdtr(dof + 2, edge)) / TRUNCATION
    square = (1 + 2 / dof) * float(chdtr(dof + 4, edge)) / TRUNCATION
    return edge / dof, mean, square / mean**2 - 1


def _dof_of_variance(variance: float, most: float, n: int) -> float:
    """Degrees of freedom whose truncated law has the squared coefficient of variation of n values."""
    usual = _truncated(most)[2]
    apart = np.log(max(variance / usual, 1.0))
    if apart**2 <= 2 / n:
        return most
    # The logarithm of a variance varies by 2/n: as much is taken off its square (James and Stein).
    shrunk = usual * np.exp(apart - 2 / (n * apart))
    if shrunk >= _truncated(1.0)[2]:
        return 1.0
    return float(brentq(lambda h: _truncated(h)[2] - shrunk, 1.0, most))


def score_limit(fit: Training, noise: Noise, level: float, new: bool) -> float:
    """Largest score distance at a level: Hotelling's F for new rows, beta for those of the fit."""
    n, k = fit.n_rows, len(fit.variances)
    if n - k < 2:
        return float("inf")
    if not new:
        return float(np.sqrt((n - 1) ** 2 / n * betaincinv(k / 2, (n - k - 1) / 2, level)))
    spikes = spikes_of(fit, noise.mean)
    if not len(spikes.fitted):
        return float("inf")
    signal, spreads = spikes.signal * spikes.cosines, spikes.spreads(200)[:, None]
    shares = (1 + 1 / n) * (signal * spreads + spikes.noise) / spikes.fitted
    # A sum of squares with unequal variances is close to a chi-square of these degrees of freedom.
    total, squares = shares.sum(axis=1), (shares**2).sum(axis=1)
    size, dof = squares / total, total**2 / squares
    return float(np.sqrt(_crossing(lambda c: float(chdtrc(dof, c / size).mean()) - (1 - level), 0.0, 1e9)))


def orthogonal_limit(fit: Training, noise: Noise, level: float, new: bool) -> float:
    """Largest orthogonal distance at a level; for new rows that of a row in the middle of the scores.

    The limit of other new rows is longer by the root of ``1 + SD^2/(n + 1)``,
    and with that the level holds on average over the rows.
    """
    n, k, h = fit.n_rows, len(fit.variances), noise.dof
    if noise.mean <= 0:
        return 0.0
    spikes = spikes_of(fit, noise.mean)
    if new:
        seen, tilt = spikes.new_rows()
        longer = (1 + seen / (n + 1)) / (1 + 1 / n + tilt)
    else:
        squares = chdtri(k, (np.arange(200) + 0.5) / 200)
        longer = 1 / (1 - np.minimum(1 / n + squares * (spikes.absorbed / k), 1 - 0.5 / n))

    def excess(c: float) -> float:
        above = fdtrc(h, h * n, c * longer) if new else chdtrc(h, h * c * longer)
        return float(above.mean()) - (1 - level)

    return float(np.sqrt(noise.mean * _crossing(excess, 1e-3, 1e4)))


def _crossing(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that falls over all positive numbers is zero: between two of them, or else beyond.

    Beyond where components have next to no variance beside the noise.
    """
    while falling(high) > 0:
        low, high = high, 1e3 * high
    while falling(low) < 0:
        low, high = 1e-3 * low, low
    return float(brentq(falling, low, high))
