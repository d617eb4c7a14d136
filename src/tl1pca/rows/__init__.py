"""The one port to data: a solver never sees an array of samples."""

from .array import ArrayRows
from .base import Rows
from .deflated import DeflatedRows
from .dense import DenseRows

__all__ = ["ArrayRows", "DeflatedRows", "DenseRows", "Rows"]
