"""What methods that fit about a center share: units, center, row space, fitted attributes."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._arrays import asarray_like, namespace, saturated, to_numpy
from ..extraction import Extraction
from ..geometry import largest_entry_signs
from ..location import host_weights, locate
from ..objectives import DispersionScale
from ..operators import TL1
from ..rows import DenseRows, Lift, Rows, safe_factor
from ..solvers import principal_axes, span
from ..statistics import NORMAL_CONSISTENCY, subsample, tl1_scale, weighted_median
from ._callbacks import reporting_to_callbacks, with_callbacks
from ._fitted import all_or_nothing
from ._input import Data, is_foreign, open_data
from ._prediction import BasePCA

Array = NDArray[Any]
Center = str | Sequence[float] | Array | None
Fit = TypeVar("Fit")

#: Rows that tell how small the centered data are.
_FIRST_ROWS = 100


@dataclass(frozen=True)
class Problem:
    """What `fit` hands to the method: centered rows in safe units, and how many components.

    `factor` is the power of two the data were multiplied by; `share` is set
    when the number of components is to be chosen, up to `n_components`.
    """

    rows: Rows
    n_components: int
    share: float | None
    factor: float
    rng: np.random.RandomState


class CenteredPCA(BasePCA, ABC):
    """Fit about a given center. A method adds `__init__`, `_check_parameters` and `_solve`."""

    center: Center

    #: Why a solver may fail to converge and what to do, for the warning.
    _advice = "Increase max_iter or tol."

    # ---------------------------------------------------------------- to be given by a method
    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise readable errors for parameters that make no sense."""

    @abstractmethod
    def _solve(self, problem: Problem) -> Extraction:
        """Directions in the (possibly reduced) space of the rows."""

    # ---------------------------------------------------------------- fitting
    def _needs_memory(self) -> str | None:
        if isinstance(self.center, str) and self.center == "median":
            return self._in_memory or "with center='median' sorts whole columns"
        return self._in_memory

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the components to the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or what is read in blocks: a memory map, a zarr array, any object
            with shape, dtype and row slicing, a pyarrow ParquetFile or Dataset;
            or a Dask array or data frame. See "Scaling" in the documentation.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative row weights; a weight of two is a row that occurs twice.

        Returns
        -------
        self
        """
        self._check_parameters()
        with reporting_to_callbacks(self, X, y):
            data = open_data(self, X, sample_weight)
            with data.rows.threads():
                self._fit(data)
        return give_back(self, X)

    def _fit(self, data: Data) -> None:
        rows = data.rows
        k, share = self._check_n_components(min(rows.shape))
        factor = safe_factor(data.max_abs, rows.dtype)
        center = self.center
        if factor != 1.0:
            rows = rows.scaled(factor)
            if center is not None and not isinstance(center, str):
                center = np.asarray(center, dtype=rows.dtype) * rows.dtype.type(factor)
        wide = rows.shape[1] > rows.shape[0] and self._turns(rows, k)
        lift: Lift = identity
        if wide and isinstance(center, str) and center == "spatial_median":
            # It turns with the rows, and is found faster in the few dimensions that they span.
            rows, lift = rows.to_row_space()
            middle = self._locate(rows, center)
            rows, mean = rows.shifted(middle), lift(middle)
        else:
            mean = self._locate(rows, center)
            rows = rows.shifted(mean)
            if wide:
                rows, lift = rows.to_row_space()
        mean = saturated(mean, factor)
        rows, again = _in_own_units(rows, factor)
        if k is None:  # the span of the rows, not min(n, d): a repeated row adds no dimension
            k = min(*rows.shape, max(1, span(rows)))
        problem = Problem(rows, k, share, factor * again, check_random_state(self.random_state))
        extraction = self._solve(problem)
        self._store(problem, extraction, mean, lift)

    def _turns(self, rows: Rows, n_components: int | None) -> bool:
        """Whether rows of more columns than rows are solved in a basis of their span."""
        return self._rotates

    def _locate(self, rows: Rows, center: Center) -> Array:
        return locate(rows, center)

    def _measured(self, rows: Rows, W: Array) -> Rows:
        """The rows that variances are measured on, where directions W were found."""
        return rows

    def _reaches(self, problem: Problem, W: Array) -> bool:
        """Whether directions hold the share of the dispersion that was asked for."""
        return float(_explained(self._measured(problem.rows, W), W)[1].sum()) >= (problem.share or 0.0)

    def _enough(self, problem: Problem) -> Any:
        """Stopping rule of a greedy extraction that looks for a share of the dispersion."""
        return None if problem.share is None else partial(self._reaches, problem)

    def _jointly(self, problem: Problem, solve: Callable[[int], Extraction]) -> Extraction:
        """What a joint method finds, given as a function of the number of components.

        Its solutions are not nested. For a share the search begins at the
        number of classical principal axes that reach it in robust variance,
        and ends where one component less does not.
        """
        k, rows = problem.n_components, problem.rows
        if problem.share is None:
            return solve(k)
        axes = principal_axes(rows, k)
        k = next((j for j in range(1, k) if self._reaches(problem, axes[:, :j])), k)
        found = solve(k)
        if self._reaches(problem, found.W):
            while k > 1 and self._reaches(problem, (fewer := solve(k - 1)).W):
                found, k = fewer, k - 1
            return found
        while k < problem.n_components and not self._reaches(problem, found.W):
            k += 1
            found = solve(k)
        return found

    def _store(self, problem: Problem, extraction: Extraction, mean: Array, lift: Lift) -> None:
        rows, factor = problem.rows, problem.factor
        W = rows.asarray(extraction.W)
        variance, ratio, rank = _explained(self._measured(rows, W), W)
        self.components_ = signed_rows(lift(W))
        self.mean_ = mean
        self.explained_variance_ = rows.asarray(product(variance, 1 / factor, 1 / factor, dtype=rows.dtype))
        self.explained_variance_ratio_ = rows.asarray(ratio)
        self.n_components_ = int(W.shape[1])
        self.rank_ = rank
        value_scale = self._value_scale(extraction, factor)
        self.objective_path_ = [product(np.asarray(path), value_scale) for path in extraction.paths]
        self.objective_ = float(saturated(np.float64(sum(float(path[-1]) for path in self.objective_path_))))
        self.n_iter_ = max(1, *(len(path) - 1 for path in extraction.paths))
        self.converged_ = extraction.converged
        self._warn(extraction)

    def _value_scale(self, extraction: Extraction, factor: float) -> float:
        """What the objective is multiplied with to be that of the data in their own units."""
        operator = extraction.operator
        if operator is None or operator.adaptive:  # in the units of the data, as a scale is
            return 1.0 / factor
        return operator.rescaled(1.0 / factor).value_scale(factor)

    def _warn(self, extraction: Extraction) -> None:
        if not extraction.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {self.n_iter_} iterations. {self._advice}",
                ConvergenceWarning,
                stacklevel=4,
            )
        if self.n_components is not None and self.rank_ < self.n_components_:
            warnings.warn(
                f"The centered rows span {self.rank_} dimensions, n_components={self.n_components} was asked "
                "for: what goes beyond completes the basis and carries no information.",
                UserWarning,
                stacklevel=4,
            )


def _in_own_units(rows: Rows, before: float) -> tuple[Rows, float]:
    """Centered rows in safe units, and the factor: beside a large constant column they may be tiny."""
    if not rows.in_memory or rows.observed is not None:
        return rows, 1.0
    few = float(np.abs(rows.gather_rows(np.arange(min(rows.shape[0], _FIRST_ROWS)))).max())
    if few > 0.0 and safe_factor(few, rows.dtype) == 1.0:  # and so are all: not larger than what was centered
        return rows, 1.0
    A = rows.array()
    factor = safe_factor(float(np.abs(A).max()), rows.dtype, before)
    return (
        (rows, 1.0) if factor == 1.0 else (DenseRows(A * A.dtype.type(factor), weights=rows.weights), factor)
    )


def give_back(estimator: Fit, X: Any) -> Fit:
    """The fit with its numbers in arrays of the library that X is of: the host may have solved it."""
    if is_foreign(X):
        for name, value in vars(estimator).items():
            if isinstance(value, np.ndarray) and value.dtype.kind in "fi":
                setattr(estimator, name, namespace(X).asarray(value, device=X.device))
    return estimator


class ObliquePCA(CenteredPCA):
    """Base of methods whose loadings are not orthonormal: scores are least squares onto their span."""

    _oblique = True

    def _check_components(self, W: Array) -> None:
        check_unit_rows(W)


def check_unit_rows(W: Array) -> None:
    """Error for components that no fit of an oblique method has, as in a forged file."""
    longest = np.abs(W).max(axis=1)
    if not ((longest > 0) & (longest <= 1 + 1e-3)).all():
        raise ValueError("components_ are not of length one.")


def _explained(rows: Rows, W: Array) -> tuple[Array, Array, int]:
    """Robust variance of every score, its share of the total dispersion, and the rank of the scores.

    The variance is the square of the Tl1 scale about the median, consistent
    at the normal distribution. The total is the sum of these and the median
    squared distance to the subspace. Medians are those of `subsample`.
    """
    few = subsample(rows.shape[0])
    fewer = subsample(rows.shape[0], 5000)  # whole rows, where the others are scores
    r, length = _distances(rows, _orthonormal(W), fewer)
    T, v = rows.project(W), host_weights(rows, few)
    t = rows.gather_scores(T, few).astype(np.float64)
    rank = int(np.count_nonzero(np.linalg.eigvalsh(rows.inner(T, T)) > (1e-7 * length) ** 2))
    center = weighted_median(t, v)
    scale = tl1_scale(np.abs(t - center), v)
    if len(few) < rows.shape[0] and (scale > 0).all():
        scale = DispersionScale(rows, TL1()).refined(T, scale, center)
    variance = (NORMAL_CONSISTENCY * scale) ** 2
    total = float(variance.sum()) + float(weighted_median(r, host_weights(rows, fewer))) ** 2
    return variance, (variance / total if total > 0 else np.zeros(len(scale))), rank


def _distances(rows: Rows, W: Array, index: Array) -> tuple[Array, float]:
    """Distances of some rows to the span of the orthonormal W, and the length of the longest of them."""
    found, longest = [], 0.0
    whole = len(index) == rows.shape[0]
    for some in [index] if whole else np.array_split(index, 5):  # a fifth at a time in memory
        part = rows if whole else rows.subset(some)
        inside, off = (
            part.gather_scores(z, np.arange(len(some))).astype(np.float64)
            for z in part.scores_and_distances(W)
        )
        found.append(off)
        longest = max(longest, float(np.sqrt(off**2 + (inside**2).sum(axis=1)).max(initial=0.0)))
    return np.concatenate(found), longest


def _orthonormal(W: Array) -> Array:
    inner = to_numpy(W.T @ W)
    if np.abs(inner - np.eye(len(inner))).max(initial=0.0) < 1e-6:
        return W
    U, s, _ = np.linalg.svd(to_numpy(W), full_matrices=False)
    return asarray_like(U[:, s > 1e-12 * s.max()], W)


def signed_rows(W: Array) -> Array:
    """Directions (d, k) as rows, the largest entry of each positive."""
    components = (
        namespace(W).asarray(W.T, copy=True) if not isinstance(W, np.ndarray) else np.ascontiguousarray(W.T)
    )
    signs = largest_entry_signs(to_numpy(components))
    return components * asarray_like(signs, components)[:, None]


def identity(U: Array) -> Array:
    """Directions as they are, for rows that were not turned."""
    return U


def product(x: Array, *factors: float, dtype: Any = np.float64) -> Array:
    """Product that stops at the largest number of its type instead of overflowing."""
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(over="ignore"):
        for factor in factors:
            x = x * factor
    return np.minimum(x, np.finfo(dtype).max).astype(dtype)
