"""A plane through weighted rows, the distances of rows to it, and how far a regular row may lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri, stdtrit

from .._arrays import asarray_like, double, namespace, to_numpy
from .._flags import MOST_TILT, Cutoffs
from .._subspace import score_distances
from ..rows import MANY_ROWS, Rows
from ..statistics import main_mode
from .axes import port_axes, row_axes, scatter_axes

Array = NDArray[Any]

#: Share of regular rows below each of the two cut-offs: about 2 % false alarms together.
LEVEL = 0.99
#: Rows beyond this level leave the fit; a lower one would cost efficiency on clean data.
FIT_LEVEL = 0.995
#: Quantile of the score distances that sets the size of the score cut-off: a higher one spares more of
#: a long tail, a lower one finds larger shares of rows that are far out inside the subspace.
SCORE_QUANTILE = 0.8


@dataclass(frozen=True)
class Plane:
    """center + span(W), the variances of the scores, and how many rows are behind it.

    Axes of variance zero belong to the plane and judge nobody.
    """

    center: Array
    W: Array
    variances: Array
    n_fit: int
    total_variance: float

    @property
    def live(self) -> Array:
        """Mask of the axes with a variance."""
        return self.variances > 1e-20 * self.variances.max(initial=0.0)


def weighted_plane(
    rows: Rows, weights: Any, k: int, muted: Array | None = None, start: Array | None = None
) -> Plane:
    """Weighted mean and leading components of the weighted covariance, found from `start` where it is near.

    The columns in `muted` are left out of the components and added to the
    plane as axes without variance: what a row has there is not judged.
    """
    if rows.in_memory and rows.shape[0] <= MANY_ROWS and (muted is None or not muted.any()):
        return _plane_at_hand(rows, weights, k, start)
    mass = float(rows.total(double, weights))
    n_used = round(float(rows.total(lambda w: namespace(w).sign(w), weights)))
    mean = to_numpy(rows.pullback(weights)).astype(np.float64) / mass
    size = n_used / max(n_used - 1, 1) / mass
    if rows.shape[1] > rows.shape[0] and (muted is None or not muted.any()):
        Y = rows.shifted(rows.asarray(mean))
        variances, W = port_axes(Y, weights, k, start)
        total = float(Y.total(lambda r, w: double(r) ** 2 * w, Y.norms(), weights))
        return Plane(mean, W, size * np.maximum(variances, 0.0), n_used, size * total)
    C = double(rows.gram(weights)) / mass
    home_mean = asarray_like(mean, C)
    C = (C - home_mean[:, None] * home_mean) * (n_used / max(n_used - 1, 1))
    total = max(float(np.trace(to_numpy(C))), 0.0)
    if muted is None or not muted.any():
        variances, W = scatter_axes(C, k, start)
        return Plane(mean, W, np.maximum(variances, 0.0), n_used, total)
    S = to_numpy(C)[np.ix_(~muted, ~muted)]
    k = min(k, len(S))
    W = np.zeros((len(mean), k + int(muted.sum())))
    variances, W[~muted, :k] = scatter_axes(S, k)
    W[np.flatnonzero(muted), np.arange(k, W.shape[1])] = 1.0
    return Plane(mean, W, np.append(np.maximum(variances, 0.0), np.zeros(W.shape[1] - k)), n_used, total)


def _plane_at_hand(rows: Rows, weights: Array, k: int, start: Array | None) -> Plane:
    """`weighted_plane` of few rows in memory: those without weight are never touched."""
    used = np.flatnonzero(weights)
    A, v = rows.gather_rows(used), np.asarray(weights[used], dtype=np.float64)
    n_used = len(used)
    if rows.weights is not None:
        v, n_used = v * rows.weights[used], round(float(rows.weights[used].sum(dtype=np.float64)))
    mass = float(v.sum())
    mean = (v @ A) / mass
    A = A - mean
    A *= np.sqrt(v / mass * (n_used / max(n_used - 1, 1)))[:, None]
    variances, W = row_axes(A, k, start)
    return Plane(mean, W, np.maximum(variances, 0.0), n_used, float(np.einsum("ij,ij->", A, A)))


def plane_distances(rows: Rows, plane: Plane) -> tuple[Any, Any, Any]:
    """Scores, score distances and orthogonal distances of the rows, as handles."""
    T, od = rows.shifted(rows.asarray(plane.center)).scores_and_distances(rows.asarray(plane.W))
    return T, rows.map(lambda t: score_distances(double(t), plane.variances), T), od


def free_distances(n: int, sd: Any, od: Any, fitted: Any = None) -> Any:
    """Orthogonal distances as they would be if no row had had a part in the plane of n rows.

    A row of the fit lies too close: with leverage l = 1/n + SD^2/(n-1) its
    OD^2 is short by 1 - l. Another row lies too far, as the plane is tilted:
    its OD^2 is long by 1 + 1/n + SD^2/n, within reason: no tilt excuses a row
    that lies far off as well as far out.
    """
    xp, squares = namespace(sd), sd * sd
    outside = double(od) / xp.sqrt(1 + 1 / n + xp.minimum(squares / n, MOST_TILT))
    if fitted is None:
        return outside
    rest = 1 - xp.minimum(1 / n + squares / max(n - 1, 1), 1 - 0.5 / n)
    return xp.where(fitted > 0, double(od) / xp.sqrt(rest), outside)


def left_over(X: Array, plane: Plane) -> Array:
    """What a plane leaves of rows."""
    A = X - plane.center
    return np.asarray(A - (A @ plane.W) @ plane.W.T)


def fit_limit(far: Array, count: int, tol: float) -> float:
    """Free distance beyond which a row leaves the fit.

    From the main mode of their powers of 2/3, which are nearly normal: bad
    rows, even 40 % of them, do not move it.
    """
    location, scale = main_mode(np.cbrt(far**2), count)
    return max(max(location + mode_quantile(FIT_LEVEL, len(far)) * scale, 0.0) ** 1.5, tol)


def mode_quantile(level: float, n: int) -> float:
    """A t quantile: the mode of few values is uncertain, as much as n/4 degrees of freedom say."""
    return float(stdtrit(max(n / 4, 1), level))


def row_cutoffs(plane: Plane, sd: Array, far: Array, fitted: Array, count: int, tol: float) -> Cutoffs:
    """Largest distances of a regular row, from the distances of all.

    Parameters
    ----------
    plane : Plane
    sd, far : ndarray of shape (n,)
        Score distances and free orthogonal distances.
    fitted : ndarray of bool of shape (n,)
    count : int
        Rows that are taken to be good.
    tol : float
        Length below which a distance is rounding.
    """
    n, k = plane.n_fit, int(plane.live.sum())
    z = np.cbrt(far**2)
    location, scale = main_mode(z, count)
    scale *= upper_stretch(z[fitted])
    orthogonal = max(max(location + mode_quantile(LEVEL, n) * scale, 0.0) ** 1.5, tol)
    pool = fitted & (far <= orthogonal)
    # A row at the center of the scores; the tilt lengthens the distances of rows farther out.
    return Cutoffs(score_cutoff(sd[pool], k, n), orthogonal * float(np.sqrt(1 + 1 / n)), n + 1.0)


def upper_stretch(z: Array) -> float:
    """How much longer the upper side of a sample is than the lower, at least 1: heavy tails show there."""
    if len(z) < 2:
        return 1.0
    low, middle, high = np.quantile(z, (0.05, 0.5, 0.95))
    if middle <= low:
        return 1.0
    return float(np.clip((high - middle) / (middle - low) - 1.5 / np.sqrt(len(z)), 1.0, 2.0))


def score_cutoff(sd: Array, k: int, n: int) -> float:
    """Score distance that few rows of the fit exceed, whatever the distribution of their scores.

    F for normal scores, scaled to agree with an upper quantile of the score
    distances: groups and skewed scores are no sample of F, and are no
    outliers either.
    """
    if n - k <= 1 or k == 0 or not len(sd):
        return float(np.inf)
    size = float(np.quantile(sd**2, SCORE_QUANTILE)) / float(fdtri(k, n - k, SCORE_QUANTILE))
    return float(np.sqrt(size * fdtri(k, n - k, LEVEL))) or float(np.inf)
