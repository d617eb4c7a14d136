"""Noise of every column: by simulation, and by the formulas of its parts."""

import numpy as np
import pytest
from scipy.special import digamma, polygamma
from scipy.stats import norm

from tl1pca import _noise as module
from tl1pca._noise import column_noise, moderated, weighted_dual


def test_bad_cells_of_trusted_rows_do_not_widen_their_column():
    rng = np.random.default_rng(0)
    E = rng.normal(size=(400, 12)) * np.linspace(0.5, 1.5, 12)
    spoiled = E.copy()
    spoiled[:32, 3] += 6.0 * rng.choice([-1, 1], size=32)
    C = np.zeros((1, 12))
    C[0, 0] = 1.0
    clean, found = (column_noise(A - A @ C.T @ C, C, 1.0, 0.0) for A in (E, spoiled))
    np.testing.assert_allclose(found, clean, rtol=0.1)
    np.testing.assert_allclose(clean[1:], np.linspace(0.5, 1.5, 12)[1:] ** 2, rtol=0.25)


def test_too_many_components_leave_the_noise_of_the_columns_equal():
    """Six columns of two directions: three numbers cannot tell six."""
    E = np.random.default_rng(0).normal(size=(200, 6)) * [1, 2, 3, 1, 2, 3]
    C = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 4)))[0].T
    R = E - E @ C.T @ C
    assert column_noise(R, C, 0.9, 0.0) == pytest.approx((R**2).sum() / (0.9 * 200 * 2))


def test_variances_are_drawn_together_by_chance_alone():
    rng = np.random.default_rng(0)
    same = rng.chisquare(20, size=200) / 20
    assert moderated(same, np.full(200, 20.0)).std() < 0.1 * same.std()
    true = 8 / rng.chisquare(8, size=200)
    found = moderated(true * same, np.full(200, 20.0))
    assert np.mean(np.log(found / true) ** 2) < 0.95 * np.mean(np.log(same) ** 2)
    with_none = moderated(np.append(true * same, 1e-30), np.full(201, 20.0), 1e-20)
    np.testing.assert_allclose(with_none[:-1], found)
    assert with_none[-1] > 0


def test_the_weights_are_those_of_generalized_least_squares():
    rng = np.random.default_rng(0)
    C, psi = rng.normal(size=(2, 5)), rng.uniform(0.1, 4.0, size=5)
    D = weighted_dual(C, psi)
    np.testing.assert_allclose(D, (C / psi).T @ np.linalg.inv((C / psi) @ C.T))
    np.testing.assert_allclose(C @ D, np.eye(2), atol=1e-12)


def test_variances_by_the_formulas_of_smyth():
    """The prior degrees of freedom make up for what chance does not explain of the logarithms."""
    rng = np.random.default_rng(1)
    s2, dof = np.exp(rng.normal(size=12) * 2), rng.uniform(4, 9, size=12)
    logs = np.log(s2) - digamma(dof / 2) + np.log(dof / 2)
    apart = logs.var(ddof=1) - polygamma(1, dof / 2).mean()
    found = moderated(s2, dof)
    # found = (prior common + dof s2) / (prior + dof): a line that tells prior and common.
    (prior, common), *_ = np.linalg.lstsq(
        np.column_stack([found, -np.ones(12)]), dof * (s2 - found), rcond=None
    )
    assert polygamma(1, prior / 2) == pytest.approx(apart)
    level = np.exp(logs.mean() + digamma(prior / 2) - np.log(prior / 2))
    assert common / prior == pytest.approx(level)


@pytest.mark.parametrize("apart", [1e-3, 0.5, 30.0])
def test_variances_that_differ_by_little_or_by_much(apart):
    """The bracket of the prior holds it wherever it lies."""
    s2 = np.exp(np.sqrt(apart) * np.array([-1.0, 1.0, -1.0, 1.0]))
    found = moderated(s2, np.full(4, 1e9))
    np.testing.assert_allclose(found, s2, rtol=1e-3)  # so many degrees of freedom need no help


def test_variances_that_say_nothing():
    few = moderated(np.array([1.0, 2.0, 9.0]), np.array([8.0, 4.0, 1.0]))
    np.testing.assert_allclose(few, np.full(3, 16.0 / 12.0))  # one degree of freedom has no vote
    more = moderated(np.array([1.0, 2.0, 3.0]), np.array([8.0, 4.0, 1.5]))
    np.testing.assert_allclose(more, np.full(3, 20.5 / 13.5))
    np.testing.assert_array_equal(moderated(np.array([1.0, 3.0]), np.ones(2)), [2.0, 2.0])
    np.testing.assert_array_equal(moderated(np.array([1.0, 3.0]), np.full(2, 9.0), 5.0), [2.0, 2.0])
    np.testing.assert_array_equal(moderated(np.array([1.0, 3.0]), np.full(2, 9.0), 1.0), [3.0, 3.0])


