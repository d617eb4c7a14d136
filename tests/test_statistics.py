import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from tl1pca.statistics import (
    NORMAL_CONSISTENCY,
    effective_dimension,
    main_mode,
    main_mode_of_counts,
    majority_share,
    shortest_interval,
    solve_tl1_scale,
    subsample,
    tl1_scale,
    tl1_scale_step,
    weighted_median,
)


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_integer_weights_are_repetitions(seed, n):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, size=(n, 3)).astype(float)
    v = rng.integers(1, 4, size=n).astype(float)
    repeated = np.repeat(x, v.astype(int), axis=0)
    np.testing.assert_allclose(weighted_median(x, v), np.median(repeated, axis=0))
    np.testing.assert_allclose(tl1_scale(x, v), tl1_scale(repeated), rtol=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 40), st.floats(1e-120, 1e120))
def test_scale_solves_its_equation_and_moves_with_the_units(seed, n, unit):
    u = np.abs(np.random.default_rng(seed).standard_cauchy(size=n))
    alpha = tl1_scale(u)
    assert np.mean(u / (alpha + u)) == pytest.approx(0.5, abs=1e-10)
    assert tl1_scale(unit * u) == pytest.approx(unit * alpha, rel=1e-9)
    assert tl1_scale(np.column_stack([u, unit * u]))[0] == pytest.approx(alpha, rel=1e-12)


def test_scale_is_zero_when_half_of_the_sample_is():
    assert tl1_scale(np.array([0.0, 0.0, 1.0, 5.0])) == 0
    assert tl1_scale(np.array([0.0, 2.0, 1.0, 5.0])) > 0
    assert tl1_scale(np.zeros(3)) == 0


def test_scale_survives_a_minority_of_anything():
    rng = np.random.default_rng(0)
    u = np.abs(rng.normal(size=1000))
    clean = tl1_scale(u)
    u[:400] = 1e200
    assert clean < tl1_scale(u) < 10 * clean


def test_normal_consistency():
    z = np.abs(np.random.default_rng(1).normal(size=400_000))
    assert NORMAL_CONSISTENCY * tl1_scale(z) == pytest.approx(1.0, abs=5e-3)


def test_columns_are_independent():
    U = np.abs(np.random.default_rng(2).normal(size=(50, 4))) * [1, 1e-8, 1e8, 0]
    np.testing.assert_allclose(tl1_scale(U), [float(tl1_scale(u)) for u in U.T], rtol=1e-10)


@pytest.mark.parametrize(("n", "d"), [(30, 200), (400, 20)])
def test_effective_dimension_is_that_of_the_true_covariance(n, d):
    rng = np.random.default_rng(0)
    variances = rng.uniform(0.1, 3.0, size=d)
    want = variances.sum() ** 2 / (variances**2).sum()
    found = [
        effective_dimension(rng.normal(size=(n, d)) * np.sqrt(variances) * 1e200, 0.0) for _ in range(50)
    ]
    assert np.mean(found) == pytest.approx(want, rel=0.03)
    assert np.isnan(effective_dimension(np.zeros((20, 3)), 0.0))
    assert np.isnan(effective_dimension(np.ones((4, 3)), 0.5))
    assert effective_dimension(np.outer(rng.normal(size=50), [1.0, 0.0]), 0.0) == pytest.approx(1.0, abs=0.05)


def test_the_lower_median_and_the_midpoint():
    x = np.array([4.0, 1.0, 3.0, 2.0])
    assert weighted_median(x) == weighted_median(x, np.ones(4)) == 2.5
    assert weighted_median(x, np.ones(4), lower=True) == 2.0
    assert weighted_median(x, np.array([1.0, 1.0, 1.0, 1.5])) == 2.0
    assert weighted_median(np.array([7.0]), np.array([0.3])) == 7.0
    each = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert weighted_median(np.array([[5.0, 5.0], [6.0, 6.0], [9.0, 9.0]]), each).tolist() == [5.0, 6.0]


@pytest.mark.parametrize("start", [1e-12, 1.0, 1e12])
def test_the_scale_does_not_depend_on_the_guess(start):
    u = np.abs(np.random.default_rng(3).standard_t(1, size=(40, 2)))
    np.testing.assert_allclose(tl1_scale(u, start=np.full(2, start)), tl1_scale(u), rtol=1e-12)


def test_few_passes_find_the_scale():
    """Newton in the logarithm: from a guess a few percent off, three evaluations."""
    u = np.abs(np.random.default_rng(4).normal(size=100))
    calls = []

    def moments(alpha):
        calls.append(1)
        q = alpha / (alpha + u)
        return np.mean(q), np.mean(q * q)

    alpha = float(tl1_scale(u))
    assert solve_tl1_scale(moments, 1.05 * alpha) == pytest.approx(alpha, rel=1e-12)
    assert len(calls) <= 4
    calls.clear()
    assert solve_tl1_scale(moments, 1e9 * alpha) == pytest.approx(alpha, rel=1e-12)
    assert len(calls) <= 20


