"""``tl1pca demo``: what the package is for, on built-in data whose bad rows are known."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import typer


def command(
    out: Annotated[Path, typer.Option(help="Folder for the pictures, tables and the report.")] = Path("demo"),
) -> None:
    """Find the bad rows of a built-in data set, with classical PCA beside it.

    A third of the rows lie in a far cluster. Pictures, tables and an HTML
    report go to a folder.
    """
    from .._files import write_atomically
    from ..datasets import make_contaminated
    from ..report import render_report
    from ._terminal import Sheet, emit, visible, waiting

    out.mkdir(parents=True, exist_ok=True)
    X, bad, axes = make_contaminated(600, 20, 3, kind="cluster", fraction=1 / 3, random_state=0)
    names = [f"x{j + 1}" for j in range(X.shape[1])]
    with waiting("Fitting classical and robust PCA"):
        fitted = fit_both(X)
        sheet = against_truth(fitted, X, bad, axes)
        files: dict[str, str | bytes] = {
            "classical_and_robust.png": picture(fitted, X, bad, axes),
            "report.html": render_report(X, estimator=fitted["TL1SubspacePCA"], columns=names),
            "data.csv": Sheet(names, X.tolist()).csv(),
            "flagged_rows.csv": _flagged(fitted["TL1SubspacePCA"], bad).csv(),
            "comparison.csv": sheet.csv(),
        }
    for name, content in files.items():
        write_atomically(out / name, content)
    folder = visible(str(out))
    emit(
        f"{len(X)} rows and {X.shape[1]} columns. "
        f"{bad.sum()} of the rows are bad: they lie in a cluster far away.\n\n"
        f"{sheet.plain()}\n\n"
        "An angle of 0 degrees is the true subspace of the good rows, 90 is as wrong as can be.\n\n"
        f"{folder}/classical_and_robust.png   both fits in one picture\n"
        f"{folder}/report.html                what was found, to hand on\n"
        f"{folder}/data.csv, flagged_rows.csv, comparison.csv\n\n"
        f"Next: tl1pca outliers {folder}/data.csv -k 3"
    )


def fit_both(X: Any) -> dict[str, Any]:
    """Classical and robust PCA of the same data."""
    from sklearn.decomposition import PCA

    from .. import TL1SubspacePCA

    return {"PCA": PCA(3).fit(X), "TL1SubspacePCA": TL1SubspacePCA(3, random_state=0).fit(X)}


def against_truth(fitted: dict[str, Any], X: Any, bad: Any, axes: Any) -> Any:
    """A table of what each method found, held against the truth."""
    from ..diagnostics import diagnose, principal_angles
    from ._terminal import Sheet

    rows = []
    for name, model in fitted.items():
        flagged = diagnose(model, X).flags > 0
        angle = float(principal_angles(model, axes.T)[0])
        rows.append(
            (
                name,
                f"{flagged[bad].sum()} of {bad.sum()}",
                f"{flagged[~bad].sum()} of {(~bad).sum()}",
                f"{angle:.1f} degrees",
            )
        )
    return Sheet(("method", "bad rows found", "good rows flagged", "angle to the truth"), rows)


def _flagged(model: Any, bad: Any) -> Any:
    from ..diagnostics import Flag
    from ._terminal import Sheet

    names = ("row", "flag", "score_distance", "orthogonal_distance", "truth")
    return Sheet(
        names,
        [
            (
                i + 1,
                Flag(flag).label,
                float(model.score_distances_[i]),
                float(model.orthogonal_distances_[i]),
                "bad" if bad[i] else "good",
            )
            for i, flag in enumerate(model.flags_)
            if flag
        ],
    )


def picture(fitted: dict[str, Any], X: Any, bad: Any, axes: Any) -> bytes:
    """For each method the distances of all rows with the limits it draws, as PNG; colors show the truth."""
    from matplotlib.figure import Figure

    from ..diagnostics import diagnose, principal_angles

    figure: Any = Figure(figsize=(9.0, 4.0), layout="constrained")
    titles = {"PCA": "Classical PCA", "TL1SubspacePCA": "Robust: TL1SubspacePCA"}
    for ax, (name, model) in zip(figure.subplots(1, 2), fitted.items()):
        found = diagnose(model, X)
        flagged = found.flags > 0
        for rows, color, marker, label in (
            (~bad, "#5b7fa6", "o", "good row"),
            (bad, "#d1495b", "^", "bad row"),
        ):
            ax.scatter(
                *(distances[rows] for distances in (found.score_distances, found.orthogonal_distances)),
                s=18,
                c=color,
                marker=marker,
                alpha=0.6,
                linewidths=0,
                label=label,
            )
        ax.axvline(found.cutoffs.score, color="0.35", lw=1, ls="--")
        ax.axhline(found.cutoffs.orthogonal, color="0.35", lw=1, ls="--", label="usual up to here")
        ax.set(
            title=f"{titles[name]}\n{flagged[bad].sum()} of {bad.sum()} bad rows found, "
            f"{principal_angles(model, axes.T)[0]:.0f}° from the truth",
            xlabel="distance inside the fitted subspace",
            ylabel="distance from the fitted subspace",
            xlim=(0, None),
            ylim=(0, None),
        )
        ax.title.set_fontsize(11)
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()
