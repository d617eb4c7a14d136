"""Many rows: every option of the solver for few rows is honored."""

import numpy as np
import pytest

from tl1pca import TL1, TL1PCA, Lp, LpPCA
from tl1pca.objectives import dispersion
from tl1pca.rows import MANY_ROWS, DenseRows
from tl1pca.solvers import FixedPoint, SampledAscent, SphereAscent, State

N = MANY_ROWS + 1000


def flat(seed, d=8):
    """Rows without a leading direction: many local maxima."""
    return np.random.default_rng(seed).standard_t(2.2, size=(N, d))


@pytest.mark.filterwarnings("ignore:LpPCA did not converge")  # the published rule need not
@pytest.mark.parametrize("seed", range(3))
def test_never_below_the_solver_whose_result_is_a_start(seed):
    X = flat(seed)
    ours = LpPCA(1, p=0.5, greedy=True, center=None).fit(X).objective_
    published = LpPCA(1, p=0.5, greedy=True, center=None, solver="paper").fit(X).objective_
    assert ours >= published * (1 - 1e-12)


def test_more_starts_compete_for_the_first_places():
    several = [TL1PCA(1, a=1.0, n_starts=8).fit(flat(s)).objective_ for s in range(4)]
    alone = [TL1PCA(1, a=1.0).fit(flat(s)).objective_ for s in range(4)]
    assert np.mean(several) > np.mean(alone)


def test_max_iter_and_tol_are_those_of_the_solver():
    objective = dispersion(DenseRows(flat(1)), TL1(a=1.0))
    rng, none = np.random.RandomState(0), np.zeros((8, 0))
    short = SphereAscent(max_iter=1, tol=0.0).next_directions(objective, none, 1, rng)[0]
    assert len(short.path) <= 2
    assert not short.converged


def test_from_given_directions_and_on_from_a_state():
    objective = dispersion(DenseRows(flat(2)), TL1(a=1.0))
    W = np.eye(8)[:, :2]
    found = SampledAscent().solve(objective, State(W), 2)
    assert found.path[-1] > float(objective.value(W).sum())
    again = SampledAscent().solve(objective, found.state)
    assert again.path[-1] == pytest.approx(found.path[-1], rel=1e-3)


def test_several_directions_are_orthonormal_and_ordered():
    X = np.random.default_rng(0).normal(size=(N, 6)) * [6, 5, 4, 1, 1, 1]
    found = SphereAscent().next_directions(
        dispersion(DenseRows(X), Lp(p=1)), np.zeros((6, 0)), 3, np.random.RandomState(0)
    )
    W = np.column_stack([one.W for one in found])
    np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.abs(W), np.eye(6)[:, :3], atol=0.1)
    assert FixedPoint().in_memory is None
