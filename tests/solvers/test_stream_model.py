"""A model of the rows of a stream: moments against PCA of all rows at once, limits, distances."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from support import gaussian
from tl1pca.solvers import stream_model as module

X = gaussian(120, 6, seed=4, decay=0.6)


def model_of(rows, k=2, q=6):
    axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:k]
    return module.new_model(rows, rows.mean(axis=0), axes, np.ones(len(rows), dtype=bool), q)


def test_a_model_has_the_moments_of_its_rows():
    model = model_of(X)
    values, axes = np.linalg.eigh(np.cov(X.T))
    np.testing.assert_allclose(model.variances, values[::-1], rtol=1e-9)
    np.testing.assert_allclose(np.abs(np.sum(model.axes * axes[:, ::-1], axis=0)), 1.0, atol=1e-9)
    rest = X - X.mean(axis=0)
    rest = rest - rest @ model.axes[:, :2] @ model.axes[:, :2].T
    assert model.noise == pytest.approx((rest**2).sum(axis=1).mean())
    assert model.unit == pytest.approx(np.median(np.linalg.norm(rest, axis=1)))
    assert model.weight == model.votes == 120.0


@pytest.mark.parametrize("d", [6, 400])
def test_learning_is_pca_of_all_rows(d):
    rng = np.random.default_rng(0)
    Z = np.hstack([X, 1e-3 * rng.normal(size=(120, d - 6))]) if d > 6 else X
    first, more = Z[:70], Z[70:]
    model = model_of(first, q=min(d, 60))
    weights = rng.uniform(0.5, 1.5, size=50)
    learned = module.learn(model, more, weights, np.full(50, 3.0))
    mass = 70 + weights.sum()
    center = (first.sum(axis=0) + weights @ more) / mass
    np.testing.assert_allclose(learned.center, center, atol=1e-10)
    # The scatter of the first rows is that of the model: its variances are over n - 1.
    scatter = (first - center).T @ (first - center) + ((more - center).T * weights) @ (more - center)
    scatter += (first - first.mean(axis=0)).T @ (first - first.mean(axis=0)) / 69
    values = np.linalg.eigvalsh(scatter)[::-1] / mass
    np.testing.assert_allclose(learned.variances[:5], values[:5], rtol=1e-6)
    assert learned.noise == pytest.approx((70 * model.noise + 3.0 * weights.sum()) / mass)
    assert learned.votes == learned.weight == pytest.approx(mass)
    assert module.learn(model, more[:0], weights[:0], np.ones(0)) is model


def test_distances_of_a_measure():
    model = model_of(X)
    bounds = module.limits(model, 2)
    seen = module.measure(model, bounds, X, 2)
    Y = X - model.center
    T = Y @ model.axes[:, :2]
    squares = (T**2 / model.variances[:2]).sum(axis=1)
    rest = ((Y - T @ model.axes[:, :2].T) ** 2).sum(axis=1)
    np.testing.assert_allclose(seen.squared_scores, squares)
    np.testing.assert_allclose(seen.residuals, rest)
    np.testing.assert_allclose(seen.orthogonal, np.sqrt(rest / (1 + 1 / 120 + squares / 120)))
    assert 0.9 < seen.inside.mean() <= 1.0
    far = X[0] + 50 * np.linalg.svd(Y, full_matrices=False)[2][5]
    assert not module.measure(model, bounds, far[None], 2).inside[0]


def test_the_limits_are_exceeded_as_often_as_they_say():
    Z = np.random.default_rng(1).normal(size=(4000, 8)) * [5, 4, 1, 1, 1, 1, 1, 1]
    model = model_of(Z[:2000], q=8)
    bounds = module.limits(model, 2)
    new = module.measure(model, bounds, Z[2000:], 2)
    assert (new.orthogonal > bounds.cutoffs.orthogonal).mean() == pytest.approx(0.01, abs=0.006)
    assert (np.sqrt(new.squared_scores) > bounds.cutoffs.score).mean() == pytest.approx(0.01, abs=0.006)
    assert bounds.size == pytest.approx(1.0, abs=0.1)


def test_surprise_is_minus_twice_the_log_density():
    Z = np.random.default_rng(1).normal(size=(3000, 8)) * [5, 4, 1, 1, 1, 1, 1, 1]
    model = model_of(Z, q=8)
    bounds = module.limits(model, 2)
    found = module.surprise(model, bounds, module.measure(model, bounds, Z, 2), 2)
    want = -2 * multivariate_normal(np.zeros(8), np.diag([25, 16, 1, 1, 1, 1, 1, 1])).logpdf(Z)
    np.testing.assert_allclose(found.mean(), want.mean() - 8 * np.log(2 * np.pi), atol=0.2)
    assert np.corrcoef(found, want)[0, 1] > 0.98


@pytest.mark.parametrize("far", [30.0, 0.1])
def test_rows_of_another_kind_do_not_move_the_limits_however_many(far):
    Z = np.random.default_rng(1).normal(size=(500, 20)) * np.r_[5, 4, np.ones(18)]
    model = model_of(Z, q=20)
    bounds = module.limits(model, 2)
    others = np.random.default_rng(2).normal(size=(2000, 20)) * np.r_[5, 4, np.full(18, far)]
    seen = module.measure(model, bounds, others, 2)
    counted = module.count(model, bounds, seen, np.ones(2000, dtype=bool), np.ones(2000))
    assert module.limits(counted, 2).orthogonal == pytest.approx(bounds.orthogonal, rel=0.02)


def test_rows_beyond_the_limits_keep_the_scale_from_shrinking():
    Z = np.random.default_rng(1).normal(size=(9000, 20)) * np.r_[5, 4, np.ones(18)]
    model = model_of(Z[:500], q=20)
    for start in range(500, 9000, 500):
        bounds = module.limits(model, 2)
        seen = module.measure(model, bounds, Z[start : start + 500], 2)
        model = module.count(model, bounds, seen, np.ones(500, dtype=bool), np.ones(500))
    wanted = module.limits(model_of(Z, q=20), 2)
    assert module.limits(model, 2).orthogonal == pytest.approx(wanted.orthogonal, rel=0.02)


def test_counts_are_logarithms_in_bins():
    counts = module._counted(np.array([1.0, np.exp(0.015), 0.0, np.inf, np.nan, 1e-9]), np.arange(1.0, 7.0))
    middle = module.N_BINS // 2
    assert counts[middle] == 1.0
    assert counts[middle + 1] == 2.0
    assert counts[0] == 3.0 + 6.0
    assert counts[-1] == 4.0 + 5.0
    assert module._BIN_CENTERS[middle] == pytest.approx(np.exp(0.5 * module.BIN_WIDTH))


def test_what_fades():
    model = model_of(X)
    half = module.faded(model, 0.5)
    assert (half.weight, half.votes) == (60.0, 60.0)
    np.testing.assert_allclose(half.counts, 0.5 * model.counts)
    assert module.faded(model, 1.0) is model
