"""Speed, quality and memory as ratios in one run; ``make bench``.

Times are medians of interleaved repetitions, so that a busy machine slows both
sides of a ratio; memory is what tracemalloc sees beyond the data. The tables
go to benchmarks/results/speed.md.
"""

import argparse
import os
import time
import tracemalloc
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from tl1pca import L1PCA, R1PCA, TL1PCA, LpPCA, TL1SubspacePCA
from tl1pca._files import write_atomically
from tl1pca.datasets import load_yale
from transliteration import algorithm_2

warnings.filterwarnings("ignore", category=UserWarning)


# ---------------------------------------------------------------- data
def spectrum(n, d, seed=0):
    """Gaussian with a decaying spectrum in a random basis, one row in twenty far away."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 0.9 ** np.arange(d)
    X[: n // 20] *= 8.0
    return X @ np.linalg.qr(rng.normal(size=(d, d)))[0]


def flat(n, d, seed=0):
    """Gaussian without any preferred direction: the hardest case for an ascent."""
    return np.random.default_rng(seed).normal(size=(n, d))


def faces(n=135, d=1024, seed=0):
    """Rows of low rank with noise, of the size of the paper's training sets."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 40)) * np.geomspace(10, 1, 40) @ rng.normal(
        size=(40, d)
    ) / 32 + 0.1 * rng.normal(size=(n, d))


# ---------------------------------------------------------------- measuring
def interleaved(fits, repeats):
    """Median seconds of each callable, taken in turn after one warm-up."""
    seconds = {name: [] for name in fits}
    for i in range(repeats + 1):
        for name, fit in fits.items():
            begin = time.perf_counter()
            fit()
            if i:
                seconds[name].append(time.perf_counter() - begin)
    return {name: float(np.median(values)) for name, values in seconds.items()}


def extra_memory(fit, X):
    """Peak memory of a fit beyond the data, as a share of the data."""
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / X.nbytes


def table(header, rows):
    line = lambda cells: "| " + " | ".join(str(cell) for cell in cells) + " |"  # noqa: E731
    return "\n".join([line(header), line(["---"] * len(header)), *(line(row) for row in rows)])


