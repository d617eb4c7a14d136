"""The adapter, in river itself."""

import numpy as np
import pytest

from tl1pca import IncrementalTL1PCA
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import principal_angles

river = pytest.importorskip("river", reason="the adapter is tested against river itself")
from river import checks, compose, preprocessing, stream  # noqa: E402

from tl1pca.river import RiverTL1PCA  # noqa: E402

X, BAD, AXES = make_contaminated(900, 8, 2, fraction=0.2, random_state=0)
NAMES = [f"v{j}" for j in range(8)]


def learned(model, rows=X):
    for x, _ in stream.iter_array(rows, feature_names=NAMES):
        model.learn_one(x)
    return model


def test_it_is_the_estimator_row_by_row():
    model = learned(RiverTL1PCA(2, warm_up=200))
    want = IncrementalTL1PCA(2, warm_up=200).partial_fit(X)
    np.testing.assert_array_equal(model.pca.components_, want.components_)
    assert principal_angles(model.pca, AXES.T)[0] < 10
    row = dict(zip(NAMES, X[5]))
    assert list(model.transform_one(row).values()) == pytest.approx(want.transform(X[5:6])[0])
    flagged = [model.score_one(dict(zip(NAMES, x))) > 1 for x in X]
    np.testing.assert_array_equal(flagged, want.predict(X) == -1)


def test_missing_columns_and_others():
    model = learned(RiverTL1PCA(2, warm_up=200))
    full, new = dict(zip(NAMES, X[5])), dict(zip(NAMES[:-1], X[5])) | {"other": 1.0}
    scores = np.array(list(model.transform_one(full).values()))
    assert np.abs(np.array(list(model.transform_one(new).values())) - scores).max() < 3.0
    model.learn_one(new)
    model.learn_one(dict.fromkeys(NAMES))


def test_in_a_pipeline_of_river_and_during_the_warm_up():
    model = compose.Pipeline(preprocessing.StandardScaler(), RiverTL1PCA(2, warm_up=200))
    assert model.transform_one(dict(zip(NAMES, X[0]))) == {0: 0.0, 1: 0.0}
    for x, _ in stream.iter_array(X, feature_names=NAMES):
        model.learn_one(x)
    assert any(model.transform_one(dict(zip(NAMES, X[0]))).values())
    fresh = model["RiverTL1PCA"].clone()
    assert (fresh.warm_up, hasattr(fresh.pca, "components_")) == (200, False)


def test_checks_of_river():
    checks.check_estimator(RiverTL1PCA(1, warm_up=30))
