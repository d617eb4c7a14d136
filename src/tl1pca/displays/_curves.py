"""Curves: variances of the components, paths of the objective, operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..operators import Operator
from ._base import Display, fitted, pyplot
from ._points import legend
from .style import BLUE, LOOKS, PLAIN, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]


def _count_along(ax: Axes) -> None:
    """Ticks at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


class ScreeDisplay(Display):
    """Explained variance of every component and the cumulative share.

    Bars and line are shares of the total dispersion; the axis on the right
    has the variances themselves. For the estimators of this package these are
    robust variances.

    Parameters
    ----------
    explained_variance, explained_variance_ratio : ndarray of shape (n_components,)
    estimator_name : str, optional
        Title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer
    line_ : matplotlib Line2D
        The cumulative share.
    variance_axis_ : matplotlib SecondaryAxis or None
        None where there is no variance at all.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import RobustScaler
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.displays import ScreeDisplay
    >>> X = RobustScaler().fit_transform(load_wine().data)
    >>> display = ScreeDisplay.from_estimator(TL1SubspacePCA(5, random_state=0).fit(X))
    >>> len(display.bars_)
    5
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        explained_variance: Array,
        explained_variance_ratio: Array,
        estimator_name: str | None = None,
    ):
        self.explained_variance = explained_variance
        self.explained_variance_ratio = explained_variance_ratio
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the variances of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator with explained_variance_ and explained_variance_ratio_
            One of this package, scikit-learn's PCA, or a pipeline that ends in one.
        ax : matplotlib Axes, optional

        Returns
        -------
        ScreeDisplay
        """
        pyplot(cls.__name__)
        pca = fitted(estimator, "explained_variance_", "explained_variance_ratio_")
        return cls(
            explained_variance=np.asarray(pca.explained_variance_),
            explained_variance_ratio=np.asarray(pca.explained_variance_ratio_),
            estimator_name=type(pca).__name__,
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the shares.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.

        Returns
        -------
        ScreeDisplay
        """
        ax = self._start(ax)
        share = 100.0 * self.explained_variance_ratio.astype(np.float64)
        number = np.arange(1, len(share) + 1)
        self.bars_ = ax.bar(number, share, color=BLUE, alpha=0.75, width=0.7)
        marker = "o" if len(share) <= 40 else ""
        (self.line_,) = ax.plot(number, np.cumsum(share), color=RED, marker=marker, ms=4, lw=1.5)
        ax.set(xlabel="component", ylabel="share of the variance, %", ylim=(0.0, 103.0))
        _count_along(ax)
        ax.set_title(self.estimator_name or "", **PLAIN)
        # The line has reached its end there, and bars are low.
        legend(ax, [self.bars_, self.line_], ["one component", "cumulative"], loc="center right")
        self.variance_axis_ = None
        if share[0] > 0 and self.explained_variance[0] > 0:  # tiny data may have a share, and no variance
            unit = float(self.explained_variance[0]) / share[0]
            self.variance_axis_ = ax.secondary_yaxis(
                "right", functions=(lambda s: s * unit, lambda variance: variance / unit)
            )
            self.variance_axis_.set_ylabel("explained variance")
        return self


class ConvergenceDisplay(Display):
    """The objective from the start to the end of the iterations.

    One line for each component of a method that finds them one after the
    other, a single line for a method that finds them together. At most eight
    lines can be told apart; the legend says when there were more.

    Parameters
    ----------
    paths : sequence of ndarray
        Objective at the start and after each iteration.
    names : sequence of str
        What the paths belong to.
    estimator_name : str, optional
        Title.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from tl1pca import TL1PCA
    >>> from tl1pca.displays import ConvergenceDisplay
    >>> pca = TL1PCA(2, a=1.0).fit(load_iris().data)
    >>> display = ConvergenceDisplay.from_estimator(pca)
    >>> bool(display.lines_[0].get_ydata()[-1] == pca.objective_path_[0][-1])
    True
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, paths: Sequence[Array], names: Sequence[str], estimator_name: str | None = None):
        self.paths = paths
        self.names = names
        self.estimator_name = estimator_name

    @classmethod
    def from_estimator(cls, estimator: Any, *, relative: bool = False, ax: Axes | None = None) -> Self:
        """Draw the paths of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator with objective_path_
            One of this package, or a pipeline that ends in one.
        relative : bool, default=False
            Whether to divide each path by its final value.
        ax : matplotlib Axes, optional

        Returns
        -------
        ConvergenceDisplay
        """
        pyplot(cls.__name__)
        pca = fitted(estimator, "components_", "objective_path_")
        paths = [np.asarray(path, dtype=np.float64) for path in pca.objective_path_]
        together = len(paths) == 1 and len(pca.components_) > 1
        names = [f"component {i + 1}" for i in range(len(paths))]
        return cls(
            paths=paths,
            names=[f"all {len(pca.components_)} components"] if together else names,
            estimator_name=type(pca).__name__,
        ).plot(ax, relative=relative)

    def plot(self, ax: Axes | None = None, *, relative: bool = False) -> Self:
        """Draw the paths.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        relative : bool, default=False
            Whether to divide each path by its final value.

        Returns
        -------
        ConvergenceDisplay
        """
        shown = list(zip(self.names, self.paths, LOOKS))
        if relative and any(path[-1] == 0 for _, path, _ in shown):
            raise ValueError("A path ends at zero, nothing can be relative to it; set relative=False.")
        ax = self._start(ax)
        self.lines_ = []
        for _, path, look in shown:
            values = path / path[-1] if relative else path
            (line,) = ax.plot(values, color=look.color, ls=look.dash, marker=look.marker, ms=4, lw=1.4)
            line.set_markevery(max(1, len(path) // 20))
            self.lines_.append(line)
        ax.set(xlabel="iteration", ylabel="objective / final objective" if relative else "objective")
        _count_along(ax)
        ax.ticklabel_format(axis="y", useOffset=False)
        ax.set_title(self.estimator_name or "", **PLAIN)
        left_out = len(self.paths) - len(shown)
        note = f"the first {len(shown)} of {len(self.paths)}" if left_out else None
        points = np.concatenate([line.get_xydata() for line in self.lines_])
        legend(ax, self.lines_, [name for name, *_ in shown], points, title=note, title_fontsize=8)
        return self


class OperatorDisplay(Display):
    """What one row contributes: rho on the left, its slope on logarithmic axes on the right.

    The slope is the pull of a row. Values of an operator that outgrows |t| and
    the other operators leave the left picture.

    Parameters
    ----------
    operators : mapping of str to Operator
        With settled parameters, eight at most.
    reach : float
        Largest |t| drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Divided into the two others.
    axes_ : ndarray of matplotlib Axes of shape (2,)
    figure_ : matplotlib Figure
    value_lines_, slope_lines_ : list of matplotlib Line2D

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from tl1pca import TL1, Lp
    >>> from tl1pca.displays import OperatorDisplay
    >>> display = OperatorDisplay.from_operators([TL1(a=1.0), Lp(p=2)])
    >>> list(display.operators)
    ['TL1(a=1.0)', 'Lp(p=2)']
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, operators: Mapping[str, Operator], reach: float):
        self.operators = operators
        self.reach = reach

    @classmethod
    def from_operators(
        cls,
        operators: Mapping[str, Operator] | Sequence[Operator],
        *,
        reach: float = 5.0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw operators.

        Parameters
        ----------
        operators : mapping of names to operators, or sequence of operators
        reach : float, default=5.0
            Largest |t| drawn.
        ax : matplotlib Axes, optional
            A subplot, to be divided.

        Returns
        -------
        OperatorDisplay
        """
        pyplot(cls.__name__)
        named = operators if isinstance(operators, Mapping) else {repr(one): one for one in operators}
        if not 1 <= len(named) <= len(LOOKS):
            raise ValueError(f"{len(named)} operators were given, 1 to {len(LOOKS)} can be told apart.")
        for operator in named.values():
            operator.check()
            if operator.adaptive:
                raise ValueError(f"{operator!r} has no shape before it has seen data; give a number.")
        if not (np.isfinite(reach) and reach > 0):
            raise ValueError(f"reach must be a positive number, got {reach!r}.")
        return cls(operators=named, reach=float(reach)).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the operators.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A subplot, to be divided; a new one by default.

        Returns
        -------
        OperatorDisplay
        """
        self.axes_ = self._split(ax, 1, 2, (9.4, 3.4))[0]
        near, far = np.linspace(0.0, self.reach, 501), np.geomspace(1e-3 * self.reach, self.reach, 301)
        self.value_lines_, self.slope_lines_ = [], []
        for operator, look in zip(self.operators.values(), LOOKS):
            style = {"color": look.color, "ls": look.dash, "lw": 1.8}
            self.value_lines_ += self.axes_[0].plot(near, operator.value(near), **style)
            self.slope_lines_ += self.axes_[1].plot(far, operator.slope(far), **style)
        top = max(line.get_ydata()[-1] for line in self.value_lines_)
        calm = [op.value(near)[-1] for op in self.operators.values() if op.concave]
        self.axes_[0].set(xlabel="|t|", ylabel="contribution of a row", xlim=(0, self.reach))
        self.axes_[0].set_ylim(0.0, 1.08 * min(top, max(self.reach, *calm, 0.0)))
        self.axes_[1].set(xlabel="|t|", ylabel="slope: pull of a row", xscale="log", yscale="log")
        for panel in self.axes_:
            panel.spines[["top", "right"]].set_visible(False)
        beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        legend(self.axes_[1], self.value_lines_, list(self.operators), **beside)
        return self
