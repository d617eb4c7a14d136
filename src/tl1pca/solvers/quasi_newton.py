"""Quasi-Newton ascent on the Stiefel manifold, one pass over the data for a step.

For problems whose gradient at a frame W is G(W) and whose published step is
polar(G), which never descends but crawls where maxima are flat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._progress import report_iteration
from ..geometry import polar
from ..objectives import Evaluation

Array = NDArray[Any]

#: Steps a quasi-Newton direction is made of.
MEMORY = 12
#: Length of the longest step; beyond, the curvature here says nothing.
FARTHEST = 1.0
#: Least difference of the curvatures inside and outside the span, as a share of the one inside.
GAP = 0.15


class Evaluate(Protocol):
    """An objective to be maximized over frames, with its gradient."""

    def __call__(self, W: Array) -> Evaluation:
        """Value and gradient at W."""


def span_curvature(here: Evaluation) -> Array:
    """sym(W'G): what a turn out of the span costs the columns."""
    A = here.W.T @ here.gradient
    return np.asarray(0.5 * (A + A.T))


def _tangent(W: Array, Q: Array) -> Array:
    """Part of Q, (..., d, k), that is tangent to the Stiefel manifold at W."""
    A = W.T @ Q
    return np.asarray(Q - W @ (0.5 * (A + A.swapaxes(-1, -2))))


#: From a frame, a tangent, and the last steps with the changes of the gradient (2, m, d, k),
#: to the step that a first guess of the curvature suggests.
Preconditioner = Callable[[Evaluation, Array, Array], Array]


@dataclass(frozen=True)
class Ascent:
    """Where an ascent has ended, with the objective after every step."""

    end: Evaluation
    path: tuple[float, ...]
    converged: bool


def quasi_newton(
    evaluate: Evaluate,
    W: Array,
    precondition: Preconditioner,
    tol: float,
    max_iter: int,
    window: int = 1,
) -> Ascent:
    """Ascend from the frame W until the last `window` steps gain no more than tol each; no step descends."""
    here = evaluate(W)
    path = [here.value]
    pairs = np.zeros((2, 0, *here.W.shape), dtype=here.W.dtype)
    for _ in range(max_iter):
        g = _tangent(here.W, here.gradient)
        D = _tangent(here.W, _direction(g, pairs, here, precondition))
        D *= min(1.0, FARTHEST / max(float(np.linalg.norm(D)), np.finfo(D.dtype).tiny))
        there = _first_higher(evaluate, here, D)
        if there is None:
            return Ascent(here, tuple(path), True)
        path.append(there.value)
        if report_iteration("components", abs(there.value)):
            return Ascent(there, tuple(path), False)
        newest = np.stack([there.W - here.W, g - _tangent(there.W, there.gradient)])[:, None]
        # What was tangent at the last frame is brought to the new one.
        pairs = _tangent(there.W, np.concatenate([pairs[:, 1 - MEMORY :], newest], axis=1))
        here = there
        if len(path) > window and path[-1] - path[-1 - window] <= window * tol * abs(path[-1]):
            return Ascent(here, tuple(path), True)
    return Ascent(here, tuple(path), False)


def uniform(here: Evaluation, Q: Array, pairs: Array) -> Array:
    """The same curvature everywhere: that of the last step, at first that of the published one."""
    if pairs.shape[1]:
        s, y = pairs[:, -1]
        return np.asarray(Q * (np.vdot(s, y) / np.vdot(y, y)))
    return np.asarray(Q * (len(Q) / float(np.trace(span_curvature(here)))))


def elliptical(values: Array, axes: Array) -> Preconditioner:
    """Solve D S - h C D = Q off the span of W, for S = W'G and a scatter C of the rows.

    That is the curvature of the objective when the rows are elliptical.

    Parameters
    ----------
    values, axes : ndarray of shape (d,) and (d, d)
        Eigenvalues of C, ascending, and eigenvectors.
    """

    def precondition(here: Evaluation, Q: Array, pairs: Array) -> Array:
        W, k = here.W, here.W.shape[1]
        eigenvalues, rotation = linalg.eigh(span_curvature(here), check_finite=False)
        h = float(eigenvalues.sum() / values[-k:].sum())
        inside = W @ (W.T @ Q)
        least = GAP * np.maximum(eigenvalues, 1e-9 * eigenvalues[-1])
        gap = np.maximum(eigenvalues - h * values[:, None], least)
        D = axes @ ((axes.T @ (Q - inside) @ rotation) / gap) @ rotation.T
        return np.asarray(D - W @ (W.T @ D) + inside / eigenvalues.mean())

    return precondition


def _first_higher(evaluate: Evaluate, here: Evaluation, D: Array) -> Evaluation | None:
    """The first of some steps that ascends; the last one, as published, does unless it is here."""
    for target in (here.W + D, here.W + 0.25 * D, here.gradient):
        there = evaluate(polar(target))
        if there.value > here.value:
            return there
    return None


def _direction(g: Array, pairs: Array, here: Evaluation, precondition: Preconditioner) -> Array:
    """L-BFGS: the inverse curvature, corrected by what the last steps have shown of it."""
    bent = np.einsum("mij,mij->m", *pairs)
    pairs, bent = pairs[:, bent > 0], bent[bent > 0]
    shares = []
    for s, y, sy in zip(*pairs[:, ::-1], bent[::-1]):
        shares.append(np.vdot(s, g) / sy)
        g = g - shares[-1] * y
    D = precondition(here, g, pairs)
    for s, y, sy in zip(*pairs, bent):
        D = D + (shares.pop() - np.vdot(y, D) / sy) * s
    return D
