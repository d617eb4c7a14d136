"""The port: every adapter, and its deflation, says what explicit arithmetic says."""

import numpy as np
import pytest

from tl1pca._arrays import namespace, to_numpy
from tl1pca.rows import DeflatedRows, DenseRows

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 6)) + 5.0
M = X.mean(axis=0)
V = rng.integers(1, 4, size=30).astype(float)
W = rng.normal(size=(6, 3))
Q = np.linalg.qr(W)[0]
C = X - M
EACH = np.arange(30)


def close(actual, expected):
    np.testing.assert_allclose(to_numpy(actual), expected, rtol=1e-10, atol=1e-11)


@pytest.fixture
def rows(adapter, monkeypatch):
    """Centred and weighted rows, in small blocks wherever an adapter has blocks."""
    monkeypatch.setattr("tl1pca.rows.array._BLOCK", 40)
    monkeypatch.setattr("tl1pca.rows.array._SCORES", 40)
    monkeypatch.setattr("tl1pca.rows.dense._BLOCK", 40)
    monkeypatch.setattr("tl1pca.rows.dense._FOLD", 40)
    monkeypatch.setattr("tl1pca.rows.sources.BLOCK_BYTES", 7 * 6 * 8)
    monkeypatch.setattr("tl1pca.rows.sparse._BLOCK", 40)
    monkeypatch.setattr("tl1pca.rows.sparse._FOLD", 7)
    rows = adapter(X, V)
    return rows.shifted(rows.put(M))


def test_products(rows):
    assert rows.shape == (30, 6)
    assert rows.dtype == np.float64
    T = rows.project(rows.put(W))
    close(rows.pick(T, EACH), C @ W)
    close(rows.pick(rows.project(rows.put(W[:, 0])), EACH), C @ W[:, 0])
    close(rows.pullback(T), C.T @ (V[:, None] * (C @ W)))
    close(rows.pullback(rows.project(rows.put(W[:, 0]))), C.T @ (V * (C @ W[:, 0])))
    close(rows.gram(), C.T @ (V[:, None] * C))
    r = rows.norms()
    close(rows.pick(r, EACH), np.linalg.norm(C, axis=1))
    close(rows.gram(r), C.T @ ((V * np.linalg.norm(C, axis=1))[:, None] * C))
    close(rows.mean(), V @ C / V.sum())
    assert rows.mass == V.sum()


def test_one_pass_verbs(rows):
    def look(T, r):
        return namespace(T).sign(T) * abs(T) ** 0.5, abs(T), r

    T, r = C @ W, np.linalg.norm(C, axis=1)
    (values, lengths), G = rows.fold(look, rows.put(W), rows.norms())
    close(values, V @ np.abs(T))
    close(lengths, V @ r)
    close(G, C.T @ (V[:, None] * np.sign(T) * np.abs(T) ** 0.5))
    scores, distances = rows.split(rows.put(Q))
    close(rows.pick(scores, EACH), C @ Q)
    close(rows.pick(distances, EACH), np.linalg.norm(C - C @ Q @ Q.T, axis=1))


def test_handles(rows):
    T = C @ W
    Z = rows.project(rows.put(W))
    close(rows.total(abs, Z), V @ np.abs(T))
    close(rows.total(abs, rows.norms()), V @ np.linalg.norm(C, axis=1))
    close(rows.pick(rows.map(lambda a, b: a * b, Z, Z), EACH), T * T)
    close(rows.inner(Z, Z), T.T @ (V[:, None] * T))
    assert rows.largest(rows.norms()) == pytest.approx(np.linalg.norm(C, axis=1).max())
    close(rows.pick(Z, np.array([4, 17])), T[[4, 17]])
    close(rows.pick(rows.weights, EACH), V)


def test_rows_themselves(rows):
    index = np.array([3, 5, 28])
    close(rows.take(index), C[index])
    few = rows.sample(index)
    close(few.pick(few.project(few.put(W)), np.arange(3)), (C @ W)[index])
    assert few.mass == V[index].sum()
    close(rows.shifted(rows.put(M)).take(index), C[index] - M)
    close(rows.scaled(4.0).take(index), 4.0 * C[index])
    assert rows.extent() >= np.abs(C).max()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_extent_tells_what_is_not_finite(adapter, bad):
    data = X.copy()
    data[11, 2] = bad
    assert not np.isfinite(adapter(data, None).extent())


def test_deflation_along_directions_that_are_not_orthogonal(adapter):
    directions = W[:, :2] / np.linalg.norm(W[:, :2], axis=0)
    A = C.copy()
    for w in directions.T:
        A = A - np.outer(A @ w, w)
    whole = adapter(X, V)
    whole = whole.shifted(whole.put(M))
    rows = DeflatedRows(whole, whole.put(directions))
    T = rows.project(rows.put(W))
    close(rows.pick(T, EACH), A @ W)
    close(rows.pullback(T), A.T @ (V[:, None] * (A @ W)))
    close(rows.gram(), A.T @ (V[:, None] * A))
    close(rows.norms(), np.linalg.norm(A, axis=1))
    close(rows.sample(np.arange(4)).take(np.arange(4)), A[:4])
    orthogonal = DeflatedRows(whole, whole.put(Q[:, :2]))
    close(rows.pick(orthogonal.norms(), EACH), np.linalg.norm(C - C @ Q[:, :2] @ Q[:, :2].T, axis=1))


@pytest.mark.parametrize("implicit", [False, True])
def test_dense_rows_centre_with_or_without_a_copy(monkeypatch, implicit):
    monkeypatch.setattr("tl1pca.rows.dense._COPY_BELOW", 0 if implicit else 1 << 20)
    rows = DenseRows(X, M, V)
    assert (rows._mean is not None) == implicit
    close(rows.project(W), C @ W)
    close(rows.gram(), C.T @ (V[:, None] * C))


@pytest.mark.parametrize("narrow", [0, 500])
def test_scatter_with_threads_of_either_kind(monkeypatch, narrow):
    monkeypatch.setattr("tl1pca.rows.dense._NARROW", narrow)
    monkeypatch.setattr("tl1pca.rows.dense._THREADS_ABOVE", 0)
    A = rng.normal(size=(3000, 70))
    center = A.mean(axis=0) + 1.0
    np.testing.assert_allclose(
        DenseRows(A, center).gram(), (A - center).T @ (A - center), rtol=1e-10, atol=1e-8
    )


def test_compact_spans_the_same_space():
    wide = rng.normal(size=(5, 12))
    rows, lift = DenseRows(wide).compact()
    assert rows.shape == (5, 5)
    np.testing.assert_allclose(lift(rows.take(np.arange(5)).T).T, wide, atol=1e-12)
    basis = lift(np.eye(5))
    np.testing.assert_allclose(basis.T @ basis, np.eye(5), atol=1e-14)
    np.testing.assert_allclose(lift(np.ones(5)), basis @ np.ones(5), atol=1e-14)


def test_large_sums_of_single_precision_are_accumulated_in_double():
    big = DenseRows(np.ones((300_000, 1), dtype=np.float32))
    t = np.full(300_000, 0.1, dtype=np.float32)
    assert big.total(np.abs, t) == pytest.approx(300_000 * float(np.float32(0.1)), rel=1e-12)
