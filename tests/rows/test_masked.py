"""Rows with missing entries: sums over what is observed, scores of least squares."""

import numpy as np
import pytest

from tl1pca._arrays import to_numpy
from tl1pca.rows import ArrayRows, DenseRows, mask_missing
from tl1pca.rows.masked import MaskedRows, weighted_least_squares

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 6)) + 3.0
SEEN = rng.random(X.shape) > 0.3
SEEN[0], SEEN[1, 1:] = False, False
X = np.where(SEEN, X, np.nan)
V = rng.integers(1, 4, size=20).astype(float)
M = np.nanmean(X, axis=0)
C = np.where(SEEN, X - M, 0.0)
W = np.linalg.qr(rng.normal(size=(6, 2)))[0]


@pytest.fixture
def rows():
    return MaskedRows(X, V).shifted(M)


def test_products_are_sums_over_what_is_observed(rows):
    np.testing.assert_array_equal(rows.observed, SEEN)
    np.testing.assert_allclose(rows.project(W), C @ W, atol=1e-13)
    np.testing.assert_allclose(rows.pullback(C @ W), C.T @ (V[:, None] * (C @ W)), atol=1e-12)
    np.testing.assert_allclose(rows.gram(), C.T @ (V[:, None] * C), atol=1e-12)
    np.testing.assert_allclose(rows.array(), C, atol=1e-13)


def test_the_mean_is_that_of_the_observed_entries(rows):
    sums, mass = V @ np.nan_to_num(X), V @ SEEN
    np.testing.assert_allclose(MaskedRows(X, V).mean(), sums / mass)
    np.testing.assert_allclose(rows.mean(), sums / mass - M, atol=1e-13)


def test_scores_are_least_squares_and_distances_those_of_observed_entries(rows):
    T, r = rows.scores_and_distances(W)
    assert not T[0].any()
    assert r[0] == 0.0
    for x, seen, t, distance in zip(C, SEEN, T, r):
        if seen.any():
            np.testing.assert_allclose(t, np.linalg.lstsq(W[seen], x[seen], rcond=None)[0], atol=1e-10)
        assert distance == pytest.approx(np.linalg.norm((x - W @ t)[seen]), abs=1e-12)


def test_units_and_samples_keep_the_mask(rows):
    few = rows.scaled(4.0).subset(np.array([3, 1]))
    np.testing.assert_array_equal(few.observed, SEEN[[3, 1]])
    np.testing.assert_allclose(few.array(), 4 * C[[3, 1]])
    np.testing.assert_array_equal(few.weights, V[[3, 1]])


def test_weights_of_entries():
    full, weights, basis = rng.normal(size=(5, 6)), rng.random((5, 6)), rng.normal(size=(6, 3))
    for x, v, t in zip(full, weights, weighted_least_squares(full, basis, weights)):
        root = np.sqrt(v)
        np.testing.assert_allclose(t, np.linalg.lstsq(root[:, None] * basis, root * x, rcond=None)[0])


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_complete_rows_stay_as_they_are_and_others_answer_in_kind(library):
    xp = pytest.importorskip(library)
    complete = DenseRows(C)
    assert mask_missing(complete) is complete
    rows = mask_missing(ArrayRows(xp.asarray(X)))
    assert rows.observed is not None
    answer = rows.shifted(M).to_user(rows.project(W))
    assert type(answer) is type(xp.asarray(X))
    np.testing.assert_allclose(to_numpy(answer), np.nan_to_num(X) @ W)
