"""What every estimator of the package shares: validation, centring, scores, reconstruction."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..diagnostics import row_lengths
from ..extraction import Extraction
from ..geometry import largest_entry_signs
from ..location import locate
from ..rows import DenseRows, Rows
from ..solvers import principal_axes, span
from ..statistics import NORMAL_CONSISTENCY, tl1_scale, weighted_median

Array = NDArray[Any]
Center = str | Sequence[float] | Array | None


@dataclass(frozen=True)
class Problem:
    """What `fit` hands to the method: centred rows in safe units, and how many components.

    `factor` is the power of two the data were multiplied by; `share` is set
    when the number of components is to be chosen; `observed` masks entries,
    for the one method that takes missing values.
    """

    rows: Rows
    n_components: int
    share: float | None
    factor: float
    rng: np.random.RandomState
    observed: Array | None = None


class BasePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What can be done with a fit, whichever method it comes from."""

    n_components: int | float | None
    random_state: int | np.random.RandomState | None

    components_: Array
    mean_: Array
    n_components_: int

    def _validate(self, X: ArrayLike) -> tuple[Array, Array | None]:
        """The data as an array, and the mask of observed entries when some are missing."""
        data: Array = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        return data, None

    def _check_n_components(self, most: int) -> tuple[int | None, float | None]:
        """Number of components or share of the dispersion, whichever is given; neither for None."""
        k = self.n_components
        if k is None:
            return None, None
        if isinstance(k, Integral) and not isinstance(k, bool):
            if not 1 <= int(k) <= most:
                raise ValueError(
                    f"n_components={k} must be between 1 and min(n_samples, n_features)={most}; None keeps "
                    "all that the rows span, a number in (0, 1) keeps that share of the dispersion."
                )
            return int(k), None
        if isinstance(k, Real) and not isinstance(k, bool) and 0.0 < float(k) < 1.0:
            return None, float(k)
        raise ValueError(
            f"n_components must be None, an integer from 1 to {most} or a share in (0, 1), got {k!r}."
        )

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def transform(self, X: ArrayLike) -> Array:
        """Scores of the rows of X: least squares coefficients in the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        return self._scores(self._check_new(X))

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Rows in the units of the data for given scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        scores = np.asarray(X)
        if scores.ndim != 2 or scores.shape[1] != self.n_components_:
            raise ValueError(
                f"inverse_transform takes scores of shape (n_samples, {self.n_components_}), "
                f"got an array of shape {scores.shape}."
            )
        return np.asarray(scores @ self.components_ + self.mean_)

    def score_samples(self, X: ArrayLike) -> Array:
        """Minus the distance of every row to the fitted subspace, in the units of the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return -row_lengths(self._residuals(self._check_new(X)))

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Minus the median distance to the subspace: half of the rows reconstruct at least so well.

        The median, so that bad rows in X cannot decide a model selection.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        float
        """
        return float(np.median(self.score_samples(X)))

    def _check_new(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))

    def _scores(self, X: Array) -> Array:
        return np.asarray((X - self.mean_) @ self._dual())

    def _residuals(self, X: Array) -> Array:
        return np.asarray(X - self.mean_ - self._scores(X) @ self.components_)

    def _dual(self) -> Array:
        """Matrix that takes centred rows to scores; the transpose of orthonormal components."""
        return np.asarray(self.components_.T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class CentredPCA(BasePCA, ABC):
    """Fit about a given centre. A method adds `__init__`, `_check_parameters` and `_solve`."""

    center: Center

    #: Whether the method may be solved in an orthonormal basis of the row space.
    _rotates = True
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
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the components to the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative row weights; a weight of two is a row that occurs twice.

        Returns
        -------
        self
        """
        self._check_parameters()
        data, observed = self._validate(X)
        weights = self._check_weights(sample_weight, data)
        if weights is not None and not (weights > 0).all():
            keep = weights > 0
            data, weights = data[keep], weights[keep]
            observed = None if observed is None else observed[keep]
        factor = safe_factor(data)
        center = self.center
        if factor != 1.0:
            data = data * data.dtype.type(factor)
            if center is not None and not isinstance(center, str):
                center = np.asarray(center, dtype=data.dtype) * data.dtype.type(factor)
        mean = self._locate(data, observed, center, weights)
        rows = DenseRows(data, mean, weights)
        basis = None
        if self._rotates and rows.shape[1] > rows.shape[0]:
            rows, basis = rows.compact()
        k, share = self._check_n_components(min(data.shape))
        if k is None:  # the span of the rows, not min(n, d): a repeated row adds no dimension
            k = min(*data.shape, max(1, span(rows)))
        problem = Problem(rows, k, share, factor, check_random_state(self.random_state), observed)
        extraction = self._solve(problem)
        self._store(problem, extraction, mean, basis)
        return self

    def _locate(self, data: Array, observed: Array | None, center: Center, weights: Array | None) -> Array:
        return locate(data, center, weights)

    def _check_weights(self, sample_weight: ArrayLike | None, X: Array) -> Array | None:
        if sample_weight is None:
            return None
        weights: Array = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
        if np.count_nonzero(weights) < 2:
            raise ValueError("sample_weight must be positive for at least two rows.")
        return weights

    def _enough(self, problem: Problem) -> Any:
        """Stopping rule of a greedy extraction that looks for a share of the dispersion."""
        if problem.share is None:
            return None
        share = problem.share
        return lambda W: float(_explained(problem.rows, W)[1].sum()) >= share

    def _count(self, problem: Problem) -> int:
        """Number of components of a joint method, whose solutions are not nested.

        For a share it is the least number of classical principal axes that
        reach it in robust variance.
        """
        if problem.share is None:
            return problem.n_components
        axes = principal_axes(problem.rows, problem.n_components)
        for k in range(1, problem.n_components):
            if float(_explained(problem.rows, axes[:, :k])[1].sum()) >= problem.share:
                return k
        return problem.n_components

    def _store(self, problem: Problem, extraction: Extraction, mean: Array, basis: Array | None) -> None:
        rows, factor = problem.rows, problem.factor
        W = extraction.W
        variance, ratio, rank = _explained(rows, W)
        components = np.ascontiguousarray((W if basis is None else basis @ W).T, dtype=rows.dtype)
        self.components_ = components * largest_entry_signs(components)[:, None]
        self.mean_ = mean / mean.dtype.type(factor)
        self.explained_variance_ = product(variance, 1 / factor, 1 / factor, dtype=rows.dtype)
        self.explained_variance_ratio_ = ratio.astype(rows.dtype)
        self.n_components_ = len(self.components_)
        self.rank_ = rank
        unit_value = self._objective_unit(factor)
        self.objective_path_ = [product(np.asarray(path), unit_value) for path in extraction.paths]
        self.objective_ = float(sum(path[-1] for path in self.objective_path_))
        self.n_iter_ = max(1, *(len(path) - 1 for path in extraction.paths))
        self.converged_ = extraction.converged
        self._warn(extraction)

    def _objective_unit(self, factor: float) -> float:
        """What the objective of data multiplied by `factor` is to be multiplied with."""
        return 1.0

    def _warn(self, extraction: Extraction) -> None:
        if not extraction.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {self.n_iter_} iterations. {self._advice}",
                ConvergenceWarning,
                stacklevel=4,
            )
        if self.n_components is not None and self.rank_ < self.n_components_:
            warnings.warn(
                f"The centred rows span {self.rank_} dimensions, n_components={self.n_components} was asked "
                "for: what goes beyond completes the basis and carries no information.",
                UserWarning,
                stacklevel=4,
            )


