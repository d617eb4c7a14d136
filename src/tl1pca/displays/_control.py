"""Control charts: both distances of new rows in the order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..diagnostics import Flag, Monitoring, monitor, orthogonal_limit
from ._base import Display, prepare, pyplot
from ._map import FAR
from ._points import legend
from .style import BLACK, FLAG_LOOKS, GRAY, ORANGE, PLAIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]


class ControlChartDisplay(Display):
    """Score and orthogonal distance of new rows, one after the other, with their limits.

    Process engineers know their squares as the charts of T2 and Q (SPE). Rows
    beyond a limit have the mark of their region in the outlier map; rings mark
    runs: two of three rows beyond the dotted line, which one regular row in
    twenty exceeds where one in a hundred exceeds the limit.

    Parameters
    ----------
    monitoring : Monitoring
        As `tl1pca.diagnostics.monitor` returns it.
    n_components : int
    labels : sequence of str of shape (n_samples,)
        Names of the rows.
    time : array-like of shape (n_samples,), optional
        Where the rows are on the horizontal axis: numbers or dates.
    estimator_name : str, optional
        Title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The place of both charts; `axes_` has the two.
    axes_ : ndarray of two matplotlib Axes
        Score distance above, orthogonal distance below.
    figure_ : matplotlib Figure
    limits_ : list of matplotlib Line2D

    See Also
    --------
    tl1pca.diagnostics.monitor : the numbers behind it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.datasets import make_contaminated
    >>> from tl1pca.displays import ControlChartDisplay
    >>> X, bad, axes = make_contaminated(300, 10, 2, fraction=0.1, random_state=0)
    >>> pca = TL1SubspacePCA(2, random_state=0).fit(X[:200])
    >>> display = ControlChartDisplay.from_estimator(pca, X[200:])
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['score distance', 'orthogonal distance']
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        monitoring: Monitoring,
        n_components: int,
        labels: list[str],
        time: ArrayLike | None = None,
        estimator_name: str | None = None,
    ):
        self.monitoring = monitoring
        self.n_components = n_components
        self.labels = labels
        self.time = time
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        level: float = 0.99,
        training: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        time: ArrayLike | None = None,
        n_labels: int = 5,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the charts of new rows.

        Parameters
        ----------
        estimator : fitted estimator with mean_, components_ and explained_variance_
            One of this package, scikit-learn's PCA, or a pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
            Rows in the order of time that were not in the fit.
        level : float, default=0.99
            Share of regular rows below each limit.
        training : array-like, optional
            The training rows, for an estimator that keeps nothing of them.
        labels : array-like of shape (n_samples,), optional
            Names of the rows; by default the index of a data frame, else row numbers.
        time : array-like of shape (n_samples,), optional
            Where the rows are on the horizontal axis: numbers or dates.
        n_labels : int, default=5
            How many rows beyond a limit are labeled at most in each chart.
        ax : matplotlib Axes, optional

        Returns
        -------
        ControlChartDisplay
        """
        pyplot(cls.__name__)
        rows = prepare(estimator, X, labels, "mean_", "explained_variance_")
        return cls(
            monitoring=monitor(estimator, X, level, training=training),
            n_components=len(rows.pca.components_),
            labels=rows.labels,
            time=time,
            estimator_name=rows.name,
        ).plot(ax, n_labels=n_labels)

    def plot(self, ax: Axes | None = None, *, n_labels: int = 5) -> Self:
        """Draw the charts.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A subplot, which is divided; new ones by default.
        n_labels : int, default=5

        Returns
        -------
        ControlChartDisplay
        """
        found = self.monitoring
        self.axes_ = self._split(ax, 2, 1, (8.4, 4.8))[:, 0]
        n = len(found.flags)
        when = np.arange(1, n + 1) if self.time is None else np.asarray(self.time)
        sd, od = found.score_distances, found.orthogonal_distances
        charts = (
            ("score distance", sd, np.full(n, found.limits.score), np.full(n, found.warnings.score)),
            (
                "orthogonal distance",
                od,
                orthogonal_limit(sd, found.limits),
                orthogonal_limit(sd, found.warnings),
            ),
        )
        self.limits_: list[Any] = []
        for chart, (name, distance, limit, warning) in zip(self.axes_, charts, strict=True):
            self._chart(chart, when, distance, limit, warning, n_labels)
            chart.set_ylabel(name)
        upper, lower = self.axes_
        upper.set_title(
            self.estimator_name or "", loc="left", fontsize=10, pad=20, **PLAIN
        )  # above the legend
        upper.tick_params(labelbottom=False)
        lower.set_xlabel("row" if self.time is None else "time")
        self._explain(upper)
        return self

    def _chart(
        self, ax: Any, when: Array, distance: Array, limit: Array, warning: Array, n_labels: int
    ) -> None:
        found = self.monitoring
        ax.spines[["top", "right"]].set_visible(False)
        ax.plot(when, distance, "-", color=GRAY, lw=0.7, zorder=1)
        for flag, look in FLAG_LOOKS.items():
            rows = found.flags == flag
            ax.scatter(
                when[rows], distance[rows], s=look.size, marker=look.marker, color=look.color, zorder=3
            )
        rings = found.runs & (distance > warning)
        ax.scatter(when[rings], distance[rings], s=90, facecolors="none", edgecolors=ORANGE, zorder=2)
        self.limits_ += ax.plot(when, limit, "--", color=BLACK, lw=1.1)
        ax.plot(when, warning, ":", color=BLACK, lw=0.9)
        if len(distance) and limit.min() > 0 and distance.max() > FAR * limit.min():
            ax.set_yscale("log")
        else:
            ax.set_ylim(bottom=0.0)
        ratio = np.where(distance > limit, distance / np.maximum(limit, 1e-300), 0.0)
        for i in np.argsort(-ratio, kind="stable")[: max(n_labels, 0)]:
            if ratio[i] > 0:
                ax.annotate(
                    self.labels[i],
                    (when[i], distance[i]),
                    xytext=(4, 3),
                    textcoords="offset points",
                    fontsize=8,
                    **PLAIN,
                )

    def _explain(self, ax: Any) -> None:
        """The legend, above the chart: below it there are points everywhere."""
        found = self.monitoring
        handles = [self.limits_[0]]
        names = ["limit"]
        for flag, look in FLAG_LOOKS.items():
            count = int((found.flags == flag).sum())
            if flag is not Flag.REGULAR and count:
                handles.append(ax.scatter([], [], s=look.size, marker=look.marker, color=look.color))
                names.append(f"{flag.label} ({count})")
        if found.runs.any():
            handles.append(ax.scatter([], [], s=60, facecolors="none", edgecolors=ORANGE))
            names.append(f"in a run ({int(found.runs.sum())})")
        legend(ax, handles, names, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(names))
