"""The one port to data: a solver never sees an array of samples."""

from .base import Rows
from .dense import DeflatedRows, DenseRows

__all__ = ["DeflatedRows", "DenseRows", "Rows"]
