"""Rows of a stream with missing cells, made complete."""

import numpy as np
import pytest

from tl1pca.solvers.stream_cells import completed
from tl1pca.solvers.stream_model import Model, new_model

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


def model(axes, variances, noise=0.04, center=0.0, d=4):
    counts = np.zeros((2, 4))
    return Model(np.full(d, center), np.asarray(axes), np.asarray(variances), noise, 50.0, 50.0, 1.0, counts)


def test_one_component_by_hand():
    """Equal loadings: the score is the mean of the cells seen, what it leaves is stretched by sqrt(3/1)."""
    flat = model(np.full((4, 1), 0.5), [1e6], center=10.0)  # so that the variance holds nothing
    found = completed(flat, np.array([[12.1, 11.9, np.nan, np.nan]]), 1)
    np.testing.assert_allclose(found, 10.0 + 2.0 + np.sqrt(3) * np.array([[0.1, -0.1, 0.0, 0.0]]), atol=1e-6)


def test_the_cells_seen_must_hold_a_tenth_of_every_direction():
    def kept(share):
        axis = np.sqrt([share, 1.0 - share, 0.0, 0.0])[:, None]
        return len(completed(model(axis, [100.0]), np.array([[1.0, np.nan, 0.0, 0.0]]), 1))

    assert kept(0.11) == 1
    assert kept(0.09) == 0
    both = np.eye(4)[:, :2]  # one direction is seen in full and the other not at all
    assert len(completed(model(both, [100.0, 50.0]), np.array([[1.0, np.nan, 0.0, 0.0]]), 2)) == 0


def test_as_many_cells_as_components_do_not_suffice():
    axis = np.full((4, 1), 0.5)
    assert len(completed(model(axis, [100.0]), np.array([[1.0, np.nan, np.nan, np.nan]]), 1)) == 0
    assert len(completed(model(axis, [100.0]), np.array([[1.0, 1.0, np.nan, np.nan]]), 1)) == 1


def test_a_wild_cell_of_a_short_row_does_not_decide():
    """In units of the noise, whose square is shared by the d - k directions that are left."""
    flat = model(np.full((8, 1), np.sqrt(1 / 8)), [100.0], noise=7e-4, d=8)
    row = np.full((1, 8), 2.0)
    row[0, 0], row[0, 1] = np.nan, 2.5
    assert completed(flat, row, 1)[0, 0] == pytest.approx(2.0, abs=1e-3)


def test_scores_of_short_rows_are_held_by_their_variance():
    """Most cells say 6, which is far from what rows of so small a variance have."""
    axis = np.full((8, 1), np.sqrt(1 / 8))
    row = np.array([[np.nan, 6.0, 6.0, 6.0, 6.0, 6.0, 0.0, 0.0]])
    near, free = (
        completed(model(axis, [variance], noise=0.7, d=8), row, 1)[0, 0] for variance in (0.01, 1e6)
    )
    assert near < 0.5
    assert free > 3.0


def test_scores_of_short_rows_are_those_of_the_loss_in_units_of_the_noise():
    """Its slope is that of the scores over their variances, with the noise shared by d - k directions."""
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 2)))[0]
    given = model(axes, [100.0, 50.0], noise=5.0, d=7)
    row = axes @ [9.0, 4.0] + np.array([0.5, -0.5, 3.0, 0.2, -1.0, 0.8, 0.0])
    row[6] = np.nan
    found = completed(given, row[None], 2)[0]
    stretch = np.sqrt(5 / 4)
    fitted = (stretch * row - found)[:6] / (stretch - 1)
    left = row[:6] - fitted
    weights = 1 / (1 + (left / 3.75) ** 2) ** 2  # the noise is 5 / (7 - 2) = 1
    scores = np.linalg.lstsq(axes[:6], fitted, rcond=None)[0]
    np.testing.assert_allclose((weights * left) @ axes[:6], scores / [100.0, 50.0], atol=1e-4)


def test_units_of_the_data_are_no_matter():
    axis = np.full((8, 1), np.sqrt(1 / 8))
    row = np.array([[np.nan, 6.0, 6.0, 6.0, 6.0, 6.0, 0.0, 0.0]])
    for variance in (0.01, 36.0):
        one = completed(model(axis, [variance], noise=0.7, d=8), row, 1)
        for unit in (1e-4, 1e4):
            other = completed(model(axis, [variance * unit**2], noise=0.7 * unit**2, d=8), unit * row, 1)
            np.testing.assert_allclose(other, unit * one, rtol=1e-6)


def test_rows_without_noise_are_completed_exactly():
    exact = model(np.full((4, 1), 0.5), [9.0], noise=0.0)
    np.testing.assert_allclose(completed(exact, np.array([[3.0, 3.0, 3.0, np.nan]]), 1), 3.0, atol=1e-6)
    whole = model(np.eye(4), np.ones(4))  # as many components as columns: nothing is left to stretch
    assert len(completed(whole, np.array([[1.0, 2.0, 3.0, np.nan]]), 4)) == 0
