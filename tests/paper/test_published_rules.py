"""The published fixed points of PCA-L1, PCA-Lp and lpSPCA: rules to stop, ties, and a faster way."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tl1pca import L1PCA, LpPCA, SparseLpPCA
from tl1pca.objectives import Dispersion
from tl1pca.operators import TL1, Lp
from tl1pca.rows import DenseRows
from tl1pca.solvers import FixedPoint, GramFixedPoint, SparseFixedPoint, State


@pytest.fixture(scope="module")
def positive():
    """Rows far from the origin, not centered: several joint scores never change sign, as on faces."""
    rng = np.random.default_rng(0)
    return 5.0 + rng.normal(size=(40, 30)) * np.geomspace(3.0, 0.1, 30)


@pytest.mark.parametrize("pca", [L1PCA(12, center=None), LpPCA(12, p=1, solver="paper", center=None)])
def test_directions_that_the_data_leave_open_are_said_and_reproducible(positive, pca):
    with pytest.warns(ConvergenceWarning, match=r"leave \d+ of 12 directions open"):
        W = pca.fit(positive).components_
    np.testing.assert_allclose(W @ W.T, np.eye(12), atol=1e-12)
    rng = np.random.default_rng(1)
    for _ in range(3):
        shaken = positive * (1 + 1e-14 * rng.normal(size=positive.shape))
        with pytest.warns(ConvergenceWarning):
            again = pca.fit(shaken).components_
        np.testing.assert_allclose(again, W, atol=1e-9)


def test_no_warning_where_the_directions_are_determined(positive):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        L1PCA(3, center="mean").fit(positive)
        L1PCA(12, greedy=True, center=None).fit(positive)
        L1PCA(1, center=None).fit(positive)


def test_the_second_rule_to_stop_is_absolute():
    """W may still turn: what stops the iteration is the objective."""
    X = np.random.default_rng(2).normal(size=(60, 4))
    dispersion = Dispersion(DenseRows(X), Lp(p=1.5))
    start = np.linalg.qr(np.random.default_rng(3).normal(size=(4, 2)))[0]
    full = FixedPoint(tol=0.0, max_iter=300).solve(dispersion, State(start))
    changes = np.abs(np.diff(full.path))
    for limit in (1e-2, 1e-5):
        solution = FixedPoint(tol=0.0, value_tol=limit, max_iter=300).solve(dispersion, State(start))
        assert solution.converged
        assert len(solution.path) - 1 == int(np.flatnonzero(changes < limit)[0]) + 1


def test_published_lp_stops_at_either_rule(positive):
    X = positive - positive.mean(axis=0)
    pca = LpPCA(3, p=1.5, solver="paper", center=None).fit(X)
    path = pca.objective_path_[0]
    assert pca.converged_
    assert (np.abs(np.diff(path))[:-1] >= 1e-4).all()


def test_the_rule_is_in_the_units_of_the_data(positive):
    """Data far outside of the usual range are scaled for safety, the absolute rule with them."""
    X = (positive - positive.mean(axis=0)) * 2.0**-400
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert LpPCA(2, p=1.5, solver="paper", center=None).fit(X).n_iter_ == 1  # any change is below 1e-4


@pytest.mark.parametrize("p", [1.0, 0.9, 1.5, 2.0])
def test_products_of_rows_give_the_iterates_of_the_rows(p):
    """p >= 0.9 converges, so that rounding cannot lead the two ways apart."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(25, 20)) + 1.0
    weights = rng.uniform(0.5, 2.0, size=25)
    for v in (None, weights):
        dispersion = Dispersion(DenseRows(X, weights=v), Lp(p=p))
        slow = SparseFixedPoint(n_nonzero=20).solve(dispersion)
        fast = GramFixedPoint().solve(dispersion)
        np.testing.assert_allclose(fast.W, slow.W, atol=1e-9)
        np.testing.assert_allclose(fast.path, slow.path, rtol=1e-10)
        assert fast.converged == slow.converged


def test_products_of_rows_follow_the_chaotic_iterates_for_a_while():
    X = np.random.default_rng(1).normal(size=(25, 20))
    dispersion = Dispersion(DenseRows(X), Lp(p=0.3))
    slow = SparseFixedPoint(n_nonzero=20, max_iter=8).solve(dispersion)
    fast = GramFixedPoint(max_iter=8).solve(dispersion)
    np.testing.assert_allclose(fast.path, slow.path, rtol=1e-8)


def test_products_of_rows_with_zeros_and_other_operators():
    X = np.zeros((4, 3))
    X[0] = [1.0, 0.0, 0.0]
    solution = GramFixedPoint().solve(Dispersion(DenseRows(X), Lp(p=0.5)))
    np.testing.assert_allclose(np.abs(solution.W[:, 0]), [1.0, 0.0, 0.0])
    nothing = GramFixedPoint().solve(Dispersion(DenseRows(np.zeros((4, 3))), Lp(p=0.5)))
    assert nothing.converged
    with pytest.raises(ValueError, match="needs an operator that is homogeneous"):
        GramFixedPoint().check(TL1(a=1.0), "greedy")


def test_sparse_without_a_limit_is_the_sparse_rule_with_all_entries():
    X = np.random.default_rng(4).normal(size=(15, 40))  # wide: the first is solved in the row space
    free = SparseLpPCA(5, p=1, center=None).fit(X)
    all_of_them = SparseLpPCA(5, p=1, n_nonzero=40, solver="paper", center=None).fit(X)
    np.testing.assert_allclose(free.components_, all_of_them.components_, atol=1e-6)
