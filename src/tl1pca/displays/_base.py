"""What the displays share: the way into matplotlib, and what they ask of an estimator and its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._pipelines import (
    feature_names,
    fitted_end,
    index_labels,
    inner_names,
    inner_rows,
    numbers,
    split,
)
from ..diagnostics import Diagnostics, diagnose

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
    """A fitted estimator without the steps before it, and rows in its own coordinates.

    `features` are the names of the columns it saw, as the user knows them.
    """

    pca: Any
    steps: Any
    rows: Any
    data: Array
    features: list[str]
    labels: list[str]
    name: str

    @property
    def diagnostics(self) -> Diagnostics:
        """Distances and flags; a method that judges cells is given the rows with their gaps."""
        return diagnose(self.pca, self.rows if hasattr(self.pca, "cell_residuals") else self.data)

    @property
    def scores(self) -> Array:
        """What `transform` returns; it sees the rows as they came, with the names of their columns."""
        return np.asarray(self.pca.transform(self.rows))

    def original(self, data: Array) -> Array:
        """Rows in the units of X again, where every step before the estimator can be undone."""
        if self.steps is None:
            return data
        try:
            return np.asarray(self.steps.inverse_transform(data))
        except (AttributeError, ValueError):  # what an imputer filled in stays
            return data


def fitted(estimator: Any, *needs: str) -> Any:
    """The last step of a pipeline, or the estimator itself; a readable error where it lacks something."""
    pca = fitted_end(estimator)
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
    rows = inner_rows(estimator, X)
    data = numbers(pca, rows)
    return Prepared(
        pca=pca,
        steps=split(estimator)[0],
        rows=rows,
        data=data,
        features=features(estimator),
        labels=row_labels(X, labels, len(data)),
        name=type(pca).__name__,
    )


def features(estimator: Any) -> list[str]:
    """Names of the columns that the last step sees, as the user knows them."""
    count: Any = getattr(estimator, "n_features_in_", np.shape(split(estimator)[1].components_)[1])
    return inner_names(estimator, feature_names(estimator, int(count)))


def row_labels(X: ArrayLike, labels: ArrayLike | None, n: int) -> list[str]:
    """Names of the rows: those given, else the index of a data frame, else "row 1", "row 2" and so on.

    People count from 1, below the header of a table; a plain count from zero
    in the index of a data frame is no name.
    """
    given: Any = index_labels(X) if labels is None else labels
    if given is None:
        return [f"row {i}" for i in range(1, n + 1)]
    names = [str(label) for label in np.asarray(given, dtype=object)]
    if len(names) != n:
        raise ValueError(f"labels has {len(names)} entries for {n} rows of X; give one for each row.")
    return names
