"""Dense rows: centered with or without a copy, threads of either kind, the row space."""

import numpy as np
import pytest

from tl1pca.rows import DenseRows

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 6)) + 5.0
M = X.mean(axis=0)
V = rng.integers(1, 4, size=30).astype(float)
W = rng.normal(size=(6, 3))
C = X - M


@pytest.mark.parametrize("implicit", [False, True])
def test_dense_rows_center_with_or_without_a_copy(monkeypatch, implicit):
    monkeypatch.setattr("tl1pca.rows.dense._COPIED_ENTRIES", 0 if implicit else 1 << 20)
    rows = DenseRows(X, M, V)
    assert (rows._mean is not None) == implicit
    np.testing.assert_allclose(rows.project(W), C @ W, atol=1e-11)
    np.testing.assert_allclose(rows.gram(), C.T @ (V[:, None] * C), atol=1e-10)


@pytest.mark.parametrize("narrow", [0, 500])
def test_scatter_with_threads_of_either_kind(monkeypatch, narrow):
    monkeypatch.setattr("tl1pca.rows.dense.NARROW_COLUMNS", narrow)
    monkeypatch.setattr("tl1pca.rows.dense.THREADED_ENTRIES", 1)
    A = rng.normal(size=(3000, 70))
    center = A.mean(axis=0) + 1.0
    np.testing.assert_allclose(
        DenseRows(A, center).gram(), (A - center).T @ (A - center), rtol=1e-10, atol=1e-8
    )


@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-9), ("float32", 1e-3)])
@pytest.mark.parametrize("tilt", [0.0, 1e-3])
def test_distances_keep_their_digits_near_the_plane(dtype, rtol, tilt):
    """From far off down to where the data are rounded, for columns that are not quite orthonormal too."""
    Q, wide = np.linalg.qr(rng.normal(size=(40, 40)))[0], 60
    axes = (Q[:, :4] + tilt * Q[:, 4:8]).astype(dtype)
    off = np.geomspace(1.0, 0.1 / rtol * float(np.finfo(dtype).eps), wide)
    A = 100.0 * rng.normal(size=(wide, 4)) @ Q[:, :4].T + 300.0 * off[:, None] * Q[:, 9]
    A = A.astype(dtype)
    exact = A.astype(np.longdouble) - (A.astype(np.longdouble) @ axes) @ axes.T.astype(np.longdouble)
    T, r = DenseRows(A).scores_and_distances(axes)
    np.testing.assert_allclose(r, np.sqrt((exact**2).sum(axis=1)).astype(float), rtol=rtol)
    np.testing.assert_allclose(T, A @ axes, rtol=1e-5)
    assert r.dtype == dtype


def test_the_row_space_spans_the_same():
    wide = rng.normal(size=(5, 12))
    rows, lift = DenseRows(wide).to_row_space()
    assert rows.shape == (5, 5)
    np.testing.assert_allclose(lift(rows.gather_rows(np.arange(5)).T).T, wide, atol=1e-12)
    basis = lift(np.eye(5))
    np.testing.assert_allclose(basis.T @ basis, np.eye(5), atol=1e-14)
    np.testing.assert_allclose(lift(np.ones(5)), basis @ np.ones(5), atol=1e-14)


def test_large_sums_of_single_precision_are_accumulated_in_double():
    big = DenseRows(np.ones((300_000, 1), dtype=np.float32))
    t = np.full(300_000, 0.1, dtype=np.float32)
    assert big.total(np.abs, t) == pytest.approx(300_000 * float(np.float32(0.1)), rel=1e-12)


def test_a_few_rows_are_deflated_at_once_and_many_when_asked(monkeypatch):
    w = W[:, :1] / np.linalg.norm(W[:, :1])
    left = DenseRows(X, M).deflated(w)
    assert left.in_memory
    np.testing.assert_allclose(left.array(), C - C @ w @ w.T, atol=1e-12)
    monkeypatch.setattr("tl1pca.rows.dense.MANY_ROWS", 10)
    many = DenseRows(X, M).deflated(w)
    assert not many.in_memory
    np.testing.assert_allclose(many.array(), left.array(), atol=1e-12)


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("columns", [(), (1,), (3,)])
def test_slopes_are_pulled_back_alike_by_few_and_by_many_threads(monkeypatch, threads, columns):
    """Among many threads one column goes another way, in longer blocks."""
    monkeypatch.setattr("tl1pca.rows.dense.THREADED_ENTRIES", 1)
    monkeypatch.setattr("tl1pca.rows.dense._allowed", lambda: threads)
    A = np.random.default_rng(1).normal(size=(300_000, 7))
    rows = DenseRows(A)
    assert len(rows._blocks()) > 1
    Z = np.random.default_rng(2).normal(size=(300_000, *columns))
    np.testing.assert_allclose(rows.pullback(Z), A.T @ Z, rtol=1e-10, atol=1e-10)
    assert rows.pullback(Z).shape == (7, *columns)


def test_blocks_are_longer_among_many_threads(monkeypatch):
    monkeypatch.setattr("tl1pca.rows.dense.THREADED_ENTRIES", 1)
    blocks = {}
    for threads in (2, 8):
        monkeypatch.setattr("tl1pca.rows.dense._allowed", lambda threads=threads: threads)
        blocks[threads] = DenseRows(np.zeros((400_000, 7)))._blocks()[0].stop
    assert blocks[8] == 8 * blocks[2]
