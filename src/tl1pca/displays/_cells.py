"""The cell map: which entries of a table are wrong, and which rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._pipelines import inner_rows
from ._base import Display, features, fitted, pyplot, row_labels
from .style import BLACK, BLUE, GRAY, PLAIN, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]

#: Rows and columns that are drawn one by one; more are drawn in blocks.
MOST_ROWS, MOST_COLUMNS = 60, 80
#: Deviations at which a color is full.
FULL = 8.0


class CellMapDisplay(Display):
    """Residuals of the cells of a table, one square each: where it is wrong, and which way.

    A cell that is as expected is white. Orange ones lie above what the rest
    of their row says, marked by a triangle that points up where they are bad;
    blue ones lie below, marked by one that points down. Missing cells are gray
    with a cross. Rows that are bad as a whole have a dot beside their name.
    Of many rows and columns blocks are drawn, shaded by the share of bad cells.

    Parameters
    ----------
    residuals : ndarray of shape (n_samples, n_features)
        In deviations, NaN for missing cells.
    cell_flags : ndarray of bool of shape (n_samples, n_features)
    row_flags : ndarray of int of shape (n_samples,)
    labels, features : list of str
        Names of rows and columns.
    estimator_name : str, optional

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_ : matplotlib AxesImage
    above_, below_, missing_ : matplotlib PathCollection or None
        The marks of bad and missing cells, None where blocks are drawn.
    bad_rows_ : list of matplotlib Text
        The dots of bad rows.
    rows_ : ndarray of int
        The rows that are drawn, from top to bottom.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from tl1pca import TL1CellPCA
    >>> from tl1pca.displays import CellMapDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 1)) @ rng.normal(size=(1, 6)) + 0.1 * rng.normal(size=(60, 6))
    >>> X[7, 3] = 9.0
    >>> display = CellMapDisplay.from_estimator(TL1CellPCA(1, random_state=0).fit(X), X, n_rows=10)
    >>> int(display.rows_[0])
    7
    """

    def __init__(
        self,
        *,
        residuals: Array,
        cell_flags: Array,
        row_flags: Array,
        labels: list[str],
        features: list[str],
        estimator_name: str | None = None,
    ):
        self.residuals = residuals
        self.cell_flags = cell_flags
        self.row_flags = row_flags
        self.labels = labels
        self.features = features
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        rows: ArrayLike | None = None,
        n_rows: int | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Judge the cells of X and draw them.

        Parameters
        ----------
        estimator : fitted estimator with cell_residuals, or a pipeline that ends in one
        X : array-like of shape (n_samples, n_features)
        labels : array-like of shape (n_samples,), optional
            Names of the rows; by default the index of a data frame, or numbers.
        rows, n_rows, ax
            As in `plot`.

        Returns
        -------
        CellMapDisplay
        """
        pca = fitted(estimator, "components_", "cell_residuals", "cutoffs_")
        data = inner_rows(estimator, X)
        residuals = np.asarray(pca.cell_residuals(data), dtype=np.float64)
        return cls(
            residuals=residuals,
            cell_flags=np.nan_to_num(np.abs(residuals)) > pca.cell_cutoff,
            row_flags=(np.asarray(pca.predict(data)) < 0).astype(int),
            labels=row_labels(X, labels, len(residuals)),
            features=features(estimator),
            estimator_name=type(pca).__name__,
        ).plot(ax, rows=rows, n_rows=n_rows)

    def plot(
        self, ax: Axes | None = None, *, rows: ArrayLike | None = None, n_rows: int | None = None
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        rows : array-like of int, optional
            Rows to draw, in this order; by default all as they come.
        n_rows : int, optional
            Draw so many rows only, those with the largest bad cells first.

        Returns
        -------
        CellMapDisplay
        """
        if rows is not None and n_rows is not None:
            raise ValueError("give either rows or n_rows, not both.")
        chosen = np.arange(len(self.residuals)) if rows is None else np.asarray(rows, dtype=np.intp)
        if n_rows is not None:
            chosen = self._worst(n_rows)
        self.rows_ = chosen
        n, d = len(chosen), len(self.features)
        blocks = n > MOST_ROWS or d > MOST_COLUMNS
        height = min(max(2.2, 0.9 + 0.22 * min(n, MOST_ROWS)), 9.0)
        ax = self._start(ax, (min(max(4.0, 2.0 + 0.3 * min(d, MOST_COLUMNS)), 11.0), height))
        ax.spines[:].set_visible(False)
        self.above_: Any = None
        self.below_: Any = None
        self.missing_: Any = None
        self.bad_rows_: list[Any] = []
        if blocks:
            self._draw_blocks(ax, chosen)
        else:
            self._draw_cells(ax, chosen)
        ax.set_title(self.estimator_name or "", **PLAIN)
        return self

    def _worst(self, count: int) -> Array:
        worst = np.where(self.cell_flags, np.abs(np.nan_to_num(self.residuals)), 0.0).max(axis=1)
        return np.argsort(-worst, kind="stable")[: max(count, 1)]

    def _draw_cells(self, ax: Axes, rows: Array) -> None:
        R, bad = self.residuals[rows], self.cell_flags[rows]
        self.image_ = ax.imshow(
            np.ma.masked_invalid(R),
            cmap=_colors(),
            vmin=-FULL,
            vmax=FULL,
            aspect="auto",
            interpolation="none",
        )
        mark: dict[str, Any] = {"s": 24, "color": BLACK, "linewidths": 0.8}
        self.above_ = ax.scatter(*_where(bad & (R > 0)), marker="^", **mark)
        self.below_ = ax.scatter(*_where(bad & (R < 0)), marker="v", **mark)
        self.missing_ = ax.scatter(*_where(np.isnan(R)), marker="x", s=18, color=GRAY, linewidths=0.8)
        ax.set_xticks(range(len(self.features)))
        ax.set_yticks(range(len(rows)))
        turned = len(self.features) > 12 or max(map(len, self.features)) > 8
        ax.set_xticklabels(self.features, rotation=90 if turned else 0, fontsize=8, **PLAIN)
        ax.set_yticklabels([self.labels[i] for i in rows], fontsize=8, **PLAIN)
        ax.set_xticks(np.arange(len(self.features) + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="#DDDDDD", linewidth=0.5)
        ax.tick_params(which="both", length=0)
        for i, row in enumerate(rows):
            if self.row_flags[row]:
                where = (1.01, i)
                self.bad_rows_.append(
                    ax.text(
                        *where,
                        "\N{BLACK CIRCLE}",
                        transform=ax.get_yaxis_transform(),
                        va="center",
                        fontsize=8,
                    )
                )
        self._explain(ax, "residual (deviations)", self.image_)
        ax.set_xlabel(
            "\N{BLACK UP-POINTING TRIANGLE} too high   \N{BLACK DOWN-POINTING TRIANGLE} too low   "
            "\N{MULTIPLICATION SIGN} missing   \N{BLACK CIRCLE} bad row",
            fontsize=8,
        )

    def _draw_blocks(self, ax: Axes, rows: Array) -> None:
        """Shares of bad cells in blocks of rows and columns."""
        n, d = len(rows), len(self.features)
        down = np.linspace(0, n, min(n, MOST_ROWS) + 1).astype(int)
        across = np.linspace(0, d, min(d, MOST_COLUMNS) + 1).astype(int)
        bad = self.cell_flags[rows].astype(float)
        sums = np.add.reduceat(np.add.reduceat(bad, down[:-1], axis=0), across[:-1], axis=1)
        share = sums / np.outer(np.diff(down), np.diff(across))
        self.image_ = ax.imshow(
            100 * share, cmap="Greys", vmin=0.0, aspect="auto", interpolation="none", extent=(0, d, n, 0)
        )
        if d <= MOST_COLUMNS:
            ax.set_xticks(np.arange(d) + 0.5)
            ax.set_xticklabels(self.features, rotation=90, fontsize=8, **PLAIN)
        ax.set(xlabel="column", ylabel="row, as drawn")
        self._explain(ax, "bad cells (%)", self.image_)

    def _explain(self, ax: Axes, label: str, image: Any) -> None:
        pyplot(type(self).__name__)
        bar = ax.figure.colorbar(image, ax=ax, pad=0.06, fraction=0.04, aspect=30)
        bar.set_label(label)
        bar.outline.set_visible(False)


def _where(mask: Array) -> tuple[Array, Array]:
    """Coordinates x, y of the cells in a mask."""
    y, x = np.nonzero(mask)
    return x, y


def _colors() -> Any:
    """Blue below, white as expected (up to half of a cut-off), orange above, light gray where nothing is."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = [(0.0, BLUE), (0.4, "#FFFFFF"), (0.6, "#FFFFFF"), (1.0, RED)]
    return LinearSegmentedColormap.from_list("cells", stops).with_extremes(bad="#E6E6E6")
