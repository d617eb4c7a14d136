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

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv, chdtr, chdtrc, chdtri, fdtrc, fdtri, polygamma

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
    """

    score_distances: Array
    orthogonal_distances: Array
    fitted: Array
    variances: Array
    n_features: int

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
    variances : ndarray of shape (k,)
        Of the scores of new rows: e c^2 + s.
    absorbed : float
        Share of the noise that the components have taken from the rows of the fit.
    tilt : float
        Signal off the fitted plane, over the noise.
    """

    variances: Array
    absorbed: float
    tilt: float

    def shares(self, fit: Training) -> Array:
        """Variances of the scores of new rows over the fitted ones, of components that have a variance."""
        live = fit.variances > 1e-20 * fit.variances.max(initial=0.0)
        return np.asarray(self.variances[live] / fit.variances[live])


def spikes_of(fit: Training, noise_mean: float) -> Spikes:
    """The effects of noise on the components, for the mean of the squared orthogonal distances."""
    d, k, n = fit.n_features, len(fit.variances), fit.n_rows
    values, s = fit.variances.astype(np.float64), noise_mean / max(d - k, 1)
    if s <= 0 or d <= k:
        return Spikes(values, 0.0, 0.0)
    g = (d - k) / (n - 1)
    b = values + s - s * g
    root = b * b - 4 * values * s
    e = 0.5 * (b + np.sqrt(np.maximum(root, 0.0))) - s
    # Below the threshold of detection the axis is random, and the noise is all there is.
    seen = (root > 0) & (e > s * np.sqrt(g))
    e = np.where(seen, e, s * np.sqrt(g))
    cosine2 = np.where(seen, (1 - g * (s / e) ** 2) / (1 + g * s / e), 0.0)
    lost = float((g * s * (e + s) / e).sum())
    return Spikes(e * cosine2 + s, min(lost / noise_mean, 0.5), float((e * (1 - cosine2)).sum()) / noise_mean)


def stretches(fit: Training, spikes: Spikes) -> Array:
    """Squared orthogonal distance of every training row over what it would be if the plane were known."""
    n = fit.n_rows
    squares = fit.score_distances**2
    usual = float(spikes.shares(fit).sum())
    mean = float(squares[fit.fitted].mean())
    leverage = 1 / n + squares * (spikes.absorbed / mean if mean > 0 else 0.0)
    tilt = 1 / n + squares * (spikes.tilt / usual if usual > 0 else 0.0)
    return np.where(fit.fitted, 1 - np.minimum(leverage, 1 - 0.5 / n), 1 + tilt)


def noise_of(fit: Training) -> Noise:
    """Size and degrees of freedom of the orthogonal distances of the rows that are no outliers.

    All training rows are looked at, as a fit may have left out good ones, and
    without the tail its size would be too small. The degrees of freedom come
    from the variance of the logarithm, trigamma(h/2) for chi-square, and are
    at most those of equal noise in all columns.
    """
    most = max(fit.n_features - len(fit.variances), 1)
    raw = fit.orthogonal_distances**2
    near = fit.fitted & (raw > 0)
    if np.count_nonzero(near) < 3:
        return Noise(0.0, float(most))
    mean = float(raw[near].mean())
    for _ in range(50):
        squares = raw / stretches(fit, spikes_of(fit, mean))
        dof = _dof_of_log_variance(float(np.log(squares[near]).var(ddof=1)), most)
        edge = float(chdtri(dof, 1 - TRUNCATION))
        # E[D; D < q] is the distribution function with two more degrees of freedom.
        kept = float(chdtr(dof + 2, edge)) / TRUNCATION
        before, mean = mean, float(squares[near].mean()) / kept
        if abs(mean - before) <= 1e-9 * mean:
            break
        near = (raw > 0) & (squares <= mean * edge / dof)
    return Noise(mean, dof)


def _dof_of_log_variance(variance: float, most: int) -> float:
    if variance <= polygamma(1, most / 2):
        return float(most)
    if variance >= polygamma(1, 0.5):
        return 1.0
    return float(brentq(lambda h: polygamma(1, h / 2) - variance, 1.0, float(most)))


def score_limit(fit: Training, noise: Noise, level: float, new: bool) -> float:
    """Largest score distance at a level: F for new rows, beta for those of the fit."""
    n, k = fit.n_rows, len(fit.variances)
    if n - k < 2:
        return float("inf")
    if not new:
        return float(np.sqrt((n - 1) ** 2 / n * betaincinv(k / 2, (n - k - 1) / 2, level)))
    share = spikes_of(fit, noise.mean).shares(fit)
    if not len(share):
        return float("inf")
    # A sum of squares with unequal variances is close to a chi-square of these degrees of freedom.
    size, dof = (share**2).sum() / share.sum(), share.sum() ** 2 / (share**2).sum()
    factor = size * dof * (n * n - 1) / (n * (n - dof))
    return float(np.sqrt(factor * fdtri(dof, n - dof, level)))


def orthogonal_limit(fit: Training, noise: Noise, level: float, new: bool) -> float:
    """Largest orthogonal distance at a level, for a row with an average score distance.

    For new rows it is stretched by ``(1 + (1 + SD^2)/n) / (1 + (1 + k)/n)``
    where that exceeds one, and holds its level on average over the rows.
    """
    n, k, h = fit.n_rows, len(fit.variances), noise.dof
    if noise.mean <= 0:
        return 0.0
    squares = chdtri(k, (np.arange(200) + 0.5) / 200)
    spikes = spikes_of(fit, noise.mean)
    if new:
        tilt = 1 + 1 / n + squares * (spikes.tilt / k)
        seen = squares * (float(spikes.shares(fit).sum()) / k)
        stretch = np.maximum((1 + (1 + seen) / n) / (1 + (1 + k) / n), 1.0)
    else:
        tilt = 1 - np.minimum(1 / n + squares * (spikes.absorbed / k), 1 - 0.5 / n)
        stretch = np.ones_like(squares)

    def excess(c: float) -> float:
        above = fdtrc(h, h * n, c * stretch / tilt) if new else chdtrc(h, h * c * stretch / tilt)
        return float(above.mean()) - (1 - level)

    return float(np.sqrt(noise.mean * brentq(excess, 1e-3, 1e4)))
