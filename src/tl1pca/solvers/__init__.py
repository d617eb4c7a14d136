"""Solvers: hyper-parameters in, a result out; the state is a value."""

from .ascent import SphereAscent, rough_directions
from .base import (
    Solution,
    Solver,
    Start,
    best_sample,
    longest_row,
    principal_axes,
    scatter_axes,
    span,
    spherical_axes,
)
from .fixed_point import BallFixedPoint, FixedPoint, SparseFixedPoint
from .mm import SubspaceMM
from .paper import PaperAscent
from .polish import polish
from .stiefel import StiefelAscent

__all__ = [
    "BallFixedPoint",
    "FixedPoint",
    "PaperAscent",
    "Solution",
    "Solver",
    "SparseFixedPoint",
    "SphereAscent",
    "Start",
    "StiefelAscent",
    "SubspaceMM",
    "best_sample",
    "longest_row",
    "polish",
    "principal_axes",
    "rough_directions",
    "scatter_axes",
    "span",
    "spherical_axes",
]
