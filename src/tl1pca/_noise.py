"""The noise of every column of rows about a fitted plane.

With noise variances psi the weights of generalized least squares are
D = Psi^-1 C' (C Psi^-1 C')^-1 for components C (k, d), and the residuals
R = A (I - D C) have the variances psi_j (1 - h_j), h_j = (D C)_jj being the
leverage of column j. This is solved for psi by turns. Residuals of ordinary
least squares are enough, as what they leave out lies in the plane.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import digamma, ndtri, zeta

from .statistics import truncated_normal

Array = NDArray[Any]

#: A residual of more deviations takes no part in the variance of its column: rows of the fit may have
#: bad cells, and a sensor that fails now has often failed before.
WINDOW = 3.0
#: Turns at most, and the change of the variances (root mean square of the shares) at which they end.
TURNS, SETTLED = 30, 0.01
#: Rows that the first guess is made from, or up to twice as many.
START_ROWS = 100
#: The least noise of a column, as a share of the mean square of its residuals. Where columns depend on each
#: other (parts beside their sum) the likelihood grows without limit as the noise of one of them goes to zero.
LEAST_SHARE = 1e-4
#: A column of larger leverage all but is a component: its residuals are rounding.
MOST_LEVERAGE = 1.0 - 1e-9


def weighted_dual(components: Array, noise: Array) -> Array:
    """Weights (d, k) of the columns in the scores of generalized least squares."""
    root = np.sqrt(noise)
    return np.asarray(np.linalg.pinv(components / root) / root[:, None])


def column_noise(residuals: Array, components: Array, free: float, rounding: float) -> Array:
    """Noise variances of the columns, from residuals of which single ones may be bad.

    Few rows hardly tell them: each is drawn to what the columns have in
    common as far as chance explains their differences. With so many
    components that residuals do not tell the columns apart (Ledermann, 1937)
    all are the same. Every column keeps a share of the mean square of its
    residuals, where columns depend on each other too (Heywood's case).

    Parameters
    ----------
    residuals : ndarray of shape (n, d)
        Of ordinary least squares.
    components : ndarray of shape (k, d)
    free : float
        Degrees of freedom that the plane has left to the rows, as a share.
    rounding : float
        Variance below which a column has no noise of its own.

    Returns
    -------
    ndarray of shape (d,)

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(5000, 6)) * [1, 1, 1, 3, 3, 3]
    >>> C = np.eye(6)[:1]
    >>> column_noise(noise - noise @ C.T @ C, C, 1.0, 0.0)[1:].round().tolist()
    [1.0, 1.0, 9.0, 9.0, 9.0]
    """
    E, C, n = residuals, components, len(residuals)
    h = (C * C).sum(axis=0)
    told, off = np.count_nonzero(h < MOST_LEVERAGE), E.shape[1] - len(C)
    if off * (off + 1) < 2 * told or free * n < 1:
        return np.full(E.shape[1], float((E * E).sum()) / max(free * n * off, 1.0))
    some = np.ascontiguousarray(E[:: max(1, n // START_ROWS)].T)
    start = np.median(np.abs(some), axis=1) ** 2 / (ndtri(0.75) ** 2 * free * _left(h))
    inside_share, inside_variance = truncated_normal(WINDOW)
    scatter = _scatter(E)
    squares, settled = np.einsum("ij,ij->j", E, E), True
    least = LEAST_SHARE * squares / n
    psi = np.maximum(moderated(start, free * n * (1 - h), rounding), least)
    for _ in range(TURNS):
        if not (psi > 0).all():
            break
        D, left = _dual_and_left(C, psi, free)
        if settled:  # bad cells are looked for anew; with these left out a turn takes second moments alone
            R = E @ D @ C
            R -= E
            i, j = np.nonzero(np.abs(R) > WINDOW * np.sqrt(psi * left))
            count, bad, loadings = np.maximum(n - np.bincount(j, minlength=len(psi)), 1), E[i, j], C.T[j]
            spoiled, row = np.unique(i, return_inverse=True)
            spoiled = E[spoiled]
        SD = scatter(D)
        within = squares - ((2 * SD - C.T @ (D.T @ SD)) * C.T).sum(axis=1)
        within -= np.bincount(j, (bad - np.einsum("ik,ik->i", (spoiled @ D)[row], loadings)) ** 2, len(psi))
        dof = count / inside_share * left
        found = np.maximum(within, 0.0) / (dof * inside_share * inside_variance)
        before, psi, looked = psi, np.maximum(moderated(found, dof, rounding), least), settled
        settled = bool(np.mean((psi / before - 1.0) ** 2) <= SETTLED**2)
        if looked and settled:
            break
    return psi


def _scatter(E: Array) -> Callable[[Array], Array]:
    """Products E'E D, by the smaller of the two matrices."""
    if E.shape[1] < len(E):
        return partial(np.matmul, E.T @ E)
    return lambda D: np.asarray(E.T @ (E @ D))


def _dual_and_left(C: Array, psi: Array, free: float) -> tuple[Array, Array]:
    """`weighted_dual` of orthonormal components, and the share of the noise in the residuals."""
    weighted = C * (psi.min() / psi)  # never larger than C, however small psi
    D = np.linalg.solve(weighted @ C.T, weighted).T
    return D, free * _left((D * C.T).sum(axis=1))


def _left(leverages: Array) -> Array:
    return np.asarray(1.0 - np.minimum(leverages, MOST_LEVERAGE))


def moderated(variances: Array, dof: Array, least: float = 0.0) -> Array:
    """Estimated variances, drawn together as far as chance explains their differences.

    The true ones are taken as `prior` degrees of freedom would scatter about
    a common variance, and both follow from the logarithms of the estimates
    (Smyth, 2004). Estimates that differ no more than chance explains become
    their mean.

    Parameters
    ----------
    variances, dof : ndarray of shape (m,)
        Estimates and their degrees of freedom.
    least : float, default=0.0
        Estimates that are no larger say nothing about the common variance.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> moderated(np.array([0.9, 1.0, 1.1, 1.0]), np.full(4, 10.0)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    votes = (variances > least) & (dof > 1)
    if not votes.any():
        return np.full(len(variances), float(variances.mean()))
    half, voting = 0.5 * dof[votes], variances[votes]
    logs = np.log(voting) - digamma(half) + np.log(half)
    apart = float(logs.var(ddof=1) - zeta(2, half).mean()) if len(logs) > 1 else 0.0
    if apart <= 0:
        return np.full(len(variances), float(np.average(voting, weights=half)))
    # trigamma(y) = zeta(2, y) lies between 1/y and 1/y + 1/y^2.
    prior = 2 * brentq(
        lambda y: float(zeta(2, y)) - apart, 1 / apart, (1 + np.sqrt(1 + 4 * apart)) / (2 * apart)
    )
    common = float(np.exp(logs.mean() + digamma(prior / 2) - np.log(prior / 2)))
    return np.asarray((prior * common + dof * variances) / (prior + dof))
