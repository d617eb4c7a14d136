"""Rows of a stream with missing cells, made complete."""

import numpy as np

from tl1pca.solvers.stream_cells import completed
from tl1pca.solvers.stream_model import new_model

RNG = np.random.default_rng(0)
AXES = np.linalg.qr(RNG.normal(size=(8, 2)))[0]
X = RNG.normal(size=(200, 2)) * [5.0, 4.0] @ AXES.T + 0.1 * RNG.normal(size=(200, 8)) + 3.0
MODEL = new_model(X, X.mean(axis=0), AXES.T, np.ones(200, dtype=bool), 8)


def test_complete_rows_stay_as_they_are():
    assert completed(MODEL, X, 2) is X


def test_a_missing_cell_is_what_the_others_predict():
    holes = X[:50].copy()
    holes[3, 2] = holes[7, 5] = np.nan
    found = completed(MODEL, holes, 2)
    whole = [i for i in range(50) if i not in (3, 7)]
    np.testing.assert_array_equal(found[whole], X[:50][whole])
    assert abs(found[3, 2] - X[3, 2]) < 1.0
    assert abs(found[7, 5] - X[7, 5]) < 1.0
    assert np.isnan(holes[3, 2])  # the rows of the user are left alone


def test_rows_without_enough_cells_are_left_out():
    holes = X[:5].copy()
    holes[1, 1:] = np.nan
    holes[4] = np.nan
    found = completed(MODEL, holes, 2)
    np.testing.assert_array_equal(found, X[[0, 2, 3]])


def test_distances_are_those_of_complete_rows_on_average():
    holes = X.copy()
    holes[:, 0] = np.nan
    found = completed(MODEL, holes, 2)

    def off(rows):
        Y = rows - MODEL.center
        return ((Y - Y @ AXES @ AXES.T) ** 2).sum(axis=1).mean()

    np.testing.assert_allclose(off(found), off(X), rtol=0.15)
