"""The residual side on a stream: what is known after so many rows is a value; a block of rows makes the next.

Two models compete. The one in use learns from the rows within its limits; rows that it rejects are shown to
its rival, and rows that both reject are kept in reserve, from which a new rival starts once they are many. A
row is a vote for the model that takes it, votes fade with the memory, and the model with more of them is in
use. So what is rejected can win, by being the majority of what is remembered, and what is not cannot.

A model that began with bad rows may be so wide that good ones fit in. So a sample of what is remembered is
kept, and a model whose variances its own rows in the sample do not confirm has to stand against a robust fit
of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import fdtri, ndtri

from .._flags import Cutoffs
from ..statistics import main_mode_of_counts

__all__ = ["Model", "State", "learn", "new_model", "new_state", "update"]

Array = NDArray[Any]

#: Share of regular rows below each cut-off, and below the limits within which a row is learned from.
LEVEL = 0.99
FIT_SCORE, FIT_ORTHOGONAL = 0.9975, 0.995
#: A new rival starts when the rows in reserve are as many as this share of the rows behind the model in use.
RIVAL_SHARE = 0.25
#: Logarithms of distances are counted in bins of 1 %, from e^-8 to e^8 units.
N_BINS, BIN_WIDTH = 1600, 0.01
#: A model is looked at again when so many times the rows have been seen; it is doubted where the robust
#: variance of scores in the sample is less than this share of its own: five standard errors of 600 rows away.
AUDIT_GROWTH, DOUBT = 1.25, 0.5
_BIN_CENTERS = np.exp((np.arange(N_BINS) - 0.5 * N_BINS + 0.5) * BIN_WIDTH)
#: Of distances that are the length of a normal vector this power is nearly normal.
_NEARLY_NORMAL = _BIN_CENTERS ** (2.0 / 3.0)


@dataclass(frozen=True)
class Model:
    """A subspace, and what the rows it was shown say of it.

    Attributes
    ----------
    center : ndarray of shape (d,)
    axes : ndarray of shape (d, q)
        Orthonormal; the first k are the components. The others are the
        strongest directions of what these leave: a component that the next
        block brings up is not found from nothing.
    variances : ndarray of shape (q,)
        Of the rows learned, which lie within the limits: see `Limits.size`.
    noise : float
        Mean squared distance of the rows learned.
    weight, votes : float
        Sum of the Tl1 weights of the rows behind it, and their number; both fade.
    unit : float
        Orthogonal distances are counted in multiples of it.
    counts : ndarray of shape (2, N_BINS)
        Orthogonal and score distances of rows, near or far, so that the scale
        does not shrink; these fade as well.
    """

    center: Array
    axes: Array
    variances: Array
    noise: float
    weight: float
    votes: float
    unit: float
    counts: Array


@dataclass(frozen=True)
class Limits:
    """How far a row may lie from a model: to be learned from, and to be called regular.

    A row nearer than `nearest` does not belong to the model either: noise in
    many dimensions has a least length, and a model that is too wide is told by
    the rows that fall short of it. `scale` is the typical orthogonal distance,
    the unit of the Tl1 weights; `size` is by how much the variances of all regular rows exceed those of
    the rows learned.
    """

    scale: float
    nearest: float
    orthogonal: float
    score: float
    size: float
    cutoffs: Cutoffs


@dataclass(frozen=True)
class State:
    """All that is known after some rows.

    Attributes
    ----------
    model, rival : Model
        The one in use, and the one that learns from what it rejects; a rival
        without votes is none.
    reserve : ndarray of shape (m, d)
        The last rows that both rejected, as a ring.
    n_reserve : int
        How many were put there since it was emptied.
    reserve_votes : float
        The same number, fading.
    sample : ndarray of shape (2 m, d)
        Rows of what is remembered, each as likely as any other; the first
        ``min(n_seen, 2 m)`` of the array.
    next_audit : int
        How many rows are to be seen before the model in use is looked at again.
    n_seen, n_rejected : int
        Rows so far, and those of them that the model in use did not learn from.
    """

    model: Model
    rival: Model
    reserve: Array
    n_reserve: int
    reserve_votes: float
    sample: Array
    next_audit: int
    n_seen: int
    n_rejected: int


@dataclass(frozen=True)
class Measured:
    """Distances of rows to a model, and which are within its limits."""

    orthogonal: Array
    squared_scores: Array
    residuals: Array
    inside: Array


@np.errstate(over="ignore", invalid="ignore")  # a row beyond all others is far, and no error
def new_model(rows: Array, center: Array, components: Array, keep: Array, n_axes: int) -> Model:
    """The model that a robust fit of a few rows gives.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    center : ndarray of shape (d,)
    components : ndarray of shape (k, d)
        Orthonormal.
    keep : ndarray of bool of shape (n,)
        Rows within the limits of the fit.
    n_axes : int
        q, at least k.
    """
    k, W = len(components), components.T
    keep = keep if np.count_nonzero(keep) > k else np.ones(len(rows), dtype=bool)
    Y = rows - center
    T = Y @ W
    R = Y - T @ W.T
    n = int(np.count_nonzero(keep))
    rest = np.linalg.svd(R[keep], full_matrices=False)[2][: n_axes - k].T
    axes = _orthonormal(np.hstack([W, _completed(rest, n_axes - k)]))
    variances = np.einsum("ij,ij->j", Y[keep] @ axes, Y[keep] @ axes) / max(n - 1, 1)
    r = np.sqrt(np.einsum("ij,ij->i", R, R))
    largest = float(np.sqrt(np.einsum("ij,ij->i", Y[keep], Y[keep])).max(initial=0.0))
    unit = max(float(np.median(r[keep])), 1e-11 * largest, np.finfo(np.float64).tiny ** 0.25)
    squares = _squared_scores(T, variances[:k])
    # A row of the fit lies too near: its leverage is what it lacks.
    leverage = np.minimum(1 / n + squares / max(n - 1, 1), 1 - 0.5 / n)
    rest_of = np.where(keep, 1 - leverage, 1 + 1 / n + np.minimum(squares / n, 1.0))
    inner = n * (n - 2) / max(n - 1, 1) ** 2
    outside = np.where(keep, squares * inner / np.maximum(1 - leverage, 1e-12), squares)
    counts = np.stack([_counted(r / np.sqrt(rest_of) / unit), _counted(np.sqrt(outside))])
    return Model(
        center, axes, variances, float(np.mean(r[keep] ** 2)), float(n), float(n), unit, counts.astype(float)
    )


def new_state(model: Model, rows: Array, n_reserve: int) -> State:
    """The state after a warm-up, with room for `n_reserve` rejected rows."""
    n, d = rows.shape
    sample = np.zeros((2 * n_reserve, d))
    sample[:n] = rows
    due = int(np.ceil(AUDIT_GROWTH * n))
    empty = np.zeros((n_reserve, d))
    return State(model, _none(model), empty, 0, 0.0, sample, due, n, n - round(model.votes))


def _none(model: Model) -> Model:
    """No rival."""
    return replace(model, weight=0.0, votes=0.0, counts=np.zeros_like(model.counts))


def limits(model: Model, k: int) -> Limits:
    """Limits from the main modes of the distances counted.

    Distances of bad rows have no influence beyond 2.5 scales of the mode.
    """
    n = max(model.votes, k + 2.0)
    location, spread = main_mode_of_counts(_NEARLY_NORMAL, model.counts[0])
    flagged, limit, nearest = (
        model.unit * max(location + float(ndtri(level)) * spread, 0.0) ** 1.5
        for level in (LEVEL, FIT_ORTHOGONAL, 1 - FIT_ORTHOGONAL)
    )
    if nearest <= model.unit * _BIN_CENTERS[0] * (1 + BIN_WIDTH):  # the first bin begins at zero
        nearest = 0.0
    scale = model.unit * max(location, _NEARLY_NORMAL[0]) ** 1.5
    factor = k * (n * n - 1) / (n * (n - k))
    size = 1.0
    if model.counts[1].any():
        middle = main_mode_of_counts(_NEARLY_NORMAL, model.counts[1])[0]
        size = middle**3 / (factor * float(fdtri(k, n - k, 0.5)))
    score = factor * size * float(fdtri(k, n - k, FIT_SCORE))
    cutoffs = Cutoffs(
        float(np.sqrt(factor * fdtri(k, n - k, LEVEL))), flagged * float(np.sqrt(1 + (k + 1) / n)), float(n)
    )
    return Limits(scale, nearest * (1 - BIN_WIDTH), limit * (1 + BIN_WIDTH), score, size, cutoffs)


@np.errstate(over="ignore", invalid="ignore")
def update(state: State, block: Array, k: int, forget: float, start: Callable[[Array], Model]) -> State:
    """The state after one more block of rows.

    Parameters
    ----------
    state : State
    block : ndarray of shape (b, d)
        In the order in which they came.
    k : int
        Number of components.
    forget : float
        Every row multiplies the weight of all earlier ones by it.
    start : callable
        The model of the rows in reserve: a robust fit, which is no matter of
        the stream.

    Returns
    -------
    State
    """
    fade = forget ** np.arange(len(block) - 1, -1, -1.0)
    model, rival = (_faded(each, forget ** len(block)) for each in (state.model, state.rival))
    bounds = limits(state.model, k)
    seen = _measure(model, bounds, block, k)
    out = np.flatnonzero(~seen.inside)
    taken = np.zeros(len(out), dtype=bool)
    if len(out) and rival.votes > 0:
        rival_bounds = limits(state.rival, k)
        second = _measure(rival, rival_bounds, block[out], k)
        taken = second.inside
        rival = _count(rival, rival_bounds, second, fade[out])
        rival = learn(rival, block[out[taken]], *_weights(second, rival_bounds, fade[out]), k=k)
    # What the rival explains says nothing of the scale of the model in use.
    own = np.ones(len(block), dtype=bool)
    own[out[taken]] = False
    model = _count(model, bounds, _some(seen, own), fade[own])
    model = learn(model, block[seen.inside], *_weights(seen, bounds, fade), k=k)
    reserve, n_reserve = _put_back(state.reserve, state.n_reserve, block[out[~taken]])
    votes = state.reserve_votes * forget ** len(block) + float(fade[out[~taken]].sum())
    if n_reserve >= len(reserve) and votes > max(RIVAL_SHARE * model.votes, rival.votes):
        begun = start(reserve)
        rival = replace(begun, votes=votes * begun.votes / len(reserve))
        reserve, n_reserve, votes = np.zeros_like(reserve), 0, 0.0
    if rival.votes > model.votes:
        model, rival = rival, model
    n_seen, n_rejected = state.n_seen + len(block), state.n_rejected + len(out)
    memory = 1.0 / max(1.0 - forget, 1.0 / n_seen)
    sample, due = _sampled(state.sample, state.n_seen, block, memory), state.next_audit
    if n_seen >= due:
        due = int(np.ceil(min(AUDIT_GROWTH * n_seen, n_seen + memory)))
        model, rival = _audited(model, rival, sample[:n_seen], memory, k, start)
    return State(model, rival, reserve, n_reserve, votes, sample, due, n_seen, n_rejected)


def _sampled(sample: Array, n_seen: int, block: Array, memory: float) -> Array:
    """The sample after a block: rows fill it, and then replace others as often as the memory says."""
    free = max(0, min(len(sample) - n_seen, len(block)))
    rng = np.random.Generator(np.random.PCG64(n_seen))  # the same stream gives the same sample
    chosen = free + np.flatnonzero(rng.random(len(block) - free) * memory < len(sample))
    sample = sample.copy()
    sample[n_seen : n_seen + free] = block[:free]
    sample[rng.integers(len(sample), size=len(chosen))] = block[chosen]
    return sample


def _audited(
    model: Model, rival: Model, sample: Array, memory: float, k: int, start: Callable[[Array], Model]
) -> tuple[Model, Model]:
    """The models, or a robust fit of the rows that the one in use takes for its own in their place.

    A fit of one half of these must make most of the other half more likely
    than the model in use does: that of few rows is less precise, and wins only
    over a wrong one.
    """
    bounds = limits(model, k)
    own = sample[_measure(model, bounds, sample, k).inside]
    if 2 * len(own) < len(sample):
        return model, rival
    T = (own - model.center) @ model.axes[:, :k]
    spread = 1.4826 * np.median(np.abs(T - np.median(T, axis=0)), axis=0)
    if (spread**2 >= DOUBT * model.variances[:k] * bounds.size).all():
        return model, rival
    if _surprise(start(own[::2]), own[1::2], k) >= _surprise(model, own[1::2], k):
        return model, rival
    better = start(own)
    return replace(better, votes=memory * better.votes / len(sample)), _none(model)


def _surprise(model: Model, rows: Array, k: int) -> float:
    """Mean of minus twice the log density of the half of the rows that suits a model best."""
    bounds, d = limits(model, k), len(model.center)
    seen = _measure(model, bounds, rows, k)
    floor = 1e-20 * max(float(model.variances[0]), model.unit**2)
    noise = max(model.noise / max(d - k, 1), floor)
    volume = np.log(np.maximum(bounds.size * model.variances[:k], floor)).sum() + (d - k) * np.log(noise)
    each = np.sort(seen.squared_scores / bounds.size + seen.residuals / noise)
    return float(volume + each[: (len(each) + 1) // 2].mean())


def learn(model: Model, rows: Array, weights: Array, fade: Array, noise: float, *, k: int) -> Model:
    """PCA of the rows behind the model and of some more: weighted mean, and axes of the weighted scatter.

    Parameters
    ----------
    model : Model
    rows : ndarray of shape (a, d)
    weights : ndarray of shape (a,)
        Tl1 weights, faded.
    fade : ndarray of shape (a,)
        What is left of the vote of each row.
    noise : float
        Weighted sum of their squared distances to the model.
    k : int
        Number of components.
    """
    if len(rows) == 0:
        return model
    mass, q = float(weights.sum()), model.axes.shape[1]
    total = model.weight + mass
    middle = weights @ rows / mass
    delta = middle - model.center
    Y = (rows - middle) * np.sqrt(weights)[:, None]
    between = delta * np.sqrt(model.weight * mass / total)
    before = model.axes * np.sqrt(model.weight * model.variances)
    if len(rows) + q + 1 < len(delta):
        values, axes = np.linalg.svd(np.vstack([before.T, between, Y]), full_matrices=False)[1:]
        values, axes = values[:q] ** 2, axes[:q].T
    else:
        scatter, d = Y.T @ Y + before @ before.T + np.outer(between, between), len(delta)
        values, axes = linalg.eigh(scatter, subset_by_index=[d - q, d - 1], check_finite=False)
        values, axes = values[::-1], axes[:, ::-1]
    return replace(
        model,
        center=model.center + delta * (mass / total),
        axes=_orthonormal(axes),
        variances=np.maximum(values, 0.0) / total,
        noise=(model.weight * model.noise + noise) / total,
        weight=total,
        votes=model.votes + float(fade.sum()),
    )


def _measure(model: Model, bounds: Limits, rows: Array, k: int) -> Measured:
    W, Y = model.axes[:, :k], rows - model.center
    T = Y @ W
    R = Y - T @ W.T
    residuals = np.einsum("ij,ij->i", R, R)
    squares = _squared_scores(T, model.variances[:k])
    n = max(model.votes, 1.0)
    # The noise of the rows behind a subspace tilts it, which lengthens the distances of others.
    r = np.sqrt(residuals / (1 + 1 / n + np.minimum(squares / n, 1.0)))
    inside = (bounds.nearest <= r) & (r <= bounds.orthogonal) & (squares <= bounds.score)
    return Measured(r, squares, residuals, inside)


def _some(seen: Measured, rows: Array) -> Measured:
    return Measured(seen.orthogonal[rows], seen.squared_scores[rows], seen.residuals[rows], seen.inside[rows])


def _count(model: Model, bounds: Limits, seen: Measured, fade: Array) -> Model:
    """The model with the distances of rows counted; score distances only of those near the subspace."""
    near = seen.orthogonal <= bounds.orthogonal
    counts = np.stack(
        [
            _counted(seen.orthogonal / model.unit, fade),
            _counted(np.sqrt(seen.squared_scores[near]), fade[near]),
        ]
    )
    return replace(model, counts=model.counts + counts)


def _counted(distances: Array, weights: Array | None = None) -> Array:
    """Weights of the distances by bin; what lies beyond the last bin, or is no number, is in it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        where = np.log(distances) / BIN_WIDTH + 0.5 * N_BINS
    where = np.nan_to_num(where, nan=N_BINS, posinf=N_BINS, neginf=0.0)
    return np.bincount(np.clip(where, 0, N_BINS - 1).astype(np.intp), weights, N_BINS)


