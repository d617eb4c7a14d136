"""The Gram form of the fixed point has the iterates of the plain one."""

import numpy as np
import pytest

from support import gaussian
from tl1pca import TL1, Lp
from tl1pca.objectives import Dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers import SparseFixedPoint, State
from tl1pca.solvers.gram import GramFixedPoint

X = gaussian(12, 30, seed=1, decay=0.95)
V = np.random.default_rng(0).uniform(0.5, 2.0, size=12)


@pytest.mark.parametrize("weights", [None, V], ids=["equal", "weighted"])
@pytest.mark.parametrize("p", [0.5, 1.3, 1.5])
def test_the_same_iterates(p, weights):
    objective = Dispersion(DenseRows(X, weights=weights), Lp(p=p))
    for n in (1, 2, 5):
        plain = SparseFixedPoint(n_nonzero=30, step_tol=1e-30, max_iter=n).solve(objective)
        gram = GramFixedPoint(step_tol=1e-30, max_iter=n).solve(objective)
        np.testing.assert_allclose(gram.path, plain.path, rtol=1e-9)
        np.testing.assert_allclose(np.abs(gram.W.T @ plain.W), 1.0, atol=1e-9)
        assert not gram.converged


def test_it_stops_when_the_direction_stays():
    objective = Dispersion(DenseRows(X), Lp(p=1))
    begin = X[0] / np.linalg.norm(X[0])
    one = GramFixedPoint(step_tol=1e-30, max_iter=1).solve(objective, State(begin[:, None]))
    moved = float(np.linalg.norm(one.W[:, 0] - begin))
    for factor, n in ((1.01, 2), (0.99, 3)):
        found = GramFixedPoint(step_tol=factor * moved).solve(objective, State(begin[:, None]))
        assert found.converged
        assert (len(found.path) == 2) == (n == 2)


def test_rows_without_a_side():
    found = GramFixedPoint().solve(Dispersion(DenseRows(np.zeros((3, 5))), Lp(p=1.5)))
    assert found.converged
    assert len(found.path) == 1


def test_what_it_needs():
    with pytest.raises(ValueError, match="homogeneous"):
        GramFixedPoint().check(TL1(a=1.0), "greedy")


def test_what_it_suits_and_why_it_needs_all_rows():
    assert GramFixedPoint.suits((20, 10))
    assert not GramFixedPoint.suits((21, 10))
    assert GramFixedPoint().in_memory == "multiplies all rows with each other"


def test_small_rows_are_no_zeros_and_the_published_rule_is_the_default():
    objective, small = (Dispersion(DenseRows(size * X), Lp(p=1.5)) for size in (1.0, 1e-5))
    np.testing.assert_allclose(
        GramFixedPoint().solve(small).W, GramFixedPoint().solve(objective).W, atol=1e-9
    )
    assert len(GramFixedPoint().solve(small).path) > 2
    published = {"step_tol": 1e-2, "max_iter": 600}
    assert GramFixedPoint().get_params() == published
    assert SparseFixedPoint(3).get_params() == published | {"n_nonzero": 3, "tol": 0.0}
