"""Finite data in, finite numbers out, to the end of the floating range, for every estimator."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import tl1pca
from properties.cases import check_finite, check_monotone, check_orthonormal
from support import CENTERED, ESTIMATORS, name, subspace_angle, with_components

every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
MOST = np.finfo(np.float64).max


def gaussian(n=20, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def far(size, **options):
    X = gaussian(**options)
    X[3, 2] = size
    return X


def spread():
    rng = np.random.default_rng(1)
    return gaussian() * 10.0 ** rng.uniform(-300, 300, size=5)


DATA = {
    "one entry of 1e170": far(1e170),
    "one entry of 1e300": far(-1e300),
    "one entry, the largest number": far(MOST),
    "two far rows": np.vstack([far(1e170), -far(1e200, seed=1)]),
    "far row of small data": np.vstack([1e-200 * gaussian(), 1e150 * np.ones((1, 5))]),
    "all of 1e300": 1e300 * gaussian(),
    "all the largest number": np.sign(gaussian()) * MOST,
    "up to the largest number": np.clip(gaussian() / 3, -1, 1) * MOST,
    "denormal": gaussian() * 1e-320,
    "columns of all sizes": spread(),
    "more columns than rows": far(1e170, n=5, d=30),
    "single precision": far(1e38).astype(np.float32),
    "single precision, the largest number": (np.sign(gaussian()) * np.finfo(np.float32).max).astype(
        np.float32
    ),
}


def fit(estimator, X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="The centered rows span")
        return with_components(estimator, 2).fit(X, **options)


@every
@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_finite_in_finite_out(estimator, data):
    before = data.copy()
    pca = fit(estimator, data)
    np.testing.assert_array_equal(data, before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_finite(pca, data)
        check_orthonormal(pca)
        check_monotone(pca)


@every
def test_new_rows_at_the_end_of_the_range(estimator):
    """A model of ordinary data meets rows that are none."""
    pca = fit(estimator, gaussian())
    new = np.vstack([DATA["all the largest number"], far(1e300), gaussian()])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_finite(pca, new)
        np.testing.assert_allclose(pca.transform(new)[-20:], pca.transform(gaussian()), rtol=1e-9)
        if hasattr(pca, "predict"):
            assert (pca.predict(new)[:20] == -1).all()
            assert np.isfinite(pca.decision_function(new)).all()


@every
def test_small_units_of_large_data(estimator):
    """At the end of the range a fit is that of the same data in smaller units."""
    # Parameters in the units of the data cannot be the same.
    if estimator.get_params().get("a", "auto") != "auto" or "joint" in name(estimator):
        pytest.skip("a is in the units of the data")
    X = gaussian(40)
    large = fit(estimator, X * 2.0**1015)
    np.testing.assert_allclose(large.components_, fit(estimator, X).components_, atol=1e-6)


def test_a_row_that_is_too_far_changes_nothing_for_the_robust_one():
    """As far as anything can be: the subspace is that of the other rows, and the row is flagged."""
    X = gaussian(60)
    wanted = fit(tl1pca.TL1SubspacePCA(random_state=0), X)
    for size in (1e100, 1e170, MOST):
        dirty = X.copy()
        dirty[3, 4] = size
        pca = fit(tl1pca.TL1SubspacePCA(random_state=0), dirty)
        assert subspace_angle(pca.components_, wanted.components_) < 10
        assert pca.flags_[3] != 0


@pytest.mark.parametrize("estimator", CENTERED, ids=name)
@pytest.mark.parametrize("weight", [1e300, MOST, 1e-300])
def test_weights_beyond_the_range_are_named(estimator, weight):
    with pytest.raises(ValueError, match="divide the weights by their mean"):
        fit(estimator, gaussian(), sample_weight=np.full(20, weight))


@pytest.mark.parametrize("estimator", CENTERED, ids=name)
@pytest.mark.parametrize(
    "weights", [np.full(20, 1e100), np.r_[1e100, np.ones(19)], np.r_[1e-300, np.ones(19)]]
)
def test_weights_of_all_sizes(estimator, weights):
    pca = fit(estimator, gaussian(), sample_weight=weights)
    check_finite(pca, gaussian())
    check_orthonormal(pca)


def test_models_of_the_end_of_the_range_are_saved(tmp_path):
    pca = fit(tl1pca.TL1SubspacePCA(random_state=0), DATA["up to the largest number"])
    tl1pca.save(pca, tmp_path / "model.npz")
    assert tl1pca.load(tmp_path / "model.npz").mean_.tobytes() == pca.mean_.tobytes()
