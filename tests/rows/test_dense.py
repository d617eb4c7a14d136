"""The port: a dense adapter and its deflation say what explicit arithmetic says."""

import numpy as np
import pytest

from tl1pca.rows import DeflatedRows, DenseRows

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 6)) + 5.0
M = X.mean(axis=0)
V = rng.integers(1, 4, size=30).astype(float)
W = rng.normal(size=(6, 3))
Z = rng.normal(size=(30, 3))
C = X - M


def _explicit(monkeypatch, implicit):
    if implicit:
        monkeypatch.setattr("tl1pca.rows.dense._COPY_BELOW", 0)
        monkeypatch.setattr("tl1pca.rows.dense._BLOCK", 40)
    return DenseRows(X, M, V)


@pytest.mark.parametrize("implicit", [False, True])
def test_dense_rows(monkeypatch, implicit):
    rows = _explicit(monkeypatch, implicit)
    weights = rng.uniform(size=30)
    np.testing.assert_allclose(rows.project(W), C @ W)
    np.testing.assert_allclose(rows.project(W[:, 0]), C @ W[:, 0])
    np.testing.assert_allclose(rows.pullback(Z), C.T @ (V[:, None] * Z))
    np.testing.assert_allclose(rows.pullback(Z[:, 0]), C.T @ (V * Z[:, 0]))
    np.testing.assert_allclose(rows.gram(), C.T @ (V[:, None] * C))
    np.testing.assert_allclose(rows.gram(weights), C.T @ ((V * weights)[:, None] * C))
    np.testing.assert_allclose(rows.norms(), np.linalg.norm(C, axis=1))
    np.testing.assert_allclose(rows.take(np.array([3, 5])), C[[3, 5]])
    np.testing.assert_allclose(rows.sample(np.array([3, 5])).project(W), (C @ W)[[3, 5]])
    np.testing.assert_allclose(rows.total(np.abs, Z), V @ np.abs(Z))
    np.testing.assert_allclose(rows.map(lambda a, b: a * b, Z, Z), Z * Z)
    assert rows.mass == V.sum()


def test_compact_spans_the_same_space():
    wide = rng.normal(size=(5, 12))
    rows, basis = DenseRows(wide).compact()
    assert rows.shape == (5, 5)
    np.testing.assert_allclose(rows.take(np.arange(5)) @ basis.T, wide, atol=1e-12)
    np.testing.assert_allclose(basis.T @ basis, np.eye(5), atol=1e-14)


def test_deflation_along_directions_that_are_not_orthogonal():
    directions = W[:, :2] / np.linalg.norm(W[:, :2], axis=0)
    A = C.copy()
    for w in directions.T:
        A = A - np.outer(A @ w, w)
    rows = DeflatedRows(DenseRows(X, M, V), directions)
    np.testing.assert_allclose(rows.project(W), A @ W, atol=1e-12)
    np.testing.assert_allclose(rows.pullback(Z), A.T @ (V[:, None] * Z), atol=1e-11)
    np.testing.assert_allclose(rows.gram(), A.T @ (V[:, None] * A), atol=1e-10)
    np.testing.assert_allclose(rows.norms(), np.linalg.norm(A, axis=1), atol=1e-12)
    np.testing.assert_allclose(rows.sample(np.arange(4)).take(np.arange(4)), A[:4], atol=1e-12)


def test_large_sums_of_single_precision_are_accumulated_in_double():
    big = DenseRows(np.ones((300_000, 1), dtype=np.float32))
    t = np.full(300_000, 0.1, dtype=np.float32)
    assert big.total(np.abs, t) == pytest.approx(300_000 * float(np.float32(0.1)), rel=1e-12)
