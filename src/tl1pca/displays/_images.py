"""Images and what the subspace makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import Display, prepare, pyplot
from .style import PLAIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]


class ReconstructionDisplay(Display):
    """Images, their reconstructions and what is left, one image in each column.

    Above each column are the name of the row and the length of the residual.
    Images and reconstructions share one gray scale; in the residuals medium
    gray is zero.

    Parameters
    ----------
    images, reconstructions : ndarray of shape (n_images, height, width)
    labels : sequence of str of shape (n_images,)
    estimator_name : str, optional
        Shown beside the reconstructions.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Divided into the others.
    axes_ : ndarray of matplotlib Axes of shape (3, n_images)
    figure_ : matplotlib Figure
    pictures_ : ndarray of matplotlib AxesImage of shape (3, n_images)

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_digits
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.displays import ReconstructionDisplay
    >>> X = load_digits().data[:200]
    >>> pca = TL1SubspacePCA(10, random_state=0).fit(X)
    >>> display = ReconstructionDisplay.from_estimator(pca, X, rows=[0, 5, 9])
    >>> display.images.shape
    (3, 8, 8)
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        images: Array,
        reconstructions: Array,
        labels: Sequence[str],
        estimator_name: str | None = None,
    ):
        self.images = images
        self.reconstructions = reconstructions
        self.labels = labels
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        image_shape: tuple[int, int] | None = None,
        rows: Sequence[int] | None = None,
        labels: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw rows of X as images, with their reconstructions.

        Parameters
        ----------
        estimator : fitted estimator with transform and inverse_transform
            One of this package, scikit-learn's PCA, or a pipeline that ends in one; images
            are shown in the units of X where all its steps can be undone, else as its last step
            sees them.
        X : array-like of shape (n_samples, height * width)
        image_shape : (height, width), optional
            Square images by default.
        rows : sequence of int, optional
            Which rows to draw, by default the first eight.
        labels : array-like of shape (n_samples,), optional
            Names of all rows of X; by default the index of a data frame unless it only counts,
            else "row 1", "row 2", ...: `X[i]` is row i + 1.
        ax : matplotlib Axes, optional
            A subplot, to be divided.

        Returns
        -------
        ReconstructionDisplay
        """
        pyplot(cls.__name__)
        found = prepare(estimator, X, labels, "transform", "inverse_transform")
        n, d = found.data.shape
        shape = _image_shape(image_shape, d)
        chosen = np.arange(min(8, n)) if rows is None else np.asarray(rows)
        if chosen.ndim != 1 or not len(chosen) or chosen.dtype.kind not in "iu":
            raise ValueError(f"rows must be numbers of rows, at least one, got {rows!r}.")
        if chosen.min() < -n or chosen.max() >= n:
            raise ValueError(f"rows must lie between 0 and {n - 1}, got {rows!r}.")
        fitted = np.asarray(found.pca.inverse_transform(found.scores[chosen]))
        return cls(
            images=found.original(found.data[chosen]).reshape(-1, *shape),
            reconstructions=found.original(fitted).reshape(-1, *shape),
            labels=[found.labels[i] for i in chosen],
            estimator_name=found.name,
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the images.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A subplot, to be divided; a new one by default.

        Returns
        -------
        ReconstructionDisplay
        """
        n, height, width = self.images.shape
        column = float(np.clip(width / height, 0.5, 2.0))
        self.axes_ = self._split(ax, 3, n, (1.05 * column * n + 1.2, 3.8))
        residuals = self.images - self.reconstructions
        both = np.concatenate([self.images, self.reconstructions])
        most = float(np.abs(residuals).max()) or 1.0
        levels = {"vmin": both.min(), "vmax": both.max()}
        bands = (
            ("image", self.images, levels),
            (f"reconstruction\n{self.estimator_name or ''}", self.reconstructions, levels),
            ("residual", residuals, {"vmin": -most, "vmax": most}),
        )
        self.pictures_ = np.empty((3, n), dtype=object)
        for i, (title, images, limits) in enumerate(bands):
            for j, image in enumerate(images):
                self.pictures_[i, j] = self.axes_[i, j].imshow(image, cmap="gray", **limits)
                self.axes_[i, j].set(xticks=[], yticks=[])
            self.axes_[i, 0].set_ylabel(title, fontsize=8, **PLAIN)
        for panel, label, length in zip(self.axes_[0], self.labels, np.linalg.norm(residuals, axis=(1, 2))):
            panel.set_title(f"{label}\noff by {length:.3g}", fontsize=8, **PLAIN)
        for i, beside in ((0, self.axes_[:2, :]), (2, self.axes_[2, :])):
            shape: dict[str, Any] = {"aspect": 20 if i == 0 else 9, "pad": 0.01}
            bar = self.figure_.colorbar(self.pictures_[i, 0], ax=list(beside.flat), **shape)
            bar.ax.tick_params(labelsize=8)
        return self


def _image_shape(given: tuple[int, int] | None, n_features: int) -> tuple[int, int]:
    side = isqrt(n_features)
    shape = (side, side) if given is None else tuple(given)
    if len(shape) != 2 or min(shape) < 1 or shape[0] * shape[1] != n_features:
        was = "are not a square" if given is None else f"do not make image_shape={given!r}"
        raise ValueError(
            f"{n_features} features {was}; give image_shape=(height, width) of that many pixels."
        )
    return int(shape[0]), int(shape[1])
