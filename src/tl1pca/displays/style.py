"""Looks, defined once.

The colors are those of Okabe and Ito, which color-blind readers tell apart.
Nothing is told by color alone, so that figures can be printed in gray.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..diagnostics import Flag

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, RED, PURPLE, GRAY = "#0072B2", "#D55E00", "#CC79A7", "#767676"

#: More rows than this are not drawn one by one into a vector file.
DENSE = 10_000

#: Text that comes from data is shown as it is, never read as a formula.
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}


@dataclass(frozen=True)
class Look:
    """How a group of points, or a line, is told from the others."""

    color: str
    marker: str
    dash: Any = "-"
    size: float = 22.0


#: Regions of the outlier map.
FLAG_LOOKS: dict[Flag, Look] = {
    Flag.REGULAR: Look(BLUE, "o", size=14.0),
    Flag.GOOD_LEVERAGE: Look(GREEN, "s", size=24.0),
    Flag.ORTHOGONAL_OUTLIER: Look(ORANGE, "D", size=24.0),
    Flag.BAD_LEVERAGE: Look(RED, "^", size=30.0),
}

#: Groups and lines without a meaning of their own, in this order.
LOOKS: tuple[Look, ...] = (
    Look(BLUE, "o", "-"),
    Look(ORANGE, "s", "--"),
    Look(GREEN, "^", "-."),
    Look(RED, "D", ":"),
    Look(PURPLE, "v", (0, (5, 1, 1, 1, 1, 1))),
    Look(BLACK, "x", (0, (1, 1))),
    Look(SKY, "P", (0, (8, 2))),
    Look(GRAY, "*", (0, (3, 1, 1, 1))),
)