def ratio_rows(quick):
    big = 10 if quick else 1
    cases = [
        ("TL1PCA 135 x 1024, 30, a=1", faces(), TL1PCA(30, a=1.0), PCA(30, svd_solver="full"), 5),
        ("TL1PCA 10,000 x 100, 10, auto", spectrum(10_000, 100), TL1PCA(10), PCA(10), 15),
        ("TL1PCA 10,000 x 100, 10, auto, flat", flat(10_000, 100), TL1PCA(10), PCA(10), 15),
        ("TL1PCA 100,000 x 100, 10", spectrum(100_000 // big, 100), TL1PCA(10), PCA(10), 10),
        ("TL1PCA 100,000 x 100, 10, flat", flat(100_000 // big, 100), TL1PCA(10), PCA(10), 10),
        ("TL1PCA 1,000,000 x 50, 5", spectrum(1_000_000 // big, 50), TL1PCA(5), PCA(5), 10),
        (
            "TL1SubspacePCA 100,000 x 100, 10",
            spectrum(100_000 // big, 100),
            TL1SubspacePCA(10, random_state=0),
            PCA(10),
            5,
        ),
        (
            "TL1SubspacePCA 10,000 x 100, 10",
            spectrum(10_000, 100),
            TL1SubspacePCA(10, random_state=0),
            PCA(10),
            None,
        ),
        (
            "TL1SubspacePCA 1,000 x 50, 5",
            spectrum(1_000, 50),
            TL1SubspacePCA(5, random_state=0),
            PCA(5),
            None,
        ),
        ("L1PCA 100,000 x 100, 10", spectrum(100_000 // big, 100), L1PCA(10), PCA(10), 10),
        ("LpPCA(p=1.5) 100,000 x 100, 10", spectrum(100_000 // big, 100), LpPCA(10, p=1.5), PCA(10), 10),
        ("R1PCA 100,000 x 100, 10", spectrum(100_000 // big, 100), R1PCA(10), PCA(10), 10),
    ]
    for name, X, ours, theirs, target in cases:
        seconds = interleaved(
            {"ours": partial(ours.fit, X), "PCA": partial(theirs.fit, X)}, 3 if X.size > 10**7 else 9
        )
        ratio = seconds["ours"] / seconds["PCA"]
        memory = extra_memory(partial(ours.fit, X), X)
        verdict = "-" if target is None else ("yes" if ratio <= target else "no")
        row = (
            name,
            f"{seconds['PCA'] * 1e3:.1f}",
            f"{seconds['ours'] * 1e3:.1f}",
            f"{ratio:.1f}",
            target or "-",
            verdict,
            f"{memory:.2f}",
        )
        print(*row, sep="  ", flush=True)
        yield row


def transliteration_row():
    X = faces()
    begin = time.perf_counter()
    algorithm_2(X, 1.0, 30, np.random.RandomState(0))
    paper = time.perf_counter() - begin
    ours = interleaved({"ours": partial(TL1PCA(30, a=1.0, center=None).fit, X)}, 5)["ours"]
    return (
        f"{paper / ours:.0f} times faster than the paper's algorithm line by line "
        f"({paper:.1f} s against {ours * 1e3:.0f} ms); target 100"
    )


def problems():
    """Small problems for the comparison of objectives; fresh seeds, not those the solver was tuned on."""
    rng = np.random.default_rng(2026)
    yield "gaussian 100x10", rng.normal(size=(100, 10)) * 0.8 ** np.arange(10)
    yield "gaussian 300x30", rng.normal(size=(300, 30))
    yield "gaussian 1000x20", rng.normal(size=(1000, 20)) * 0.9 ** np.arange(20)
    for n, d, share in ((200, 50, 0.2), (800, 30, 0.3)):
        X = rng.normal(size=(n, 5)) * [6, 5, 4, 3, 2] @ rng.normal(size=(5, d)) / np.sqrt(
            d
        ) + 0.3 * rng.normal(size=(n, d))
        X[: int(share * n)] = 4 * rng.normal(size=(int(share * n), d))
        yield f"low rank + outliers {n}x{d}", X
    yield "wide 60x300", rng.normal(size=(60, 300)) * 0.99 ** np.arange(300)
    yield "digits 400", load_digits().data[:400]
    yield "student 150x8", rng.standard_t(3, size=(150, 8))
    if os.environ.get("TL1PCA_DATA"):
        yield "yale", load_yale()[0][::2]


def quality_rows(n_seeds):
    for name, data in problems():
        X = data - data.mean(axis=0)
        typical = float(np.median(np.abs(X @ PCA(1).fit(X).components_[0])))
        for factor in (0.1, 1.0, 10.0):
            a = factor * typical
            ours = TL1PCA(3, a=a, center=None).fit(X)
            paper = [
                TL1PCA(3, a=a, center=None, solver="paper", random_state=s).fit(X) for s in range(n_seeds)
            ]
            first = 100 * (
                ours.objective_path_[0][-1] / np.mean([p.objective_path_[0][-1] for p in paper]) - 1
            )
            total = 100 * (ours.objective_ / np.mean([p.objective_ for p in paper]) - 1)
            best = 100 * (ours.objective_ / np.max([p.objective_ for p in paper]) - 1)
            row = (name, f"{factor:g}", f"{first:+.3f}", f"{total:+.3f}", f"{best:+.3f}")
            print(*row, sep="  ", flush=True)
            yield row


def growth_rows(quick):
    sizes = (10_000, 30_000, 100_000) if quick else (10_000, 100_000, 1_000_000)
    for label, make, grid in (
        ("n at d = 50", lambda n: spectrum(n, 50), sizes),
        ("d at n = 5000", lambda d: spectrum(5000, d), (50, 200, 800) if quick else (50, 200, 800, 2000)),
    ):
        for name, estimator in (("TL1PCA", TL1PCA(5)), ("TL1SubspacePCA", TL1SubspacePCA(5, random_state=0))):
            seconds = []
            for size in grid:
                X = make(size)
                seconds.append(interleaved({"fit": partial(estimator.fit, X)}, 3)["fit"])
            slope = np.polyfit(np.log(grid), np.log(seconds), 1)[0]
            row = (name, label, ", ".join(f"{s:.3g}" for s in seconds), f"{slope:.2f}")
            print(*row, sep="  ", flush=True)
            yield row


def single_precision_rows():
    for name, estimator in (("TL1PCA", TL1PCA(10)), ("TL1SubspacePCA", TL1SubspacePCA(10, random_state=0))):
        X = spectrum(100_000, 100)
        Y = X.astype(np.float32)
        seconds = interleaved({"64": partial(estimator.fit, X), "32": partial(estimator.fit, Y)}, 3)
        yield (
            name,
            f"{seconds['64'] * 1e3:.0f}",
            f"{seconds['32'] * 1e3:.0f}",
            f"{seconds['64'] / seconds['32']:.2f}",
        )


def machine():
    """What the machine gives: reading of memory and a square product, in one line."""
    x = np.ones(1 << 25)
    A = np.random.default_rng(0).normal(size=(1500, 1500))
    seconds = interleaved({"read": x.sum, "gemm": lambda: A @ A}, 5)
    return (
        f"{os.cpu_count()} cores; reads {x.nbytes / seconds['read'] / 1e9:.1f} GB/s on one core; "
        f"matrix product {2 * 1500**3 / seconds['gemm'] / 1e9:.0f} GFLOP/s"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller data, fewer seeds")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "speed.md")
    options = parser.parse_args()
    parts = ["# Speed\n", f"{machine()}. Written by `make bench`.\n"]
    header = ("case", "PCA, ms", "ours, ms", "ratio", "target", "reached", "extra memory / X")
    parts += ["## Against scikit-learn's PCA, same run\n", table(header, ratio_rows(options.quick)), ""]
    parts += [f"135 x 1024, 30 components: {transliteration_row()}.\n"]
    rows = list(quality_rows(3 if options.quick else 20))
    first, total = (np.array([float(row[i]) for row in rows]) for i in (2, 3))
    parts += [
        "## Objective against the paper's algorithm, mean over random first angles\n",
        table(
            ("problem", "a / median projection", "first, %", "sum of 3, %", "sum against the best run, %"),
            rows,
        ),
        f"\nAt least the mean in {np.mean(first >= -1e-6):.0%} of {len(rows)} problems for the first "
        f"component, in {np.mean(total >= -1e-6):.0%} for the sum of three; worst {first.min():+.3f} % "
        f"and {total.min():+.3f} %.\n",
    ]
    parts += [
        "## Growth\n",
        table(("estimator", "along", "seconds", "log-log slope"), growth_rows(options.quick)),
        "",
    ]
    parts += [
        "## Single precision, 100,000 x 100\n",
        table(("estimator", "float64, ms", "float32, ms", "gain"), single_precision_rows()),
        "",
    ]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(options.out, "\n".join(parts))
    print(f"written to {options.out}")


if __name__ == "__main__":
    main()
