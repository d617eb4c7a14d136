"""Tables I and II, Fig. 5 and 7: 1-NN on the scores of images, with and without black squares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from .. import figures
from ..engine import Results
from ..methods import (
    A_VALUES,
    L1,
    LP,
    LPS,
    P_VALUES,
    PCA,
    RAW,
    TL1,
    classical_pca,
    l1_pca,
    lp_spca,
    pca_lp,
    raw_pixels,
    tl1_pca,
)
from ..output import Picture, Section, Table, number, paired, shape_value
from ..published import ACCURACY
from ..selection import RULES, mean_and_error, summarise
from ..sources import Images
from ..spec import Columns, Sample, Study

Array = NDArray[Any]

METHODS = (TL1, LP, LPS, L1, PCA, RAW)


def nearest_neighbour(estimator: Any, sample: Sample, source: Images) -> Columns:
    """1-NN accuracy on the first 5, 10, ... scores.

    On the test images, and within the training images by leaving one out: the
    neighbour of each training image among the others.
    """
    train, test = estimator.transform(sample.X), estimator.transform(sample.X_test)
    width = train.shape[1]
    dimensions = source.dimensions if width == source.n_components else (width,)
    columns: Columns = {"dimension": [], "accuracy": [], "train_accuracy": []}
    for j in dimensions:
        nearest = KNeighborsClassifier(1, algorithm="brute").fit(train[:, :j], sample.y)
        others = nearest.kneighbors(return_distance=False)[:, 0]
        columns["dimension"].append(j)
        columns["accuracy"].append(float(nearest.score(test[:, :j], sample.y_test)))
        columns["train_accuracy"].append(float(np.mean(sample.y[others] == sample.y)))
    return columns


def study(images: tuple[Images, ...], quick: bool) -> Study:
    """The paper's protocol; `quick` has fewer splits, components and parameters."""
    a: tuple[float, ...] = A_VALUES
    p: tuple[float, ...] = P_VALUES
    splits = 15
    if quick:
        a, p, splits = (10.0, 1.0, 0.1), (1.0, 0.5), 2
        images = tuple(replace(source, n_components=min(20, source.n_components)) for source in images)
    methods = (tl1_pca(a), pca_lp(p), lp_spca(p), l1_pca(), classical_pca(), raw_pixels())
    return Study("faces", images, methods, splits, nearest_neighbour)


def section(results: Results, builtin: bool) -> Section:
    """Tables, curves and what they say, from the splits that are complete."""
    table = results.balanced()
    files: dict[str, Any] = {"faces": results.table()}
    if not len(table):
        text = "No split is complete yet: run the same command again to go on where this run stopped."
        return Section("faces", "Faces (Tables I and II)", (text,), results=files)
    summary = summarise(table, ACCURACY)
    files["faces_summary"] = summary
    titles = {source.name: source.title for source in results.study.sources}
    tables, pictures = [_against_published(summary, titles)], []
    for name, title in titles.items():
        own, part = summary[summary["source"] == name], table[table["source"] == name]
        if len(part):
            tables += [_selection_table(own, name, title), _effort_table(own, name, title)]
            pictures += [_curves(part, own, name, title), _parameters(part, name, title)]
    return Section(
        "faces",
        "Faces (Tables I and II, Fig. 5 and 7)",
        _paragraphs(results, table, builtin),
        tuple(tables),
        tuple(pictures),
        files,
        _findings(summary, titles),
    )


