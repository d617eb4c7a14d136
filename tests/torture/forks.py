"""Forks beside threads that multiply matrices, with NumPy alone: how many children hang, and where.

python -m torture.forks [--seconds 40]

OpenBLAS takes a lock for its buffers in every product and does not take it
around a fork: a child that is born while another thread holds it waits for
that thread, which it does not have, in its first product. That is so without
this package. `waits_in` tells such a child from one that waits elsewhere.
"""

import argparse
import os
import signal
import threading
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

#: Seconds without processor time after which a child of a tiny product hangs.
HANG = 10


def waits_in(process):
    """Name of the library in whose data a process waits for a lock; "" where that is not known."""
    try:
        call = Path(f"/proc/{process}/syscall").read_text().split()
        lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    except OSError:
        return ""
    if len(call) < 2 or not call[1].startswith("0x"):
        return ""
    address, parts = int(call[1], 16), []
    for line in lines:
        span, *_, path = line.split(maxsplit=5) if line.count("/") else (line.split()[0], "")
        first, last = (int(end, 16) for end in span.split("-"))
        parts.append((first, last, path.strip()))
    for (_, before, library), (first, last, path) in pairwise(parts):
        if first <= address < last:  # what a library leaves empty follows its data, without a name
            return Path(path or (library if before == first else "")).name
    return ""


def run(seconds, threads=3):
    """Forks, and the libraries that children hung in."""
    A = np.random.default_rng(0).normal(size=(64, 64))
    stop, born, hung = threading.Event(), 0, []

    def work():
        while not stop.is_set():
            A @ A

    others = [threading.Thread(target=work) for _ in range(threads)]
    for thread in others:
        thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        child, since = os.fork(), time.monotonic()
        if child == 0:
            A @ A
            os._exit(0)
        born += 1
        while not os.waitpid(child, os.WNOHANG)[0]:
            if time.monotonic() > since + HANG:
                hung.append(waits_in(child))
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
            time.sleep(0.001)
    stop.set()
    for thread in others:
        thread.join()
    return born, hung


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=40.0)
    warnings.simplefilter("ignore")  # of forks beside threads, which is the point
    born, hung = run(parser.parse_args().seconds)
    print(f"{len(hung)} of {born} children hung, waiting in: {sorted(set(hung))}")


if __name__ == "__main__":
    main()
