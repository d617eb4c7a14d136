"""Kernels: any method that turns with its rows, in the coordinates of the centered Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.linalg import lapack
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from .._arrays import narrowed, saturated, to_numpy, without_overflow
from .._subspace import Subspace
from .._threads import one_thread
from ..diagnostics import Cutoffs, cutoffs, flags
from ..geometry import largest_entry_signs
from ..rows import DenseRows, safe_factor
from ..rows.dense import THREADED_ENTRIES
from ._composed import ComposedPCA, given_scores, new_rows
from ._fitted import Fitted, all_or_nothing
from ._input import check_weights, open_data
from ._kernel_values import kernel_values

Array = NDArray[Any]

#: Pivots below this share of the largest entry are roundings; what is left beyond the other one is none.
ROUNDING, NEGATIVE = 1e-12, 1e-8
#: Rows that a kernel is asked about at once, where only k(z, z) is wanted.
DIAGONAL_ROWS = 64


def _threads(n_values: int) -> AbstractContextManager[None]:
    """BLAS on one thread for kernels of few values: fits at the same time give the bits of serial ones."""
    return one_thread() if n_values <= THREADED_ENTRIES else nullcontext()


def _has_preimages(pca: Any) -> bool:
    if not pca.fit_inverse_transform:
        raise AttributeError("Pre-images are learned with fit_inverse_transform=True only.")
    return True


class KernelizedPCA(ComposedPCA):
    r"""PCA in the feature space of a kernel, by any method of the package that turns with its rows.

    The rows have coordinates E in the span of their images in feature space,
    :math:`EE^T = \tilde K` for the centered Gram matrix (a pivoted Cholesky
    factor), in which all their inner products are kept; `estimator` is fitted
    there. With ``L1PCA(greedy=True)`` it is L1-norm
    kernel PCA (Kim and Klabjan 2020), with ``LpPCA(p=2)`` kernel PCA, and with
    the linear kernel the plain method. Methods that depend on the coordinates
    (sparse, p-norm, entrywise) are refused.

    Parameters
    ----------
    estimator : PCA of the package or None, default=None
        None is ``TL1PCA()``. Its shape parameters are in the units of the
        feature space, where the rows of a Gaussian kernel have length one.
    kernel : str or callable, default="rbf"
        One of scikit-learn's (``sklearn.metrics.pairwise.pairwise_kernels``),
        "precomputed", or a function of two rows.
    gamma : float or None, default=None
        Of the kernels that have it; None is 1 / n_features.
    degree : float, default=3
    coef0 : float, default=1
    kernel_params : dict or None, default=None
        Parameters of a callable kernel.
    n_landmarks : int or None, default=None
        Nystroem's approximation: coordinates in the span of so many rows,
        drawn at random. None takes all rows, whose Gram matrix is n x n.
    fit_inverse_transform : bool, default=False
        Learn pre-images by kernel ridge regression of the rows on their
        scores, as scikit-learn's KernelPCA does; not for "precomputed".
    alpha : float, default=1.0
        Ridge of the pre-images.
    random_state : int, RandomState or None, default=0
        For the landmarks.

    Attributes
    ----------
    estimator_ : PCA
        Fitted in the coordinates E; the largest score of each component is
        positive.
    factor_ : ndarray of shape (rank, rank)
        Lower triangular: the coordinates of the landmarks `pivots_`.
    pivots_ : ndarray of int of shape (rank,)
    landmarks_ : ndarray of shape (n_landmarks, n_features) or None
        None for "precomputed".
    landmark_index_ : ndarray of int of shape (n_landmarks,)
        Which rows of `fit` they are.
    column_means_ : ndarray of shape (n_landmarks,)
    gamma_ : float
    cutoffs_ : Cutoffs
        By which `flags` judges.
    preimage_scores_ : ndarray of shape (n_landmarks, n_components) or None
    preimage_coef_ : ndarray of shape (n_landmarks, n_features) or None
        Scores of the landmarks and the coefficients of their rows; None without ``fit_inverse_transform``.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from tl1pca import KernelizedPCA, TL1PCA
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> KernelizedPCA(TL1PCA(2), kernel="rbf", gamma=0.5).fit_transform(X).shape
    (30, 2)
    """

    _fitted: ClassVar[dict[str, Fitted]] = {
        "estimator_": Fitted(BaseEstimator),
        "factor_": Fitted(shape="rr"),
        "pivots_": Fitted(int, shape="r", least=0),
        "landmarks_": Fitted(shape="md", optional=True),
        "landmark_index_": Fitted(int, shape="m", least=0),
        "column_means_": Fitted(shape="m"),
        "gamma_": Fitted(least=0),
        "cutoffs_": Fitted(Cutoffs),
        "preimage_scores_": Fitted(shape="mk", optional=True),
        "preimage_coef_": Fitted(shape="md", optional=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        kernel: str | Callable[..., float] = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
        fit_inverse_transform: bool = False,
        alpha: float = 1.0,
        random_state: int | np.random.RandomState | None = 0,
    ):
        self.estimator = estimator
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.fit_inverse_transform = fit_inverse_transform
        self.alpha = alpha
        self.random_state = random_state

    # ---------------------------------------------------------------- parameters
    def _check_parameters(self) -> None:
        self._inner()
        names = (*PAIRWISE_KERNEL_FUNCTIONS, "precomputed")
        if not callable(self.kernel) and self.kernel not in names:
            known = ", ".join(map(repr, names))
            raise ValueError(f"kernel must be a function of two rows or one of {known}, got {self.kernel!r}.")
        for name, value in (("gamma", self.gamma), ("alpha", self.alpha)):
            if value is not None and not (isinstance(value, Real) and 0 < value < np.inf):
                raise ValueError(f"{name} must be a positive number, got {value!r}.")
        for name, value in (("degree", self.degree), ("coef0", self.coef0)):
            if not isinstance(value, Real) or not np.isfinite(value):
                raise ValueError(f"{name} must be a number, got {value!r}.")
        m = self.n_landmarks
        if m is not None and (not isinstance(m, Integral) or isinstance(m, bool) or m < 2):
            raise ValueError(f"n_landmarks must be None or an integer of at least 2, got {m!r}.")
        if self.fit_inverse_transform and self.kernel == "precomputed":
            raise ValueError("There are no rows to learn pre-images of where the kernel is precomputed.")

    def _inner(self) -> Any:
        inner = super()._inner()
        center = inner.get_params().get("center")
        equivariant = center is None or (isinstance(center, str) and center != "median")
        if not inner._rotates or not equivariant:
            raise ValueError(
                f"{inner!r} depends on the coordinates of the rows, which mean nothing in a feature space. "
                "Take a method that turns with the rows, such as TL1PCA or L1PCA, with "
                "center='spatial_median', 'mean' or None."
            )
        return inner

    # ---------------------------------------------------------------- the kernel
    def _values(self, X: Array, Y: Array) -> Array:
        """k(x, y) in double precision."""
        if callable(self.kernel):
            return kernel_values(X, Y, self.kernel, self.kernel_params or {})
        given = {"gamma": self.gamma_, "degree": self.degree, "coef0": self.coef0}
        return kernel_values(X, Y, self.kernel, given)

    def _to_landmarks(self, X: Array) -> Array:
        """Kernel values of rows with the landmarks; of a precomputed kernel the columns."""
        if self.landmarks_ is None:
            return X[:, self.landmark_index_]
        return self._values(X, self.landmarks_)

    def _coordinates(self, K: Array) -> Array:
        """Coordinates of rows with the kernel values K, about the mean of the landmarks."""
        values = self._centered(K)[:, self.pivots_]
        return np.ascontiguousarray(linalg.solve_triangular(self.factor_, values.T, lower=True).T)

    def _centered(self, K: Array) -> Array:
        means = self.column_means_
        return K - means - K.mean(axis=1, keepdims=True) + means.mean()

    def _lost(self, X: Array, K: Array, E: Array) -> Array:
        """Squared distances of rows to the span of the landmarks in feature space."""
        if self.landmarks_ is None:  # k(z, z) is not known
            return np.zeros(len(X))
        own = np.concatenate(
            [
                np.diagonal(self._values(X[i : i + DIAGONAL_ROWS], X[i : i + DIAGONAL_ROWS]))
                for i in range(0, len(X), DIAGONAL_ROWS)
            ]
        )
        square = own - 2.0 * K.mean(axis=1) + self.column_means_.mean()
        with np.errstate(over="ignore"):
            lost = square - np.einsum("ij,ij->i", E, E)
        return np.where(lost > 1e-10 * np.abs(own), lost, 0.0)

    # ---------------------------------------------------------------- fitting
    @all_or_nothing
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the estimator in feature space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) for "precomputed"
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative row weights, for estimators that take them. Rows of
            weight zero are left out; all others count alike for landmarks,
            cut-offs and pre-images.

        Returns
        -------
        self
        """
        self._check_parameters()
        A = to_numpy(open_data(self, X).rows.array()).astype(np.float64)
        if self.kernel == "precomputed" and A.shape[0] != A.shape[1]:
            raise ValueError(f"A precomputed kernel must be a square matrix, got shape {A.shape}.")
        weights, used = check_weights(sample_weight, A), np.arange(len(A))
        if weights is not None:
            used = np.flatnonzero(weights)
            A, weights = A[used], weights[used]
        m = len(A) if self.n_landmarks is None else min(len(A), int(self.n_landmarks))
        with _threads(len(A) * m):
            return self._fit(A, used, m, weights)

    def _fit(self, A: Array, used: Array, m: int, weights: Array | None) -> Self:
        n, rng = len(A), check_random_state(self.random_state)
        index = np.arange(n) if m == n else np.sort(rng.choice(n, size=m, replace=False))
        self.landmark_index_ = used[index].astype(np.int64)
        self.landmarks_ = None if self.kernel == "precomputed" else A[index]
        self.gamma_ = 1.0 / A.shape[1] if self.gamma is None else float(self.gamma)
        K = self._to_landmarks(A)
        E = self._embed(K, index)
        inner = self._inner()
        # A feature space has structure in all directions: rows are judged at the components alone.
        inner._judges_beyond = False
        if weights is None:
            inner.fit(E)
        elif has_fit_parameter(inner, "sample_weight"):
            inner.fit(E, sample_weight=weights)
        else:
            raise ValueError(f"{type(inner).__name__} takes no sample_weight.")
        del inner._judges_beyond
        scores = inner.transform(E)
        # No coordinate of the feature space means anything: the largest score of a row is positive instead.
        inner.components_ *= largest_entry_signs(scores.T)[:, None]
        self.estimator_ = inner
        _, orthogonal = self._distances(A, K, E)
        self.cutoffs_ = cutoffs(orthogonal, inner.n_components_)
        self._fit_preimages()
        return self

    def _embed(self, K: Array, index: Array) -> Array:
        """The way to coordinates, from the Gram matrix of the landmarks, and those of the rows."""
        gram = K[index]
        size = float(np.abs(gram).max())
        if np.abs(gram - gram.T).max() > 1e-8 * size:
            raise ValueError(f"The kernel {self.kernel!r} is not symmetric: k(x, y) must equal k(y, x).")
        self.column_means_ = gram.mean(axis=0)
        centered = self._centered(gram)
        floor = ROUNDING * max(size, np.finfo(np.float64).tiny)
        L, order, rank, _ = lapack.dpstrf(centered, tol=floor, lower=1)
        order = order - 1
        L, left = np.tril(L)[:, :rank], order[rank:]
        # Of inner products nothing is left but roundings where all of them are explained.
        rest = centered[np.ix_(left, left)] - L[rank:] @ L[rank:].T
        if np.abs(rest).max(initial=0.0) > NEGATIVE * size:
            raise ValueError(
                f"The kernel {self.kernel!r} is not positive: its Gram matrix is none of inner products, "
                f"which leave nothing where this one leaves {np.abs(rest).max():.3g}. Take another kernel."
            )
        if rank == 0:
            raise ValueError(f"All rows are alike to the kernel {self.kernel!r}: there is nothing to fit.")
        self.pivots_, self.factor_ = order[:rank].astype(np.int64), np.ascontiguousarray(L[:rank])
        if len(gram) < len(K):
            return self._coordinates(K)
        E = np.empty((len(gram), rank))  # where all rows are landmarks their coordinates are at hand
        E[order] = L
        return E

    def _fit_preimages(self) -> None:
        self.preimage_scores_ = self.preimage_coef_ = None
        if not self.fit_inverse_transform:
            return
        rows: Any = self.landmarks_
        scores = self.estimator_.transform(self._coordinates(self._to_landmarks(rows)))
        ridge = self._values(scores, scores)
        ridge[np.diag_indices(len(ridge))] += self.alpha
        self.preimage_scores_ = scores
        factor = safe_factor(float(np.abs(rows).max()), rows.dtype)
        self.preimage_coef_ = saturated(linalg.solve(ridge, rows * factor, assume_a="pos"), factor)

    def _check_fitted(self) -> None:
        if (self.landmarks_ is None) != (self.kernel == "precomputed"):
            raise ValueError("landmarks_ do not belong to the kernel.")
        L = self.factor_
        if self.estimator_.n_features_in_ != len(L) or self.pivots_.max() >= len(self.landmark_index_):
            raise ValueError("estimator_, factor_ and pivots_ do not belong together.")
        if np.triu(L, 1).any() or not (np.diagonal(L) > 0).all():
            raise ValueError("factor_ is no triangular factor.")
        if self.landmarks_ is None and self.landmark_index_.max() >= self.n_features_in_:
            raise ValueError("landmark_index_ goes beyond the rows.")

    # ---------------------------------------------------------------- prediction
    @property
    def _n_features_out(self) -> int:
        return int(self.estimator_.n_components_)

    def _new(self, X: Any) -> tuple[Array, Array, Array, Any]:
        """Rows, their kernel values and coordinates, and the precision of X."""
        A = new_rows(self, X)
        dtype, A = A.dtype, A.astype(np.float64)
        with _threads(len(A) * len(self.landmark_index_)):
            K = self._to_landmarks(A)
            return A, K, self._coordinates(K), dtype

    def transform(self, X: ArrayLike) -> Array:
        """Scores of rows in feature space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            For "precomputed" the kernel values with the rows of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        _, _, E, dtype = self._new(X)
        return narrowed(np.asarray(self.estimator_.transform(E)), dtype)

    @available_if(_has_preimages)  # type: ignore[untyped-decorator]
    def inverse_transform(self, X: ArrayLike) -> Array:
        """Pre-images: rows whose scores are near the given ones, by kernel ridge regression.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        scores = given_scores(self, X)
        K = self._values(scores, np.asarray(self.preimage_scores_))
        return narrowed(without_overflow(lambda coef: K @ coef, self.preimage_coef_), scores.dtype)

    def _distances(self, A: Array, K: Array, E: Array) -> tuple[Array, Array]:
        score, inside = DenseRows(E).map_blocks(Subspace.of(self.estimator_).distances)
        return score, np.hypot(inside, np.sqrt(self._lost(A, K, E)))

    def distances(self, X: ArrayLike) -> tuple[Array, Array]:
        """Score and orthogonal distances of rows in feature space.

        What a new row has outside the span of the rows of `fit` counts; for
        "precomputed" it is not known.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        score_distances, orthogonal_distances : ndarray of shape (n_samples,)
        """
        return self._distances(*self._new(X)[:3])

    def flags(self, X: ArrayLike) -> Array:
        """Regions of the outlier map of the feature space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int of shape (n_samples,)
            Values of `tl1pca.diagnostics.Flag`.
        """
        return flags(*self.distances(X), self.cutoffs_)

    def score_samples(self, X: ArrayLike) -> Array:
        """Minus the distance of every row to the subspace, in feature space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return -self.distances(X)[1]

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Minus the median distance to the subspace; no criterion for choosing a fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        float
        """
        return float(np.median(self.score_samples(X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags
