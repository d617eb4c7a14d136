"""What the displays share: the way into matplotlib, and what they ask of an estimator and its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array, check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Array = NDArray[Any]


def pyplot(caller: str) -> Any:
    """matplotlib.pyplot, imported when it is needed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} draws with matplotlib, which cannot be imported; pip install 'tl1pca[plot]' brings it."
        ) from error
    return plt


class Display:
    """Base of the displays: where they are drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def _start(self, ax: Axes | None, size: tuple[float, float] = (6.4, 4.4)) -> Axes:
        """The axes to draw on, new ones unless they are given, without frames above and right."""
        if ax is None:
            _, ax = pyplot(type(self).__name__).subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        ax.spines[["top", "right"]].set_visible(False)
        return ax

    def _split(self, ax: Axes | None, rows: int, columns: int, size: tuple[float, float]) -> Array:
        """A grid of axes in the place of one subplot."""
        host = self._start(ax, size)
        place = host.get_subplotspec()
        if place is None:
            raise ValueError(
                f"{type(self).__name__} divides the axes it is given, which works for subplots only; "
                "give one of plt.subplots() or figure.add_subplot()."
            )
        host.set_axis_off()
        grid = place.subgridspec(rows, columns)
        axes = [[self.figure_.add_subplot(grid[i, j]) for j in range(columns)] for i in range(rows)]
        return np.array(axes, dtype=object)


@dataclass(frozen=True)
class Prepared:
    """A fitted estimator without the steps before it, and rows in its own coordinates."""

    pca: Any
    rows: Any
    data: Array
    labels: list[str]
    name: str

    @property
    def scores(self) -> Array:
        """What `transform` returns; it sees the rows as they came, with the names of their columns."""
        return np.asarray(self.pca.transform(self.rows))

    @property
    def features(self) -> list[str]:
        """Names of the features the estimator saw, x0, x1, ... where it saw none."""
        names = getattr(self.pca, "feature_names_in_", None)
        return [f"x{i}" for i in range(self.data.shape[1])] if names is None else [str(n) for n in names]


def fitted(estimator: Any, *needs: str) -> Any:
    """The last step of a pipeline, or the estimator itself; a readable error where it lacks something."""
    pca = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if hasattr(pca, "fit"):  # what has no fit has been given its attributes
        check_is_fitted(pca)
    lacking = [need for need in needs if not hasattr(pca, need)]
    if lacking:
        raise TypeError(
            f"{type(pca).__name__} has no {', '.join(lacking)}; this display needs {', '.join(needs)}, "
            "as the estimators of tl1pca have."
        )
    return pca


def prepare(estimator: Any, X: ArrayLike, labels: ArrayLike | None, *needs: str) -> Prepared:
    """Check estimator and rows; take the rows through the steps of a pipeline before its last one."""
    pca = fitted(estimator, "components_", *needs)
    rows: Any = X
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        rows = estimator[:-1].transform(X)
    tags = getattr(pca, "__sklearn_tags__", None)
    nan = "allow-nan" if tags is not None and tags().input_tags.allow_nan else True
    data: Array = check_array(rows, dtype=[np.float64, np.float32], ensure_all_finite=nan, input_name="X")
    d = np.shape(pca.components_)[1]
    if data.shape[1] != d:
        raise ValueError(
            f"X has {data.shape[1]} features, {type(pca).__name__} was fitted to {d}; "
            "give rows of the same columns."
        )
    missing = np.isnan(data)
    if missing.any():  # what is missing is no reason to call a row an outlier: the fit takes its place
        data = np.where(missing, pca.inverse_transform(np.asarray(pca.transform(rows))), data)
    return Prepared(pca, rows, data, row_labels(X, labels, len(data)), type(pca).__name__)


def row_labels(X: ArrayLike, labels: ArrayLike | None, n: int) -> list[str]:
    """Names of the rows: those given, else the index of a data frame, else their numbers."""
    if labels is None:
        labels = getattr(X, "index", None)
        if labels is None or callable(labels):  # a list has a method of that name
            labels = np.arange(n)
    names = [str(label) for label in np.asarray(labels, dtype=object)]
    if len(names) != n:
        raise ValueError(f"labels has {len(names)} entries for {n} rows of X; give one for each row.")
    return names
