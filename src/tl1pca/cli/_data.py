"""From a file and a choice of method to a fitted model; everything on the way is said on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pandas as pd
import typer

from ..tables import Table, TableError, read_table
from ._options import Choice, Method, Missing, Reading
from ._terminal import note, waiting

CLASSES = {
    Method.subspace: "TL1SubspacePCA",
    Method.tl1: "TL1PCA",
    Method.l1: "L1PCA",
    Method.lp: "LpPCA",
    Method.sparse_lp: "SparseLpPCA",
    Method.generalized_lp: "GeneralizedLpPCA",
    Method.r1: "R1PCA",
    Method.l1_reconstruction: "L1ReconstructionPCA",
    Method.l1_best_fit: "L1BestFitPCA",
}


# ---------------------------------------------------------------- data
def read(path: str, reading: Reading, model: Any = None) -> Table:
    """The table in a file, without gaps, with the columns of the model where there is one."""
    limit = reading.limit
    with waiting(f"Reading {path}"), guarded(limit):
        table = read_table(
            path,
            max_memory=limit,
            labels=reading.labels,
            array=reading.array,
            header=reading.header,
            decimal=reading.decimal.value,
        )
    for text in table.notes:
        note(text)
    name = "standard input" if path == "-" else path
    try:
        table = table.without(reading.exclude or [])
        return _complete(table if model is None else _matched(table, model), reading.missing)
    except TableError as error:
        raise TableError(f"{name}: {error}") from None


@contextmanager
def guarded(max_memory: int) -> Iterator[None]:
    """Let the system refuse memory that a file obtains in spite of all checks (on Linux).

    Parsers take some for a moment beside the table itself.
    """
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = [bound for bound in (soft, used + 3 * max_memory + (1 << 30)) if bound != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(most), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _matched(table: Table, model: Any) -> Table:
    """The columns that the model was fitted to, by name where both have names."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and table.named:
        chosen = table.select([str(name) for name in names])
        extra = [name for name in table.columns if name not in set(chosen.columns)]
        if extra:
            note(f"Not part of the model and left out: {', '.join(extra)}.")
        return chosen
    if len(table.columns) != model.n_features_in_:
        raise TableError(
            f"the model was fitted to {model.n_features_in_} columns, here are {len(table.columns)}."
        )
    if (names is not None) != table.named:
        note("Columns are matched by position, because the model or the file has no names.")
    return table


def _complete(table: Table, missing: Missing) -> Table:
    gaps = table.missing()
    if not gaps:
        return table
    complete = ~pd.isna(table.values).any(axis=1)
    total, n_rows = sum(gaps.values()), int((~complete).sum())
    where = ", ".join(f"{column!r}: {count}" for column, count in list(gaps.items())[:8])
    where += f" and {len(gaps) - 8} more columns" if len(gaps) > 8 else ""
    if missing is Missing.error:
        raise TableError(
            f"values are missing: {total} in {n_rows} of {len(table.values)} rows ({where}). "
            "Use --missing drop to leave these rows out, --missing median to put the median of the column "
            "there, or --exclude to leave columns out."
        )
    if missing is Missing.median:
        note(f"{total} missing values were replaced by the median of their column ({where}).")
        return table.filled()
    if not complete.any():
        raise TableError(f"every row has a missing value ({where}). Use --missing median or --exclude.")
    note(f"{n_rows} of {len(table.values)} rows with missing values were left out ({where}).")
    return table.take(complete)


def frame(table: Table, model: Any = None) -> Any:
    """What estimators get: with names where the file (or the model) has them."""
    if model is not None:
        names = getattr(model, "feature_names_in_", None)
        return table.values if names is None else pd.DataFrame(table.values, columns=names)
    return pd.DataFrame(table.values, columns=list(table.columns)) if table.named else table.values


def row_columns(table: Table) -> dict[str, list[Any]]:
    """What identifies a row in a result: its number in the file, and its label."""
    named = {} if table.labels is None else {"label": list(table.labels)}
    return {"row": table.rows.tolist(), **named}


# ---------------------------------------------------------------- models
def fit(table: Table, choice: Choice) -> Any:
    """The chosen method, fitted to the table."""
    count = choice.n_components
    if count is None and choice.method is not Method.subspace:
        count = count_components(table, choice.seed)
    model = estimator(choice.method, count, choice.seed, choice.set or [])
    with waiting(f"Fitting {type(model).__name__} to {len(table.values)} rows"):
        return model.fit(frame(table))


def count_components(table: Table, seed: int) -> int:
    """The number of components that the method `subspace` chooses."""
    from .. import TL1SubspacePCA

    with waiting("Choosing the number of components"):
        count: int = TL1SubspacePCA(random_state=seed).fit(table.values).n_components_
    note(f"{count} components, as many as --method subspace chooses; -k sets another number.")
    return count


def model_or_fit(path: str, reading: Reading, choice: Choice, file: Path | None) -> tuple[Any, Table]:
    """A model from a file, or one fitted to the data, and the data."""
    if file is None:
        check(choice)
        table = read(path, reading)
        return fit(table, choice), table
    if choice != Choice():
        raise typer.BadParameter(
            "-k, --method, --set and --seed are for fitting; a --model is used as it is."
        )
    model = load(file)
    return model, read(path, reading, model)


def load(file: Path) -> Any:
    """A model file."""
    from .. import load as load_model

    return load_model(file)


def check(choice: Choice) -> None:
    """Say what is wrong with a choice before any work is done."""
    estimator(choice.method, choice.n_components, choice.seed, choice.set or [])


def estimator(method: Method, n_components: float | None, seed: int, settings: Sequence[str] = ()) -> Any:
    """The estimator of a method, with the parameters that were set as NAME=VALUE."""
    if method is Method.pca:
        from sklearn.decomposition import PCA as Kind  # noqa: N811
    else:
        import tl1pca

        Kind = getattr(tl1pca, CLASSES[method])
    known = Kind().get_params(deep=False)
    given = {"n_components": n_components, "random_state": seed}
    parameters: dict[str, Any] = {name: value for name, value in given.items() if name in known}
    for setting in settings:
        name, found, value = setting.partition("=")
        if not found:
            raise typer.BadParameter(f"--set takes NAME=VALUE, got {setting!r}.")
        if name in given:
            option = "-k" if name == "n_components" else "--seed"
            raise typer.BadParameter(f"{name} is set by {option}, not by --set.")
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            others = ", ".join(sorted(set(known) - set(given)))
            raise typer.BadParameter(f"{Kind.__name__} has no parameter {name!r}.{hint} It has {others}.")
        parameters[name] = _value(value)
    return Kind(**parameters)


def _value(text: str) -> Any:
    """A number, true, false, null or a list as in JSON; anything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
