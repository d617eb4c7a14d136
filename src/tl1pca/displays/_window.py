"""What part of the plane of two scores is drawn, and where rows outside are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .style import BLACK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[Any]

#: Rows farther out than so many widths of the regular ones would leave these one spot; they go to the edge.
FAR = 20.0
MARGIN = 0.07  # of the width of what is drawn, on each side
LEGIBLE = 1_000  # arrows; more are one black edge


def beyond(scores: Array, flags: Array | None) -> Array:
    """Which rows of scores lie far beyond the regular ones.

    Examples
    --------
    >>> beyond(np.array([[0.0], [1.0], [15.0], [900.0]]), np.array([0, 0, 3, 3]))
    array([False, False, False,  True])
    """
    regular = np.zeros(len(scores), dtype=bool) if flags is None else flags == 0
    if regular.sum() < 2:
        return np.zeros(len(scores), dtype=bool)
    low, high = scores[regular].min(axis=0), scores[regular].max(axis=0)
    width = float((high - low).max())
    outside = np.maximum(low - scores, scores - high).max(axis=1)
    return np.asarray((width > 0) & (outside > FAR * width))


def at_edge(far: Array, near: Array) -> tuple[Array, Array]:
    """Corners of the window of the near rows, and where the way to each far row leaves it.

    Examples
    --------
    >>> at_edge(np.array([[101.0, 1.0]]), np.array([[0.0, 0.0], [2.0, 2.0]]))[1].round(2)
    array([[2.14, 1.  ]])
    """
    low, high = near.min(axis=0), near.max(axis=0)
    room = np.maximum(MARGIN * (high - low), 0.5 * MARGIN * float((high - low).max()))
    low, high = low - room, high + room
    center = 0.5 * (low + high)
    way = far - center
    share = np.abs(way) / (0.5 * (high - low))
    return np.stack([low, high]), center + way / share.max(axis=1, keepdims=True)


def draw_arrows(ax: Axes, places: Array, window: Array, scores: Array, colors: Array) -> Any:
    """An arrow at the edge for each of some far rows, which points to it."""
    way = scores - window.mean(axis=0)
    way = way / np.hypot(*way.T)[:, None]
    step = 1 + len(places) // LEGIBLE
    return ax.quiver(
        *places[::step].T,
        *way[::step].T,
        angles="xy",
        units="dots",
        pivot="tip",
        scale=1.0 / 18.0,
        width=2.5,
        headwidth=4.5,
        headlength=5.0,
        headaxislength=4.5,
        color=colors[::step],
        edgecolor=BLACK,
        linewidth=0.4,
        zorder=3,
    )