class ObliquePCA(CentredPCA):
    """Base of methods whose loadings are not orthonormal: scores are least squares onto their span."""

    def _dual(self) -> Array:
        return np.asarray(np.linalg.pinv(self.components_.astype(np.float64)), dtype=self.components_.dtype)


def _explained(rows: Rows, W: Array) -> tuple[Array, Array, int]:
    """Robust variance of every score, its share of the total dispersion, and the rank of the scores.

    The variance is the square of the Tl1 scale about the median, consistent
    at the normal distribution. The total is the sum of these and the median
    squared distance to the subspace.
    """
    Q = _orthonormal(W)
    T, r = rows.split(Q)
    longest = float(np.sqrt((r.astype(np.float64) ** 2 + (T.astype(np.float64) ** 2).sum(axis=1)).max()))
    if Q is not W:
        T = rows.project(W)
    T = T.astype(np.float64, copy=False)
    rank = int(np.count_nonzero(np.linalg.eigvalsh(T.T @ T) > (1e-7 * longest) ** 2))
    T -= weighted_median(T, rows.weights)
    scale = NORMAL_CONSISTENCY * tl1_scale(np.abs(T), rows.weights)
    total = float((scale**2).sum()) + float(weighted_median(r, rows.weights)) ** 2
    return scale**2, (scale**2 / total if total > 0 else np.zeros(len(scale))), rank


def _orthonormal(W: Array) -> Array:
    inner = W.T @ W
    if np.abs(inner - np.eye(len(inner))).max(initial=0.0) < 1e-6:
        return W
    U, s, _ = np.linalg.svd(W, full_matrices=False)
    return np.asarray(U[:, s > 1e-12 * s.max()])


def safe_factor(X: Array) -> float:
    """Power of two that brings the data to where squares and ratios neither over- nor underflow."""
    info = np.finfo(X.dtype)
    top = max(float(X.max()), -float(X.min()))
    if top == 0.0 or float(info.tiny) ** 0.25 < top < float(info.max) ** 0.25:
        return 1.0
    return float(2.0 ** min(-int(np.frexp(top)[1]), info.maxexp - 1))


def product(x: Array, *factors: float, dtype: Any = np.float64) -> Array:
    """Product that stops at the largest number of its type instead of overflowing."""
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(over="ignore"):
        for factor in factors:
            x = x * factor
    return np.minimum(x, np.finfo(dtype).max).astype(dtype)
