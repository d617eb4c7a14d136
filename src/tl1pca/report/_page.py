"""From an analysis to the page, and to the disk."""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.preprocessing import StandardScaler

from .._files import write_atomically
from .._version import __version__
from ..preprocessing import MADScaler
from . import _words as words
from ._analysis import Analysis, analyze, text
from ._drawn import MAX_LISTED, MAX_VARIABLES, Drawn, draw, embedded

#: The version of assets/plotly-basic.min.js: the npm package plotly.js-basic-dist-min, MIT license.
PLOTLY = "4.1.1"
#: Our scripts, one after the other in one scope.
SCRIPTS = ("text", "names", "state", "figures", "table", "linked", "row", "page")
#: The data that these scripts speak of; tl1pca.explore hands them other data.
DATA = 'const data = JSON.parse(document.getElementById("data").textContent);\n'
#: What a scaler does, in words.
DONE: dict[type, str] = {
    MADScaler: "each column less its median, divided by its median absolute deviation",
    StandardScaler: "each column less its mean, divided by its standard deviation",
}


def write_report(
    X: ArrayLike,
    path: str | os.PathLike[str],
    *,
    estimator: Any = None,
    columns: Sequence[object] | None = None,
    labels: Sequence[object] | None = None,
    row_numbers: ArrayLike | None = None,
    time: ArrayLike | bool | None = None,
    title: str | None = None,
    source: str | None = None,
) -> Path:
    """Write one HTML file that shows what was fitted, which rows stand out, and what to do next.

    The file needs nothing else, neither other files nor a network. Of many
    rows the figures show a sample, and say so; the table and the CSV file it
    exports hold the flagged rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numbers, finite unless the estimator takes missing values. Names of
        the columns, and the index unless it only counts from zero, are taken
        from a DataFrame.
    path : path-like
        The file; its folder has to exist. An old file is replaced in one step.
    estimator : estimator, optional
        Any estimator of the package, scikit-learn's PCA, or a pipeline that
        ends in one; the page speaks of the columns of X. A fitted one is used
        as it is; of an unfitted one a clone is fitted to X. By default
        ``TL1SubspacePCA()``.
    columns : sequence of length n_features, optional
        Names of the columns.
    labels : sequence of length n_samples, optional
        Names of the rows. Without any, the page counts rows from 1, as a
        spreadsheet does below its header; `X[i]` is row i + 1 there.
    row_numbers : sequence of int of length n_samples, optional
        Numbers to call the rows by, where X is a part of a table.
    time : True or array-like of length n_samples, optional
        When the rows were measured, as dates or numbers; True says that they
        are in the order of time. The page then has control charts. By default
        the index of a DataFrame if it holds dates, and no charts otherwise.
    title : str, optional
        Title of the page.
    source : str, optional
        Where the data come from, in words.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ImportError
        If jinja2 is missing: ``pip install 'tl1pca[report]'``.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tl1pca.datasets import make_contaminated
    >>> from tl1pca.report import write_report
    >>> X, bad, axes = make_contaminated(200, 10, 2, fraction=0.1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(X, Path(folder) / "report.html", title="A first look")
    ...     text = page.read_text(encoding="utf-8")
    >>> "A first look" in text
    True
    """
    if not Path(path).parent.is_dir():  # said before the fit, not after it
        raise FileNotFoundError(
            f"The folder {str(Path(path).parent)!r} of the report does not exist; create it first."
        )
    page = render_report(
        X,
        estimator=estimator,
        columns=columns,
        labels=labels,
        row_numbers=row_numbers,
        time=time,
        title=title,
        source=source,
    )
    write_atomically(path, page)
    return Path(path)


