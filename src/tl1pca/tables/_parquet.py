"""Parquet: the schema and the declared sizes first, then batch by batch the columns that are wanted."""

from __future__ import annotations

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
INDEX = "__index_level_"  # how pandas names an unnamed index


def read_parquet(stream: BinaryIO, options: Options) -> Table:
    """A file of columns; only flat ones of numbers, and the one of the labels, are decoded."""
    with parsing("Parquet file"):
        schema, rows = _declared(stream)
        names = list(schema.names)
        check_columns(len(names))
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise TableError(f"has several columns of the same name: {listed(repeated)}.")
        label = _label(schema, options)
        wanted = [f.name for f in schema if _is_number(f.type) and f.name != label]
        aside = [name for name in names if name not in {*wanted, label}]
        check_size(
            rows * (len(wanted) + (label is not None)) * 8 + 72 * len(names),
            options,
            f"a table of {rows:,} x {len(wanted):,}",
        )
        notes = [] if label is None else [f"Column {shortened(label)!r} names the rows."]
        notes += [f"Set aside columns that are not numbers: {listed(aside)}."] if aside else []
        if not wanted:
            raise TableError(" ".join(["holds no column of numbers.", *notes]))
        values, labels = _decode(stream, rows, wanted, label, options)
    return assemble(values, wanted, named=True, labels=labels, set_aside=aside, notes=notes)


def _open(stream: BinaryIO, label: str | None = None) -> Any:
    stream.seek(0)
    return parquet.ParquetFile(
        pa.PythonFile(stream, mode="r"),
        # A text that is repeated in every row of a column is stored once, and has to stay so.
        read_dictionary=None if label is None else [label],
        thrift_string_size_limit=16 << 20,
        thrift_container_size_limit=200_000,
    )


def _declared(stream: BinaryIO) -> tuple[Any, int]:
    file = _open(stream)
    rows = int(file.metadata.num_rows)
    groups = sum(int(file.metadata.row_group(i).num_rows) for i in range(file.metadata.num_row_groups))
    if rows < 0 or rows != groups:
        raise TableError(f"contradicts itself: {rows} rows in all, {groups} in its parts.")
    return file.schema_arrow, rows


def _is_number(kind: Any) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
    )


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _label(schema: Any, options: Options) -> str | None:
    if options.labels is not None:
        if options.labels not in schema.names:
            raise TableError(
                f"there is no column {options.labels!r} for the labels; the file has {listed(schema.names)}."
            )
        kind = schema.field(options.labels).type
        if not (_is_text(kind) or _is_number(kind)):
            raise TableError(f"column {options.labels!r} holds {kind}, which cannot name rows.")
        return options.labels
    index = [name for name in schema.names if name.startswith(INDEX)]
    if len(index) == 1 and (_is_text(schema.field(index[0]).type) or _is_number(schema.field(index[0]).type)):
        return str(index[0])
    return str(schema.names[0]) if len(schema.names) and _is_text(schema.field(0).type) else None


def _decode(
    stream: BinaryIO, rows: int, wanted: list[str], label: str | None, options: Options
) -> tuple[Array, list[str] | None]:
    text = label is not None and _is_text(_open(stream).schema_arrow.field(label).type)
    file = _open(stream, label if text else None)
    values = np.empty((rows, len(wanted)))
    labels: list[str] = []
    used = values.nbytes
    start = 0
    batches = file.iter_batches(
        batch_size=max(1, BATCH // len(wanted)),
        columns=[*wanted, *([] if label is None else [label])],
        use_threads=False,
    )
    for batch in batches:
        stop = start + len(batch)
        if stop > rows:
            raise TableError(f"holds more than the {rows} rows that it declares.")
        for j, name in enumerate(wanted):
            values[start:stop, j] = _numbers(_column(batch, name))
        if label is not None:
            fresh, size = _strings(_column(batch, label))
            labels += fresh
            used += size
            check_size(used, options, "what was read, with labels,")
        start = stop
    if start != rows:
        raise TableError(f"holds {start} rows and declares {rows}.")
    return values, None if label is None else labels


def _column(batch: Any, name: str) -> Any:
    return batch.column(batch.schema.get_field_index(name))


def _numbers(column: Any) -> Array:
    if pa.types.is_boolean(column.type):
        column = compute.cast(column, pa.int8())
    numbers = compute.cast(column, pa.float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


def _strings(column: Any) -> tuple[list[str], int]:
    """Labels of a batch with the memory they take; a text that is repeated is one object."""
    if not pa.types.is_dictionary(column.type):
        texts = [str(value) for value in column.to_pylist()]
        return texts, sum(len(text) + 72 for text in texts)
    known = ["" if text is None else text for text in column.dictionary.to_pylist()]
    size = sum(len(text) + 72 for text in known) + 8 * len(column)
    return ["" if i is None else known[i] for i in column.indices.to_pylist()], size
