"""Data of ordinary size: CPU time on one thread over scikit-learn's, with the goals; growth with n, d and k.

Part of ``make bench``; ``--quick`` takes few fits of each. The page goes to
benchmarks/results/middle.md, the figure beside it.
"""

import argparse
import os
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA, IncrementalPCA, KernelPCA

from measure import machine, one_thread
from speed import faces, said, spectrum, table
from tl1pca import (
    TL1PCA,
    ImagePCA,
    IncrementalTL1PCA,
    KernelizedPCA,
    TL1CellPCA,
    TL1SubspacePCA,
)
from tl1pca._files import write_atomically

warnings.filterwarnings("ignore", category=UserWarning)

#: Rows, columns, components, and the goals of TL1SubspacePCA and TL1PCA, in times PCA.
SIZES = (
    (1000, 50, 5, 15, 30),
    (2000, 200, 50, 8, 40),
    (1000, 1000, 10, 5, 10),
    (2000, 2000, 10, 5, 8),
    (5000, 2000, 10, 4, 8),
    (3000, 4096, 10, 5, 8),
    (10_000, 100, 10, 5, 8),
)


def cpu_seconds(fit, budget: float) -> float:
    """Median CPU time of a call after a warm-up; of one call where that takes long."""
    spent = []
    for _ in range(8):
        begin = time.process_time()
        fit()
        spent.append(time.process_time() - begin)
        if sum(spent) > budget:
            break
    return float(np.median(spent[1:] or spent))


def ratio_cells(ours: BaseEstimator, X: np.ndarray, base: float, goal: float | None, budget: float) -> tuple:
    seconds = cpu_seconds(partial(ours.fit, X), budget)
    ratio = seconds / base
    reached = "-" if goal is None else ("yes" if ratio <= goal else "no")
    return f"{1e3 * seconds:.0f}", f"{ratio:.1f}", goal or "-", reached


def middle_rows(budget: float):
    """The table of the goals."""
    for n, d, k, robust, dispersed in SIZES:
        X = spectrum(n, d)
        base = cpu_seconds(partial(PCA(k).fit, X), budget)
        for model, goal in ((TL1SubspacePCA(k, random_state=0), robust), (TL1PCA(k), dispersed)):
            cells = ratio_cells(model, X, base, goal, budget)
            yield said((f"{n:,} x {d}, {k}", type(model).__name__, f"{1e3 * base:.1f}", *cells))
        spectrum.cache_clear()
    X, k = faces(), 30
    base = cpu_seconds(partial(PCA(k, svd_solver="full").fit, X), budget)
    cells = ratio_cells(TL1PCA(k, a=1.0), X, base, 5, budget)
    yield said(("135 x 1024, 30", "TL1PCA", f"{1e3 * base:.1f}", *cells))


def family_rows(budget: float):
    """Methods without a goal, against the nearest of scikit-learn."""
    images = spectrum(400, 400)
    for n, d, ours, theirs in (
        (1000, 50, TL1CellPCA(5), PCA(5)),
        (10_000, 100, TL1CellPCA(10), PCA(10)),
        (10_000, 100, IncrementalTL1PCA(10), IncrementalPCA(10)),
        (100_000, 100, IncrementalTL1PCA(10), IncrementalPCA(10)),
        (400, 400, ImagePCA(TL1PCA(5), image_shape=(20, 20)), PCA(5)),
        (500, 50, KernelizedPCA(TL1PCA(5), kernel="rbf"), KernelPCA(5, kernel="rbf")),
    ):
        X = images if d == 400 else spectrum(n, d)
        base = cpu_seconds(partial(theirs.fit, X), budget)
        cells = ratio_cells(ours, X, base, None, budget)[:2]
        against = type(theirs).__name__
        yield said((f"{n:,} x {d}", type(ours).__name__, against, f"{1e3 * base:.1f}", *cells))


# ---------------------------------------------------------------- growth
GROWTH = {
    "rows n, d = 50, k = 5": [(n, 50, 5) for n in (1000, 4000, 16_000, 64_000, 256_000)],
    "columns d, n = 2000, k = 5": [(2000, d, 5) for d in (50, 150, 450, 1350)],
    "components k, n = 4000, d = 200": [(4000, 200, k) for k in (2, 5, 12, 30, 75)],
}
METHODS = {"TL1PCA": TL1PCA, "TL1SubspacePCA": partial(TL1SubspacePCA, random_state=0), "PCA": PCA}


def growth(budget: float) -> dict[str, dict[str, list[float]]]:
    """CPU seconds of each method along each axis."""
    found: dict[str, dict[str, list[float]]] = {}
    for along, shapes in GROWTH.items():
        found[along] = {name: [] for name in METHODS}
        for n, d, k in shapes:
            X = spectrum(n, d)
            for name, method in METHODS.items():
                found[along][name].append(cpu_seconds(partial(method(k).fit, X), budget))
            spectrum.cache_clear()
    return found


def values_along(along: str) -> list[int]:
    return [shape["ndk".index(along.split()[1][0])] for shape in GROWTH[along]]


def growth_rows(found):
    for along, methods in found.items():
        grid = values_along(along)
        for name, seconds in methods.items():
            slope = np.polyfit(np.log(grid), np.log(seconds), 1)[0]
            shown = ", ".join(f"{1e3 * s:.3g}" for s in seconds)
            yield said((name, along, ", ".join(f"{x:,}" for x in grid), shown, f"{slope:.2f}"))


def draw(found, path: Path) -> None:
    """Cost against n, d and k, with the slope of every line."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
    for axis, (along, methods) in zip(axes, found.items()):
        grid = values_along(along)
        for name, seconds in methods.items():
            slope = np.polyfit(np.log(grid), np.log(seconds), 1)[0]
            axis.loglog(grid, seconds, "o-", label=f"{name}, slope {slope:.2f}")
        axis.set_xticks(grid, [f"{x:,}" for x in grid], fontsize=8)
        axis.set_xticks([], minor=True)
        axis.set_xlabel(along)
        axis.legend(fontsize=8)
    axes[0].set_ylabel("CPU seconds, one thread")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few fits of each")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "middle.md")
    options = parser.parse_args()
    budget = 0.1 if options.quick else 1.0
    with one_thread():
        goals, family, found = list(middle_rows(budget)), list(family_rows(budget)), growth(budget)
    draw(found, options.out.with_suffix(".svg"))
    parts = [
        f"{os.cpu_count()} cores; {machine()[2]}. Written by `make bench`.\n",
        "CPU time on one thread, and times scikit-learn's PCA in the same run:\n",
        table(("n x d, k", "method", "PCA, ms", "ms", "times PCA", "goal", "reached"), goals),
        "\nOther methods, against the nearest of scikit-learn:\n",
        table(("n x d", "method", "against", "its ms", "ms", "ratio"), family),
        "\nGrowth; the slope is that of the logarithms:\n",
        table(("method", "along", "at", "CPU ms", "slope"), growth_rows(found)),
        "",
    ]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(options.out, "\n".join(parts))


if __name__ == "__main__":
    main()
