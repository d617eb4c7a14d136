"""Supervised directions: the quotient of Tl1 dispersions between and within the classes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from .._arrays import is_array, to_numpy
from ..extraction import greedy
from ..location import locate
from ..objectives import Dispersion, Quotient
from ..operators import TL1
from ..rows import DenseRows
from ..solvers import QuotientAscent
from ..statistics import tl1_scale
from ._base import signed_rows
from ._composed import Transformer, check_choice, new_rows
from ._containers import as_numbers
from ._dispersion import check_iteration
from ._fitted import Fitted, all_or_nothing

Array = NDArray[Any]

#: What a="auto" is, in Tl1 scales of the rows within along Fisher's direction.
AUTO_SHAPE = 3.0


class TL1LDA(ClassifierMixin, Transformer):
    r"""Discriminant analysis by the Tl1 operator: maximizes a quotient of two dispersions.

    .. math:: F(w) = \frac{\sum_c n_c\,\rho_a(w^T(m_c-m))}{\sum_i \rho_a(w^T(x_i-m_{y_i}))},
        \quad \|w\| = 1,

    one direction after the other in the complement of the earlier ones. For
    :math:`a\to\infty` it is LDA-L1 (Wang et al. 2014). With `image_shape` the
    two sets of rows are those of the images, 2DLDA-Tl1 (Yang, Zheng, Liu 2023;
    the gradient in the published program is right for a = 1 only). Classes are
    predicted by the nearest class center among the features.

    Directions are orthonormal, and not uncorrelated within the classes as
    those of scikit-learn's LinearDiscriminantAnalysis: `n_components` may exceed
    the number of classes less one.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of directions; None is the number of classes less one, at most
        the number of features.
    a : float or "auto", default="auto"
        Shape of the operator, in the units of the data; "auto" is three times
        the Tl1 scale of the rows within along Fisher's direction. A small `a`
        only counts rows within that vanish.
    center : {"mean", "median", "spatial_median"}, default="mean"
        Centers of the classes and of all rows; the mean is published, and not
        robust.
    image_shape : tuple of two int or None, default=None
        Height and width of images in flat rows: directions are in the space
        of one row of pixels then.
    tol : float, default=1e-6
        Relative gain at which an ascent ends.
    max_iter : int, default=200
    random_state : int, RandomState or None, default=0
        For the vertices drawn as starts.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows, the largest entry of each positive; of length width
        for images.
    scalings_ : ndarray of shape (n_features, n_components_)
        The same as columns.
    classes_ : ndarray of shape (n_classes,)
    priors_ : ndarray of shape (n_classes,)
        Shares of the classes.
    means_ : ndarray of shape (n_classes, n_features)
        Centers of the classes.
    xbar_ : ndarray of shape (n_features,)
        Center of all rows.
    a_ : float
        Shape that was used.
    objective_path_ : list of ndarray
        Quotients on the way, one array for each direction.
    n_reduced_ : int
        Principal axes that the directions were sought in: less than the number
        of features where the rows within do not span the space, which would
        make the quotient infinite.
    n_components_, n_iter_, n_features_in_ : int
    converged_ : bool

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tl1pca import TL1LDA
    >>> X, y = load_iris(return_X_y=True)
    >>> TL1LDA().fit(X, y).score(X, y) > 0.95
    True
    """

    _fitted: ClassVar[dict[str, Fitted]] = {
        "components_": Fitted(shape="kw"),
        "classes_": Fitted(object, shape="c"),
        "priors_": Fitted(shape="c", least=0, most=1),
        "means_": Fitted(shape="cd"),
        "xbar_": Fitted(shape="d"),
        "a_": Fitted(least=0),
        "objective_path_": Fitted(list),
        "n_reduced_": Fitted(int, least=1),
        "n_iter_": Fitted(int, least=1),
        "n_components_": Fitted(int, counts="k"),
        "converged_": Fitted(bool),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        a: float | str = "auto",
        center: str = "mean",
        image_shape: Sequence[int] | None = None,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: int | np.random.RandomState | None = 0,
    ):
        self.n_components = n_components
        self.a = a
        self.center = center
        self.image_shape = image_shape
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    # ---------------------------------------------------------------- parameters
    def _check_parameters(self) -> None:
        TL1(a=self.a).check()
        check_choice("center", self.center, ("mean", "median", "spatial_median"))
        check_iteration(self.tol, self.max_iter)
        k = self.n_components
        if k is not None and (not isinstance(k, Integral) or isinstance(k, bool) or k < 1):
            raise ValueError(f"n_components must be None or a positive integer, got {k!r}.")

    def _width(self, n_features: int) -> int:
        """Length of the rows that directions are in the space of."""
        if self.image_shape is None:
            return n_features
        shape = tuple(int(side) for side in self.image_shape)
        if len(shape) != 2 or min(shape) < 1 or prod(shape) != n_features:
            raise ValueError(
                f"image_shape={shape} must be a height and a width with {n_features} entries in all, as the "
                "rows of X have."
            )
        return shape[1]

    # ---------------------------------------------------------------- fitting
    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Classes, two or more.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative row weights; a weight of two is a row that occurs twice.

        Returns
        -------
        self
        """
        self._check_parameters()
        A, labels, v = self._check_data(X, y, sample_weight)
        with DenseRows(A).threads():
            self._fit(A, labels, v)
        return self

    def _fit(self, A: Array, labels: Array, v: Array) -> None:
        dtype, A = A.dtype, A.astype(np.float64)
        width = self._width(A.shape[1])
        k = min(len(self.classes_) - 1, width) if self.n_components is None else int(self.n_components)
        if k > width:
            raise ValueError(f"n_components={k} must not exceed the number of features, {width}.")
        counts = np.array([v[labels == c].sum() for c in range(len(self.classes_))])
        means = np.stack([self._locate(A[labels == c], v[labels == c]) for c in range(len(counts))])
        xbar = self._locate(A, v)
        lines = A.shape[1] // width
        above = DenseRows((means - xbar).reshape(-1, width), weights=np.repeat(counts, lines))
        below = DenseRows((A - means[labels]).reshape(-1, width), weights=np.repeat(v, lines))
        above, below, P = _reduced(((A - xbar) * np.sqrt(v)[:, None]).reshape(-1, width), above, below)
        operator = self._settled(above, below)
        objective = Quotient(Dispersion(above, operator), Dispersion(below, operator))
        solver = QuotientAscent(tol=self.tol, max_iter=self.max_iter)
        if k > P.shape[1]:
            raise ValueError(
                f"n_components={k} exceeds the {P.shape[1]} dimensions that the rows within the classes span."
            )
        found = greedy(objective, solver, k, check_random_state(self.random_state))
        self.components_ = signed_rows(P @ np.asarray(found.W)).astype(dtype)
        self.n_iter_ = max(1, *(len(path) - 1 for path in found.paths))
        self.objective_path_ = [np.asarray(path) for path in found.paths]
        self.means_, self.xbar_ = means.astype(dtype), xbar.astype(dtype)
        self.priors_ = (counts / counts.sum()).astype(dtype)
        self.a_, self.n_reduced_ = float(operator.a), int(P.shape[1])
        self.n_components_, self.converged_ = k, bool(found.converged)
        if not self.converged_:
            warnings.warn(
                f"TL1LDA did not converge in {self.max_iter} steps. Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        """Rows of positive weight, the numbers of their classes, and the weights."""
        X = as_numbers(self, X)
        A, y = validate_data(
            self,
            to_numpy(X) if is_array(X) else X,
            to_numpy(y) if is_array(y) else y,
            dtype=[np.float64, np.float32],
            ensure_min_samples=2,
        )
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        v = _check_sample_weight(sample_weight, A, dtype=np.float64, ensure_non_negative=True)
        A, y, v = A[v > 0], y[v > 0], v[v > 0]
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"TL1LDA tells classes apart and needs two or more; the data have {len(self.classes_)} class."
            )
        return A, labels, v

    def _locate(self, A: Array, v: Array) -> Array:
        weights = None if (v == 1.0).all() else v
        return np.asarray(locate(DenseRows(A, weights=weights), self.center))

    def _settled(self, above: DenseRows, below: DenseRows) -> TL1:
        if not isinstance(self.a, str):
            return TL1(a=float(self.a))
        S, B = below.array(), above.array()
        u, n = below.weights, above.weights
        scatter, between = (S.T * u) @ S, (B.T * n) @ B
        w = linalg.eigh(between, scatter)[1][:, -1]
        t = np.abs(S @ w) / np.linalg.norm(w)
        return TL1().at(AUTO_SHAPE * float(tl1_scale(t, u)), float(t.max()))

    def _check_fitted(self) -> None:
        width = self._width(self.n_features_in_)
        W = self.components_.astype(np.float64)
        if W.shape[1] != width or np.abs(W @ W.T - np.eye(len(W))).max() > 1e-3:
            raise ValueError("components_ are not orthonormal rows of the right length.")
        if len(self.classes_) < 2:
            raise ValueError("There are fewer than two classes.")

    # ---------------------------------------------------------------- prediction
    @property
    def scalings_(self) -> Array:
        """Directions as columns."""
        return self.components_.T

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_ // self.components_.shape[1] * self.n_components_)

    def _features(self, A: Array) -> Array:
        d, width = A.shape[1], self.components_.shape[1]
        lines = (A - self.xbar_).reshape(len(A), d // width, width)
        return (lines @ self.scalings_).reshape(len(A), -1)

    def transform(self, X: ArrayLike) -> Array:
        """Features: the rows less their common center, along the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
            For images height times components entries.
        """
        A = new_rows(self, X)
        return self._features(A).astype(A.dtype, copy=False)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of the rows whose class is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return float(super().score(X, y, sample_weight))

    def predict(self, X: ArrayLike) -> Array:
        """The class whose center is nearest among the features; of equally near ones the first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        T, centers = self._features(new_rows(self, X)), self._features(self.means_)
        square = (T**2).sum(axis=1)[:, None] - 2.0 * T @ centers.T + (centers**2).sum(axis=1)
        return np.asarray(self.classes_[np.argmin(square, axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _reduced(total: Array, above: DenseRows, below: DenseRows) -> tuple[DenseRows, DenseRows, Array]:
    """Both sets of rows on the first principal axes of all rows, as many as the rows within span there."""
    S, B = below.array(), above.array()
    P = np.eye(S.shape[1])
    axes: Array | None = None
    while (rank := _rank(S @ P)) < P.shape[1]:
        if rank == 0:
            raise ValueError(
                "The rows of each class are all equal: the quotient is infinite, and any rule tells them."
            )
        axes = linalg.svd(total, full_matrices=False)[2].T if axes is None else axes
        P = axes[:, : min(rank, axes.shape[1])]
    return DenseRows(B @ P, weights=above.weights), DenseRows(S @ P, weights=below.weights), P


def _rank(A: Array) -> int:
    s = linalg.svdvals(A)
    return int(np.count_nonzero(s > 1e-9 * s.max(initial=0.0)))
