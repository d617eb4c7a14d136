"""What every estimator of the package shares: validation, centring, scores, reconstruction."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from .._arrays import like, namespace, to_numpy
from ..diagnostics import row_lengths
from ..extraction import Extraction
from ..geometry import largest_entry_signs
from ..location import host_weights, locate
from ..objectives import Dispersion
from ..operators import TL1
from ..rows import Lift, Rows
from ..solvers import principal_axes, span
from ..statistics import NORMAL_CONSISTENCY, some_rows, tl1_scale, weighted_median
from ._dask import lazy
from ._opening import Data, check_new, is_foreign, is_sparse, open_data, parts
from ._watching import CallbackSupportMixin, watched, with_callbacks

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


class BasePCA(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What can be done with a fit, whichever method it comes from."""

    n_components: int | float | None
    random_state: int | np.random.RandomState | None
    verbose: bool

    components_: Array
    mean_: Array
    n_components_: int

    #: Why X must be dense and in memory to be fitted; None where the solver asks the port alone.
    _in_memory: str | None = "works on all rows at once"
    #: Whether an array of another library is worked on where it is, and not on the host.
    _at_home = False
    #: Whether NaN marks a missing entry.
    _takes_missing = False
    #: Fitted attributes with an entry for every training row.
    _per_row: tuple[str, ...] = ()

    def _needs_memory(self) -> str | None:
        """`_in_memory`, or what the parameters add to it."""
        return self._in_memory

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

    @lazy
    def transform(self, X: ArrayLike) -> Array:
        """Scores of the rows of X: least squares coefficients in the components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or what is read in blocks, as in `fit`; what comes back is an
            array in memory.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
        """
        check_is_fitted(self)
        data: Any = check_new(self, X, "transform")
        if not is_sparse(data):
            return self._by_rows(self._scores, data)
        self._check_finite(data)
        dual = beside(self._dual(), data.data)
        return data @ dual - beside(self.mean_, data.data) @ dual

    @lazy
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
        scores: Any = X if is_foreign(X) else np.asarray(X)
        if scores.ndim != 2 or scores.shape[1] != self.n_components_:
            raise ValueError(
                f"inverse_transform takes scores of shape (n_samples, {self.n_components_}), "
                f"got an array of shape {tuple(scores.shape)}."
            )
        return scores @ beside(self.components_, scores) + beside(self.mean_, scores)

    @lazy
    def score_samples(self, X: ArrayLike) -> Array:
        """Minus the distance of every row to the fitted subspace, in the units of the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._by_rows(
            lambda rows: -row_lengths(self._residuals(rows)), check_new(self, X, "score_samples")
        )

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
        return float(np.median(to_numpy(self.score_samples(X))))

    def _by_rows(self, fn: Callable[[Array], Any], data: Any) -> Any:
        """Values of fn for every row, one array or a tuple; it is given dense rows, all or in blocks."""
        found = []
        for part in parts(data):
            self._check_finite(part)
            found.append(fn(part))
        if len(found) == 1:
            return found[0]
        if isinstance(found[0], tuple):
            return tuple(np.concatenate(pieces) for pieces in zip(*found))
        return np.concatenate(found)

    def _check_finite(self, X: Any) -> None:
        name = type(self).__name__
        assert_all_finite(X, allow_nan=self._takes_missing, estimator_name=name, input_name="X")

    def _scores(self, X: Array) -> Array:
        return (X - beside(self.mean_, X)) @ beside(self._dual(), X)

    def _residuals(self, X: Array) -> Array:
        return X - beside(self.mean_, X) - self._scores(X) @ beside(self.components_, X)

    def _dual(self) -> Array:
        """Matrix that takes centred rows to scores; the transpose of orthonormal components."""
        return self.components_.T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        tags.input_tags.sparse = self._needs_memory() is None
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
    def _needs_memory(self) -> str | None:
        if isinstance(self.center, str) and self.center == "median":
            return self._in_memory or "with center='median' sorts whole columns"
        return self._in_memory

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
        with watched(self, X, y):
            data = open_data(self, X, sample_weight, missing=self._takes_missing)
            with data.rows.threads():
                self._fit(data)
        if is_foreign(X):  # the host may have solved it
            for name, value in vars(self).items():
                if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                    setattr(self, name, like(value, X))
        return self

    def _fit(self, data: Data) -> None:
        rows, observed = data.rows, data.observed
        k, share = self._check_n_components(min(rows.shape))
        factor = safe_factor(data.extent, rows.dtype)
        center = self.center
        if factor != 1.0:
            rows = rows.scaled(factor)
            if center is not None and not isinstance(center, str):
                center = np.asarray(center, dtype=rows.dtype) * rows.dtype.type(factor)
        wide = self._rotates and rows.shape[1] > rows.shape[0]
        lift: Lift = same
        if wide and isinstance(center, str) and center == "spatial_median":
            # It turns with the rows, and is found faster in the few dimensions that they span.
            rows, lift = rows.compact()
            middle = self._locate(rows, observed, center)
            rows, mean = rows.shifted(middle), lift(middle)
        else:
            mean = self._locate(rows, observed, center)
            rows = rows.shifted(mean)
            if wide:
                rows, lift = rows.compact()
        if k is None:  # the span of the rows, not min(n, d): a repeated row adds no dimension
            k = min(*rows.shape, max(1, span(rows)))
        problem = Problem(rows, k, share, factor, check_random_state(self.random_state), observed)
        extraction = self._solve(problem)
        self._store(problem, extraction, mean, lift)

    def _locate(self, rows: Rows, observed: Array | None, center: Center) -> Array:
        return locate(rows, center)

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

    def _store(self, problem: Problem, extraction: Extraction, mean: Array, lift: Lift) -> None:
        rows, factor = problem.rows, problem.factor
        W = rows.put(extraction.W)
        variance, ratio, rank = _explained(rows, W)
        self.components_ = signed_rows(lift(W))
        self.mean_ = mean / factor
        self.explained_variance_ = rows.put(product(variance, 1 / factor, 1 / factor, dtype=rows.dtype))
        self.explained_variance_ratio_ = rows.put(ratio)
        self.n_components_ = int(W.shape[1])
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
        return like(np.linalg.pinv(to_numpy(self.components_).astype(np.float64)), self.components_)


def _explained(rows: Rows, W: Array) -> tuple[Array, Array, int]:
    """Robust variance of every score, its share of the total dispersion, and the rank of the scores.

    The variance is the square of the Tl1 scale about the median, consistent
    at the normal distribution. The total is the sum of these and the median
    squared distance to the subspace. Medians are those of `some_rows`.
    """
    few = some_rows(rows.shape[0])
    fewer = some_rows(rows.shape[0], 5000)  # whole rows, where the others are scores
    r, length = _distances(rows, _orthonormal(W), fewer)
    T, v = rows.project(W), host_weights(rows, few)
    t = rows.pick(T, few).astype(np.float64)
    rank = int(np.count_nonzero(np.linalg.eigvalsh(rows.inner(T, T)) > (1e-7 * length) ** 2))
    center = weighted_median(t, v)
    scale = tl1_scale(np.abs(t - center), v)
    if len(few) < rows.shape[0] and (scale > 0).all():
        scale = Dispersion(rows, TL1()).refine(T, scale, center)
    variance = (NORMAL_CONSISTENCY * scale) ** 2
    total = float(variance.sum()) + float(weighted_median(r, host_weights(rows, fewer))) ** 2
    return variance, (variance / total if total > 0 else np.zeros(len(scale))), rank


def _distances(rows: Rows, W: Array, index: Array) -> tuple[Array, float]:
    """Distances of some rows to the span of the orthonormal W, and the length of the longest of them."""
    found, longest = [], 0.0
    whole = len(index) == rows.shape[0]
    for some in [index] if whole else np.array_split(index, 5):  # a fifth at a time in memory
        part = rows if whole else rows.sample(some)
        inside, off = (part.pick(z, np.arange(len(some))).astype(np.float64) for z in part.split(W))
        found.append(off)
        longest = max(longest, float(np.sqrt(off**2 + (inside**2).sum(axis=1)).max(initial=0.0)))
    return np.concatenate(found), longest


def _orthonormal(W: Array) -> Array:
    inner = to_numpy(W.T @ W)
    if np.abs(inner - np.eye(len(inner))).max(initial=0.0) < 1e-6:
        return W
    U, s, _ = np.linalg.svd(to_numpy(W), full_matrices=False)
    return like(U[:, s > 1e-12 * s.max()], W)


def beside(fitted: Array, X: Array) -> Array:
    """A fitted array in the library of X, and on its device."""
    return fitted if type(fitted) is type(X) and fitted.dtype == X.dtype else like(to_numpy(fitted), X)


def signed_rows(W: Array) -> Array:
    """Directions (d, k) as rows, the largest entry of each positive."""
    components = (
        namespace(W).asarray(W.T, copy=True) if not isinstance(W, np.ndarray) else np.ascontiguousarray(W.T)
    )
    signs = largest_entry_signs(to_numpy(components))
    return components * like(signs, components)[:, None]


def same(U: Array) -> Array:
    """Directions as they are, for rows that were not turned."""
    return U


def safe_factor(top: float, dtype: np.dtype[Any]) -> float:
    """Power of two that brings data as large as `top` to where no square over- or underflows."""
    info = np.finfo(dtype)
    # Small residuals of small data are to be safe as well.
    if top == 0.0 or float(info.tiny) ** 0.125 < top < float(info.max) ** 0.25:
        return 1.0
    # Enough for denormal data, and no more: parameters in the units of the data are multiplied, too.
    return float(2.0 ** min(-int(np.frexp(top)[1]), 3 * info.maxexp // 4))


def product(x: Array, *factors: float, dtype: Any = np.float64) -> Array:
    """Product that stops at the largest number of its type instead of overflowing."""
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(over="ignore"):
        for factor in factors:
            x = x * factor
    return np.minimum(x, np.finfo(dtype).max).astype(dtype)
