"""A study of seconds for the tests of the engine; run as a script it computes into a journal.

python small_study.py JOURNAL JOBS SLEEP
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from tl1pca import LpPCA
from tl1pca.experiments import Method, Sample, Study, run
from tl1pca.experiments.spec import derive

PAUSE = 0.0


@dataclass(frozen=True)
class Blobs:
    name: str = "blobs"
    title: str = "blobs"
    noises: tuple = (0, 1)
    n_components: int = 2

    def draw(self, noise, split, seed):
        rng = np.random.default_rng(derive(seed, self.name, noise, split))
        X, y = rng.normal(size=(20, 4)) + noise, np.arange(20) % 2
        return Sample(X[:14], y[:14], X[14:], y[14:])

    def digest(self):
        return "drawn"


class Slow(TransformerMixin, BaseEstimator):
    """Takes its time, and draws from its seed."""

    def __init__(self, n_components=1, scale=1.0, random_state=None, pause=0.0):
        self.n_components = n_components
        self.scale = scale
        self.random_state = random_state
        self.pause = pause

    def fit(self, X, y=None):
        time.sleep(self.pause)
        self.basis_ = np.random.default_rng(self.random_state).normal(size=(X.shape[1], self.n_components))
        return self

    def transform(self, X):
        return self.scale * X @ self.basis_


def fingerprint(estimator, sample, source):
    """Numbers that change when the sample or the fit does, and that are no round ones."""
    return {"draw": [float(np.sum(np.sin(sample.X)))] * 2, "fit": list(estimator.transform(sample.X)[0][:2])}


def study(splits=6, pause=0.0):
    methods = (
        Method("pca", LpPCA(p=2, center=None)),
        Method("slow", Slow(pause=pause), "scale", (1.0, 0.1)),
    )
    return Study("small", (Blobs(),), methods, splits, fingerprint)


if __name__ == "__main__":
    run(study(pause=float(sys.argv[3])), Path(sys.argv[1]), jobs=int(sys.argv[2]))
