"""Ctrl-C during a long fit: how long until the prompt is back?

Run as a script it fits one estimator: python -m torture.interrupts NUMBER N D
"""

import signal
import subprocess
import sys
import time

import numpy as np
import psutil

import tl1pca
from support import COMPOSED, ESTIMATORS, name
from torture import environment, script

#: Shapes that keep an estimator busy for longer than the test waits.
SHAPES = {
    tl1pca.L1BestFitPCA: (400, 60),
    tl1pca.L1ReconstructionPCA: (2000, 300),
    tl1pca.TL1SubspacePCA: (100_000, 300),
    tl1pca.SparseTL1SubspacePCA: (20_000, 100),
    tl1pca.EulerPCA: (600, 400),
    tl1pca.KernelizedPCA: (1500, 20),
    tl1pca.TL1LDA: (5000, 60),
}
SHAPE = (60_000, 400)
#: All that are fitted here, by number.
EVERY = [*ESTIMATORS, *COMPOSED]
REPEAT = 1000


def seconds_to_return(index, wait=1.0):
    """Start a long fit, interrupt it, and say how long it took to come back and how.

    In seconds of the processor, which are those of the clock where nothing
    else runs, so that a busy machine does not matter.
    """
    n, d = SHAPES.get(type(EVERY[index]), SHAPE)
    command, pipe = script("interrupts", index, n, d), subprocess.PIPE
    with subprocess.Popen(command, env=environment(), stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdout.readline() == "fitting\n", child.stderr.read()
        time.sleep(wait)
        assert child.poll() is None, "the fit was over before it could be interrupted"
        spent = sum(psutil.Process(child.pid).cpu_times()[:2])
        child.send_signal(signal.SIGINT)
        answer, _, at = child.stdout.readline().strip().partition(" ")
        child.wait()
    return max(0.0, float(at or "inf") - spent), answer


def label(index):
    return name(EVERY[index])


def _fit(index, n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * 0.95 ** np.arange(d)
    y, pca = np.arange(n) % 3, EVERY[index]
    if index < len(ESTIMATORS):
        pca.set_params(n_components=min(10, d))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    print("fitting", flush=True)
    try:
        for _ in range(REPEAT):
            pca.fit(X, y)
    except KeyboardInterrupt:
        print("interrupted", time.process_time(), flush=True)


if __name__ == "__main__":
    _fit(*map(int, sys.argv[1:]))
