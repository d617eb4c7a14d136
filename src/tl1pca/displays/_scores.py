"""Scores of the rows, and scores with loadings."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..diagnostics import excess
from ._base import Display, Prepared, prepare, pyplot
from ._points import draw, legend, parts_of, place_labels
from ._window import at_edge, beyond, draw_arrows
from .style import BLACK, GRAY, PLAIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]


class ScoreDisplay(Display):
    """Two scores of every row, marked by the region of the outlier map it falls into.

    A single component is drawn as a strip: the height of a point means
    nothing there and only keeps points apart. With more than 10,000 rows the
    regular ones are shaded hexagons, and the others are one picture in a
    vector file. Rows more than twenty widths of the regular ones away from
    these are arrows at the edge, so that the others can be told apart.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, 2) or (n_samples, 1)
    components : tuple of int
        Which components these are, counted from zero.
    labels : sequence of str of shape (n_samples,)
        Names of the rows.
    flags : ndarray of int of shape (n_samples,), optional
        Values of `Flag`.
    extremeness : ndarray of shape (n_samples,), optional
        How far out the rows are, for the choice of labels.
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
    far_ : ndarray of bool of shape (n_samples,)
        The rows that are arrows at the edge.
    labels_ : list of matplotlib Annotation

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.displays import ScoreDisplay
    >>> X = load_iris().data
    >>> display = ScoreDisplay.from_estimator(TL1SubspacePCA(2, random_state=0).fit(X), X)
    >>> display.scores.shape
    (150, 2)
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        scores: Array,
        components: Sequence[int],
        labels: Sequence[str],
        flags: Array | None = None,
        extremeness: Array | None = None,
        groups: ArrayLike | None = None,
        estimator_name: str | None = None,
    ):
        self.scores = scores
        self.components = components
        self.labels = labels
        self.flags = flags
        self.extremeness = extremeness
        self.groups = groups
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        components: Sequence[int] = (0, 1),
        labels: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        n_labels: int = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scores of the rows of X.

        Parameters
        ----------
        estimator : fitted estimator with components_
            One of this package, scikit-learn's PCA, or a pipeline that ends in one.
            Flags are shown where it has mean_ and explained_variance_ as well.
        X : array-like of shape (n_samples, n_features)
        components : pair of int, default=(0, 1)
            Components to draw, counted from zero. An estimator with one component has a strip.
        labels : array-like of shape (n_samples,), optional
            Names of the rows; by default the index of a data frame unless it
            only counts, else "row 1", "row 2", ...: `X[i]` is row i + 1.
        groups : array-like of shape (n_samples,), optional
            Known groups of the rows, shown by color and marker instead of the flags.
        n_labels : int, default=0
            How many outliers are labeled at most, the most extreme first.
        ax : matplotlib Axes, optional

        Returns
        -------
        ScoreDisplay
        """
        pyplot(cls.__name__)
        rows = prepare(estimator, X, labels, "transform")
        return cls(**_scored(rows, components, groups)).plot(ax, n_labels=n_labels)

    def plot(self, ax: Axes | None = None, *, n_labels: int = 0) -> Self:
        """Draw the scores.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        n_labels : int, default=0
            How many outliers are labeled at most, the most extreme first.

        Returns
        -------
        ScoreDisplay
        """
        return self._plot(ax, n_labels, self.scores[:0])

    def _plot(self, ax: Axes | None, n_labels: int, within: Array) -> Self:
        """Draw the scores, with room for some points among them."""
        ax = self._start(ax, (6.4, 4.8 if self.scores.shape[1] == 2 else 2.4))
        x, y = self._coordinates()
        ax.set_xlabel(f"score of component {self.components[0] + 1}")
        if self.scores.shape[1] == 2:
            ax.set_ylabel(f"score of component {self.components[1] + 1}")
        else:
            ax.set(ylim=(-1.0, 2.0), yticks=[])
            ax.spines["left"].set_visible(False)
        parts = parts_of(len(x), self.flags, self.groups)
        self.far_ = far = beyond(self.scores, self.flags)
        near = [(name, look, rows & ~far) for name, look, rows in parts]
        self.points_ = draw(ax, x, y, near, shade=self.groups is None)
        if far.any():
            x, y = self._draw_far(x, y, parts, within)
        ax.set_title(self.estimator_name or "", **PLAIN)
        chosen = self._most_extreme(n_labels)
        names = [self.labels[i] for i in chosen]
        self.labels_ = place_labels(ax, x[chosen], y[chosen], names, np.column_stack([x, y]))
        return self

    def _draw_far(self, x: Array, y: Array, parts: Sequence[Any], within: Array) -> tuple[Array, Array]:
        """Arrows for the rows far out; where all rows are shown."""
        ax, far = self.ax_, self.far_
        window, places = at_edge(self.scores[far], np.concatenate([self.scores[~far], within]))
        given = np.column_stack([x, y])[far]
        if window.shape[1] == 1:  # a strip, along which it goes straight on
            ax.set_xlim(*window[:, 0])
            window = np.column_stack([window, [-1.0, 2.0]])
            places = np.column_stack([places[:, 0], y[far]])
            given = np.column_stack([given[:, 0] - places[:, 0], np.zeros(len(given))]) + window.mean(axis=0)
        else:
            ax.set(xlim=window[:, 0], ylim=window[:, 1])
        colors = np.full(len(x), BLACK, dtype=object)
        for _, look, rows in parts:
            colors[rows] = look.color
        draw_arrows(ax, places, window, given, colors[far])
        count = int(far.sum())
        x, y = x.copy(), y.copy()
        x[far], y[far] = places.T
        box: Any = ax.get_legend()
        legend(
            ax,
            [*box.legend_handles, ax.plot([], [], ">", color=GRAY, ms=7)[0]],
            [*(text.get_text() for text in box.get_texts()), f"at the edge: {count} far out"],
            np.column_stack([x, y]),
        )
        return x, y

    def _coordinates(self) -> tuple[Array, Array]:
        if self.scores.shape[1] == 2:
            return self.scores[:, 0], self.scores[:, 1]
        golden = 0.5 * (np.sqrt(5.0) - 1.0)  # its multiples spread evenly, and alike in every run
        return self.scores[:, 0], (np.arange(len(self.scores)) * golden) % 1.0

    def _most_extreme(self, count: int) -> Array:
        if self.flags is None or self.extremeness is None:
            return np.arange(0)
        order = np.argsort(-np.where(self.flags > 0, self.extremeness, -np.inf), kind="stable")
        order = order[: max(count, 0)]
        return order[self.flags[order] > 0]


def _scored(rows: Prepared, components: Sequence[int], groups: ArrayLike | None) -> dict[str, Any]:
    """The scores of two components (or of the only one), and the flags where they can be had."""
    k = len(rows.pca.components_)
    pair = (0,) if k == 1 else tuple(components)
    if k > 1 and (len(pair) != 2 or not all(isinstance(j, Integral) and 0 <= j < k for j in pair)):
        raise ValueError(f"components={components!r} must be two numbers from 0 to {k - 1}.")
    judged: dict[str, Any] = {}
    if hasattr(rows.pca, "mean_") and hasattr(rows.pca, "explained_variance_"):
        found = rows.diagnostics
        beyond = excess(found.score_distances, found.orthogonal_distances, found.cutoffs)
        judged = {"flags": found.flags, "extremeness": beyond}
    return {
        "scores": rows.scores[:, pair],
        "components": pair,
        "labels": rows.labels,
        "groups": groups,
        "estimator_name": rows.name,
        **judged,
    }


class BiplotDisplay(Display):
    """Scores of the rows with the loadings of the features as arrows.

    The arrows are longer than the loadings by a common factor, which the
    legend names, so that they reach as far as the scores. Rows far out along
    an arrow have large values of that feature.

    Parameters
    ----------
    score_display : ScoreDisplay
        The rows.
    loadings : ndarray of shape (n_features, 2)
    feature_names : sequence of str of shape (n_features,)

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    arrows_ : matplotlib Quiver
        From the origin to the loadings times `scale_`, the longest first.
    names_ : list of matplotlib Annotation
        Names of the features at the tips.
    scale_ : float

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.displays import BiplotDisplay
    >>> X = load_iris(as_frame=True).data
    >>> display = BiplotDisplay.from_estimator(TL1SubspacePCA(2, random_state=0).fit(X), X)
    >>> sorted(name.get_text() for name in display.names_)[0]
    'petal length (cm)'
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, score_display: ScoreDisplay, loadings: Array, feature_names: Sequence[str]):
        self.score_display = score_display
        self.loadings = loadings
        self.feature_names = feature_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        components: Sequence[int] = (0, 1),
        groups: ArrayLike | None = None,
        n_features: int = 12,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the scores of the rows of X and the loadings.

        Parameters
        ----------
        estimator : fitted estimator with components_
            One of this package, scikit-learn's PCA, or a pipeline that ends in one.
        X : array-like of shape (n_samples, n_features)
        components : pair of int, default=(0, 1)
            Components to draw, counted from zero.
        groups : array-like of shape (n_samples,), optional
            Known groups of the rows, shown by color and marker instead of the flags.
        n_features : int, default=12
            How many features have an arrow, those with the longest ones.
        ax : matplotlib Axes, optional

        Returns
        -------
        BiplotDisplay
        """
        pyplot(cls.__name__)
        rows = prepare(estimator, X, None, "transform")
        if len(rows.pca.components_) < 2:
            raise ValueError(
                f"A biplot needs two components, {rows.name} has one; ScoreDisplay draws it as a strip."
            )
        scores = ScoreDisplay(**_scored(rows, components, groups))
        loadings = np.asarray(rows.pca.components_)[list(scores.components)].T
        display = cls(score_display=scores, loadings=loadings, feature_names=rows.features)
        return display.plot(ax, n_features=n_features)

    def plot(self, ax: Axes | None = None, *, n_features: int = 12) -> Self:
        """Draw the biplot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        n_features : int, default=12
            How many features have an arrow, those with the longest ones.

        Returns
        -------
        BiplotDisplay
        """
        if n_features < 1:
            raise ValueError(f"n_features={n_features} must be at least 1: so many features have an arrow.")
        lengths = np.linalg.norm(self.loadings, axis=1)
        chosen = np.argsort(-lengths, kind="stable")[:n_features]
        scores = self.score_display.scores
        drawn = scores[~beyond(scores, self.score_display.flags)]
        farthest = float(np.linalg.norm(drawn, axis=1).max())
        self.scale_ = 0.7 * (farthest or 1.0) / (float(lengths.max()) or 1.0)
        tips = self.scale_ * self.loadings[chosen]
        self.score_display._plot(self._start(ax, (6.8, 5.4)), 0, 1.15 * tips)
        shafts = np.concatenate([share * tips for share in np.linspace(0.0, 1.0, 25)])
        covered = np.concatenate([drawn, shafts])
        self._draw_arrows(tips, len(lengths), covered)
        names = [self.feature_names[i] for i in chosen]
        self.names_ = place_labels(self.ax_, tips[:, 0], tips[:, 1], names, covered, outward=True)
        return self

    def _draw_arrows(self, tips: Array, n_features: int, covered: Array) -> None:
        ax: Any = self.ax_
        zero = np.zeros(len(tips))
        self.arrows_ = ax.quiver(
            zero,
            zero,
            *tips.T,
            angles="xy",
            scale_units="xy",
            scale=1.0,
            color=BLACK,
            width=0.004,
            zorder=3,
        )
        ax.update_datalim(1.15 * tips)
        ax.autoscale_view()
        for line in (ax.axhline, ax.axvline):
            line(0.0, color=GRAY, lw=0.6, zorder=0.5)
        shown = "" if len(tips) == n_features else f", {len(tips)} longest of {n_features}"
        rows = ax.get_legend()
        legend(
            ax,
            [*rows.legend_handles, ax.plot([], [], color=BLACK, marker=">", ms=4)[0]],
            [*(text.get_text() for text in rows.get_texts()), f"loadings × {self.scale_:.3g}{shown}"],
            covered,
        )
