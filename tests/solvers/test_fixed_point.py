"""The published fixed points, one step at a time."""

import numpy as np
import pytest

from support import gaussian, name
from tl1pca import TL1, Lp
from tl1pca.objectives import Dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers import BallFixedPoint, FixedPoint, SparseFixedPoint, State

X = gaussian(40, 4, seed=3) - gaussian(40, 4, seed=3).mean(axis=0)
V = np.random.default_rng(0).uniform(0.5, 2.0, size=40)


def objective(p, weights=None):
    return Dispersion(DenseRows(X, weights=weights), Lp(p=p))


def frame(k, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(4, k)))[0]


def pulled(p, W, v=1.0):
    T = X @ W
    slope = p * np.maximum(np.abs(T), 1e-300) ** (p - 1)
    return X.T @ (np.broadcast_to(v, 40)[:, None] * np.where(T < 0, -slope, slope))


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_a_step_is_the_polar_factor(p):
    W = frame(2)
    found = FixedPoint(max_iter=1).solve(objective(p, V), State(W), 2)
    U, _, Vt = np.linalg.svd(pulled(p, W, V), full_matrices=False)
    np.testing.assert_allclose(found.W, U @ Vt, atol=1e-10)
    right = [float(objective(p, V).value(w).sum()) for w in (W, U @ Vt)]
    assert found.path == pytest.approx(right, rel=1e-12)
    assert not found.converged


def test_l1_ends_when_the_signs_repeat():
    found = FixedPoint(tol=1.0).solve(objective(1), State(frame(1)))
    assert found.converged
    step = pulled(1, found.W)
    np.testing.assert_allclose(step / np.linalg.norm(step), found.W, atol=1e-12)


def test_other_powers_end_at_a_relative_gain():
    path = np.array(FixedPoint(tol=1e-3).solve(objective(1.5), State(frame(1))).path)
    gains = np.diff(path) / path[1:]
    assert gains[-1] <= 1e-3
    assert (gains[:-1] > 1e-3).all()


def test_the_published_rules_end_it_as_well():
    start = State(frame(1))
    one = FixedPoint(tol=0.0, max_iter=1).solve(objective(1.5), start)
    moved = float(np.linalg.norm(one.W - start.W))
    assert len(FixedPoint(tol=0.0, step_tol=1.01 * moved).solve(objective(1.5), start).path) == 2
    assert len(FixedPoint(tol=0.0, step_tol=0.99 * moved).solve(objective(1.5), start).path) > 2
    gain = one.path[1] - one.path[0]
    assert len(FixedPoint(tol=0.0, value_tol=1.01 * gain).solve(objective(1.5), start).path) == 2
    assert len(FixedPoint(tol=0.0, value_tol=0.99 * gain).solve(objective(1.5), start).path) > 2


def test_what_it_needs():
    assert FixedPoint().needs == ("convex",)
    assert FixedPoint(step_tol=0.5).needs == ()
    with pytest.raises(ValueError, match="convex"):
        FixedPoint().check(TL1(a=1.0), "greedy")


@pytest.mark.parametrize("p", [0.5, 1, 2], ids=name)
def test_the_sparse_step_is_soft_thresholded(p):
    w = np.array([0.5, -0.5, 0.5, 0.5])
    found = SparseFixedPoint(n_nonzero=2, max_iter=1).solve(objective(p), State(w[:, None]))
    begin = np.array([1.0, -1.0, 0.0, 0.0]) / np.sqrt(2)  # ties keep the first ones
    np.testing.assert_allclose(found.path[0], objective(p).value(begin[:, None])[0], rtol=1e-6)
    G = pulled(p, begin[:, None])[:, 0]
    size = np.sort(np.abs(G))[::-1]
    right = np.sign(G) * np.maximum(np.abs(G) - size[2], 0.0)
    np.testing.assert_allclose(found.W[:, 0], right / np.linalg.norm(right), atol=1e-6)


@pytest.mark.parametrize("norm", [1.0, 1.5, 2.0, np.inf])
def test_the_step_on_a_ball_maximizes_the_linearization(norm):
    w = frame(1)
    found = BallFixedPoint(norm=norm, max_iter=1).solve(objective(2), State(w))
    assert np.linalg.norm(found.W[:, 0], norm) == pytest.approx(1.0)
    begin = np.sign(w) * (np.abs(w) == np.abs(w).max()) if norm == 1.0 else w / np.linalg.norm(w[:, 0], norm)
    G = pulled(2, begin)[:, 0]
    rng = np.random.default_rng(0)
    others = rng.normal(size=(4, 300))
    others /= np.linalg.norm(others, norm, axis=0)
    assert G @ found.W[:, 0] >= (G @ others).max()


def test_rows_of_zeros_stay_where_they_are():
    nothing = Dispersion(DenseRows(np.zeros((5, 4))), Lp(p=1.5))
    for solver in (SparseFixedPoint(n_nonzero=1), BallFixedPoint(norm=1.5)):
        assert np.isfinite(solver.solve(nothing, State(np.eye(4)[:, :1])).W).all()
