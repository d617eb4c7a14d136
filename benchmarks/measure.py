"""How the benchmarks measure: interleaved times, memory in a process of its own, passes over the data."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import threadpoolctl

from tl1pca.rows import DenseRows

#: Variables that tell BLAS libraries and this package how many threads to use.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def interleaved(fits, budget=3.0, most=11, rounds=None):
    """Seconds of each callable, taken in turn after a warm-up: `rounds`, or what the budget allows.

    Returns a dict of arrays of equal length, one entry for each round.
    """
    begin = time.perf_counter()
    for fit in fits.values():
        fit()
    once = time.perf_counter() - begin
    rounds = rounds or int(np.clip(budget / max(once, 1e-9), 1 if once > budget else 3, most))
    seconds = {name: [] for name in fits}
    for _ in range(rounds):
        for name, fit in fits.items():
            begin = time.perf_counter()
            fit()
            seconds[name].append(time.perf_counter() - begin)
    return {name: np.array(values) for name, values in seconds.items()}


@contextlib.contextmanager
def one_thread():
    """BLAS and this package on a single thread."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        with threadpoolctl.threadpool_limits(1):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


_CHILD = """
import json, pathlib, resource, sys, warnings
import numpy as np
import tl1pca
warnings.simplefilter("ignore")

def peak():
    status = pathlib.Path("/proc/self/status")
    if status.exists():  # on Linux ru_maxrss begins at the peak of the parent
        return 1024 * int(status.read_text().split("VmHWM:")[1].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

estimator = getattr(tl1pca, sys.argv[1])(**json.loads(sys.argv[2]))
X = np.load(sys.argv[3])
# What the libraries load on first use is not the fit's.
type(estimator)(2).fit(np.random.default_rng(0).normal(size=(60, 6)))
before = peak()
estimator.fit(X)
print(peak() - before)
"""


def extra_memory(estimator, X):
    """Growth of the peak resident memory during a fit, as a share of X, in a process of its own."""
    model = [type(estimator).__name__, json.dumps(estimator.get_params())]
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "X.npy")
        np.save(data, X)
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, *model, data], capture_output=True, text=True, check=True
        )
    return int(child.stdout) / X.nbytes


#: Multiplications and additions for each entry of X and each of B directions.
FLOPS = {"project": 2, "pullback": 2, "map_reduce": 4, "scores_and_distances": 4}


class Passes:
    """Counts what is asked of `DenseRows` while it is active: calls, share of X, bytes and flops.

    What a solver takes out as a small array (all rows up to 5000, samples beyond) is not seen.
    """

    def __init__(self, X):
        self.X, self.shares, self.flops = X, {}, 0.0

    def __enter__(self):
        self._kept = {name: getattr(DenseRows, name) for name in (*FLOPS, "gram")}
        for name, function in self._kept.items():
            setattr(DenseRows, name, self._counted(name, function))
        return self

    def __exit__(self, *error):
        for name, function in self._kept.items():
            setattr(DenseRows, name, function)

    def _counted(self, name, function):
        def call(rows, *arguments):
            n, d = rows.shape
            self.shares[name] = self.shares.get(name, 0.0) + n * d / self.X.size
            if name in FLOPS:
                given = next(a for a in arguments if isinstance(a, np.ndarray))
                self.flops += FLOPS[name] * n * d * (1 if given.ndim == 1 else max(1, given.shape[1]))
            else:
                self.flops += 2 * n * d * d
            return function(rows, *arguments)

        return call

    def sentence(self, seconds, gigabytes, gigaflops):
        """What was asked, and what the machine would need for that at its measured rates."""
        passes = sum(self.shares.values())
        parts = ", ".join(f"{name} {share:.1f}" for name, share in sorted(self.shares.items()))
        read = passes * self.X.nbytes / 1e9
        bound = 1e3 * max(read / gigabytes, self.flops / 1e9 / gigaflops)
        return (
            f"{passes:.1f} passes over X ({parts}): {read:.2g} GB and {self.flops / 1e9:.2g} GFLOP, at least "
            f"{bound:.2g} ms on this machine, without what is done to arrays taken out of it; measured "
            f"{1e3 * seconds:.0f} ms"
        )


def machine():
    """Copy bandwidth in GB/s, rate of a matrix product in GFLOP/s, and the machine in words."""
    x = np.ones(1 << 25)
    y = np.empty_like(x)
    A = np.random.default_rng(0).normal(size=(1500, 1500))
    seconds = interleaved({"copy": lambda: np.copyto(y, x), "gemm": lambda: A @ A}, budget=2.0)
    bandwidth = 2 * x.nbytes / float(np.median(seconds["copy"])) / 1e9
    rate = 2 * 1500**3 / float(np.median(seconds["gemm"])) / 1e9
    blas = {
        f"{pool['internal_api']} {pool['version']}"
        for pool in threadpoolctl.threadpool_info()
        if pool["user_api"] == "blas"
    }
    words = (
        f"{os.cpu_count()} cores, {', '.join(sorted(blas))}; a copy moves {bandwidth:.1f} GB/s, "
        f"a matrix product makes {rate:.0f} GFLOP/s; NumPy {np.__version__}"
    )
    return bandwidth, rate, words
