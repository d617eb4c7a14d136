"""The one port to data: a solver never sees an array of samples."""

from .array import ArrayRows
from .base import Lift, Rows
from .blocks import BlockRows
from .dask import DaskRows
from .deflated import DeflatedRows
from .dense import DenseRows
from .sources import Source
from .sparse import SparseRows

__all__ = [
    "ArrayRows",
    "BlockRows",
    "DaskRows",
    "DeflatedRows",
    "DenseRows",
    "Lift",
    "Rows",
    "Source",
    "SparseRows",
]
