"""Many threads, many fits, many processes: the same numbers, and no more memory.

Run as a script it prints a digest of the fits of all estimators.
"""

import gc
import hashlib
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
from sklearn.base import clone

from support import ESTIMATORS, gaussian, name, with_components
from torture import environment, script

X = gaussian(60, 6)


def digest(pca):
    """Of all numbers of a fit."""
    found = hashlib.sha256(pca.transform(X).tobytes())
    for key, value in sorted(vars(pca).items()):
        if key.endswith("_"):
            parts = value if isinstance(value, list) else [value]
            found.update(key.encode() + b"".join(np.asarray(part).tobytes() for part in map(_plain, parts)))
    return found.hexdigest()


def _plain(value):
    return value if isinstance(value, np.ndarray | int | float | bool) else list(vars(value).values())


def with_threads(threads=8, rounds=20):
    """Estimators whose results differ when threads share them."""
    wrong = []
    for estimator in ESTIMATORS:
        shared = with_components(estimator, 3).fit(X)
        wanted = digest(shared)

        def work(i, shared=shared):
            # Fit the shared object anew, use it as it is, and fit a clone, all at the same time.
            if i % 3 == 0:
                return digest(shared.fit(X))
            return digest(shared) if i % 3 == 1 else digest(clone(shared).fit(X))

        with ThreadPoolExecutor(threads) as pool:
            if set(pool.map(work, range(threads * rounds))) != {wanted}:
                wrong.append(name(estimator))
    return wrong


def growth(fits, warm_up):
    """Bytes the process has grown by over so many small fits and transforms."""
    estimators = [with_components(estimator, 2) for estimator in ESTIMATORS]
    process, data = psutil.Process(), X[:20, :4]

    def work(count):
        for i in range(count):
            estimators[i % len(estimators)].fit(data).transform(data)
        gc.collect()
        return process.memory_info().rss

    return -work(warm_up) + work(fits)


def across_processes(processes=2):
    """Digests of all fits, computed in processes of their own with other hash seeds."""
    found = []
    for i in range(processes):
        own = environment(PYTHONHASHSEED=str(i + 1))
        done = subprocess.run(script("load"), env=own, capture_output=True, text=True, check=True)
        found.append(done.stdout)
    return found


def digests():
    return "".join(f"{name(e)} {digest(with_components(e, 3).fit(X))}\n" for e in ESTIMATORS)


if __name__ == "__main__":
    print(digests(), end="")
