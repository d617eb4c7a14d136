"""What leaves the page: cleaned table, flagged rows, model, report, and a script that does the same."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path, PurePath
from typing import Any

from sklearn.pipeline import Pipeline

from .. import persistence
from .._pipelines import split
from ..diagnostics import Flag
from ..tables._copies import cleaned, original
from ._decisions import Chosen
from ._session import Session
from ._settings import ChoiceError, Settings
from ._tasks import Fit, Loaded, report
from ._view import View


def cleaned_table(session: Session) -> bytes:
    """The user's table without the rows, and with the cells empty, that were set aside."""
    loaded, chosen, _ = session.snapshot()
    table = loaded.table
    cells: dict[int, dict[str, None]] = {}
    for i, j in chosen.cells:
        cells.setdefault(int(table.rows[i]), {})[table.columns[j]] = None
    rows = frozenset(int(table.rows[i]) for i in chosen.rows)
    return cleaned(original(session.path, table), rows, cells).encode()


def flagged_rows(session: Session) -> bytes:
    """The rows beyond a limit, the furthest out first, with what makes them unusual."""
    loaded, chosen, view = session.snapshot()
    if view is None:
        raise ChoiceError("Fit first.")
    table, drawn = loaded.table, view.drawn
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    label = [] if table.labels is None else ["label"]
    writer.writerow(
        ["row", *label, "flag", "score_distance", "orthogonal_distance", "excess", "unusual_columns"]
    )
    details = drawn.details.first(drawn.n_listed)
    for at, place in enumerate(drawn.rows[: drawn.n_listed].tolist()):
        i = int(view.fit.kept[place])
        if i in chosen.rows:
            continue
        named = [
            f"{view.analysis.names[j]} {f'{100 * x:.0f} %' if details.by_score[at] else f'{x:+.3g}'}"
            for j, x in zip(details.columns[at].tolist(), details.values[at].tolist())
            if x == x  # noqa: PLR0124
        ]
        name = [] if table.labels is None else [inert(table.labels[i])]
        distances = [float(view.sd[i]), float(view.od[i]), float(view.excess[i])]
        flag = Flag(int(view.flags[i])).label
        writer.writerow([int(table.rows[i]), *name, flag, *distances, inert(", ".join(named))])
    return text.getvalue().encode()


def inert(text: str) -> str:
    """A cell of text that a spreadsheet takes for text and not for a formula.

    Examples
    --------
    >>> inert("=1+1"), inert("wine"), inert("-3")
    ("'=1+1", 'wine', '-3')
    """
    if text.lstrip()[:1] not in ("=", "+", "-", "@"):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def model_file(session: Session) -> bytes:
    """The model, as `tl1pca.load` reads it."""
    fit = session.view.fit
    if not type(split(fit.model)[1]).__module__.startswith("tl1pca"):
        raise ChoiceError(
            "Model files hold methods of tl1pca; classical PCA is kept by joblib. Choose another method."
        )
    with tempfile.TemporaryDirectory(prefix="tl1pca-") as folder:
        path = Path(folder) / "model.npz"
        persistence.save(fit.model, path)
        return path.read_bytes()


def report_page(session: Session) -> bytes:
    """The report of the last fit."""
    loaded, _, view = session.snapshot()
    if view is None:
        raise ChoiceError("Fit first.")
    return report(view.fit, loaded.table, loaded.name).encode()


# ------------------------------------------------------------------------------- the script
def script(session: Session) -> bytes:
    """Python that does what was done on the page, to the same file."""
    loaded, chosen, view = session.snapshot()
    if view is None:
        raise ChoiceError("Fit first.")
    return written(loaded, chosen, view).encode()


