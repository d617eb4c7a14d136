import warnings

import numpy as np
import pytest
from scipy import optimize

from support import array_api_strict
from tl1pca import location
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


def test_few_passes_are_enough_with_many_rows(monkeypatch):
    X = np.random.default_rng(0).standard_t(2, size=(8000, 5)) + 3.0
    read, pull = [], location._pull

    def counted(rows, *args):
        read.append(rows.shape[0])
        return pull(rows, *args)

    monkeypatch.setattr(location, "_pull", counted)
    median = spatial_median(DenseRows(X))
    assert 2 <= read.count(8000) <= 5  # one at the start, and one for each step
    assert read[0] == location.SAMPLE_ROWS
    sides = (X - median) / np.linalg.norm(X - median, axis=1)[:, None]
    assert np.linalg.norm(sides.mean(axis=0)) < 1e-5
    read.clear()
    spatial_median(DenseRows(X[: 2 * location.SAMPLE_ROWS]))
    assert set(read) == {2 * location.SAMPLE_ROWS}  # of so few no sample comes first
    spatial_median(DenseRows(X[: 2 * location.SAMPLE_ROWS + 1]))
    assert location.SAMPLE_ROWS in read


X = np.random.default_rng(5).normal(size=(30, 3))
V = np.random.default_rng(6).uniform(0.5, 2.0, size=30)


def squares(rows):
    return rows.map(lambda r: r * r, rows.norms())


def test_the_pull_on_a_point():
    rows, delta = DenseRows(X, weights=V), np.array([0.2, -0.1, 0.4])
    r = np.linalg.norm(X - delta, axis=1)
    found = location._pull(rows, squares(rows), delta, 1.0)
    assert found.total == pytest.approx(V @ r)
    assert found.mass == pytest.approx((V / r).sum())
    np.testing.assert_allclose(found.gradient, ((V / r)[:, None] * (X - delta)).sum(axis=0))


def test_a_newton_step_solves_with_the_second_derivative():
    rows, delta = DenseRows(X, weights=V), np.array([0.2, -0.1, 0.4])
    A = X - delta
    r = np.linalg.norm(A, axis=1)
    here = location._pull(rows, squares(rows), delta, 1.0)
    H = (V / r).sum() * np.eye(3) - (A.T * (V / r**3)) @ A
    np.testing.assert_allclose(
        location._newton_step(A, V, here), np.linalg.solve(H, here.gradient), rtol=1e-3
    )
    # Rows at the point itself have no curvature to tell.
    np.testing.assert_allclose(
        location._newton_step(np.zeros((2, 3)), V[:2], here), here.gradient / here.mass
    )


def test_the_step_off_a_row_is_that_of_vardi_and_zhang():
    rows = DenseRows(X, weights=V)
    for i in range(30):
        r = np.linalg.norm(X - X[i], axis=1)
        others = np.arange(30) != i
        inverse = V[others] / r[others]
        pull = (inverse[:, None] * (X - X[i])[others]).sum(axis=0)
        strength = np.linalg.norm(pull)
        found = location._vardi_zhang_step(rows, squares(rows), X[i])
        if strength <= V[i]:
            assert found is None
        else:
            np.testing.assert_allclose(found, (1 - V[i] / strength) * pull / inverse.sum(), rtol=1e-9)
    heavy = DenseRows(X, weights=np.where(np.arange(30) == 4, 100.0, 1.0))
    assert location._vardi_zhang_step(heavy, squares(heavy), X[4]) is None


def test_one_column_has_the_ordinary_median():
    x = np.array([[5.0], [1.0], [2.0], [9.0]])
    assert spatial_median(DenseRows(x)).tolist() == [3.5]
    assert spatial_median(DenseRows(x, weights=np.array([1.0, 1.0, 5.0, 1.0]))).tolist() == [2.0]


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_units_do_not_matter(size):
    np.testing.assert_allclose(
        spatial_median(DenseRows(size * X)), size * spatial_median(DenseRows(X)), rtol=1e-6
    )


def test_most_rows_at_one_point():
    """The median distance is zero: the longest row tells the size."""
    rows = np.vstack([np.zeros((9, 2)), [[1.0, 0.0], [3.0, 4.0], [0.0, 2.0]]])
    np.testing.assert_allclose(spatial_median(DenseRows(rows)), [0.0, 0.0], atol=1e-12)


def test_column_medians_of_a_device():
    there = location.column_medians(array_api_strict(X[:29], None))
    np.testing.assert_allclose(np.asarray(there), np.median(X[:29], axis=0))


def test_one_column_far_larger_than_the_others():
    """No step of a matrix that is singular to rounding: the median along the large column, and no warning."""
    X = np.random.default_rng(7717).normal(size=(24, 6)) * [3, 2, 1e160, 0.5, 0.5, 0.2] + 1
    X = X * 2.0**-533
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = spatial_median(DenseRows(X))
    middle = np.sort(X[:, 2])[11:13]
    assert middle[0] <= found[2] <= middle[1]
