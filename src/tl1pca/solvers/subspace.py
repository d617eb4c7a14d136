"""The residual side with a high breakdown point: start, concentration, dimension, Tl1 steps, reweighting.

Rows are judged by their distance to the plane and not by their scores: a group
or a long tail inside the plane is no reason to leave the fit. The one exception
is a repeated point far out, see `leverage_ball`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from .._arrays import cast, double, namespace, to_numpy
from .._flags import Cutoffs
from .._progress import report_iteration
from ..objectives import ResidualScale
from ..rows import Lift, Rows
from ..statistics import effective_dimension, subsample
from .concentration import mask_of, nearest_majority, start_rows
from .groups import dimension_of_groups
from .judging import (
    OTHERS_SHARE,
    Columns,
    columns_that_vary,
    columns_without_scale,
    judging_dimension,
    most_axes,
    others_share_an_axis,
    room_beyond,
)
from .leading_span import NOISE_ROWS, Span, leading_span
from .outlyingness import canonical_order, least_outlying
from .plane import Plane, fit_limit, free_distances, left_over, plane_distances, row_cutoffs, weighted_plane
from .written import as_written, rounding_length

Array = NDArray[Any]

#: Rounds of reweighting. More of them change few fits, for better or worse, and some would never end.
REWEIGHTINGS = 2
#: A leverage cluster has at least this share of the rows.
CLUSTER_SHARE = 0.05
#: Share of the rows off a plane from which on they may be a group, and how many of them are asked.
GROUP_SHARE, OTHERS = 0.05, 100
#: Cells that tell the noise of every column.
NOISE_CELLS = 1 << 18


@dataclass(frozen=True)
class Ball:
    """A repeated point: its center in the space of the rows, and a squared radius along some axes.

    The axes are those of the plane that it was found in: without it the plane
    turns, and the shadow of the ball may fall on good rows.
    """

    center: Array
    axes: Array
    radius2: float


@dataclass(frozen=True)
class RowAssessment:
    """What the distances of all rows say of a plane.

    Distances and masks are handles; a mask holds ones and zeros. `keep` are
    the rows within the limit of the fit (and never too few), without those of
    leverage clusters.
    """

    plane: Plane
    score_distances: Any
    orthogonal_distances: Any
    free: Any
    keep: Any


@dataclass(frozen=True)
class SubspaceFit:
    """The subspace of k components, and the one of at least k that rows are judged by.

    With the distances of all rows to the latter, their weights, and the path
    of the Tl1 scale; `noise_dimension` is NaN where there is too little noise to tell.
    `residuals` are what the judging plane leaves of rows of the fit.
    """

    plane: Plane
    assessment: RowAssessment
    cutoffs: Cutoffs
    weights: Any
    path: tuple[float, ...]
    converged: bool
    noise_dimension: float
    residuals: Array


def fit_subspace(
    rows: Rows,
    n_components: int | float,
    *,
    breakdown: float,
    n_directions: int,
    reweight: bool,
    rng: np.random.RandomState,
    row_space: tuple[Rows, Lift] | None = None,
    judge_beyond: bool = True,
    tol: float = 0.0,
    mute: Array | np.bool_ = np.False_,
) -> SubspaceFit:
    """Robust subspace of the rows.

    All but the last reweighting works on at most a few thousand rows; that
    and the distances are those of all rows.

    Parameters
    ----------
    rows : Rows
        Centered anywhere near the data, in their row space if that is small.
    n_components : int or float
        See `reach_share`.
    breakdown, n_directions, reweight
        As in `TL1SubspacePCA`.
    rng : RandomState
        Draws rows for the start where there are too many.
    row_space : Rows and a callable, or None
        Where the rows are coordinates in their row space, which mean nothing by
        themselves: the rows as they were, and the way of directions to them.
    judge_beyond : bool
        Whether rows may be judged at more dimensions than the components have,
        and not only where groups that are alike take them up.
    tol : float
        Length below which a distance is rounding; more than that of the machine where most rows show it.
    mute : ndarray of bool of shape (d,)
        Columns that judge nobody, beside those that have no scale.

    Returns
    -------
    SubspaceFit
    """
    again = partial(
        fit_subspace,
        rows,
        n_components,
        breakdown=breakdown,
        n_directions=n_directions,
        reweight=reweight,
        rng=rng,
        judge_beyond=judge_beyond,
    )
    n, d = rows.shape
    index = representative_rows(rows, max(1000, min(5 * d, 2500)), rng)
    m, count, whole = len(index), subset_size(n, breakdown), n == len(index)
    few, seen = subset_size(m, breakdown), rows.subset_float64(index)
    tol = max(tol, rounding_length(seen, few))
    muted = mute | (columns_without_scale(seen) if row_space is None else np.zeros(d, dtype=bool))
    span = leading_span(seen, muted, n_components if reweight else 1.0)
    sample, masked = span.rows, span.muted
    X = sample.gather_rows(np.arange(m))
    X[:, masked] = 0.0
    judged, columns = _judged(X, seen, span, muted, row_space, index)
    order, groups = least_outlying(X, few, n_directions, tol)
    if isinstance(n_components, int):
        k = min(n_components, m, d)
    else:
        spectrum = weighted_plane(sample, mask_of(sample, order[:few]), min(m, d))
        k = reach_share(spectrum.variances, spectrum.total_variance, n_components)
    inner = min(k, d - int(muted.sum()))
    # Any k + 1 rows have a plane of their own, which says nothing.
    if few < (enough := min(inner + 2, m)):
        few, count = enough, max(count, enough)
        order, groups = least_outlying(X, few, n_directions, tol)
    dimension = partial(_dimension, judged, columns, inner, few, order, groups, judge_beyond)
    apart = dimension(mask_of(sample, start_rows(order, few, inner))) if groups else inner
    # Of few rows of many columns a foreign line would be taken for an axis.
    shown = partial(_others_show, judged, tol) if judge_beyond and row_space is None else None
    found, q = concentrated(sample, order, inner, few, masked, tol, dimension, apart, shown)
    plane, weights, path, converged = tl1_steps(sample, found.keep, q, masked, tol)
    balls: tuple[Ball, ...] = ()
    if reweight:
        plane, weights, balls = reweighted(
            sample, plane, inner, found.keep, X[start_rows(order, few, q)], few, masked, tol
        )
    plane = replace(plane, center=span.point(plane.center), W=span.directions(plane.W))
    balls = tuple(Ball(span.point(ball.center), span.directions(ball.axes), ball.radius2) for ball in balls)
    if whole:
        fitted = rows.asarray(_back(weights, index))
    else:
        fitted = assess(rows, plane, inner, None, count, tol, balls).keep
    if reweight:
        plane = weighted_plane(rows, fitted, q, muted, plane.W)
    found = assess(rows, plane, inner, fitted, count, tol, balls)
    cutoffs = _cutoffs(rows, found, fitted, count, tol)
    far = rows.gather_scores(found.free, index).astype(np.float64)
    if row_space is None and np.count_nonzero(far > cutoffs.orthogonal) >= OTHERS_SHARE * m:
        longer, more = as_written(seen, found.plane, far, cutoffs.orthogonal, tol)
        if longer > tol or (more & ~muted).any():
            return again(tol=longer, mute=muted | more)
    plane = weighted_plane(rows, fitted, k) if muted.any() else first_axes(found.plane, k)
    kept = np.flatnonzero(rows.gather_scores(fitted, index) > 0)
    lost = (1 + int(found.plane.live.sum())) / max(found.plane.n_fit, 1)
    some, more = (
        left_over(seen.gather_rows(kept[subsample(len(kept), most)]), found.plane)
        for most in (NOISE_ROWS, max(NOISE_ROWS, NOISE_CELLS // d))
    )
    noise = effective_dimension(some, lost)
    return SubspaceFit(plane, found, cutoffs, fitted, path, converged, noise, more)


def _judged(
    X: Array, seen: Rows, span: Span, muted: Array, row_space: tuple[Rows, Lift] | None, index: Array
) -> tuple[Array, Columns | None]:
    """The coordinates that judge, and the columns of the data where these are others."""
    if row_space is not None:
        return X, Columns.of(row_space[0].subset_float64(index), row_space[1])
    if span.axes is not None:
        return X, Columns.of(seen, span.directions, muted)
    live = columns_that_vary(X)
    return (X if live.all() else X[:, live]), None


def subset_size(n: int, breakdown: float) -> int:
    """Rows that are taken to be good: all but the share `breakdown`, and always a majority."""
    return min(n, max(n - int(breakdown * n), n // 2 + 1))


def representative_rows(rows: Rows, most: int, rng: np.random.RandomState) -> Array:
    """Indices of at most `most` rows in an order that the data decide.

    Evenly from the canonical order of up to five times as many: all rows, or
    where there are more of them some that `rng` draws. So a result of not too
    many rows hangs neither on their order nor on a draw.
    """
    index = subsample(rows.shape[0], 5 * most, rng)
    everything = rows.in_memory and len(index) == rows.shape[0]
    order = canonical_order(rows if everything else rows.subset(index))
    return np.asarray(index[order[subsample(len(index), most)]])


def reach_share(variances: Array, total: float, n_components: int | float) -> int:
    """Number of components from the variances of the trusted rows.

    An integer as given; a share: the smallest number that reaches it.
    """
    if isinstance(n_components, int):
        return min(n_components, len(variances))
    reached = 1 + int((np.cumsum(variances) < n_components * total * (1 - 1e-12)).sum())
    return min(len(variances), reached)


def _dimension(
    X: Array,
    columns: Columns | None,
    k: int,
    count: int,
    order: Array,
    groups: list[Array],
    beyond: bool,
    keep: Any,
) -> int:
    """`judging_dimension` by those rows kept that no gap separates.

    Or more, where groups need more; only they where rows are not judged `beyond` the components.
    """
    kept = np.sort(order[to_numpy(keep)[order] > 0])
    q = judging_dimension(X, kept, k, count, columns) if beyond else k
    return max(q, dimension_of_groups(X, kept, groups, k)) if groups else q


def concentrated(
    sample: Rows,
    order: Array,
    k: int,
    count: int,
    muted: Array,
    tol: float,
    dimension: Callable[[Any], int],
    least: int,
    shown: Callable[[RowAssessment, int], bool] | None,
) -> tuple[RowAssessment, int]:
    """Rows within the limit of a concentrated plane of k dimensions, or as many as these rows have in common.

    First the nearest rows say how many, which are hardly bad ones, then all
    rows within the limit: the nearest ones are short on just the axes that the
    plane lacks. `least` axes are needed to begin with: fewer would leave out a group.
    In the end the rows off the plane may have `shown` one more, see `others_share_an_axis`.
    """

    def within(q: int, keep: Any) -> RowAssessment:
        return assess(sample, weighted_plane(sample, keep, q, muted), k, keep, count, tol)

    keep, q = nearest_majority(sample, order, least, count, muted, tol), least
    more, found = dimension(keep), None
    while more > q or found is None:
        if more > q:
            q, keep = more, nearest_majority(sample, order, more, count, muted, tol)
        found = within(q, keep)
        more = dimension(found.keep)
        if more <= q and shown is not None and shown(found, q):
            more = q + 1
    return found, q


def _others_show(X: Array, tol: float, found: RowAssessment, q: int) -> bool:
    """Whether the rows off a plane show one more axis."""
    near = to_numpy(found.keep) > 0
    few = (~near).sum() < GROUP_SHARE * len(near)
    if few or q >= most_axes(found.plane.n_fit, X.shape[1]):
        return False
    kept, others = (
        X[index[subsample(len(index), most)]]
        for index, most in ((np.flatnonzero(near), NOISE_ROWS), (np.flatnonzero(~near), OTHERS))
    )
    return others_share_an_axis(kept, others, q, tol)


def reweighted(
    sample: Rows, plane: Plane, k: int, keep: Any, start: Array, count: int, muted: Array, tol: float
) -> tuple[Plane, Array, tuple[Ball, ...]]:
    """PCA of the rows within the limit, in turn, and the leverage clusters among them.

    `plane` comes from the rows `keep`; `start` are the rows of the start, whose
    scores say what is far out.
    """
    q = plane.W.shape[1] - int(muted.sum())
    balls: tuple[Ball, ...] = ()
    for _ in range(REWEIGHTINGS):
        found = assess(sample, plane, k, keep, count, tol, balls)
        while len(balls) < 5 and (ball := leverage_ball(sample, found, start, count, tol)):
            balls = (*balls, ball)
            found = assess(sample, plane, k, keep, count, tol, balls)
        changed = float(sample.total(lambda a, b: abs(a - b), found.keep, keep))
        keep, plane = found.keep, weighted_plane(sample, found.keep, q, muted)
        if changed == 0:
            break
    return plane, to_numpy(keep), balls


def assess(
    rows: Rows, plane: Plane, k: int, fitted: Any, count: int, tol: float, balls: tuple[Ball, ...] = ()
) -> RowAssessment:
    """Distances of all rows to a plane, and the rows to keep in the fit.

    The limits come from `subsample`, and are then applied to all of them.
    """
    n = rows.shape[0]
    T, sd, od = plane_distances(rows, plane)
    masks = () if fitted is None else (fitted,)
    free = rows.map(partial(free_distances, plane.n_fit), sd, od, *masks)
    index = subsample(n)
    far, enough = rows.gather_scores(free, index).astype(np.float64), int(np.ceil(count * len(index) / n))
    limit = max(fit_limit(far, enough, tol), float(np.partition(far, enough - 1)[enough - 1]))
    live = int(plane.live.sum())
    room = room_beyond(plane, k, rows.gather_scores(T, index)[far <= limit].astype(np.float64))
    scores = [rows.shifted(rows.asarray(ball.center)).project(rows.asarray(ball.axes)) for ball in balls]

    def within(f: Any, t: Any, *apart: Any) -> Any:
        inside = (f <= limit) & (namespace(t).sum(double(t[:, k:live]) ** 2, axis=1) <= room)
        for ball, a in zip(balls, apart):
            inside = inside & (namespace(a).sum(double(a) ** 2, axis=1) > ball.radius2)
        return cast(inside, t.dtype)

    return RowAssessment(plane, sd, od, free, rows.map(within, free, T, *scores))


def leverage_ball(sample: Rows, found: RowAssessment, start: Array, count: int, tol: float) -> Ball | None:
    """A cluster far out inside the plane that looks like one point repeated with noise.

    In the score metric of the start, which holds no such cluster, its rows are
    beyond twice the .9975 quantile; with the size that noise gives to a point
    it holds 5 % of the rows, has hardly any others about it, and less spread of
    its own than noise has: groups and tails are none of that. No noise is
    smaller than `tol`, below which a length is rounding.
    """
    plane, n = found.plane, sample.shape[0]
    axes = plane.W[:, plane.live]
    k, rest = axes.shape[1], sample.dimension - plane.W.shape[1]
    if k == 0 or rest <= 0:
        return None
    keep = to_numpy(found.keep) > 0
    T, T0 = (sample.gather_rows(np.arange(n)) - plane.center) @ axes, (start - plane.center) @ axes
    variances, turn = np.linalg.eigh(np.atleast_2d(np.cov(T0.T)))
    if variances[0] <= 1e-12 * variances[-1]:
        return None
    white = turn / np.sqrt(variances)
    inner, outer = (np.sum(((S - T0.mean(axis=0)) @ white) ** 2, axis=1) for S in (T0, T))
    # The least outlying rows lie closer than others: their .9 quantile is about the .4 one of all.
    size = float(np.quantile(inner, 0.9)) / float(chdtri(k, 0.6))
    far = np.flatnonzero(keep & (outer > size * (k + 2.0 * (float(chdtri(k, 0.0025)) - k))))
    free = sample.gather_scores(found.free, np.flatnonzero(keep))
    noise = max(float(np.median(free**2)) / rest, tol**2)
    need = int(np.ceil(CLUSTER_SHARE * n))
    if len(far) < need:
        return None
    radius2, P = noise * float(chdtri(k, 0.01)), T[far]
    some = P[subsample(len(P), 400)]
    squares = np.sum(P * P, axis=1)[:, None] + np.sum(some * some, axis=1) - 2.0 * P @ some.T
    spot = some[int(np.argmax((squares <= radius2).sum(axis=0)))]
    for _ in range(3):
        spot = P[np.sum((P - spot) ** 2, axis=1) <= radius2 * (1 + 1e-9)].mean(axis=0)
    squares = np.sum((T - spot) ** 2, axis=1)
    cluster, about = (squares[keep & (squares <= times * radius2)] for times in (2.0, 8.0))
    if len(cluster) < need or len(about) > 1.25 * len(cluster) or keep.sum() - len(about) < count:
        return None
    if about.mean() > 2.0 * k * noise:
        return None
    return Ball(plane.center + axes @ spot, axes, 8.0 * radius2)


def tl1_steps(
    sample: Rows, keep: Any, q: int, muted: Array, tol: float, max_iter: int = 20
) -> tuple[Plane, Array, tuple[float, ...], bool]:
    """Minimize the Tl1 scale of the distances of the rows kept: PCA with its weights, in turn."""
    kept = to_numpy(keep) > 0
    Y = sample.subset(np.flatnonzero(kept))
    objective, w = ResidualScale(Y, floor=tol), np.ones(Y.shape[0])
    plane = best = weighted_plane(Y, Y.asarray(w), q, muted)
    path: list[float] = []
    for _ in range(max_iter + 1):
        r = plane_distances(Y, plane)[2]
        s = objective.value_of_distances(r)
        if path and s > path[-1]:
            break
        best = plane
        path.append(s)
        if report_iteration("subspace", s):
            break
        if s == 0.0 or (len(path) > 1 and path[-2] - s <= 1e-3 * s):
            break
        w = to_numpy(objective.weights(r))
        plane = weighted_plane(Y, Y.asarray(w), q, muted)
    weights = np.zeros(len(kept))
    weights[kept] = w / w.max()
    return best, weights, tuple(path), len(path) <= max_iter


def first_axes(plane: Plane, k: int) -> Plane:
    """The plane of the first k axes."""
    return Plane(plane.center, plane.W[:, :k], plane.variances[:k], plane.n_fit, plane.total_variance)


def _cutoffs(rows: Rows, found: RowAssessment, fitted: Any, count: int, tol: float) -> Cutoffs:
    index = subsample(rows.shape[0])
    sd, far = (rows.gather_scores(h, index).astype(np.float64) for h in (found.score_distances, found.free))
    mask = rows.gather_scores(found.keep if fitted is None else fitted, index) > 0
    return row_cutoffs(found.plane, sd, far, mask, int(np.ceil(count * len(index) / rows.shape[0])), tol)


def _back(values: Array, index: Array) -> Array:
    """Values of rows taken in the order `index`, in the order of all rows."""
    out = np.zeros(len(index))
    out[index] = values
    return out
