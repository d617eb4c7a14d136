"""The fixed point of PCA-Lp on the products of the rows, for few rows with many columns.

With K = XX' the step w <- unit(X'z), z = sign(t) psi(|t|), reads
t <- Kz / sqrt(z'Kz) on the scores alone: one product of an n x n matrix where
X would take two, and the direction is formed once, at the end. For several
directions, W <- polar(X'Z), it is T <- KZ (Z'KZ)^(-1/2).
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._progress import report_iteration
from ..geometry import inverse_root, polar, svd_polar, unit
from ..objectives import Dispersion
from ..operators import power_of
from .base import Rng, Solution, Solver, Start, solution
from .starts import LongestRow

Array = NDArray[Any]

#: How exact the steps of a frame are, as a share of the change of W at which the rule stops.
_SHARE_OF_STEP = 1e-2


def fewer_products(shape: tuple[int, int]) -> bool:
    """Whether n x n products are cheaper than two with the rows themselves."""
    return shape[0] <= 2 * shape[1]


class GramFixedPoint(Solver):
    """lpSPCA without a limit on the non-zeros: greedy PCA-Lp from the longest row.

    The same iterates as `SparseFixedPoint`, up to rounding.

    Parameters
    ----------
    step_tol : float, default=1e-2
        Change of w below which the iteration stops, as published.
    max_iter : int, default=600
        As published.
    """

    extractions = ("greedy",)
    orthogonal = False

    def __init__(self, step_tol: float = 1e-2, max_iter: int = 600):
        self.step_tol = step_tol
        self.max_iter = max_iter

    @property
    def needs(self) -> tuple[str, ...]:
        return ("degree",)

    @property
    def in_memory(self) -> str | None:
        return "multiplies all rows with each other"

    def default_start(self) -> Start:
        return LongestRow()

    def solve(
        self, objective: Dispersion, start: Start | None = None, n_directions: int = 1, rng: Rng = None
    ) -> Solution:
        rows, degree = objective.rows, float(objective.operator.degree or 1.0)
        X, v = rows.gather_rows(np.arange(rows.shape[0])), rows.gather_weights()
        w = (start or self.default_start()).directions(objective, 1, rng)[:, 0]
        K, t = (X @ X.T).astype(np.float64, copy=False), X @ w

        def pull_and_product(t: Array) -> tuple[Array, float]:
            """z = v sign(t) |t|^(p-1), psi but for its factor, and z't, which is sum v |t|^p."""
            size = np.abs(t)
            pull = np.ones_like(size) if degree == 1.0 else power_of(size, degree - 1.0)
            pull = pull if v is None else v * pull
            product = float(size.dot(pull))
            return np.copysign(pull, t, out=pull), product

        (pull, product), length = pull_and_product(t), 1.0
        made = pull
        path = [product]
        for _ in range(self.max_iter):
            image = K.dot(pull)
            square = float(pull.dot(image))
            if square <= 0.0:  # no row has a side to pull to
                return solution(w[:, None], path, True)
            before, length = length, sqrt(square)
            cosine = product / (before * length)  # between the old direction and the new one
            if degree > 1.0:  # for smaller powers the sizes of the products settle by themselves
                image /= length
                length = 1.0
            made = pull
            pull, product = pull_and_product(image)
            path.append(product / length**degree)
            if report_iteration("components", path[-1]):
                break
            if 2.0 - 2.0 * cosine < self.step_tol**2:
                return solution(unit(X.T @ made)[:, None], path, True)
        return solution(unit(X.T @ made)[:, None], path, False)


def frame_on_products(
    objective: Dispersion, W: Array, *, tol: float, step_tol: float, value_tol: float, max_iter: int
) -> Solution:
    """`FixedPoint` from the frame W by its published rule, for a power.

    W moves at least as far as the scores, over the length of the rows. The
    directions themselves are formed where this may be less than `step_tol`,
    where the products are too close to singular, and at the end.
    """
    rows, operator = objective.rows, objective.operator
    X = rows.gather_rows(np.arange(rows.shape[0])).astype(np.float64, copy=False)
    v, degree = rows.gather_weights(), float(operator.degree or 1.0)

    def pull_and_value(T: Array) -> tuple[Array, float]:
        size = np.abs(T)
        slope = operator.slope(size) if v is None else v[:, None] * operator.slope(size)
        value = float(np.vdot(slope, size)) / degree
        return np.copysign(slope, T, out=slope), value

    K, T = X @ X.T, X @ W
    length = sqrt(float(K.trace()))
    last, (pull, value) = T, pull_and_value(T)
    there: Array | None = W  # the directions of the scores T, None where polar(X' last) has not been formed
    path, converged = [value], False
    for _ in range(max_iter):
        image = K @ pull
        root = inverse_root(pull.T @ image, _SHARE_OF_STEP * step_tol)
        new = T if root is None else image @ root
        found, moved = None, np.inf
        if root is None or float(np.linalg.norm(new - T)) < step_tol * length:
            there = polar(X.T @ last) if there is None else there
            found = (svd_polar if root is None else polar)(X.T @ pull, near=there)
            new, moved = X @ found, float(np.linalg.norm(found - there))
        T, there, last = new, found, pull
        pull, value = pull_and_value(T)
        path.append(value)
        change = abs(path[-1] - path[-2])
        if report_iteration("components", value):
            break
        if moved < step_tol or change < value_tol or change <= tol * abs(value):
            converged = True
            break
    if there is None:
        there = polar(X.T @ last)
        path[-1] = pull_and_value(X @ there)[1]
    return solution(there.astype(rows.dtype, copy=False), path, converged)
