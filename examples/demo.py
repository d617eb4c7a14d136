"""The main job on built-in data: find the subspace of the good rows, and the bad rows.

Run by ``make demo``. A third of the rows of a low-rank sample lie in a far
cluster; classical PCA follows them, TL1SubspacePCA does not.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pandas as pd

from tl1pca import TL1SubspacePCA, compare
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import Flag, principal_angles
from tl1pca.displays import OutlierMapDisplay


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
    OutlierMapDisplay.from_estimator(pca, X).figure_.savefig(out / "outlier_map.png", dpi=150)

    print(f"{len(X)} rows, {X.shape[1]} features, {bad.sum()} of the rows bad")
    print(f"bad rows found: {(pca.flags_[bad] > 0).sum()}, good rows flagged: {(pca.flags_[~bad] > 0).sum()}")
    print(f"angle to the true subspace: {principal_angles(pca, axes.T)[0]:.1f} degrees")
    print(table[["score", "outliers", "time", "angle to TL1SubspacePCA"]].round(3).to_string())
    print(f"written to {out}/: outlier_map.png, flagged_rows.csv, comparison.csv")


if __name__ == "__main__":
    main()
