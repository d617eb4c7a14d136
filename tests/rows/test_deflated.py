"""Deflated rows: explicit arithmetic on every adapter, the data untouched."""

import numpy as np

from tl1pca._arrays import to_numpy
from tl1pca.rows import DeflatedRows

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 6)) + 5.0
M = X.mean(axis=0)
V = rng.integers(1, 4, size=30).astype(float)
W = rng.normal(size=(6, 3))
Q = np.linalg.qr(W)[0]
C = X - M
EACH = np.arange(30)


def close(actual, expected):
    np.testing.assert_allclose(to_numpy(actual), expected, rtol=1e-10, atol=1e-10)


def test_along_directions_that_are_not_orthogonal(adapter):
    directions = W[:, :2] / np.linalg.norm(W[:, :2], axis=0)
    A = C.copy()
    for w in directions.T:
        A = A - np.outer(A @ w, w)
    whole = adapter(X, V)
    whole = whole.shifted(whole.asarray(M))
    rows = DeflatedRows(whole, whole.asarray(directions))
    T = rows.project(rows.asarray(W))
    close(rows.gather_scores(T, EACH), A @ W)
    close(rows.pullback(T), A.T @ (V[:, None] * (A @ W)))
    close(rows.gram(), A.T @ (V[:, None] * A))
    close(rows.gather_scores(rows.norms(), EACH), np.linalg.norm(A, axis=1))
    scores, distances = rows.scores_and_distances(rows.asarray(Q))
    close(rows.gather_scores(scores, EACH), A @ Q)
    close(rows.gather_scores(distances, EACH), np.linalg.norm(A - A @ Q @ Q.T, axis=1))
    close(rows.mean(), V @ A / V.sum())
    close(rows.subset(np.arange(4)).gather_rows(np.arange(4)), A[:4])
    orthogonal = DeflatedRows(whole, whole.asarray(Q[:, :2]))
    close(rows.gather_scores(orthogonal.norms(), EACH), np.linalg.norm(C - C @ Q[:, :2] @ Q[:, :2].T, axis=1))


def test_one_after_the_other_is_all_at_once(adapter):
    directions = W[:, :2] / np.linalg.norm(W[:, :2], axis=0)
    whole = adapter(X, V)
    step = whole.asarray(directions[:, :1]), whole.asarray(directions[:, 1:])
    rows = whole.deflated(step[0]).deflated(step[1])
    close(rows.array(), DeflatedRows(whole, whole.asarray(directions)).array())
    close(rows.scaled(2.0).gather_rows(EACH[:3]), 2.0 * rows.gather_rows(EACH[:3]))
