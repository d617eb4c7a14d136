"""What the process beside the server does: read a file, fit, choose the number of components."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline

from .._pipelines import inner_rows, observed_numbers, split
from .._progress import reporting_to
from ..diagnostics import distances
from ..preprocessing import MADScaler
from ..report._analysis import Analysis, analyze
from ..selection import select_n_components
from ..tables import Table, TableError, read_table
from ..tables._copies import is_text, original
from ..tables._memory import guarded
from ._columns import Column, Texts, numeric, texts
from ._settings import ChoiceError, Settings, estimator, filled, scaler

Array = NDArray[Any]
#: Told what is being done, how many steps are done, and of how many.
Tell = Callable[[str, int, int], None]
#: Seconds between two reports of the iterations of a fit.
PAUSE = 0.1
#: Rows set aside that are judged, and drawn.
MOST_ASIDE = 2000


@dataclass(frozen=True)
class Loaded:
    """A file that was read."""

    name: str
    table: Table
    columns: list[Column]
    texts: Texts
    label: str | None


@dataclass(frozen=True)
class Work:
    """What is to be fitted.

    Attributes
    ----------
    settings : Settings
    rows : ndarray of int
        Positions of the rows that are set aside.
    cells : ndarray of int of shape (m, 2)
        Positions of the cells that are set aside: rows, and columns of the table.
    """

    settings: Settings
    rows: Array
    cells: Array


@dataclass(frozen=True)
class Aside:
    """What a fit says of rows that took no part in it; NaN where values are missing.

    Attributes
    ----------
    rows : ndarray of int of shape (m,)
        Their positions in the table.
    distances, classical : ndarray of shape (2, m)
        Score and orthogonal distances, by the fit and by classical PCA.
    scores : ndarray of shape (m, k)
    """

    rows: Array
    distances: Array
    classical: Array
    scores: Array


@dataclass(frozen=True)
class Fit:
    """A fit, with what it says of every row.

    Attributes
    ----------
    work : Work
    model : estimator or Pipeline
    analysis : Analysis
        Of the rows in the fit.
    kept : ndarray of int
        Their positions in the table.
    aside : Aside
        Of the rows that are set aside.
    notes : list of str
    seconds : float
    """

    work: Work
    model: Any
    analysis: Analysis
    kept: Array
    aside: Aside
    notes: list[str]
    seconds: float


def read(path: str, name: str, label: str | None, max_memory: int, tell: Tell) -> Loaded:
    """Read a copy of the user's file; errors speak of the file by its own name."""
    tell(f"Reading {name}", 0, 2)
    try:
        with guarded(max_memory):
            table = read_table(path, labels=label, max_memory=max_memory)
        tell("Looking at the columns", 1, 2)
        if len(table.values) < 3:
            raise TableError(f"{path}: too few rows ({len(table.values)}); at least 3 are needed.")
        chosen = label if label is not None else _first_label(path, table)
        if is_text(path):
            others, cells = texts(original(path, table), table, chosen)
        else:
            cells = Texts((), ())
            others = [
                Column(n, "text", "not numbers: not analyzed", False, False, 0.0) for n in table.set_aside
            ]
    except (TableError, OSError) as error:
        raise ChoiceError(str(error).replace(str(path), name)) from None
    return Loaded(name, table, [*numeric(table), *others], cells, chosen)


def _first_label(path: str, table: Table) -> str | None:
    """The column that the reader took for the names of the rows: the first one."""
    if table.labels is None or not table.named or not is_text(path):
        return None
    from ..tables._table import unique_names

    return unique_names(original(path, table).names)[0][0]


def prepared(table: Table, work: Work) -> tuple[Array, Array]:
    """The values of the chosen columns for all rows, and the positions of the rows that are fitted."""
    place = {name: j for j, name in enumerate(table.columns)}
    chosen = [place[name] for name in work.settings.columns]
    values = table.values.copy()
    values[work.cells[:, 0], work.cells[:, 1]] = np.nan
    values = values[:, chosen]
    kept = np.ones(len(values), dtype=bool)
    kept[work.rows] = False
    if not work.settings.takes_missing:  # medians alone are no row
        gaps = np.isnan(values)
        kept &= ~(gaps.any(axis=1) if work.settings.missing == "drop" else gaps.all(axis=1))
    if not kept.any():
        raise ChoiceError(
            "No row is left: every row is set aside or has a missing value. Put rows back, leave columns "
            "with missing values out, or take the median for missing values."
        )
    empty = [work.settings.columns[j] for j in np.flatnonzero(np.isnan(values[kept]).all(axis=0)).tolist()]
    if empty:
        raise ChoiceError(f"Column “{empty[0]}” has no value left; leave it out, or put cells back.")
    return values, np.flatnonzero(kept)


