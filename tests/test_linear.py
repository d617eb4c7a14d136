"""Conjugate gradients against a direct solution, eigenpairs against all of them."""

import numpy as np
import pytest

from tl1pca import linear
from tl1pca.linear import conjugate_gradients, leading_eigenpairs


@pytest.fixture
def matrix():
    A = np.random.default_rng(0).normal(size=(20, 8))
    return A.T @ A


def test_solves_every_column(matrix):
    B = np.random.default_rng(1).normal(size=(8, 3)) * [1.0, 1e-8, 1e8]
    X = conjugate_gradients(lambda P: matrix @ P, B, tol=1e-12, max_iter=50)
    np.testing.assert_allclose(matrix @ X, B, rtol=1e-6, atol=1e-10 * np.abs(B).max(axis=0).min())


def test_a_loose_tolerance_stops_early(matrix):
    calls = []
    conjugate_gradients(lambda P: calls.append(1) or matrix @ P, np.ones((8, 1)), tol=0.5, max_iter=50)
    assert 0 < len(calls) < 8


def test_stops_where_the_matrix_is_not_definite():
    D = np.diag([-1.0, 2.0])
    X = conjugate_gradients(lambda P: D @ P, np.eye(2), tol=1e-12, max_iter=10)
    np.testing.assert_allclose(X, [[0.0, 0.0], [0.0, 0.5]])


def test_least_curvature(matrix):
    B = np.ones((8, 1))
    assert not conjugate_gradients(lambda P: matrix @ P, B, tol=1e-9, max_iter=9, least_curvature=1e9).any()


def test_nothing_to_solve(matrix):
    assert not conjugate_gradients(lambda P: matrix @ P, np.zeros((8, 2)), tol=1e-9, max_iter=9).any()


@pytest.mark.parametrize("n_axes", [1, 2, 3, 40])
def test_leading_eigenpairs(n_axes, monkeypatch):
    """All of them at once where an eighth or more is wanted: that takes less time."""
    asked, inner = [], linear.linalg.eigh
    monkeypatch.setattr(
        linear.linalg, "eigh", lambda C, **how: asked.append(how["driver"]) or inner(C, **how)
    )
    A = np.random.default_rng(2).normal(size=(60, 23))
    values, axes = leading_eigenpairs(A.T @ A, n_axes)
    assert asked == ["evr" if n_axes < 3 else "evd"]
    np.testing.assert_allclose(values, np.linalg.svd(A)[1][:n_axes] ** 2)
    np.testing.assert_allclose(A.T @ (A @ axes), axes * values, atol=1e-9)
    np.testing.assert_allclose(axes.T @ axes, np.eye(len(values)), atol=1e-12)