def _paragraphs(results: Results, table: Any, builtin: bool) -> tuple[str, ...]:
    titles = ", ".join(source.title for source in results.study.sources)
    splits = table["split"].nunique()
    data = f"Data: {titles}; {splits} random splits, the same for every method."
    if builtin:
        data += (
            " These are built-in images, not the paper's: no Yale or JAFFE files were given (--data). "
            "Digits are 30 images of each from scikit-learn; LFW, where scikit-image is installed, are 100 "
            "faces and 100 patches that are none. The blocks are scaled to the images; on digits, whose "
            "background is black, a black square hides strokes only."
        )
    return (
        data,
        "Pixels in [0, 1], not centred. A black square at a uniform place on every training image; test "
        "images are clean. One fit per method, parameter, noise and split; 1-NN on the first 5, 10, ... "
        "scores.",
        "Oracle: the paper's rule, parameter and number of components with the best mean test accuracy. It "
        "is the maximum of many noisy numbers, and the more parameters a method has, the more it gains. "
        "Halves: chosen so on one half of the splits and read on the other. Nested: chosen in each split by "
        "the leave-one-out 1-NN accuracy within the training images; the test images are read once. It sees "
        "images with blocks only, where there are blocks, as a user would, while the test images are clean; "
        "and the components, fitted once without labels, have seen the image that is left out.",
        "Standard errors are over the splits, which overlap: they are those of the paper's design, not of a "
        "new database. The published means carry an error of the same size, which the two-standard-error "
        "rule here leaves out.",
    )


def _noise(noise: float) -> str:
    return f"{int(noise)} × {int(noise)}" if noise else "original"


def _ordered(part: Any) -> list[Any]:
    rows = {row.method: row for row in part.itertuples()}
    return [rows[method] for method in METHODS if method in rows]


def _against_published(summary: Any, titles: dict[str, str]) -> Table:
    """The README's table: obtained ± s.e. (published, whether within two s.e.)."""
    oracle = summary[summary["selection"] == "oracle"]
    rows = []
    for (source, noise), part in oracle.groupby(["source", "noise"], sort=False):
        cells = []
        for row in _ordered(part):
            cell = f"{row.accuracy:.1f} ± {number(row.standard_error)}"
            if not np.isnan(row.published):
                cell += f" ({row.published:.2f}, {'yes' if row.within_two_se else 'no'})"
            cells.append(cell)
        rows.append((f"{titles[source]}, {_noise(noise)}", *cells))
    return Table(
        "faces_published",
        "Accuracy in % with the paper's oracle selection: obtained ± s.e. (published, within two s.e.?)",
        ("data, block", *METHODS),
        tuple(rows),
        "1-NN on raw pixels is not in the paper.",
    )


def _selection_table(summary: Any, name: str, title: str) -> Table:
    """The rules of selection side by side."""
    rows = []
    for noise, part in summary.groupby("noise", sort=False):
        rules = [_ordered(part[part["selection"] == rule]) for rule in RULES]
        for pair in zip(*rules):
            cells = [cell for row in pair for cell in _selection_cells(row)]
            rows.append((_noise(noise), pair[0].method, *cells))
    return Table(
        f"faces_{name}",
        f"{title}: accuracy in %, and the paired difference from PCA on the same splits, mean ± s.e.",
        ("block", "method", *(head for rule in RULES for head in (rule, "minus PCA", "at"))),
        tuple(rows),
        "At: a or p; number of components. Halves: those of the first half. Nested: the most frequent "
        "parameter and the median number of components over the splits.",
    )


def _selection_cells(row: Any) -> tuple[str, str, str]:
    gain = "-" if np.isnan(row.difference) else paired(row.difference, row.difference_error)
    return (
        f"{number(row.accuracy)} ± {number(row.standard_error)}",
        gain,
        f"{shape_value(row.value)}; {number(row.dimension, 0)}",
    )


def _effort_table(summary: Any, name: str, title: str) -> Table:
    effort = summary[summary["selection"] == "oracle"].groupby("method", sort=False)
    numbers = effort[["seconds", "seconds_total", "not_converged"]].agg(
        {"seconds": "mean", "seconds_total": "sum", "not_converged": "mean"}
    )
    rows = tuple(
        (method, f"{r.seconds:.3f}", f"{r.seconds_total:.0f}", f"{100 * r.not_converged:.0f} %")
        for method, r in ((method, numbers.loc[method]) for method in METHODS if method in numbers.index)
    )
    return Table(
        f"faces_{name}_time",
        f"{title}: CPU time of the fits, one thread each",
        ("method", "seconds per fit", "seconds in all", "fits that did not converge"),
        rows,
        "PCA-Lp and lpSPCA run to their cap of iterations where the published fixed point does not converge.",
    )


