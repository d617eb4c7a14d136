"""Majorise-minimise for the residual side: reweighted PCA until nothing changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..objectives import Residual
from .base import Solution, principal_axes

Array = NDArray[Any]


@dataclass(frozen=True)
class _State:
    W: Array
    r: Array
    value: float


class SubspaceMM(BaseEstimator):
    """Minimises sum rho(r_i) over subspaces by weighted PCA.

    rho as a function of r^2 is concave for every operator of the package, so
    the weighted squares with weights psi(r)/r lie above it: the objective
    never increases.

    Parameters
    ----------
    tol : float, default=1e-8
        Relative decrease of the objective below which the iteration stops.
    max_iter : int, default=1000
    """

    def __init__(self, tol: float = 1e-8, max_iter: int = 1000):
        self.tol = tol
        self.max_iter = max_iter

    def minimize(self, residual: Residual, W: Array) -> Solution:
        """Subspace of the rows from the orthonormal start W of shape (d, k)."""
        rows, operator = residual.rows, residual.operator
        state = self._at(residual, W)
        path = [state.value]
        rounding = 1e3 * np.finfo(rows.dtype).eps * float(rows.norms().max(initial=0.0))
        for _ in range(self.max_iter):
            if float(state.r.max(initial=0.0)) <= rounding:
                return Solution(state.W, tuple(path), True)  # every row is in the subspace
            # A row in the subspace has infinite weight for l1; the floor keeps its pull finite.
            floor = 1e-10 * float(state.r.max())
            weight = operator.weight(np.maximum(state.r, floor))
            new = self._at(residual, principal_axes(rows, W.shape[1], weight / weight.max()))
            if new.value >= state.value * (1.0 - 1e-15):
                return Solution(state.W, tuple(path), True)
            state = new
            path.append(state.value)
            if path[-2] - path[-1] <= self.tol * abs(path[-1]):
                return Solution(state.W, tuple(path), True)
        return Solution(state.W, tuple(path), False)

    @staticmethod
    def _at(residual: Residual, W: Array) -> _State:
        r = residual.distances(W)
        return _State(W, r, residual.value(r))
