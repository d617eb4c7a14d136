"""From a file to a table without gaps; everything on the way is said on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from .._pipelines import split
from ..report._words import count
from ..tables import Table, TableError, read_table
from ..tables._memory import guarded
from ._options import Missing, Reading
from ._terminal import note, waiting


def read(path: str, reading: Reading, model: Any = None, gaps: bool = False) -> Table:
    """The table in a file, with the columns of the model where there is one.

    Missing values are dealt with as asked for; with `gaps` they are left to
    the method where nothing was asked for.
    """
    table = read_as_is(path, reading, model)
    for text in table.notes:
        note(text)
    try:
        return complete(chosen(table, reading, model), reading.missing, gaps, model=model)
    except TableError as error:
        raise TableError(f"{'standard input' if path == '-' else path}: {error}") from None


def chosen(table: Table, reading: Reading, model: Any = None, say: Callable[[str], None] = note) -> Table:
    """The columns that were not left out, or those of the model where there is one."""
    if reading.exclude:
        table = table.without(_separate(reading.exclude, (*table.columns, *table.set_aside)))
    return table if model is None else _matched(table, model, say)


def read_as_is(path: str, reading: Reading, model: Any = None) -> Table:
    """All rows and columns of numbers in a file; a column of the model is one of numbers."""
    limit = reading.limit
    with waiting(f"Reading {path}"), guarded(limit):
        return read_table(
            path,
            max_memory=limit,
            labels=reading.labels,
            array=reading.array,
            header=reading.header,
            decimal=None if reading.decimal is None else reading.decimal.value,
            sheet=reading.sheet,
            numbers=getattr(model, "feature_names_in_", ()),
        )


def _separate(given: Iterable[str], known: Iterable[str]) -> list[str]:
    """Names that were given one by one, or several with commas between; a name may hold commas itself."""
    columns = set(known)
    names: list[str] = []
    for text in given:
        names += [text] if text in columns else [part.strip() for part in text.split(",") if part.strip()]
    return names


def _matched(table: Table, model: Any, say: Callable[[str], None]) -> Table:
    """The columns that the model was fitted to, by name where both have names."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and table.named:
        chosen = table.select([str(name) for name in names])
        extra = [name for name in table.columns if name not in set(chosen.columns)]
        if extra:
            say(f"Not part of the model and left out: {', '.join(extra)}.")
        return chosen
    if len(table.columns) != model.n_features_in_:
        raise TableError(
            f"the model was fitted to {model.n_features_in_} columns, here are {len(table.columns)}."
        )
    if (names is not None) != table.named:
        say("Columns are matched by position, because the model or the file has no names.")
    return table


def complete(
    table: Table,
    missing: Missing,
    gaps: bool,
    say: Callable[[str], None] = note,
    none: bool = False,
    model: Any = None,
) -> Table:
    """The table without missing values, or with them if they are left to the method; `none` may be left."""
    table = _with_values(table, say, model is not None or missing is Missing.drop or gaps)
    counts = table.missing()
    if not counts:
        return table
    whole = ~pd.isna(table.values).any(axis=1)
    total, n_rows = sum(counts.values()), int((~whole).sum())
    where = ", ".join(f"{column!r}: {n}" for column, n in list(counts.items())[:8])
    where += f" and {len(counts) - 8} more columns" if len(counts) > 8 else ""
    if missing is Missing.error and gaps:
        say(f"Left to the method: {count(total, 'missing value')} in {count(n_rows, 'row')} ({where}).")
        return table
    if missing is Missing.error:
        raise TableError(
            f"values are missing: {total} in {n_rows} of {len(table.values)} rows ({where}). "
            "Use --missing drop to leave these rows out, --missing median to put the median of the column "
            + (
                "there, --exclude to leave columns out, or --method cell, which fits what is there."
                if model is None
                else "of this file there, or a model that was fitted with --method cell."
            )
        )
    if missing is Missing.median:
        say(f"Replaced by the median of the column: {count(total, 'missing value')} ({where}).")
        return table.filled()
    if not (whole.any() or none):
        other = "" if model is not None else " or --exclude"
        raise TableError(f"every row has a missing value ({where}). Use --missing median{other}.")
    say(f"Left out because of missing values: {n_rows:,} of {count(len(table.values), 'row')} ({where}).")
    return table.take(whole)


def _with_values(table: Table, say: Callable[[str], None], strict: bool) -> Table:
    """The table without the rows that have no value at all: units below the names, lines of separators.

    With `strict` a line of units alone: of rows that come to a model, or to a method that takes gaps, the
    others may be what it is asked about.
    """
    blank = np.asarray(np.isnan(table.values).all(axis=1))
    if strict:
        blank &= table.units and table.rows == 1
    if not blank.any() or blank.all():
        return table
    say(f"Left out: {count(int(blank.sum()), 'row')} without a value.")
    return table.take(~blank)


def frame(table: Table, model: Any = None) -> Any:
    """What estimators get: with names where the file (or the model) has them."""
    if model is not None:
        names = getattr(model, "feature_names_in_", None)
        return table.values if names is None else pd.DataFrame(table.values, columns=names)
    return pd.DataFrame(table.values, columns=list(table.columns)) if table.named else table.values


def takes_missing(model: Any) -> bool:
    """Whether a fitted model takes missing values: a step fills them in, or the method fits without them."""
    steps, pca = split(model)
    if steps is not None:
        names = getattr(model, "feature_names_in_", None)
        nothing = np.full((1, model.n_features_in_), np.nan)
        inside = steps.transform(nothing if names is None else pd.DataFrame(nothing, columns=names))
        if not pd.isna(np.asarray(inside)).any():
            return True
    return bool(pca.__sklearn_tags__().input_tags.allow_nan)


def row_columns(table: Table) -> dict[str, list[Any]]:
    """What identifies a row in a result: its number in the file, and its label."""
    named = {} if table.labels is None else {"label": list(table.labels)}
    return {"row": table.rows.tolist(), **named}
