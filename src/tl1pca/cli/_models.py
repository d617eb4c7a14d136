"""From a table and a choice of method to a fitted model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer
from sklearn.pipeline import make_pipeline

from .._pipelines import split
from ..report._words import count as counted
from ..tables import Table
from ._data import frame, read, takes_missing
from ._options import Choice, Method, Reading, Scale
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
    Method.cell: "TL1CellPCA",
    Method.stream: "IncrementalTL1PCA",
}


def fit(table: Table, choice: Choice) -> Any:
    """The chosen method, fitted to the table; a pipeline where the columns are scaled first."""
    check_count(choice.n_components, table)
    # The method for cells has a unit for every column already.
    scaler = None if choice.method is Method.cell else choose_scaler(table, choice.scale)
    count = choice.n_components
    if count is None and choice.method not in (Method.subspace, Method.cell, Method.stream):
        count = count_components(table, scaler, choice.seed)
    method = estimator(choice.method, count, choice.seed, choice.set or [])
    model = method if scaler is None else make_pipeline(scaler, method)
    with waiting(f"Fitting {type(method).__name__} to {len(table.values)} rows"):
        return model.fit(frame(table))


def check_count(n_components: float | None, table: Table) -> None:
    """Say that there are too few rows, or not so many components, in the words of the command line."""
    n, d = table.values.shape
    if n < 2:
        raise ValueError("1 row is not enough: a fit needs at least 2, and flags mean something from 10 on.")
    most = min(n, d)
    if isinstance(n_components, int) and n_components > most:
        raise ValueError(
            f"-k {n_components} is too many: {counted(n, 'row')} of {counted(d, 'column')} have "
            f"at most {counted(most, 'component')}. "
            "Without -k the number is chosen."
        )


def choose_scaler(table: Table, scale: Scale) -> Any:
    """What brings columns in different units to a common one; None where they stay as they are."""
    from sklearn.preprocessing import StandardScaler

    from ..preprocessing import MADScaler, unequal_spreads

    if scale is Scale.none:
        return None
    if scale is Scale.std:
        return StandardScaler()
    if scale is Scale.auto:
        found = unequal_spreads(table.values)
        if found is None:
            return None
        wide, narrow = (table.columns[j] for j in (found.widest, found.narrowest))
        note(
            f"Columns were divided by their median absolute deviation: their spreads differ up to "
            f"{found.times} ({wide!r} against {narrow!r}). --scale none leaves them as they are."
        )
    return MADScaler()


def count_components(table: Table, scaler: Any, seed: int) -> int:
    """The number of components that the method `subspace` chooses."""
    from .. import TL1SubspacePCA

    values = table.filled().values
    with waiting("Choosing the number of components"):
        scaled = values if scaler is None else scaler.fit_transform(values)
        count: int = TL1SubspacePCA(random_state=seed).fit(scaled).n_components_
    note(f"{counted(count, 'component')}, as many as --method subspace chooses; -k sets another number.")
    return count


def model_or_fit(path: str, reading: Reading, choice: Choice, file: Path | None) -> tuple[Any, Table]:
    """A model from a file, or one fitted to the data, and the data."""
    if file is None:
        gaps = check(choice)
        table = read(path, reading, gaps=gaps)
        return fit(table, choice), table
    if choice != Choice():
        raise typer.BadParameter(
            "-k, --method, --scale, --set and --seed are for fitting; a --model is used as it is."
        )
    model = load(file)
    return model, read(path, reading, model, takes_missing(model))


def cell_model_or_fit(path: str, reading: Reading, choice: Choice, file: Path | None) -> tuple[Any, Table]:
    """`model_or_fit` where cells are to be judged: by the method `cell` unless there is a model."""
    if file is None:
        if choice.method not in (Method.subspace, Method.cell):
            raise typer.BadParameter(f"cells are judged by --method cell, not by {choice.method.value}.")
        choice = replace(choice, method=Method.cell)
    model, table = model_or_fit(path, reading, choice, file)
    if not hasattr(model, "cell_residuals"):
        name = type(split(model)[1]).__name__
        raise ValueError(f"{file}: a {name} judges rows, not cells; fit a model with --method cell.")
    return model, table


def load(file: Path) -> Any:
    """A model file."""
    from .. import load as load_model

    return load_model(file)


def check(choice: Choice) -> bool:
    """Say what is wrong with a choice before any work is done; whether the method takes missing values."""
    method = estimator(choice.method, choice.n_components, choice.seed, choice.set or [])
    return bool(method.__sklearn_tags__().input_tags.allow_nan)


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
