"""Reweighted PCA for residuals, and its shorter way with many rows."""

import numpy as np
import pytest

from support import gaussian, name, subspace_angle
from tl1pca import Cauchy, Huber, Lp, ResidualPCA
from tl1pca.objectives import Residual
from tl1pca.rows import MANY_ROWS, DenseRows
from tl1pca.solvers import State, SubspaceMM, mm, principal_axes

N = MANY_ROWS + 1000


def outliers(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3)) * [4, 3, 2] @ rng.normal(size=(3, 10)) + 0.5 * rng.normal(size=(N, 10))
    X[: N // 10] = 8 * rng.normal(size=(N // 10, 10))
    return X


def reweighted(X, v, W, weight):
    """One step as published: the principal axes of the weighted rows."""
    r = np.linalg.norm(X - X @ W @ W.T, axis=1)
    axes = np.linalg.eigh((X.T * (v * weight(r))) @ X)[1]
    return axes[:, ::-1][:, : W.shape[1]]


@pytest.mark.parametrize("operator", [Huber(c=0.5), Cauchy(c=1.0), Lp(p=1)], ids=name)
def test_a_step_is_a_reweighted_pca(operator):
    X, v = gaussian(50, 5, decay=0.8), np.random.default_rng(1).uniform(0.5, 2.0, size=50)
    objective = Residual(DenseRows(X, weights=v), operator)
    W = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 2)))[0]
    found = SubspaceMM(max_iter=1).solve(objective, State(W))
    right = reweighted(X, v, W, operator.weight)
    assert subspace_angle(found.W.T, right.T) < 1e-6
    assert found.path == pytest.approx([float(objective.value(w)[0]) for w in (W, right)], rel=1e-12)
    assert not found.converged


def test_it_ends_at_a_fixed_point_when_the_gain_is_small():
    X = gaussian(80, 4, decay=0.8)
    objective = Residual(DenseRows(X), Lp(p=1))
    fine, rough = (SubspaceMM(tol=tol).solve(objective, n_directions=2) for tol in (1e-12, 1e-2))
    assert fine.converged
    assert rough.converged
    assert len(rough.path) < len(fine.path)
    assert subspace_angle(fine.W.T, reweighted(X, np.ones(80), fine.W, Lp(p=1).weight).T) < 1e-3
    gains = -np.diff(rough.path) / np.abs(rough.path[1:])
    assert (gains[:-1] > 1e-2).all()
    assert gains[-1] <= 1e-2


def test_rows_in_the_subspace_need_no_step():
    X = np.outer(np.arange(1.0, 9.0), [1.0, 2.0, 2.0])
    found = SubspaceMM().solve(Residual(DenseRows(X), Lp(p=1)))
    assert found.converged
    assert len(found.path) == 1
    assert subspace_angle(found.W.T, np.array([[1.0, 2.0, 2.0]])) < 1e-6
    off = X + [[0, 0, 1e-6]] * np.eye(8)[:, :1]  # one row a little off is no rounding
    assert len(SubspaceMM().solve(Residual(DenseRows(off), Huber(c=1.0)), State(np.eye(3)[:, :1])).path) > 2


@pytest.mark.parametrize("operator", [Huber(), Lp(p=1), Cauchy()], ids=name)
@pytest.mark.parametrize("seed", range(3))
def test_residuals_end_no_higher_than_reweighting(operator, seed):
    X = outliers(seed)
    pca = ResidualPCA(3, operator=operator, center=None).fit(X)
    assert (np.diff(pca.objective_path_[0]) <= 0).all()
    rows = DenseRows(X)
    start = principal_axes(rows, 3)
    settled = operator.resolve(Residual(rows, operator).distances(start))
    residual = Residual(rows, settled)
    W, best = start, np.inf
    for _ in range(100):  # reweighted PCA as published
        r = residual.distances(W)
        best = min(best, residual.value_of_distances(r))
        W = principal_axes(rows, 3, settled.weight(r))
    assert pca.objective_ == pytest.approx(float(residual.value(pca.components_.T)[0]), rel=1e-9)
    assert pca.objective_ <= best * (1 + 2e-6)
    assert subspace_angle(pca.components_, W.T) < 0.3


def test_residual_components_are_ordered_by_the_reweighted_scatter():
    X = outliers()
    rows = DenseRows(X)
    residual = Residual(rows, Lp(p=1))
    W = SubspaceMM().solve(residual, n_directions=3).W
    C = W.T @ rows.gram(residual.operator.weight(residual.distances(W))) @ W
    np.testing.assert_allclose(C, np.diag(np.diag(C)), atol=1e-6 * C.max())
    assert (np.diff(np.diag(C)) < 0).all()


def test_small_units_keep_small_weights():
    """The floor of the distances moves with the data: no weight of the others is lost to it."""
    X = 1e-8 * gaussian(50, 5, decay=0.8)
    W = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 2)))[0]
    found = SubspaceMM(max_iter=1).solve(Residual(DenseRows(X), Lp(p=1)), State(W))
    assert subspace_angle(found.W.T, reweighted(X, np.ones(50), W, Lp(p=1).weight).T) < 1e-6


def test_nothing_is_gained_at_the_end_and_nothing_lost():
    objective = Residual(DenseRows(gaussian(80, 4, decay=0.8)), Huber(c=0.5))
    found = SubspaceMM(tol=0.0).solve(objective, n_directions=2)
    assert found.converged
    assert (np.diff(found.path) < 0).all()
    assert found.path[-1] == pytest.approx(float(objective.value(found.W)[0]), rel=1e-12)


def test_with_many_rows_an_end_is_no_start_for_more():
    objective = Residual(DenseRows(outliers()), Huber(c=1.0))
    end = SubspaceMM(tol=1e-12).solve(objective, n_directions=3)
    assert end.path[0] > end.path[-1]
    again = SubspaceMM(tol=1e-12, max_iter=0).solve(objective, State(end.W), 3)
    assert again.path == pytest.approx(end.path[-1:], rel=1e-10)
    worse = SubspaceMM(tol=1.0, max_iter=1).solve(objective, State(end.W), 3)
    assert worse.path[-1] <= end.path[-1] * (1 + 1e-12)


@pytest.mark.parametrize(("tol", "right"), [(1e-9, 1e-6), (1e-3, 1e-2), (0.0, 4 * np.finfo(float).eps)])
def test_the_tolerance_with_many_rows(tol, right, monkeypatch):
    asked, plain = [], mm.quasi_newton

    def noted(evaluate, W, precondition, tol, max_iter):
        asked.append(tol)
        return plain(evaluate, W, precondition, tol, 1)

    monkeypatch.setattr(mm, "quasi_newton", noted)
    SubspaceMM(tol=tol).solve(Residual(DenseRows(outliers()), Huber(c=1.0)), n_directions=2)
    assert asked == [pytest.approx(right)]
