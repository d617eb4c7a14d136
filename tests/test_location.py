import warnings

import numpy as np
import pytest
from scipy import optimize

from tl1pca.location import locate, spatial_median
from tl1pca.rows import DenseRows


@pytest.mark.parametrize("seed", range(5))
def test_spatial_median_is_the_minimizer(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 3))
    X[:8] += 50
    total = lambda m: np.linalg.norm(X - m, axis=1).sum()  # noqa: E731
    best = optimize.minimize(total, np.median(X, axis=0), method="BFGS", options={"gtol": 1e-10})
    assert total(spatial_median(DenseRows(X))) <= best.fun * (1 + 1e-12)


def test_spatial_median_on_a_row():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.2], [0.0, 1.0], [0.1, -1.0]])
    np.testing.assert_allclose(spatial_median(DenseRows(X)), [0, 0], atol=1e-9)
    heavy = np.array([10.0, 1, 1, 1, 1])
    np.testing.assert_allclose(spatial_median(DenseRows(X + 3, weights=heavy)), [3, 3], atol=1e-9)


def test_spatial_median_of_equal_and_of_collinear_rows():
    np.testing.assert_array_equal(spatial_median(DenseRows(np.ones((5, 2)))), [1, 1])
    line = np.outer(np.array([-1.0, 0.0, 7.0]), [1.0, 2.0])
    np.testing.assert_allclose(spatial_median(DenseRows(line)), [0, 0], atol=1e-8)


@pytest.mark.parametrize("n", [40, 20_000])
def test_weights_are_repetitions(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    v = rng.integers(1, 3, size=n)
    for center in ("mean", "median", "spatial_median"):
        a, b = (
            locate(DenseRows(X, weights=v.astype(float)), center),
            locate(DenseRows(np.repeat(X, v, axis=0)), center),
        )
        # With many rows the spatial median stops far below its own standard error.
        np.testing.assert_allclose(a, b, atol=1e-9 if n == 40 else 1e-5)


def test_centers():
    X = np.array([[0.0, 1.0], [1.0, 1.0], [8.0, 1.0]])
    assert locate(DenseRows(X), None).tolist() == [0, 0]
    assert locate(DenseRows(X), "mean").tolist() == [3, 1]
    assert locate(DenseRows(X), "median").tolist() == [1, 1]
    assert locate(DenseRows(X), [1, 2]).tolist() == [1, 2]
    assert locate(DenseRows(X.astype(np.float32)), "spatial_median").dtype == np.float32


@pytest.mark.parametrize(
    ("center", "message"),
    [("average", "center must be one of"), ([1.0], r"shape \(2,\)"), ([np.nan, 0], "finite")],
)
def test_bad_centers(center, message):
    with pytest.raises(ValueError, match=message):
        locate(DenseRows(np.zeros((3, 2))), center)


def test_spatial_median_does_not_stop_on_a_row():
    """A row that is not the median, and repeated rows that nearly are, hold the iteration fast."""
    for seed in range(400):
        rng = np.random.default_rng(seed)
        n, d = rng.integers(3, 16), rng.integers(2, 5)
        X = rng.normal(size=(n, d))
        if seed % 2:
            X = X[rng.integers(0, n, size=n)]
        total = lambda y, X=X: np.linalg.norm(X - y, axis=1).sum()  # noqa: E731
        median = spatial_median(DenseRows(X))
        best = min(total(row) for row in X)
        assert total(median) <= best * (1 + 1e-9)
        around = [total(median + 1e-3 * rng.normal(size=d)) for _ in range(20)]
        assert total(median) <= min(around) * (1 + 1e-12)


def test_one_column_far_larger_than_the_others():
    """No step of a matrix that is singular to rounding: the median along the large column, and no warning."""
    X = np.random.default_rng(7717).normal(size=(24, 6)) * [3, 2, 1e160, 0.5, 0.5, 0.2] + 1
    X = X * 2.0**-533
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = spatial_median(DenseRows(X))
    middle = np.sort(X[:, 2])[11:13]
    assert middle[0] <= found[2] <= middle[1]
