"""The residual side on a stream: what is known after so many rows is a value; a block of rows makes the next.

Two models compete. A row is the own row of the one that makes it more likely, if it lies within its limits,
and a model learns from its own rows. Rows that are nobody's are kept in reserve, from which a new rival
starts once they are many. A row is a vote for the model whose own it is, votes fade with the memory, and
the model with more of them is in use. So what is rejected can win, by being the majority of what is
remembered, and what is not cannot.

A model that began with bad rows may be so wide that good ones fit in. So its variances are held against its
own rows of each block, and where these do not confirm them a robust fit of these rows is a rival as well.

A new rival has not seen what came before it. A sample of all that is remembered says how much of that is its
own, and how much is that of the model in use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .stream_model import Array, Limits, Measured, Model, count, faded, learn, limits, measure, surprise

__all__ = ["StreamState", "new_state", "update"]

#: A new rival starts when the rows in reserve are as many as this share of the votes of the model in use.
RIVAL_SHARE = 0.2
#: A model is doubted where a robust variance of its own rows in a block is less than this share of its own.
DOUBT = 0.5
#: Rows that a fit needs for each component.
MEANINGFUL = 10
#: Warm-ups whose rows the sample holds.
WARM_UPS = 4


@dataclass(frozen=True)
class StreamState:
    """All that is known after some rows.

    Attributes
    ----------
    model, rival : Model
        The one in use, and the one that learns from other rows; a rival without
        votes is none.
    reserve : ndarray of shape (m, d)
        The last rows that were nobody's, as a ring.
    n_reserve : int
        How many were put there since it was emptied.
    reserve_votes : float
        The same number, fading.
    sample : ndarray of shape (WARM_UPS m, d)
        Rows of what is remembered, each as likely as any other; the first
        ``min(n_seen, WARM_UPS m)`` of the array.
    vain : float
        How often the model in use was doubted in vain, fading. The fits of a
        block take longer than to learn from it, so that it is not doubted in
        vain more often than the rows remembered have doubled since the warm-up.
    n_seen, n_rejected : int
        Rows so far, and those of them that the model in use did not learn from.
    """

    model: Model
    rival: Model
    reserve: Array
    n_reserve: int
    reserve_votes: float
    sample: Array
    vain: float
    n_seen: int
    n_rejected: int


def new_state(model: Model, rows: Array, n_reserve: int) -> StreamState:
    """The state after a warm-up, with room for `n_reserve` rejected rows."""
    n, d = rows.shape
    sample = np.zeros((WARM_UPS * n_reserve, d))
    sample[:n] = rows
    empty = np.zeros((n_reserve, d))
    return StreamState(model, _none(model), empty, 0, 0.0, sample, 0.0, n, n - round(model.votes))


def _none(model: Model) -> Model:
    """No rival."""
    return replace(model, weight=0.0, votes=0.0, counts=np.zeros_like(model.counts))


@np.errstate(over="ignore", invalid="ignore")
def update(
    state: StreamState, block: Array, k: int, forget: float, start: Callable[[Array], Model]
) -> StreamState:
    """The state after one more block of rows.

    Parameters
    ----------
    state : StreamState
    block : ndarray of shape (b, d)
        In the order in which they came.
    k : int
        Number of components.
    forget : float
        Every row multiplies the weight of all earlier ones by it.
    start : callable
        The model of some rows: a robust fit, which is no matter of the stream.

    Returns
    -------
    StreamState
    """
    fade, old = forget ** np.arange(len(block) - 1, -1, -1.0), forget ** len(block)
    n_seen = state.n_seen + len(block)
    memory = 1.0 / max(1.0 - forget, 1.0 / n_seen)
    if len(state.reserve) < state.n_seen <= len(state.sample) < n_seen <= memory:
        state = _fitted_again(state, k, start)
    past = state.sample[: state.n_seen]
    weights = np.r_[np.full(len(past), old * min(memory, state.n_seen) / len(past)), fade]
    bounds, seen, own = _shared_out((state.model, state.rival), block, k)
    model, rival = (faded(each, old) for each in (state.model, state.rival))
    model = _taught(model, bounds[0], seen[0], own[0], ~own[1], block, fade)
    if rival.votes > 0:
        rival = _taught(rival, bounds[1], seen[1], own[1], ~own[0], block, fade)
    rest = ~(own[0] | own[1])
    reserve, n_reserve = _put_back(state.reserve, state.n_reserve, block[rest])
    votes = state.reserve_votes * old + float(fade[rest].sum())
    if n_reserve >= len(reserve) and votes > max(RIVAL_SHARE * model.votes, rival.votes):
        # The models have learned since, and may be others than those that rejected these rows.
        out = ~np.logical_or(*_shared_out((model, rival), reserve, k)[2])
        if np.count_nonzero(out) > max(len(out) // 2, k):
            model, rival = _challenged(model, rival, start(reserve[out]), (past, block), weights, k)
        reserve, n_reserve, votes = np.zeros_like(reserve), 0, 0.0
    vain = state.vain * old
    if 2**vain <= memory / len(reserve) and _doubtful(state.model, bounds[0], seen[0], block, own[0], k):
        better = _better(state.model, block[own[0]], k, start)
        if better is None:
            vain += 1
        else:
            model, rival = _challenged(model, rival, better, (past, block), weights, k)
    if rival.votes > model.votes:
        model, rival = rival, model
    n_rejected = state.n_rejected + len(block) - int(np.count_nonzero(own[0]))
    sample = _sampled(state.sample, state.n_seen, block, memory)
    return StreamState(model, rival, reserve, n_reserve, votes, sample, vain, n_seen, n_rejected)


def _fitted_again(state: StreamState, k: int, start: Callable[[Array], Model]) -> StreamState:
    """The models from fits of all rows so far, which the sample is the last time to hold."""
    rows = state.sample[: state.n_seen]
    its = _shared_out((state.model, state.rival), rows, k)[2][1]
    if state.rival.votes == 0:
        return replace(state, model=start(rows))
    if min(np.count_nonzero(its), np.count_nonzero(~its)) < MEANINGFUL * k:
        return state
    return replace(state, model=start(rows[~its]), rival=start(rows[its]))


def _shared_out(
    both: tuple[Model, Model], rows: Array, k: int
) -> tuple[list[Limits], list[Measured], tuple[Array, Array]]:
    """Limits and measures of the models that are there, and which rows are whose own."""
    there = both if both[1].votes > 0 else both[:1]
    bounds = [limits(each, k) for each in there]
    seen = [measure(*its, rows, k) for its in zip(there, bounds)]
    if len(there) == 1:
        return bounds, seen, (seen[0].inside, np.zeros(len(rows), dtype=bool))
    first, second = (surprise(*its, k) for its in zip(both, bounds, seen))
    return bounds, seen, (seen[0].inside & (first <= second), seen[1].inside & (first > second))


def _taught(
    model: Model, bounds: Limits, seen: Measured, own: Array, shown: Array, block: Array, fade: Array
) -> Model:
    """The model with its own rows of a block learned, and rows that are not another's counted."""
    model = count(model, bounds, seen, shown, fade)
    return learn(model, block[own], fade[own], seen.residuals[own])


