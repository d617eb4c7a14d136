"""The outlier map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..diagnostics import Cutoffs, excess, orthogonal_limit
from ._base import Display, prepare, pyplot
from ._points import draw, parts_of, place_labels
from .style import BLACK, PLAIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]

#: An axis is logarithmic when a distance is more than so many times its cut-off: on a linear one the
#: regular rows would share a twentieth of it.
FAR = 20.0


class OutlierMapDisplay(Display):
    """Score distance against orthogonal distance, with both cut-offs.

    Rows above the horizontal cut-off lie off the subspace, rows right of the
    vertical one far out inside it. The orthogonal cut-off is the one that
    decides about the flags: it bends upwards for estimators that account for
    the tilt of a fitted subspace.

    An axis is logarithmic when a distance on it exceeds twenty times its
    cut-off; distances below a thousandth of the cut-off are then drawn there.
    With more than 10,000 rows the regular ones are shaded hexagons, and the
    others are one picture in a vector file.

    Parameters
    ----------
    score_distances, orthogonal_distances : ndarray of shape (n_samples,)
    cutoffs : Cutoffs
    flags : ndarray of int of shape (n_samples,)
        Values of `Flag`.
    n_components : int
    labels : sequence of str of shape (n_samples,)
        Names of the rows.
    groups : array-like of shape (n_samples,), optional
        Known groups of the rows, shown by color and marker instead of the flags.
    estimator_name : str, optional
        Title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : list of matplotlib artists
        One for each region, or group, that has rows.
    score_line_, orthogonal_line_ : matplotlib Line2D
        The cut-offs.
    labels_ : list of matplotlib Annotation

    See Also
    --------
    tl1pca.diagnostics.diagnose : the numbers behind the map.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.datasets import make_contaminated
    >>> from tl1pca.displays import OutlierMapDisplay
    >>> X, bad, axes = make_contaminated(200, 10, 2, fraction=0.1, random_state=0)
    >>> display = OutlierMapDisplay.from_estimator(TL1SubspacePCA(2, random_state=0).fit(X), X)
    >>> display.ax_.get_ylabel()
    'orthogonal distance'
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        score_distances: Array,
        orthogonal_distances: Array,
        cutoffs: Cutoffs,
        flags: Array,
        n_components: int,
        labels: list[str],
        groups: ArrayLike | None = None,
        estimator_name: str | None = None,
    ):
        self.score_distances = score_distances
        self.orthogonal_distances = orthogonal_distances
        self.cutoffs = cutoffs
        self.flags = flags
        self.n_components = n_components
        self.labels = labels
        self.groups = groups
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        n_labels: int = 5,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the map of the rows of X.

        Parameters
        ----------
        estimator : fitted estimator with mean_, components_ and explained_variance_
            One of this package, scikit-learn's PCA, or a pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
        labels : array-like of shape (n_samples,), optional
            Names of the rows; by default the index of a data frame unless it
            only counts, else "row 1", "row 2", ...: `X[i]` is row i + 1.
        groups : array-like of shape (n_samples,), optional
            Known groups of the rows, shown by color and marker instead of the flags.
        n_labels : int, default=5
            How many outliers are labeled at most, the most extreme first.
        ax : matplotlib Axes, optional

        Returns
        -------
        OutlierMapDisplay
        """
        pyplot(cls.__name__)
        rows = prepare(estimator, X, labels, "mean_", "explained_variance_")
        found = rows.diagnostics
        return cls(
            score_distances=found.score_distances,
            orthogonal_distances=found.orthogonal_distances,
            cutoffs=found.cutoffs,
            flags=found.flags,
            n_components=len(rows.pca.components_),
            labels=rows.labels,
            groups=groups,
            estimator_name=rows.name,
        ).plot(ax, n_labels=n_labels)

    def plot(self, ax: Axes | None = None, *, n_labels: int = 5) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        n_labels : int, default=5
            How many outliers are labeled at most, the most extreme first.

        Returns
        -------
        OutlierMapDisplay
        """
        ax = self._start(ax)
        x, (left, right), x_scale = _axis(self.score_distances, self.cutoffs.score)
        along = _grid(left, right, x_scale)
        limit = orthogonal_limit(along, self.cutoffs)
        y, (low, high), y_scale = _axis(self.orthogonal_distances, self.cutoffs.orthogonal)
        ax.set(xscale=x_scale, yscale=y_scale, xlabel="score distance", ylabel="orthogonal distance")
        ax.set(xlim=(left, right), ylim=(low, high))
        up = _grid(low, high, y_scale)
        lines = np.column_stack([[*along, *np.full_like(up, self.cutoffs.score)], [*limit, *up]])
        parts = parts_of(len(x), self.flags, self.groups)
        self.points_ = draw(ax, x, y, parts, shade=self.groups is None, clear=lines)
        cut: dict[str, Any] = {"color": BLACK, "ls": "--", "lw": 1.0, "zorder": 1.5}
        self.score_line_ = ax.axvline(self.cutoffs.score, **cut)
        (self.orthogonal_line_,) = ax.plot(along, limit, **cut)
        ax.set_title(self.estimator_name or "", **PLAIN)
        chosen = self._most_extreme(n_labels)
        names = [self.labels[i] for i in chosen]
        self.labels_ = place_labels(ax, x[chosen], y[chosen], names, np.column_stack([x, y]))
        return self

    def _most_extreme(self, count: int) -> Array:
        beyond = excess(self.score_distances, self.orthogonal_distances, self.cutoffs)
        beyond = np.where(self.flags > 0, beyond, -np.inf)
        order = np.argsort(-beyond, kind="stable")[: max(count, 0)]
        return order[self.flags[order] > 0]


def _grid(low: float, high: float, scale: str) -> Array:
    return (np.geomspace if scale == "log" else np.linspace)(low, high, 200)


def _axis(distances: Array, cutoff: float) -> tuple[Array, tuple[float, float], str]:
    """Distances as drawn, limits and scale of their axis."""
    top = max(float(distances.max()), cutoff)
    if cutoff > 0 and top > FAR * cutoff:
        drawn = np.maximum(distances, 1e-3 * cutoff)
        return drawn, (0.8 * float(drawn.min()), 1.6 * top), "log"
    return distances, (0.0, 1.1 * top if top > 0 else 1.0), "linear"
