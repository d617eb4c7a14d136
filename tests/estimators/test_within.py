"""Coordinates of rows between and within classes."""

import numpy as np
import pytest

from tl1pca.estimators._within import reduced, spherical
from tl1pca.rows import DenseRows

rng = np.random.default_rng(0)


def parts(within, between):
    ones = np.ones(len(within)), np.ones(len(between))
    return DenseRows(between, weights=ones[1]), DenseRows(within, weights=ones[0])


def test_rows_within_become_spherical():
    S = rng.normal(size=(4000, 3)) @ np.array([[3.0, 0, 0], [1, 1, 0], [0, 0, 0.7]])
    B = rng.normal(size=(2, 3))
    above, below, P = spherical(S, *parts(S, B))
    np.testing.assert_allclose(below.array(), S @ P)
    np.testing.assert_allclose(above.array(), B @ P)
    scatter = below.array().T @ below.array() / len(S)
    np.testing.assert_allclose(scatter / scatter[0, 0], np.eye(3), atol=0.1)


def test_far_rows_count_little():
    S = rng.normal(size=(500, 2))
    far = S.copy()
    far[:20] = [1e3, 0]
    plain, moved = (spherical(data, *parts(data, S[:2]))[2] for data in (S, far))
    sizes = [np.linalg.svd(P)[1] for P in (plain, moved)]
    np.testing.assert_allclose(*sizes, rtol=0.2)


def test_what_rows_within_do_not_span_is_left_out():
    S = np.column_stack([rng.normal(size=(30, 2)), np.zeros(30)])
    total = S + np.array([0, 0, 1e-3]) * rng.normal(size=(30, 1))
    above, below, P = reduced(total, *parts(S, rng.normal(size=(2, 3))))
    assert P.shape == (3, 2)
    np.testing.assert_allclose(P.T @ P, np.eye(2), atol=1e-12)
    assert np.linalg.matrix_rank(below.array()) == 2
    assert above.shape == (2, 2)


def test_all_of_them_where_they_span_the_space():
    S = rng.normal(size=(30, 3))
    np.testing.assert_array_equal(reduced(S, *parts(S, S[:2]))[2], np.eye(3))


@pytest.mark.parametrize("way", [reduced, spherical])
def test_equal_rows_within_are_named(way):
    with pytest.raises(ValueError, match="rows of each class are all equal"):
        way(rng.normal(size=(6, 2)), *parts(np.zeros((6, 2)), rng.normal(size=(2, 2))))
