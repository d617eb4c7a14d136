"""What each part of TL1SubspacePCA is worth: ``python benchmarks/robustness/ablation.py [--seeds N]``.

Cells of the second study that are passed when a part is taken out, on seeds the study does not use; and
data of which the study has few or none, which some parts are for.
"""

import argparse
import sys
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy.special import fdtri
from sklearn.datasets import make_blobs
from sklearn.preprocessing import scale
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


def _excess(X, k):
    """How far rows lie beyond their cut-off: above one they are flagged."""
    return real.own_fit(X, k)[1]


def blobs(seed):
    """Whether at most 5 % of clean rows in three to eight groups are flagged."""
    X = make_blobs(300, 10, centers=3 + seed % 6, random_state=seed)[0]
    return (_excess(X, 1 + seed % 3) > 1).mean() <= 0.05


def some_components(seed):
    """The same of three groups that take up five components, of which one to three are fitted."""
    X = ordinary.good_rows("groups", 200, 20, 5, np.random.default_rng(seed))[0]
    return (_excess(X, 1 + seed % 3) > 1).mean() <= 0.05


def shifted(seed):
    """Share found of rows shifted along the components that are not fitted, two or three of five."""
    rng, k = np.random.default_rng(seed), 2 + seed % 2
    X, axes = ordinary.good_rows("gaussian", 300, 20, 5, rng)
    direction = rng.normal(size=5 - k)
    X[:30] += 40.0 * axes[:, k:] @ direction / np.linalg.norm(direction)
    return (_excess(X, k)[:30] > 1).mean()


def yes_and_no(seed):
    """Whether at most 5 % of clean rows are flagged, a quarter of whose columns are 0/1."""
    rng, d = np.random.default_rng(seed), (5, 10, 20)[seed % 3]
    X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, d)) + 0.4 * rng.normal(size=(200, d))
    X[:, : d // 4] = X[:, : d // 4] > np.quantile(X[:, : d // 4], 0.7 + 0.1 * (seed % 2), axis=0)
    return (_excess(scale(X), 2) > 1).mean() <= 0.05


def few_rows(seed):
    """Share found of a leverage cluster of two fifths of sixty rows."""
    X, bad, _ = ordinary.draw(ordinary.Case("", "gaussian", "leverage", 60, 10, 2, 2, 0.4, 3.0), seed)
    return (_excess(X, 2)[bad] > 1).mean()


#: Column of the table -> a number for each of sixty seeds, whose mean it shows in percent.
SHARES = {
    "blobs": blobs,
    "groups, some components": some_components,
    "shifted beyond the components": shifted,
    "0/1 columns": yes_and_no,
    "leverage in few rows": few_rows,
}


def count(seeds):
    """Cells passed in each part of the study, the shares, and the mean detection of foreign digits."""
    passed = {}
    for case in [*ordinary.cases(quick=True), *groups()]:
        R = np.array([real.measure(case, seed, real.own_fit) for seed in seeds])
        passed.setdefault(case.part, []).append(all(real.passed(case, R)))
    cells = {f"{part}, of {len(cells)}": sum(cells) for part, cells in passed.items()}
    shares = {name: np.mean([share(seed) for seed in range(60)]) for name, share in SHARES.items()}
    pairs = ordinary.digit_pairs(permutations(range(10), 2))
    shares["digits"] = np.mean([real.at_ten_percent(_excess(X, 5), bad) for _, X, bad in pairs])
    return cells | {f"{name}, %": round(100 * share) for name, share in shares.items()}


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
            "part is taken out, and groups of three sizes with bad rows of the designs, 10 to 30 %. Then, "
            "of 60 data sets each: clean groups (`make_blobs`, and three groups that take up five "
            "components, of which one to three are fitted) and tables with 0/1 columns, of which at most "
            "5 % of the rows are flagged; the share found of rows shifted along the components that are "
            "not fitted and of leverage clusters of 40 % of 60 rows. And a tenth of another digit in all "
            "90 pairs of digits, found at 10 % false alarms. Made by `python "
            "benchmarks/robustness/ablation.py`.\n",
            *table(("without", *parts), lines),
        ]
    )
    results = Path(__file__).resolve().parents[1] / "results"
    write_atomically(results / "robustness-ablation.md", text.encode())


if __name__ == "__main__":
    main()
