"""What is maximised or minimised, over (rows, operator)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .operators import TL1, Operator
from .rows import Rows
from .statistics import solve_tl1_scale

Array = NDArray[Any]


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

    def scales(self, T: Array, start: Array | None = None) -> Array:
        """alpha of every column of the scores; zero where half of them are."""
        mass = self.rows.mass
        columns = np.atleast_1d(self.rows.total(lambda t: (t != 0).astype(np.float64), T))
        mean = np.atleast_1d(self.rows.total(np.abs, T)) / mass
        alive = columns > (0.5 + 1e-12) * mass

        def moments(alpha: Array) -> tuple[Array, Array]:
            a = alpha if T.ndim > 1 else float(alpha[0])

            def share(t: Array) -> Array:
                return np.asarray(a / (a + np.abs(t)))

            first = np.atleast_1d(self.rows.total(share, T)) / mass
            return first, np.atleast_1d(self.rows.total(lambda t: share(t) ** 2, T)) / mass

        begin = mean if start is None else np.atleast_1d(start)
        alpha = np.where(alive, solve_tl1_scale(moments, np.where(alive & (begin > 0), begin, 1.0)), 0.0)
        return alpha if T.ndim > 1 else alpha[0]

    def measure(self, T: Array) -> Array:
        """The objective at scores T, per column."""
        return self.scales(T) if self.operator.adaptive else self.value(T, self.operator)

    def value(self, T: Array, operator: Operator) -> Array:
        """sum_i v_i rho(|t_i|), per column."""
        return self.rows.total(lambda t: operator.value(np.abs(t)), T)

    def gradient(self, T: Array, operator: Operator) -> Array:
        """sum_i v_i psi(|t_i|) sign(t_i) x_i; a row with t_i = 0 has no side to pull to."""
        return self.rows.pullback(self.rows.map(lambda t: np.sign(t) * operator.slope(np.abs(t)), T))


@dataclass(frozen=True)
class Residual:
    """sum_i v_i rho(r_i), to be minimised; r_i is the distance of x_i to the subspace."""

    rows: Rows
    operator: Operator

    def distances(self, W: Array) -> Array:
        """Distances of the rows to the span of the orthonormal columns of W."""
        return residual_norms(self.rows, W)

    def value(self, r: Array) -> float:
        """sum_i v_i rho(r_i)."""
        return float(self.rows.total(self.operator.value, r))


def residual_norms(rows: Rows, W: Array) -> Array:
    """|x_i - WW'x_i| without the cancellation of |x|^2 - |t|^2, in blocks of rows."""
    n, d = rows.shape
    step = max(1, (1 << 18) // max(d, 1))
    r = np.empty(n, dtype=rows.dtype)
    for i in range(0, n, step):
        A = rows.take(np.arange(i, min(i + step, n)))
        A = A - (A @ W) @ W.T
        r[i : i + step] = np.sqrt(np.einsum("ij,ij->i", A, A))
    return r
