"""Beyond the paper: two-dimensional, kernel and supervised methods in its protocol."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from ...estimators import L1PCA, TL1LDA, TL1PCA, ImagePCA, KernelizedPCA, LpPCA
from .. import figures
from ..engine import Results
from ..methods import PCA, RAW, classical_pca, raw_pixels, tl1_pca
from ..output import Picture, Section, paired
from ..selection import ENOUGH, OTHER, summarize
from ..sources import Images
from ..spec import Method, Source, Study
from .faces import nearest_neighbor
from .faces_tables import block, ordered, selection_table

#: Widths of the Gaussian kernel: squared distances of images are about ten to a hundred.
GAMMAS = (0.001, 0.01, 0.05)


def methods(side: int, quick: bool) -> tuple[Method, ...]:
    """The methods for images with `side` pixels along an edge, and what they are set against.

    Two-dimensional methods choose the number of components of a row of pixels,
    kernels their width and the number of scores that are read, discriminants
    their shrinkage or shape.
    """
    counts = tuple(float(k) for k in (2, 4, 8, 16) if k < side)[: 2 if quick else None]
    gammas = GAMMAS[:2] if quick else GAMMAS
    shapes = (1.0,) if quick else (1.0, 10.0)

    def images(name: str, estimator: Any) -> Method:
        flat = ImagePCA(estimator, image_shape=(side, side))
        return Method(name, flat, "estimator__n_components", counts, components="")

    def kernel(name: str, estimator: Any) -> Method:
        return Method(name, KernelizedPCA(estimator), "gamma", gammas, "estimator__n_components")

    fisher = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")
    two_sided = TL1LDA(max(1, side // 4), a=1.0, image_shape=(side, side))
    return (
        classical_pca(),
        tl1_pca(shapes),
        images("2DPCA", LpPCA(p=2)),
        images("2DPCA-L1", L1PCA(greedy=True)),
        images("2DPCA-Tl1", TL1PCA()),
        kernel("kernel PCA", LpPCA(p=2, center="mean")),
        kernel("kernel PCA-L1", L1PCA(greedy=True, center="mean")),
        kernel("kernel Tl1PCA", TL1PCA(center="mean")),
        Method("LDA, shrunk", fisher, components=""),
        Method("TL1LDA", TL1LDA(), "shrinkage", (0.5, 0.9), components=""),
        Method("2DLDA-Tl1", two_sided, "a", shapes, components=""),
        raw_pixels(),
    )


def study(images: tuple[Images, ...], quick: bool, splits: int | None = None) -> Study:
    """The paper's splits and noise; of images of several sizes those of the first one."""
    side = images[0].side
    chosen = tuple(source for source in images if source.side == side)
    if quick:
        chosen = tuple(replace(source, n_components=min(20, source.n_components)) for source in chosen)
    return Study("family", chosen, methods(side, quick), splits or (2 if quick else 15), nearest_neighbor)


def section(results: Results) -> Section:
    """Tables and a figure from the splits that are complete."""
    title = "The rest of the family (not in the paper)"
    table = results.balanced()
    files: dict[str, Any] = {"family": results.table()}
    if not len(table):
        text = "No split is complete yet: run the same command again to go on where this run stopped."
        return Section("family", title, (text,), results=files)
    summary = files["family_summary"] = summarize(table, {})
    names = tuple(method.name for method in results.study.methods)
    tables, pictures, findings = [], [], []
    for source in results.study.sources:
        own = summary[summary["source"] == source.name]
        if not len(own):
            continue
        tables.append(selection_table(own, source.name, source.title, names, _NOTE))
        pictures.append(_picture(own, source, names))
        findings += _findings(own, source, names)
    return Section(
        "family", title, _paragraphs(table), tuple(tables), tuple(pictures), files, tuple(findings)
    )


_NOTE = (
    "At: number of components of a row of pixels, width of the kernel, shrinkage or shape; number of "
    "features that are read. Other images: those chosen on the first half. Nested: the most frequent "
    "parameter and the median number of features over the splits; discriminants have seen the labels of "
    "the training images that are left out, which their rule cannot know."
)


def _paragraphs(table: Any) -> tuple[str, ...]:
    splits = table["split"].nunique()
    text = (
        f"1-NN on the features of the methods that the paper cites as variants, and of those that are its "
        f"future work, in its protocol: {splits} random split{'s' * (splits != 1)}, the same for every "
        "method, a black square on every training image, clean test images."
    )
    if splits < ENOUGH:
        text += " So few splits have no standard error, and decide nothing: accuracies stand alone."
    return (text,)


def _picture(summary: Any, source: Source, names: tuple[str, ...]) -> Picture:
    panels = []
    for noise, part in summary[summary["selection"] == OTHER].groupby("noise", sort=False):
        rows = [(row.method, row.accuracy, row.standard_error) for row in ordered(part, names)]
        panels.append((f"{source.title}, {block(noise)}", rows))
    return Picture(
        f"family_{source.name}",
        f"Beyond the paper. {source.title}: accuracy with its standard error, parameters chosen on "
        "other images.",
        f"One panel per noise level for {source.title}: a point with an error bar for every method.",
        figures.accuracy_points(panels),
    )


def _findings(summary: Any, source: Source, names: tuple[str, ...]) -> list[str]:
    """Who is beyond two standard errors of PCA where parameters were chosen on other images."""
    own = summary[(summary["selection"] == OTHER) & (summary["splits"] >= ENOUGH)]
    texts = []
    for noise, part in own.groupby("noise", sort=False):
        rows = [row for row in ordered(part, names) if row.method not in (PCA, RAW)]
        apart = [row for row in rows if abs(row.difference) > 2.0 * row.difference_error]
        listed = [f"{row.method} {paired(row.difference, row.difference_error)}" for row in apart]
        told = ", ".join(listed) or "none"
        texts.append(
            f"Family, {source.title}, {block(noise)}: beyond two standard errors of PCA, in points: {told}."
        )
    return texts
