import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tl1pca.statistics import NORMAL_CONSISTENCY, effective_dimension, tl1_scale, weighted_median


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
