"""The Gram forms of the fixed points have the iterates of the plain ones."""

import numpy as np
import pytest

from support import gaussian
from tl1pca import TL1, Lp
from tl1pca.objectives import Dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers import FixedPoint, SparseFixedPoint, State, principal_axes
from tl1pca.solvers.gram import GramFixedPoint, fewer_products

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
    assert fewer_products((20, 10))
    assert not fewer_products((21, 10))
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


def published(objective, W, step_tol=1e-2, value_tol=0.0, max_iter=1000):
    """The published iteration, word for word: frames, objectives and whether a rule ended it."""
    X, v, p = objective.rows.array(), objective.rows.gather_weights(), objective.operator.p
    v = np.ones(len(X)) if v is None else v
    path = [(v @ np.abs(X @ W) ** p).sum()]
    for _ in range(max_iter):
        T = X @ W
        pull = np.sign(T) * v[:, None] * p * np.abs(T) ** (p - 1)
        U, _, Vt = np.linalg.svd(X.T @ pull, full_matrices=False)
        moved, W = np.linalg.norm(U @ Vt - W), U @ Vt
        path.append((v @ np.abs(X @ W) ** p).sum())
        if moved < step_tol or abs(path[-1] - path[-2]) < value_tol:
            return W, np.array(path), True
    return W, np.array(path), False


@pytest.mark.parametrize("weights", [None, V], ids=["equal", "weighted"])
@pytest.mark.parametrize("p", [0.5, 0.9])
def test_frames_on_products_are_the_published_ones(p, weights):
    objective = Dispersion(DenseRows(X, weights=weights), Lp(p=p))
    for n in (1, 2, 5):
        W, path, _ = published(objective, principal_axes(objective.rows, 4), step_tol=0.0, max_iter=n)
        found = FixedPoint(tol=0.0, step_tol=1e-9, max_iter=n).solve(objective, n_directions=4)
        np.testing.assert_allclose(found.W, W, atol=1e-10)
        np.testing.assert_allclose(found.path, path, rtol=1e-10)
        assert not found.converged


@pytest.mark.parametrize(
    "rule", [{"step_tol": 1e-2}, {"step_tol": 1e-3}, {"step_tol": 1e-9, "value_tol": 1e-2}]
)
def test_frames_on_products_end_where_the_published_ones_do(rule):
    """Rows about three axes, on which p < 1 converges: no rounding leads elsewhere."""
    rng = np.random.default_rng(0)
    rows = 0.1 * rng.normal(size=(20, 60))
    rows[np.arange(20), np.arange(20) % 3] += rng.choice([-3.0, 3.0], size=20)
    objective = Dispersion(DenseRows(rows), Lp(p=0.7))
    W, path, converged = published(objective, principal_axes(objective.rows, 3), **rule)
    found = FixedPoint(tol=0.0, **rule).solve(objective, n_directions=3)
    assert converged
    assert found.converged
    assert len(found.path) == len(path) > 2
    np.testing.assert_allclose(found.W, W, atol=1e-10)
    np.testing.assert_allclose(found.path, path, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frames_on_products_of_rows_close_to_a_plane(dtype):
    """The last columns of the products are roundings, and the directions of the rows themselves are taken."""
    rows = (gaussian(12, 30, seed=1, decay=1.0) * np.r_[1.0, 1.0, np.full(28, 1e-9)]).astype(dtype)
    objective = Dispersion(DenseRows(rows), Lp(p=0.5))
    found = FixedPoint(tol=0.0, step_tol=1e-9, max_iter=3).solve(objective, n_directions=4)
    assert found.W.dtype == dtype
    roundings = 50 * np.finfo(dtype).eps
    np.testing.assert_allclose(found.W.T @ found.W, np.eye(4), atol=roundings)
    np.testing.assert_allclose(found.path[-1], objective.value(found.W).sum(), rtol=1e3 * roundings)
    if dtype == np.float64:
        _, path, _ = published(objective, principal_axes(objective.rows, 4), step_tol=0.0, max_iter=3)
        np.testing.assert_allclose(found.path, path, rtol=1e-6)
