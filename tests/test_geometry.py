import numpy as np
import pytest

from tl1pca import geometry

rng = np.random.default_rng(0)


def test_polar_is_the_linear_maximizer_over_orthonormal_frames():
    M = rng.normal(size=(6, 3))
    W = geometry.polar(M)
    np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-14)
    others = [np.linalg.qr(rng.normal(size=(6, 3)))[0] for _ in range(200)]
    assert all(np.trace(V.T @ M) <= np.trace(W.T @ M) for V in others)


def test_polar_of_a_rank_deficient_matrix_is_the_maximizer_closest_to_a_given_frame():
    M = rng.normal(size=(8, 2)) @ rng.normal(size=(2, 4))
    near = np.linalg.qr(rng.normal(size=(8, 4)))[0]
    W = geometry.polar(M, near=near)
    np.testing.assert_allclose(W.T @ W, np.eye(4), atol=1e-13)
    assert np.trace(W.T @ M) == pytest.approx(np.linalg.svd(M, compute_uv=False).sum())
    np.testing.assert_allclose(W, geometry.polar(M + 1e-7 * near), atol=1e-5)  # the limit that defines it
    shaken = M * (1 + 1e-14 * rng.normal(size=M.shape))
    np.testing.assert_allclose(geometry.polar(shaken, near=near), W, atol=1e-11)
    assert np.abs(geometry.polar(shaken) - geometry.polar(M)).max() > 1e-3  # without it rounding chooses
    assert geometry.polar_rank(M) == 2


def test_polar_with_nothing_to_go_by_is_still_orthonormal():
    near = np.eye(6)[:, :3]
    np.testing.assert_allclose(geometry.polar(np.zeros((6, 3)), near=near), near, atol=1e-14)
    M = np.outer(near[:, 0], [0.0, 1.0, 0.0])  # its only direction is the first column of near
    W = geometry.polar(M, near=near)
    np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(W[:, 1], near[:, 0], atol=1e-14)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, np.inf])
def test_ball_maximizer_is_the_best_point_of_the_p_sphere(p):
    v = rng.normal(size=5)
    w = geometry.ball_maximizer(v, p, v)
    assert np.linalg.norm(w, p) == pytest.approx(1.0)
    for _ in range(300):
        z = geometry.p_unit(rng.normal(size=5), p)
        assert z @ v <= w @ v + 1e-12


@pytest.mark.parametrize("s", [1, 2, 5])
def test_sparse_maximizer_has_exactly_s_entries_even_with_ties(s):
    for v in (rng.normal(size=5), np.ones(5), np.array([1.0, 0, 0, 0, 0])):
        w = geometry.sparse_maximizer(v, s)
        assert np.count_nonzero(w) == s
        assert np.linalg.norm(w) == pytest.approx(1.0)


def test_complete_basis_and_orthonormalize():
    W = np.linalg.qr(rng.normal(size=(7, 2)))[0]
    full = geometry.complete_basis(W, 7)
    np.testing.assert_allclose(full.T @ full, np.eye(7), atol=1e-14)
    np.testing.assert_array_equal(full[:, :2], W)
    Q = geometry.orthonormalize(W + 1e-9 * rng.normal(size=W.shape))
    np.testing.assert_allclose(Q, W, atol=1e-7)
    np.testing.assert_allclose(Q.T @ Q, np.eye(2), atol=1e-14)


def test_tangent_unit_and_project_out():
    w = geometry.unit(rng.normal(size=4))
    assert geometry.tangent(rng.normal(size=4), w) @ w == pytest.approx(0, abs=1e-14)
    assert not geometry.unit(np.zeros(3)).any()
    B = np.linalg.qr(rng.normal(size=(4, 2)))[0]
    np.testing.assert_allclose(B.T @ geometry.project_out(rng.normal(size=4), B), 0, atol=1e-14)
