"""Tables of numbers from files that may be anything: CSV, TSV, Parquet, .npy, .npz, .mat.

A reader either returns a `Table` or raises a `TableError` (or `OSError`) that
says what is wrong. Nothing is ever unpickled, and what a file declares is held
against ``max_memory`` before memory is taken for it.
"""

from ._copies import write_cleaned
from ._read import read_table
from ._table import DEFAULT_MAX_MEMORY, FEATURES, Table, TableError

__all__ = ["DEFAULT_MAX_MEMORY", "FEATURES", "Table", "TableError", "read_table", "write_cleaned"]
