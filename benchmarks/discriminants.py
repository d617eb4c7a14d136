"""TL1LDA against Fisher's discriminant, shrunk and robust ones, with and without bad training rows.

    TL1PCA_DATA=folder python benchmarks/discriminants.py > benchmarks/results/discriminants.md

Wine (scaled by medians and quartiles) and 600 digits are split in halves; of
the training rows a tenth is moved by twenty standard deviations, each in a
random direction, labels as they were. Yale is split as in the paper, with a
black block on every training image as its noise; without the file it is left
out. "chosen" has `shrinkage` and the center chosen by cross-validation inside the
training rows, as has the shrinkage of LDA. "trimmed LDA" is the robust one: rows
that TL1SubspacePCA flags among those less their class median are left out.
Accuracy on the other rows, mean and standard error over the splits.
"""

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.preprocessing import RobustScaler

from tl1pca import TL1LDA, TL1SubspacePCA
from tl1pca.experiments.sources import yale

warnings.simplefilter("ignore")

SPLITS = 5


class TrimmedLDA(ClassifierMixin, BaseEstimator):
    """Shrunk LDA of the rows that are regular about the medians of their classes."""

    def fit(self, X, y):
        medians = {label: np.median(X[y == label], axis=0) for label in np.unique(y)}
        within = X - np.stack([medians[label] for label in y])
        good = TL1SubspacePCA(5).fit(within).flags_ == 0
        self.lda_ = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X[good], y[good])
        self.classes_ = self.lda_.classes_
        return self

    def predict(self, X):
        return self.lda_.predict(X)


shrunk = LinearDiscriminantAnalysis(solver="lsqr")
METHODS = {
    "LDA": LinearDiscriminantAnalysis(),
    "shrinkage LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "shrinkage LDA, chosen": GridSearchCV(shrunk, {"shrinkage": [0.02, 0.1, 0.3, 0.6]}, cv=3),
    "trimmed LDA": TrimmedLDA(),
    "TL1LDA as published": TL1LDA(shrinkage=None),
    "TL1LDA": TL1LDA(),
    "TL1LDA, chosen": GridSearchCV(
        TL1LDA(), {"shrinkage": [0.5, 0.9], "center": ["mean", "spatial_median"]}, cv=3
    ),
}


def contaminated(X, rng, share=0.1, far=20.0):
    """X with some rows moved far away, each in its own direction."""
    X, bad = X.copy(), rng.choice(len(X), int(share * len(X)), replace=False)
    steps = rng.normal(size=(len(bad), X.shape[1]))
    X[bad] += far * X.std(axis=0).mean() * steps / np.linalg.norm(steps, axis=1, keepdims=True)
    return X


def halves(X, y):
    """Clean and contaminated training halves, and the other half."""
    splits = StratifiedShuffleSplit(SPLITS, test_size=0.5, random_state=0).split(X, y)
    for seed, (train, test) in enumerate(splits):
        for kind in ("clean", "10 % moved"):
            A = X[train] if kind == "clean" else contaminated(X[train], np.random.default_rng(seed))
            yield kind, A, y[train], X[test], y[test]


def faces(folder):
    """Splits of the paper, clean and with blocks."""
    source = yale(folder)
    for split in range(SPLITS):
        for noise in (0, 8):
            s = source.draw(noise, split, 0)
            yield ("8 x 8 block" if noise else "clean"), s.X, s.y, s.X_test, s.y_test


def main():
    """Print the table."""
    digits, wine = load_digits(), load_wine()
    few = np.random.RandomState(0).choice(len(digits.data), 600, replace=False)
    sets = {
        "wine": halves(RobustScaler().fit_transform(wine.data), wine.target),
        "digits": halves(digits.data[few] / 16.0, digits.target[few]),
    }
    folder = os.environ.get("TL1PCA_DATA")
    if folder and (Path(folder) / "yale_32x32.npz").is_file():
        sets["Yale"] = faces(folder)
    print(f"# Discriminants\n\n`python benchmarks/discriminants.py`, {SPLITS} splits, accuracy in %.\n")
    print("| data | training rows | " + " | ".join(METHODS) + " |")
    print("|---" * (len(METHODS) + 2) + "|")
    for name, splits in sets.items():
        scores, start = {}, time.process_time()
        for kind, A, labels, new, truth in splits:
            for method, estimator in METHODS.items():
                hit = np.mean(estimator.fit(A, labels).predict(new) == truth)
                scores.setdefault(kind, {}).setdefault(method, []).append(100.0 * hit)
        for kind, found in scores.items():
            cells = [f"{np.mean(s):.1f} ± {np.std(s, ddof=1) / np.sqrt(len(s)):.1f}" for s in found.values()]
            print(f"| {name} | {kind} | " + " | ".join(cells) + " |", flush=True)
        seconds = time.process_time() - start
        print(f"{name}: {seconds:.0f} s of CPU", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
