"""Fits on a GPU, in single precision, and on the cores of its host; prints a table as it goes.

    SCIPY_ARRAY_API=1 python benchmarks/gpu.py [--quick] [--seconds 200]

Needs torch with CUDA. Without --quick the data take 16 GB of device memory. What does not fit into
the seconds is left out, and said.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import sklearn
import torch

import tl1pca
from tl1pca._arrays import to_numpy
from tl1pca.diagnostics import principal_angles

#: Cores that a host is measured with.
CORES = (1, 2, 4, 8, 16)
BEGIN = time.perf_counter()


def timed(work: Callable[[], object], repeats: int = 3, most: float = 5.0) -> float:
    """Least seconds of a call that ends when the device is done, after a warm-up; once if it takes long."""
    best, spent = np.inf, 0.0
    for trial in range(repeats + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        spent += seconds
        best = seconds if trial <= 1 else min(best, seconds)
        if spent > most:
            break
    return best


def make(n: int, d: int, seed: int = 0) -> torch.Tensor:
    """Ten directions of falling size, noise, and 5 % of far rows in a plane of their own."""
    generator = torch.Generator("cuda").manual_seed(seed)
    axes = torch.linalg.qr(torch.randn(d, 12, generator=generator, device="cuda"))[0]
    X = torch.empty(n, d, device="cuda")
    step = max(1, (1 << 27) // d)
    sizes = 10.0 * 0.8 ** torch.arange(10, device="cuda")
    for i in range(0, n, step):
        m = min(step, n - i)
        block = 0.3 * torch.randn(m, d, generator=generator, device="cuda")
        scores = torch.randn(m, 12, generator=generator, device="cuda")
        block += (scores[:, :10] * sizes) @ axes[:, :10].T
        far = m // 20
        block[:far] += (40 + scores[:far, 10:]) @ axes[:, 10:].T
        X[i : i + m] = block + 3.0
    return X


def extra_memory(work: Callable[[], object]) -> int:
    """Growth of the peak of device memory during a call, in bytes."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    return torch.cuda.max_memory_allocated() - before


def say(*cells: object) -> str:
    line = "| " + " | ".join(str(cell) for cell in cells) + " |"
    print(line, f"<!-- {time.perf_counter() - BEGIN:.0f} s -->", flush=True)
    return line


def study(
    n: int, d: int, estimators: list[tuple[object, float | None, str]], host: bool, deadline: float
) -> list[str]:
    """One row for each estimator: seconds, times pca_lowrank, the goal, the host, extra memory."""
    X = make(n, d)
    size = X.numel() * X.element_size()
    lowrank = timed(partial(torch.pca_lowrank, X, q=16, niter=2))
    lines = [say(f"{n:,} x {d}", "torch.pca_lowrank(q=16)", f"{lowrank:.4f}", "1.0", "", "", "")]
    for estimator, goal, unit in estimators:
        name = repr(estimator).replace("n_components=", "").replace(", random_state=0", "")
        if time.perf_counter() - BEGIN > deadline:
            lines.append(say(f"{n:,} x {d}", name, "no time left", "", "", "", ""))
            continue
        try:
            fit = partial(estimator.fit, X)  # type: ignore[attr-defined]
            seconds = timed(fit)
            extra = extra_memory(fit)
            here = "-"
            if host:
                Y = X.cpu().numpy()
                here = f"{timed(partial(estimator.fit, Y), 1):.3f}"  # type: ignore[attr-defined]
        except Exception as error:
            lines.append(say(f"{n:,} x {d}", name, f"{type(error).__name__}: {error}"[:200], "", "", "", ""))
            continue
        wanted = "-" if goal is None else f"{goal:g} {unit}"
        lines.append(
            say(
                f"{n:,} x {d}",
                name,
                f"{seconds:.4f}",
                f"{seconds / lowrank:.1f}",
                wanted,
                here,
                f"{extra / size:.2f}",
            )
        )
    del X
    torch.cuda.empty_cache()
    return lines


