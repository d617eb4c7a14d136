"""The fixed point of a convex operator with many rows, and a shorter way to it.

The published step polar(G) never descends, and with many rows it crawls: for
elliptical data every frame of the leading subspace whose scores have equal
variances is a maximum but for noise, and the principal axes are a saddle. So
the frame is first turned inside the span of the axes, which asks for scores
only and not for the data. Frame and span then move together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.fft import dct

from ..geometry import largest_entry_signs, polar
from ..objectives import Dispersion
from ..operators import Lp, Operator
from ..rows import DenseRows, Rows
from ..statistics import some_rows
from .base import Solution
from .quasi_newton import Look, Seen, climb, elliptical, level

Array = NDArray[Any]

#: Relative increase at which turning inside the span stops, and its most steps.
TURN, TURNS = 3e-6, 100
#: Rows whose scores decide the turn, at most.
TURNED = 200_000
#: One row in so many tells the way to begin with.
FEW = 8
#: Rows whose scores are summed by one thread.
PART = 20_000


def frame_ascent(dispersion: Dispersion, n_columns: int, tol: float, max_iter: int) -> Solution:
    """Maximise sum_ij rho(|x_i.w_j|) over orthonormal columns, for a convex operator.

    Parameters
    ----------
    dispersion : Dispersion
    n_columns : int
    tol : float
        Relative increase of the objective in one pass at which to stop.
    max_iter : int

    Returns
    -------
    Solution
        W of shape (d, n_columns); its path never descends.
    """
    rows, operator = dispersion.rows, dispersion.operator
    values, axes = linalg.eigh(rows.gram(), check_finite=False)
    W = np.ascontiguousarray(axes[:, ::-1][:, :n_columns])
    W *= largest_entry_signs(W.T)  # rounding decides the signs of axes, and they decide the start
    if values[-1] <= 0:
        return Solution(W, (0.0,), True)
    if n_columns > 1:
        W = polar(W @ _turn(rows, operator, W))
    look = _look([rows], operator)
    found = climb(look, look(W), elliptical(values, axes), tol, max_iter)
    return Solution(found.end.W, found.path, found.converged)


def _look(parts: Sequence[Rows], operator: Operator) -> Look:
    """Objective and gradient at a frame: sums over the parts of the rows, in this order."""
    power = float(operator.p) if isinstance(operator, Lp) else None

    def slopes(T: Array) -> tuple[Array, ...]:
        u = np.abs(T)
        sides = T / (u + np.finfo(T.dtype).tiny)  # several times faster than sign or copysign
        if power is None:
            return sides * operator.slope(u), operator.value(u)
        return (sides if power == 1.0 else sides * u ** (power - 1.0),)

    def look(W: Array) -> Seen:
        seen = [rows.fold(slopes, W.astype(rows.dtype, copy=False)) for rows in parts]
        G = np.asarray(sum(G.astype(W.dtype, copy=False) for _, G in seen))
        if power is not None:  # psi(t) t = p rho(t): the gradient holds the value
            return Seen(W, float(np.vdot(W, G)), G * G.dtype.type(power))
        return Seen(W, float(sum(totals[0].sum() for totals, _ in seen)), G)

    return look


def _turn(rows: Rows, operator: Operator, axes: Array) -> Array:
    """Rotation (k, k) of the axes to a higher frame of their span; scores in single precision."""
    few = some_rows(rows.shape[0], TURNED)
    T = rows.pick(rows.project(axes), few)
    factor = 1.0 / float(np.abs(T).max())  # single precision has a smaller range
    T = np.ascontiguousarray(factor * T, dtype=np.float32)
    weights = np.ones(0) if rows.weights is None else rows.pick(rows.weights, few).astype(np.float32)

    def scores(block: slice) -> DenseRows:
        return DenseRows(T[block], weights=weights[block] if len(weights) else None)

    # A long way among maxima of noise: the sums must not depend on how many threads there are.
    parts = [scores(slice(i, i + PART)) for i in range(0, len(T), PART)]
    still = np.eye(axes.shape[1])
    R = np.asarray(dct(still, norm="ortho"))  # cosines share the variance among the columns
    for some, tol in (([scores(slice(0, None, FEW))], 10 * TURN), (parts, TURN)):
        look = _look(some, operator.rescaled(factor))
        found = climb(look, look(R), level, tol, TURNS, window=2).end
        if found.value <= look(still).value * (1.0 + TURN):  # as for p >= 2: the axes are the frame
            return still.astype(axes.dtype)
        R = found.W
    return R.astype(axes.dtype)
