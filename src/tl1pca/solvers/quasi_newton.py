"""Quasi-Newton ascent on the Stiefel manifold, one pass over the data for a step.

For problems whose gradient at a frame W is G(W) and whose published step is
polar(G), which never descends but crawls where maxima are flat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._progress import tell
from ..geometry import polar

Array = NDArray[Any]

#: More rows than this, and a step should ask for one pass over them only.
MANY = 5000
#: Steps a quasi-Newton direction is made of.
MEMORY = 12
#: Length of the longest step; beyond, the curvature here says nothing.
FARTHEST = 1.0
#: Least difference of the curvatures inside and outside the span, as a share of the one inside.
GAP = 0.15


@dataclass(frozen=True)
class Seen:
    """What one pass tells of a frame W (d, k): the objective and its gradient."""

    W: Array
    value: float
    gradient: Array

    @property
    def inner(self) -> Array:
        """sym(W'G): what a turn out of the span costs the columns."""
        A = self.W.T @ self.gradient
        return np.asarray(0.5 * (A + A.T))

    def tangent(self, Q: Array) -> Array:
        """Tangent part of Q, (..., d, k)."""
        A = self.W.T @ Q
        return np.asarray(Q - self.W @ (0.5 * (A + A.swapaxes(-1, -2))))


Look = Callable[[Array], Seen]
#: From a frame, a tangent, and the last steps with the changes of the gradient (2, m, d, k),
#: to the step that a first guess of the curvature suggests.
Inverse = Callable[[Seen, Array, Array], Array]


@dataclass(frozen=True)
class Ascent:
    """Where an ascent has ended, with the objective after every step."""

    end: Seen
    path: tuple[float, ...]
    converged: bool


def climb(look: Look, here: Seen, inverse: Inverse, tol: float, max_iter: int, window: int = 1) -> Ascent:
    """Ascend from `here` until the last `window` steps gain no more than tol each; no step descends."""
    path = [here.value]
    pairs = np.zeros((2, 0, *here.W.shape), dtype=here.W.dtype)
    for _ in range(max_iter):
        g = here.tangent(here.gradient)
        D = here.tangent(_direction(g, pairs, here, inverse))
        D *= min(1.0, FARTHEST / max(float(np.linalg.norm(D)), np.finfo(D.dtype).tiny))
        there = _first_higher(look, here, D)
        if there is None:
            return Ascent(here, tuple(path), True)
        path.append(there.value)
        if tell("components", abs(there.value)):
            return Ascent(there, tuple(path), False)
        newest = np.stack([there.W - here.W, g - there.tangent(there.gradient)])[:, None]
        # What was tangent at the last frame is brought to the new one.
        pairs = there.tangent(np.concatenate([pairs[:, 1 - MEMORY :], newest], axis=1))
        here = there
        if len(path) > window and path[-1] - path[-1 - window] <= window * tol * abs(path[-1]):
            return Ascent(here, tuple(path), True)
    return Ascent(here, tuple(path), False)


def level(seen: Seen, Q: Array, pairs: Array) -> Array:
    """The same curvature everywhere: that of the last step, at first that of the published one."""
    if pairs.shape[1]:
        s, y = pairs[:, -1]
        return np.asarray(Q * (np.vdot(s, y) / np.vdot(y, y)))
    return np.asarray(Q * (len(Q) / float(np.trace(seen.inner))))


def elliptical(values: Array, axes: Array) -> Inverse:
    """Solve D S - h C D = Q off the span of W, for S = W'G and a scatter C of the rows.

    That is the curvature of the objective when the rows are elliptical.

    Parameters
    ----------
    values, axes : ndarray of shape (d,) and (d, d)
        Eigenvalues of C, ascending, and eigenvectors.
    """

    def inverse(seen: Seen, Q: Array, pairs: Array) -> Array:
        W, k = seen.W, seen.W.shape[1]
        stretch, turn = linalg.eigh(seen.inner, check_finite=False)
        h = float(stretch.sum() / values[-k:].sum())
        inside = W @ (W.T @ Q)
        least = GAP * np.maximum(stretch, 1e-9 * stretch[-1])
        gap = np.maximum(stretch - h * values[:, None], least)
        D = axes @ ((axes.T @ (Q - inside) @ turn) / gap) @ turn.T
        return np.asarray(D - W @ (W.T @ D) + inside / stretch.mean())

    return inverse


def _first_higher(look: Look, here: Seen, D: Array) -> Seen | None:
    """The first of some steps that ascends; the last one, as published, does unless it is here."""
    for target in (here.W + D, here.W + 0.25 * D, here.gradient):
        there = look(polar(target))
        if there.value > here.value:
            return there
    return None


def _direction(g: Array, pairs: Array, here: Seen, inverse: Inverse) -> Array:
    """L-BFGS: the inverse curvature, corrected by what the last steps have shown of it."""
    bent = np.einsum("mij,mij->m", *pairs)
    pairs, bent = pairs[:, bent > 0], bent[bent > 0]
    shares = []
    for s, y, sy in zip(*pairs[:, ::-1], bent[::-1]):
        shares.append(np.vdot(s, g) / sy)
        g = g - shares[-1] * y
    D = inverse(here, g, pairs)
    for s, y, sy in zip(*pairs, bent):
        D = D + (shares.pop() - np.vdot(y, D) / sy) * s
    return D
