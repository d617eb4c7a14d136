"""Majorise-minimise for the residual side: reweighted PCA until nothing changes.

With many rows a reweighted PCA is one pass for the distances and one, more
costly, for the scatter. Two of those are enough: the last scatter is a good
guess of the curvature, and quasi-Newton steps do the rest with the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.base import BaseEstimator

from .._progress import tell
from ..objectives import Residual
from .base import Solution, principal_axes
from .quasi_newton import MANY, Look, Seen, climb, elliptical

Array = NDArray[Any]


@dataclass(frozen=True)
class _State:
    W: Array
    r: Any
    value: float


class SubspaceMM(BaseEstimator):
    """Minimises sum rho(r_i) over subspaces by weighted PCA.

    rho as a function of r^2 is concave for every operator of the package, so
    the weighted squares with weights psi(r)/r lie above it: the objective
    never increases.

    Parameters
    ----------
    tol : float, default=1e-8
        Relative decrease of the objective below which the iteration stops;
        with more than 5000 rows tol^(2/3), two in a million by default.
    max_iter : int, default=1000
    """

    def __init__(self, tol: float = 1e-8, max_iter: int = 1000):
        self.tol = tol
        self.max_iter = max_iter

    def minimize(self, residual: Residual, W: Array, distances: Array | None = None) -> Solution:
        """Subspace of the rows from the orthonormal start W of shape (d, k).

        The distances of the rows to the start may be given if they are known.
        """
        rows = residual.rows
        r = residual.distances(W) if distances is None else distances
        state = _State(W, r, residual.value(r))
        path = [state.value]
        length = rows.norms()
        rounding = 1e3 * np.finfo(rows.dtype).eps * rows.largest(length)
        many = rows.shape[0] > max(MANY, rows.shape[1])
        for _ in range(self.max_iter):
            if rows.largest(state.r) <= rounding:
                return Solution(state.W, tuple(path), True)  # every row is in the subspace
            weight = _weights(residual, state.r)
            if many:
                return self._hurry(residual, state, weight, length)
            W = principal_axes(rows, W.shape[1], weight)
            r = residual.distances(W)
            new = _State(W, r, residual.value(r))
            if new.value >= state.value * (1.0 - 1e-15):
                return Solution(state.W, tuple(path), True)
            state = new
            path.append(state.value)
            if tell("subspace", state.value):
                break
            if path[-2] - path[-1] <= self.tol * abs(path[-1]):
                return Solution(state.W, tuple(path), True)
        return Solution(state.W, tuple(path), False)

    def _hurry(self, residual: Residual, start: _State, weight: Any, length: Any) -> Solution:
        """One reweighted PCA, then quasi-Newton steps of one pass each."""
        rows = residual.rows
        values, axes = linalg.eigh(rows.gram(weight), check_finite=False)
        W = np.ascontiguousarray(axes[:, ::-1][:, : start.W.shape[1]])
        squares = rows.map(lambda r: r * r, length)
        look = _look(residual, squares, 1e-10 * rows.largest(start.r))
        tol = max(self.tol ** (2.0 / 3.0), 4.0 * float(np.finfo(rows.dtype).eps))
        found = climb(look, look(W), elliptical(values, axes), tol, self.max_iter)
        # The frame of a subspace is free: the principal axes of the reweighted rows, largest first.
        turn = linalg.eigh(found.end.inner, check_finite=False)[1][:, ::-1]
        path = tuple(-value for value in found.path)
        if path[-1] >= start.value:
            return Solution(start.W, (start.value,), True)
        return Solution(found.end.W @ turn, (start.value, *path), found.converged)


def _weights(residual: Residual, r: Any) -> Any:
    """psi(r)/r over the largest; a floor keeps it finite for l1 and a row in the subspace."""
    rows, operator = residual.rows, residual.operator
    floor = 1e-10 * rows.largest(r)
    weight = rows.map(lambda r: operator.weight(np.maximum(r, floor)), r)
    most = rows.largest(weight)
    return rows.map(lambda w: w / most, weight)


def _look(residual: Residual, squares: Any, floor: float) -> Look:
    """Minus the objective at a frame, and its gradient, from the scores and the squared row lengths."""
    operator = residual.operator

    def slopes(T: Array, s: Array) -> tuple[Array, Array]:
        r = np.sqrt(np.maximum(s - np.einsum("ij,ij->i", T, T), floor**2))
        return T * operator.weight(r)[:, None], operator.value(r)

    def look(W: Array) -> Seen:
        (value,), G = residual.rows.fold(slopes, W, squares)
        return Seen(W, -float(value), G)

    return look
