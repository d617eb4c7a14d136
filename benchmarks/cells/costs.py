"""What TL1CellPCA costs: ``python benchmarks/cells/costs.py``.

Time, memory, angles where no cell is bad, and gaps where columns nearly determine each other.
"""

import sys
import time
import tracemalloc
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from sklearn.decomposition import PCA

from cells.design import SIZES, Cell, draw
from cells.run import angle
from tl1pca import TL1CellPCA, TL1SubspacePCA

SEEDS = range(400, 405)


def table(n, d, k, share=0.05):
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(d, k)))[0]
    X = (rng.normal(size=(n, k)) * np.linspace(6, 3, k)) @ axes.T + rng.normal(size=(n, d))
    X[rng.uniform(size=X.shape) < share] = 20.0
    return X


def costs():
    print("| 5 % bad cells | CPU seconds | peak memory, times X |\n|---|---|---|")
    for n, d, k in ((10_000, 100, 10), (1000, 50, 5)):
        X, seconds = table(n, d, k), []
        for _ in range(3):
            start = time.process_time()
            TL1CellPCA(k, random_state=0).fit(X)
            seconds.append(time.process_time() - start)
        tracemalloc.start()
        TL1CellPCA(k, random_state=0).fit(X)
        peak = tracemalloc.get_traced_memory()[1] / X.nbytes
        tracemalloc.stop()
        print(f"| {n} x {d}, k={k} | {min(seconds):.2f} | {peak:.1f} |")


def angles():
    print("\n| no bad cells, nothing missing | PCA of the good rows | TL1SubspacePCA | TL1CellPCA |")
    print("|---|---|---|---|")
    for size, (kind, share) in (
        (size, row)
        for size in SIZES
        for row in (("none", 0.0), ("cluster", 0.4), ("line", 0.4), ("scattered", 0.4))
    ):
        found = []
        for seed in SEEDS:
            data = draw(Cell(size, "none", 0.0, kind, share, 0.0), seed)
            fits = (
                PCA(data.k).fit(data.clean[~data.bad_rows]),
                TL1SubspacePCA(data.k, random_state=0).fit(data.X),
                TL1CellPCA(data.k, random_state=0).fit(data.X),
            )
            found.append([angle(data.axes, fit.components_) for fit in fits])
        shown = " | ".join(f"{value:.1f}" for value in np.median(found, axis=0))
        print(f"| {size}, {100 * share:.0f} % {kind} | {shown} |", flush=True)


def precise():
    """Root mean squared error of imputed cells, in deviations of the noise, and good rows flagged.

    6 % of the cells are -99, 5 % missing; with bad rows 20 % are shifted alike, off the plane.
    """
    print(
        "\n| noise over signal | bad rows | imputed, 200 x 15 | flagged % | imputed, 60 x 120 | flagged % |"
    )
    print("|---|---|---|---|---|---|")
    for noise, rows in ((noise, rows) for noise in (0.3, 0.1, 0.03, 0.01, 0.003) for rows in (0.0, 0.2)):
        shown = []
        for n, d in ((200, 15), (60, 120)):
            found = []
            for seed in SEEDS:
                rng = np.random.default_rng(seed)
                axes, bad = np.linalg.qr(rng.normal(size=(d, 4)))[0], np.arange(n) < rows * n
                signal = (rng.normal(size=(n, 3)) * [1.3, 1.0, 0.7]) @ axes[:, :3].T * np.sqrt(d / 3)
                clean = signal + noise * rng.normal(size=(n, d))
                X = clean + 3.0 * np.sqrt(d / 3) * bad[:, None] * axes[:, 3]
                wrong, gone = (rng.uniform(size=X.shape) < share for share in (0.06, 0.05))
                X = np.where(gone, np.nan, np.where(wrong, -99.0, X))
                pca = TL1CellPCA(3, random_state=0).fit(X)
                off = (pca.impute(X) - clean)[(wrong | gone) & ~bad[:, None]]
                found.append([np.sqrt((off**2).mean()) / noise, 100 * (pca.flags_[~bad] > 0).mean()])
            shown += [f"{value:.2f}" for value in np.median(found, axis=0)]
        print(f"| {noise:g} | {100 * rows:.0f} % | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    costs()
    angles()
    precise()
