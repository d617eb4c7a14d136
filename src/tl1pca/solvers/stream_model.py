"""A model of the rows of a stream: a subspace, what its rows say of it, and how far a row lies from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import fdtri, ndtri

from .._flags import Cutoffs
from ..statistics import main_mode_of_counts

__all__ = [
    "Limits",
    "Measured",
    "Model",
    "count",
    "faded",
    "learn",
    "limits",
    "measure",
    "new_model",
    "surprise",
]

Array = NDArray[Any]

#: Share of regular rows below each cut-off, and below the limits within which a row is learned from.
LEVEL = 0.99
FIT_SCORE, FIT_ORTHOGONAL = 0.9975, 0.995
#: Distances are counted within so many scales of their main mode: twice as far as the limits.
ABOUT = 5.0
#: Logarithms of distances are counted in bins of 1 %, from e^-8 to e^8 units.
N_BINS, BIN_WIDTH = 1600, 0.01
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
        Number of the rows learned, and of those that were found to be its own,
        learned or not; both fade.
    unit : float
        Orthogonal distances are counted in multiples of it.
    counts : ndarray of shape (2, N_BINS)
        Orthogonal and score distances of rows, within the limits and some way
        beyond, so that the scale does not shrink; these fade as well.
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
    the rows that fall short of it. `scale` is the typical orthogonal distance;
    `size` is by how much the variances of all regular rows exceed those of the
    rows learned. Rows between `about` are counted, orthogonal distances in the
    first row and score distances in the second: those near enough to tell how
    far the regular ones reach. Others, however many, are not of this model.
    """

    scale: float
    nearest: float
    orthogonal: float
    score: float
    size: float
    cutoffs: Cutoffs
    about: Array


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
    outside = squares * inner / np.maximum(1 - leverage, 1e-12)
    away = r / np.sqrt(rest_of) / unit
    location, spread = _mode(_counted(away[keep]))
    about = np.abs(np.cbrt(away**2) - location) <= ABOUT * spread + BIN_WIDTH
    counts = np.stack([_counted(away[keep | about]), _counted(np.sqrt(outside[keep]))])
    return Model(
        center, axes, variances, float(np.mean(r[keep] ** 2)), float(n), float(n), unit, counts.astype(float)
    )


def limits(model: Model, k: int) -> Limits:
    """Limits from the main modes of the distances counted.

    Distances of bad rows have no influence beyond 2.5 scales of the mode.
    """
    n = max(model.weight, k + 2.0)
    (location, spread), scores = (_mode(counts) for counts in model.counts)
    flagged, limit, nearest, low, high = (
        model.unit * max(location + deviate * spread, 0.0) ** 1.5
        for deviate in (*ndtri([LEVEL, FIT_ORTHOGONAL, 1 - FIT_ORTHOGONAL]), -ABOUT, ABOUT)
    )
    if nearest <= model.unit * _BIN_CENTERS[0] * (1 + BIN_WIDTH):  # the first bin begins at zero
        nearest = 0.0
    scale = model.unit * max(location, _NEARLY_NORMAL[0]) ** 1.5
    factor = k * (n * n - 1) / (n * (n - k))
    size = scores[0] ** 3 / (factor * float(fdtri(k, n - k, 0.5))) if model.counts[1].any() else 1.0
    score = factor * size * float(fdtri(k, n - k, FIT_SCORE))
    cutoffs = Cutoffs(
        float(np.sqrt(factor * fdtri(k, n - k, LEVEL))), flagged * float(np.sqrt(1 + (k + 1) / n)), float(n)
    )
    about = np.array(
        [[low, high], [max(scores[0] + side * scores[1], 0.0) ** 1.5 for side in (-ABOUT, ABOUT)]]
    )
    about *= [1 - BIN_WIDTH, 1 + BIN_WIDTH]
    return Limits(scale, nearest * (1 - BIN_WIDTH), limit * (1 + BIN_WIDTH), score, size, cutoffs, about)


