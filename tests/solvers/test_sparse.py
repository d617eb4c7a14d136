"""Sparse directions: steps that never descend, and optima against all supports."""

import itertools

import numpy as np
import pytest

from support import gaussian
from tl1pca import TL1, TL1PCA, Lp, SparseTL1PCA
from tl1pca.geometry import hard_threshold, unit
from tl1pca.objectives import dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers import SparseAscent, SphereAscent, State

OPERATORS = [TL1(a=0.2), TL1(a=1.0), TL1(a=10.0), TL1(), Lp(p=1), Lp(p=1.5), Lp(p=0.5)]


@pytest.mark.parametrize("operator", OPERATORS, ids=repr)
def test_no_step_descends(operator):
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = rng.normal(size=(12, 5))
        objective, solver = dispersion(DenseRows(A), operator), SparseAscent(n_nonzero=2)
        w = hard_threshold(rng.normal(size=5), 2)
        for _ in range(15):
            value = float(objective.value(w))
            w, reached = solver._step(objective, w, value)
            assert reached >= value
            assert np.count_nonzero(w) <= 2
            assert np.linalg.norm(w) == pytest.approx(1.0)


@pytest.mark.parametrize("a", [0.3, 1.0, 30.0])
def test_the_bound_on_the_shift_holds(a):
    """The lemma: from beta = kappa times the squares of all entries on no hard threshold descends."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        A, w = rng.normal(size=(12, 5)), hard_threshold(rng.normal(size=5), 2)
        objective = dispersion(DenseRows(A), TL1(a=a))
        beta = SparseAscent(2)._bound(objective, TL1(a=a))
        assert beta == pytest.approx(2 * (a + 1) / a**2 * (A**2).sum())
        here = objective.value_and_gradient(w[:, None])
        new = hard_threshold(here.gradient[:, 0] + beta * w, 2)
        assert float(objective.value(new)) >= here.value - 1e-12


@pytest.mark.parametrize("operator", [TL1(a=1.0), Lp(p=1)], ids=repr)
def test_against_all_supports(operator):
    found, best = 0, 0
    for seed in range(8):
        A = gaussian(20, 6, seed=seed)
        objective = dispersion(DenseRows(A), operator)
        ours = SparseAscent(3).solve(objective).path[-1]
        every = max(
            SphereAscent().solve(dispersion(DenseRows(A[:, list(S)]), operator)).path[-1]
            for S in itertools.combinations(range(6), 3)
        )
        assert ours > 0.99 * every
        found, best = found + (ours >= every * (1 - 1e-9)), best + 1
    assert found >= best - 1


def test_all_entries_are_the_dense_method():
    X = gaussian(40, 5)
    sparse, dense = SparseTL1PCA(3).fit(X), TL1PCA(3).fit(X)
    np.testing.assert_allclose(sparse.components_, dense.components_, atol=1e-7)
    np.testing.assert_allclose(sparse.a_, dense.a_, rtol=1e-9)
    full = SparseTL1PCA(1, n_nonzero=5, a=1.0).fit(X)
    assert full.objective_ == pytest.approx(TL1PCA(1, a=1.0).fit(X).objective_)


def test_more_entries_are_never_worse_and_one_entry_is_the_best_feature():
    X = gaussian(50, 7) - gaussian(50, 7).mean(axis=0)
    values = [SparseTL1PCA(1, n_nonzero=k, a=1.0, center=None).fit(X).objective_ for k in range(1, 8)]
    assert (np.diff(values) >= 0).all()
    assert values[0] == pytest.approx(TL1(a=1.0).value(np.abs(X)).sum(axis=0).max())


def test_great_shape_is_l1():
    X = gaussian(50, 7)
    l1 = SparseAscent(3).solve(dispersion(DenseRows(X), Lp(p=1))).path[-1]
    tl1 = SparseAscent(3).solve(dispersion(DenseRows(X), TL1(a=1e7))).path[-1]
    assert tl1 == pytest.approx(l1, rel=1e-5)


def test_goes_on_from_a_state():
    objective = dispersion(DenseRows(gaussian(50, 7)), TL1(a=1.0))
    found = SparseAscent(3).solve(objective)
    again = SparseAscent(3).solve(objective, State(found.W))
    assert again.path[-1] == pytest.approx(found.path[-1])
    along = SparseAscent(3).solve(objective, State(unit(np.ones(7))[:, None]))
    assert (np.diff(along.path) >= 0).all()
    assert SparseAscent(7).solve(objective, State(unit(np.ones(7))[:, None])).converged


def test_finds_the_features_that_move_together_among_outliers():
    rng = np.random.default_rng(0)
    X = 0.3 * rng.normal(size=(200, 30))
    X[:, [2, 7, 11]] += 2.0 * rng.normal(size=(200, 1))
    X[:20, 20] += 40.0
    pca = SparseTL1PCA(1, n_nonzero=3).fit(X)
    assert np.flatnonzero(pca.components_[0]).tolist() == [2, 7, 11]


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_bad_counts(k):
    with pytest.raises(ValueError, match="n_nonzero must be None or a positive integer"):
        SparseTL1PCA(1, n_nonzero=k).fit(gaussian(20, 4))
    with pytest.raises(ValueError, match="n_nonzero=5 must not exceed"):
        SparseTL1PCA(1, n_nonzero=5).fit(gaussian(20, 4))
