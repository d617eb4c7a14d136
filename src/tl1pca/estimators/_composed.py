"""What estimators share that fit another estimator to rows of their own making."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import is_array, to_numpy
from ..rows.sources import floating
from ._containers import as_numbers
from ._dispersion import TL1PCA
from ._fitted import Fitted
from ._input import DataNeeds, check_part
from ._prediction import BasePCA

Array = NDArray[Any]


class Transformer(DataNeeds, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer with dense rows in memory and no subspace of the space of the rows."""

    random_state: Any = None
    verbose: Any = False

    _fitted: ClassVar[dict[str, Fitted]] = {"n_features_in_": Fitted(int, counts="d")}

    def _check_parameters(self) -> None:
        """Raise readable errors for parameters that make no sense."""

    def _check_n_components(self, most: int) -> Any:
        """Nothing to count here; an inner estimator counts for itself."""

    def _check_fitted(self) -> None:
        """Raise an error where the fitted attributes are none that a fit can have, as in a forged file."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class ComposedPCA(Transformer):
    """Fits a copy of `estimator`, by default `TL1PCA`."""

    estimator: Any

    def _inner(self) -> Any:
        """An unfitted copy of the estimator, checked."""
        given = TL1PCA() if self.estimator is None else self.estimator
        check_part(
            f"estimator of {type(self).__name__}",
            given,
            BasePCA,
            "a PCA of tl1pca, for example TL1PCA(2) or LpPCA(2, p=2) for the classical one",
        )
        inner = clone(given)
        inner._check_parameters()
        return inner

    def _check_parameters(self) -> None:
        self._inner()


def new_rows(estimator: Any, X: Any) -> Array:
    """New rows for a method of a fitted estimator, as a checked array on the host."""
    check_is_fitted(estimator)
    X = as_numbers(estimator, X)
    with np.errstate(over="ignore", invalid="ignore"):  # it adds all entries up
        checked = validate_data(
            estimator, to_numpy(X) if is_array(X) else X, reset=False, dtype=[np.float64, np.float32]
        )
    return np.asarray(checked)


def given_scores(estimator: Any, X: Any) -> Array:
    """Scores for `inverse_transform` of a fitted estimator, as a checked array on the host."""
    check_is_fitted(estimator)
    scores = to_numpy(X) if is_array(X) else np.asarray(X)
    scores = scores.astype(floating(scores.dtype), copy=False)
    if scores.ndim != 2 or scores.shape[1] != estimator._n_features_out:
        raise ValueError(
            f"inverse_transform takes scores of shape (n_samples, {estimator._n_features_out}), got an array "
            f"of shape {scores.shape}."
        )
    return scores


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Readable error for a word that is none of those allowed."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")


def contract(T: Array, M: Array, mode: int) -> Array:
    """Tensors T (n, ...) with their side `mode`, counted from one, multiplied by the matrix M (d, k)."""
    return np.moveaxis(np.tensordot(T, M, axes=(mode, 0)), -1, mode)
