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


def test_unit_columns():
    V = np.array([[3.0, 0.0, 1e-200], [4.0, 0.0, 0.0]])
    np.testing.assert_allclose(geometry.unit(V)[:, :2], [[0.6, 0.0], [0.8, 0.0]])
    np.testing.assert_allclose(geometry.unit(V[:, 0]), [0.6, 0.8])


def test_what_is_nearly_along_the_basis_is_still_orthogonal_to_it():
    """Once is not enough: what is left of a vector near the span is mostly rounding."""
    B = np.linalg.qr(np.random.default_rng(3).normal(size=(50, 3)))[0]
    v = B @ np.ones(3) + 1e-10 * np.random.default_rng(4).normal(size=50)
    left = geometry.project_out(v, B)
    assert np.abs(B.T @ left).max() < 1e-14 * np.linalg.norm(left)
    np.testing.assert_array_equal(geometry.project_out(v, np.zeros((50, 0))), v)


def test_the_rank_that_a_polar_factor_has():
    rank_two = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 4))
    assert geometry.polar_rank(rank_two + 1e-9 * rng.normal(size=(6, 4))) == 4
    assert geometry.polar_rank(np.zeros((6, 4))) == 0
    assert geometry.polar_rank(1e-200 * rank_two) == 2


@pytest.mark.parametrize("s", [1, 2, 3])
def test_soft_and_hard_thresholds(s):
    v = np.array([0.5, -3.0, 1.0, 2.0, 0.25])
    order = [1, 3, 2, 0, 4]
    hard, soft = np.zeros(5), np.zeros(5)
    for j in order[:s]:
        hard[j] = v[j]
        soft[j] = np.sign(v[j]) * (abs(v[j]) - abs(v[order[s]]))
    np.testing.assert_allclose(geometry.hard_threshold(v, s), hard / np.linalg.norm(hard))
    np.testing.assert_allclose(geometry.sparse_maximizer(v, s), soft / np.linalg.norm(soft), atol=1e-7)


def test_a_threshold_that_keeps_all_entries():
    v = np.array([1.0, -2.0, 2.0])
    np.testing.assert_allclose(geometry.sparse_maximizer(v, 3), v / 3)
    np.testing.assert_allclose(geometry.sparse_maximizer(v, 5), v / 3)
    np.testing.assert_allclose(geometry.hard_threshold(v, 3), v / 3)
    holes = geometry.sparse_maximizer(np.array([3.0, 0.0, -4.0]), 3)
    np.testing.assert_allclose(holes, [0.6, 0.0, -0.8], atol=1e-7)
    assert holes[1] != 0.0
    # Ties keep the first entries, far below those above the threshold.
    tied = geometry.sparse_maximizer(np.array([1.0, 5.0, 1.0, 1.0]), 2)
    assert np.flatnonzero(tied).tolist() == [0, 1]
    assert abs(tied[0]) < 1e-7


@pytest.mark.parametrize("seed", range(6))
def test_the_best_point_of_the_sphere_for_a_quadratic(seed):
    draw = np.random.default_rng(seed)
    v, d = draw.normal(size=4), draw.uniform(-2.0, 5.0, size=4)
    if seed == 1:
        d[:] = 3.0
    if seed == 2:
        v *= 1e-6
    value = lambda w: v @ w - 0.5 * d @ w**2  # noqa: E731
    w = geometry.sphere_maximizer(v, d)
    assert np.linalg.norm(w) == pytest.approx(1.0)
    others = draw.normal(size=(4, 5000))
    others /= np.linalg.norm(others, axis=0)
    assert value(w) >= (v @ others - 0.5 * d @ others**2).max() - 1e-12
    near = w[:, None] + 1e-4 * draw.normal(size=(4, 500))
    near /= np.linalg.norm(near, axis=0)
    assert value(w) >= (v @ near - 0.5 * d @ near**2).max() - 1e-12


def test_a_quadratic_alone_is_largest_along_the_least_bent_axes():
    w = geometry.sphere_maximizer(np.zeros(3), np.array([2.0, 1.0, 1.0]))
    np.testing.assert_allclose(w, [0.0, np.sqrt(0.5), np.sqrt(0.5)])


@pytest.mark.parametrize("p", [0.5, 1.5, 2.0])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_steps_on_a_ball_do_not_depend_on_units(p, size):
    v, w = np.array([1.0, -2.0, 3.0]), np.array([0.5, 0.25, -0.1])
    right = np.abs(w) ** (2 - p) * v if p < 1 else np.sign(v) * np.abs(v) ** (1 / (p - 1))
    right /= (np.abs(right) ** p).sum() ** (1 / p)
    np.testing.assert_allclose(geometry.ball_maximizer(size * v, p, w), right, rtol=1e-10)
    np.testing.assert_allclose(geometry.p_unit(size * right, p), right, rtol=1e-10)


