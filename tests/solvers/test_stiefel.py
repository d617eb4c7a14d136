"""The ascent that takes any objective."""

import numpy as np
import pytest

from support import gaussian, name
from tl1pca import TL1, Huber, Lp
from tl1pca.objectives import Dispersion, Residual
from tl1pca.rows import DenseRows
from tl1pca.solvers import PaperAscent, State, StiefelAscent, principal_axes, stiefel

X = gaussian(60, 4, seed=1)
ROWS = DenseRows(X)


def frame(k, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(4, k)))[0]


def polar(M):
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return U @ Vt


def test_a_first_step_is_the_polar_factor_of_the_gradient():
    objective = Dispersion(ROWS, Lp(p=2))
    W = frame(2)
    found = StiefelAscent(max_iter=1).solve(objective, State(W), 2)
    np.testing.assert_allclose(found.W, polar(objective.value_and_gradient(W).gradient), atol=1e-10)
    assert not found.converged


def test_a_shift_is_carried_on_and_shrinks():
    objective = Dispersion(ROWS, Lp(p=2))
    W = frame(2)
    found = StiefelAscent(max_iter=1).solve(objective, State(W, 8.0), 2)
    G = objective.value_and_gradient(W).gradient
    np.testing.assert_allclose(found.W, polar(G + 8.0 * W), atol=1e-10)
    assert found.state.step == pytest.approx(2.0)


def test_a_step_that_descends_is_taken_back():
    """Slopes fall so fast that the plain step overshoots: a shift is found that ascends."""
    for seed in range(20):
        objective = Dispersion(DenseRows(gaussian(12, 4, seed=seed)), TL1(a=1e-3))
        W = frame(2, seed)
        here = objective.value_and_gradient(W)
        if objective.value(polar(here.gradient)).sum() >= here.value:
            continue
        beta = 0.1 * np.abs(np.einsum("ij,ij->j", here.gradient, W)).max()
        while objective.value(polar(here.gradient + beta * W)).sum() < here.value:
            beta *= 4.0
        found = StiefelAscent(max_iter=1).solve(objective, State(W), 2)
        np.testing.assert_allclose(found.W, polar(here.gradient + beta * W), atol=1e-9)
        assert found.state.step == pytest.approx(beta / 4)
        return
    pytest.fail("no step descends")


def test_it_minimizes_as_well():
    objective = Residual(ROWS, Huber(c=1.0))
    found = StiefelAscent().solve(objective, State(frame(2)), 2)
    assert (np.diff(found.path) <= 1e-12).all()
    assert found.path[-1] < found.path[0]


@pytest.mark.parametrize("operator", [TL1(a=1.0), TL1(a=0.05), Lp(p=0.5)], ids=name)
def test_it_ends_where_nothing_near_is_higher_and_when_the_gain_is_small(operator):
    objective = Dispersion(ROWS, operator)
    found = StiefelAscent(tol=1e-10).solve(objective, n_directions=1)
    rng = np.random.default_rng(0)
    near = found.W + 1e-4 * rng.normal(size=(4, 200))
    assert objective.value(near / np.linalg.norm(near, axis=0)).max() <= found.path[-1] * (1 + 1e-6)
    path = np.array(StiefelAscent(tol=1e-2).solve(objective, State(frame(2)), 2).path)
    gains = np.diff(path) / path[1:]
    assert gains[-1] <= 1e-2
    assert (gains[:-1] > 1e-2).all()


def test_never_below_the_solver_it_is_warmed_by():
    for seed in range(6):
        objective = Dispersion(DenseRows(gaussian(30, 5, seed=seed)), TL1(a=0.1))
        paper = PaperAscent().solve(objective, rng=np.random.RandomState(0)).path[-1]
        warm = StiefelAscent(warm=PaperAscent()).solve(objective, rng=np.random.RandomState(0))
        assert warm.path[-1] >= paper
        assert warm.path[-1] >= StiefelAscent().solve(objective).path[-1]


def test_rows_of_zeros():
    found = StiefelAscent().solve(Dispersion(DenseRows(np.zeros((6, 3))), TL1(a=1.0)), n_directions=2)
    assert found.converged
    assert found.path == (0.0,)


def test_small_rows_are_no_zeros():
    objective = Dispersion(DenseRows(1e-3 * X), Lp(p=2))
    found = StiefelAscent().solve(objective, State(frame(1)))
    assert abs(float(found.W[:, 0] @ principal_axes(ROWS, 1)[:, 0])) == pytest.approx(1.0, abs=1e-6)


def test_shorter_steps_where_it_crawls(monkeypatch):
    """Rows on a line: from side to side of a ridge plain steps gain little, half of the way gains more."""

    def steps_and_values():
        found = []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            line = np.outer(rng.normal(size=20), rng.normal(size=5))
            rows = DenseRows(line - line.mean(axis=0))
            found.append(StiefelAscent().solve(Dispersion(rows, TL1(a=1.0)), n_directions=3))
        return sum(len(one.path) for one in found), np.array([one.path[-1] for one in found])

    steps, values = steps_and_values()
    monkeypatch.setattr(stiefel, "CRAWL", -1.0)
    plain, reached = steps_and_values()
    assert steps < 0.6 * plain
    assert (values >= reached * (1 - 1e-6)).all()
