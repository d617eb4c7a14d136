"""Fig. 8: objective against iteration of the paper's Algorithm 1, first component."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import figures
from ..engine import Results
from ..methods import PUBLISHED_TL1, TIGHT_TL1, published_tl1, tight_tl1
from ..output import Picture, Section, Table, shape_value
from ..published import ITERATIONS
from ..sources import Images, Toy
from ..spec import Columns, Sample, Study

A_VALUES = (100.0, 10.0, 1.0, 0.1, 0.05, 0.01, 0.001)
_RULES = {PUBLISHED_TL1: "1e-6 (published)", TIGHT_TL1: "1e-12"}
_DRAWN = (100.0, 1.0, 0.1, 0.01)


def path(estimator: Any, sample: Sample, source: Any) -> Columns:
    """Objective of the first component at the start and after every iteration."""
    objective = [float(value) for value in estimator.objective_path_[0]]
    return {"iteration": [float(i) for i in range(len(objective))], "objective": objective}


def study(folder: str, images: tuple[Images, ...], quick: bool) -> Study:
    """The toy without and with outliers, and each set of images at each noise; 15 random first angles."""
    toys = (
        Toy("toy_clean", "toy, no outliers", folder, outliers=False, redraw=False),
        Toy("toy_outliers", "toy, outliers", folder, redraw=False),
    )
    one = tuple(replace(source, n_components=1) for source in images)
    methods = (published_tl1(A_VALUES), tight_tl1(A_VALUES))
    return Study("convergence", (*toys, *one), methods, 3 if quick else 15, path)


def section(results: Results) -> Section:
    """Figures, the table of iterations and what they say."""
    table = results.table()
    titles = _titles(results.study)
    counts = _counts(table)
    return Section(
        "convergence",
        "Convergence (Fig. 8)",
        (
            "Algorithm 1 of the paper as published: best sample direction as the start, a random first "
            "angle, stop when the objective grows by less than 1e-6. The objective is drawn as a share of "
            "its final value, so that curves for different a fit on one axis.",
            "The absolute tolerance is part of the story: at small a the objective is flat to the sixth "
            "digit, and the published rule can stop far from a maximum. The default solver of this package "
            "uses relative tolerances.",
        ),
        (_table(counts, titles),) if len(counts) else (),
        (_paths(table, titles), _iterations(counts, titles)) if len(counts) else (),
        {"convergence": table},
        _findings(counts) if len(counts) else (),
    )


def _titles(study: Study) -> dict[tuple[str, int], str]:
    return {
        (source.name, noise): source.title + (f", {noise} × {noise} block" if noise else "")
        for source in study.sources
        for noise in source.noises
    }


def _counts(table: Any) -> Any:
    """Iterations of every run."""
    names = ["method", "source", "noise", "value", "split"]
    return table.groupby(names, sort=False)["iteration"].max().reset_index() if len(table) else table


def _table(counts: Any, titles: dict[tuple[str, int], str]) -> Table:
    values = list(dict.fromkeys(counts["value"]))
    rows = []
    for (rule, *key), own in counts.groupby(["method", "source", "noise"], sort=False):
        cells = [own.loc[own["value"] == value, "iteration"] for value in values]
        texts = [f"{x.median():.0f} ({x.min():.0f}-{x.max():.0f})" if len(x) else "-" for x in cells]
        rows.append((_RULES[rule], titles[key[0], key[1]], *texts))
    rows.sort(key=lambda row: list(_RULES.values()).index(row[0]))
    return Table(
        "convergence",
        "Iterations of Algorithm 1 for the first component: median (range) over random first angles",
        ("increase below", "data", *(f"a = {shape_value(value)}" for value in values)),
        tuple(rows),
        f"The paper: generally within about {ITERATIONS} steps.",
    )


def _paths(table: Any, titles: dict[tuple[str, int], str]) -> Picture:
    first = table[(table["split"] == 0) & (table["method"] == PUBLISHED_TL1)]
    panels = []
    for (name, noise), title in titles.items():
        own = first[(first["source"] == name) & (first["noise"] == noise)]
        curves = [
            (f"a = {shape_value(value)}", own.loc[own["value"] == value, "objective"].to_numpy())
            for value in _DRAWN
            if (own["value"] == value).any()
        ]
        if curves:
            panels.append((title, curves))
    return Picture(
        "fig8_convergence",
        "Fig. 8. Objective of the first component against iteration, as a share of the final value.",
        "Curves that rise steeply in the first iterations and level off, one panel per data set.",
        figures.objective_paths(panels),
    )


def _iterations(counts: Any, titles: dict[tuple[str, int], str]) -> Picture:
    panels: list[tuple[str, list[Any]]] = []
    for rule, part in counts.groupby("method", sort=False):
        curves = []
        for key, own in part.groupby(["source", "noise"], sort=False):
            summary = own.groupby("value")["iteration"].agg(["median", "min", "max"])
            columns = (summary[column].to_numpy(float) for column in ("median", "min", "max"))
            curves.append((titles[key], summary.index.to_numpy(float), *columns))
        panels.append((f"increase below {_RULES[rule]}", curves))
    return Picture(
        "convergence_iterations",
        "Iterations of Algorithm 1 against a, as published and with a tighter tolerance: median and range "
        "over random first angles.",
        "Number of iterations against a for every data set, in two panels for the two tolerances.",
        figures.iteration_counts(panels, ITERATIONS),
    )


def _findings(counts: Any) -> tuple[str, ...]:
    names = ["method", "source", "noise", "value"]
    medians = counts.groupby(names, sort=False)["iteration"].median().reset_index()
    bands = (("a ≥ 1", 1.0, np.inf), ("a = 0.05-0.1", 0.05, 0.1), ("a ≤ 0.01", 0.0, 0.01))
    findings = []
    for rule, own in medians.groupby("method", sort=False):
        ranges = []
        for label, low, high in bands:
            part = own.loc[(own["value"] >= low) & (own["value"] <= high), "iteration"]
            if len(part):
                ranges.append(f"{part.min():.0f}-{part.max():.0f} for {label}")
        findings.append(f"{', '.join(ranges)} when it stops at an increase below {_RULES[rule]}")
    return (
        f"Convergence: the paper says about {ITERATIONS} steps; the median number of iterations over the "
        f"data sets is {'; '.join(findings)}.",
    )
