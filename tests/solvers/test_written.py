"""Rows that lie off an exact plane by the rounding of what was written are no outliers."""

import numpy as np
import pytest

from tl1pca import TL1SubspacePCA
from tl1pca.solvers.written import steps, written_length


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
