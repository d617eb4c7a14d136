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

from .._arrays import asarray_like, cast, dots, namespace, tiny, to_numpy
from .._progress import report_iteration
from ..geometry import orthonormalize, project_out
from ..linear import conjugate_gradients
from ..objectives import Dispersion, Evaluation
from ..operators import Operator, Smoothed
from ..rows import Rows
from .base import Solution, solution

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

    def negative_curvature(self, W: Array, operator: Operator, mu: Array) -> Array:
        """Minus the second derivative of the smoothed objective in every score, (m, k)."""
        xp, T = namespace(W), self.A @ W
        slope, negative_curvature = Smoothed(operator, SMOOTHING * self.scale(W)).derivatives(T)
        # For a normal score the sum of psi(t) t is curvature times variance: the smoothing
        # and the sample change both alike, so what is known of the one corrects the other.
        sampled = xp.maximum(self.weights @ (slope * T), tiny(T))
        return self.weights[:, None] * negative_curvature * xp.sqrt(mu / sampled)

    def newton(self, bent: Array, mu: Array, g: Array, tangent: Callable[[Array], Array]) -> Array:
        """(mu + A' diag(bent) A) x = g per component; mu alone where the curvature is about to vanish."""
        x = conjugate_gradients(
            lambda p: tangent(mu * p + self.A.T @ (bent * (self.A @ p))),
            g,
            tol=0.1,
            max_iter=INNER,
            least_curvature=0.02 * mu,
        )
        return namespace(g).where(dots(x, x) > 0, x, g / mu)


def refine(
    objective: Dispersion,
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
    objective : Dispersion
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
        Relative increase that the next step predicts, summed over the
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
    index = np.arange(sample.shape[0])
    v = np.ones(len(index)) if sample.weights is None else sample.gather_scores(sample.weights, index)
    scale = objective.rows.mass / float(v.sum())
    curvature = _Curvature(sample.array(), sample.asarray(scale * v))
    xp = namespace(W)

    def newton_direction(here: Evaluation) -> tuple[Array, float]:
        """Newton directions and the relative increase they predict, summed over the components."""
        mu = xp.maximum(dots(here.gradient, here.W), tiny(W))
        tangent = _tangent(here.W, fixed)
        g = tangent(tangent(here.gradient))
        bent = curvature.negative_curvature(here.W, here.operator, mu)
        D = tangent(curvature.newton(bent, mu, g, tangent))
        return cast(D, W.dtype), float(xp.sum(dots(g, D) / mu))

    here = objective.on(sample).value_and_gradient(W)  # for the scales, where they are "auto"
    for width in widths:
        smooth = objective.smoothed(width * to_numpy(curvature.scale(W)))
        here = smooth.value_and_gradient(W, near=here)
        W = _step(W, newton_direction(here)[0], fixed)
    here = objective.value_and_gradient(W, near=here)
    paths, converged = [[float(x)] for x in here.values], False
    D, predicted_gain = newton_direction(here)
    length = 1.0
    for _ in range(max_iter):
        if predicted_gain <= tol:
            converged = True
            break
        there = objective.value_and_gradient(_step(here.W, length * D, fixed), near=here)
        D_new, next_gain = newton_direction(there)
        if next_gain < predicted_gain:
            # Rows change sides as the directions turn: close to the maximum that is noise, and no step helps.
            converged = next_gain > 0.5 * predicted_gain
            _record(paths, there.values, here.values)
            here, D, predicted_gain, length = there, D_new, next_gain, 1.0
            if report_iteration("components", here.value):
                break
        else:  # too far for the model: stay, and try a quarter of the step
            length *= 0.25
            converged = length < 0.05
        if converged:
            break
    return [solution(here.W[:, j : j + 1], path, converged) for j, path in enumerate(paths)]


def _record(paths: list[list[float]], values: Array, before: Array) -> None:
    """Append the objectives; a component that was lowered, by being turned with others, begins anew."""
    for path, value, old in zip(paths, values, before):
        if value < old:
            path.clear()
        path.append(float(value))


def _tangent(W: Array, fixed: Array) -> Callable[[Array], Array]:
    """Projection of column j off the fixed directions and the columns i <= j of W."""
    earlier = asarray_like(np.triu(np.ones((W.shape[1], W.shape[1]))), W)

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
