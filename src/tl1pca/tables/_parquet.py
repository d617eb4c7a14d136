"""Parquet: the schema and the declared sizes first, then batch by batch the columns that are wanted."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, parquet

from ._table import (
    Options,
    Table,
    TableError,
    assemble,
    check_columns,
    check_size,
    listed,
    parsing,
    shortened,
)

Array = NDArray[Any]

BATCH = 1 << 20  # numbers decoded at a time
COLUMN = 8192  # bytes that Arrow takes for the description of a column
LABELS = 1024  # of the rows, decoded at a time
INDEX = "__index_level_"  # how pandas names an unnamed index
MIDNIGHT = " 00:00:00"
LONGEST_NOTES = 1 << 20  # bytes of what pandas says of a file


def read_parquet(stream: BinaryIO, options: Options) -> Table:
    """A file of columns; only flat ones of numbers, and the one of the labels, are decoded."""
    with parsing("Parquet file"):
        schema, rows, unpacked = _declared(stream)
        names = list(schema.names)
        check_columns(len(names))
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise TableError(f"has several columns of the same name: {listed(repeated)}.")
        label = _label(schema, options)
        wanted = [f.name for f in schema if _is_number(f.type) and f.name != label]
        used = {*wanted, label}
        aside = [name for name in names if name not in used]
        check_size(
            rows * len(wanted) * 8 + COLUMN * len(names), options, f"a table of {rows:,} x {len(wanted):,}"
        )
        # Pages are unpacked whole, however few of their rows are wanted.
        check_size(unpacked, options, "what its columns unpack to")
        notes = [] if label is None else [f"Column {shortened(label)!r} names the rows."]
        notes += [f"Set aside columns that are not numbers: {listed(aside)}."] if aside else []
        if not wanted:
            raise TableError(" ".join(["holds no column of numbers.", *notes]))
        if not rows:  # nor does Arrow begin to read, which may abort a process that ends at once
            raise TableError("holds no rows.")
        values, labels = _decode(stream, rows, wanted, label, options)
    return assemble(values, wanted, named=True, labels=labels, set_aside=aside, notes=notes, options=options)


def _open(stream: BinaryIO, label: str | None = None) -> Any:
    stream.seek(0)
    return parquet.ParquetFile(
        pa.PythonFile(stream, mode="r"),
        # A text that is repeated in every row of a column is stored once, and has to stay so.
        read_dictionary=None if label is None else [label],
        thrift_string_size_limit=16 << 20,
        thrift_container_size_limit=200_000,
    )


def _declared(stream: BinaryIO) -> tuple[Any, int, int]:
    """Schema, number of rows, and the size of all columns unpacked.

    The size of a single column is not asked for: for some damaged files Arrow ends the process then.
    """
    file = _open(stream)
    rows = int(file.metadata.num_rows)
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    found = sum(int(group.num_rows) for group in groups)
    if rows < 0 or rows != found:
        raise TableError(f"contradicts itself: {rows} rows in all, {found} in its parts.")
    return file.schema_arrow, rows, sum(max(0, int(group.total_byte_size)) for group in groups)


def _is_number(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_time(kind: Any) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _index(schema: Any) -> list[str]:
    """The columns that pandas wrote of an index."""
    if len((schema.metadata or {}).get(b"pandas", b"")) > LONGEST_NOTES:
        return []
    said = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in said if isinstance(name, str) and name in schema.names]


def _label(schema: Any, options: Options) -> str | None:
    if options.labels is not None:
        if options.labels not in schema.names:
            raise TableError(
                f"there is no column {options.labels!r} for the labels; the file has {listed(schema.names)}."
            )
        kind = schema.field(options.labels).type
        if not (_is_text(kind) or _is_number(kind) or _is_time(kind)):
            raise TableError(f"column {options.labels!r} holds {kind}, which cannot name rows.")
        return options.labels
    index = _index(schema) or [name for name in schema.names if name.startswith(INDEX)]
    if len(index) == 1:
        kind = schema.field(index[0]).type
        # As in text: a column with a name is data where it holds numbers.
        if _is_text(kind) or _is_time(kind) or (index[0].startswith(INDEX) and _is_number(kind)):
            return index[0]
    first = schema.field(0).type if len(schema.names) else pa.null()
    return str(schema.names[0]) if _is_text(first) or _is_time(first) else None


def _decode(
    stream: BinaryIO, rows: int, wanted: list[str], label: str | None, options: Options
) -> tuple[Array, list[str] | None]:
    labels = None if label is None else _labels(stream, rows, label, 8 * rows * len(wanted), options)
    values = np.empty((rows, len(wanted)))
    start = 0
    for batch in _batches(stream, wanted, max(1, BATCH // len(wanted))):
        stop = start + len(batch)
        if stop > rows:
            raise TableError(f"holds more than the {rows} rows that it declares.")
        place = {name: j for j, name in enumerate(batch.schema.names)}
        for j, name in enumerate(wanted):
            values[start:stop, j] = _numbers(batch.column(place[name]))
        start = stop
    if start != rows:
        raise TableError(f"holds {start} rows and declares {rows}.")
    return values, labels


def _batches(stream: BinaryIO, columns: list[str], size: int, dictionary: str | None = None) -> Any:
    file = _open(stream, dictionary)
    return file.iter_batches(batch_size=size, columns=columns, use_threads=False)


def _labels(stream: BinaryIO, rows: int, label: str, used: int, options: Options) -> list[str]:
    """The labels, few at a time: a short file may hold long ones, well compressed."""
    text = _is_text(_open(stream).schema_arrow.field(label).type)
    check_size(used + 8 * rows, options, "what is read, with labels,")
    found: list[str] = []
    for batch in _batches(stream, [label], LABELS, label if text else None):
        # Decoded text takes up to four times its length in UTF-8.
        check_size(used + 4 * batch.nbytes, options, "what was read, with labels,")
        fresh, size = _strings(batch.column(0))
        found += fresh
        used += size
        check_size(used, options, "what was read, with labels,")
        if len(found) > rows:
            break
    if len(found) != rows:
        raise TableError(f"holds {len(found)} labels and declares {rows} rows.")
    if all(label.endswith(MIDNIGHT) or not label for label in found):
        return [label.removesuffix(MIDNIGHT) for label in found]  # days, as pandas writes them to text
    return found


def _numbers(column: Any) -> Array:
    if pa.types.is_boolean(column.type):
        column = compute.cast(column, pa.int8())
    numbers = compute.cast(column, pa.float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


def _strings(column: Any) -> tuple[list[str], int]:
    """Labels of a batch with the memory they take; a text that is repeated is one object."""
    if _is_time(column.type):
        # In the steps of Python, whose dates have no finer ones.
        zone = column.type.tz if pa.types.is_timestamp(column.type) else None
        times = compute.cast(column, pa.timestamp("us", zone), safe=False).to_pylist()
        texts = ["" if time is None else str(time) for time in times]
        return texts, sum(map(sys.getsizeof, texts)) + 8 * len(texts)
    if not pa.types.is_dictionary(column.type):
        texts = [str(value) for value in column.to_pylist()]
        return texts, sum(map(sys.getsizeof, texts)) + 8 * len(texts)
    known = ["" if text is None else text for text in column.dictionary.to_pylist()]
    size = sum(map(sys.getsizeof, known)) + 8 * len(column)
    return ["" if i is None else known[i] for i in column.indices.to_pylist()], size
