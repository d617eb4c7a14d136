"""The figures of the studies, drawn without pyplot and so without global state.

Colors are those of Okabe and Ito, told apart by color-blind readers; every
line also has a dash or a marker of its own, for print in gray.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..displays.style import BLACK, BLUE, GRAY, GREEN, ORANGE, PURPLE, RED, SKY
from .methods import L1, LP, LP_ASCENT, LPS, PCA, PUBLISHED_TL1, RAW, TL1

Array = NDArray[Any]

#: Look of each method, the same in every figure.
STYLE: dict[str, dict[str, Any]] = {
    TL1: {"color": RED, "ls": "-", "marker": "o"},
    LP_ASCENT: {"color": SKY, "ls": "-", "marker": "s"},
    PUBLISHED_TL1: {"color": ORANGE, "ls": "--", "marker": "v"},
    LP: {"color": BLUE, "ls": "-", "marker": "s"},
    LPS: {"color": GREEN, "ls": "--", "marker": "^"},
    L1: {"color": PURPLE, "ls": "-.", "marker": "D"},
    PCA: {"color": BLACK, "ls": ":", "marker": "x"},
    RAW: {"color": GRAY, "ls": (0, (6, 2)), "marker": ""},
}
#: Looks of the values of a parameter.
SERIES: tuple[dict[str, Any], ...] = (
    {"color": BLUE, "ls": "-", "marker": "s"},
    {"color": ORANGE, "ls": "--", "marker": "o"},
    {"color": GREEN, "ls": "-.", "marker": "^"},
    {"color": RED, "ls": ":", "marker": "D"},
)


def canvas(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Array]:
    """A figure with a grid of axes in the house style, without frames above and right."""
    figure = Figure(figsize=size, layout="constrained")
    axes = np.atleast_2d(figure.subplots(rows, columns, squeeze=False, **options))
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
    return figure, axes


def operators_near_and_far(ranges: Sequence[tuple[Array, Sequence[tuple[str, Array]]]]) -> Figure:
    """Fig. 1: rho_1 and mu_1/2 for small and for large t, given as (t, curves) for each panel."""
    figure, axes = canvas(1, 2, (7.6, 3.1))
    for ax, (t, curves) in zip(axes.flat, ranges):
        for (label, values), (color, dash) in zip(curves, ((RED, "-"), (BLUE, "--"))):
            ax.plot(t, values, color=color, ls=dash, lw=1.8, label=label)
        ax.set(xlim=(t.min(), t.max()), ylim=(0, 1.6))
        ax.locator_params(axis="x", nbins=6)
        ax.set_xlabel("t", fontsize=10)
        ax.legend(frameon=False, fontsize=9, loc="upper center")
    axes[0, 0].set_title("(a) small |t|: slope 2 against an infinite one", fontsize=10)
    axes[0, 1].set_title("(b) large |t|: bounded against unbounded", fontsize=10)
    axes[0, 1].axhline(2.0, color=GRAY, lw=0.9, ls=":")
    axes[0, 1].annotate("asymptote a + 1", (-19.0, 2.08), fontsize=9, color="#444444")
    axes[0, 1].set_ylim(0, 5)
    return figure


def operators_together(t: Array, curves: Sequence[tuple[str, Array]], asymptote: float) -> Figure:
    """Fig. 2: the operators together, with the asymptote of the transformed l1."""
    figure, axes = canvas(1, 1, (6.4, 3.4))
    ax = axes[0, 0]
    looks = ((BLACK, ":"), (PURPLE, "-."), (BLUE, "--"), (RED, "-"))
    for (label, values), (color, dash) in zip(curves, looks):
        ax.plot(t, values, color=color, ls=dash, lw=1.8, label=label)
    ax.axhline(asymptote, color=GRAY, lw=0.9, ls=":")
    where = ("axes fraction", "data")
    ax.annotate("asymptote a + 1", (1.02, asymptote), xycoords=where, va="center", fontsize=9)
    ax.set(ylim=(0, 5), xlim=(t.min(), t.max()))
    ax.set_xlabel("t", fontsize=10)
    ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def contours(panels: Sequence[tuple[str, Array, Array, Array]]) -> Figure:
    """Unit contours of the transformed l1 beside those of a power, in all four quarters.

    Parameters
    ----------
    panels : sequence of (title, x, y of Tl1, y of the power)
        One quarter, x from 0 to 1.
    """
    figure, axes = canvas(1, len(panels), (2.7 * len(panels), 3.2), sharex=True, sharey=True)
    for ax, (title, x, ours, power) in zip(axes.flat, panels):
        for y, label, color, dash in ((ours, "Tl1", RED, "-"), (power, title.split(" and ")[1], BLUE, "--")):
            for i, (sx, sy) in enumerate(((1, 1), (-1, 1), (1, -1), (-1, -1))):
                ax.plot(sx * x, sy * y, color=color, ls=dash, lw=1.7, label=None if i else label)
        ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
        ax.set_title(title, fontsize=10)
        ax.legend(frameon=True, framealpha=0.9, edgecolor="none", fontsize=9, loc="upper right")
    return figure


def sample_images(rows: Sequence[tuple[str, Array]]) -> Figure:
    """Fig. 4 and 6: the same images, one row for each noise level.

    Parameters
    ----------
    rows : sequence of (label, images of shape (n, side, side))
    """
    n = len(rows[0][1])
    figure, axes = canvas(len(rows), n, (1.05 * n + 0.7, 1.1 * len(rows)))
    for line, (label, images) in zip(axes, rows):
        for ax, image in zip(line, images):
            ax.imshow(image, cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest")
            ax.set(xticks=[], yticks=[])
            ax.spines[["left", "bottom"]].set_visible(False)
        line[0].set_ylabel(label, fontsize=10)
    return figure


def toy_panels(
    X: Array, outlier: Array, panels: Sequence[tuple[str, Sequence[tuple[str, float, float]]]]
) -> Figure:
    """Fig. 3: points, outliers, the ideal direction and the first component of each method.

    Parameters
    ----------
    X : ndarray of shape (n, 2)
    outlier : ndarray of bool
    panels : sequence of (title, lines)
        A line is (label, direction in degrees, angle to the ideal direction).
    """
    figure, axes = canvas(-(-len(panels) // 2), 2, (7.6, 7.2), sharex=True, sharey=True)
    for ax, (title, lines) in zip(axes.flat, panels):
        ax.plot([-6, 6], [-6, 6], color=BLACK, lw=0.9, label="ideal, 45°")
        ax.plot(*X[~outlier].T, "o", ms=3, color="#1f3a5f", alpha=0.75)
        ax.plot(*X[outlier].T, "*", ms=8, color=RED, mec="white", mew=0.4)
        if outlier.any():
            ax.annotate(
                "outliers", X[outlier].max(axis=0), (5, -6), textcoords="offset points", fontsize=9, color=RED
            )
        for (label, direction, angle), style in zip(lines, SERIES):
            w = 8.0 * np.array([np.cos(np.radians(direction)), np.sin(np.radians(direction))])
            text = f"{label}: {angle:.1f}°"
            ax.plot([-w[0], w[0]], [-w[1], w[1]], color=style["color"], ls=style["ls"], lw=1.7, label=text)
        ax.set(xlim=(-6, 6), ylim=(-6.5, 6.5), aspect="equal")
        ax.set_title(title, fontsize=10)
        ax.legend(frameon=True, framealpha=0.9, edgecolor="none", fontsize=9, loc="lower right")
    return figure


def angle_distribution(groups: Sequence[tuple[str, str, Array]], note: str) -> Figure:
    """Angles over the redraws, a violin-like band of quantiles per method with its mean.

    Parameters
    ----------
    groups : sequence of (label, color, angles)
        From top to bottom.
    note : str
        Label of the axis.
    """
    figure, axes = canvas(1, 1, (7.0, 0.34 * len(groups) + 1.0))
    ax = axes[0, 0]
    for i, (_, color, angles) in enumerate(groups):
        y = len(groups) - i
        low, q1, median, q3, high = np.quantile(angles, (0.05, 0.25, 0.5, 0.75, 0.95))
        ax.plot([low, high], [y, y], color=color, lw=1.2, solid_capstyle="butt")
        ax.plot([q1, q3], [y, y], color=color, lw=8, alpha=0.45, solid_capstyle="butt")
        ax.plot([median], [y], "|", color=color, ms=10, mew=2)
        ax.plot([angles.mean()], [y], "o", color="white", mec=BLACK, ms=5, zorder=3)
        ax.annotate(
            f"{angles.mean():.1f}", (1.01, y), xycoords=("axes fraction", "data"), fontsize=8, va="center"
        )
    ax.annotate(
        "mean", (1.01, len(groups) + 0.75), xycoords=("axes fraction", "data"), fontsize=8, color=GRAY
    )
    ax.set_yticks(range(len(groups), 0, -1), [label for label, _, _ in groups], fontsize=9)
    ax.set(xlim=(0, None), ylim=(0.4, len(groups) + 0.6))
    ax.set_xlabel(note, fontsize=9)
    ax.grid(axis="x", lw=0.4, alpha=0.5)
    return figure


def accuracy_curves(panels: Sequence[tuple[str, Sequence[tuple[str, Array, Array]]]]) -> Figure:
    """Fig. 5 and 7: accuracy against the number of components.

    Parameters
    ----------
    panels : sequence of (title, curves)
        A curve is (method, dimensions, accuracy in percent); one without
        dimensions is a level.
    """
    figure, axes = canvas(1, len(panels), (3.3 * len(panels), 3.9), sharex=True)
    for ax, (title, curves) in zip(axes.flat, panels):
        for method, dimension, accuracy in curves:
            style = STYLE[method]
            if len(dimension):
                ax.plot(dimension, accuracy, lw=1.4, ms=3.5, label=method, **style)
            else:
                ax.axhline(accuracy[0], color=style["color"], ls=style["ls"], lw=1.2, label=method)
        ax.margins(y=0.05)  # for a level as well, which may lie on the edge of what the curves take
        ax.set_title(title, fontsize=9)
        ax.set_xlabel("number of components", fontsize=10)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.grid(lw=0.4, alpha=0.5)
    axes[0, 0].set_ylabel("accuracy on the test images, %", fontsize=10)
    _shared_legend(figure, axes)
    return figure


def parameter_curves(panels: Sequence[tuple[str, Sequence[tuple[str, Array, Array, Array]]]]) -> Figure:
    """Accuracy against the parameter, at the best number of components, with standard errors.

    Parameters
    ----------
    panels : sequence of (title, curves)
        A curve is (method, values, mean, standard error), in percent.
    """
    figure, axes = canvas(1, len(panels), (3.3 * len(panels), 3.6), sharey=True)
    bars = not any(np.isnan(error).any() for _, curves in panels for *_, error in curves)
    for ax, (title, curves) in zip(axes.flat, panels):
        for shift, (method, values, mean, error) in zip((1.0, 1.09, 1 / 1.09, 1.18), curves):
            ax.errorbar(
                values * shift,
                mean,
                error if bars else None,
                lw=1.3,
                ms=4,
                elinewidth=0.8,
                label=method,
                **STYLE[method],
            )
        ax.set_xscale("log")
        ax.set_title(title, fontsize=9)
        ax.set_xlabel("a (Tl1PCA) or p", fontsize=10)
        ax.grid(lw=0.4, alpha=0.5)
    axes[0, 0].set_ylabel(f"accuracy, %{' (± 1 s.e.)' if bars else ''}", fontsize=10)
    _shared_legend(figure, axes)
    return figure


def accuracy_points(panels: Sequence[tuple[str, Sequence[tuple[str, float, float]]]]) -> Figure:
    """One accuracy a method, with its standard error.

    Parameters
    ----------
    panels : sequence of (title, rows)
        A row is (method, mean, standard error), in percent; an error may be NaN.
    """
    names = [method for method, *_ in panels[0][1]]
    height = 1.2 + 0.28 * len(names)
    figure, axes = canvas(1, len(panels), (1.6 + 2.6 * len(panels), height), sharey=True, sharex=True)
    places = np.arange(len(names))[::-1]
    for ax, (title, rows) in zip(axes.flat, panels):
        mean, error = np.array([row[1:] for row in rows], dtype=float).T
        ax.errorbar(mean, places, xerr=np.nan_to_num(error), fmt="o", ms=5, color=BLUE, elinewidth=1.2)
        ax.axvline(mean[names.index(PCA)], color=GRAY, lw=0.9, ls=":")
        ax.set_title(title, fontsize=9)
        ax.set_xlabel("accuracy, % (± 1 s.e.)", fontsize=10)
        ax.grid(axis="y", lw=0.4, alpha=0.5)
    axes[0, 0].set_yticks(places, names, fontsize=9)
    return figure


def _shared_legend(figure: Figure, axes: Array) -> None:
    """One legend for all panels, below them, at the size of the text."""
    handles, labels = axes[0, 0].get_legend_handles_labels()
    columns = min(4, len(labels))
    figure.legend(handles, labels, frameon=False, fontsize=10, ncols=columns, loc="outside lower center")


def objective_curves(panels: Sequence[tuple[str, Sequence[tuple[str, Array]]]]) -> Figure:
    """Fig. 8: objective against iteration, the curves of a data set over each other.

    Parameters
    ----------
    panels : sequence of (title, curves)
        A curve is (label, objective at the start and after each iteration).
    """
    figure, axes = canvas(1, len(panels), (3.2 * len(panels), 3.8))
    for ax, (title, curves) in zip(axes.flat, panels):
        for (label, path), style in zip(curves, SERIES):
            ax.plot(np.arange(len(path)), path, lw=1.5, ms=4, label=label, **style)
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("iteration", fontsize=10)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.ticklabel_format(axis="y", useOffset=False)
        # Below its panel: three curves one above the other leave no room for it.
        ax.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    axes[0, 0].set_ylabel("objective", fontsize=10)
    return figure


def objective_paths(panels: Sequence[tuple[str, Sequence[tuple[str, Array]]]]) -> Figure:
    """Objective against iteration, as a share of its final value.

    Parameters
    ----------
    panels : sequence of (title, curves)
        A curve is (label, objective at the start and after each iteration).
    """
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = canvas(rows, columns, (2.9 * columns, 2.5 * rows + 0.4))
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax, (title, curves) in zip(axes.flat, panels):
        for (label, path), style in zip(curves, SERIES):
            steps = np.arange(len(path))
            ax.plot(steps, path / path[-1], lw=1.3, ms=2.5, label=label, **style)
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("iteration", fontsize=9)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.ticklabel_format(axis="y", useOffset=False)
    for ax in axes[:, 0]:
        ax.set_ylabel("share of the final objective", fontsize=9)
    _shared_legend(figure, axes)
    return figure


def iteration_counts(panels: Sequence[tuple[str, Sequence[Sequence[Any]]]], claimed: int) -> Figure:
    """Iterations of Algorithm 1 against a: median with the range over the repeats.

    Parameters
    ----------
    panels : sequence of (title, curves)
        A curve is (label, a, median, low, high).
    claimed : int
        What the paper says.
    """
    figure, axes = canvas(1, len(panels), (3.9 * len(panels) + 1.9, 3.4), sharey=True)
    for ax, (title, curves) in zip(axes.flat, panels):
        _iteration_panel(ax, curves, claimed)
        ax.set_title(title, fontsize=9)
    axes[0, 0].set_ylabel("iterations, first component", fontsize=9)
    axes[0, 0].set_ylim(bottom=0)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), frameon=False, fontsize=9, loc="outside right center"
    )
    return figure


def _iteration_panel(ax: Any, curves: Sequence[Sequence[Any]], claimed: int) -> None:
    colors = (BLACK, GRAY, BLUE, SKY, GREEN, RED, ORANGE, PURPLE)
    for i, (label, a, median, low, high) in enumerate(curves):
        shifted = a * 1.07 ** (i - len(curves) / 2)
        spread = np.stack([median - low, high - median])
        look = {"color": colors[i % len(colors)], "marker": "osD^vxP*"[i % 8], "ls": ("-", "--")[i % 2]}
        ax.errorbar(shifted, median, spread, lw=1.2, ms=4, elinewidth=0.8, label=label, **look)
    ax.axhline(claimed, color=BLACK, ls=":", lw=1, label=f"the paper: about {claimed}")
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set_xscale("log")
    ax.set_xlabel("a", fontsize=9)
