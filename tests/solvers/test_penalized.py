"""The trace lasso: what majorizes it, and an ascent that never descends."""

import numpy as np
import pytest

from support import gaussian
from tl1pca import Lp
from tl1pca.objectives import Dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers import State, penalized
from tl1pca.solvers.penalized import N_STARTS, TraceLasso, TraceLassoAscent

X = gaussian(30, 4, seed=2) - gaussian(30, 4, seed=2).mean(axis=0)
V = np.random.default_rng(0).uniform(0.5, 2.0, size=30)


def lasso(penalty, weights=None, p=1):
    columns = X if weights is None else X * np.sqrt(weights)[:, None]
    return TraceLasso(Dispersion(DenseRows(X, weights=weights), Lp(p=p)), columns, penalty, np.eye(4))


def unit(seed):
    w = np.random.default_rng(seed).normal(size=4)
    return w / np.linalg.norm(w)


def test_value():
    w = unit(0)
    nuclear = np.linalg.norm(X * np.sqrt(V)[:, None] * w, "nuc")
    right = V @ np.abs(X @ w) - 0.7 * nuclear
    assert lasso(0.7, V).value(w[:, None])[0] == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_squares_lie_above_the_norm_and_touch_it(seed):
    """|X Diag(w)|_* <= (sum d_j w_j^2 + |X Diag(w0)|_*) / 2, with equality at w0."""
    problem, at = lasso(1.0), unit(seed)
    d = problem.curvature(at)
    assert d @ at**2 == pytest.approx(problem.norm(at), rel=1e-9)
    for other in (unit(seed + 10), unit(seed + 20)):
        assert problem.norm(other) <= 0.5 * (d @ other**2 + problem.norm(at)) * (1 + 1e-12)


@pytest.mark.parametrize("p", [1, 1.5])
def test_a_step_maximizes_the_minorant(p):
    problem, w = lasso(0.5, V, p), unit(3)
    found = TraceLassoAscent(max_iter=1, tol=0.0).solve(problem, State(w[:, None]))
    t = X @ w
    G, d = X.T @ (V * np.sign(t) * p * np.abs(t) ** (p - 1)), 0.5 * problem.curvature(w)
    others = np.random.default_rng(0).normal(size=(4, 2000))
    others /= np.linalg.norm(others, axis=0)
    new = found.W[:, 0]
    assert G @ new - 0.5 * d @ new**2 >= (G @ others - 0.5 * d @ others**2).max()
    assert found.path == pytest.approx([problem.value(a[:, None])[0] for a in (w, new)])
    assert not found.converged


def test_it_never_descends_and_ends_when_the_gain_is_small():
    problem = lasso(0.5)
    found = TraceLassoAscent().solve(problem)
    assert found.converged
    assert (np.diff(found.path) >= 0).all()
    near = found.W + 1e-3 * np.random.default_rng(0).normal(size=(4, 300))
    assert problem.value(near / np.linalg.norm(near, axis=0)).max() <= found.path[-1] * (1 + 1e-6)
    path = np.array(TraceLassoAscent(tol=1e-2).solve(problem, State(unit(1)[:, None])).path)
    assert (np.diff(path) > 1e-2 * np.abs(path[:-1])).all()


def test_several_starts_are_no_worse_than_any_of_them():
    problem = lasso(0.5)
    best = TraceLassoAscent().solve(problem).path[-1]
    starts = TraceLassoAscent()._starts(problem)
    assert starts.shape == (4, N_STARTS)
    np.testing.assert_allclose(np.linalg.norm(starts, axis=0), 1.0)
    values = problem.dispersion.value(starts)
    assert (np.diff(values) < 0).all()  # the best first, each once
    rows = X / np.linalg.norm(X, axis=1)[:, None]
    assert values[0] >= problem.dispersion.value(rows.T).max() * (1 - 1e-9)
    for w in starts.T:
        assert TraceLassoAscent().solve(problem, State(w[:, None])).path[-1] <= best * (1 + 1e-12)


def test_repeated_rows_are_one_start():
    twice = np.vstack([X, X, np.zeros((2, 4))])
    problem = TraceLasso(Dispersion(DenseRows(twice), Lp(p=1)), twice, 0.5, np.eye(4))
    np.testing.assert_allclose(
        np.abs(np.sum(TraceLassoAscent()._starts(problem) * TraceLassoAscent()._starts(lasso(0.5)), axis=0)),
        1.0,
        atol=1e-6,
    )


def test_the_next_direction_is_orthogonal():
    problem = lasso(0.5)
    first = TraceLassoAscent().solve(problem).W
    left = problem.deflated(first)
    assert left.basis.shape == (4, 3)
    np.testing.assert_allclose(left.basis.T @ left.basis, np.eye(3), atol=1e-12)
    second = TraceLassoAscent().solve(left).W
    assert abs(float(first[:, 0] @ second[:, 0])) < 1e-10


def test_a_row_is_one_start_whatever_its_length():
    scaled = np.vstack([X, X / 7.0, -X / 3.0])  # the same directions up to rounding
    problem = TraceLasso(Dispersion(DenseRows(scaled), Lp(p=1)), scaled, 0.5, np.eye(4))
    starts = TraceLassoAscent()._starts(problem)
    inner = np.abs(starts.T @ starts) - np.eye(starts.shape[1])
    assert inner.max() < 1 - 1e-9


def test_a_start_may_be_zero_in_some_columns():
    """Singular values of zero are rounded up, so that their curvature is finite."""
    problem = lasso(1.0)
    d = problem.curvature(np.array([1.0, 0.0, 0.0, 0.0]))
    assert d[0] == pytest.approx(problem.norm(np.eye(4)[0]), rel=1e-9)
    assert (d[1:] > 1e4 * d[0]).all()
    assert np.isfinite(d).all()
    assert np.isfinite(problem.curvature(np.zeros(4))).all()


def test_the_curvature_moves_with_the_units():
    small = TraceLasso(Dispersion(DenseRows(1e-6 * X), Lp(p=1)), 1e-6 * X, 1.0, np.eye(4))
    w = np.array([0.6, 0.8, 0.0, 0.0])
    np.testing.assert_allclose(small.curvature(w), 1e-6 * lasso(1.0).curvature(w), rtol=1e-6)


@pytest.mark.parametrize("seed", [8, 16, 17, 23])
def test_several_starts_pay(seed, monkeypatch):
    rows = np.random.default_rng(seed).standard_t(3, size=(25, [4, 8][seed % 2]))
    rows -= rows.mean(axis=0)
    problem = TraceLasso(
        Dispersion(DenseRows(rows), Lp(p=1)), rows, [0.2, 0.5, 1.0][seed % 3], np.eye(rows.shape[1])
    )
    several = TraceLassoAscent().solve(problem).path[-1]
    monkeypatch.setattr(penalized, "N_STARTS", 1)
    assert TraceLassoAscent().solve(problem).path[-1] < several - 1e-2 * abs(several)
