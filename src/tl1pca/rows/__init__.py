"""The one port to data: neither a solver nor a prediction sees an array of samples."""

from .array import ArrayRows
from .base import MANY_ROWS, MAX_LOADED_ENTRIES, Lift, Predictable, Rows
from .blocks import BlockRows
from .dask import DaskRows
from .deflated import DeflatedRows
from .dense import DenseRows
from .masked import mask_missing
from .opening import as_predictable, as_rows, finite_max_abs, safe_factor
from .sources import Source
from .spanned import SpannedRows
from .sparse import SparseRows

__all__ = [
    "MANY_ROWS",
    "MAX_LOADED_ENTRIES",
    "ArrayRows",
    "BlockRows",
    "DaskRows",
    "DeflatedRows",
    "DenseRows",
    "Lift",
    "Predictable",
    "Rows",
    "Source",
    "SpannedRows",
    "SparseRows",
    "as_predictable",
    "as_rows",
    "finite_max_abs",
    "mask_missing",
    "safe_factor",
]
