"""A fit as it is looked at: what is said of every row of the table, at the level that was chosen."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._pipelines import in_given_units, split
from ..diagnostics import Flag, excess, flags
from ..report import _words as words
from ..report._analysis import Analysis
from ..report._drawn import Drawn, content, digits, draw, map_axes
from ..report._levels import at_level, levels
from ..report._page import tiles
from ..tables import Table
from ._tasks import Fit

Array = NDArray[Any]

#: What a row is called that took no part, beside the flags of the outlier map.
ASIDE, LEFT_OUT = len(Flag), len(Flag) + 1
STATES = [*(flag.label for flag in Flag), "set aside", "left out: a value is missing"]
#: Rows and columns of the cell map.
MAP_ROWS, MAP_COLUMNS = 30, 40
#: Residual of a cell, in usual spreads, from which on a method for rows calls it unusual in a flagged row.
UNUSUAL_CELL = 3.0


class View:
    """A fit at a level."""

    def __init__(self, fit: Fit, table: Table, level: float | None):
        self.fit, self.table = fit, table
        self.offered = levels(fit.analysis)
        self.analysis: Analysis = fit.analysis if level is None else at_level(fit.analysis, level)
        self.drawn: Drawn = draw(self.analysis)
        self.marks = self._marks()
        self._spread_out()

    def _spread_out(self) -> None:
        """Flags and distances for all rows of the table."""
        n, found, aside = len(self.table.values), self.analysis.found, self.fit.aside
        self.flags = np.full(n, LEFT_OUT, dtype=np.int8)
        self.sd, self.od, self.excess = (np.full(n, np.nan) for _ in range(3))
        kept = self.fit.kept
        self.flags[kept], self.sd[kept], self.od[kept] = (
            found.flags,
            found.score_distances,
            found.orthogonal_distances,
        )
        self.excess[kept] = self.analysis.excess
        sd, od = aside.distances
        self.sd[aside.rows], self.od[aside.rows] = sd, od
        self.regions = np.where(  # of rows that took no part, for when they are put back
            np.isfinite(sd) & np.isfinite(od), flags(sd, od, found.cutoffs), LEFT_OUT
        )
        self.flags[aside.rows] = self.regions
        self.excess[aside.rows] = excess(sd, od, found.cutoffs)
        self.place = np.full(n, -1)  # among the rows of the analysis
        self.place[kept] = np.arange(len(kept))

    @cached_property
    def columns(self) -> list[int]:
        """Position in the table of each column of the fit."""
        at = {name: j for j, name in enumerate(self.table.columns)}
        return [at[name] for name in self.fit.work.settings.columns]

    def _marks(self) -> dict[int, list[int]]:
        """Columns (of the table) to mark in each row: bad cells, or the unusual ones of flagged rows."""
        marks: dict[int, list[int]] = {}
        bad, kept = self.analysis.bad_cells, self.fit.kept
        if bad is not None:
            rows, columns = np.nonzero(bad)
            for i, j in zip(kept[rows].tolist(), columns.tolist()):
                marks.setdefault(i, []).append(self.columns[j])
            return marks
        details = self.drawn.details.first(self.drawn.n_listed)
        # A row that is far out in line with the others has no cell that does not fit.
        known = ~details.by_score[:, None] & (np.abs(np.nan_to_num(details.values)) >= UNUSUAL_CELL)
        for i, columns, named in zip(
            kept[self.drawn.rows[: self.drawn.n_listed]].tolist(), details.columns, known
        ):
            if named.any():
                marks[i] = [self.columns[j] for j in columns[named].tolist()]
        return marks

    @property
    def judges_cells(self) -> bool:
        """Whether the method itself says which cells are bad."""
        return self.analysis.bad_cells is not None

    def flagged(self, aside: frozenset[int]) -> Array:
        """Positions of the flagged rows in the table that are not set aside."""
        rows = np.flatnonzero((self.flags > Flag.REGULAR) & (self.flags < ASIDE))
        return rows[[i not in aside for i in rows.tolist()]] if aside else rows

    # ------------------------------------------------------------------------------- for the page
    def summary(self) -> dict[str, Any]:
        """What was found, in words."""
        analysis, drawn = self.analysis, self.drawn
        shares = np.asarray(analysis.estimator.explained_variance_ratio_, dtype=np.float64)
        advice = words.advice(analysis)
        counts = np.bincount(analysis.found.flags.astype(np.int64), minlength=len(Flag)).tolist()
        offered = self.offered
        return {
            "method": type(analysis.estimator).__name__,
            "components": len(shares),
            "seconds": self.fit.seconds,
            "tiles": tiles(analysis, float(shares.sum())),
            "findings": words.findings(analysis, drawn.details.first(drawn.n_listed)),
            "warning": advice.warning,
            "advice": advice.steps,
            "comparison": words.comparison(analysis),
            "angles": []
            if analysis.classical is None
            else [words.degrees(float(angle)) for angle in analysis.classical.angles],
            "notes": self.fit.notes,
            "meanings": list(words.MEANINGS.values()),
            "counts": counts,
            "cells": sum(map(len, self.marks.values())),
            "judgesCells": self.judges_cells,
            "level": analysis.level,
            "levels": None if offered is None else [at["level"] for at in offered["at"]],
            "fitted": len(self.fit.kept),
        }

    def figures(self, aside: frozenset[int]) -> dict[str, Any]:
        """What the figures of the report draw, with the rows that are set aside."""
        data = content(self.analysis, self.drawn)
        data["flags"] = STATES[: ASIDE + 1]
        data["levels"] = None
        kept = self.fit.kept[self.drawn.rows].tolist()
        data["flag"] = [ASIDE if i in aside else flag for i, flag in zip(kept, data["flag"])]
        self._append(data, aside)
        self._widen(data)
        return data

    def _widen(self, data: dict[str, Any]) -> None:
        """Axes that hold the rows that took no part as well."""
        points = self.drawn.rows[self.drawn.points]
        maps = [(data, self.analysis.found, self.fit.aside.distances)]
        if self.analysis.classical is not None:
            maps.append((data["classical"], self.analysis.classical.found, self.fit.aside.classical))
        for drawn, found, (sd, od) in maps:
            known = np.isfinite(sd) & np.isfinite(od)
            drawn["map"] = map_axes(
                np.concatenate([found.score_distances[points], sd[known]]),
                np.concatenate([found.orthogonal_distances[points], od[known]]),
                found.cutoffs,
            )

    def _append(self, data: dict[str, Any], aside: frozenset[int]) -> None:
        """Rows that took no part in the fit, at the end of what is drawn."""
        rows = self.fit.aside
        sd, od = rows.distances
        for m in np.flatnonzero(self.regions != LEFT_OUT).tolist():
            i = int(rows.rows[m])
            data["points"].append(len(data["row"]))
            data["row"].append(int(self.table.rows[i]))
            if data["label"] is not None and self.table.labels is not None:
                data["label"].append(self.table.labels[i])
            flag = ASIDE if i in aside else int(self.regions[m])
            for name, value in (
                ("flag", flag),
                ("fitted", flag),
                ("sd", digits([sd[m]])[0]),
                ("od", digits([od[m]])[0]),
                ("times", digits([min(self.excess[i], 1e9)], 4)[0]),
                ("byScore", 0),
                ("variables", [0] * len(data["values"])),
            ):
                data[name].append(value)
            for values in data["values"]:
                values.append(None)
            for scores, score in zip(data["scores"], rows.scores[m]):
                scores.append(digits([score])[0])
            if data["classical"] is not None:
                data["alsoClassical"].append(0)
                for name, value in zip(("sd", "od"), rows.classical[:, m]):
                    data["classical"][name].append(digits([value])[0])

    def row(self, i: int) -> dict[str, Any]:
        """One row: its values, what was to be expected, and what each column adds."""
        at = int(self.place[i])
        about: dict[str, Any] = {
            "flag": STATES[self.flags[i]],
            "kind": int(self.flags[i]),
            "sd": finite(self.sd[i]),
            "od": finite(self.od[i]),
            "excess": finite(self.excess[i]),
            "parts": None,
        }
        if at < 0:
            return about
        pca, analysis = self.analysis.estimator, self.analysis
        W, mean = (np.asarray(part, dtype=np.float64) for part in (pca.components_, pca.mean_))
        dual, variances = np.linalg.pinv(W), np.asarray(pca.explained_variance_, dtype=np.float64)
        live = variances > 1e-20 * variances.max(initial=0.0)
        precision = np.divide(1.0, variances, out=np.zeros_like(variances), where=live)
        a = np.asarray(analysis.data[at], dtype=np.float64) - mean
        t = analysis.scores(np.array([at]))[0] if analysis.given is not None else a @ dual
        fitted = t @ W
        total = max(float((t * t * precision).sum()), np.finfo(np.float64).tiny)
        details = analysis.unusual(np.array([at]))
        residuals = (a - fitted) / details.spread
        if analysis.cell_residuals is not None:
            residuals = analysis.cell_residuals[at]
        expected = in_given_units(self.fit.model, (mean + fitted)[None])[0]
        about["byScore"] = bool(details.by_score[0])
        about["parts"] = [
            {"column": j, "expected": finite(e), "residual": finite(r), "share": finite(s)}
            for j, e, r, s in zip(self.columns, expected, residuals, a * (dual @ (t * precision)) / total)
        ]
        return about

    def cell_map(self) -> dict[str, Any]:
        """Residuals of the worst cells, in usual spreads: of bad cells, or of flagged rows."""
        residuals, bad = self.analysis.cell_residuals, self.analysis.bad_cells
        if residuals is None or bad is None:
            rows = self.analysis.flagged[:MAP_ROWS]
            part, marked = self._residuals(rows), None
        else:
            rows = self.analysis.rows_with_bad_cells
            part, marked = residuals[rows], bad[rows]
        if not len(rows):
            return {"rows": [], "columns": [], "residuals": [], "marked": []}
        size = (
            np.abs(np.nan_to_num(part))
            if marked is None
            else np.where(marked, np.abs(np.nan_to_num(part)), 0)
        )
        columns = np.sort(np.argsort(-size.sum(axis=0), kind="stable")[:MAP_COLUMNS])
        shown = part[:, columns]
        return {
            "rows": self.table.rows[self.fit.kept[rows]].tolist(),
            "labels": None
            if self.table.labels is None
            else [self.table.labels[i] for i in self.fit.kept[rows].tolist()],
            "columns": [self.fit.work.settings.columns[j] for j in columns.tolist()],
            "residuals": [digits(line, 3) for line in shown],
            "marked": (np.abs(np.nan_to_num(shown)) >= UNUSUAL_CELL if marked is None else marked[:, columns])
            .astype(int)
            .tolist(),
        }

    def _residuals(self, rows: Array) -> Array:
        pca = split(self.fit.model)[1]
        W, mean = (np.asarray(part, dtype=np.float64) for part in (pca.components_, pca.mean_))
        A = np.asarray(self.analysis.data[rows], dtype=np.float64) - mean
        return np.asarray((A - (A @ np.linalg.pinv(W)) @ W) / self.drawn.details.spread)


def finite(x: Any) -> float | None:
    """A number for JSON, which has no NaN."""
    return float(x) if np.isfinite(x) else None