def test_no_gradient_is_no_step_and_nothing_stays_nothing():
    w = np.array([0.5, 0.25])
    for p in (0.5, 1.0, 2.0, np.inf):
        assert geometry.ball_maximizer(np.zeros(2), p, w) is w
        assert not geometry.p_unit(np.zeros(2), p).any()
    np.testing.assert_array_equal(geometry.p_unit(np.array([1.0, -4.0]), np.inf), [0.25, -1.0])
    assert geometry.ball_maximizer(np.array([0.0, -2.0]), np.inf, w).tolist() == [1.0, -1.0]
    assert geometry.ball_maximizer(np.array([1.0, -2.0]), 1.0, w).tolist() == [0.0, -1.0]


def test_a_basis_is_completed_by_the_axes_farthest_from_it():
    W = np.array([[0.8], [0.0], [0.6]])
    full = geometry.complete_basis(W, 3)
    np.testing.assert_allclose(full, [[0.8, 0.0, -0.6], [0.0, 1.0, 0.0], [0.6, 0.0, 0.8]], atol=1e-14)
    assert geometry.complete_basis(W, 1) is W


def test_orthonormal_columns_keep_spans_and_signs():
    W = rng.normal(size=(6, 3))
    Q = geometry.orthonormalize(W)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-13)
    R = Q.T @ W
    np.testing.assert_allclose(np.tril(R, -1), 0.0, atol=1e-13)
    assert (np.diag(R) > 0).all()


def test_the_largest_entry_has_the_sign():
    signs = geometry.largest_entry_signs(np.array([[1.0, -2.0], [3.0, 2.0], [0.0, 0.0]]))
    assert signs.tolist() == [-1.0, 1.0, 1.0]


def _frame_of_condition(condition, shape=(135, 85)):
    rng = np.random.default_rng(3)
    U = np.linalg.qr(rng.normal(size=shape))[0]
    V = np.linalg.qr(rng.normal(size=(shape[1], shape[1])))[0]
    return (U * np.geomspace(1, 1 / condition, shape[1])) @ V.T, U @ V.T


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e5, 1e6])
def test_the_polar_factor_of_a_wide_frame_needs_no_svd_and_is_as_exact(condition, size, monkeypatch):
    M, exact = _frame_of_condition(condition)
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    monkeypatch.setattr(geometry.linalg, "svd", None)
    W = geometry.polar(size * M)
    assert np.abs(W - exact).max() <= 5 * np.abs(U @ Vt - exact).max() + 1e-14
    np.testing.assert_allclose(W.T @ W, np.eye(85), atol=1e-12)


@pytest.mark.parametrize("condition", [1e9, 1e12])
def test_a_wide_frame_close_to_singular_is_left_to_the_svd(condition):
    M, exact = _frame_of_condition(condition)
    assert geometry._gram_polar(M) is None
    np.testing.assert_allclose(geometry.polar(M), exact, atol=1e-14 * condition)
    assert geometry._gram_polar(np.zeros((40, 35))) is None


def test_a_narrow_frame_is_left_to_the_svd(monkeypatch):
    monkeypatch.setattr(geometry, "_gram_polar", None)
    M, exact = _frame_of_condition(10.0, (50, 31))
    np.testing.assert_allclose(geometry.polar(M), exact, atol=1e-13)


@pytest.mark.parametrize("size", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("accuracy", [1e-4, 1e-6, 1e-8])
def test_the_inverse_root_is_as_exact_as_it_is_asked_to_be_or_none(accuracy, size):
    for condition, possible in ((1e2, True), (1e4, True), (1e6, accuracy > 1e-5), (1e7, False)):
        M = size * _frame_of_condition(condition)[0]
        S = geometry.inverse_root(M.T @ M, accuracy)
        assert (S is not None) == possible
        assert S is None or np.abs((M @ S).T @ (M @ S) - np.eye(85)).max() <= accuracy


def test_the_inverse_root_of_products_of_columns_of_very_different_lengths():
    """Their eigenvalues are lost in roundings of the largest one, and the products know them."""
    M = _frame_of_condition(10.0)[0] * np.geomspace(1.0, 1e-6, 85)
    S = geometry.inverse_root(M.T @ M, 1e-10)
    np.testing.assert_allclose((M @ S).T @ (M @ S), np.eye(85), atol=1e-10)
    values, V = np.linalg.eigh(M.T @ M)
    plain = M @ (V / np.sqrt(values)) @ V.T
    assert np.abs(plain.T @ plain - np.eye(85)).max() > 1e-9
    assert geometry.inverse_root(np.diag([1.0, 0.0]), 1e-4) is None
