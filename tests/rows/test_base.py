"""The port: every adapter, and its deflation, says what explicit arithmetic says."""

import numpy as np
import pytest

from tl1pca._arrays import namespace, to_numpy

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
    """Centered and weighted rows, in small blocks wherever an adapter has blocks."""
    monkeypatch.setattr("tl1pca.rows.array._BLOCK_ENTRIES", (40, 40))
    monkeypatch.setattr("tl1pca.rows.array._SCORES_ENTRIES", 40)
    monkeypatch.setattr("tl1pca.rows.dense._BLOCK_ENTRIES", 40)
    monkeypatch.setattr("tl1pca.rows.dense._CACHED_BYTES", 40)
    monkeypatch.setattr("tl1pca.rows.sources.BLOCK_BYTES", 7 * 6 * 8)
    monkeypatch.setattr("tl1pca.rows.sparse._FILLED_ENTRIES", 40)
    monkeypatch.setattr("tl1pca.rows.sparse._BLOCK_ROWS", 7)
    rows = adapter(X, V)
    return rows.shifted(rows.asarray(M))


def test_products(rows):
    assert rows.shape == (30, 6)
    assert rows.dtype == np.float64
    T = rows.project(rows.asarray(W))
    close(rows.gather_scores(T, EACH), C @ W)
    close(rows.gather_scores(rows.project(rows.asarray(W[:, 0])), EACH), C @ W[:, 0])
    close(rows.pullback(T), C.T @ (V[:, None] * (C @ W)))
    close(rows.pullback(rows.project(rows.asarray(W[:, 0]))), C.T @ (V * (C @ W[:, 0])))
    close(rows.gram(), C.T @ (V[:, None] * C))
    r = rows.norms()
    close(rows.gather_scores(r, EACH), np.linalg.norm(C, axis=1))
    close(rows.gram(r), C.T @ ((V * np.linalg.norm(C, axis=1))[:, None] * C))
    close(rows.mean(), V @ C / V.sum())
    assert rows.mass == V.sum()


def test_one_pass_verbs(rows):
    def look(T, r):
        return namespace(T).sign(T) * abs(T) ** 0.5, abs(T), r

    T, r = C @ W, np.linalg.norm(C, axis=1)
    (values, lengths), G = rows.map_reduce(look, rows.asarray(W), rows.norms())
    close(values, V @ np.abs(T))
    close(lengths, V @ r)
    close(G, C.T @ (V[:, None] * np.sign(T) * np.abs(T) ** 0.5))
    scores, distances = rows.scores_and_distances(rows.asarray(Q))
    close(rows.gather_scores(scores, EACH), C @ Q)
    close(rows.gather_scores(distances, EACH), np.linalg.norm(C - C @ Q @ Q.T, axis=1))


def test_handles(rows):
    T = C @ W
    Z = rows.project(rows.asarray(W))
    close(rows.total(abs, Z), V @ np.abs(T))
    close(rows.total(abs, rows.norms()), V @ np.linalg.norm(C, axis=1))
    close(rows.gather_scores(rows.map(lambda a, b: a * b, Z, Z), EACH), T * T)
    close(rows.inner(Z, Z), T.T @ (V[:, None] * T))
    assert rows.largest(rows.norms()) == pytest.approx(np.linalg.norm(C, axis=1).max())
    close(rows.gather_scores(Z, np.array([4, 17])), T[[4, 17]])
    close(rows.gather_scores(rows.weights, EACH), V)


def test_rows_themselves(rows):
    index = np.array([3, 5, 28])
    close(rows.gather_rows(index), C[index])
    few = rows.subset(index)
    close(few.gather_scores(few.project(few.asarray(W)), np.arange(3)), (C @ W)[index])
    assert few.mass == V[index].sum()
    close(rows.shifted(rows.asarray(M)).gather_rows(index), C[index] - M)
    close(rows.scaled(4.0).gather_rows(index), 4.0 * C[index])
    assert rows.max_abs() >= np.abs(C).max() * (1 - 1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_extent_tells_what_is_not_finite(adapter, bad):
    data = X.copy()
    data[11, 2] = bad
    assert not np.isfinite(adapter(data, None).max_abs())
