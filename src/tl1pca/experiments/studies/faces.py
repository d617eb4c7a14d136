"""Tables I and II, Fig. 5 and 7: 1-NN on the scores of images, with and without black squares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from .. import figures
from ..engine import Results
from ..methods import (
    A_VALUES,
    LP,
    LPS,
    P_VALUES,
    PUBLISHED_TL1,
    RAW,
    TL1,
    classical_pca,
    l1_pca,
    lp_spca,
    pca_lp,
    published_tl1,
    raw_pixels,
    rounding_methods,
    tl1_pca,
)
from ..output import Picture, Section, paired
from ..published import ACCURACY
from ..selection import ENOUGH, RULES, mean_and_error, summarize
from ..sources import Images, occlude, showable_images
from ..spec import Columns, Sample, Study, derive
from .faces_claims import faces_claims
from .faces_tables import against_published, block, effort_table, ordered, rounding_table, selection_table

Array = NDArray[Any]


def nearest_neighbor(estimator: Any, sample: Sample, source: Images) -> Columns:
    """1-NN accuracy on the first 5, 10, ... scores.

    On the test images, in all and as the number of hits among those of either
    half of the database, and within the training images by leaving one out:
    the neighbor of each training image among the others.
    """
    train, test = estimator.transform(sample.X), estimator.transform(sample.X_test)
    width = train.shape[1]
    dimensions = source.dimensions if width == source.n_components else (width,)
    part = np.zeros(len(test), dtype=int) if sample.part is None else sample.part
    columns: Columns = {"dimension": [], "accuracy": [], "train_accuracy": []}
    columns |= {f"{name}_{half}": [] for name in ("hits", "images") for half in (0, 1)}
    to_train, among_train = np.zeros((len(test), len(train))), np.diag(np.full(len(train), np.inf))
    done = 0
    for j in dimensions:  # the squares of more scores are added to those of fewer
        few = train[:, done:j]
        to_train += cdist(test[:, done:j], few, "sqeuclidean")
        among_train += cdist(few, few, "sqeuclidean")
        done = j
        others = np.argmin(among_train, axis=1)
        hit = sample.y[np.argmin(to_train, axis=1)] == sample.y_test
        columns["dimension"].append(j)
        columns["accuracy"].append(float(np.mean(hit)))
        columns["train_accuracy"].append(float(np.mean(sample.y[others] == sample.y)))
        for half in (0, 1):
            columns[f"hits_{half}"].append(float(np.sum(hit[part == half])))
            columns[f"images_{half}"].append(float(np.sum(part == half)))
    return columns | {"skew": [_skew(estimator)] * len(dimensions)}


def _skew(estimator: Any) -> float:
    """Largest entry of |WW' - I| for components in rows: how far they are from orthonormal."""
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    W = getattr(last, "components_", None)
    return float("nan") if W is None else float(np.abs(W @ W.T - np.eye(len(W))).max())


def study(images: tuple[Images, ...], quick: bool, splits: int | None = None) -> Study:
    """The paper's protocol; `quick` has fewer splits, components and parameters."""
    a: tuple[float, ...] = A_VALUES
    p: tuple[float, ...] = P_VALUES
    if quick:
        a, p = (10.0, 1.0, 0.1), (1.0, 0.5)
        images = _fewer_components(images)
    methods = (tl1_pca(a), published_tl1(a), pca_lp(p), lp_spca(p), l1_pca(), classical_pca(), raw_pixels())
    return Study("faces", images, methods, splits or (2 if quick else 15), nearest_neighbor)


def rounding_study(images: tuple[Images, ...], quick: bool) -> Study:
    """Two splits on data that differ by roundings only."""
    methods = rounding_methods(3 if quick else 5)
    chosen = _fewer_components(images) if quick else images
    return Study("faces_rounding", chosen, methods, 1 if quick else 2, nearest_neighbor)


def _fewer_components(images: tuple[Images, ...]) -> tuple[Images, ...]:
    return tuple(replace(source, n_components=min(20, source.n_components)) for source in images)