def _weights(seen: Measured, bounds: Limits, fade: Array) -> tuple[Array, Array, float]:
    """Tl1 weights of the rows inside, their votes, and the weighted sum of their squared distances.

    h'(u)/u of h(u) = u^2/(1 + u^2), u = r/s, in multiples of that at u = 1.
    """
    u = seen.orthogonal[seen.inside] / bounds.scale
    weights = fade[seen.inside] * (2.0 / (1.0 + u * u)) ** 2
    return weights, fade[seen.inside], float(weights @ seen.residuals[seen.inside])


def _faded(model: Model, factor: float) -> Model:
    if factor == 1.0:
        return model
    return replace(
        model, weight=model.weight * factor, votes=model.votes * factor, counts=model.counts * factor
    )


def _put_back(reserve: Array, count: int, rows: Array) -> tuple[Array, int]:
    """The ring with some more rows, of which only the last fit in."""
    if len(rows) == 0:
        return reserve, count
    size = len(reserve)
    where = (count + np.arange(len(rows))) % size
    reserve = reserve.copy()
    reserve[where[-size:]] = rows[-size:]
    return reserve, count + len(rows)


def _squared_scores(T: Array, variances: Array) -> Array:
    live = variances > 1e-20 * variances.max(initial=0.0)
    return np.asarray((T * T) @ np.where(live, 1.0 / np.where(live, variances, 1.0), 0.0))


def _orthonormal(axes: Array) -> Array:
    """The axes without what rounding added to them from block to block."""
    return np.asarray(np.linalg.qr(axes)[0])


def _completed(axes: Array, count: int) -> Array:
    """The axes, and zeros in place of those that so few rows cannot have."""
    return np.pad(axes, ((0, 0), (0, count - axes.shape[1])))
