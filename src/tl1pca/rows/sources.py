"""Where rows that are read in blocks come from: sliceable objects, and Parquet through pyarrow."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..statistics import subsample

Array = NDArray[Any]

#: Bytes of a block; a pass holds three of them: computed with, read, and being converted.
BLOCK_BYTES = 1 << 24
#: Entries of the rows that the first pass keeps: samples drawn later cost no pass of their own.
KEPT_ENTRIES = 1 << 23


class Source(ABC):
    """Rows that are read in blocks, each time from where they are.

    Attributes
    ----------
    shape : tuple of int
        (n, d).
    dtype : dtype
        float32 for data of that type, float64 for all others.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    _kept: tuple[Array, Array] | None = None

    @abstractmethod
    def _read(self) -> Iterator[Array]:
        """Consecutive blocks of rows in the type of the source, each an array of its own."""

    def header(self) -> Any:
        """No rows at all, with the columns and their names as scikit-learn looks for them."""
        return np.empty((0, self.shape[1]))

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Blocks of rows in order, with the rows they are; the next is read while one is used."""
        start, reading = 0, self._read()
        with ThreadPoolExecutor(1) as reader:
            coming = reader.submit(next, reading, None)
            while (block := coming.result()) is not None:
                coming = reader.submit(next, reading, None)
                yield slice(start, start + len(block)), block
                start += len(block)

    def gather_rows(self, index: Array) -> Array:
        """Some rows in the order of the index, from memory where the first pass kept them."""
        wanted, back = np.unique(index, return_inverse=True)
        rows = self._remembered(wanted)
        rows = self._gather(wanted) if rows is None else rows
        return rows if np.array_equal(wanted, index) else rows[back]

    def max_abs(self) -> float:
        """Largest magnitude, NaN or infinite where an entry is, in one pass that keeps a sample."""
        n, d = self.shape
        index = subsample(n, max(1, min(20_000, KEPT_ENTRIES // max(d, 1))))
        kept, ends = np.empty((len(index), d), dtype=self.dtype), [0.0]
        for rows, block in self.blocks():
            ends += [float(block.max(initial=0.0)), -float(block.min(initial=0.0))]
            _fill(kept, index, rows, block)
        self._kept = index, kept
        return float(np.max(ends))

    def load(self) -> Array:
        """All rows as one array."""
        X = np.empty(self.shape, dtype=self.dtype)
        for rows, block in self.blocks():
            X[rows] = block
        return X

    def _gather(self, index: Array) -> Array:
        """Rows of a sorted index in one pass, which ends with the last of them."""
        out = np.empty((len(index), self.shape[1]), dtype=self.dtype)
        for rows, block in self.blocks():
            _fill(out, index, rows, block)
            if not len(index) or rows.stop > index[-1]:
                break
        return out

    def _remembered(self, index: Array) -> Array | None:
        if self._kept is None or not len(index):
            return None
        known, rows = self._kept
        at = np.minimum(np.searchsorted(known, index), len(known) - 1)
        return rows[at] if np.array_equal(known[at], index) else None


def _fill(out: Array, index: Array, rows: slice, block: Array) -> None:
    """Copy from a block the rows that a sorted index asks for."""
    first, last = np.searchsorted(index, (rows.start, rows.stop))
    out[first:last] = block[index[first:last] - rows.start]


class SliceSource(Source):
    """Rows of an object with shape, dtype and row slicing: memmap, zarr, h5py.

    Parameters
    ----------
    X : object of shape (n, d)
        ``X[i:j]`` gives rows; where it has `chunks`, blocks are made of whole ones.
    """

    def __init__(self, X: Any):
        self._X = X
        self.shape = (int(X.shape[0]), int(X.shape[1]))
        self.dtype = floating(np.dtype(X.dtype))

    def _read(self) -> Iterator[Array]:
        step = _step(self, getattr(self._X, "chunks", None))
        # A view of a map would be read from disk later, by the thread that computes.
        own = np.array if isinstance(self._X, np.ndarray) else np.asarray
        for i in range(0, self.shape[0], step):
            yield own(self._X[i : i + step], dtype=self.dtype, order="C")

    def _gather(self, index: Array) -> Array:
        if not isinstance(self._X, np.ndarray):
            return super()._gather(index)
        return np.asarray(self._X[index], dtype=self.dtype)


class ParquetSource(Source):
    """Rows of a Parquet file or of a data set of files, one row group at a time.

    Parameters
    ----------
    X : pyarrow.parquet.ParquetFile or pyarrow.dataset.Dataset
        All columns must be numbers; null becomes NaN. An index that pandas
        stored beside its columns is no feature.
    """

    def __init__(self, X: Any):
        import pyarrow as pa

        self._X = X
        self._dataset = not hasattr(X, "iter_batches")
        schema = X.schema if self._dataset else X.schema_arrow
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        self._schema = pa.schema([field for field in schema if field.name not in index])
        n = X.count_rows() if self._dataset else X.metadata.num_rows
        self.shape = (int(n), len(self._schema))
        types = pa.types
        for field in self._schema:
            kinds = (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal)
            if not any(is_kind(field.type) for is_kind in kinds):
                raise ValueError(
                    f"column {field.name!r} of X holds values of type {field.type}, not numbers. Leave it "
                    "out: pyarrow.dataset.dataset(path, schema=...) reads the columns of that schema only."
                )
        # Of a decimal pyarrow says object, which `floating` makes a double.
        common = np.result_type(*(field.type.to_pandas_dtype() for field in self._schema), np.bool_)
        self.dtype = floating(common)

    def header(self) -> Any:
        return self._schema.empty_table()

    def _read(self) -> Iterator[Array]:
        step, d = _step(self), self.shape[1]
        block, filled = np.empty((step, d), dtype=self.dtype, order="F"), 0
        for batch in self._batches(step):
            done = 0
            while done < batch.num_rows:
                count = min(step - filled, batch.num_rows - done)
                self._write(block[filled : filled + count], batch.slice(done, count))
                filled, done = filled + count, done + count
                if filled == step:
                    yield block
                    block, filled = np.empty((step, d), dtype=self.dtype, order="F"), 0
        if filled:
            yield block[:filled]

    def _batches(self, step: int) -> Iterator[Any]:
        """Batches of rows. pyarrow reads far ahead where it may, in the end the whole file: it may not."""
        names = self._schema.names
        if not self._dataset:
            for group in range(self._X.num_row_groups):
                yield from self._X.iter_batches(batch_size=step, row_groups=[group], columns=names)
            return
        from pyarrow import dataset

        options = {"batch_readahead": 1, "fragment_readahead": 1}
        if isinstance(getattr(self._X, "format", None), dataset.ParquetFileFormat):
            options["fragment_scan_options"] = dataset.ParquetFragmentScanOptions(pre_buffer=False)
        yield from self._X.to_batches(batch_size=step, columns=names, **options)

    def _write(self, block: Array, batch: Any) -> None:
        import pyarrow as pa

        kind = pa.from_numpy_dtype(self.dtype)
        for j, column in enumerate(batch.columns):
            block[:, j] = column.cast(kind, safe=False).to_numpy(zero_copy_only=False)


class PickedSource(Source):
    """Some rows of another source, those of a sorted index.

    Parameters
    ----------
    source : Source
    index : ndarray of int of shape (m,)
    """

    def __init__(self, source: Source, index: Array):
        self._source, self._index = source, index
        self.shape, self.dtype = (len(index), source.shape[1]), source.dtype

    def header(self) -> Any:
        return self._source.header()

    def _read(self) -> Iterator[Array]:
        start = 0
        for block in self._source._read():
            first, last = np.searchsorted(self._index, (start, start + len(block)))
            if last > first:
                yield block[self._index[first:last] - start]
            start += len(block)

    def _gather(self, index: Array) -> Array:
        return self._source.gather_rows(self._index[index])


def is_source(X: Any) -> bool:
    """Whether X is read in blocks: a map, something sliceable that is no array, or Parquet."""
    if _is_parquet(X) or isinstance(X, np.memmap):
        return True
    # Frames have dtypes, sparse matrices nnz, arrays of other libraries a namespace, Dask's a graph.
    others = ("dtypes", "nnz", "__array_namespace__", "__cuda_array_interface__", "detach", "__dask_graph__")
    if isinstance(X, (np.ndarray, np.generic)) or any(hasattr(X, name) for name in others):
        return False
    return all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__")) and hasattr(X.shape, "__len__")


def open_source(X: Any) -> Source:
    """The source behind what `is_source` accepts, of two dimensions."""
    return ParquetSource(X) if _is_parquet(X) else SliceSource(X)


def floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The precision to compute in, by scikit-learn's rule: single stays, all else becomes double."""
    return dtype if dtype == np.float32 and dtype.isnative else np.dtype(np.float64)


def _is_parquet(X: Any) -> bool:
    # Whoever has such an object has imported its module: nothing is imported to find out.
    parquet, dataset = (sys.modules.get(name) for name in ("pyarrow.parquet", "pyarrow.dataset"))
    return (parquet is not None and isinstance(X, parquet.ParquetFile)) or (
        dataset is not None and isinstance(X, dataset.Dataset)
    )


def _step(source: Source, chunks: Any = None) -> int:
    """Rows of a block; whole chunks where there are some, so that none is read twice in a pass."""
    row = max(1, source.shape[1]) * source.dtype.itemsize
    step = max(1, BLOCK_BYTES // row)
    if isinstance(chunks, tuple) and chunks and isinstance(chunks[0], int):
        step = max(1, step // chunks[0]) * chunks[0]
    return step
