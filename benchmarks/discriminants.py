"""TL1LDA against Fisher's discriminant, with and without bad rows among those it is trained on.

Rows are split in halves ten times; a tenth of the training rows is moved by
twenty standard deviations in a random direction, labels as they were. `a` and
the center of TL1LDA are chosen by three-fold cross-validation inside the
training half. Run as ``python benchmarks/discriminants.py``.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.covariance import MinCovDet
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler

from tl1pca import TL1LDA

warnings.simplefilter("ignore", ConvergenceWarning)

METHODS = {
    "LDA": LinearDiscriminantAnalysis(),
    "shrinkage LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "LDA, MCD scatter": LinearDiscriminantAnalysis(
        solver="lsqr", covariance_estimator=MinCovDet(random_state=0)
    ),
    "nearest median": NearestCentroid(metric="manhattan"),
    "TL1LDA": TL1LDA(),
    "TL1LDA, chosen": GridSearchCV(TL1LDA(), {"a": ["auto", 3.0, 30.0], "center": ["mean", "median"]}, cv=3),
}


def contaminated(X, rng, share=0.1, far=20.0):
    """X with some rows moved far away, each in its own direction."""
    X, bad = X.copy(), rng.choice(len(X), int(share * len(X)), replace=False)
    steps = rng.normal(size=(len(bad), X.shape[1]))
    X[bad] += far * X.std(axis=0).mean() * steps / np.linalg.norm(steps, axis=1, keepdims=True)
    return X


def main() -> None:
    """Print the table."""
    digits = load_digits()
    few = np.random.RandomState(0).choice(len(digits.data), 600, replace=False)
    sets = {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "digits (600)": (digits.data[few] / 16.0, digits.target[few]),
    }
    print("| data | training rows | " + " | ".join(METHODS) + " |")
    print("|---" * (len(METHODS) + 2) + "|")
    for name, (raw, y) in sets.items():
        X = raw if name.startswith("digits") else RobustScaler().fit_transform(raw)
        for kind in ("clean", "10 % moved"):
            scores = {method: [] for method in METHODS}
            splits = StratifiedShuffleSplit(10, test_size=0.5, random_state=0).split(X, y)
            for seed, (train, test) in enumerate(splits):
                A = X[train] if kind == "clean" else contaminated(X[train], np.random.default_rng(seed))
                for method, estimator in METHODS.items():
                    if name.startswith("digits") and ("chosen" in method or "MCD" in method):  # minutes
                        continue
                    fitted = make_pipeline(estimator).fit(A, y[train])
                    scores[method].append(fitted.score(X[test], y[test]))
            cells = [
                f"{np.mean(s):.3f} ± {np.std(s) / np.sqrt(len(s)):.3f}" if s else "-" for s in scores.values()
            ]
            print(f"| {name} | {kind} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