def _challenged(
    model: Model, rival: Model, new: Model, rows: tuple[Array, Array], weights: Array, k: int
) -> tuple[Model, Model]:
    """The model in use and a new rival, if more of what is remembered is its own than was the old one's.

    What is remembered are a sample of the past and a block, each row with its
    weight. Of the past the new one learns what it takes from the model.
    """
    _, (first, second), own = _shared_out((model, new), np.vstack(rows), k)
    mine, its = (float(weights @ each) for each in own)
    if its <= rival.votes:
        return model, rival
    past = len(rows[0])
    taken = own[1][:past] & first.inside[:past]
    new = learn(new, rows[0][taken], np.ones(np.count_nonzero(taken)), second.residuals[:past][taken])
    return replace(model, votes=mine), replace(new, votes=its)


def _doubtful(model: Model, bounds: Limits, seen: Measured, block: Array, own: Array, k: int) -> bool:
    """Whether the own rows of a block are too near together for the model, or to it."""
    n = np.count_nonzero(own)
    if n < MEANINGFUL * k:
        return False
    T = (block[own] - model.center) @ model.axes[:, :k]
    spread = 1.4826 * np.median(np.abs(T - np.median(T, axis=0)), axis=0)
    share = min(DOUBT, 1 - 3 * 2.33 / np.sqrt(n))  # three standard errors of a robust variance
    narrow = spread**2 < share * model.variances[:k] * bounds.size
    return bool(narrow.any() or np.median(seen.residuals[own]) < share * model.noise)


def _better(model: Model, own: Array, k: int, start: Callable[[Array], Model]) -> Model | None:
    """A robust fit of rows, if that of one half makes the other half clearly more likely than the model does.

    That of few rows is less precise, and wins only over a wrong one. Of the
    other half those rows count that suit a model best, a half again; clearly is
    three standard errors.
    """
    first, second = (_surprise(each, own[1::2], k) for each in (model, start(own[::2])))
    gain = first.mean() - second.mean()
    return start(own) if gain > 3 * np.sqrt((first.var() + second.var()) / len(first)) else None


def _surprise(model: Model, rows: Array, k: int) -> Array:
    """That of the half of the rows that suits a model best."""
    bounds = limits(model, k)
    each = np.sort(surprise(model, bounds, measure(model, bounds, rows, k), k))
    return np.asarray(each[: (len(each) + 1) // 2])


def _sampled(sample: Array, n_seen: int, block: Array, memory: float) -> Array:
    """The sample after a block: rows fill it, and then replace others as often as the memory says."""
    free = max(0, min(len(sample) - n_seen, len(block)))
    rng = np.random.Generator(np.random.PCG64(n_seen))  # the same stream gives the same sample
    chosen = free + np.flatnonzero(rng.random(len(block) - free) * memory < len(sample))
    sample = sample.copy()
    sample[n_seen : n_seen + free] = block[:free]
    sample[rng.integers(len(sample), size=len(chosen))] = block[chosen]
    return sample


def _put_back(reserve: Array, filled: int, rows: Array) -> tuple[Array, int]:
    """The ring with some more rows, of which only the last fit in."""
    if len(rows) == 0:
        return reserve, filled
    size = len(reserve)
    where = (filled + np.arange(len(rows))) % size
    reserve = reserve.copy()
    reserve[where[-size:]] = rows[-size:]
    return reserve, filled + len(rows)