def fit(table: Table, work: Work, tell: Tell) -> Fit:
    """Fit the rows that are not set aside, and judge all."""
    begin = time.monotonic()
    settings = work.settings
    steps = 4
    tell("Preparing the columns", 0, steps)
    values, kept = prepared(table, work)
    X = values[kept] if settings.takes_missing else filled(values[kept])
    notes: list[str] = []
    unit, note = scaler(X, settings)
    notes += [note] if note else []
    count = settings.n_components
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if count is None and settings.method not in ("subspace", "cell"):
            tell("Choosing the number of components", 0, steps)
            scaled = X if unit is None else unit.fit_transform(X)
            count = int(estimator("subspace", None).fit(scaled).n_components_)
            notes.append(f"The number of components is the one that TL1SubspacePCA chooses: {count}.")
        method = estimator(settings.method, count)
        model = method if unit is None else make_pipeline(unit, method)
        frame = _frame(X, settings.columns if table.named else None)
        with reporting_to(_iterations(f"Fitting {type(method).__name__}", tell, steps)):
            tell(f"Fitting {type(method).__name__} to {len(X):,} rows", 1, steps)
            model.fit(frame)
        tell("Judging the rows, and comparing with classical PCA", 2, steps)
        labels = None if table.labels is None else [table.labels[i] for i in kept.tolist()]
        analysis = analyze(frame, model, settings.columns, labels, table.rows[kept])
        tell("Judging the rows that are set aside", 3, steps)
        aside = _aside(work.rows, values, model, analysis, settings)
    notes += list(dict.fromkeys(" ".join(str(w.message).split()) for w in caught))
    return Fit(work, model, analysis, kept, aside, notes, time.monotonic() - begin)


def _iterations(what: str, tell: Tell, steps: int) -> Callable[[str, float], bool]:
    count, last = 0, time.monotonic()

    def listen(task: str, objective: float) -> bool:
        nonlocal count, last
        count += 1
        if time.monotonic() - last > PAUSE:
            last = time.monotonic()
            tell(f"{what}, iteration {count:,}", 1, steps)
        return False

    return listen


def _aside(rows: Array, values: Array, model: Any, analysis: Analysis, settings: Settings) -> Aside:
    """Judge rows that are not in the fit."""
    rows, pca = rows[:MOST_ASIDE], split(model)[1]
    values = values[rows]
    known = np.ones(len(rows), bool) if settings.takes_missing else ~np.isnan(values).any(axis=1)
    both = np.full((2, 2, len(rows)), np.nan)
    scores = np.full((len(rows), len(pca.components_)), np.nan)
    if known.any():
        given = _frame(values[known], getattr(model, "feature_names_in_", None))
        both[0][:, known] = distances(model, given)
        scores[known] = model.transform(given)
        if analysis.classical is not None:
            inside = inner_rows(model, given)
            data = pca._repaired(observed_numbers(pca, inside)) if settings.takes_missing else inside
            both[1][:, known] = distances(analysis.classical.pca, np.asarray(data))
    return Aside(rows, both[0], both[1], scores)


def _frame(values: Array, names: Any) -> Any:
    """What estimators get: with names where there are some."""
    import pandas as pd

    return values if names is None else pd.DataFrame(values, columns=list(names))


def curve(table: Table, work: Work, tell: Tell) -> dict[str, Any]:
    """The curve behind the number of components."""
    tell("Fitting with 1, 2, ... components", 0, 2)
    values, kept = prepared(table, work)
    X = values[kept] if work.settings.takes_missing else filled(values[kept])
    if len(X) < 6:
        raise ChoiceError(f"{len(X)} rows are too few to choose the number of components from; 6 are needed.")
    cellwise = work.settings.takes_missing
    unit = MADScaler() if cellwise else scaler(X, work.settings)[0]  # cells are predicted in common units
    method = estimator("cell" if cellwise else "subspace", None)
    with warnings.catch_warnings(), reporting_to(_iterations("Fitting with 1, 2, ... components", tell, 2)):
        warnings.simplefilter("ignore")
        found = select_n_components(X, method if unit is None else make_pipeline(unit, method))
    parallel = found.parallel_analysis
    return {
        "chosen": found.n_components,
        "errors": found.cross_validation.errors.tolist(),
        "spread": found.cross_validation.spread.tolist(),
        "eigenvalues": parallel.eigenvalues.tolist(),
        "noise": parallel.null_limit.tolist(),
        "trusted": found.n_trusted,
        "rows": found.n_samples,
    }


def report(fit: Fit, table: Table, name: str) -> str:
    """The report page of a fit."""
    from ..report import render_report

    settings = fit.work.settings
    values, kept = prepared(table, fit.work)
    X = values[kept] if settings.takes_missing else filled(values[kept])
    return render_report(
        _frame(X, settings.columns if table.named else None),
        estimator=fit.model,
        columns=settings.columns,
        labels=fit.analysis.labels,
        row_numbers=fit.analysis.numbers,
        source=name,
    )


def components(fit: Fit) -> int:
    """The number of components of a fit."""
    return len(split(fit.model)[1].components_)


def ending(name: str) -> str:
    """The ending of a file name by which its format is known, in lower case; no part of a path."""
    suffixes = [suffix.lower() for suffix in Path(name.replace("\\", "/")).suffixes[-2:]]
    last = "".join(suffixes) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])
    return last if last.replace(".", "").isalnum() and len(last) <= 16 else ""
