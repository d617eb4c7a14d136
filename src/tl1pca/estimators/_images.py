"""Images and tensors: any method of the package on their rows, their columns, or all sides in turn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from math import prod
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._arrays import narrowed, saturated, to_numpy, without_overflow
from .._subspace import row_lengths
from ..location import locate
from ..operators import Operator
from ..rows import safe_factor
from ._base import Center, product
from ._composed import ComposedPCA, check_choice, contract, given_scores, new_rows
from ._dispersion import check_iteration
from ._fitted import Fitted, all_or_nothing
from ._input import open_data

Array = NDArray[Any]

#: Share of a dispersion that may be rounding.
ROUNDING = 1e-12


class ImagePCA(ComposedPCA):
    r"""PCA of images (or tensors): any method of the package on their rows, less the mean image.

    The rows of all images, each less the same row of the mean image, are the
    rows that `estimator` is fitted to, so that it finds few directions in the
    space of one row of pixels. 2DPCA (Yang et al. 2004) is
    ``ImagePCA(LpPCA(k, p=2))``, 2DPCA-L1 (Li et al. 2010)
    ``ImagePCA(L1PCA(k, greedy=True))``, G2DPCA (Wang 2016)
    ``ImagePCA(GeneralizedLpPCA(k, s=s, p=p))`` and 2DPCA-Tl1 (Yang et al. 2021)
    ``ImagePCA(TL1PCA(k, a=a))``.

    With ``side="both"`` every side is reduced: the dispersion of
    :math:`L^T(A-M)R` is increased in L and R by turns, each found by the
    estimator with the other kept, and a turn that would lose is not taken. For
    squares that is GLRAM (Ye 2005) and, for tensors, MPCA (Lu et al. 2008).

    Parameters
    ----------
    estimator : PCA of the package or None, default=None
        With a parameter `center`, which is set to None; None is ``TL1PCA()``.
    image_shape : tuple of int or None, default=None
        Shape of an image, (height, width), or of a tensor, where X has flat
        rows. None: the shape is that of X of shape (n_samples, height, width),
        and flat rows are images of one line each.
    side : {"right", "left", "both"}, default="right"
        Reduce the width by directions common to all rows of all images, the
        height, or both; of a tensor the last side, the first, or all.
    center : None, "mean", "median", "spatial_median" or array-like, default="mean"
        The image that is subtracted; the mean, as published.
    n_components : int, tuple of int or None, default=None
        One number for all reduced sides, or one for each; None: that of the
        estimator.
    tol : float, default=1e-10
        Relative gain of a sweep over both sides at which it ends.
    max_iter : int, default=100
        Most sweeps.

    Attributes
    ----------
    axes_ : tuple of ndarray of shape (k, length of the side)
        Components of each reduced side.
    mean_ : ndarray of shape (n_features_in_,)
        The image that was subtracted, flat.
    image_shape_ : ndarray of int
    flat_ : bool
        Whether images came as flat rows, and are given back so.
    objective_ : float
    objective_path_ : list of ndarray
        Those of the estimator, or one for the sweeps.
    n_iter_, n_features_in_ : int
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> from tl1pca import ImagePCA, TL1PCA
    >>> images = np.random.default_rng(0).normal(size=(20, 6, 4))
    >>> pca = ImagePCA(TL1PCA(2)).fit(images)
    >>> pca.transform(images).shape, pca.axes_[0].shape
    ((20, 12), (2, 4))
    """

    _rotates = False  # far entries are cut one by one, as an image has no single size
    _fitted: ClassVar[dict[str, Fitted]] = {
        "axes_": Fitted(tuple),
        "mean_": Fitted(shape="d"),
        "image_shape_": Fitted(int, shape="m", least=1),
        "flat_": Fitted(bool),
        "objective_": Fitted(),
        "objective_path_": Fitted(list),
        "n_iter_": Fitted(int, least=1),
        "converged_": Fitted(bool),
    }

    axes_: tuple[Array, ...]

    def __init__(
        self,
        estimator: Any = None,
        *,
        image_shape: Sequence[int] | None = None,
        side: str = "right",
        center: Center = "mean",
        n_components: int | Sequence[int] | None = None,
        tol: float = 1e-10,
        max_iter: int = 100,
    ):
        self.estimator = estimator
        self.image_shape = image_shape
        self.side = side
        self.center = center
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter

    # ---------------------------------------------------------------- parameters
    def _check_parameters(self) -> None:
        check_choice("side", self.side, ("right", "left", "both"))
        check_iteration(self.tol, self.max_iter)
        inner = self._inner()
        if self.side == "both":
            _operator(inner)
        shape = self.image_shape
        if shape is not None and not (_counts(shape) and len(shape) >= 2):
            raise ValueError(
                f"image_shape must be None or two or more positive integers, such as (32, 24), got {shape!r}."
            )
        if self.n_components is not None and not _counts(np.atleast_1d(self.n_components).tolist()):
            raise ValueError(
                "n_components of ImagePCA must be None, for the number that the estimator has, a positive "
                f"integer, or a tuple of them, one for each reduced side, got {self.n_components!r}."
            )

    def _inner(self) -> Any:
        inner = super()._inner()
        if "center" not in inner.get_params():
            raise ValueError(
                f"ImagePCA subtracts one image from all images, and {type(inner).__name__} has a center of "
                "its own, one row for all. Take an estimator with a parameter center, such as TL1PCA."
            )
        return inner.set_params(center=None)

    def _modes(self, order: int) -> list[int]:
        """The sides that are reduced, counted from one as axes of the array of all images."""
        return {"right": [order], "left": [1], "both": list(range(1, order + 1))}[self.side]

    def _estimators(self, shape: tuple[int, ...]) -> dict[int, Any]:
        """An unfitted estimator for each reduced side."""
        modes = self._modes(len(shape))
        if self.n_components is None:
            return {mode: self._inner() for mode in modes}
        given: Any = self.n_components
        counts = (int(given),) * len(modes) if isinstance(given, Integral) else tuple(given)
        if len(counts) != len(modes):
            raise ValueError(
                f"n_components={counts} must have one number for each of the {len(modes)} reduced sides of "
                f"images of shape {shape}."
            )
        return {mode: self._inner().set_params(n_components=int(k)) for mode, k in zip(modes, counts)}

    # ---------------------------------------------------------------- data
    def _flat(self, X: Any) -> tuple[Any, tuple[int, ...] | None]:
        """X as flat rows, and the shape of an image where X has it."""
        order = getattr(X, "ndim", None)
        if order is None and isinstance(X, list | tuple):
            order = np.ndim(X)
        if order is None or order <= 2:
            return X, None
        X = to_numpy(X) if not isinstance(X, list | tuple) else np.asarray(X)
        return X.reshape(len(X), -1), tuple(X.shape[1:])

    def _shape_of(self, given: tuple[int, ...] | None, n_features: int) -> tuple[int, ...]:
        """Shape of an image of a fit."""
        stated = None if self.image_shape is None else tuple(int(side) for side in self.image_shape)
        if stated is None:
            return given or (1, n_features)
        if (given is not None and given != stated) or prod(stated) != n_features:
            found = f"images of shape {given}" if given is not None else f"rows of {n_features} entries"
            raise ValueError(
                f"image_shape={stated} has {prod(stated)} entries and does not fit X, which holds {found}."
            )
        return stated

    def _new_images(self, X: Any) -> Array:
        """Images as an array (n, *image_shape)."""
        check_is_fitted(self)
        flat, given = self._flat(X)
        shape = tuple(self.image_shape_.tolist())
        if given is not None and given != shape:
            raise ValueError(
                f"X holds images of shape {given}, ImagePCA was fitted to images of shape {shape}."
            )
        return new_rows(self, flat).reshape(-1, *shape)

    @property
    def _mean_image(self) -> Array:
        return self.mean_.reshape(tuple(self.image_shape_))

    # ---------------------------------------------------------------- fitting
    @all_or_nothing
    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the components of each reduced side.

        Parameters
        ----------
        X : array-like of shape (n_samples, height * width) or (n_samples, height, width)
            Or tensors.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights of the images.

        Returns
        -------
        self
        """
        self._check_parameters()
        flat, given = self._flat(X)
        data = open_data(self, flat, sample_weight)
        shape = self._shape_of(given, data.rows.shape[1])
        estimators = self._estimators(shape)
        factor = safe_factor(data.max_abs, data.rows.dtype)
        rows = data.rows if factor == 1.0 else data.rows.scaled(factor)
        mean = locate(rows, self._center(factor))
        array = to_numpy(rows.array())
        if self.center is not None and (array[-1] == array[0]).all() and (array == array[0]).all():
            raise ValueError("All images are equal: nothing is left of them once their center is subtracted.")
        D = array - mean if factor == 1.0 else saturated(array - mean, factor)
        D = D.reshape(-1, *shape)
        self.mean_, self.image_shape_ = saturated(mean, factor), np.array(shape, dtype=np.int64)
        self.flat_ = given is None
        weights = None if rows.weights is None else np.asarray(rows.weights)
        if len(estimators) == 1:
            self._fit_one_side(D, weights, estimators)
        else:
            self._sweep(D, weights, estimators, factor)
        return self

    def _center(self, factor: float) -> Center:
        if self.center is None or isinstance(self.center, str):
            return self.center
        given = np.asarray(self.center, dtype=np.float64)
        return given.ravel() * factor

    def _fit_one_side(self, D: Array, weights: Array | None, estimators: dict[int, Any]) -> None:
        ((mode, inner),) = estimators.items()
        _fit_fibers(inner, D, mode, weights)
        self.axes_ = (inner.components_,)
        self.objective_, self.objective_path_ = inner.objective_, inner.objective_path_
        self.n_iter_, self.converged_ = inner.n_iter_, inner.converged_

    def _sweep(self, D: Array, weights: Array | None, estimators: dict[int, Any], factor: float) -> None:
        """Both sides by turns, from what each finds in the whole images; no turn descends."""
        operator = _operator(self._inner())
        scaled = operator.rescaled(factor)
        v = np.ones(len(D)) if weights is None else weights
        axes = {
            mode: _fit_fibers(inner, D, mode, weights).components_.T for mode, inner in estimators.items()
        }

        def value(axes: dict[int, Array]) -> float:
            scores = _project(D * D.dtype.type(factor), axes)
            return float(v @ scaled.value(np.abs(scores)).reshape(len(D), -1).sum(axis=1))

        path = [value(axes)]
        self.converged_ = False
        while not self.converged_ and len(path) <= self.max_iter:
            best = path[-1]
            for mode, inner in estimators.items():
                others = {m: W for m, W in axes.items() if m != mode}
                left = without_overflow(partial(_project, axes=others), D)
                W = _fit_fibers(inner, left, mode, weights).components_.T
                trial = value({**axes, mode: W})
                if trial >= best * (1.0 - ROUNDING):  # of equally good axes the last ones, whatever the units
                    axes, best = {**axes, mode: W}, max(trial, best)
            self.converged_ = bool(best - path[-1] <= self.tol * abs(best))
            path.append(best)
        self.axes_ = tuple(np.ascontiguousarray(W.T) for W in axes.values())
        self.objective_path_ = [product(np.array(path), operator.value_scale(factor))]
        self.objective_ = float(self.objective_path_[0][-1])
        self.n_iter_ = max(1, len(path) - 1)
        if not self.converged_:
            warnings.warn(
                f"ImagePCA did not converge in {self.n_iter_} sweeps. Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _check_fitted(self) -> None:
        shape = tuple(int(side) for side in self.image_shape_)
        modes = self._modes(len(shape))
        fits = len(shape) >= 2 and prod(shape) == self.n_features_in_ and len(modes) == len(self.axes_)
        if not fits or any(
            len(W) > W.shape[1] or W.shape[1] != shape[m - 1] for m, W in zip(modes, self.axes_)
        ):
            raise ValueError("axes_, image_shape_ and mean_ do not belong together.")
        for W in self.axes_:
            self._inner()._check_components(W)

    # ---------------------------------------------------------------- prediction
    def _axes_by_mode(self) -> dict[int, Array]:
        return dict(zip(self._modes(len(self.image_shape_)), self.axes_))

    def _reduced_shape(self) -> tuple[int, ...]:
        shape = self.image_shape_.tolist()
        for mode, W in self._axes_by_mode().items():
            shape[mode - 1] = len(W)
        return tuple(shape)

    @property
    def _n_features_out(self) -> int:
        return prod(self._reduced_shape())

    def transform(self, X: ArrayLike) -> Array:
        """Features of the images: what their reduced sides leave, flat.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, ...image_shape)

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            For ``side="right"`` height times components entries, row after
            row of the image; least squares coefficients where components are
            oblique.
        """
        images = self._new_images(X)
        sides = {mode: _coefficients(W) for mode, W in self._axes_by_mode().items()}
        scores = without_overflow(lambda A, M: _project(A - M, sides), images, self._mean_image)
        return narrowed(scores.reshape(len(images), -1), images.dtype)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Images for given features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_samples, ...image_shape)
            As X of `fit` was.
        """
        T = given_scores(self, X)
        T = T.reshape(len(T), *self._reduced_shape())
        axes = self._axes_by_mode()
        images = narrowed(without_overflow(lambda T, M: _project(T, axes) + M, T, self._mean_image), T.dtype)
        return images.reshape(len(T), self.n_features_in_) if self.flat_ else images

    def score_samples(self, X: ArrayLike) -> Array:
        """Minus the Frobenius distance of every image to its reconstruction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, ...image_shape)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        images = self._new_images(X)
        sides = {mode: _coefficients(W) @ W for mode, W in self._axes_by_mode().items()}

        def residuals(A: Array, M: Array) -> Array:
            D = A - M
            return D - _project(D, sides)

        left = without_overflow(residuals, images, self._mean_image)
        return -narrowed(row_lengths(left.reshape(len(images), -1)), images.dtype)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Minus the median distance of the images to their reconstructions; no criterion for choosing a fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, ...image_shape)
        y : ignored

        Returns
        -------
        float
        """
        return float(np.median(self.score_samples(X)))


def _counts(values: Any) -> bool:
    """Whether it is a sequence of positive integers."""
    return isinstance(values, Sequence | np.ndarray) and all(
        isinstance(k, Integral) and not isinstance(k, bool) and int(k) > 0 for k in values
    )


def _operator(inner: Any) -> Operator:
    """The operator whose dispersion both sides share."""
    if inner._minimizes or not hasattr(inner, "_operator"):
        raise ValueError(
            "side='both' increases one dispersion in both sides by turns; "
            f"{type(inner).__name__} has none of its own. Take TL1PCA, L1PCA, LpPCA or a sparse method."
        )
    operator = inner._operator()
    if operator.adaptive:
        raise ValueError(
            f"side='both' needs one objective for both sides, and {operator!r} settles its shape on each "
            "side anew. Give a number, for example TL1PCA(a=1.0)."
        )
    return operator


def _fit_fibers(inner: Any, D: Array, mode: int, weights: Array | None) -> Any:
    """The estimator, fitted to all lines of the images along one side."""
    fibers = np.moveaxis(D, mode, -1)
    rows = fibers.reshape(-1, D.shape[mode])
    if weights is None:
        return inner.fit(rows)
    if not has_fit_parameter(inner, "sample_weight"):
        raise ValueError(f"{type(inner).__name__} takes no sample_weight.")
    return inner.fit(rows, sample_weight=np.repeat(weights, len(rows) // len(D)))


def _project(D: Array, axes: dict[int, Array]) -> Array:
    """Images with their sides multiplied by matrices (d, k)."""
    for mode, W in axes.items():
        D = contract(D, W, mode)
    return D


def _coefficients(W: Array) -> Array:
    """What turns a line into its least squares coefficients in the rows of W."""
    return W.T if np.abs(W @ W.T - np.eye(len(W))).max() < 1e-6 else np.linalg.pinv(W)
