"""From the components of a sample of the rows to those of all rows.

With many rows the sign cells are tiny and a Newton step inside one of them is
useless: what counts is the density of the kinks. So the curvature is that of
the smoothed objective sum rho(sqrt(t^2 + h^2)), taken from a sample, while
values and gradients are those of all rows. All components move together, and
a step is one pass over the data however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import cast, dots, like, namespace, tiny, to_numpy
from .._progress import tell
from ..geometry import orthonormalize, project_out
from ..objectives import Dispersion, Survey
from ..operators import Operator
from ..rows import Rows
from .base import Solution

Array = NDArray[Any]

#: Least width of the smoothing of the curvature, in median scores: narrower, and the few sample
#: rows near a kink are noise.
SMOOTHING = 0.5
#: Conjugate gradient steps for a Newton direction: the curvature itself is an estimate.
INNER = 6
#: Tangent of the largest turn of a step: beyond, the curvature here says nothing.
FARTHEST = 0.5


@dataclass(frozen=True)
class _Curvature:
    """Smoothed curvature of the objective on a sample A (m, d), scaled to all rows."""

    A: Array
    weights: Array

    def scale(self, W: Array) -> Array:
        """Median score of each direction."""
        T = namespace(W).sort(abs(self.A @ W), axis=0)
        return namespace(W).maximum(T[T.shape[0] // 2, :], tiny(T) ** 0.25)

    def bend(self, W: Array, operator: Operator, mu: Array) -> Array:
        """Minus the second derivative of the smoothed objective in every score, (m, k)."""
        xp, T = namespace(W), self.A @ W
        h = SMOOTHING * self.scale(W)
        u = xp.sqrt(T * T + h * h)
        r, slope = T / u, operator.slope(u)
        bent = operator.curvature(u) * r * r + slope * (1.0 - r * r) / u
        # For a normal score the sum of psi(t) t is curvature times variance: the smoothing
        # and the sample change both alike, so what is known of the one corrects the other.
        sampled = xp.maximum(self.weights @ (slope * r * T), tiny(T))
        return -self.weights[:, None] * bent * xp.sqrt(mu / sampled)

    def newton(self, bend: Array, mu: Array, g: Array, tangent: Callable[[Array], Array]) -> Array:
        """(mu + A' diag(bend) A) x = g per component, by conjugate gradients.

        A component stops where the curvature is about to vanish.
        """
        xp = namespace(g)
        x, r, p, zero, one = xp.zeros_like(g), g, g, like(0.0, g), like(1.0, g)
        rr = dots(r, r)
        stop, on = 0.01 * rr, rr > 0
        for _ in range(INNER):
            q = tangent(mu * p + self.A.T @ (bend * (self.A @ p)))
            pq = dots(p, q)
            on = on & (rr > stop) & (pq > 0.02 * mu * dots(p, p))
            if not bool(xp.any(on)):
                break
            step = xp.where(on, rr, zero) / xp.where(on, pq, one)
            x = x + step * p
            r = r - step * q
            new = dots(r, r)
            p = r + xp.where(on, new, zero) / xp.where(on, rr, one) * p
            rr = new
        return xp.where(dots(x, x) > 0, x, g / mu)


def polish(
    dispersion: Dispersion,
    W: Array,
    fixed: Array,
    sample: Rows,
    *,
    widths: Sequence[float] = (),
    tol: float,
    max_iter: int,
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
    widths : sequence of float
        Widths of the kinks of the first steps, in median scores.
    tol : float
        Relative increase that the next step promises, summed over the
        components, at which to stop.
    max_iter : int
        Steps with sharp kinks, at most.

    Returns
    -------
    list of Solution
        One for each column. A component is a maximum given those before it,
        not the sum a maximum of all: a path begins where the smoothing has
        ended and where its component was last lowered by being turned with
        others, as before it was another problem.
    """
    k = W.shape[1]
    index = np.arange(sample.shape[0])
    v = np.ones(len(index)) if sample.weights is None else sample.pick(sample.weights, index)
    scale = dispersion.rows.mass / float(v.sum())
    curvature = _Curvature(sample.array(), sample.put(scale * v))
    xp = namespace(W)
    alpha = Dispersion(sample, dispersion.operator).guess(W)

    def look(W: Array, width: float = 0.0) -> Survey:
        return dispersion.survey(W, alpha, width * to_numpy(curvature.scale(W)) if width else None)

    def toward(W: Array, seen: Survey) -> tuple[Array, float]:
        """Newton directions and the relative increase they promise, summed over the components."""
        mu = xp.maximum(dots(seen.gradient, W), tiny(W))
        tangent = _tangent(W, fixed)
        g = tangent(tangent(seen.gradient))
        D = tangent(curvature.newton(curvature.bend(W, seen.operator, mu), mu, g, tangent))
        return cast(D, W.dtype), float(xp.sum(dots(g, D) / mu))

    for width in widths:
        seen = look(W, width)
        alpha = seen.measure if alpha is not None else None
        W = _step(W, toward(W, seen)[0], fixed)
    seen = look(W)
    paths, converged = [[float(x)] for x in seen.measure], False
    alpha = seen.measure if alpha is not None else None
    D, promise = toward(W, seen)
    length = 1.0
    for _ in range(max_iter):
        if promise <= tol:
            converged = True
            break
        new = _step(W, length * D, fixed)
        there = look(new)
        beta, alpha = alpha, there.measure if alpha is not None else None
        D_new, promise_new = toward(new, there)
        if promise_new < promise:
            # Rows change sides as the directions turn: close to the maximum that is noise, and no step helps.
            converged = promise_new > 0.5 * promise
            _record(paths, there.measure, seen.measure)
            W, seen, D, promise, length = new, there, D_new, promise_new, 1.0
            if tell("components", float(seen.measure.sum())):
                break
        else:  # too far for the model: stay, and try a quarter of the step
            alpha, length = beta, 0.25 * length
            converged = length < 0.05
        if converged:
            break
    return [Solution(W[:, j : j + 1], tuple(paths[j]), converged) for j in range(k)]


def _record(paths: list[list[float]], values: Array, before: Array) -> None:
    """Append the objectives; a component that was lowered, by being turned with others, begins anew."""
    for path, value, old in zip(paths, values, before):
        if value < old:
            path.clear()
        path.append(float(value))


def _tangent(W: Array, fixed: Array) -> Callable[[Array], Array]:
    """Projection of column j off the fixed directions and the columns i <= j of W."""
    earlier = like(np.triu(np.ones((W.shape[1], W.shape[1]))), W)

    def project(Q: Array) -> Array:
        Q = project_out(Q, fixed)
        return Q - W @ ((W.T @ Q) * earlier)

    return project


def _step(W: Array, D: Array, fixed: Array) -> Array:
    """Columns after a step, orthonormal in order and off the fixed ones; no step turns far."""
    xp = namespace(D)
    size = xp.sqrt(dots(D, D))
    D = D * xp.minimum(FARTHEST / xp.maximum(size, tiny(D)), 1.0)
    return orthonormalize(project_out(W + D, fixed))
