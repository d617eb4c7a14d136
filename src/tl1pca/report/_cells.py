"""The cell map of the report: a drawing without scripts, which prints and can be read aloud."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from ._analysis import Analysis
from ._words import short_names, shorten

Array = NDArray[Any]

#: Columns of the drawing: those with the worst cells.
COLUMNS = 40
SIDE, LEFT, TOP = 18, 150, 130
#: Characters of a name.
LONGEST = 18
#: Deviations at which a color is full.
FULL = 8.0


def cell_map(analysis: Analysis, on_page: Array) -> dict[str, Any] | None:
    """What the template needs to show the worst cells; None for a method that does not judge cells.

    `on_page` are the positions of the rows of the page: the scripts know a row by its place there.
    """
    residuals, bad = analysis.cell_residuals, analysis.bad_cells
    if residuals is None or bad is None:
        return None
    rows = analysis.rows_with_bad_cells
    size = np.abs(np.nan_to_num(residuals[rows]))
    worst = np.argsort(-np.where(bad[rows], size, 0.0).sum(axis=0), kind="stable")[:COLUMNS]
    return {
        "n_bad": f"{int(bad.sum()):,}",
        "n_missing": f"{int(np.isnan(residuals).sum()):,}",
        "n_cells": f"{residuals.size:,}",
        "n_rows": f"{int(bad.any(axis=1).sum()):,}",
        "shown": len(rows),
        "drawing": _drawing(analysis, rows, np.sort(worst), on_page) if len(rows) else None,
    }


def _drawing(analysis: Analysis, rows: Array, columns: Array, on_page: Array) -> Markup:
    width, height = LEFT + SIDE * len(columns) + 80, TOP + SIDE * len(rows) + 10
    parts = [
        Markup(
            '<svg class="cells" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="group" '
            'aria-label="Cell map: residuals of the worst cells, in deviations">'
        ).format(w=width, h=height)
    ]
    names = short_names(analysis.names, LONGEST)
    for x, j in enumerate(columns.tolist()):
        at = LEFT + SIDE * x + SIDE // 2 + 4
        turned = Markup(
            '<text x="{x}" y="{y}" font-size="11" fill="currentColor" '
            'transform="rotate(-60 {x} {y})">{name}</text>'
        )
        parts.append(turned.format(x=at, y=TOP - 6, name=names[j]))
    places = {i: place for place, i in enumerate(on_page.tolist())}
    for y, i in enumerate(rows.tolist()):
        name = f"row {analysis.numbers[i]}" if analysis.labels is None else analysis.labels[i]
        begin = Markup(
            '<g class="cell-row" data-row="{place}" tabindex="0" role="button" aria-label="Show {name}">'
            '<text x="{x}" y="{y}" font-size="11" fill="currentColor" text-anchor="end">{short}</text>'
        )
        at = TOP + SIDE * y + 13
        parts.append(begin.format(place=places[i], name=name, x=LEFT - 6, y=at, short=shorten(name, LONGEST)))
        parts += [_cell(analysis, i, j, x, y) for x, j in enumerate(columns.tolist())]
        parts.append(Markup("</g>"))
    parts.append(Markup("</svg>"))
    return Markup("").join(parts)


def _cell(analysis: Analysis, i: int, j: int, x: int, y: int) -> Markup:
    """A square, its sign if it is bad, and what a pointer on it says."""
    r, bad = float(analysis.cell_residuals[i, j]), bool(analysis.bad_cells[i, j])  # type: ignore[index]
    missing = bool(np.isnan(r))
    mark = "\N{MULTIPLICATION SIGN}" if missing else ("+" if r > 0 else "\N{MINUS SIGN}") if bad else ""
    value = "missing" if missing else f"{float(analysis.given[i, j]):.6g}"  # type: ignore[index]
    said = f"{analysis.names[j]}: {value}"
    if bad:
        said += f", expected {float(analysis.data[i, j]):.6g} ({r:+.3g} deviations)"
    left, top = LEFT + SIDE * x, TOP + SIDE * y
    return Markup(
        '<g><title>{said}</title><rect x="{left}" y="{top}" width="{side}" height="{side}" fill="{fill}" '
        'fill-opacity="{share}" class="cell"/><text x="{cx}" y="{cy}" font-size="12" fill="currentColor" '
        'text-anchor="middle">{mark}</text></g>'
    ).format(
        said=said,
        left=left,
        top=top,
        side=SIDE,
        fill="currentColor" if missing else "#d55e00" if r > 0 else "#0072b2",
        share=0.12 if missing else round(_share(r), 3),
        cx=left + SIDE // 2,
        cy=top + 13,
        mark=mark,
    )


def _share(r: float) -> float:
    """How much of the color of its sign a residual gets: nothing where it is as expected."""
    return min(max(abs(r) - 1.6, 0.0) / (FULL - 1.6), 1.0)
