"""Columns in different units: whether their spreads are too unequal for a PCA, and a robust scaler."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["UNEQUAL", "MADScaler", "UnequalSpreads", "unequal_spreads"]

Array = NDArray[Any]

#: Quotient of two spreads from which columns are taken to be in different units. Variance is the square:
#: at 10 the narrow column has 1 % of the variance of the wide one, so that no component that is chosen for
#: its variance follows it, and a row has to be ten times as far out in it to be seen. Columns of one kind
#: (lengths of a flower, pixels of an image) stay below it.
UNEQUAL = 10.0

#: Makes the median absolute deviation of a normal sample its standard deviation.
CONSISTENCY = 1.482602218505602


class MADScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Subtract the median of each column and divide by its median absolute deviation.

    Up to half of a column may be wild without moving its scale without bounds
    (the quartiles of scikit-learn's RobustScaler stand a quarter). Missing
    values are left out in `fit` and stay missing in `transform`.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Medians.
    scale_ : ndarray of shape (n_features,)
        1.4826 times the median absolute deviations, standard deviations of
        normal columns. Where more than half of a column are one value that
        deviation is zero; the scale is then sqrt(p) times the median
        deviation of the share p of values that do deviate, which for a column
        of two values is nearly its standard deviation. 1 for a constant column.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from tl1pca.preprocessing import MADScaler
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 5.0], [1000.0, 0.0]])
    >>> MADScaler().fit(X).scale_.round(2).tolist()
    [1.48, 2.24]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # there is no parameter

    center_: Array
    scale_: Array

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find medians and scales.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN marks a missing value.
        y : ignored

        Returns
        -------
        self
        """
        data = self._checked(X, reset=True)
        self.center_, deviations = _centered(data)
        scale = CONSISTENCY * _median(deviations)
        for j in np.flatnonzero(scale == 0):
            scale[j] = _tied_scale(deviations[:, j])
        self.scale_ = np.where(scale > 0, scale, 1.0).astype(data.dtype)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Scale rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        data = self._checked(X, reset=False)
        return np.asarray((data - self.center_) / self.scale_, dtype=data.dtype)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Rows in their own units again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return np.asarray(np.asarray(X) * self.scale_ + self.center_)

    def _checked(self, X: ArrayLike, *, reset: bool) -> Array:
        data: Array = validate_data(
            self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )
        return data

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(frozen=True)
class UnequalSpreads:
    """Columns with the largest and the smallest spread, and the quotient of the two."""

    widest: int
    narrowest: int
    quotient: float

    @property
    def times(self) -> str:
        """The quotient in words."""
        return f"{self.quotient:,.0f}-fold" if self.quotient < 1e6 else "more than a million-fold"


def unequal_spreads(X: ArrayLike, factor: float = UNEQUAL) -> UnequalSpreads | None:
    """Say whether the spreads of the columns differ so much that a PCA would see the wide ones alone.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        NaN marks a missing value.
    factor : float, default=10
        Smallest quotient of two spreads that counts.

    Returns
    -------
    UnequalSpreads or None
        None where the median absolute deviations are within the factor. Those
        that are zero do not count: a column with more than half of its values
        tied says nothing about its unit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris, load_wine
    >>> unequal_spreads(load_iris().data) is None
    True
    >>> unequal_spreads(load_wine().data).widest
    12
    """
    spread = _median(_centered(np.asarray(X, dtype=np.float64))[1])
    live = np.flatnonzero(spread > 0)
    if len(live) < 2:
        return None
    narrowest, widest = (int(live[pick(spread[live])]) for pick in (np.argmin, np.argmax))
    with np.errstate(over="ignore"):
        quotient = float(spread[widest] / spread[narrowest])
    return UnequalSpreads(widest, narrowest, quotient) if quotient > factor else None


def _median(X: Array) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a column without a value
        return np.asarray(np.nan_to_num(np.nanmedian(X, axis=0)))


def _centered(X: Array) -> tuple[Array, Array]:
    center = _median(X)
    return center, np.abs(X - center)


def _tied_scale(deviations: Array) -> float:
    seen = deviations[~np.isnan(deviations)]
    away = seen[seen > 0]
    return float(np.sqrt(len(away) / len(seen)) * np.median(away)) if len(away) else 0.0
