"""How many components: the robust scree plot and the prediction error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..selection import ComponentSelection, select_n_components
from ._base import Display, pyplot
from ._curves import _count_along
from ._points import legend
from .style import BLACK, BLUE, GRAY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SelectionDisplay(Display):
    """Two curves that say how many components there are.

    On the left the scree plot of the rows that a robust fit trusts: their
    eigenvalues with standard errors, and what noise would have in their
    place. On the right the error with which cells are predicted by the other
    cells of their row; its bars are standard errors of the difference to the
    smallest. The number that was chosen is marked in both.

    Parameters
    ----------
    selection : ComponentSelection
        As `tl1pca.select_n_components` returns it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The place of both; `axes_` has the two.
    axes_ : ndarray of two matplotlib Axes
    figure_ : matplotlib Figure
    eigenvalues_, errors_ : matplotlib ErrorbarContainer
    null_ : matplotlib Line2D

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from tl1pca import select_n_components
    >>> from tl1pca.datasets import make_contaminated
    >>> from tl1pca.displays import SelectionDisplay
    >>> X, bad, axes = make_contaminated(200, 15, 3, kind="line", fraction=0.2, random_state=0)
    >>> display = SelectionDisplay(selection=select_n_components(X)).plot()
    >>> len(display.axes_)
    2
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, selection: ComponentSelection):
        self.selection = selection

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, *, ax: Axes | None = None, **options: Any) -> Self:
        """Choose the number of components and draw both curves.

        Parameters
        ----------
        estimator : estimator or Pipeline, or None
            As for `tl1pca.select_n_components`; it need not be fitted.
        X : array-like of shape (n_samples, n_features)
        ax : matplotlib Axes, optional
        **options
            Further arguments of `tl1pca.select_n_components`.

        Returns
        -------
        SelectionDisplay
        """
        pyplot(cls.__name__)
        return cls(selection=select_n_components(X, estimator, **options)).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw both curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A subplot, which is divided; new ones by default.

        Returns
        -------
        SelectionDisplay
        """
        left, right = self.axes_ = self._split(ax, 1, 2, (9.6, 3.8))[0]
        found, parallel, errors = (
            self.selection,
            self.selection.parallel_analysis,
            self.selection.cross_validation,
        )
        number = np.arange(1, len(parallel.eigenvalues) + 1)
        low = np.minimum(parallel.spread, 0.9 * parallel.eigenvalues)  # the axis is logarithmic
        self.eigenvalues_ = left.errorbar(
            number, parallel.eigenvalues, yerr=[low, parallel.spread], fmt="o-", color=BLUE, ms=5, capsize=3
        )
        (self.null_,) = left.plot(number, parallel.null_limit, "--", color=ORANGE, lw=1.5, marker="_")
        left.set(yscale="log", xlabel="component", ylabel="eigenvalue")
        self.errors_ = right.errorbar(
            np.arange(len(errors.errors)),
            errors.errors,
            yerr=errors.spread,
            fmt="s-",
            color=BLUE,
            ms=4,
            capsize=3,
        )
        right.set(xlabel="number of components", ylabel="error of predicted cells")
        for axis in (left, right):
            axis.spines[["top", "right"]].set_visible(False)
            _count_along(axis)
            chosen = axis.axvline(found.n_components, color=GRAY, ls=":", lw=1.2, zorder=0)
        names = ["trusted rows", "noise, up to", f"chosen: {found.n_components}"]
        legend(left, [self.eigenvalues_, self.null_, chosen], names, loc="upper right")
        right.plot(
            found.n_components,
            errors.errors[min(found.n_components, len(errors.errors) - 1)],
            "o",
            ms=11,
            mfc="none",
            mec=BLACK,
        )
        return self
