"""A model of the rows of a stream: moments against PCA of all rows at once, limits, distances."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, f, multivariate_normal, norm

from support import gaussian
from tl1pca.solvers import stream_model as module
from tl1pca.statistics import main_mode_of_counts

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


# ---------------------------------------------------------------- what a new model counts
def counted(distances):
    return module._counted(np.asarray(distances)).astype(float)


def test_score_distances_of_the_fit_are_counted_as_if_the_row_had_been_left_out():
    Z = gaussian(15, 5, seed=1, decay=0.5)
    model = model_of(Z, q=5)
    T = (Z - model.center) @ model.axes[:, :2]
    left_out = []
    for i in range(15):
        others = np.delete(T, i, axis=0)
        away = T[i] - others.mean(axis=0)
        left_out.append(np.sqrt(away @ np.linalg.solve(np.cov(others.T), away)))
    np.testing.assert_array_equal(model.counts[1], counted(left_out))


def test_orthogonal_distances_of_the_fit_are_lengthened_by_their_leverage():
    Z = gaussian(16, 5, seed=1, decay=0.5)
    keep = np.arange(16) < 14
    Z[14] = Z[:14].mean(axis=0) + 1.2 * (Z[3] - Z[:14].mean(axis=0))  # a row outside that lies about
    center = Z[keep].mean(axis=0)
    axes = np.linalg.svd(Z[keep] - center, full_matrices=False)[2][:2]
    Z[15] = Z[3] + 1e3 * axes[0]  # and one far out in the plane, where the tilt counts as one at most
    model = module.new_model(Z, center, axes, keep, 5)
    T = (Z - center) @ axes.T
    r = np.linalg.norm(Z - center - T @ axes, axis=1)
    squares = (T**2 / T[keep].var(axis=0, ddof=1)).sum(axis=1)
    leverage = 1 / 14 + squares / 13
    expected = np.where(keep, 1 - leverage, 1 + 1 / 14 + np.minimum(squares / 14, 1.0))
    np.testing.assert_array_equal(model.counts[0], counted(r / np.sqrt(expected) / np.median(r[keep])))
    assert model.counts[1].sum() == 14
    assert (model.weight, model.votes) == (14, 14)


def test_rows_far_from_a_new_model_are_not_counted():
    Z = gaussian(60, 6, seed=2, decay=0.6)
    keep = np.arange(60) < 50
    Z[50:] += 100 * np.eye(6)[5]
    center = Z[keep].mean(axis=0)
    axes = np.linalg.svd(Z[keep] - center, full_matrices=False)[2][:2]
    assert module.new_model(Z, center, axes, keep, 6).counts.sum(axis=1).tolist() == [50, 50]


def test_a_row_of_the_fit_that_decides_its_component_is_no_error():
    """Its leverage is one: what is left is half of an n-th."""
    Z = np.zeros((5, 4))
    Z[0, 0], Z[1:, 1:] = 9.0, 0.1 * np.random.default_rng(0).normal(size=(4, 3))
    axes = np.eye(4)[:1]
    model = module.new_model(Z, Z.mean(axis=0), axes, np.ones(5, dtype=bool), 2)
    r = np.linalg.norm((Z - Z.mean(axis=0))[:, 1:], axis=1)
    squares = (Z[:, 0] - 1.8) ** 2 / Z[:, 0].var(ddof=1)
    rest = np.maximum(1 - 1 / 5 - squares / 4, 0.5 / 5)
    assert rest[0] == 0.1
    np.testing.assert_array_equal(model.counts[0], counted(r / np.sqrt(rest) / np.median(r)))


def test_where_too_few_rows_are_kept_all_are():
    all_of_them, few = (
        module.new_model(X, np.zeros(6), np.eye(6)[:2], np.arange(120) < n, 6) for n in (120, 2)
    )
    assert few.weight == 120
    np.testing.assert_array_equal(few.variances, all_of_them.variances)
    three = module.new_model(X, np.zeros(6), np.eye(6)[:2], np.arange(120) < 3, 6)
    assert three.weight == 3
    np.testing.assert_allclose(three.variances[:2], (X[:3, :2] ** 2).sum(axis=0) / 2)


def test_more_axes_than_rows_can_have_are_orthonormal_and_empty():
    model = model_of(X[:4], q=6)
    assert model.axes.shape == (6, 6)
    np.testing.assert_allclose(model.axes.T @ model.axes, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(model.variances[3:], 0.0, atol=1e-12)


def test_rows_in_a_plane_lie_within_its_limits():
    """No distance is too small for a model whose rows have none."""
    flat = np.hstack([np.random.default_rng(0).normal(size=(50, 2)), np.zeros((50, 3))])
    model = model_of(flat, q=4)
    assert model.unit == pytest.approx(1e-11 * np.linalg.norm(flat - flat.mean(axis=0), axis=1).max())
    bounds = module.limits(model, 2)
    assert bounds.nearest == 0.0
    assert bounds.scale > 0.0
    assert module.measure(model, bounds, flat, 2).inside.mean() > 0.9
    assert np.isfinite(module.surprise(model, bounds, module.measure(model, bounds, flat, 2), 2)).all()


# ---------------------------------------------------------------- limits by hand
def hand_made(**changes):
    """Center 0, two components of four columns and variances 9, 4; all distances are one."""
    given = {
        "center": np.zeros(4), "axes": np.eye(4)[:, :3], "variances": np.array([9.0, 4.0, 1.0]), "noise": 5.0,
        "weight": 30.0, "votes": 30.0, "unit": 2.0, "counts": np.stack([counted(np.ones(30))] * 2),
    }  # fmt: skip
    return module.Model(**(given | changes))


def spread_out(k=2, n=30):
    """A model with distances as of Gaussian rows, and location and scale of their main modes."""
    away = np.sqrt(chi2.ppf((np.arange(n) + 0.5) / n, 8)) / 3
    along = np.sqrt(chi2.ppf((np.arange(n) + 0.5) / n, k))
    counts = np.stack([counted(away), counted(along)])
    modes = [
        main_mode_of_counts(module._NEARLY_NORMAL[each > 0], each[each > 0]) for each in counts
    ]  # the empty bins between are no matter
    return hand_made(counts=counts, weight=float(n)), modes


def test_limits_are_quantiles_of_what_was_counted():
    model, ((location, spread), (middle, width)) = spread_out()
    found = module.limits(model, 2)
    n, k = 30, 2
    usual = k * (n**2 - 1) / (n * (n - k))  # times F: squared score distance of a new row (Hotelling)
    size = middle**3 / (usual * f.ppf(0.5, k, n - k))
    assert found.size == pytest.approx(size)
    assert found.score == pytest.approx(usual * size * f.ppf(0.9975, k, n - k))
    assert found.cutoffs.score == pytest.approx(np.sqrt(usual * f.ppf(0.99, k, n - k)))

    def distance(deviate):
        return model.unit * (location + deviate * spread) ** 1.5

    assert found.scale == pytest.approx(distance(0.0))
    assert found.cutoffs.orthogonal == pytest.approx(distance(norm.ppf(0.99)) * np.sqrt(1 + (k + 1) / n))
    assert found.cutoffs.tilt == n
    # A bin is 1 % wide: limits are as much wider, so that none is cut within a bin.
    assert found.orthogonal == pytest.approx(1.01 * distance(norm.ppf(0.995)))
    assert found.nearest == pytest.approx(0.99 * distance(norm.ppf(0.005)))
    low = max(location - 5 * spread, 0.0) ** 1.5 * model.unit
    np.testing.assert_allclose(found.about[0], [0.99 * low, 1.01 * distance(5.0)])
    low = max(middle - 5 * width, 0.0) ** 1.5
    np.testing.assert_allclose(found.about[1], [0.99 * low, 1.01 * (middle + 5 * width) ** 1.5])


def test_narrow_counts_have_lower_limits_as_well():
    counts = np.stack([counted(np.geomspace(0.95, 1.05, 40))] * 2)
    found = module.limits(hand_made(counts=counts), 2)
    assert 0.5 < found.about[0, 0] / 2.0 < found.nearest / 2.0 < 1.0 < found.about[0, 1] / 2.0 < 1.5
    assert 0.5 < found.about[1, 0] < 1.0 < found.about[1, 1] < 1.5


def test_limits_of_few_rows_are_those_of_as_many_as_a_quantile_needs():
    few, enough = (module.limits(hand_made(weight=n), 2) for n in (0.5, 4.0))
    assert few.score == enough.score
    assert enough.score > module.limits(hand_made(weight=5.0), 2).score


def test_a_model_that_counted_nothing_has_no_limits():
    found = module.limits(hand_made(counts=np.zeros((2, module.N_BINS))), 2)
    assert found.size == 1.0
    assert found.orthogonal == np.inf
    assert found.nearest == 0.0


def test_surprise_is_exactly_the_density_of_the_model():
    model = hand_made()
    bounds = replace(module.limits(model, 2), size=1.5)
    rows = np.random.default_rng(0).normal(size=(7, 4)) * 3
    seen = module.measure(model, bounds, rows, 2)
    exact = multivariate_normal(np.zeros(4), np.diag([1.5 * 9, 1.5 * 4, 5 / 2, 5 / 2])).logpdf(rows)
    np.testing.assert_allclose(
        module.surprise(model, bounds, seen, 2), -2 * exact - 4 * np.log(2 * np.pi), rtol=1e-12
    )


def test_a_single_direction_that_is_left_has_all_of_the_noise():
    model = hand_made(center=np.zeros(3), axes=np.eye(3), variances=np.array([9.0, 4.0, 5.0]))
    bounds = replace(module.limits(model, 2), size=1.0)
    rows = np.array([[1.0, 2.0, 3.0]])
    exact = multivariate_normal(np.zeros(3), np.diag([9.0, 4.0, 5.0])).logpdf(rows)
    found = module.surprise(model, bounds, module.measure(model, bounds, rows, 2), 2)
    np.testing.assert_allclose(found, -2 * exact - 3 * np.log(2 * np.pi))


def test_a_model_of_two_rows():
    Z = np.array([[1.0, 0.5, 0.0], [-1.0, -0.5, 0.2]])
    model = module.new_model(Z, np.zeros(3), np.eye(3)[:1], np.ones(2, dtype=bool), 2)
    assert model.variances[0] == 2.0


def test_a_direction_without_variance_is_no_infinite_surprise():
    flat = hand_made(variances=np.zeros(3), noise=0.0, unit=1e-3)
    bounds = module.limits(flat, 2)
    found = module.surprise(flat, bounds, module.measure(flat, bounds, np.zeros((1, 4)), 2), 2)
    assert found[0] == pytest.approx(4 * np.log(1e-26))  # the floor is 1e-20 of the larger, squared
    np.testing.assert_allclose(module._squared_scores(np.ones((1, 2)), np.array([4.0, 0.0])), 0.25)
    np.testing.assert_allclose(module._squared_scores(np.ones((1, 2)), np.array([4.0, 0.5])), 2.25)


def test_a_row_far_out_in_the_subspace_is_shortened_by_no_more_than_the_root_of_two():
    model = hand_made(weight=10.0)
    rows = np.array([[1e6, 0.0, 3.0, 0.0], [3.0, 0.0, 3.0, 0.0]])
    seen = module.measure(model, module.limits(model, 2), rows, 2)
    np.testing.assert_allclose(seen.orthogonal, 3.0 / np.sqrt([1 + 0.1 + 1.0, 1 + 0.1 + 0.1]))
    alone = module.measure(hand_made(weight=0.2), module.limits(model, 2), rows[1:], 2)
    np.testing.assert_allclose(alone.orthogonal, 3.0 / np.sqrt(1 + 1 + 1.0))


def test_which_rows_are_counted():
    """Orthogonal distances within reach of rows not another's; score distances of those near both ways."""
    model = hand_made()
    bounds = replace(module.limits(model, 2), orthogonal=4.0, about=np.array([[1.0, 8.0], [0.5, 2.0]]))
    orthogonal = np.array([0.9, 1.1, 3.0, 3.0, 3.0, 5.0, 8.1, 3.0])
    scores = np.array([1.0, 1.0, 0.4, 1.5, 2.1, 1.0, 1.0, 1.0])
    seen = module.Measured(orthogonal, scores**2, orthogonal**2, np.ones(8, dtype=bool))
    shown, fade = np.arange(8) < 7, 0.5 ** np.arange(8)
    found = module.count(model, bounds, seen, shown, fade).counts - model.counts
    away, along = [1, 2, 3, 4, 5], [1, 3]
    np.testing.assert_allclose(found[0], module._counted(orthogonal[away] / 2.0, fade[away]))
    np.testing.assert_allclose(found[1], module._counted(scores[along], fade[along]))


def test_learned_axes_are_in_the_order_of_their_variances():
    learned = module.learn(model_of(X[:70], q=4), X[70:], np.ones(50), np.ones(50))
    assert (np.diff(learned.variances) < 0).all()
    T = (X - learned.center) @ learned.axes
    np.testing.assert_allclose((T**2).mean(axis=0), learned.variances, rtol=0.05)