def agreement(n: int, d: int) -> list[str]:
    """Largest difference of a component between the GPU in single and the CPU in double precision."""
    X = make(n, d)
    host = X.cpu().numpy().astype(np.float64)
    given = {"torch": X}
    if importlib.util.find_spec("cupy"):
        import cupy

        given["CuPy"] = cupy.from_dlpack(X)
    lines = []
    for estimator in (tl1pca.TL1PCA(5, a=5.0), tl1pca.L1PCA(5), tl1pca.R1PCA(5)):
        here, value = estimator.fit(host).components_, float(estimator.objective_)
        for library, data in given.items():
            found = estimator.fit(data)
            there = to_numpy(found.components_)
            height = float(found.objective_) / value - 1
            angle = float(np.max(principal_angles(there, here)))
            gap = np.abs(there - here).max()
            lines.append(
                say(f"{library}, {n:,} x {d}", repr(estimator), f"{gap:.1e}", f"{angle:.2e}", f"{height:.1e}")
            )
    return lines


_ON_HOST = """
import sys, time, warnings
import numpy as np
import tl1pca
warnings.simplefilter("ignore")
n, d = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.standard_normal((n, d), dtype=np.float32).astype(np.float64) * 0.9 ** np.arange(d)
X[: n // 20] *= 8.0
for model in (tl1pca.TL1PCA(10), tl1pca.TL1SubspacePCA(10, random_state=0)):
    times = []
    for _ in range(3 if n * d <= 1e7 else 2):
        begin = time.perf_counter()
        model.fit(X)
        times.append(time.perf_counter() - begin)
    print(f"{min(times):.3f}", flush=True)
"""


def cores(sizes: list[tuple[int, int]], deadline: float) -> list[str]:
    """Seconds on the host with so many cores, each in a process of its own that sees no others."""
    lines, all_cores = [], sorted(os.sched_getaffinity(0))
    for n, d in sizes:
        for count in (c for c in CORES if c <= len(all_cores)):
            if time.perf_counter() - BEGIN > deadline:
                lines.append(say(f"{n:,} x {d}", count, "no time left", ""))
                continue
            allowed = ",".join(map(str, all_cores[:count]))
            child = subprocess.run(
                ["taskset", "-c", allowed, sys.executable, "-c", _ON_HOST, str(n), str(d)],
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            found = child.stdout.split()
            lines.append(say(f"{n:,} x {d}", count, *(found or [child.stderr[-200:], ""])))
    return lines


def table(header: tuple[str, ...], lines: list[str]) -> list[str]:
    return ["| " + " | ".join(header) + " |", "|---" * len(header) + "|", *lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--seconds", type=float, default=1200.0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    sklearn.set_config(array_api_dispatch=True)
    share = 10 if options.quick else 1
    subspace = tl1pca.TL1SubspacePCA(10, random_state=0)
    flagship = lambda goal: [(tl1pca.TL1PCA(10), goal, "s"), (subspace, goal, "s")]  # noqa: E731
    others = [tl1pca.L1PCA(10), tl1pca.LpPCA(10, p=1.5), tl1pca.R1PCA(10), tl1pca.ResidualPCA(10)]
    limit = options.seconds
    rows = study(20_000, 100, flagship(0.02), True, 0.15 * limit)
    rows += study(3000, 4096, flagship(0.5), True, 0.3 * limit)
    rows += study(2_000_000 // share, 512, [(one, 5.0, "times") for one in others], False, 0.5 * limit)
    big = [(tl1pca.TL1PCA(10), 0.43, "s"), (subspace, 0.66, "s")]
    rows += study(4_000_000 // share, 1024, big, False, 0.6 * limit)
    rows += study(200_000, 200, flagship(None), True, 0.7 * limit)
    rows += study(1000, 50, flagship(None), True, 0.7 * limit)
    same = agreement(50_000, 60) if time.perf_counter() - BEGIN < 0.75 * limit else []
    sizes = [(1000, 50), (100_000, 100), (1_000_000 // share, 100)]
    counted = cores(sizes, 0.9 * limit)
    words = f"One {torch.cuda.get_device_name()}, {os.cpu_count()} cores, torch {torch.__version__}, float32."
    page = [
        words,
        "",
        *table(
            ("data", "method", "s", "times pca_lowrank", "goal", "same on the host, s", "memory / X"), rows
        ),
        "GPU in float32 against CPU in float64:",
        "",
        *table(
            ("data", "method", "largest difference in a component", "largest angle, degrees", "objective"),
            same,
        ),
        "The host alone, float64, seconds by the cores it may use:",
        "",
        *table(("data", "cores", "TL1PCA(10), s", "TL1SubspacePCA(10), s"), counted),
    ]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "gpu.md").write_text("\n".join(page))
    print("\n".join(page))


if __name__ == "__main__":
    main()
