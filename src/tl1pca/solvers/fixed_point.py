"""Fixed points: linearise the objective at W and take the linear maximiser.

For a convex operator the linearisation lies below the objective, so the
iteration never descends (p >= 1). For p < 1 it need not even converge: the
published rule is kept as it is, and `SphereAscent` or `StiefelAscent`
maximise the same objective soundly. With many rows a convex operator takes
the shorter way of `frame_ascent` to a fixed point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._progress import tell
from ..geometry import ball_maximizer, p_unit, polar, sparse_maximizer
from ..objectives import Dispersion
from ..operators import Lp
from .base import Solution, Solver, longest_row, principal_axes
from .frame import frame_ascent
from .quasi_newton import MANY

Array = NDArray[Any]


class FixedPoint(Solver):
    """W <- polar(X' (sign(T) psi(|T|))), T = XW: Kwak 2008 and 2014, Nie 2011.

    Parameters
    ----------
    tol : float, default=1e-8
        Relative increase of the objective below which the iteration stops; for
        l1 it ends when the signs repeat. With more than 5000 rows the increase
        decides for l1 as well, at tol^(2/3), two in a million by default: the
        steps are then longer ones.
    step_tol : float, default=0.0
        Frobenius norm of the change of W below which it stops as well, as
        published; such a rule is never replaced by longer steps.
    max_iter : int, default=1000
    """

    def __init__(self, tol: float = 1e-8, step_tol: float = 0.0, max_iter: int = 1000):
        self.tol = tol
        self.step_tol = step_tol
        self.max_iter = max_iter

    def maximize(self, dispersion: Dispersion, rng: np.random.RandomState) -> Solution:
        if self.hurries(dispersion):
            return self.maximize_frame(dispersion, 1)
        return self.maximize_joint(dispersion, self._start(dispersion))

    def hurries(self, dispersion: Dispersion) -> bool:
        """Whether the rows are many and the objective convex, so that there is a shorter way."""
        operator = dispersion.operator
        convex = not operator.concave or (isinstance(operator, Lp) and operator.p == 1)
        n, d = dispersion.rows.shape
        return n > max(MANY, d) and convex and self.orthogonal and self.step_tol == 0.0

    def maximize_frame(self, dispersion: Dispersion, n_columns: int) -> Solution:
        """All directions at once, by `frame_ascent`."""
        tol = max(self.tol ** (2.0 / 3.0), 4.0 * float(np.finfo(dispersion.rows.dtype).eps))
        return frame_ascent(dispersion, n_columns, tol, self.max_iter)

    def _start(self, dispersion: Dispersion) -> Array:
        return principal_axes(dispersion.rows, 1)

    def _step(self, G: Array, W: Array) -> Array:
        return polar(G)

    def maximize_joint(self, dispersion: Dispersion, W: Array) -> Solution:
        rows, operator = dispersion.rows, dispersion.operator
        # On the sphere, and for l1, the signs decide: the iteration is finite and never descends.
        l1 = isinstance(operator, Lp) and operator.p == 1 and self.orthogonal
        T = rows.project(W)
        path = [float(dispersion.value(T, operator).sum())]
        signs: Any = None
        tol = max(self.tol, 4.0 * float(np.finfo(rows.dtype).eps)) if self.tol > 0 else 0.0
        for _ in range(self.max_iter):
            # sign(0) = +1: for l1 a row on the boundary must take a side to be finite.
            sides = rows.map(lambda t: np.where(t < 0, -1.0, 1.0).astype(t.dtype), T)
            if l1 and signs is not None and not rows.total(lambda a, b: a != b, sides, signs).any():
                return Solution(W, tuple(path), True)
            signs = sides
            slopes = rows.map(lambda side, t: side * operator.slope(np.abs(t)), sides, T)
            new = self._step(rows.pullback(slopes), W)
            moved = float(np.linalg.norm(new - W))
            T_new = rows.project(new)
            value = float(dispersion.value(T_new, operator).sum())
            if l1 and value <= path[-1] * (1 + 1e-15):
                return Solution(W, tuple(path), True)  # rounding only: W is the fixed point
            W, T = new, T_new
            path.append(value)
            small = abs(path[-1] - path[-2]) <= tol * abs(path[-1])
            if tell("components", value):
                break
            if moved < self.step_tol or (small and not l1):
                return Solution(W, tuple(path), True)
        return Solution(W, tuple(path), False)


class SparseFixedPoint(FixedPoint):
    """lpSPCA (Li, Chen and Shao 2017): soft-thresholded to `n_nonzero` entries.

    Parameters
    ----------
    n_nonzero : int
        Non-zero entries of a direction.
    tol, step_tol, max_iter
        As in `FixedPoint`; the published rule stops at a change below 1e-2
        or after 600 iterations.
    """

    orthogonal = False

    def __init__(self, n_nonzero: int, tol: float = 0.0, step_tol: float = 1e-2, max_iter: int = 600):
        super().__init__(tol=tol, step_tol=step_tol, max_iter=max_iter)
        self.n_nonzero = n_nonzero

    def _start(self, dispersion: Dispersion) -> Array:
        return sparse_maximizer(longest_row(dispersion.rows), self.n_nonzero)[:, None]

    def _step(self, G: Array, W: Array) -> Array:
        if not G.any():
            return W
        return sparse_maximizer(G[:, 0], self.n_nonzero)[:, None]


class BallFixedPoint(FixedPoint):
    """Lp GPCA (Liang et al. 2013): directions of p-norm one.

    Parameters
    ----------
    norm : float
        p of the constraint; may be infinite.
    tol, step_tol, max_iter
        As in `FixedPoint`.
    """

    orthogonal = False

    def __init__(self, norm: float, tol: float = 1e-10, step_tol: float = 0.0, max_iter: int = 1000):
        super().__init__(tol=tol, step_tol=step_tol, max_iter=max_iter)
        self.norm = norm

    def _start(self, dispersion: Dispersion) -> Array:
        w = principal_axes(dispersion.rows, 1)[:, 0]
        if self.norm == 1.0:
            return ball_maximizer(w, 1.0, w)[:, None]
        return p_unit(w, self.norm)[:, None]

    def _step(self, G: Array, W: Array) -> Array:
        return ball_maximizer(G[:, 0], self.norm, W[:, 0])[:, None]
