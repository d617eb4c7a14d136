"""The fixed point of a convex operator with many rows, and a shorter way to it.

The published step polar(G) never descends, and with many rows it crawls: for
elliptical data every frame of the leading subspace whose scores have equal
variances is a maximum but for noise, and the principal axes are a saddle. So
the frame is first turned inside the span of the axes, which asks for scores
only and not for the data. Frame and span then move together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

from ..geometry import largest_entry_signs, polar
from ..objectives import Dispersion, Evaluation, evaluated
from ..rows import as_rows
from ..rows.dense import THREADED_ENTRIES
from ..statistics import subsample
from .axes import symmetric_axes
from .base import Solution, solution
from .quasi_newton import Evaluate, elliptical, quasi_newton, uniform

Array = NDArray[Any]

#: Scores in memory that decide the rotation, at most: from fewer, the frame takes more passes over all rows.
ROTATION_SCORES = 1 << 22


def frame_ascent(objective: Dispersion, n_columns: int, tol: float, max_iter: int) -> Solution:
    """Maximize sum_ij rho(|x_i.w_j|) over orthonormal columns, for a convex operator.

    Parameters
    ----------
    objective : Dispersion
    n_columns : int
    tol : float
        Relative increase of the objective in one pass at which to stop.
    max_iter : int

    Returns
    -------
    Solution
        W of shape (d, n_columns); its path never descends.
    """
    rows = objective.rows
    values, axes = symmetric_axes(rows.gram())
    W = np.ascontiguousarray(axes[:, ::-1][:, :n_columns])
    W *= largest_entry_signs(W.T)  # rounding decides the signs of axes, and they decide the start
    if values[-1] <= 0:
        return solution(W, [0.0], True)
    if n_columns > 1:
        W = polar(W @ _rotation(objective, W, tol, max_iter))
    found = quasi_newton(partial(evaluated, objective), W, elliptical(values, axes), tol, max_iter)
    return solution(found.end.W, list(found.path), found.converged)


def _in_parts(parts: Sequence[Dispersion]) -> Evaluate:
    """The sum of dispersions, added in this order whatever the number of threads, in double precision."""

    def evaluate(W: Array) -> Evaluation:
        found = [evaluated(part, W.astype(part.rows.dtype)) for part in parts]
        values, G = (
            sum(x.astype(W.dtype) for x in each) for each in zip(*((f.values, f.gradient) for f in found))
        )
        return Evaluation(W, np.asarray(values), np.asarray(G), found[0].operator)

    return evaluate


def _rotation(objective: Dispersion, axes: Array, tol: float, max_iter: int) -> Array:
    """Rotation (k, k) of the axes to a higher frame of their span; scores in single precision."""
    rows = objective.rows
    few = subsample(rows.shape[0], ROTATION_SCORES // axes.shape[1])
    T, weights, factor = rows.single_scores(rows.project(rows.asarray(axes)), few)
    operator = objective.operator.rescaled(factor)

    def scores(block: slice) -> Dispersion:
        return Dispersion(as_rows(T[block, :], None if weights is None else weights[block]), operator)

    # A long way among maxima of noise: the sums must not depend on how many threads there are.
    n, step = T.shape[0], THREADED_ENTRIES // T.shape[1] if isinstance(T, np.ndarray) else T.shape[0]
    evaluate = _in_parts([scores(slice(i, min(i + step, n))) for i in range(0, n, step)])
    still = np.eye(axes.shape[1])
    R = np.asarray(dct(still, norm="ortho"))  # cosines share the variance among the columns
    found = quasi_newton(evaluate, R, uniform, tol, max_iter, window=2).end
    # As for p >= 2: the axes are the frame.
    stays = found.value <= evaluate(still).value * (1.0 + tol)
    return (still if stays else found.W).astype(axes.dtype)