def written(loaded: Loaded, chosen: Chosen, view: View) -> str:
    """The script: read, set aside, fit, write."""
    fit, settings = view.fit, chosen.settings
    table, stem = loaded.table, PurePath(loaded.name).stem.partition(".")[0] or "table"
    rows = [int(table.rows[i]) for i in sorted(chosen.rows)]
    cells = [(int(table.rows[i]), table.columns[j]) for i, j in sorted(chosen.cells)]
    method, unit = _method(fit), _scaler(fit)
    judged = fit.analysis if settings.level is None else view.analysis
    limits = judged.found.cutoffs
    at = ", ".join(_number(limit) for limit in (limits.score, limits.orthogonal, limits.tilt))
    moved = settings.level is not None and settings.level != fit.analysis.level
    options = "" if loaded.label is None else f", labels={loaded.label!r}"
    lines = [
        '"""Written by tl1pca explore: what was done on the page, without the page."""',
        "import numpy as np",
        *(["import pandas as pd"] if table.named else []),
        *(["from sklearn.pipeline import make_pipeline"] if unit else []),
        *_imports(fit),
        f"from tl1pca.diagnostics import {'Cutoffs, distances, flags' if moved else 'diagnose'}",
        "from tl1pca.tables import read_table, write_cleaned",
        "",
        f"rows = {rows!r}  # set aside, as numbered in the file",
        f"cells = {cells!r}  # set aside",
        f"write_cleaned({loaded.name!r}, {stem + '_cleaned.csv'!r}, rows=rows, cells=cells{options})",
        f"table = read_table({loaded.name!r}{options})",
        *(["for row, column in cells:"] if cells else []),
        *(["    table.values[row - 1, table.columns.index(column)] = np.nan"] if cells else []),
        f"table = table.select({list(settings.columns)!r}).take(~np.isin(table.rows, rows))",
        *_gaps(settings, loaded, bool(cells)),
        f"X = {'pd.DataFrame(table.values, columns=table.columns)' if table.named else 'table.values'}",
        f"model = {f'make_pipeline({unit}, {method})' if unit else method}.fit(X)",
        f"found = flags(*distances(model, X), Cutoffs({at}))"
        if moved
        else "found = diagnose(model, X).flags",
        'print("Flagged rows:", table.rows[found > 0].tolist())',
    ]
    return "\n".join(lines) + "\n"


def _gaps(settings: Settings, loaded: Loaded, cells: bool) -> list[str]:
    """What is done about missing values."""
    place = [loaded.table.columns.index(name) for name in settings.columns]
    missing = cells or bool((loaded.table.values[:, place] != loaded.table.values[:, place]).any())
    if settings.takes_missing or not missing:
        return []
    return [
        "table = table.take(~np.isnan(table.values).any(axis=1))"
        if settings.missing == "drop"
        else "table = table.take(~np.isnan(table.values).all(axis=1)).filled()"
    ]


def _number(x: float) -> str:
    return "np.inf" if x == float("inf") else repr(float(x))


def _method(fit: Fit) -> str:
    pca = split(fit.model)[1]
    k = fit.work.settings.n_components
    if k is None and fit.work.settings.method not in ("subspace", "cell"):
        k = len(pca.components_)
    given = [] if k is None else [f"n_components={k}"]
    if "random_state" in pca.get_params(deep=False):
        given.append("random_state=0")
    return f"{type(pca).__name__}({', '.join(given)})"


def _scaler(fit: Fit) -> str:
    return f"{type(fit.model[0]).__name__}()" if isinstance(fit.model, Pipeline) else ""


def _imports(fit: Fit) -> list[str]:
    kinds: list[Any] = [type(split(fit.model)[1])]
    if isinstance(fit.model, Pipeline):
        kinds.append(type(fit.model[0]))
    lines = []
    for kind in kinds:
        top = kind.__module__.split(".")
        ours = "tl1pca.preprocessing" if kind.__name__ == "MADScaler" else "tl1pca"
        lines.append(f"from {ours if top[0] == 'tl1pca' else '.'.join(top[:2])} import {kind.__name__}")
    return lines