def _mode(counts: Array) -> tuple[float, float]:
    """Location and scale of what is nearly normal of the distances counted."""
    filled = np.flatnonzero(counts)
    if len(filled) == 0:
        return 0.0, np.inf
    part = slice(filled[0], filled[-1] + 1)
    return main_mode_of_counts(_NEARLY_NORMAL[part], counts[part])


def surprise(model: Model, bounds: Limits, seen: Measured, k: int) -> Array:
    """Minus twice the log density of rows, up to what is the same for all models."""
    d = len(model.center)
    floor = 1e-20 * max(float(model.variances[0]), model.unit**2)
    noise = max(model.noise / max(d - k, 1), floor)
    volume = np.log(np.maximum(bounds.size * model.variances[:k], floor)).sum() + (d - k) * np.log(noise)
    return np.asarray(volume + seen.squared_scores / bounds.size + seen.residuals / noise)


def learn(model: Model, rows: Array, weights: Array, residuals: Array) -> Model:
    """PCA of the rows behind the model and of some more: weighted mean, and axes of the weighted scatter.

    Parameters
    ----------
    model : Model
    rows : ndarray of shape (a, d)
    weights : ndarray of shape (a,)
        What is left of each row.
    residuals : ndarray of shape (a,)
        Their squared distances to the model.
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
        noise=(model.weight * model.noise + float(weights @ residuals)) / total,
        weight=total,
        votes=model.votes + mass,
    )


def measure(model: Model, bounds: Limits, rows: Array, k: int) -> Measured:
    """Where rows lie."""
    W, Y = model.axes[:, :k], rows - model.center
    T = Y @ W
    R = Y - T @ W.T
    residuals = np.einsum("ij,ij->i", R, R)
    squares = _squared_scores(T, model.variances[:k])
    n = max(model.weight, 1.0)
    # The noise of the rows behind a subspace tilts it, which lengthens the distances of others.
    r = np.sqrt(residuals / (1 + 1 / n + np.minimum(squares / n, 1.0)))
    inside = (bounds.nearest <= r) & (r <= bounds.orthogonal) & (squares <= bounds.score)
    return Measured(r, squares, residuals, inside)


def count(model: Model, bounds: Limits, seen: Measured, rows: Array, fade: Array) -> Model:
    """The model with the distances of some rows counted; score distances only of those near the subspace."""
    scores, (away, along) = np.sqrt(seen.squared_scores), bounds.about
    about = rows & (away[0] <= seen.orthogonal) & (seen.orthogonal <= away[1])
    near = about & (seen.orthogonal <= bounds.orthogonal) & (along[0] <= scores) & (scores <= along[1])
    counts = np.stack(
        [_counted(seen.orthogonal[about] / model.unit, fade[about]), _counted(scores[near], fade[near])]
    )
    return replace(model, counts=model.counts + counts)


def _counted(distances: Array, weights: Array | None = None) -> Array:
    """Weights of the distances by bin; what lies beyond the last bin, or is no number, is in it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        where = np.log(distances) / BIN_WIDTH + 0.5 * N_BINS
    where = np.nan_to_num(where, nan=N_BINS, posinf=N_BINS, neginf=0.0)
    return np.bincount(np.clip(where, 0, N_BINS - 1).astype(np.intp), weights, N_BINS)


def faded(model: Model, factor: float) -> Model:
    """The model with less of its rows left."""
    if factor == 1.0:
        return model
    return replace(
        model, weight=model.weight * factor, votes=model.votes * factor, counts=model.counts * factor
    )


def _squared_scores(T: Array, variances: Array) -> Array:
    live = variances > 1e-20 * variances.max(initial=0.0)
    return np.asarray((T * T) @ np.where(live, 1.0 / np.where(live, variances, 1.0), 0.0))


def _orthonormal(axes: Array) -> Array:
    """The axes without what rounding added to them from block to block."""
    return np.asarray(np.linalg.qr(axes)[0])


def _completed(axes: Array, count: int) -> Array:
    """The axes, and zeros in place of those that so few rows cannot have."""
    return np.pad(axes, ((0, 0), (0, count - axes.shape[1])))
