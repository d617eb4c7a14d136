"""The methods of the study: each takes a table with NaN and says components, fit, flags of cells and rows."""

import os
import shutil
import subprocess
import tempfile
import threading
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tl1pca

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Fit:
    components: np.ndarray  # (k, d)
    fitted: np.ndarray  # (n, d)
    cell_flags: np.ndarray | None
    row_flags: np.ndarray | None
    seconds: float


def timed(function):
    start = time.perf_counter()
    result = function()
    return result, time.perf_counter() - start


def own(X, k):
    pca, seconds = timed(lambda: tl1pca.TL1CellPCA(k, random_state=0).fit(X))
    fitted = pca.inverse_transform(pca.transform(X))
    return Fit(pca.components_, fitted, pca.cell_flags_, pca.flags_ > 0, seconds)


def filled(X):
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X)


def rowwise(X, k):
    Y = filled(X)
    pca, seconds = timed(lambda: tl1pca.TL1SubspacePCA(k, random_state=0).fit(Y))
    return Fit(pca.components_, pca.inverse_transform(pca.transform(Y)), None, pca.flags_ > 0, seconds)


def l1(X, k):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pca, seconds = timed(lambda: tl1pca.L1ReconstructionPCA(k, max_iter=50).fit(X))
    return Fit(pca.components_, pca.inverse_transform(pca.transform(X)), None, None, seconds)


def masked_pca(X, usable, k, iterations=200):
    """Least squares of rank k over the usable cells: what an oracle can do that knows the bad ones."""
    W = usable.astype(float)
    center = (W * np.nan_to_num(X)).sum(axis=0) / np.maximum(W.sum(axis=0), 1)
    Y, before = np.where(usable, X, center), None
    for _ in range(iterations):
        center = Y.mean(axis=0)
        B = Y - center
        if len(B) < B.shape[1]:
            V = np.linalg.qr(B.T @ np.linalg.eigh(B @ B.T)[1][:, -k:])[0]
        else:
            V = np.linalg.eigh(B.T @ B)[1][:, -k:]
        fitted = center + (B @ V) @ V.T
        Y = np.where(usable, X, fitted)
        if before is not None and np.abs(fitted - before).max() < 1e-3:
            break
        before = fitted
    return center, V.T


class MacroPCA:
    """cellWise's MacroPCA in an R process that stays alive; None of `create` where there is none."""

    @classmethod
    def create(cls):
        rscript = shutil.which("Rscript")
        if rscript is None:
            return None
        ask = [rscript, "-e", "library(cellWise)"]
        if subprocess.run(ask, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            return None
        return cls([rscript, str(HERE / "macropca_worker.R")])

    def __init__(self, command):
        self.folder = tempfile.TemporaryDirectory(prefix="macropca-")
        self.command, self.process = command, None

    def __call__(self, X, k, timeout=120.0):
        n, d = X.shape
        np.ascontiguousarray(X).tofile(Path(self.folder.name) / "X.bin")
        if self.process is None:
            env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            self.process = subprocess.Popen(self.command, text=True, env=env, **pipes)
        watch = threading.Timer(timeout, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(f"{n} {d} {k} {self.folder.name}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().split(maxsplit=1)
        finally:
            watch.cancel()
        if not answer:
            self.process = None
            raise RuntimeError("MacroPCA gave no answer in time")
        if answer[0] != "ok":
            raise RuntimeError(answer[-1].strip())
        out = np.fromfile(Path(self.folder.name) / "out.bin")
        parts = np.split(out, np.cumsum([k * d, d, n * d, n * d]))
        flags = np.abs(parts[3].reshape(n, d)) > np.sqrt(6.6348966)  # its own cut-off, chi-squared at .99
        return Fit(parts[0].reshape(k, d), parts[2].reshape(n, d), flags, parts[4] > 0, float(answer[1]))

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
        self.folder.cleanup()
