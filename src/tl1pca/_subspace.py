"""The fitted subspace as a value: what prediction and distances need of a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ._arrays import asarray_like, double, namespace, saturated, to_numpy, without_overflow
from ._pipelines import judging_scales
from .rows import Rows, finite_max_abs, mask_missing, safe_factor

Array = NDArray[Any]


@dataclass(frozen=True)
class Subspace:
    """What prediction needs of a fit: a value that travels to where the rows are.

    The methods take the port to rows at hand, and raise where an entry is not
    finite. Rows of any size are answered: no square over- or underflows.
    """

    mean: Array
    components: Array
    scales: Array  # standard deviations of the scores, whose squares may be beyond the range of numbers
    #: Name of the estimator for errors, and whether NaN says that an entry is missing.
    name: str | None = None
    missing: bool = False

    @classmethod
    def of(cls, fitted: Any, components: Any = None, scales: Any = None) -> Self:
        """The subspace of anything with mean_, components_ and explained_variance_."""
        return cls(
            to_numpy(fitted.mean_).astype(np.float64),
            to_numpy(fitted.components_ if components is None else components).astype(np.float64),
            np.sqrt(to_numpy(fitted.explained_variance_).astype(np.float64)) if scales is None else scales,
            type(fitted).__name__,
            getattr(fitted, "_takes_missing", False),
        )

    def scores(self, rows: Rows) -> Any:
        """Least squares coefficients in the components."""

        def coefficients(rows: Rows) -> tuple[Any, ...]:
            W = rows.asarray(self._basis)
            return (rows.project(W) if rows.observed is None else rows.scores_and_distances(W)[0],)

        rows, T = self._ask(rows, coefficients)
        return rows.to_user(self._turned(rows, T))

    def rows(self, scores: Rows) -> Any:
        """Rows in the units of the data for given scores."""
        W, mean = scores.asarray(self.components), scores.asarray(self.mean)
        return scores.to_user(without_overflow(lambda T, m: T @ W + m, scores.array(), mean))

    def negative_distances(self, rows: Rows) -> Any:
        """Minus the distances to the subspace."""
        rows, _, r = self._ask(rows, self._measure)
        return rows.to_user(rows.map(lambda r: -r, r))

    def distances(self, rows: Rows) -> tuple[Any, Any]:
        """Score and orthogonal distances, in double precision."""
        rows, T, r = self._ask(rows, self._measure)
        sd = rows.map(lambda t: lengths_in_scales(double(t), self.scales), self._turned(rows, T))
        return rows.to_user(sd), rows.to_user(rows.map(double, r))

    @cached_property
    def _basis(self) -> Array:
        """Orthonormal columns that span the components: these, where they are orthonormal."""
        if np.abs(self.components @ self.components.T - np.eye(len(self.components))).max() < 1e-6:
            return self.components.T
        U, s, _ = np.linalg.svd(self.components.T, full_matrices=False)
        return np.asarray(U[:, s > 1e-12 * s.max()])

    def _turned(self, rows: Rows, T: Any) -> Any:
        """Coefficients in the components from those in the basis."""
        if np.array_equal(self._basis, self.components.T):
            return T
        turn = rows.asarray(np.linalg.pinv(self.components @ self._basis))
        return rows.map(lambda t: without_overflow(lambda t: t @ turn, t), T)

    def _measure(self, rows: Rows) -> tuple[Any, ...]:
        return rows.scores_and_distances(rows.asarray(self._basis))

    def _ask(self, rows: Rows, verb: Callable[[Rows], tuple[Any, ...]]) -> tuple[Any, ...]:
        """The rows, and what a verb says of them about the mean, whatever their size."""
        if self.missing:
            rows = mask_missing(rows)
        top = max(finite_max_abs(rows, self.name), float(np.abs(self.mean).max(initial=0.0)))
        factor = safe_factor(top, rows.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            found = verb(rows.shifted(rows.asarray(self.mean)))
        if factor == 1.0:
            return rows, *found

        def safe(z: Any, scaled: Any) -> Any:
            # Next to a huge row the others would vanish in its units.
            xp, back = namespace(z), saturated(scaled, factor)
            return back if factor > 1.0 else xp.where(xp.isfinite(z), z, back)

        scaled = rows.scaled(factor)
        again = verb(scaled.shifted(scaled.asarray(self.mean * factor)))
        return rows, *(rows.map(safe, z, other) for z, other in zip(found, again))


def has_variance(fitted: Any) -> bool:
    """Whether the rows behind a fit differ by more than the rounding of their mean."""
    rounding = 1e-14 * float(np.abs(to_numpy(fitted.mean_).astype(np.float64)).max(initial=0.0))
    return float(judging_scales(fitted).max(initial=0.0)) > rounding


def row_distances(fitted: Any) -> Callable[[Rows], tuple[Any, Any]]:
    """What tells the distances of rows at hand.

    An estimator may have its own, of rows whose bad cells are repaired, or
    name another subspace for it than that of its components.
    """
    own = getattr(fitted, "_row_distances", None)
    judged_by = getattr(fitted, "judging_components_", None)
    return own or Subspace.of(fitted, judged_by, judging_scales(fitted)).distances


def score_distances(T: Array, variances: Array) -> Array:
    """sqrt(sum_j t_j^2 / l_j); a component without variance says nothing."""
    return lengths_in_scales(T, np.sqrt(variances))


def lengths_in_scales(T: Array, scales: Array) -> Array:
    """Lengths of scores in units of their standard deviations, whatever their size."""
    live = scales > 1e-10 * scales.max(initial=0.0)
    with np.errstate(over="ignore"):
        return row_lengths(T / asarray_like(np.where(live, scales, np.inf), T))


def row_lengths(A: Array) -> Array:
    """Lengths of the rows, whatever their size: squares neither overflow nor vanish."""
    xp = namespace(A)
    if A.shape[0] == 0:
        return xp.sqrt(xp.sum(A * A, axis=1))
    size = xp.max(abs(A), axis=1, keepdims=True)
    info, top = xp.finfo(A.dtype), float(xp.max(size))
    if float(info.smallest_normal) ** 0.25 < top < float(info.max) ** 0.25:
        return xp.sqrt(xp.sum(A * A, axis=1))
    A, size = saturated(A), saturated(size)
    size = xp.where(size == 0, xp.ones_like(size), size)
    with np.errstate(over="ignore"):
        return saturated(size[:, 0] * xp.sqrt(xp.sum((A / size) ** 2, axis=1)))
