"""Rows in a span: distances are those of the rows themselves."""

import numpy as np
import pytest

from support import gaussian
from tl1pca.rows import DenseRows, SpannedRows

X = gaussian(50, 12, seed=3)
AXES = np.linalg.qr(gaussian(12, 4, seed=4))[0]
W = np.linalg.qr(gaussian(4, 2, seed=5))[0]
CENTER = np.array([0.5, -1.0, 2.0, 0.3])


@pytest.fixture(params=["copied", "implicit"])
def rows(request, monkeypatch):
    """Rows whose center is subtracted at once, or from products, as that of large ones is."""
    if request.param == "implicit":
        monkeypatch.setattr("tl1pca.rows.dense._COPIED_ENTRIES", 0)
    T, outside = DenseRows(X).scores_and_distances(AXES)
    return SpannedRows(T, outside, 12)


def expected(A, factor=1.0):
    return DenseRows(factor * (A - AXES @ CENTER)).scores_and_distances(AXES @ W)


@pytest.mark.parametrize("index", [np.arange(50), np.array([3, 7, 7, 0])])
def test_scores_and_distances(rows, index):
    for found, exact in zip(
        rows.subset(index).shifted(CENTER).scores_and_distances(W), expected(X[index]), strict=True
    ):
        np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_order_of_verbs_and_units(rows):
    once = rows.shifted(CENTER)
    for same, factor in (
        (once.subset(np.arange(50)), 1.0),
        (rows.shifted(0.25 * CENTER).shifted(0.75 * CENTER), 1.0),
        (once.scaled(4.0), 4.0),
    ):
        np.testing.assert_allclose(same.scores_and_distances(W)[1], expected(X, factor)[1], rtol=1e-12)
        assert same.dimension == 12
        assert same.shape == (50, 4)


def test_lengths_are_those_of_the_rows(rows):
    np.testing.assert_allclose(rows.norms(), np.linalg.norm(X, axis=1), rtol=1e-12)


def test_a_span_of_all_columns_has_nothing_outside():
    rows = SpannedRows(X, None, 12)
    for same in (rows, rows.shifted(np.zeros(12)), rows.subset(np.arange(50)), rows.scaled(1.0)):
        np.testing.assert_allclose(same.norms(), np.linalg.norm(X, axis=1), rtol=1e-12)
