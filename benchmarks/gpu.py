"""TL1PCA and TL1SubspacePCA on a GPU: seconds against torch.pca_lowrank, bytes against a plain copy.

    SCIPY_ARRAY_API=1 python benchmarks/gpu.py [--quick] [--out FOLDER]

Needs torch with CUDA. One run compares everything on the same data; times are
medians of repeated fits after one to warm up. Without --quick the data take
16 GB of device memory.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

# The host has only small matrices to work on, for which many threads are slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "4")

import numpy as np
import sklearn
import torch

import tl1pca
from tl1pca._arrays import to_numpy
from tl1pca.diagnostics import principal_angles
from tl1pca.rows import ArrayRows

REPEATS = 5
ESTIMATORS = (tl1pca.TL1PCA(10), tl1pca.TL1PCA(10, a=10.0), tl1pca.TL1SubspacePCA(10, random_state=0))
#: How often a verb of the port reads the data.
READS = {
    "project": 1,
    "pullback": 1,
    "map_reduce": 2,
    "gram": 1,
    "scores_and_distances": 1,
    "mean": 1,
    "max_abs": 2,
}


def seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median time of a call that ends when the device is done."""
    work()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def make(n: int, d: int, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """Ten directions of falling size, noise, and 5 % of far rows in a plane of their own."""
    generator = torch.Generator("cuda").manual_seed(seed)
    axes = torch.linalg.qr(torch.randn(d, 12, generator=generator, device="cuda"))[0].to(dtype)
    X = torch.empty(n, d, dtype=dtype, device="cuda")
    step = max(1, (1 << 27) // d)
    sizes = 10.0 * 0.8 ** torch.arange(10, device="cuda", dtype=dtype)
    for i in range(0, n, step):
        m = min(step, n - i)
        block = 0.3 * torch.randn(m, d, generator=generator, device="cuda", dtype=dtype)
        scores = torch.randn(m, 12, generator=generator, device="cuda", dtype=dtype)
        block += (scores[:, :10] * sizes) @ axes[:, :10].T
        far = m // 20
        block[:far] += (40 + scores[:far, 10:]) @ axes[:, 10:].T
        X[i : i + m] = block + 3.0
    return X


class Passes:
    """Counts the times a fit reads the data, in units of their size."""

    def __init__(self, size: int):
        self.size, self.reads = size, 0.0

    def __enter__(self) -> Passes:
        self.kept = {name: getattr(ArrayRows, name) for name in READS}
        for name, method in self.kept.items():
            setattr(ArrayRows, name, self._counting(name, method))
        return self

    def __exit__(self, *_: object) -> None:
        for name, method in self.kept.items():
            setattr(ArrayRows, name, method)

    def _counting(self, name: str, method: Callable[..., object]) -> Callable[..., object]:
        def counted(rows: ArrayRows, *args: object) -> object:
            self.reads += READS[name] * rows.shape[0] * rows.shape[1] / self.size
            return method(rows, *args)

        return counted


def study(n: int, d: int) -> list[str]:
    X = make(n, d, torch.float32)
    size = X.numel() * X.element_size()
    copy = 2 * size / seconds(X.clone) / 1e12
    lowrank = seconds(lambda: torch.pca_lowrank(X, q=16, niter=2))
    lines = [f"| {n:,} x {d} | torch.pca_lowrank(q=16, niter=2) | {lowrank:.3f} | 1.00 | | | {copy:.2f} |"]
    print(lines[-1], flush=True)
    for estimator in ESTIMATORS:
        taken = seconds(partial(estimator.fit, X))
        with Passes(X.numel()) as passes:
            estimator.fit(X)
        rate = passes.reads * size / taken / 1e12
        name = repr(estimator).replace("n_components=", "")
        cells = [
            f"{taken:.3f}",
            f"{taken / lowrank:.2f}",
            f"{passes.reads:.1f}",
            f"{rate:.2f}",
            f"{copy:.2f}",
        ]
        lines.append(f"| {n:,} x {d} | {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def agreement(n: int, d: int) -> list[str]:
    """Largest difference of a component between the GPU in single and the CPU in double precision."""
    X = make(n, d, torch.float32)
    host = X.cpu().numpy().astype(np.float64)
    given = {"torch": X}
    if importlib.util.find_spec("cupy"):
        import cupy

        given["CuPy"] = cupy.from_dlpack(X)
    lines = []
    scale = float(tl1pca.TL1PCA(1).fit(host).a_[0])
    for estimator in (
        tl1pca.TL1PCA(10),
        tl1pca.TL1PCA(10, a=scale),
        tl1pca.TL1PCA(10, a=10 * scale),
        tl1pca.TL1SubspacePCA(10, random_state=0),
    ):
        here = estimator.fit(host).components_
        for library, data in given.items():
            there = to_numpy(estimator.fit(data).components_)
            angle = float(principal_angles(there, here)[0])
            gap = np.abs(there - here).max()
            lines.append(f"| {library}, {n:,} x {d} | {estimator!r} | {gap:.1e} | {angle:.2e} |")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    sklearn.set_config(array_api_dispatch=True)
    share = 10 if options.quick else 1
    table = [line for n, d in ((4_000_000, 1024), (20_000_000, 100)) for line in study(n // share, d)]
    same = agreement(200_000, 100)
    page = [
        f"One {torch.cuda.get_device_name()}, torch {torch.__version__}, float32, medians of {REPEATS} fits.",
        "",
        "| data | method | seconds | times pca_lowrank | passes over X | TB/s read | copy, TB/s |",
        "|---|---|---|---|---|---|---|",
        *table,
        "",
        "GPU in float32 against CPU in float64:",
        "",
        "| data | method | largest difference in a component | largest angle, degrees |",
        "|---|---|---|---|",
        *same,
        "",
    ]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "gpu.md").write_text("\n".join(page))


if __name__ == "__main__":
    main()