def render_report(
    X: ArrayLike,
    *,
    estimator: Any = None,
    columns: Sequence[object] | None = None,
    labels: Sequence[object] | None = None,
    row_numbers: ArrayLike | None = None,
    time: ArrayLike | bool | None = None,
    title: str | None = None,
    source: str | None = None,
) -> str:
    """The page of `write_report` as text, for those who serve it themselves.

    Parameters
    ----------
    X, estimator, columns, labels, row_numbers, time, title, source
        As in `write_report`.

    Returns
    -------
    str
        A whole HTML document.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tl1pca.report import render_report
    >>> page = render_report(load_iris().data, columns=load_iris().feature_names)
    >>> page.startswith("<!doctype html>")
    True
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ImportError(f"The report needs jinja2 ({error}): pip install 'tl1pca[report]'.") from error
    analysis = analyze(X, estimator, columns, labels, row_numbers, time)
    drawn = draw(analysis)
    environment = Environment(
        loader=PackageLoader("tl1pca.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    library, packed = _library()
    ours = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    script = _line_ends(f'"use strict";\n(() => {{\n{DATA}{ours}}})();').replace("</script", "<\\/script")
    return environment.get_template("report.html.j2").render(
        title=text(title or "Principal components and outliers"),
        source=None if source is None else text(source),
        library=Markup(packed),
        script=Markup(script),
        script_hashes=" ".join(f"'sha256-{_digest(code)}'" for code in (library, script)),
        style=Markup(asset("report.css")),
        data=Markup(embedded(analysis, drawn)),
        **_content(analysis, drawn),
    )


def asset(name: str) -> str:
    """A file of the page as text."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _library() -> tuple[str, str]:
    """The library, and what the page holds of it: compressed it is less than half as large."""
    code = _line_ends(asset("plotly-basic.min.js"))
    return code, base64.b64encode(gzip.compress(code.encode(), mtime=0)).decode()


def _line_ends(code: str) -> str:
    """Code with the line ends that a browser hashes."""
    return code.replace("\r\n", "\n").replace("\r", "\n")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _content(analysis: Analysis, drawn: Drawn) -> dict[str, Any]:
    """What the template shows as text."""
    fitted = analysis.estimator
    classical = analysis.classical
    shares = np.asarray(fitted.explained_variance_ratio_, dtype=np.float64)
    m = drawn.n_listed
    details = drawn.details.first(m)
    kept = float(shares.sum())
    return {
        "tiles": tiles(analysis, kept),
        "facts": _facts(analysis, kept),
        "findings": words.findings(analysis, details),
        "advice": words.advice(analysis),
        "comparison": words.comparison(analysis),
        "classical": classical,
        "angles": [] if classical is None else [words.degrees(float(a)) for a in classical.angles],
        "shares": [] if classical is None else _shares(shares, classical.shares, classical.component_angles),
        "legend": [
            (
                int(flag),
                flag.label,
                meaning,
                f"{int(np.count_nonzero(analysis.found.flags == flag)):,}",
            )
            for flag, meaning in words.MEANINGS.items()
        ],
        "drawn_note": _drawn_note(analysis, drawn),
        "listed_note": _listed_note(analysis, drawn),
        "n_flagged": len(analysis.flagged),
        "too_few": analysis.too_few,
        "labeled": analysis.labels is not None,
        "charts": analysis.time is not None,
        "levels": not analysis.too_few,
        "n_columns": len(analysis.names),
        "n_components": len(shares),
        "method": type(fitted).__name__,
        "loadings_note": _loadings_note(analysis),
        "cells": _cell_map(analysis, drawn),
        "versions": ", ".join(
            [
                f"tl1pca {__version__}",
                *(f"{name} {version(name)}" for name in ("scikit-learn", "numpy")),
                f"plotly.js {PLOTLY}",
            ]
        ),
    }


def _cell_map(analysis: Analysis, drawn: Drawn) -> dict[str, Any] | None:
    from ._cells import cell_map  # needs markupsafe, which comes with the extra

    return cell_map(analysis, drawn.rows)


