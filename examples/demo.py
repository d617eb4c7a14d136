"""The main job on built-in data: find the subspace of the good rows, and the bad rows.

Run by ``make demo``. A third of the rows of a low-rank sample lie in a far
cluster; classical PCA follows them, TL1SubspacePCA does not.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from tl1pca import TL1SubspacePCA, compare
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import Flag, principal_angles

COLORS = {
    "regular": "#0072B2",
    "good leverage": "#009E73",
    "orthogonal outlier": "#E69F00",
    "bad leverage": "#D55E00",
}


def outlier_map(pca: TL1SubspacePCA, path: Path) -> None:
    """Score distance against orthogonal distance, with both cut-offs."""
    fig, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    for flag, (label, color) in zip(Flag, COLORS.items()):
        rows = pca.flags_ == flag
        ax.scatter(
            pca.score_distances_[rows],
            pca.orthogonal_distances_[rows],
            s=14,
            color=color,
            marker="osD^"[flag],
            label=f"{label} ({rows.sum()})",
        )
    ax.axvline(pca.cutoffs_.score, color="0.4", lw=1, ls="--")
    ax.axhline(pca.cutoffs_.orthogonal, color="0.4", lw=1, ls="--")
    ax.set(xlabel="score distance", ylabel="orthogonal distance", title="Outlier map of TL1SubspacePCA")
    ax.legend(frameon=False, fontsize=8)
    fig.savefig(path, dpi=150)
    plt.close(fig)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for tables and figures")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    X, bad, axes = make_contaminated(600, 20, 3, kind="cluster", fraction=1 / 3, random_state=0)
    pca = TL1SubspacePCA(n_components=3, random_state=0).fit(X)
    table = compare(X, n_components=3)
    flagged = np.flatnonzero(pca.flags_)
    pd.DataFrame(
        {
            "row": flagged,
            "flag": [Flag(f).name.lower() for f in pca.flags_[flagged]],
            "score_distance": pca.score_distances_[flagged],
            "orthogonal_distance": pca.orthogonal_distances_[flagged],
        }
    ).to_csv(out / "flagged_rows.csv", index=False)
    table.to_csv(out / "comparison.csv")
    outlier_map(pca, out / "outlier_map.png")

    print(f"{len(X)} rows, {X.shape[1]} features, {bad.sum()} of the rows bad")
    print(f"bad rows found: {(pca.flags_[bad] > 0).sum()}, good rows flagged: {(pca.flags_[~bad] > 0).sum()}")
    print(f"angle to the true subspace: {principal_angles(pca, axes.T)[0]:.1f} degrees")
    print(table[["score", "outliers", "time", "angle to TL1SubspacePCA"]].round(3).to_string())
    print(f"written to {out}/: outlier_map.png, flagged_rows.csv, comparison.csv")


if __name__ == "__main__":
    main()