def test_how_many_columns_residuals_can_tell_apart():
    """Ledermann: with f = d - k directions off the plane, f (f + 1) / 2 numbers for d columns."""
    rng = np.random.default_rng(2)
    for d, k, told in ((6, 3, True), (7, 4, False), (10, 6, True), (11, 7, False)):
        E = rng.normal(size=(3000, d)) * np.linspace(1, 3, d)
        C = np.linalg.qr(rng.normal(size=(d, k)))[0].T
        found = column_noise(E - E @ C.T @ C, C, 1.0, 0.0)
        assert (np.ptp(found) > 0) == told


def test_columns_that_are_components_need_not_be_told():
    """Two of five columns are components: three directions tell the other three."""
    E = np.random.default_rng(3).normal(size=(4000, 5)) * [1.0, 1.0, 1.0, 2.0, 3.0]
    C = np.eye(5)[:2]
    found = column_noise(E - E @ C.T @ C, C, 1.0, 0.0)
    np.testing.assert_allclose(found[2:], [1.0, 4.0, 9.0], rtol=0.1)


def test_rows_of_less_than_one_degree_of_freedom_have_one_noise():
    E = np.random.default_rng(4).normal(size=(4, 6))
    C = np.eye(6)[:1]
    R = E - E @ C.T @ C
    assert column_noise(R, C, 0.2, 0.0).tolist() == pytest.approx([(R**2).sum() / 4.0] * 6)
    assert column_noise(np.zeros((4, 6)), C, 0.2, 0.0).tolist() == [0.0] * 6


@pytest.mark.parametrize("free", [0.5, 1.0])
def test_noise_variances_of_oblique_planes(free):
    """Residuals of least squares in all columns; of `free` of the degrees of freedom."""
    rng = np.random.default_rng(5)
    psi = np.linspace(0.5, 4.0, 12)
    C = np.linalg.qr(rng.normal(size=(12, 3)))[0].T
    E = rng.normal(size=(20_000, 12)) * np.sqrt(psi)
    found = column_noise(E - E @ C.T @ C, C, free, 0.0)
    np.testing.assert_allclose(free * found, psi, rtol=0.06)


@pytest.mark.parametrize("n", [40, 20_000])
def test_the_turns_end_where_the_variances_agree_with_their_residuals(n):
    """psi (1 - h) is the variance of the residuals within three deviations, drawn together."""
    rng = np.random.default_rng(6)
    C = np.linalg.qr(rng.normal(size=(8, 2)))[0].T
    E = rng.normal(size=(n, 8)) * np.linspace(1, 3, 8)
    E -= E @ C.T @ C
    psi = column_noise(E, C, 1.0, 0.0)
    D = weighted_dual(C, psi)
    left = 1 - (D * C.T).sum(axis=1)
    squares = (E - E @ D @ C) ** 2
    inside = squares <= 9 * psi * left
    share = 1 - 2 * norm.sf(3)
    variance = 1 - 2 * 3 * norm.pdf(3) / share
    count = inside.sum(axis=0)
    found = (squares * inside).sum(axis=0) / (count * variance * left)
    again = moderated(found, count / share * left)
    assert np.mean((again / psi - 1) ** 2) <= module.SETTLED**2


def test_a_column_without_residuals_ends_the_turns():
    E = np.random.default_rng(7).normal(size=(50, 8))
    C = np.eye(8)[:1]
    E[:, :2] = 0.0
    found = column_noise(E, C, 1.0, 1e-9)
    assert np.isfinite(found).all()
    assert found[3] == pytest.approx(1.0, rel=0.5)


def test_columns_that_depend_on_each_other_keep_noise():
    """Parts beside their sum: the noise of one column would go to zero, and the weights out of all bounds."""
    for seed in range(20):
        rng = np.random.default_rng([8, seed])
        parts = rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6))
        A = np.column_stack([parts, parts.sum(axis=1), 2.54 * parts[:, 0]])
        A -= A.mean(axis=0)
        C = np.linalg.svd(A, full_matrices=False)[2][:2]
        R = A - A @ C.T @ C
        noise = column_noise(R, C, 0.9, 0.0)
        assert (noise >= 0.99e-4 * (R**2).mean(axis=0)).all()
        assert np.isfinite(weighted_dual(C, noise)).all()
