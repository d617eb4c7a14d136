"""Fits on a Dask cluster of which a worker is killed every few seconds.

python -m torture.cluster [--minutes 2] [--every 4]

A fit ends with the result of a cluster that is left alone, or says that the
cluster was lost; it never ends with another result, and never hangs.
"""

import argparse
import os
import random
import signal
import sys
import threading
import time
from contextlib import suppress

import dask
import numpy as np

import tl1pca

#: Seconds after which a fit counts as hanging.
HANG = 300
ROWS, BLOCK = 30_000, 5_000


def estimators():
    """What works on a cluster, one for each way to solve."""
    return [tl1pca.TL1SubspacePCA(2, random_state=0), tl1pca.L1PCA(2), tl1pca.TL1PCA(1), tl1pca.R1PCA(2)]


def data():
    from dask import array

    X = np.random.default_rng(0).normal(size=(ROWS, 40)) * 0.9 ** np.arange(40)
    return array.from_array(X, chunks=(BLOCK, 40))


def torture(seconds, every, say=print):
    """Fits while workers are killed: how many, how many said the cluster was lost, and what was wrong."""
    from distributed import Client, LocalCluster

    dask.config.set(
        {"distributed.scheduler.allowed-failures": 50, "distributed.logging.distributed": "error"}
    )
    kills, fits, lost, wrong, stop = 0, 0, 0, [], threading.Event()
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**options, silence_logs="CRITICAL") as cluster, Client(cluster) as client:
        X = data()
        wanted = [pca.fit(X).components_.tobytes() for pca in estimators()]
        rng = random.Random(0)

        def kill():
            nonlocal kills
            while not stop.wait(every):
                pids = [worker.process.pid for worker in cluster.workers.values() if worker.process]
                with suppress(ProcessLookupError, IndexError, TypeError):
                    os.kill(rng.choice(pids), signal.SIGKILL)
                    kills += 1

        killer = threading.Thread(target=kill)
        killer.start()
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                for pca, bits in zip(estimators(), wanted):
                    begin = time.monotonic()
                    try:
                        found = pca.fit(X).components_.tobytes()
                        fits += 1
                        if found != bits:
                            wrong.append(f"{pca} gave another result")
                    except RuntimeError as error:
                        lost += 1
                        say(f"{type(pca).__name__}: {str(error)[:200]}", flush=True)
                    if time.monotonic() - begin > HANG:
                        wrong.append(f"{pca} took {time.monotonic() - begin:.0f} s")
        finally:
            stop.set()
            killer.join()
        client.close()
    return {"kills": kills, "fits": fits, "lost": lost, "wrong": wrong}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--every", type=float, default=4.0)
    options = parser.parse_args()
    found = torture(60 * options.minutes, options.every)
    print(found)
    sys.exit(int(bool(found["wrong"]) or found["fits"] == 0))


if __name__ == "__main__":
    main()
