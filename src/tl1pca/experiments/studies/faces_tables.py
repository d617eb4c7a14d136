"""The tables of the faces study."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..methods import L1, L1_BY_CHANCE, LP, LPS, PCA, PUBLISHED_TL1, RAW, TL1
from ..output import Table, number, paired, shape_value, with_error
from ..selection import RULES

METHODS = (PUBLISHED_TL1, TL1, LP, LPS, L1, PCA, RAW)
#: Number and rows of the paper's tables.
PRINTED = {"yale": "Table I", "jaffe": "Table II"}
_SOLVERS = (
    "Tl1PCA, Algorithm 1 is the paper's method, with its solver and its random first angle; Tl1PCA is the "
    "same objective by the default solver of this package."
)


def block(noise: float) -> str:
    """The size of the block for a table."""
    return f"{int(noise)} × {int(noise)}" if noise else "original"


def ordered(part: Any, methods: tuple[str, ...] = METHODS) -> list[Any]:
    """Rows of a summary in the order of the methods."""
    rows = {row.method: row for row in part.itertuples()}
    return [rows[method] for method in methods if method in rows]


def _printed(names: Iterable[str]) -> str:
    """The paper's tables on these databases."""
    return " and ".join(PRINTED[name] for name in names if name in PRINTED)


def _beyond(names: Iterable[str]) -> str:
    """The beginning of the title of a table that the paper does not have."""
    printed = _printed(names)
    return f"Beyond {printed}. " if printed else ""


def against_published(summary: Any, titles: dict[str, str]) -> Table:
    """Obtained ± s.e. (published, whether within two s.e.); the numbers alone where there is no error."""
    oracle = summary[summary["selection"] == "oracle"]
    rows = []
    for (source, noise), part in oracle.groupby(["source", "noise"], sort=False):
        cells = []
        for row in ordered(part):
            cell = with_error(row.accuracy, row.standard_error)
            if not np.isnan(row.published):
                verdict = {True: ", yes", False: ", no"}.get(row.within_two_se, "")
                cell += f" ({row.published:.2f}{verdict})"
            cells.append(cell)
        rows.append((f"{titles[source]}, {block(noise)}", *cells))
    names = _printed(titles)
    errors = oracle["standard_error"].notna().any()
    content = "obtained ± s.e. (published, within two s.e.?)" if errors else "obtained (published)"
    return Table(
        "faces_published",
        f"{names + ' of the paper: accuracy' if names else 'Accuracy'} in % with the paper's oracle "
        f"selection: {content}",
        ("data, block", *METHODS),
        tuple(rows),
        f"{_SOLVERS} 1-NN on raw pixels is not in the paper.",
    )


def selection_table(
    summary: Any, name: str, title: str, methods: tuple[str, ...] = METHODS, note: str = ""
) -> Table:
    """The rules of selection side by side."""
    rows, errors = [], summary["standard_error"].notna().any()
    for noise, part in summary.groupby("noise", sort=False):
        rules = [ordered(part[part["selection"] == rule], methods) for rule in RULES]
        for pair in zip(*rules):
            cells = [cell for row in pair for cell in _selection_cells(row)]
            rows.append((block(noise), pair[0].method, *cells))
    return Table(
        f"{'faces' if methods is METHODS else 'family'}_{name}",
        f"{_beyond([name] if methods is METHODS else [])}{title}: accuracy in %, and the paired difference "
        f"from PCA on the same splits, mean{' ± s.e.' if errors else ''}",
        ("block", "method", *(head for rule in RULES for head in (rule, "minus PCA", "at"))),
        tuple(rows),
        note
        or "At: a or p; number of components. Other images: those chosen on the first half. Nested: the most "
        f"frequent parameter and the median number of components over the splits. {_SOLVERS}",
    )


def _selection_cells(row: Any) -> tuple[str, str, str]:
    return (
        with_error(row.accuracy, row.standard_error),
        paired(row.difference, row.difference_error),
        f"{shape_value(row.value)}; {number(row.dimension, 0)}",
    )


def effort_table(summary: Any, name: str, title: str) -> Table:
    """Time of the fits."""
    effort = summary[summary["selection"] == "oracle"].groupby("method", sort=False)
    numbers = effort[["seconds", "seconds_total", "not_converged"]].agg(
        {"seconds": "mean", "seconds_total": "sum", "not_converged": "mean"}
    )
    rows = tuple(
        (method, f"{r.seconds:.3f}", f"{r.seconds_total:.3g}", f"{100 * r.not_converged:.0f} %")
        for method, r in ((method, numbers.loc[method]) for method in METHODS if method in numbers.index)
    )
    return Table(
        f"faces_{name}_time",
        f"{_beyond([name])}{title}: CPU time of the fits, one thread each",
        ("method", "seconds per fit", "seconds in all", "fits that did not converge"),
        rows,
        "PCA-Lp and lpSPCA run to their cap of iterations where the published fixed point does not converge.",
    )


def rounding_table(table: Any, titles: dict[str, str]) -> Table:
    """How far accuracies lie apart on data that differ by roundings only."""
    rows = []
    for (source, noise, method), own in table.groupby(["source", "noise", "method"], sort=False):
        few = own[own["dimension"] == own["dimension"].min()]
        best = own.groupby(["split", "value"], as_index=False)["accuracy"].max()
        cells = [_span(part) for part in (few, best)]
        rows.append((f"{titles[source]}, {block(noise)}", method, *(text for pair in cells for text in pair)))
    repeats = int(table["value"].nunique()) if len(table) else 0
    return Table(
        "faces_rounding",
        f"{_beyond(titles)}Accuracy in % over {repeats} changes of the data by about one part in 1e14: "
        "smallest to largest on the first split, and largest minus smallest averaged over the splits",
        ("data, block", "method", "at 5 components", "apart", "at its best dimension", "apart"),
        tuple(rows),
        f"“{L1_BY_CHANCE}” takes whichever polar factor comes out where the signs of the scores are "
        "dependent, as the published programs do; the other methods are those of the tables above.",
    )


def _span(part: Any) -> tuple[str, str]:
    spans = 100.0 * part.groupby("split")["accuracy"].agg(["min", "max"])
    low, high = spans.iloc[0]
    return f"{low:.1f} to {high:.1f}", f"{(spans['max'] - spans['min']).mean():.1f}"
