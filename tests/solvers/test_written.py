"""Rows off an exact plane by the rounding of what was written, or by their category, are no outliers."""

import numpy as np
import pytest

from tl1pca import TL1SubspacePCA
from tl1pca.solvers.written import deciding_categories, steps, written_length


def shares(n=120, p=5, decimals=1, seed=0):
    return np.round(100 * np.random.default_rng(seed).dirichlet(np.full(p, 3.0), size=n), decimals)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("p", "decimals"), [(3, 0), (4, 1), (5, 2), (6, 1)])
def test_rounded_shares_of_a_whole(p, decimals, seed):
    X = shares(p=p, decimals=decimals, seed=seed)
    off = np.abs(X.sum(axis=1) - 100) > 1e-6
    assert off.mean() > 0.15  # as rounding leaves it
    spread = np.random.default_rng(1).uniform(0.5, 2.0, size=p)  # in other units as well
    for A in (X, X * spread + 7.0):
        found = TL1SubspacePCA(p - 1).fit(A).flags_ > 0
        assert found.mean() < 0.07
    X[:6, 0] += 9.0
    assert (TL1SubspacePCA(p - 1).fit(X).flags_[:6] > 1).all()


def test_a_few_rows_off_by_one_step_are_slips():
    rng = np.random.default_rng(3)
    counts = rng.poisson(30, size=(150, 4)).astype(float)
    X = np.column_stack([counts, counts.sum(axis=1)])
    X[:5, 4] += rng.choice([-1.0, 1.0], size=5)
    flagged = TL1SubspacePCA(4).fit(X).flags_ > 1
    assert flagged[:5].all()
    assert flagged[5:].mean() < 0.03
    X[:30, 4] = X[:30, :4].sum(axis=1) + 1  # many that are off on one side are none of rounding either
    assert (TL1SubspacePCA(4).fit(X).flags_[:30] > 1).all()


def test_without_steps_the_plane_is_exact():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 3))
    X = np.column_stack([X, X.sum(axis=1)])
    X[:20, 3] += rng.normal(scale=1e-3, size=20)
    assert (TL1SubspacePCA(3).fit(X).flags_[:20] > 1).all()


def test_steps():
    rng = np.random.default_rng(5)
    k = rng.integers(0, 5000, size=60)
    X = np.column_stack(
        [0.01 * k, 7.3 * (k % 11) - 2.0, k / 3.0 + 1e6, rng.normal(size=60), k % 9, np.ones(60)]
    )
    np.testing.assert_allclose(steps(X), [0.01, 7.3, 1 / 3, 0, 0, 0], rtol=1e-6)


def test_the_length_is_that_of_rounding():
    X = shares(4000, 4, 1)
    W = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:3].T
    A = X - np.full(4, 25.0)
    far = np.abs(A.sum(axis=1)) / 2.0
    length = written_length(X, np.full(4, 25.0), np.linalg.qr(W)[0], far, 1e-9)
    assert length == pytest.approx(2.576 * 0.1 / np.sqrt(12.0), rel=0.01)
    assert (far <= length).mean() > 0.97
    assert written_length(X, np.full(4, 25.0), W, far + 1.0, 1e-9) == 1e-9  # most rows are off


def categories(seed, q=4, n=150):
    """A variable of q categories, a column for each, beside three amounts."""
    rng = np.random.default_rng(seed)
    return np.hstack([np.eye(q)[rng.integers(q, size=n)], rng.normal(size=(n, 3))])


@pytest.mark.parametrize("k", [2, 4, 6])
@pytest.mark.parametrize("seed", [5000, 5002, 5003, 5004])
def test_columns_of_categories_set_no_category_apart(seed, k):
    """Two of the four hold most rows, which lie in a plane of these columns then."""
    X = categories(seed)
    assert (TL1SubspacePCA(k).fit(X).flags_ > 0).mean() < 0.13  # nearly half of them before


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5, 6])
def test_categories_beside_amounts_that_go_together(seed):
    """Nothing is exact here, and three of five categories were most rows; the bad rows are found."""
    rng = np.random.default_rng(seed)
    t = rng.normal(size=(150, 1))
    amounts = t @ [[2.0, 1.0, 1.0]] + 0.2 * rng.normal(size=(150, 3))
    amounts[:15, 0] -= 12.0 * np.sign(t[:15, 0])
    flags = TL1SubspacePCA(2).fit(np.hstack([np.eye(5)[rng.integers(5, size=150)], amounts])).flags_ > 0
    assert flags[:15].all()
    assert flags[15:].mean() < 0.05


def test_what_categories_decide():
    X, W = categories(5000), np.eye(7)[:, 4:]
    center = np.r_[X[0, :4], 0, 0, 0]  # the plane of one category
    off = (X[:, :4] != X[0, :4]).any(axis=1)
    np.testing.assert_array_equal(deciding_categories(X, center, W, off, False), [True] * 4 + [False] * 3)
    few = off & (np.cumsum(off) <= 5)  # a few rows in two categories or in none are bad ones
    assert not deciding_categories(X, center, W, few, True).any()
    half = off & (np.arange(len(X)) % 2 == 0)  # no category is off as a whole
    assert not deciding_categories(X, center, W, half, False).any()
    assert deciding_categories(X, center, W, half, True).any()
    assert not deciding_categories(X[:, :5], center[:5], W[:5], off, False).any()  # one column cannot judge
    far = X + np.r_[0, 0, 0, 0, 9.0, 0, 0] * off[:, None]  # other columns tell them apart as well
    assert not deciding_categories(far, center, np.eye(7)[:, 5:], off, False).any()
