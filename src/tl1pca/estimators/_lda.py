"""Supervised directions: the quotient of Tl1 dispersions between and within the classes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from .._arrays import is_array, narrowed, saturated, to_numpy, without_overflow
from ..extraction import greedy
from ..geometry import unit
from ..location import locate
from ..objectives import Dispersion, Quotient
from ..operators import TL1
from ..rows import DenseRows, safe_factor
from ..solvers import QuotientAscent
from ..statistics import tl1_scale
from ._base import signed_rows
from ._composed import Transformer, check_choice, new_rows
from ._containers import as_numbers
from ._dispersion import check_iteration
from ._fitted import Fitted, all_or_nothing
from ._input import check_weights, within_reach
from ._within import EQUAL_ROWS, reduced, spherical

Array = NDArray[Any]

#: What a="auto" is, in Tl1 scales of the rows within.
AUTO_SHAPE = 3.0
#: What shrinkage="auto" is where `a` is not given in the units of the data.
AUTO_SHRINKAGE = 0.9
#: What is left of a column less its center where nothing but rounding is.
ROUNDING = 16 * float(np.finfo(np.float64).eps)


class TL1LDA(ClassifierMixin, Transformer):
    r"""Discriminant analysis by the Tl1 operator: maximizes a quotient of two dispersions.

    .. math:: F(w) = \frac{\sum_c n_c\,\rho_a(w^T(m_c-m))}{\sum_i \rho_a(w^T(x_i-m_{y_i}))},
        \quad \|w\| = 1,

    one direction after the other in the complement of the earlier ones. For
    :math:`a\to\infty` it is LDA-L1 (Wang et al. 2014). With `image_shape` the
    two sets of rows are those of the images, 2DLDA-Tl1 (Yang, Zheng, Liu 2023;
    the gradient in the published program is right for a = 1 only). Classes are
    predicted by the nearest class center among the features.

    This quotient, as published, overfits: it is largest where as many rows
    within vanish as there are dimensions less one, and it looks for columns
    that hardly vary within the classes. With `shrinkage` :math:`\gamma > 0`, the
    default, rows are first made spherical within their classes, as in Fisher's
    analysis, by a scatter that gives far rows little weight and is shrunk as
    Ledoit and Wolf do, and to the denominator S(w) comes
    :math:`\gamma/(1-\gamma)` times its mean over the axes. The scatter is shrunk
    toward a sphere in the units of the data: scale columns of different units
    first (`RobustScaler`).

    Directions are orthonormal as published, or uncorrelated within the classes
    with shrinkage; `n_components` may exceed the number of classes less one.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of directions; None is the number of classes less one, at most
        the number of features.
    a : float or "auto", default="auto"
        Shape of the operator, in the units of the data or, with shrinkage, of
        rows whose scatter within the classes is one; "auto" is three times the
        Tl1 scale of the rows within, without shrinkage along Fisher's direction.
        A small `a` only counts rows within that vanish.
    shrinkage : float in [0, 1), None or "auto", default="auto"
        None or 0 is the published quotient. "auto" is 0.9 for ``a="auto"``, and
        None for a number `a`.
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
    scalings_ : ndarray of shape (n_features, n_components_)
        Directions as columns, the largest entry of each positive; with
        shrinkage of such a length that features vary by about one within the
        classes. For images they have width rows.
    components_ : ndarray of shape (n_components_, n_features)
        The same as rows of length one.
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
    shrinkage_ : float
        Shrinkage that was used.
    n_reduced_ : int
        Principal axes that the directions were sought in: less than the number
        of features where the rows do not span the space or, without
        shrinkage, the rows within do not, which would make the quotient infinite.
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
        "scalings_": Fitted(shape="wk"),
        "classes_": Fitted(object, shape="c"),
        "priors_": Fitted(shape="c", least=0, most=1),
        "means_": Fitted(shape="cd"),
        "xbar_": Fitted(shape="d"),
        "a_": Fitted(least=0),
        "shrinkage_": Fitted(least=0, most=1),
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
        shrinkage: float | str | None = "auto",
        center: str = "mean",
        image_shape: Sequence[int] | None = None,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: int | np.random.RandomState | None = 0,
    ):
        self.n_components = n_components
        self.a = a
        self.shrinkage = shrinkage
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
        s = self.shrinkage
        if s is not None and s != "auto" and not (isinstance(s, Real) and 0 <= s < 1):
            raise ValueError(f"shrinkage must be None, 'auto' or a number in [0, 1), got {s!r}.")
        k = self.n_components
        if k is not None and (not isinstance(k, Integral) or isinstance(k, bool) or k < 1):
            raise ValueError(f"n_components must be None or a positive integer, got {k!r}.")

    def _shrinkage(self) -> float:
        if self.shrinkage == "auto":  # a number is in the units of the data, and so is the published form
            return AUTO_SHRINKAGE if isinstance(self.a, str) else 0.0
        return float(self.shrinkage or 0.0)

    def _width(self, n_features: int) -> int:
        """Length of the rows that directions are in the space of."""
        if self.image_shape is None:
            return n_features
        shape = tuple(self.image_shape)
        whole = len(shape) == 2 and all(isinstance(side, Integral) and side > 0 for side in shape)
        if not whole or prod(shape) != n_features:
            raise ValueError(
                f"image_shape={shape} must be a height and a width with {n_features} entries in all, as the "
                "rows of X have."
            )
        return int(shape[1])

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
        dtype, A = A.dtype, A.astype(np.float64, order="C")
        width = self._width(A.shape[1])
        k = min(len(self.classes_) - 1, width) if self.n_components is None else int(self.n_components)
        if k > width:
            raise ValueError(f"n_components={k} must not exceed the number of features, {width}.")
        A = within_reach(A, by_rows=True)
        factor = safe_factor(float(np.abs(A).max()), A.dtype)
        A = A * factor
        counts = np.array([v[labels == c].sum() for c in range(len(self.classes_))])
        means = np.stack([self._locate(A[labels == c], v[labels == c]) for c in range(len(counts))])
        xbar = self._locate(A, v)
        self.means_, self.xbar_ = (narrowed(saturated(m, factor), dtype) for m in (means, xbar))
        between, within, total = means - xbar, A - means[labels], A - xbar
        if not (np.abs(within) > ROUNDING * np.abs(A).max(axis=0)).any():
            raise ValueError(EQUAL_ROWS)
        # Beside a large center rows may be tiny.
        again = safe_factor(float(np.abs(total).max()), A.dtype, factor)
        factor, lines = factor * again, A.shape[1] // width
        above = DenseRows((again * between).reshape(-1, width), weights=np.repeat(counts, lines))
        below = DenseRows((again * within).reshape(-1, width), weights=np.repeat(v, lines))
        total = (again * total * np.sqrt(v)[:, None]).reshape(-1, width)
        shrinkage = self._shrinkage()
        above, below, P = (spherical if shrinkage else reduced)(total, above, below)
        unit = 1.0 if shrinkage else factor  # spherical rows have units of their own
        operator = self._settled(above, below, bool(shrinkage), unit)
        objective = _quotient(above, below, operator, shrinkage)
        solver = QuotientAscent(tol=self.tol, max_iter=self.max_iter)
        if k > P.shape[1]:
            raise ValueError(
                f"n_components={k} exceeds the {P.shape[1]} dimensions that the rows within the classes span."
            )
        found = greedy(objective, solver, k, check_random_state(self.random_state))
        W = P @ np.asarray(found.W)
        W = signed_rows(saturated(W, 1.0 / factor) if shrinkage else W)
        self.scalings_ = np.ascontiguousarray(narrowed(W.T, dtype))
        self.n_iter_ = max(1, *(len(path) - 1 for path in found.paths))
        self.objective_path_ = [np.asarray(path) for path in found.paths]
        self.priors_ = (counts / counts.sum()).astype(dtype)
        self.a_ = float(saturated(np.float64(operator.a), unit))
        self.shrinkage_, self.n_reduced_ = shrinkage, int(P.shape[1])
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
        with np.errstate(over="ignore", invalid="ignore"):  # it adds all entries up
            A, y = validate_data(
                self,
                to_numpy(X) if is_array(X) else X,
                to_numpy(y) if is_array(y) else y,
                dtype=[np.float64, np.float32],
                ensure_min_samples=2,
            )
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if sample_weight is None:
            v = np.ones(len(A))
        else:
            v = check_weights(sample_weight, A).astype(np.float64)
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

    def _settled(self, above: DenseRows, below: DenseRows, spherical: bool, unit: float) -> TL1:
        if not isinstance(self.a, str):
            return TL1(a=float(self.a) * unit)
        S, B = below.array(), above.array()
        u, n = below.weights, above.weights
        if spherical:  # all directions are alike
            t = np.abs(S).ravel()
            return TL1().at(AUTO_SHAPE * float(tl1_scale(t, np.repeat(u, S.shape[1]))), float(t.max()))
        scatter, between = (S.T * u) @ S, (B.T * n) @ B
        w = linalg.eigh(between, scatter)[1][:, -1]
        t = np.abs(S @ w) / np.linalg.norm(w)
        return TL1().at(AUTO_SHAPE * float(tl1_scale(t, u)), float(t.max()))

    def _check_fitted(self) -> None:
        W = self.scalings_.astype(np.float64)
        if len(W) != self._width(self.n_features_in_) or not np.abs(W).max(axis=0).all():
            raise ValueError("scalings_ are not directions of the right length.")
        if not self.shrinkage_ and np.abs(W.T @ W - np.eye(W.shape[1])).max() > 1e-3:
            raise ValueError("scalings_ are not orthonormal.")
        if len(self.classes_) < 2:
            raise ValueError("There are fewer than two classes.")

    # ---------------------------------------------------------------- prediction
    @property
    def components_(self) -> Array:
        """Directions as rows of length one."""
        W = self.scalings_ / np.abs(self.scalings_).max(axis=0)  # no square of it overflows
        return np.ascontiguousarray(unit(W).T)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_ // len(self.scalings_) * self.n_components_)

    def _features(self, A: Array) -> Array:
        d, width = A.shape[1], len(self.scalings_)
        W, shape = self.components_.T, (len(A), d // width, width)
        found = without_overflow(lambda A, m: (A - m).reshape(shape) @ W, A, self.xbar_)
        if self.shrinkage_:
            with np.errstate(over="ignore"):
                length = saturated(np.abs(self.scalings_).max(axis=0) / np.abs(W).max(axis=0))
                found = saturated(found * length)
        return np.asarray(found).reshape(len(A), -1)

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
        return narrowed(self._features(A), A.dtype)

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
        T, centers = (self._features(A).astype(np.float64) for A in (new_rows(self, X), self.means_))
        # |t|^2 is the same for all classes; what is left is divided by what would let it overflow.
        size = np.abs(centers).max() or 1.0
        with np.errstate(over="ignore"):
            T, centers = saturated(T / size), centers / size
        far = np.maximum(np.abs(T).max(axis=1, keepdims=True), 1.0)
        square = (centers**2).sum(axis=1) / far - 2.0 * (T / far) @ centers.T
        return np.asarray(self.classes_[np.argmin(square, axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _quotient(above: DenseRows, below: DenseRows, operator: TL1, shrinkage: float) -> Quotient:
    top, bottom = Dispersion(above, operator), Dispersion(below, operator)
    mean = float(np.mean(bottom.value(np.eye(below.shape[1])))) if shrinkage else 0.0
    return Quotient(top, bottom, ridge=shrinkage / (1.0 - shrinkage) * mean)
