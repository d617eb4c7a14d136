"""Sparse rows: nothing is filled in that is large, and no digits are lost by centring."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from tl1pca.rows import SparseRows

rng = np.random.default_rng(0)
X = np.where(rng.random((200, 50)) < 0.04, rng.normal(size=(200, 50)) + 1.0, 0.0)
V = rng.integers(1, 4, size=200).astype(float)


@pytest.mark.parametrize("weights", [None, V])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scatter_of_centered_sparse_rows(monkeypatch, weights, dtype):
    monkeypatch.setattr("tl1pca.rows.sparse._FILLED_ENTRIES", 7 * 50)
    rows = SparseRows(sp.csr_array(X.astype(dtype)), weights=weights)
    mean = rows.mean()
    v = np.ones(200) if weights is None else weights
    C, r = X - v @ X / v.sum(), rng.random(200)
    tol = 1e-12 if dtype is np.float64 else 1e-5
    np.testing.assert_allclose(mean, v @ X / v.sum(), atol=tol)
    np.testing.assert_allclose(rows.shifted(mean).gram(), C.T @ (v[:, None] * C), atol=100 * tol)
    np.testing.assert_allclose(rows.shifted(mean).gram(r), C.T @ ((v * r)[:, None] * C), atol=100 * tol)


def test_distances_of_rows_in_the_span_keep_their_digits():
    m = rng.normal(size=50)
    data = np.vstack([X, m, m + 1e-9, np.zeros(50)])
    Q = np.linalg.qr(np.column_stack([data[3] - m, data[7] - m, rng.normal(size=50)]))[0]
    rows = SparseRows(sp.csr_array(data), m)
    C = data - m
    T, r = rows.scores_and_distances(Q)
    np.testing.assert_allclose(T, C @ Q, atol=1e-12)
    np.testing.assert_allclose(r, np.linalg.norm(C - C @ Q @ Q.T, axis=1), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(rows.norms(), np.linalg.norm(C, axis=1), rtol=1e-10, atol=1e-14)
    # The difference of squares alone would say zero or nonsense of the row next to the mean.
    assert rows.norms()[201] == pytest.approx(1e-9 * np.sqrt(50), rel=1e-6)


def test_single_precision_distances():
    single = X.astype(np.float32)
    m = single.mean(axis=0)
    exact = np.linalg.norm(single.astype(np.float64) - m, axis=1)
    norms = SparseRows(sp.csr_array(single), m).norms()
    assert norms.dtype == np.float32
    np.testing.assert_allclose(norms, exact, rtol=1e-6)


def test_entries_given_twice_are_sums_and_x_is_not_changed():
    twice = sp.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    np.testing.assert_array_equal(SparseRows(twice).norms(), [3.0, 4.0])
    assert SparseRows(twice).max_abs() == 4.0
    assert twice.nnz == 3


def test_nothing_large_is_filled_in():
    """Two gigabytes if it were dense."""
    rng, shape = np.random.default_rng(0), (20_000, 12_000)
    where = tuple(rng.integers(0, side, size=120_000) for side in shape)
    big = sp.coo_array((rng.uniform(size=120_000), where), shape=shape).tocsr()
    W = np.linalg.qr(np.random.default_rng(1).normal(size=(12_000, 3)))[0]
    tracemalloc.start()
    rows = SparseRows(big)
    rows = rows.shifted(rows.mean())
    rows.map_reduce(lambda T: (np.sign(T), abs(T)), W)
    T, r = rows.scores_and_distances(W)
    rows.pullback(T)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
    few = np.arange(50)
    np.testing.assert_allclose(
        rows.gather_scores(r, few) ** 2 + (T[few] ** 2).sum(axis=1), rows.norms()[few] ** 2
    )


def test_a_scatter_matrix_that_is_too_large():
    with pytest.raises(ValueError, match="at most 20000 features"):
        SparseRows(sp.csr_array((30_000, 25_000))).gram()
