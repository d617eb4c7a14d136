"""Distances of rows to a fitted subspace, cut-offs, flags, and angles between two fits.

One module for every estimator of the package, and for any fitted object with
`mean_`, `components_` and `explained_variance_`, scikit-learn's PCA included.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtri, ndtri

from ._arrays import cast, double, like, namespace, to_numpy

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
    data: Any = X if hasattr(X, "__array_namespace__") or hasattr(X, "detach") else np.asarray(X)
    xp, W = namespace(data), to_numpy(fitted.components_).astype(np.float64)
    # The dual is the transpose where the components are orthonormal.
    basis, dual, mean = (
        double(like(part, data)) for part in (W, np.linalg.pinv(W), to_numpy(fitted.mean_).astype(np.float64))
    )
    variances = to_numpy(fitted.explained_variance_).astype(np.float64)
    step = max(256, (1 << (18 if xp is np else 26)) // max(1, data.shape[1]))
    sd, od = [], []
    for i in range(0, data.shape[0], step):
        A = double(data[i : min(i + step, data.shape[0]), :]) - mean
        T = A @ dual
        A = A - T @ basis
        sd.append(score_distances(T, variances))
        od.append(row_lengths(A))
    join = np.concatenate if xp is np else xp.concat
    return join(sd), join(od)


def score_distances(T: Array, variances: Array) -> Array:
    """sqrt(sum_j t_j^2 / l_j); a component without variance says nothing."""
    live = variances > 1e-20 * variances.max(initial=0.0)
    inverse = np.where(live, 1.0 / np.sqrt(np.where(live, variances, 1.0)), 0.0)
    Z = T * like(inverse, T)  # before the squares, which may overflow
    return namespace(T).sqrt(namespace(T).sum(Z * Z, axis=1))


def row_lengths(A: Array) -> Array:
    """Lengths of the rows, whatever their size: squares neither overflow nor vanish."""
    xp = namespace(A)
    size = xp.max(abs(A), axis=1, keepdims=True)
    info, top = xp.finfo(A.dtype), float(xp.max(size))
    if float(info.smallest_normal) ** 0.25 < top < float(info.max) ** 0.25:
        return xp.sqrt(xp.sum(A * A, axis=1))
    size = xp.where(size == 0, xp.ones_like(size), size)
    return size[:, 0] * xp.sqrt(xp.sum((A / size) ** 2, axis=1))


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
    z = np.cbrt(to_numpy(orthogonal_distances).astype(np.float64)) ** 2
    middle = float(np.median(z))
    mad = 1.4826 * float(np.median(np.abs(z - middle)))
    orthogonal = max(middle + mad * float(ndtri(level)), 0.0) ** 1.5
    return Cutoffs(float(np.sqrt(chdtri(n_components, 1.0 - level))), orthogonal)


def flags(score_distances: Array, orthogonal_distances: Array, limits: Cutoffs, n_components: int) -> Array:
    """Region of every row in the outlier map, as values of `Flag`."""
    whole = namespace(score_distances).int64
    off = orthogonal_distances > orthogonal_limit(score_distances, limits, n_components)
    far = score_distances > limits.score
    return int(Flag.GOOD_LEVERAGE) * cast(far, whole) + int(Flag.ORTHOGONAL_OUTLIER) * cast(off, whole)


def excess(score_distances: Array, orthogonal_distances: Array, limits: Cutoffs, n_components: int) -> Array:
    """The larger of the two distances over its cut-off: above one for rows that are not regular."""
    xp = namespace(score_distances)
    limit = xp.maximum(orthogonal_limit(score_distances, limits, n_components), sys.float_info.min)
    with np.errstate(over="ignore"):  # a product beyond the largest number caps nothing, as it should
        capped = xp.minimum(orthogonal_distances, 1e300 * limit)
    return xp.maximum(score_distances / limits.score, capped / limit)


def orthogonal_limit(score_distances: Array, limits: Cutoffs, n_components: int) -> Array:
    """Cut-off of the orthogonal distance, longer for rows far out in a tilted subspace.

    Parameters
    ----------
    score_distances : ndarray of shape (n,)
    limits : Cutoffs
    n_components : int

    Returns
    -------
    ndarray of shape (n,)
        ``limits.orthogonal`` for every row where the subspace is taken as known.

    Examples
    --------
    >>> orthogonal_limit(np.array([0.0, 30.0]), Cutoffs(3.0, 2.0, tilt=100.0), 2).round(1).tolist()
    [2.0, 6.2]
    """
    n = limits.tilt
    longer = (1 + (1 + score_distances**2) / n) / (1 + (1 + n_components) / n)
    xp = namespace(score_distances)
    return limits.orthogonal * xp.sqrt(xp.maximum(longer, 1.0))


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
    A, B = (_row_basis(to_numpy(getattr(side, "components_", side))) for side in (first, second))
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