def test_a_step_is_newtons_and_not_too_far():
    u, alpha, h = np.array([0.5, 1.0, 4.0]), 0.8, 1e-6
    q = alpha / (alpha + u)
    value = lambda s: np.mean(np.exp(s) / (np.exp(s) + u)) - 0.5  # noqa: E731
    s = np.log(alpha)
    newton = -value(s) / ((value(s + h) - value(s - h)) / (2 * h))
    assert tl1_scale_step(np.mean(q), np.mean(q * q)) == pytest.approx(newton, rel=1e-6)
    far = np.array([0.999, 0.001])
    assert tl1_scale_step(far, far**2).tolist() == [-3.0, 3.0]
    assert tl1_scale_step(far, far**2, 5.0).tolist() == [-5.0, 5.0]


def test_a_sample_is_spread_over_all_rows():
    assert subsample(7, 7).tolist() == list(range(7))
    index = subsample(1000, 10)
    assert (index // 100).tolist() == list(range(10))  # one of every hundred
    assert len(set(index % 100)) > 3  # and not always the same one
    np.testing.assert_array_equal(index, subsample(1000, 10))
    assert (subsample(1000, 10, np.random.RandomState(1)) != index).any()
    assert len(subsample(30_000)) == 20_000
    for n in (101, 150, 199, 250):
        assert len(np.unique(subsample(n, 100))) == 100  # no row twice


def test_the_shortest_interval():
    ordered = np.array([[0.0, 5.0, 6.0, 6.5, 20.0], [0.0, 1.0, 1.5, 8.0, 9.0]])
    center, half = shortest_interval(ordered, 3)
    np.testing.assert_allclose(center, [5.75, 0.75])
    np.testing.assert_allclose(half, [0.75, 0.75])


def test_the_share_of_the_majority():
    assert majority_share(0.5) == pytest.approx(0.5 / 0.6)
    assert majority_share(0.75) == pytest.approx(0.75 / 0.8)
    assert majority_share(1.0) == 0.99  # so that its quantile is finite


def grid(n):
    """A normal sample without noise."""
    return ndtri((np.arange(n) + 0.5) / n)


@pytest.mark.parametrize(("far", "where"), [(0.0, 0.0), (0.3, 60.0), (0.3, -50.0)])
def test_the_main_mode_is_that_of_the_majority(far, where):
    n = 2001
    x = 5.0 + 2.0 * grid(n)
    x = np.append(x, np.full(int(far * n), where))
    location, scale = main_mode(x, len(x) // 2)
    assert location == pytest.approx(5.0, abs=1e-6)
    assert scale == pytest.approx(2.0, rel=5e-3)
    values, counts = np.unique(np.round(x, 2), return_counts=True)
    location, scale = main_mode_of_counts(values, counts)
    assert location == pytest.approx(5.0, abs=0.01)
    assert scale == pytest.approx(2.0, rel=5e-3)


def test_the_main_mode_is_a_fixed_point_of_the_truncated_moments():
    x = np.random.default_rng(0).standard_t(3, size=400)
    for window in (2.0, 2.5):
        location, scale = main_mode(x, 200, window)
        inside = x[np.abs(x - location) <= window * scale]
        assert inside.mean() == pytest.approx(location, abs=1e-9)
        z = grid(200_001)
        z = z[np.abs(z) <= window]
        assert inside.std() / z.std() == pytest.approx(scale, rel=1e-3)
        by_counts = main_mode_of_counts(np.sort(x), np.ones(400), window)
        assert by_counts == pytest.approx((location, scale), rel=1e-9)


def test_the_main_mode_of_few_different_values():
    assert main_mode(np.array([3.0] * 6 + [9.0] * 3), 5) == (3.0, 0.0)
    assert main_mode(np.array([0.0, 1.0]), 2)[0] == 0.5
    assert main_mode_of_counts(np.array([3.0, 9.0]), np.array([6.0, 3.0])) == (3.0, 0.0)


def test_the_main_mode_does_not_shrink_to_a_point():
    """A density without a bound at its mode: each window is narrower, and four fifths of a half must stay."""
    x = np.concatenate([2.0 ** -np.arange(40.0), -(2.0 ** -np.arange(40.0))])
    for location, scale in (main_mode(x, 40), main_mode_of_counts(np.sort(x), np.ones(80))):
        assert np.count_nonzero(np.abs(x - location) <= 2.5 * scale) >= 24


def test_a_sample_without_tails_is_its_own_mode():
    x = 3.0 + np.linspace(-1.0, 1.0, 101)
    z = grid(200_001)
    for location, scale in (main_mode(x, 50), main_mode_of_counts(x, np.ones(101))):
        assert location == pytest.approx(3.0)
        assert scale == pytest.approx(x.std() / z[np.abs(z) <= 2.5].std(), rel=1e-3)
