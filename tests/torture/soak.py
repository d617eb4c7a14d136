"""Fits, saves and loads for a given time, from threads, forks and a spawned pool at once.

python -m torture.soak --minutes 60 [--out PATH.json]

Every result is held against that of a serial run, in bits. Memory, file
descriptors and threads of the process are measured all the time: after a
quarter of the time has gone they may not grow any more.
"""

import argparse
import gc
import json
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import psutil
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler

import tl1pca
from support import COMPOSED, ESTIMATORS, gaussian, with_components
from tl1pca._files import write_atomically
from torture.forks import waits_in

X = gaussian(30, 5)
EVERY = [*(with_components(estimator, 2) for estimator in ESTIMATORS), *COMPOSED]
#: Growth after the first quarter that counts as flat.
FLAT = 8 << 20
#: Seconds without any processor time after which a forked child counts as hanging: a starved one gets some.
HANG = 60


def _estimator(index):
    """Every estimator by its name, alone and behind two scalers in turn."""
    pca = clone(EVERY[index % len(EVERY)])
    before = [[], [StandardScaler()], [RobustScaler()]][index // len(EVERY) % 3]
    return make_pipeline(*before, pca) if before else pca


COUNT = 3 * len(EVERY)


def result(index):
    """Scores of a fit, after it has been to the disk and back."""
    model = _estimator(index).fit(X, np.arange(len(X)) % 3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        tl1pca.save(model, path)
        back = tl1pca.load(path)
    scores = np.asarray(model.transform(X))
    assert np.asarray(back.transform(X)).tobytes() == scores.tobytes(), "another model was loaded"
    return scores.tobytes()


class Soak:
    """What runs at once, and what was counted."""

    def __init__(self, seconds):
        self.wanted = [result(i) for i in range(COUNT)]
        self.end = time.monotonic() + seconds
        self.counts, self.faults = Counter(), []
        self.lock = threading.Lock()

    def going(self):
        return time.monotonic() < self.end and len(self.faults) < 20

    def note(self, kind, good, what=""):
        with self.lock:
            self.counts[kind] += 1
            if not good:
                self.faults.append(f"{kind}: {what}")

    def in_threads(self, first):
        i = first
        while self.going():
            try:
                self.note("threads", result(i % COUNT) == self.wanted[i % COUNT], f"{i % COUNT} differs")
            except Exception as error:
                self.note("threads", False, repr(error))
            i += 7

    def in_forks(self):
        i = 0
        while self.going():
            self.note("forks", *self._child(i % COUNT))
            i += 5
            time.sleep(0.05)

    def _child(self, index):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if result(index) == self.wanted[index] else 2
            finally:
                os._exit(code)
        process, used, since = psutil.Process(child), None, time.monotonic()
        while time.monotonic() < since + HANG:
            now = process.cpu_times()
            if now != used:
                used, since = now, time.monotonic()
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                return code == 0, f"{index} ended with {code}"
            time.sleep(0.01)
        where = waits_in(child)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if "openblas" in where:  # so does NumPy alone, see torture.forks
            self.note("forks lost to OpenBLAS", True)
            return True, ""
        return False, f"{index} hung in {where or 'Python'}"

    def in_pool(self):
        """A pool of spawned processes, made anew now and then."""
        while self.going():
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                for i, found in enumerate(pool.map(result, range(COUNT))):
                    self.note("spawned", found == self.wanted[i], f"{i} differs")
                    if not self.going():
                        pool.shutdown(cancel_futures=True)
                        return


def measure(process):
    gc.collect()
    return process.memory_info().rss, process.num_fds()


def soak(seconds, threads=3, say=print):
    """Run for so many seconds; a summary with what grew and what failed."""
    warnings.simplefilter("ignore")  # of forks beside threads, which is the point
    run, process, begin = Soak(seconds), psutil.Process(), time.monotonic()
    workers = [threading.Thread(target=run.in_threads, args=(i,)) for i in range(threads)]
    workers += [threading.Thread(target=run.in_forks), threading.Thread(target=run.in_pool)]
    for worker in workers:
        worker.start()
    points = []
    while any(worker.is_alive() for worker in workers):
        time.sleep(min(5.0, seconds / 20))
        points.append((time.monotonic() - begin, *measure(process)))
        if len(points) % 12 == 0:
            say(f"{points[-1][0]:.0f} s, {points[-1][1] >> 20} MiB, {dict(run.counts)}", flush=True)
    for worker in workers:
        worker.join()
    late = [point for point in points if seconds / 4 <= point[0] <= seconds] or points
    half = len(late) // 2
    # Medians of the earlier and of the later half: what is allocated for a moment does not count.
    memory = [float(np.median([p[1] for p in part])) for part in (late[: half or 1], late[half:])]
    files = [float(np.median([p[2] for p in part])) for part in (late[: half or 1], late[half:])]
    return {
        "minutes": round(seconds / 60, 1),
        "counts": dict(run.counts),
        "faults": run.faults,
        "memory MiB": [round(m / 2**20, 1) for m in memory],
        "descriptors": files,
        "flat": memory[1] - memory[0] <= FLAT and files[1] - files[0] <= 2,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    summary = soak(60 * options.minutes)
    text = json.dumps(summary, indent=1) + "\n"
    print(text)
    if options.out is not None:
        write_atomically(options.out, text)
    sys.exit(int(bool(summary["faults"]) or not summary["flat"]))


if __name__ == "__main__":
    main()
