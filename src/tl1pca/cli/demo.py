"""``tl1pca demo``: the main job on built-in data.

A third of the rows of a low-rank sample lie in a far cluster; classical PCA
follows them, TL1SubspacePCA does not.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from .. import TL1SubspacePCA


def command(
    out: Annotated[Path, typer.Option(help="Folder for tables and figures.")] = Path("demo"),
) -> None:
    """Find the bad rows of a built-in data set.

    Data, figure and tables go to a folder.
    """
    import numpy as np
    import pandas as pd

    from .. import TL1SubspacePCA, compare
    from .._files import write_atomically
    from ..datasets import make_contaminated
    from ..diagnostics import Flag, principal_angles
    from ._terminal import emit, note, visible, waiting

    out.mkdir(parents=True, exist_ok=True)
    X, bad, axes = make_contaminated(600, 20, 3, kind="cluster", fraction=1 / 3, random_state=0)
    with waiting("Fitting five methods"):
        pca = TL1SubspacePCA(n_components=3, random_state=0).fit(X)
        table = compare(X, n_components=3)
    flagged = np.flatnonzero(pca.flags_)
    rows = pd.DataFrame(
        {
            "row": flagged + 1,
            "flag": [Flag(f).name.lower() for f in pca.flags_[flagged]],
            "score_distance": pca.score_distances_[flagged],
            "orthogonal_distance": pca.orthogonal_distances_[flagged],
        }
    )
    measured = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(X.shape[1])])
    files: dict[str, str | bytes] = {
        "data.csv": measured.to_csv(index=False),
        "flagged_rows.csv": rows.to_csv(index=False),
        "comparison.csv": table.to_csv(),
    }
    try:
        files["outlier_map.png"] = outlier_map(pca, X)
    except ModuleNotFoundError as error:
        note(f"No outlier map: it needs {error.name}, pip install 'tl1pca[plot]'.")
    for name, content in files.items():
        write_atomically(out / name, content)

    shown = table[["score", "outliers", "time", "angle to TL1SubspacePCA"]].round(3)
    lines = [
        f"{len(X)} rows, {X.shape[1]} features, {bad.sum()} of the rows bad",
        f"bad rows found: {(pca.flags_[bad] > 0).sum()}, good rows flagged: {(pca.flags_[~bad] > 0).sum()}",
        f"angle to the true subspace: {principal_angles(pca, axes.T)[0]:.1f} degrees",
        shown.to_string(),
        f"written to {visible(str(out))}: {', '.join(files)}",
        f"go on with: tl1pca report {visible(str(out / 'data.csv'))} -k 3 --out report.html",
    ]
    emit("\n".join(lines))


def outlier_map(pca: TL1SubspacePCA, X: Any) -> bytes:
    """Score distance against orthogonal distance with both cut-offs, as PNG."""
    from matplotlib.figure import Figure

    from ..displays import OutlierMapDisplay

    figure: Any = Figure(figsize=(6.4, 4.4), layout="constrained")
    OutlierMapDisplay.from_estimator(pca, X, ax=figure.subplots())
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()
