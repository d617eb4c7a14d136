"""From the components of a sample of the rows to those of all rows.

With many rows the sign cells are tiny and a Newton step inside one of them is
useless: what counts is the density of the kinks. So the curvature is that of
the smoothed objective sum rho(sqrt(t^2 + h^2)), taken from a sample, while
values and gradients are those of all rows. All components move together, and
a step is one pass over the data however many there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry import orthonormalize, project_out
from ..objectives import Dispersion
from ..operators import Operator
from ..rows import Rows
from .base import Solution

Array = NDArray[Any]

#: Width of the smoothing, in median projections.
SMOOTHING = 0.3
#: Conjugate gradient steps for a Newton direction: the curvature itself is an estimate.
INNER = 10


@dataclass(frozen=True)
class _Curvature:
    """Smoothed curvature of the objective on a sample A (m, d), scaled to all rows."""

    A: Array
    weights: Array

    def bend(self, W: Array, operator: Operator) -> Array:
        """-d^2/dt^2 rho(sqrt(t^2 + h^2)) for every sample row and component, (m, k)."""
        T = self.A @ W
        h = SMOOTHING * np.median(np.abs(T), axis=0)
        squares = T * T + np.maximum(h, np.finfo(T.dtype).tiny ** 0.5) ** 2
        u = np.sqrt(squares)
        part = T * T / squares
        bent = operator.curvature(u) * part + operator.slope(u) * (1.0 - part) / u
        return np.asarray(-self.weights[:, None] * bent)

    def solve(self, bend: Array, mu: Array, G: Array, tangent: Any) -> Array:
        """Newton directions, (mu + A' diag(bend) A) x = g per component, by conjugate gradients."""
        x, r = np.zeros_like(G), G
        p, rr = r, np.einsum("ij,ij->j", r, r)
        stop = 1e-3 * rr
        for _ in range(INNER):
            q = tangent(mu * p + self.A.T @ (bend * (self.A @ p)))
            pq = np.einsum("ij,ij->j", p, q)
            on = (rr > stop) & (pq > 0)
            if not on.any():
                break
            step = np.where(on, rr, 0.0) / np.where(on, pq, 1.0)
            x = x + step * p
            r = r - step * q
            new = np.einsum("ij,ij->j", r, r)
            p = r + np.where(on, new, 0.0) / np.where(on, rr, 1.0) * p
            rr = new
        # Where the sample bends the wrong way, the gradient itself.
        bad = np.einsum("ij,ij->j", x, G) <= 0
        return np.asarray(np.where(bad, G / mu, x))


def polish(
    dispersion: Dispersion, W: Array, fixed: Array, sample: Rows, *, tol: float, max_iter: int
) -> list[Solution]:
    """Ascend the columns of W together on all rows, each in the complement of those before it.

    Parameters
    ----------
    dispersion : Dispersion
        Over all rows.
    W : ndarray of shape (d, k)
        Orthonormal, and orthogonal to `fixed`.
    fixed : ndarray of shape (d, j)
        Earlier directions that do not move.
    sample : Rows
        Some of the rows, for the curvature.
    tol : float
        Relative increase; a component rests when its next step promises less.
    max_iter : int

    Returns
    -------
    list of Solution
        One for each column. A path begins where the earlier components last
        lowered it by moving: before, it belonged to another problem.
    """
    k = W.shape[1]
    A = sample.take(np.arange(sample.shape[0]))
    v = np.ones(len(A), dtype=A.dtype) if sample.weights is None else sample.weights
    curvature = _Curvature(A, v * A.dtype.type(dispersion.rows.mass / float(v.sum())))
    earlier = np.triu(np.ones((k, k), dtype=A.dtype))  # column j keeps off columns i <= j
    look = dispersion.survey(W, Dispersion(sample, dispersion.operator).guess(W))
    if dispersion.operator.adaptive:  # the scales of the sample are a first guess only
        look = dispersion.survey(W, look.measure)
    value, gradient, length = look.measure, look.gradient, np.ones(k, dtype=W.dtype)
    paths = [[float(x)] for x in value]
    converged = np.zeros(k, dtype=bool)
    for _ in range(max_iter):

        def tangent(Q: Array, W: Array = W) -> Array:
            Q = project_out(Q, fixed)
            return np.asarray(Q - W @ ((W.T @ Q) * earlier))

        mu = np.maximum(np.einsum("ij,ij->j", gradient, W), np.finfo(A.dtype).tiny)
        g = tangent(tangent(gradient))
        D = tangent(curvature.solve(curvature.bend(W, look.operator), mu, g, tangent))
        promise = length * np.einsum("ij,ij->j", g, D)
        converged = promise <= tol * mu
        if converged.all():
            break
        new = orthonormalize(project_out(W + length * D.astype(W.dtype), fixed))
        look = dispersion.survey(new, look.measure)
        up = ~_too_far(W, new, value, look.measure)
        # Who went too far goes back and tries a quarter of the step; the others go on.
        length = np.where(up, 1.0, 0.25 * length).astype(W.dtype)
        W, value = np.where(up, new, W), np.where(up, look.measure, value)
        gradient = np.where(up, look.gradient, gradient)
        for j in np.flatnonzero(up):
            if value[j] < paths[j][-1]:
                paths[j].clear()
            paths[j].append(float(value[j]))
    return [Solution(W[:, [j]], tuple(paths[j]), bool(converged[j])) for j in range(k)]


def _too_far(old: Array, new: Array, before: Array, after: Array) -> Array:
    """Components that went down by their own step rather than by being turned with earlier ones."""
    moved = np.linalg.norm(new - old, axis=0)
    turned = np.concatenate([[0.0], np.maximum.accumulate(moved)[:-1]])
    return np.asarray((after < before * (1 - 1e-12)) & (turned <= 0.1 * moved))
