"""Every dispersion solver on the same problems, against independent oracles."""

import numpy as np
import pytest
from sklearn.base import clone

from support import gaussian, name, plane_optimum
from tl1pca import TL1, TL1PCA, Lp
from tl1pca.objectives import DispersionScale, dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers import (
    BallFixedPoint,
    FixedPoint,
    PaperAscent,
    SparseAscent,
    SparseFixedPoint,
    SphereAscent,
    StiefelAscent,
    ascent,
)
from transliteration import algorithm_2, complement

RNG = np.random.RandomState(0)
X = gaussian(60, 4, seed=1)
#: Solvers with the operators they are made for.
PAIRS = [
    (PaperAscent(), TL1(a=1.0)),
    (PaperAscent(), TL1()),
    (SphereAscent(), TL1(a=1.0)),
    (SphereAscent(), TL1()),
    (SphereAscent(), TL1(a=0.1)),
    (SphereAscent(), Lp(p=0.5)),
    (SphereAscent(), Lp(p=1)),
    (FixedPoint(), Lp(p=1)),
    (FixedPoint(), Lp(p=1.5)),
    (FixedPoint(), Lp(p=2)),
    (SparseFixedPoint(n_nonzero=4), Lp(p=1)),
    (SparseAscent(n_nonzero=4), TL1(a=1.0)),
    (BallFixedPoint(norm=2.0), Lp(p=1)),
]


@pytest.mark.parametrize(("solver", "operator"), PAIRS, ids=name)
class TestEverySolver:
    def solve(self, solver, operator):
        objective = dispersion(DenseRows(X), operator)
        return objective, clone(solver).solve(objective, rng=np.random.RandomState(0))

    def test_unit_direction_and_honest_path(self, solver, operator):
        objective, solution = self.solve(solver, operator)
        w = solution.W[:, 0]
        assert np.linalg.norm(w) == pytest.approx(1.0, abs=1e-12)
        assert solution.path[-1] == pytest.approx(float(objective.value(w)), rel=1e-9)
        assert (np.diff(solution.path) >= -1e-12 * abs(solution.path[-1])).all()
        assert solution.converged

    def test_no_small_step_goes_up(self, solver, operator):
        objective, solution = self.solve(solver, operator)
        w = solution.W[:, 0]
        if isinstance(solver, SparseFixedPoint):
            pytest.skip("stops early, as published")
        for _ in range(200):
            other = w + 1e-4 * RNG.normal(size=4)
            other /= np.linalg.norm(other)
            # The paper's ascent stops at an absolute gain of 1e-6.
            assert objective.value(other) <= solution.path[-1] * (1 + 1e-7) + 1e-6


@pytest.mark.parametrize("a", [0.3, 1.0, 10.0])
def test_gradient_against_finite_differences(a):
    objective = dispersion(DenseRows(X, weights=np.arange(1.0, 61.0)), TL1(a=a))
    w = RNG.normal(size=4)
    gradient = objective.gradient_of_scores(X @ w)
    h = 1e-6
    difference = [(objective.value(w + h * e) - objective.value(w - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(gradient, difference, rtol=1e-6)


def test_gradient_of_alpha_is_the_tl1_gradient_at_alpha():
    objective = DispersionScale(DenseRows(X), TL1())
    w = RNG.normal(size=4)
    gradient = objective.settled_at(X @ w).gradient_of_scores(X @ w)
    h = 1e-6
    difference = np.array(
        [(objective.value(w + h * e) - objective.value(w - h * e)) / (2 * h) for e in np.eye(4)]
    )
    np.testing.assert_allclose(
        difference / np.linalg.norm(difference), gradient / np.linalg.norm(gradient), rtol=1e-6
    )


@pytest.mark.parametrize("a", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("shape", [(25, 5), (8, 20)])
def test_paper_solver_is_the_explicit_null_space_algorithm(a, shape):
    data = gaussian(*shape, seed=5, decay=0.9)
    W, results = algorithm_2(data, a, 3, np.random.RandomState(7))
    pca = TL1PCA(3, a=a, center=None, solver="paper", random_state=7).fit(data)
    for path, (f, _, f0), w, ours in zip(pca.objective_path_, results, W.T, pca.components_):
        assert path[0] == pytest.approx(f0, rel=1e-9)
        assert path[-1] == pytest.approx(f, rel=1e-9)
        assert abs(w @ ours) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("a", [0.05, 0.5, 5.0])
def test_global_optimum_of_the_plane(seed, a):
    data = np.random.default_rng(seed).standard_t(2, size=(20, 2))
    best = plane_optimum(data, TL1(a=a))
    found = TL1PCA(1, a=a, center=None, n_starts=4).fit(data)
    assert found.objective_ == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_default_is_on_average_no_lower_than_the_paper(seed):
    data = np.random.default_rng(seed).standard_t(3, size=(50, 6))
    a = [0.05, 0.3, 1.0, 5.0][seed % 4]
    ours = TL1PCA(1, a=a).fit(data).objective_
    paper = [TL1PCA(1, a=a, solver="paper", random_state=i).fit(data).objective_ for i in range(10)]
    assert ours >= np.mean(paper) * (1 - 1e-9)


class TestJoint:
    @pytest.mark.parametrize("operator", [Lp(p=1), Lp(p=1.3), Lp(p=2)], ids=name)
    def test_fixed_point_never_descends(self, operator):
        solution = FixedPoint().solve(dispersion(DenseRows(X), operator), n_directions=3)
        assert (np.diff(solution.path) >= -1e-12 * solution.path[-1]).all()
        np.testing.assert_allclose(solution.W.T @ solution.W, np.eye(3), atol=1e-12)

    @pytest.mark.parametrize("operator", [TL1(a=1.0), TL1(a=0.05), Lp(p=0.5), Lp(p=0.1)], ids=name)
    def test_stiefel_ascent_never_descends(self, operator):
        solution = StiefelAscent().solve(dispersion(DenseRows(X), operator), n_directions=3)
        assert (np.diff(solution.path) >= 0).all()
        np.testing.assert_allclose(solution.W.T @ solution.W, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("operator", [TL1(a=1.0), TL1(), Lp(p=0.5)], ids=name)
def test_factored_and_iterated_newton_steps_end_alike(operator, monkeypatch):
    objective = dispersion(DenseRows(X), operator)
    factored = SphereAscent().solve(objective)
    monkeypatch.setattr(ascent, "FACTORED_COLUMNS", 0)
    iterated = SphereAscent().solve(objective)
    np.testing.assert_allclose(np.abs(factored.W.T @ iterated.W), 1.0, atol=1e-12)


def test_more_starts_look_at_more_rows():
    """With the smoothing and the n_reflections a few starts suffice here; more must not end lower."""
    Z = gaussian(700, 20, seed=3)
    few, many = (TL1PCA(1, a=1.0, center=None, n_starts=s).fit(Z).objective_ for s in (1, 8))
    assert many >= few * (1 - 1e-9)


def test_the_printed_basis_of_the_complement():
    W = np.linalg.qr(np.random.default_rng(0).normal(size=(40, 7)))[0]
    T = complement(W)
    np.testing.assert_allclose(T.T @ T, np.eye(33), atol=1e-12)
    np.testing.assert_allclose(W.T @ T, 0.0, atol=1e-12)


def test_rows_of_zeros_are_no_mirrors():
    Z = np.zeros((200, 4))
    Z[:20] = X[:20]
    alone, among = (TL1PCA(1, a=1.0, center=None).fit(rows).components_ for rows in (Z[:20], Z))
    np.testing.assert_allclose(np.abs(alone @ among.T), 1.0, atol=1e-7)
