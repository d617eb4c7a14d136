"""The residual side with a high breakdown point: start, exclusion, Tl1 steps, reweighting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri, ndtri, stdtrit

from .._arrays import cast, double, like, namespace, to_numpy
from .._progress import tell
from ..diagnostics import Cutoffs, score_distances
from ..geometry import unit
from ..rows import Rows
from ..statistics import main_mode, some_rows
from .base import scatter_axes
from .outlyingness import exact_rows, least_outlying

Array = NDArray[Any]

#: Share of regular rows below each of the two cut-offs: about 2 % false alarms together.
LEVEL = 0.99
#: Rows beyond these levels leave the fit; lower ones would cost efficiency on clean data.
FIT_SCORE, FIT_ORTHOGONAL = 0.9975, 0.995


@dataclass(frozen=True)
class Plane:
    """center + span(W), the variances of the scores, and how many rows are behind it."""

    center: Array
    W: Array
    variances: Array
    n_fit: int
    total_variance: float


@dataclass(frozen=True)
class Verdict:
    """What the distances of all rows say of a plane.

    `plane` has the variances of the main mode; `inside` counts the rows
    within the fit levels, of which `keep` are the ones (and never too few).
    Distances and masks are handles; a mask holds ones and zeros.
    """

    plane: Plane
    score_distances: Any
    orthogonal_distances: Any
    cutoffs: Cutoffs
    fitted: Any
    keep: Any
    inside: int


@dataclass(frozen=True)
class SubspaceFit:
    """The plane with its verdict on all rows, their weights, and the path of the Tl1 scale."""

    verdict: Verdict
    weights: Any
    path: tuple[float, ...]
    converged: bool


def fit_subspace(
    rows: Rows,
    n_components: int | float | None,
    *,
    breakdown: float,
    power: float,
    n_directions: int,
    reweight: bool,
    rng: np.random.RandomState,
) -> SubspaceFit:
    """Robust subspace of the rows.

    Start, exclusion and Tl1 steps work on at most a few thousand rows; the
    reweighted PCA and the distances are those of all rows.

    Parameters
    ----------
    rows : Rows
        Centred anywhere near the data, in their row space if that is small.
    n_components : int, float or None
        See `choose_dimension`.
    breakdown, power, n_directions, reweight
        As in `TL1SubspacePCA`.
    rng : RandomState

    Returns
    -------
    SubspaceFit
    """
    n, d = rows.shape
    most = max(1000, min(5 * d, 2500))
    index = some_rows(n, most, rng)
    sample = rows.precise(index)
    tol = 1e-11 * sample.largest(sample.norms())
    plane, keep = _start(sample, n_components, trusted(len(index), breakdown), n_directions, tol, rng)
    plane, weights, path, converged = tl1_steps(sample, plane, keep, power, tol)
    count, all_rows = trusted(n, breakdown), n == len(index)
    verdict = judge(rows, plane, rows.put(to_numpy(keep)) if all_rows else None, count, tol)
    for _ in range((2 if all_rows else 1) if reweight else 0):
        verdict = judge(rows, weighted_plane(rows, verdict.keep, len(plane.W.T)), verdict.keep, count, tol)
    if reweight or not all_rows:
        final: Any = verdict.fitted if reweight else verdict.keep
    else:
        final = rows.put(weights)
    return SubspaceFit(verdict, final, path, converged)


def trusted(n: int, breakdown: float) -> int:
    """Rows that are taken to be good: all but the share `breakdown`, and always a majority."""
    return min(n, max(n - int(breakdown * n), n // 2 + 1))


def choose_dimension(variances: Array, total: float, n_components: int | float | None) -> int:
    """Number of components from the variances of the trusted rows.

    An integer as given; a share: the smallest number that reaches it; None:
    the smallest that reaches 80 %, at most 10, none with less than 1e-3 of
    the first variance.
    """
    if isinstance(n_components, int):
        return min(n_components, len(variances))
    share = 0.8 if n_components is None else n_components
    reached = 1 + int((np.cumsum(variances) < share * total * (1 - 1e-12)).sum())
    k = min(len(variances), reached)
    if n_components is not None:
        return k
    return max(1, min(k, 10, int((variances >= 1e-3 * variances[0]).sum())))


def _start(
    sample: Rows,
    n_components: int | float | None,
    count: int,
    n_directions: int,
    tol: float,
    rng: np.random.RandomState,
) -> tuple[Plane, Array]:
    """A plane that a majority agrees on, and the rows it keeps.

    Candidates: rows exactly on a plane, the least outlying rows in several
    opinions, the rows nearest to the spherical components. A candidate is
    consistent if its plane keeps enough rows; of consistent ones the least
    spread wins, and the search ends with the first one after both opinions on
    the rows that no gap separates.
    """
    n, d = sample.shape
    X = sample.take(np.arange(n))

    def mask(index: Array) -> Any:
        ones = np.zeros(n)
        ones[index] = 1.0
        return sample.put(ones)

    opinions = least_outlying(X, count, n_directions, tol, rng)
    first = next(opinions)
    if isinstance(n_components, int):
        k = min(n_components, n, d)
    else:
        whole = weighted_plane(sample, mask(first[0]), min(n, d))
        k = choose_dimension(whole.variances, whole.total_variance, n_components)
    exact = exact_rows(X, k, count, tol, rng)
    if exact is not None:
        verdict = _exclude(sample, mask(exact), k, count, tol)
        if verdict.inside >= count:
            return verdict.plane, verdict.keep
    tried = [_exclude(sample, mask(rows_in), k, count, tol) for rows_in in first]
    if max(verdict.inside for verdict in tried) < count:
        tried += [_exclude(sample, mask(rows_in), k, count, tol) for rows_in in next(opinions)]
    if max(verdict.inside for verdict in tried) < count:
        best = max(tried, key=lambda verdict: verdict.inside)
        tried.append(_exclude(sample, mask(_spherical_rows(X, best.plane, k, count)), k, count, tol))
    consistent = [verdict for verdict in tried if verdict.inside >= count]
    if len(consistent) == 1:
        best = consistent[0]
    elif consistent:
        best = min(consistent, key=lambda verdict: _spread(sample, verdict, count))
    else:
        best = max(tried, key=lambda verdict: verdict.inside)
    return best.plane, best.keep


def _spread(sample: Rows, verdict: Verdict, count: int) -> float:
    """Total variance of the most central rows."""
    limits, each = verdict.cutoffs, np.arange(sample.shape[0])
    far = np.maximum(
        sample.pick(verdict.score_distances, each) / limits.score,
        sample.pick(verdict.orthogonal_distances, each) / max(limits.orthogonal, np.finfo(np.float64).tiny),
    )
    ones = np.zeros(len(far))
    ones[np.argpartition(far, count - 1)[:count]] = 1.0
    return weighted_plane(sample, sample.put(ones), 1).total_variance


def _spherical_rows(X: Array, plane: Plane, k: int, count: int) -> Array:
    """Rows nearest to the principal axes of the directions from the centre."""
    A = X - plane.center
    axes = scatter_axes(unit(A.T) @ unit(A.T).T, k)[1]
    return np.argsort(np.linalg.norm(A - (A @ axes) @ axes.T, axis=1), kind="stable")[:count]


def weighted_plane(rows: Rows, weights: Any, k: int) -> Plane:
    """Weighted mean and leading components of the weighted covariance."""
    mass = float(rows.total(double, weights))
    n_used = round(float(rows.total(lambda w: namespace(w).sign(w), weights)))
    mean = to_numpy(rows.pullback(weights)).astype(np.float64) / mass
    C = double(rows.gram(weights)) / mass
    home_mean = like(mean, C)
    C = (C - home_mean[:, None] * home_mean) * (n_used / max(n_used - 1, 1))
    variances, W = scatter_axes(C, k)
    return Plane(mean, W, np.maximum(variances, 0.0), n_used, max(float(np.trace(to_numpy(C))), 0.0))


def judge(rows: Rows, plane: Plane, fitted: Any, count: int, tol: float) -> Verdict:
    """Distances of all rows to a plane, cut-offs, and the rows to keep in the fit.

    The limits come from `some_rows`, and are then applied to all of them.
    """
    T, od = rows.shifted(rows.put(plane.center)).split(rows.put(plane.W))
    variances = plane.variances
    sd = rows.map(lambda t: score_distances(double(t), variances), T)
    index = some_rows(rows.shape[0])
    some_sd, some_od = (rows.pick(handle, index).astype(np.float64) for handle in (sd, od))
    mask = np.zeros(len(index)) if fitted is None else rows.pick(fitted, index)
    enough = int(np.ceil(count * len(index) / rows.shape[0]))
    limits, cutoffs = _limits(plane, some_sd, some_od, mask > 0, enough, tol)
    worst = rows.map(limits.worst, sd, od, *(() if fitted is None else (fitted,)))
    keep = rows.map(lambda w, r: cast(w <= 1.0, r.dtype), worst, od)
    inside = round(float(rows.total(double, keep)))
    if inside < count:
        last = enough - 1
        edge = float(np.partition(rows.pick(worst, index), last)[last])
        keep = rows.map(lambda w, r: cast(w <= edge, r.dtype), worst, od)
    if limits.size != 1.0:
        root = float(np.sqrt(limits.size))
        sd = rows.map(lambda s: s / root, sd)
    # What the exclusion of far scores took from their variances, it took from the total.
    total = plane.total_variance + (limits.size - 1.0) * float(variances.sum())
    plane = replace(plane, variances=variances * limits.size, total_variance=total)
    return Verdict(plane, sd, od, cutoffs, fitted, keep, inside)


@dataclass(frozen=True)
class _Limits:
    """How far a row may lie from a plane with `n` rows behind it to stay in the fit.

    A row in the fit lies too close: with leverage l = 1/n + SD^2/(n-1) its
    OD^2 is short by 1 - l, and its SD^2 is replaced by the value without it;
    another row lies too far: its OD^2 is long by 1 + 1/n + SD^2/n.
    """

    n: int
    orthogonal: float = np.inf
    score: float = np.inf
    size: float = 1.0

    def corrected(self, sd: Any, od: Any, fitted: Any = None) -> tuple[Any, Any]:
        """SD^2 and OD as they would be for rows that neither were in the fit nor tilted it."""
        xp, n = namespace(sd), self.n
        squares = sd * sd
        outside = double(od) / xp.sqrt(1 + 1 / n + xp.minimum(squares / n, 1.0))
        if fitted is None:
            return squares, outside
        rest = 1 - xp.minimum(1 / n + squares / max(n - 1, 1), 1 - 0.5 / n)
        inner = n * (n - 2) / max(n - 1, 1) ** 2
        return (
            xp.where(fitted > 0, squares * inner / rest, squares),
            xp.where(fitted > 0, double(od) / xp.sqrt(rest), outside),
        )

    def worst(self, sd: Any, od: Any, fitted: Any = None) -> Any:
        """The larger of the two distances over its limit."""
        xp = namespace(sd)
        squares, far = self.corrected(sd, od, fitted)
        if self.orthogonal > 0:
            far = far / self.orthogonal
        else:
            far = xp.where(far > 0, like(np.inf, far), like(0.0, far))
        return xp.maximum(far, xp.sqrt(squares / (self.size * self.score)))


def _limits(
    plane: Plane, sd: Array, od: Array, fitted: Array, count: int, tol: float
) -> tuple[_Limits, Cutoffs]:
    """Limits from the main modes of the corrected distances, whose powers of 2/3 are nearly normal.

    The mode of the orthogonal ones gives their limit, that of the score
    distances of rows within it the size of the variances, for which SD^2 of a
    new row has an F distribution.
    """
    k, n = len(plane.variances), plane.n_fit
    limits = _Limits(n)
    squares, far = limits.corrected(sd, od, fitted)
    location, scale = main_mode(np.cbrt(far**2), count)
    # A t quantile: the mode of few values is uncertain, as much as n/4 degrees of freedom say.
    flagged = max(location + float(stdtrit(max(n / 4, 1), LEVEL)) * scale, 0.0) ** 1.5
    limit = max(max(location + float(ndtri(FIT_ORTHOGONAL)) * scale, 0.0) ** 1.5, tol)
    near, size, score, flagged_score = far <= limit, 1.0, np.inf, np.inf
    if n - k > 1 and near.any():
        # Rows of the fit, if there are enough of them: a leverage cluster is a sharper mode than
        # they are, and must not lend its size to the variances.
        pool = near & fitted if np.count_nonzero(near & fitted) >= 0.8 * count else near
        z = np.cbrt(squares[pool])
        factor = k * (n * n - 1) / (n * (n - k))
        mode = main_mode(z, min(count, int(np.ceil(0.9 * len(z)))))[0]
        found = mode**3 / (factor * float(fdtri(k, n - k, 0.5)))
        if found > 0:
            size, score = found, factor * float(fdtri(k, n - k, FIT_SCORE))
            flagged_score = float(np.sqrt(factor * fdtri(k, n - k, LEVEL)))
    cutoffs = Cutoffs(flagged_score, max(flagged, tol) * float(np.sqrt(1 + (k + 1) / n)), float(n))
    return replace(limits, orthogonal=limit, score=score, size=float(size)), cutoffs


def _exclude(sample: Rows, keep: Any, k: int, count: int, tol: float) -> Verdict:
    """PCA of the rows kept and exclusion of those beyond the fit levels, in turn, until they agree."""
    for _ in range(8):
        verdict = judge(sample, weighted_plane(sample, keep, k), keep, count, tol)
        changed = float(sample.total(lambda a, b: abs(a - b), verdict.keep, keep))
        keep = verdict.keep
        if changed <= 0.002 * sample.shape[0]:
            break
    return verdict


def power_scale(r: Array, power: float) -> float:
    """s with mean h(r/s) = 1/2, h(u) = u^q/(1 + u^q): the Tl1 scale of r^q, in the units of r."""
    n, r = len(r), r[r > 0]
    if 2 * len(r) <= n:
        return 0.0
    s = float(np.median(r))
    for _ in range(50):
        u = (r / s) ** power
        h = u / (1.0 + u)
        step = (float(h.sum()) - 0.5 * n) / (power * float((h * (1.0 - h)).sum()))
        s *= float(np.exp(np.clip(step, -1.0, 1.0)))
        if abs(step) < 1e-10:
            break
    return s


def tl1_steps(
    sample: Rows, plane: Plane, keep: Any, power: float, tol: float, max_iter: int = 20
) -> tuple[Plane, Array, tuple[float, ...], bool]:
    """Minimise the scale of the distances of the rows kept: PCA with weights h'(u)/u, u = r/s.

    h(sqrt(u)) is concave for powers up to two, so the scale never increases.
    """
    kept = to_numpy(keep) > 0
    Y = sample.sample(np.flatnonzero(kept))
    w = np.ones(Y.shape[0])
    path: list[float] = []
    best = plane
    for _ in range(max_iter + 1):
        r = to_numpy(Y.shifted(Y.put(plane.center)).split(Y.put(plane.W))[1])
        r = np.where(r <= tol, 0.0, r)
        s = power_scale(r, power)
        if path and s > path[-1]:
            break
        best = plane
        path.append(s)
        if tell("subspace", s):
            break
        if s == 0.0 or (len(path) > 1 and path[-2] - s <= 1e-3 * s):
            break
        u = np.maximum(r / s, 1e-6)
        w = u ** (power - 2.0) / (1.0 + u**power) ** 2
        w /= w.max()
        plane = weighted_plane(Y, Y.put(w), len(plane.variances))
    weights = np.zeros(len(kept))
    weights[kept] = w
    return best, weights, tuple(path), len(path) <= max_iter
