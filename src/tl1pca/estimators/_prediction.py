"""What can be done with a fit, whichever method it comes from: scores, reconstruction, distances."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .._arrays import to_numpy
from .._flags import Cutoffs, excess, labels
from .._subspace import Subspace, row_distances
from ..rows import Rows
from ._callbacks import CallbackSupportMixin
from ._fitted import Fitted
from ._input import DataNeeds, open_new, open_scores

Array = NDArray[Any]


class BasePCA(
    DataNeeds, CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """What can be done with a fit, whichever method it comes from."""

    n_components: int | float | None
    random_state: int | np.random.RandomState | None
    verbose: bool

    components_: Array
    mean_: Array
    n_components_: int

    #: Whether `objective_path_` goes down, to a minimum.
    _minimizes = False
    #: Whether components need not be orthonormal.
    _oblique = False
    #: What ``n_components=None`` keeps, in words.
    _none_keeps = "all that the rows span"
    #: What to say where there is no fit yet; None: scikit-learn's words.
    _not_fitted: str | None = None
    #: What a fit leaves behind, and a model file keeps; a class adds its own.
    _fitted: ClassVar[dict[str, Fitted]] = {
        "components_": Fitted(shape="kd"),
        "mean_": Fitted(shape="d"),
        "explained_variance_": Fitted(shape="k", least=0),
        "explained_variance_ratio_": Fitted(shape="k", least=0, most=1 + 1e-5),
        "n_components_": Fitted(int, counts="k"),
        "n_features_in_": Fitted(int, counts="d"),
        "rank_": Fitted(int, least=0),
        "n_iter_": Fitted(int, least=1),
        "objective_": Fitted(),
        "objective_path_": Fitted(list),
        "converged_": Fitted(bool),
    }

    def _check_n_components(self, most: int) -> tuple[int | None, float | None]:
        """Number of components or share of the dispersion, whichever is given; neither for None."""
        k = self.n_components
        if k is None:
            return None, None
        if isinstance(k, Integral) and not isinstance(k, bool):
            if not 1 <= int(k) <= most:
                raise ValueError(
                    f"n_components={k} must be between 1 and min(n_samples, n_features)={most}; None keeps "
                    f"{self._none_keeps}, a number in (0, 1) keeps that share of the dispersion."
                )
            return int(k), None
        if isinstance(k, Real) and not isinstance(k, bool) and 0.0 < float(k) < 1.0:
            return None, float(k)
        raise ValueError(
            f"n_components must be None, an integer from 1 to {most} or a share in (0, 1), got {k!r}."
        )

    def _check_fitted(self) -> None:
        """Raise an error where the fitted attributes are none that a fit can have, as in a forged file."""
        k, d = self.components_.shape
        if k > d:
            raise ValueError(f"{k} components in {d} dimensions are too many.")
        self._check_components(to_numpy(self.components_))

    def _check_components(self, W: Array) -> None:
        tolerance = 1e-6 if W.dtype == np.float64 else 1e-3
        if np.abs(W).max() > 2 or np.abs(W @ W.T - np.eye(len(W))).max() > tolerance:
            raise ValueError("components_ are not orthonormal.")

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

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
        return open_new(self, X, "transform").map_blocks(Subspace.of(self).scores)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Rows in the units of the data for given scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return open_scores(self, X).map_blocks(Subspace.of(self).rows)

    def score_samples(self, X: ArrayLike) -> Array:
        """Minus the distance of every row to the fitted subspace, in the units of the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return open_new(self, X, "score_samples").map_blocks(Subspace.of(self).negative_distances)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Minus the median distance to the subspace: half of the rows reconstruct at least so well.

        A description of a fit, and no criterion for choosing one: a larger
        subspace is never further from a row, so that it always prefers more
        components, and a subspace that outliers captured can be nearer to
        the median row than the right one. Do not search with it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        float
        """
        return float(np.median(to_numpy(self.score_samples(X))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        tags.input_tags.sparse = self._needs_memory() is None
        return tags


class OutlierPCA(BasePCA):
    """A fit with cut-offs of its own: it says which rows are outliers, as scikit-learn's detectors do."""

    cutoffs_: Cutoffs

    _fitted: ClassVar[dict[str, Fitted]] = {"cutoffs_": Fitted(Cutoffs)}

    def fit_predict(self, X: ArrayLike, y: object = None) -> Array:
        """Fit, and say which of the rows are outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        ndarray of int of shape (n_samples,)
            +1 for regular rows and -1 for outliers, leverage points among them.

        Examples
        --------
        >>> from tl1pca import TL1SubspacePCA
        >>> from tl1pca.datasets import make_contaminated
        >>> X, bad, axes = make_contaminated(200, 10, 2, fraction=0.2)
        >>> bool((TL1SubspacePCA(2).fit_predict(X)[bad] == -1).all())
        True
        """
        return self.fit(X).predict(X)

    def distances(self, X: ArrayLike) -> tuple[Array, Array]:
        """Score and orthogonal distances of the rows of X, see `tl1pca.diagnostics.distances`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        score_distances, orthogonal_distances : ndarray of shape (n_samples,)
        """
        return open_new(self, X, "distances").map_blocks(row_distances(self))

    def decision_function(self, X: ArrayLike) -> Array:
        """One minus the larger of the two distances over its cut-off: negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return 1.0 - self._judged(X, "decision_function", excess)

    def predict(self, X: ArrayLike) -> Array:
        """+1 for regular rows and -1 for outliers, leverage points among them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int of shape (n_samples,)
        """
        return self._judged(X, "predict", labels)

    def _judged(self, X: ArrayLike, method: str, verdict: Callable[..., Any]) -> Any:
        """What a function of the distances and the cut-offs says of every row."""
        rows = open_new(self, X, method)
        return rows.map_blocks(partial(_verdict, verdict, row_distances(self), self.cutoffs_))


def _verdict(verdict: Callable[..., Any], measure: Callable[..., Any], limits: Cutoffs, rows: Rows) -> Any:
    return verdict(*measure(rows), limits)
