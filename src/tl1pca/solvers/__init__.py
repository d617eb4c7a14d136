"""Solvers: an objective and a start in, a solution out; the state is a value."""

from .ascent import SphereAscent
from .axes import principal_axes, scatter_axes, span, spherical_axes
from .base import Solution, Solver, Start, State
from .fixed_point import BallFixedPoint, FixedPoint, SparseFixedPoint, sides_of
from .gram import GramFixedPoint, fewer_products
from .mm import SubspaceMM
from .paper import PaperAscent
from .penalized import TraceLasso, TraceLassoAscent
from .quotient import QuotientAscent
from .sampled import SampledAscent
from .sparse import SparseAscent, sparse_loadings
from .starts import BestSample, LongestRow, PrincipalAxes, ResultOf, best_sample
from .stiefel import StiefelAscent

__all__ = [
    "BallFixedPoint",
    "BestSample",
    "FixedPoint",
    "GramFixedPoint",
    "LongestRow",
    "PaperAscent",
    "PrincipalAxes",
    "QuotientAscent",
    "ResultOf",
    "SampledAscent",
    "Solution",
    "Solver",
    "SparseAscent",
    "SparseFixedPoint",
    "SphereAscent",
    "Start",
    "State",
    "StiefelAscent",
    "SubspaceMM",
    "TraceLasso",
    "TraceLassoAscent",
    "best_sample",
    "fewer_products",
    "principal_axes",
    "scatter_axes",
    "sides_of",
    "span",
    "sparse_loadings",
    "spherical_axes",
]
