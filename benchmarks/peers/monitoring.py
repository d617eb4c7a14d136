"""Answers of process-improve, chemotools and pca, in an environment of their own.

    python monitoring.py FOLDER

Reads FOLDER/*.npz and writes FOLDER/*.json. A file with `X` alone asks for the number of components; one
with `new` and `k` as well for the shares of new rows beyond the 99 % limits.
"""

import json
import logging
import sys
import warnings
from pathlib import Path

import numpy as np


def number_of_components(X):
    from process_improve.multivariate.methods import PCA

    most = min(15, X.shape[1] - 1)
    found = PCA.select_n_components(X, max_components=most, scale_inside_folds=False, random_state=0)
    return {"process-improve": int(found.n_components)}


def beyond_limits(X, new, k):
    from chemotools.outliers import HotellingT2, QResiduals
    from pca import pca
    from sklearn.decomposition import PCA

    model = PCA(k).fit(X)
    t2, q = (
        float((kind(model, confidence=0.99).fit(X).predict(new) == -1).mean())
        for kind in (HotellingT2, QResiduals)
    )
    other = pca(n_components=k, alpha=0.01, multipletests=None, verbose="silent")
    other.fit_transform(X)
    other.transform(new, update_outlier_params=False)
    flagged = other.results["outliers"].iloc[-len(new) :]
    return {
        "chemotools": {"score": t2, "orthogonal": q},
        "pca": {name: float(flagged[column].mean()) for name, column in
                (("score", "y_bool"), ("orthogonal", "y_bool_spe"))},
    }  # fmt: skip


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    for path in sorted(Path(sys.argv[1]).glob("*.npz")):
        with np.load(path) as data:
            parts = dict(data)
        answer = (
            beyond_limits(parts["X"], parts["new"], int(parts["k"]))
            if "new" in parts
            else number_of_components(parts["X"])
        )
        path.with_suffix(".json").write_text(json.dumps(answer))


main()
