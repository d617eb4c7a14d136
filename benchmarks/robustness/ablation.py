"""What each part of TL1SubspacePCA is worth: ``python benchmarks/robustness/ablation.py [--seeds N]``.

Cells of the second study that are passed when a part is taken out, on seeds the study does not use; and
groups beside bad rows and groups alone, of which the study has few.
"""

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy.special import fdtri
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from robustness import ordinary, real
from robustness.report import table
from tl1pca._files import write_atomically
from tl1pca.solvers.concentration import concentrate, start_rows
from tl1pca.solvers.plane import weighted_plane

OUT, NEAR, PLANE, FIT = (
    f"tl1pca.solvers.{name}." for name in ("outlyingness", "concentration", "plane", "subspace")
)


def _no_tl1_steps(sample, keep, q, muted, tol):
    return weighted_plane(sample, keep, q, muted), np.asarray(keep), (0.0,), True


def _rows_of_the_start(sample, order, first, q, count, muted, tol):
    return sample.asarray(np.isin(np.arange(sample.shape[0]), first).astype(float)), np.zeros(sample.shape[0])


def _majority_of_all(sample, order, q, count, muted, tol):
    return concentrate(sample, order, start_rows(order, count, q), q, count, muted, tol)[0]


def _score_cutoff_of_f(sd, k, n):
    if not 0 < k < n - 1:
        return np.inf
    return float(np.sqrt(k * (n * n - 1) / (n * (n - k)) * fdtri(k, n - k, 0.99)))


#: What is taken out -> patches that do it.
PARTS = {
    "nothing": {},
    "gaps": {OUT + "separated_rows": lambda T, count, tol: np.zeros(T.shape[1], dtype=bool)},
    "moment directions": {OUT + "moment_directions": lambda X, n_axes: X[:0]},
    "more directions for few rows": {OUT + "MOST_DIRECTIONS": 1},
    "groups that are alike": {OUT + "groups_alike": lambda *_: []},
    "start from .6 of the trusted rows (all instead)": {NEAR + "START_SHARE": 1.0},
    "judging dimension (k instead)": {FIT + "judging_dimension": lambda X, kept, k, *_: k},
    "axes that other rows point at": {FIT + "others_share_an_axis": lambda *_: False},
    "room beyond the components": {FIT + "room_beyond": lambda plane, k, scores: np.inf},
    "columns without a scale": {
        FIT + "columns_without_scale": lambda rows: np.zeros(rows.shape[1], dtype=bool)
    },
    "rows without a gap as data of their own": {FIT + "nearest_majority": _majority_of_all},
    "concentration": {NEAR + "concentrate": _rows_of_the_start},
    "reweighting of the sample but one": {FIT + "REWEIGHTINGS": 1},
    "leverage clusters": {FIT + "leverage_ball": lambda *_: None},
    "Tl1 steps": {FIT + "tl1_steps": _no_tl1_steps},
    "leverage in the distances": {FIT + "free_distances": lambda n, sd, od, fitted=None: od},
    "score cut-off by a quantile (F instead)": {PLANE + "score_cutoff": _score_cutoff_of_f},
    "longer upper side of the distances": {PLANE + "upper_stretch": lambda z: 1.0},
}


def groups():
    """Cells with groups of three sizes beside bad rows."""
    return [
        ordinary.Case("groups", "groups", design, 120, 12, 3, 3, fraction, 3.0)
        for design in ordinary.DESIGNS
        for fraction in (0.1, 0.2, 0.3)
    ]


def blobs(seed):
    """Whether at most 5 % of clean rows in three to eight groups are flagged."""
    X = make_blobs(300, 10, centers=3 + seed % 6, random_state=seed)[0]
    return bool((real.own_fit(X, 1 + seed % 3)[1] > 1).mean() <= 0.05)


def count(seeds):
    """Cells passed in each part of the study, shares of blobs, and the mean detection of foreign digits."""
    passed = {}
    for case in [*ordinary.cases(quick=True), *groups()]:
        R = np.array([real.measure(case, seed, real.own_fit) for seed in seeds])
        passed.setdefault(case.part, []).append(all(real.passed(case, R)))
    pairs = ordinary.digit_pairs()
    digits = [real.at_ten_percent(real.own_fit(X, 5)[1], bad) for _, X, bad in pairs]
    alone = np.mean([blobs(seed) for seed in range(60)])
    shares = {"blobs, %": round(100 * alone), "digits, %": round(100 * np.mean(digits))}
    return {f"{part}, of {len(cells)}": sum(cells) for part, cells in passed.items()} | shares


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    lines, parts = [], ()
    for name, patches in PARTS.items():
        with ExitStack() as stack, threadpool_limits(1):
            for target, value in patches.items():
                stack.enter_context(patch(target, value))
            found = count(range(options.seeds))
        parts = tuple(found)
        lines.append((name, *found.values()))
        print(*lines[-1], sep="; ", flush=True)
    text = "\n".join(
        [
            "# What each part of TL1SubspacePCA is worth\n",
            f"Cells of the second study (quick size, {options.seeds} seeds it does not use) passed when a "
            "part is taken out; groups of three sizes with bad rows of the designs, 10 to 30 %; 60 tables of "
            "`make_blobs`. Made by `python benchmarks/robustness/ablation.py`.\n",
            *table(("without", *parts), lines),
        ]
    )
    results = Path(__file__).resolve().parents[1] / "results"
    write_atomically(results / "robustness-ablation.md", text.encode())


if __name__ == "__main__":
    main()