def tiles(analysis: Analysis, kept: float) -> list[tuple[str, str]]:
    """The numbers at the top, each with what it means."""
    n, m, k = len(analysis.data), len(analysis.flagged), len(analysis.estimator.components_)
    classical = analysis.classical
    components = "component holds" if k == 1 else "components hold"
    found = [
        (f"{n:,} × {len(analysis.names):,}", "rows × columns"),
        (str(k), f"{components} {words.percent(kept)} of the variance"),
        (f"{m:,}", f"flagged {'row' if m == 1 else 'rows'}, {words.percent(m / n)} of all"),
    ]
    if classical is not None:
        found.append((words.degrees(float(classical.angles[0])), "largest angle to classical PCA"))
    return found


def _facts(analysis: Analysis, kept: float) -> list[tuple[str, str]]:
    fitted, limits = analysis.estimator, analysis.found.cutoffs
    facts = [
        ("Method", " ".join(repr(fitted).split())),
        *_steps(analysis),
        (
            "Rows and columns",
            f"{words.count(len(analysis.data), 'row')}, {words.count(len(analysis.names), 'column')}",
        ),
        (
            "Components",
            f"{len(fitted.components_)}, with {words.percent(kept)} of the variance as the method sees it",
        ),
        (
            "Limit of the score distance",
            f"{limits.score:.4g}" if np.isfinite(limits.score) else "none: too few rows for one",
        ),
        ("Limit of the orthogonal distance", f"{limits.orthogonal:.4g}"),
    ]
    if hasattr(fitted, "n_iter_"):
        ended = "" if getattr(fitted, "converged_", True) else ", not converged"
        facts.append(("Iterations", f"{fitted.n_iter_}{ended}"))
    return facts


def _steps(analysis: Analysis) -> list[tuple[str, str]]:
    """What a pipeline does to the rows before they are fitted."""
    if analysis.steps is None:
        return []
    steps = [step for _, step in analysis.steps.steps]
    named = ", ".join(" ".join(repr(step).split()) for step in steps)
    said = "".join(f": {DONE[type(step)]}" for step in steps[-1:] if type(step) in DONE)
    return [
        (
            "Before it",
            f"{named}{said}. Distances, variances and loadings are those of the columns after that.",
        )
    ]


def _shares(ours: Any, theirs: Any, angles: Any) -> list[tuple[str, str, str, str]]:
    pairs = zip(ours.tolist(), theirs.tolist(), angles.tolist())
    return [
        (str(j), words.percent(a), words.percent(b), words.degrees(c)) for j, (a, b, c) in enumerate(pairs, 1)
    ]


def _drawn_note(analysis: Analysis, drawn: Drawn) -> str:
    """Which rows the figures show."""
    n, n_flagged = len(analysis.data), len(analysis.flagged)
    shown_flagged = int(np.count_nonzero(drawn.points < drawn.n_listed))
    shown_regular = len(drawn.points) - shown_flagged
    if len(drawn.points) == n:
        return f"All {n:,} rows are drawn."
    parts = [_part(shown_regular, n - n_flagged, "regular row", "drawn at random")]
    furthest = f"the {shown_flagged // 2:,} furthest out and others at random"
    parts.append(_part(shown_flagged, n_flagged, "flagged row", furthest))
    return f"So that the page stays quick, the figures show {' and '.join(part for part in parts if part)}."


def _part(shown: int, n: int, noun: str, how: str) -> str:
    if n <= 1:
        return f"the {noun}" if n else ""
    return f"all {n:,} {noun}s" if shown == n else f"{shown:,} of the {n:,} {noun}s ({how})"


def _listed_note(analysis: Analysis, drawn: Drawn) -> str:
    if drawn.n_listed == len(analysis.flagged):
        return ""
    return (
        f"The table and the file hold the {MAX_LISTED:,} furthest out of {len(analysis.flagged):,} flagged "
        "rows; tl1pca.diagnostics.diagnose gives all."
    )


def _loadings_note(analysis: Analysis) -> str:
    if len(analysis.names) <= MAX_VARIABLES:
        return ""
    return f"Shown are the {MAX_VARIABLES:,} columns with the largest loadings, of {len(analysis.names):,}."