def _level(part: Any, method: str) -> Any:
    return part[part["method"] == method]


def _curves(table: Any, summary: Any, name: str, title: str) -> Picture:
    """Mean test accuracy against the number of components, at the oracle's parameter."""
    panels = []
    for noise, part in table.groupby("noise", sort=False):
        chosen = summary[(summary["noise"] == noise) & (summary["selection"] == "oracle")]
        curves = []
        for row in _ordered(chosen):
            own = _level(part, row.method)
            if not np.isnan(row.value):
                own = own[own["value"] == row.value]
            means = 100.0 * own.groupby("dimension")["accuracy"].mean()
            value = "" if np.isnan(row.value) else f", {own['parameter'].iloc[0]} = {shape_value(row.value)}"
            level = row.method == RAW
            x = np.empty(0) if level else means.index.to_numpy(float)
            curves.append((row.method, row.method + value, x, means.to_numpy()))
        panels.append((f"{title}, {_noise(noise)}", curves))
    return Picture(
        f"fig_faces_{name}",
        f"{title}: mean test accuracy against the number of components, each method at its oracle parameter.",
        f"One panel per noise level for {title}: test accuracy of every method against the number of "
        "components.",
        figures.accuracy_curves(panels),
    )


def _parameters(table: Any, name: str, title: str) -> Picture:
    """Mean test accuracy against a or p, at the best number of components of each value."""
    panels = []
    for noise, part in table.groupby("noise", sort=False):
        curves = []
        for method in (TL1, LP, LPS):
            own = _level(part, method)
            points = []
            for value, each in own.groupby("value"):
                best = each.groupby("dimension")["accuracy"].mean().idxmax()
                at_best = each.loc[each["dimension"] == best, "accuracy"].to_numpy()
                points.append((value, *mean_and_error(100.0 * at_best)))
            curves.append((method, *np.array(points).T))
        panels.append((f"{title}, {_noise(noise)}", curves))
    return Picture(
        f"faces_{name}_parameters",
        f"{title}: mean test accuracy against a or p, at the best number of components for each value.",
        f"Accuracy of Tl1PCA, PCA-Lp and lpSPCA against their parameter on {title}, with standard errors.",
        figures.parameter_curves(panels),
    )


def _findings(summary: Any, titles: dict[str, str]) -> tuple[str, ...]:
    findings = []
    printed = summary[(summary["selection"] == "oracle") & summary["published"].notna()]
    if len(printed):
        agree = int(printed["within_two_se"].astype(bool).sum())
        findings.append(
            f"Faces: {agree} of {len(printed)} published accuracies lie within two standard errors of ours."
        )
    for name, title in titles.items():
        own = summary[summary["source"] == name]
        gains = []
        for rule in RULES:
            rows = own[(own["method"] == TL1) & (own["selection"] == rule)].itertuples()
            listed = [f"{paired(r.difference, r.difference_error)} ({_noise(r.noise)})" for r in rows]
            gains.append(f"{rule} {', '.join(listed)}")
        raw = own[(own["method"] == RAW) & (own["selection"] == "oracle")]
        pixels = [f"{row.accuracy:.1f} ({_noise(row.noise)})" for row in raw.itertuples()]
        if pixels:
            findings.append(
                f"Faces, {title}: Tl1PCA minus PCA in points, by rule of selection: {'; '.join(gains)}. "
                f"1-NN on the raw pixels alone reaches {', '.join(pixels)} %."
            )
    return tuple(findings)
