"""Run by test_larger_than_memory in a process of its own: fit a file under a limit on memory.

Usage: limited_fit.py {fit,load} {npy,zarr,parquet} path estimator extra_bytes
Prints a JSON object with what was found.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import zarr
from sklearn.decomposition import PCA

import tl1pca

ESTIMATORS = {
    "TL1PCA": tl1pca.TL1PCA(2),
    "TL1SubspacePCA": tl1pca.TL1SubspacePCA(2, random_state=0),
}
OPEN = {
    "npy": lambda path: np.load(path, mmap_mode="r"),
    "zarr": lambda path: zarr.open_array(path, mode="r"),
    "parquet": pq.ParquetFile,
}
#: How a user would bring all of it into memory.
LOAD = {
    "npy": np.load,
    "zarr": lambda path: zarr.open_array(path, mode="r")[:],
}


def data_bytes():
    """Private writable memory of this process, which is what RLIMIT_DATA limits."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmData")).split()[1])


def fit(kind, path, name):
    began = time.perf_counter()
    X = OPEN[kind](path)
    pca = ESTIMATORS[name].fit(X)
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "components": pca.components_.tolist(),
        "mean": pca.mean_.tolist(),
        "scores": float(np.abs(pca.transform(X)).mean()),
    }


def load(kind, path, name):
    """What the same limit does to someone who brings the data into memory."""
    try:
        PCA(2, svd_solver="full").fit(LOAD[kind](path))
    except MemoryError as error:
        return {"failed": repr(error)}
    return {"failed": None}


def main(action, kind, path, name, extra):
    small = np.random.default_rng(0).normal(size=(6000, 100))
    ESTIMATORS[name].fit(small)  # what a first fit allocates for good belongs to the baseline
    limit = data_bytes() + int(extra)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    print(json.dumps({"fit": fit, "load": load}[action](kind, path, name)))


if __name__ == "__main__":
    main(*sys.argv[1:])
