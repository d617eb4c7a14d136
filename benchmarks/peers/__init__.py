"""Fits in processes of their own: this package, and peers that cannot share its environment.

robpy pins scikit-learn < 1.7 and statsmodels < 0.15, Tyler's estimator came with statsmodels 0.15,
robustcov needs Python 3.12, and rrcov is R. Each gets an environment (made below ``benchmarks/.peers``
on first use) and a worker that stays alive. All workers speak the same way, Python and R alike, so
that all are timed alike:

    request   one line on stdin:   method n d k seed folder
              folder/X.bin         the rows, float64, row by row
    answer    one line on stdout:  ok wall_seconds cpu_seconds n_found has_flags   |   error <reason>
              folder/out.bin       n_found x d components, then, if has_flags, for each row the larger of
                                   its distances over its cut-off (above 1 = outlier)

The times are taken inside the worker around the fit alone; every method is fitted once on small data
before its first timed fit; BLAS has one thread everywhere.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
HOME = HERE.parent / ".peers"
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
#: Environment -> what pip installs there; "own" is the interpreter that runs the study.
ENVIRONMENTS = {
    "own": (),
    "robpy": ("robpy>=0.0.6",),
    "statsmodels": ("statsmodels>=0.15",),
    "robustcov": ("robustcov>=0.2",),
    "R": (),
}
#: Environments of scripts of their own, no workers.
SCRIPTS = {"monitoring": ("pca>=2.10", "chemotools>=0.5", "process-improve>=2.2")}
#: Environments that need another interpreter than the one that runs the study.
PYTHONS = {"robustcov": "python3.12"}


def command(environment):
    """The command line of a worker, the environment made if missing; None if it cannot be had."""
    if environment == "own":
        return [sys.executable, str(HERE / "worker.py")]
    if environment == "R":
        rscript = shutil.which("Rscript")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        if (
            rscript
            and subprocess.run([rscript, "-e", "library(rrcov)"], **quiet, check=False).returncode == 0
        ):
            return [rscript, "--vanilla", str(HERE / "rrcov_worker.R")]
        return None
    folder = HOME / environment
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / ".installed").exists():  # written last: a half-made environment is made anew
        maker = shutil.which(PYTHONS[environment]) if environment in PYTHONS else sys.executable
        if maker is None:
            return None
        print(f"making the environment for {environment} ...", flush=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", *(ENVIRONMENTS | SCRIPTS)[environment]]
        for step in ([maker, "-m", "venv", "--clear", str(folder)], pip):
            if subprocess.run(step, check=False).returncode:
                return None
        (folder / ".installed").touch()
    return [str(python), str(HERE / "worker.py")]


@dataclass(frozen=True)
class Fit:
    """What a worker answers; `error` says why there is nothing else."""

    components: np.ndarray | None = None
    flags: np.ndarray | None = None
    excess: np.ndarray | None = None
    wall: float = float("nan")
    cpu: float = float("nan")
    error: str = ""


class Worker:
    """A process that fits on request; started on first use and again after a crash or a time-out."""

    def __init__(self, command, timeout=120.0):
        self.command, self.timeout = command, timeout
        self.folder = tempfile.TemporaryDirectory(prefix="fit-")
        self.process = None

    def fit(self, method, X, k, seed):
        folder = Path(self.folder.name)
        np.ascontiguousarray(X, dtype=np.float64).tofile(folder / "X.bin")
        if self.process is None:
            pipe = subprocess.PIPE
            env = {**os.environ, **ONE_THREAD, "MPLBACKEND": "Agg"}
            self.process = subprocess.Popen(
                self.command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=env
            )
        watch = threading.Timer(self.timeout, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(f"{method} {X.shape[0]} {X.shape[1]} {k} {seed} {folder}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().split(maxsplit=1)
        except BrokenPipeError:
            answer = []
        finally:
            watch.cancel()
        if not answer:
            self.process.kill()
            self.process.wait()
            self.process = None
            return Fit(error=f"no answer (died, or took longer than {self.timeout:.0f} s)")
        if answer[0] != "ok":
            return Fit(error=answer[-1].strip())
        wall, cpu, found, has_flags = map(float, answer[1].split())
        out = np.fromfile(folder / "out.bin")
        size = int(found) * X.shape[1]
        excess = out[size:] if has_flags else None
        flags = None if excess is None else excess > 1
        return Fit(out[:size].reshape(int(found), X.shape[1]), flags, excess, wall, cpu)

    def close(self):
        if self.process is not None:
            self.process.stdin.close()  # the worker ends at the end of its input
            self.process.wait()
        self.folder.cleanup()
