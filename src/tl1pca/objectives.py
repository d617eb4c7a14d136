"""What is maximised or minimised, over (rows, operator)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import columns, like, namespace
from .operators import TL1, Operator
from .rows import Rows
from .statistics import solve_tl1_scale

Array = NDArray[Any]


@dataclass(frozen=True)
class Survey:
    """What one pass over the rows tells of a batch of directions W (d, k).

    Attributes
    ----------
    measure : ndarray of shape (k,)
        The objective.
    gradient : ndarray of shape (d, k)
    operator : Operator
        With its "auto" parameter settled, one for each direction.
    """

    measure: Array
    gradient: Array
    operator: Operator


@dataclass(frozen=True)
class Dispersion:
    """f(w) = sum_i v_i rho(|x_i.w|), to be maximised over unit w.

    For an operator whose parameter is "auto" the objective is the scale
    alpha(w) of the projections instead: the root of mean |t|/(alpha+|t|) = 1/2.
    Its gradient is the Tl1 gradient at a = alpha, and whatever increases
    f at that a increases alpha, so one ascent serves both.
    """

    rows: Rows
    operator: Operator

    def operator_at(self, T: Array) -> Operator:
        """The operator to use at scores T: its "auto" parameter settled there, per column."""
        if not (self.operator.adaptive and isinstance(self.operator, TL1)):
            return self.operator
        alpha = self.scales(T)
        return self.operator.at(alpha, alpha)

    def scales(self, T: Any) -> Array:
        """alpha of every column of the scores; zero where half of them are."""
        mass = self.rows.mass
        count = np.atleast_1d(self.rows.total(lambda t: namespace(t).sign(abs(t)), T))
        mean = np.atleast_1d(self.rows.total(abs, T)) / mass
        alive = count > (0.5 + 1e-12) * mass
        alpha = np.where(alive, self.refine(T, np.where(alive, mean, 1.0)), 0.0)
        return alpha if T.ndim > 1 else alpha[0]

    def refine(self, T: Any, alpha: Array, center: Array | float = 0.0) -> Array:
        """alpha of every column of the scores less `center`, none of them zero, from a guess."""
        mass = self.rows.mass

        def moments(alpha: Array) -> tuple[Array, Array]:
            def powers(t: Any) -> Any:
                a = like(alpha, t)
                q = a / (a + abs((t if t.ndim > 1 else t[:, None]) - like(center, t)))
                return columns(q, q * q)

            first, second = np.split(self.rows.total(powers, T) / mass, 2)
            return first, second

        return solve_tl1_scale(moments, alpha, float(np.finfo(self.rows.dtype).eps) ** 0.5)

    def measure(self, T: Array) -> Array:
        """The objective at scores T, per column."""
        return self.scales(T) if self.operator.adaptive else self.value(T, self.operator)

    def guess(self, W: Array) -> Array | None:
        """Scales alpha at the directions W, when they are what is maximised."""
        return self.scales(self.rows.project(W)) if self.operator.adaptive else None

    def survey(self, W: Array, alpha: Array | None = None, width: Array | None = None) -> Survey:
        """Objective and gradient at W, (d, k), in one pass over the data.

        For an "auto" operator the gradient is the one at the given scales
        `alpha`, those of a nearby W, and the objective is one Newton step
        from them: both become exact as W settles. With a `width` h per
        direction the kinks are spread, rho(sqrt(t^2 + h^2)).
        """
        adaptive = self.operator.adaptive and isinstance(self.operator, TL1) and alpha is not None
        operator = self.operator.at(alpha, alpha) if adaptive else self.operator
        squares = None if width is None else width**2

        def look(T: Any) -> tuple[Any, ...]:
            xp = namespace(T)
            U = abs(T) if squares is None else xp.sqrt(T * T + like(squares, T))
            values: tuple[Any, ...]
            if adaptive:
                a = like(operator.a, T)
                q = a / (a + U)
                values = (q, q * q)
                slope = (1.0 + 1.0 / a) * values[1]
            else:
                slope, values = operator.slope(U), (operator.value(U),)
            return xp.copysign(slope, T) if squares is None else slope * (T / U), *values

        totals, gradient = self.rows.fold(look, W)
        if not adaptive:
            return Survey(totals[0], gradient, operator)
        first, second = (total / self.rows.mass for total in totals)
        step = np.clip((0.5 - first) / np.maximum(first - second, 1e-300), -3.0, 3.0)
        return Survey(np.asarray(operator.a) * np.exp(step), gradient, operator)

    def value(self, T: Array, operator: Operator) -> Array:
        """sum_i v_i rho(|t_i|), per column."""
        return self.rows.total(lambda t: operator.value(abs(t)), T)

    def gradient(self, T: Array, operator: Operator) -> Array:
        """sum_i v_i psi(|t_i|) sign(t_i) x_i; a row with t_i = 0 has no side to pull to."""
        return self.rows.pullback(self.rows.map(lambda t: namespace(t).sign(t) * operator.slope(abs(t)), T))


@dataclass(frozen=True)
class Residual:
    """sum_i v_i rho(r_i), to be minimised; r_i is the distance of x_i to the subspace."""

    rows: Rows
    operator: Operator

    def distances(self, W: Array) -> Array:
        """Distances of the rows to the span of the orthonormal columns of W."""
        return self.rows.split(W)[1]

    def value(self, r: Array) -> float:
        """sum_i v_i rho(r_i)."""
        return float(self.rows.total(self.operator.value, r))