def section(results: Results, rounding: Results, builtin: bool, quick: bool = False) -> Section:
    """Tables, curves and what they say, from the splits that are complete."""
    table, shaken = results.balanced(), rounding.balanced()
    files: dict[str, Any] = {"faces": results.table(), "faces_rounding": rounding.table()}
    title = "Faces (Tables I and II, Fig. 4 to 7)"
    titles = {source.name: source.title for source in results.study.sources}
    if not len(table):
        text = "No split is complete yet: run the same command again to go on where this run stopped."
        return Section("faces", title, (text,), results=files, claims=faces_claims(table, table, titles))
    summary = summarize(table, ACCURACY)
    files["faces_summary"] = summary
    tables, pictures = [against_published(summary, titles)], [sample_picture()]
    for name, label in titles.items():
        own, part = summary[summary["source"] == name], table[table["source"] == name]
        if len(part):
            tables += [selection_table(own, name, label), effort_table(own, name, label)]
            pictures += [_curves(part, own, name, label), _parameters(part, name, label)]
    if len(shaken):
        tables.append(rounding_table(shaken, titles))
    return Section(
        "faces",
        title,
        _paragraphs(results, table, builtin, len(shaken) > 0),
        tuple(tables),
        tuple(pictures),
        files,
        _findings(summary, titles),
        faces_claims(table, summary, titles, quick),
    )


def _paragraphs(results: Results, table: Any, builtin: bool, shaken: bool) -> tuple[str, ...]:
    titles = ", ".join(source.title for source in results.study.sources)
    splits = table["split"].nunique()
    data = f"Data: {titles}; {splits} random split{'s' * (splits != 1)}, the same for every method."
    if splits < ENOUGH:
        data += " So few splits have no standard error, and decide nothing: accuracies stand alone."
    if builtin:
        data += (
            " These are built-in images, not the paper's: no Yale or JAFFE files were given (--data). "
            "Digits are 30 images of each from scikit-learn; LFW, where scikit-image is installed, are "
            "100 faces and 100 patches that are none. The blocks are scaled to the images; on digits, "
            "whose background is black, a black square hides strokes only."
        )
    errors = (
        "Standard errors are over the splits, which overlap: they are those of the paper's design, not of "
        "a new database. The published means carry an error of the same size, which the "
        "two-standard-error rule here leaves out.",
    )
    return (
        data,
        "Pixels in [0, 1], not centered. A black square at a uniform place on every training image; test "
        "images are clean. One fit per method, parameter, noise and split; 1-NN on the first 5, 10, ... "
        "scores.",
        "Oracle: the paper's rule, parameter and number of components with the best mean test accuracy. "
        "It is the maximum of many noisy numbers, and the more parameters a method has, the more it "
        "gains. Other images: the images of every person are divided into two halves; chosen as by the "
        "oracle on the test images of one half, read on those of the other. Nested: chosen in each split "
        "by the leave-one-out 1-NN accuracy within the training images; the test images are read once. It "
        "sees images with blocks only, where there are blocks, as a user would, while the test images are "
        "clean; and the components, fitted once without labels, have seen the image that is left out.",
        *(errors if splits >= ENOUGH else ()),
        "PCA-L1, and PCA-Lp at p = 1, are not determined by images that are not centered: several scores "
        "never change sign, the sign matrix is rank deficient, and the polar factor of the published step "
        "is one of many. Which one a program returns is decided by rounding. Here the factor closest to "
        "the last iterate is taken, so that the numbers can be reproduced; the estimator warns. For p < 1 "
        "most fits of PCA-Lp and lpSPCA do not converge, and rounding decides as well."
        + " The last table shows by how much."
        * shaken,
    )


def _level(part: Any, method: str) -> Any:
    return part[part["method"] == method]


