"""Distances of rows to a fitted subspace, cut-offs, flags, and angles between two fits.

One module for every estimator of the package, and for any fitted object with
`mean_`, `components_` and `explained_variance_`, scikit-learn's PCA included.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtri, ndtri

__all__ = [
    "Cutoffs",
    "Diagnostics",
    "Flag",
    "cutoffs",
    "diagnose",
    "distances",
    "excess",
    "flags",
    "orthogonal_limit",
    "principal_angles",
]

Array = NDArray[Any]


class Flag(IntEnum):
    """Region of the outlier map a row falls into."""

    REGULAR = 0
    GOOD_LEVERAGE = 1  # far away inside the subspace
    ORTHOGONAL_OUTLIER = 2  # off the subspace, its projection inside the cloud
    BAD_LEVERAGE = 3  # off the subspace and far away


@dataclass(frozen=True)
class Cutoffs:
    """Largest score and orthogonal distance of a regular row.

    A fitted subspace is tilted by the noise of the `n_fit` rows behind it,
    which lengthens the orthogonal distance of rows far out in it: `tilt` is
    that number, and infinite for a subspace that is taken as known.
    """

    score: float
    orthogonal: float
    tilt: float = np.inf


class Fitted(Protocol):
    """What is needed of a fitted estimator."""

    mean_: Array
    components_: Array
    explained_variance_: Array


@dataclass(frozen=True)
class Diagnostics:
    """Distances of rows with the cut-offs they are judged by.

    Attributes
    ----------
    score_distances, orthogonal_distances : ndarray of shape (n,)
    cutoffs : Cutoffs
    flags : ndarray of int of shape (n,)
        Values of `Flag`.
    """

    score_distances: Array
    orthogonal_distances: Array
    cutoffs: Cutoffs
    flags: Array


def distances(X: ArrayLike, fitted: Fitted) -> tuple[Array, Array]:
    """Score and orthogonal distances of the rows of X to a fitted subspace.

    The score distance is sqrt(sum_j t_j^2 / l_j), l_j the variance of score
    j; the orthogonal one is the length of what the subspace leaves of the row.

    Parameters
    ----------
    X : array-like of shape (n, d)
    fitted : estimator with mean_, components_ and explained_variance_

    Returns
    -------
    score_distances, orthogonal_distances : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [-2.0, 0.0], [0.0, 0.1], [0.0, -0.1]])
    >>> distances(X, PCA(1).fit(X))[1].round(3).tolist()
    [0.0, 0.0, 0.0, 0.1, 0.1]
    """
    data, W = np.asarray(X), np.asarray(fitted.components_)
    dual = np.linalg.pinv(W.astype(np.float64))  # the transpose where the components are orthonormal
    variances = np.asarray(fitted.explained_variance_, dtype=np.float64)
    sd, od = np.empty(len(data)), np.empty(len(data))
    step = max(256, (1 << 18) // max(1, data.shape[1]))
    for i in range(0, len(data), step):
        A = np.asarray(data[i : i + step] - fitted.mean_, dtype=np.float64)
        T = A @ dual
        sd[i : i + step] = score_distances(T, variances)
        A -= T @ W
        od[i : i + step] = np.linalg.norm(A, axis=1)
    return sd, od


def score_distances(T: Array, variances: Array) -> Array:
    """sqrt(sum_j t_j^2 / l_j); a component without variance says nothing."""
    live = variances > 1e-20 * variances.max(initial=0.0)
    return np.asarray(np.sqrt((T[:, live] ** 2) @ (1.0 / variances[live])))


def cutoffs(orthogonal_distances: Array, n_components: int, level: float = 0.975) -> Cutoffs:
    """The usual cut-offs (Hubert et al. 2005): chi for scores, OD^(2/3) nearly normal.

    Parameters
    ----------
    orthogonal_distances : ndarray of shape (n,)
    n_components : int
    level : float, default=0.975
        Share of regular rows below each of the two cut-offs.

    Returns
    -------
    Cutoffs
    """
    z = np.cbrt(np.asarray(orthogonal_distances, dtype=np.float64) ** 2)
    middle = float(np.median(z))
    mad = 1.4826 * float(np.median(np.abs(z - middle)))
    orthogonal = max(middle + mad * float(ndtri(level)), 0.0) ** 1.5
    return Cutoffs(float(np.sqrt(chdtri(n_components, 1.0 - level))), orthogonal)


def flags(score_distances: Array, orthogonal_distances: Array, limits: Cutoffs, n_components: int) -> Array:
    """Region of every row in the outlier map, as values of `Flag`."""
    off = orthogonal_distances > orthogonal_limit(score_distances, limits, n_components)
    far = score_distances > limits.score
    return np.asarray(Flag.GOOD_LEVERAGE * far + Flag.ORTHOGONAL_OUTLIER * off, dtype=np.int64)


def excess(score_distances: Array, orthogonal_distances: Array, limits: Cutoffs, n_components: int) -> Array:
    """The larger of the two distances over its cut-off: above one for rows that are not regular."""
    limit = np.maximum(orthogonal_limit(score_distances, limits, n_components), np.finfo(np.float64).tiny)
    return np.maximum(score_distances / limits.score, np.minimum(orthogonal_distances, 1e300 * limit) / limit)


def orthogonal_limit(score_distances: Array, limits: Cutoffs, n_components: int) -> Array:
    """Cut-off of the orthogonal distance, longer for rows far out in a tilted subspace."""
    n = limits.tilt
    longer = (1 + (1 + score_distances**2) / n) / (1 + (1 + n_components) / n)
    return np.asarray(limits.orthogonal * np.sqrt(np.maximum(longer, 1.0)))


def diagnose(fitted: Fitted, X: ArrayLike) -> Diagnostics:
    """Distances, cut-offs and flags of the rows of X.

    Parameters
    ----------
    fitted : estimator with mean_, components_ and explained_variance_
        Its own `cutoffs_` are used where it has some.
    X : array-like of shape (n, d)

    Returns
    -------
    Diagnostics

    Examples
    --------
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.datasets import make_contaminated
    >>> X, bad, axes = make_contaminated(200, 10, 2, fraction=0.3, random_state=0)
    >>> found = diagnose(TL1SubspacePCA(2, random_state=0).fit(X), X)
    >>> bool((found.flags[bad] >= Flag.ORTHOGONAL_OUTLIER).all())
    True
    """
    sd, od = distances(X, fitted)
    k = len(fitted.components_)
    limits = getattr(fitted, "cutoffs_", None) or cutoffs(od, k)
    return Diagnostics(sd, od, limits, flags(sd, od, limits, k))


def principal_angles(first: ArrayLike, second: ArrayLike) -> Array:
    """Principal angles between two row spaces in degrees, largest first.

    Parameters
    ----------
    first, second : array-like of shape (k, d), or fitted estimators
        Components as rows; they need not be orthonormal.

    Returns
    -------
    ndarray of shape (min(k1, k2),)

    Examples
    --------
    >>> principal_angles([[1.0, 0.0]], [[1.0, 1.0]]).round(6).tolist()
    [45.0]
    """
    A, B = (_row_basis(getattr(side, "components_", side)) for side in (first, second))
    if len(A) < len(B):
        A, B = B, A
    cosines = np.clip(np.linalg.svd(A @ B.T, compute_uv=False), 0.0, 1.0)
    sines = np.clip(np.linalg.svd(B - (B @ A.T) @ A, compute_uv=False), 0.0, 1.0)
    # Small angles from their sines, large ones from their cosines: both keep all digits.
    small = sines[: len(cosines)] < np.sqrt(0.5)
    angles = np.where(small, np.arcsin(sines[: len(cosines)]), np.arccos(cosines[::-1]))
    return np.asarray(np.degrees(angles))


def _row_basis(components: ArrayLike) -> Array:
    M = np.atleast_2d(np.asarray(components, dtype=np.float64))
    return np.asarray(np.linalg.qr(M.T)[0].T)
