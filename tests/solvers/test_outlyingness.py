"""Outlyingness over many directions: what does not depend on order, place and units."""

import numpy as np

from support import gaussian
from tl1pca.rows import DenseRows
from tl1pca.solvers import outlyingness as module

X = gaussian(80, 4, seed=5)


def test_the_order_is_that_of_the_data():
    order = module.canonical_order(DenseRows(X))
    shuffle = np.random.default_rng(0).permutation(80)
    again = module.canonical_order(DenseRows(X[shuffle]))
    np.testing.assert_array_equal(X[order], X[shuffle][again])
    assert sorted(order.tolist()) == list(range(80))


def test_directions_are_unit_and_join_rows():
    W = module.pair_directions(X, 30)
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0)
    differences = X[:, None] - X[None]
    length = np.linalg.norm(differences, axis=2)
    between = differences[length > 0] / length[length > 0][:, None]
    assert np.abs(W @ between.T).max(axis=1).min() > 1 - 1e-12


def test_the_least_outlying_rows_leave_out_a_far_cluster():
    Z = X.copy()
    Z[:24] = [40.0, -30.0, 20.0, 0.0] + 0.01 * X[:24]
    good = module.least_outlying(Z, 45, 250, 1e-9)
    chosen = np.flatnonzero(good) if good.dtype == bool else good
    assert len(chosen) >= 45
    assert chosen.min() >= 24


def test_a_gap_separates():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(2, 400))  # a row for each direction
    assert not module.separated_rows(T, 220).any()
    T[0, :80] += 60.0
    found = module.separated_rows(T, 220)
    assert found[:80].all()
    assert found[80:].mean() < 0.05  # the ends of the tail at most
    assert (~module.separated_rows(T, 350)).sum() >= 350  # so many must be left


def test_counts_below():
    S = np.sort(np.random.default_rng(0).integers(0, 9, size=(3, 40)).astype(float), axis=1)
    x = np.array([3.0, 0.0, 8.0])
    np.testing.assert_array_equal(module._count_below(S, x), [(s < v).sum() for s, v in zip(S, x)])


def test_a_grown_half_has_the_mean_and_deviation_of_what_it_holds():
    rng = np.random.default_rng(1)
    T = rng.normal(3.0, 2.0, size=(4, 2000))
    location, scale = module.grown_halves(T, 1100, 1e-9)
    np.testing.assert_allclose(location, 3.0, atol=0.2)
    np.testing.assert_allclose(scale, 2.0, rtol=0.12)
    flat = np.concatenate([np.ones((1, 30)), rng.normal(size=(1, 10))], axis=1)
    location, scale = module.grown_halves(flat, 25, 1e-9)
    assert location[0] == 1.0
    assert scale[0] == 0.0
    order = module.outlyingness_order(flat, 25, 1e-9)
    assert set(order[:30].tolist()) == set(range(30))


def test_repeated_rows_are_no_pairs_and_rounding_is_no_gap():
    """Rows that are the same but for rounding, as in coordinates of their span, point nowhere."""
    rng = np.random.default_rng(0)
    Z = np.vstack([np.tile(X[0], (30, 1)), X[:20]]) + 1e-15 * rng.normal(size=(50, 4))
    assert len(module.pair_directions(Z, 10_000, 1e-9)) == 50 * 49 // 2 - 31 * 30 // 2
    T = np.array([[0.0] * 25 + [1e-17] * 5 + [1e-13] * 20])
    assert module.separated_rows(T, 26).any()
    assert not module.separated_rows(T, 26, 1e-9).any()