def _curves(table: Any, summary: Any, name: str, title: str) -> Picture:
    """Mean test accuracy against the number of components, at the oracle's parameter."""
    panels = []
    for noise, part in table.groupby("noise", sort=False):
        chosen = summary[(summary["noise"] == noise) & (summary["selection"] == "oracle")]
        curves = []
        for row in ordered(chosen):
            own = _level(part, row.method)
            if not np.isnan(row.value):
                own = own[own["value"] == row.value]
            means = 100.0 * own.groupby("dimension")["accuracy"].mean()
            level = row.method == RAW
            x = np.empty(0) if level else means.index.to_numpy(float)
            curves.append((row.method, x, means.to_numpy()))
        panels.append((f"{title}, {block(noise)}", curves))
    return Picture(
        f"fig_faces_{name}",
        f"{_figure(name)}{title}: mean test accuracy against the number of components, each method at the "
        "parameter the oracle chose (column “at” of the table).",
        f"One panel per noise level for {title}: test accuracy of every method against the number of "
        "components.",
        figures.accuracy_curves(panels),
    )


def _parameters(table: Any, name: str, title: str) -> Picture:
    """Mean test accuracy against a or p, at the best number of components of each value."""
    panels = []
    for noise, part in table.groupby("noise", sort=False):
        curves = []
        for method in (PUBLISHED_TL1, TL1, LP, LPS):
            own = _level(part, method)
            points = []
            for value, each in own.groupby("value"):
                best = each.groupby("dimension")["accuracy"].mean().idxmax()
                at_best = each.loc[each["dimension"] == best, "accuracy"].to_numpy()
                points.append((value, *mean_and_error(100.0 * at_best)))
            curves.append((method, *np.array(points).T))
        panels.append((f"{title}, {block(noise)}", curves))
    return Picture(
        f"faces_{name}_parameters",
        f"{_beyond(name)}{title}: mean test accuracy against a or p, at the best number of components for "
        "each value.",
        f"Accuracy of Tl1PCA by both solvers, PCA-Lp and lpSPCA against their parameter on {title}, with "
        "standard errors.",
        figures.parameter_curves(panels),
    )


def _figure(name: str) -> str:
    return {"yale": "Fig. 5 of the paper. ", "jaffe": "Fig. 7 of the paper. "}.get(
        name, "As Fig. 5 and 7 of the paper. "
    )


def _beyond(name: str) -> str:
    return {"yale": "Beyond Fig. 5. ", "jaffe": "Beyond Fig. 7. "}.get(name, "")


def sample_picture() -> Picture:
    """Fig. 4 and 6 with images that may be shown: no face of Yale or JAFFE is."""
    images, what = showable_images()
    side, blocks = images.shape[1], (0, images.shape[1] // 4, images.shape[1] * 3 // 8)
    rows = []
    for size in blocks:
        rng = np.random.default_rng(derive(0, "samples", size))
        noisy = occlude(images.reshape(len(images), -1), side, size, rng)
        rows.append((block(size), noisy.reshape(images.shape)))
    return Picture(
        "fig4_6_samples",
        "As Fig. 4 and 6 of the paper, which show faces of Yale and JAFFE that may not be shown here: "
        f"{what} First row original, second with blocks of {block(blocks[1])}, third of {block(blocks[2])} "
        "pixels.",
        "Three rows of the same six small images: clean, with a small and with a larger black square each "
        "at another place.",
        figures.sample_images(rows),
    )


def _findings(summary: Any, titles: dict[str, str]) -> tuple[str, ...]:
    """Gains by rule of selection; with too few splits for an error there is nothing to tell."""
    findings = []
    for name, title in titles.items():
        own = summary[summary["source"] == name]
        if not (own["splits"] >= ENOUGH).any():
            continue
        gains = []
        for rule in RULES:
            rows = own[(own["method"] == PUBLISHED_TL1) & (own["selection"] == rule)].itertuples()
            listed = [f"{paired(r.difference, r.difference_error)} ({block(r.noise)})" for r in rows]
            gains.append(f"{rule} {', '.join(listed)}")
        raw = own[(own["method"] == RAW) & (own["selection"] == "oracle")]
        pixels = ", ".join(f"{row.accuracy:.1f} ({block(row.noise)})" for row in raw.itertuples())
        findings.append(
            f"Faces, {title}: Tl1PCA by Algorithm 1 minus PCA in points, by rule of selection: "
            f"{'; '.join(gains)}. 1-NN on the raw pixels alone reaches {pixels} %."
        )
    return tuple(findings)
