"""Points in groups, and labels that stay clear of each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..diagnostics import Flag
from .style import BLACK, DENSE, FLAG_LOOKS, GRAY, LOOKS, PLAIN, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]
#: A name for the legend, how the rows look, which rows they are.
Part = tuple[str, Look, Array]


def parts_of(n: int, flags: Array | None, groups: ArrayLike | None) -> list[Part]:
    """Rows by group where groups are given, else by flag, else all of them together."""
    if groups is not None:
        return _grouped(np.asarray(groups, dtype=object), n)
    if flags is None:
        return [(f"all rows ({n})", FLAG_LOOKS[Flag.REGULAR], np.ones(n, dtype=bool))]
    parts = [(flag.label, look, flags == flag) for flag, look in FLAG_LOOKS.items()]
    return [(f"{label} ({rows.sum()})", look, rows) for label, look, rows in parts if rows.any()]


def _grouped(groups: Array, n: int) -> list[Part]:
    if groups.shape != (n,):
        raise ValueError(f"groups has shape {groups.shape}, give one name for each of the {n} rows.")
    names = np.array([str(group) for group in groups], dtype=object)
    distinct = list(dict.fromkeys(names))  # in the order of the data
    if len(distinct) > len(LOOKS):
        raise ValueError(
            f"groups has {len(distinct)} different names, {len(LOOKS)} can be told apart; join some of them."
        )
    return [(f"{name} ({(names == name).sum()})", look, names == name) for name, look in zip(distinct, LOOKS)]


def draw(
    ax: Axes, x: Array, y: Array, parts: Sequence[Part], shade: bool, clear: Array | None = None
) -> list[Any]:
    """One artist for each part, and a legend in the emptiest corner.

    Many points are drawn as one picture inside a vector file. Where `shade`
    is set the first part of many rows becomes hexagons, darker for more rows.
    Of two equally empty corners the legend takes the one with fewer points of `clear`.
    """
    many = len(x) > DENSE
    artists: list[Any] = []
    handles: list[Any] = []
    for i, (_, look, rows) in enumerate(parts):
        if many and shade and i == 0:
            artists.append(_hexagons(ax, x[rows], y[rows]))
            handles.append(ax.plot([], [], "h", color="0.55", ms=8)[0])
            continue
        line = look.marker == "x"
        points = ax.scatter(
            x[rows],
            y[rows],
            s=look.size,
            marker=look.marker,
            color=look.color,
            linewidths=1.2 if line else 0.4,
            edgecolors=None if line else "white" if look.marker == "o" else BLACK,
            zorder=2 + 0.1 * i,
            rasterized=many,
        )
        artists.append(points)
        handles.append(points)
    names = [name for name, *_ in parts]
    if many and shade:
        names[0] += ", darker: more rows"
    legend(ax, handles, names, np.column_stack([x, y]), clear)
    return artists


def _hexagons(ax: Any, x: Array, y: Array) -> Any:
    from matplotlib.colors import LogNorm

    return ax.hexbin(
        x,
        y,
        gridsize=70,
        mincnt=1,
        cmap="Greys",
        norm=LogNorm(vmin=0.2),  # so that a single row is not white
        linewidths=0.1,
        xscale=ax.get_xscale(),
        yscale=ax.get_yscale(),
    )


def legend(
    ax: Axes,
    handles: Sequence[Any],
    names: Sequence[str],
    points: Array | None = None,
    clear: Array | None = None,
    **options: Any,
) -> Any:
    """A legend whose entries are shown as they are, a leading underscore or a dollar sign among them.

    It goes to the corner where it covers the fewest of `points`, and then of
    `clear`, both in the coordinates of the data; matplotlib's own search
    complains when there are many.
    """
    look = {"fontsize": 8, "framealpha": 0.85, "edgecolor": "none", **options}
    box = ax.legend(list(handles), [str(i) for i in range(len(names))], **look)
    for text, name in zip(box.get_texts(), names):
        text.set(text=name, **PLAIN)
    if points is not None:
        box.set_loc(_emptiest_corner(ax, box, points, points[:0] if clear is None else clear))
    return box


def _emptiest_corner(ax: Axes, box: Any, *crowds: Array) -> Any:
    ax.get_xlim()  # settles the limits
    size = np.array([box.get_window_extent().width, box.get_window_extent().height]) / ax.bbox.size + 0.03
    corners: dict[str, list[int]] = {
        "upper right": [],
        "upper left": [],
        "lower right": [],
        "lower left": [],
    }
    for crowd in crowds:
        place = ax.transAxes.inverted().transform(ax.transData.transform(crowd))
        right, upper = (place > 1.0 - size).T
        left, lower = (place < size).T
        sides = {"upper": upper, "lower": lower, "right": right, "left": left}
        for corner, covered in corners.items():
            one, other = corner.split()
            covered.append(int((sides[one] & sides[other]).sum()))
    return min(corners, key=lambda corner: corners[corner])


# ------------------------------------------------------------------------------------------ labels
#: Directions of a label from its point, in degrees, the best first; and distances in points.
DIRECTIONS = (0, 180, 45, 135, 315, 225, 90, 270)
DISTANCES = (6.0, 14.0, 24.0, 36.0, 50.0, 66.0, 84.0)


def place_labels(
    ax: Axes, x: Array, y: Array, names: Sequence[str], others: Array, outward: bool = False
) -> list[Any]:
    """Write names beside points, where they cover neither each other nor many points.

    Parameters
    ----------
    ax : matplotlib Axes
        With its final limits.
    x, y : ndarray of shape (m,)
    names : sequence of str
    others : ndarray of shape (n, 2)
        Points in the coordinates of the data that had better stay visible.
    outward : bool
        Whether the side away from the origin is preferred.

    Returns
    -------
    list of matplotlib Annotation
    """
    from matplotlib.patheffects import withStroke
    from matplotlib.text import Text

    root: Any = getattr(ax.figure, "figure", ax.figure)  # of a subfigure
    engine = root.get_layout_engine()
    if engine is not None and len(names):
        engine.execute(root)
    point = root.dpi / 72.0
    crowd = ax.transData.transform(others[:: 1 + len(others) // DENSE])
    origin = ax.transData.transform((0.0, 0.0)) if outward else None
    box = ax.get_legend()
    taken = [] if box is None else [np.array(box.get_window_extent().extents)]
    annotations = []
    for at, name in zip(np.column_stack([x, y]), names):
        text = ax.annotate(
            name,
            at,
            (0.0, 0.0),
            textcoords="offset points",
            fontsize=8,
            zorder=4,
            annotation_clip=False,
            path_effects=[withStroke(linewidth=2, foreground="white")],
            arrowprops={"arrowstyle": "-", "lw": 0.5, "color": GRAY, "shrinkA": 0, "shrinkB": 2},
            **PLAIN,
        )
        extent = Text.get_window_extent(text)  # without the leader line
        size = np.array([extent.width, extent.height])
        spot = ax.transData.transform(at)
        away = np.zeros(2) if origin is None else (spot - origin) / max(np.hypot(*(spot - origin)), 1e-9)
        shift, area = _best_place(spot, away, size, point, taken, crowd, np.array(ax.bbox.extents))
        taken.append(area)
        text.set_position(tuple(shift))
        if text.arrow_patch is not None and np.hypot(*shift) < DISTANCES[1]:
            text.arrow_patch.set_visible(False)
        annotations.append(text)
    return annotations


def _best_place(
    at: Array, away: Array, size: Array, point: float, taken: Sequence[Array], crowd: Array, inside: Array
) -> tuple[Array, Array]:
    """Offset of the lower left corner of a text in points, and its box in pixels."""
    best: tuple[float, Array, Array] | None = None
    for ring, distance in enumerate(DISTANCES):
        for degrees in DIRECTIONS:
            toward = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))]).round(3)
            anchor = 0.5 * (1.0 - np.sign(toward))  # the corner or edge of the text next to the point
            corner = at + point * distance * toward - anchor * size
            box = np.concatenate([corner, corner + size])
            cost = 100.0 * sum(_overlap(box, other) for other in taken)
            cost += 50.0 * bool((box[:2] < inside[:2]).any() or (box[2:] > inside[2:]).any())
            covered = ((crowd > box[:2] - 1) & (crowd < box[2:] + 1)).all(axis=1).sum()
            cost += 4.0 * min(covered, 10) + 3.0 * ring - 4.0 * float(toward @ away)
            if best is None or cost < best[0]:
                best = (cost, (corner - at) / point, box)
    assert best is not None
    return best[1], best[2]


def _overlap(one: Array, other: Array) -> bool:
    return bool((one[:2] < other[2:]).all() and (other[:2] < one[2:]).all())
