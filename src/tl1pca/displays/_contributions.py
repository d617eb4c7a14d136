"""Which columns make rows unusual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..diagnostics import Flag, contributions
from ._base import Display, prepare, pyplot
from ._points import legend
from .style import BLUE, GRAY, PLAIN, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]

KINDS = {
    "cell": "difference to the prediction by the other cells, deviations",
    "orthogonal": "part of the squared orthogonal distance",
    "score": "part of the squared score distance",
}


class ContributionDisplay(Display):
    """What the columns of one row, or of several on average, contribute to its distances.

    Beside every bar, in gray, where nine tenths of the regular rows are.

    Parameters
    ----------
    values : ndarray of shape (n_features,)
        Mean contributions of the chosen rows.
    usual : ndarray of shape (2, n_features)
        Range of the regular rows.
    feature_names : sequence of str
    kind : {"cell", "orthogonal", "score"}
    title : str

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_, usual_ : matplotlib BarContainer

    See Also
    --------
    tl1pca.diagnostics.contributions : the numbers behind it.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.datasets import make_contaminated
    >>> from tl1pca.displays import ContributionDisplay
    >>> X, bad, axes = make_contaminated(200, 10, 2, kind="clean", random_state=0)
    >>> X[4, 7] += 8.0
    >>> pca = TL1SubspacePCA(2, random_state=0).fit(X)
    >>> display = ContributionDisplay.from_estimator(pca, X, rows=4)
    >>> display.ax_.get_yticklabels()[-1].get_text()
    'x7'
    >>> plt.close(display.figure_)
    """

    def __init__(
        self, *, values: Array, usual: Array, feature_names: Sequence[str], kind: str, title: str = ""
    ):
        self.values = values
        self.usual = usual
        self.feature_names = feature_names
        self.kind = kind
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        rows: int | Sequence[int] = 0,
        kind: str = "cell",
        n_columns: int = 12,
        labels: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the contributions of rows of X.

        Parameters
        ----------
        estimator : fitted estimator with mean_, components_ and explained_variance_
            One of this package, scikit-learn's PCA, or a pipeline of scalers
            that ends in one.
        X : array-like of shape (n_samples, n_features)
            The rows to explain among others, of which the regular ones give
            what is usual.
        rows : int or sequence of int, default=0
            Positions in X; the mean of several.
        kind : {"cell", "orthogonal", "score"}, default="cell"
            See `tl1pca.diagnostics.Contributions`. With "cell" a bad cell is
            not smeared over the other columns.
        n_columns : int, default=12
            How many columns are drawn at most, the largest first.
        labels : array-like of shape (n_samples,), optional
            Names of the rows; by default the index of a data frame, else row numbers.
        ax : matplotlib Axes, optional

        Returns
        -------
        ContributionDisplay
        """
        pyplot(cls.__name__)
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {tuple(KINDS)}, got {kind!r}.")
        prepared = prepare(estimator, X, labels, "mean_", "explained_variance_", "explained_variance_ratio_")
        found = contributions(estimator, X)
        chosen = np.atleast_1d(np.asarray(rows, dtype=np.intp))
        parts: Array = np.nan_to_num(getattr(found, kind))  # a missing cell differs from nothing
        regular = prepared.diagnostics.flags == Flag.REGULAR
        usual = np.quantile(parts[regular] if regular.any() else parts, [0.05, 0.95], axis=0)
        names = [prepared.labels[i] for i in chosen]
        title = names[0] if len(names) == 1 else f"mean of {len(names)} rows"
        return cls(
            values=parts[chosen].mean(axis=0),
            usual=usual,
            feature_names=found.feature_names,
            kind=kind,
            title=title,
        ).plot(ax, n_columns=n_columns)

    def plot(self, ax: Axes | None = None, *, n_columns: int = 12) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        n_columns : int, default=12

        Returns
        -------
        ContributionDisplay
        """
        order = np.argsort(-np.abs(self.values), kind="stable")[: max(n_columns, 1)][::-1]
        ax = self._start(ax, (6.4, 1.2 + 0.28 * len(order)))
        place = np.arange(len(order))
        low, high = self.usual[:, order]
        beyond = (self.values[order] < low) | (self.values[order] > high)
        self.usual_ = ax.barh(place, high - low, left=low, height=0.85, color=GRAY, alpha=0.25)
        colors = np.where(beyond, RED, BLUE)
        self.bars_ = ax.barh(place, self.values[order], height=0.45, color=list(colors))
        ax.axvline(0.0, color=GRAY, lw=0.8)
        ax.set_yticks(place, [""] * len(order))
        for tick, j in zip(ax.get_yticklabels(), order, strict=True):
            tick.set(text=self.feature_names[j], **PLAIN)
        ax.set_yticks(place, [self.feature_names[j] for j in order], **PLAIN)
        ax.set_xlabel(KINDS[self.kind])
        ax.set_title(self.title, **PLAIN)
        right = self.values[order].max(initial=0.0) >= -self.values[order].min(initial=0.0)
        legend(
            ax,
            [self.usual_],
            ["nine tenths of the regular rows"],
            loc=f"lower {'right' if right else 'left'}",
        )
        return self
