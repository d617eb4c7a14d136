"""All directions at once, for more rows than are taken one direction after the other."""

import numpy as np
import pytest

from support import gaussian
from tl1pca import TL1, TL1PCA, Lp
from tl1pca.objectives import dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers import SphereAscent, ascent
from tl1pca.solvers.together import ascend_together, smooth_ascent

N = ascent.ONE_BY_ONE + 300
OPERATORS = [TL1(a=1.0), TL1(), Lp(p=1), Lp(p=0.7)]


def ascended(X, operator, count, weights=None, **options):
    options = {"tol": 1e-8, "max_iter": 1000} | options
    objective = dispersion(DenseRows(X, weights=weights), operator)
    return objective, ascend_together(objective, np.zeros((X.shape[1], 0)), count, **options)


def stacked(found):
    return np.column_stack([one.W for one in found])


@pytest.mark.parametrize("operator", OPERATORS, ids=repr)
def test_orthonormal_directions_whose_paths_end_at_their_objective(operator):
    objective, found = ascended(gaussian(N, 8), operator, 3)
    W = stacked(found)
    np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-12)
    for one in found:
        assert (np.diff(one.path) >= 0).all()
        assert one.converged
    np.testing.assert_allclose(objective.value(W).sum(), sum(one.path[-1] for one in found), rtol=1e-4)


@pytest.mark.parametrize("operator", OPERATORS, ids=repr)
def test_as_high_as_one_by_one(monkeypatch, operator):
    X = gaussian(N, 10)
    together = sum(one.path[-1] for one in ascended(X, operator, 3)[1])
    monkeypatch.setattr(ascent, "ONE_BY_ONE", 5000)
    objective, total = dispersion(DenseRows(X), operator), 0.0
    for _ in range(3):
        alone = SphereAscent().solve(objective)
        objective, total = objective.deflated(alone.W), total + alone.path[-1]
    assert together >= 0.995 * total


def test_every_direction_is_a_maximum_in_the_complement_of_those_before_it():
    X = gaussian(4000, 6)
    objective, found = ascended(X, TL1(a=1.0), 3)
    W = stacked(found)
    for j in range(3):
        best = float(objective.value(W[:, j]))
        inside = W[:, j:]
        for turn in np.linspace(-0.3, 0.3, 7):
            for other in range(1, inside.shape[1]):
                w = np.cos(turn) * inside[:, 0] + np.sin(turn) * inside[:, other]
                assert float(objective.value(w)) <= best * (1 + 2e-3)


def test_weights_are_repeated_rows():
    X = gaussian(N, 5)
    v = np.random.default_rng(0).integers(1, 3, N).astype(float)
    _, weighted = ascended(X, TL1(), 2, weights=v)
    _, repeated = ascended(np.repeat(X, v.astype(int), axis=0), TL1(), 2)
    assert sum(w.path[-1] for w in weighted) == pytest.approx(sum(r.path[-1] for r in repeated), rel=2e-3)


def test_earlier_directions_are_left_alone():
    X = gaussian(N, 6)
    rows = DenseRows(X)
    earlier = np.eye(6)[:, :2]
    objective = dispersion(rows.deflated(earlier), TL1())
    W = stacked(ascend_together(objective, earlier, 2, tol=1e-8, max_iter=50))
    np.testing.assert_allclose(earlier.T @ W, 0.0, atol=1e-12)


def test_the_directions_end_with_the_span_of_the_rows():
    X = gaussian(N, 2) @ np.random.default_rng(0).normal(size=(2, 7))
    assert len(ascended(X, TL1(), 5)[1]) == 2
    pca = TL1PCA(a=1.0).fit(X)
    assert pca.n_components_ == pca.rank_ == 2


def test_max_iter_ends_the_steps_with_sharp_kinks():
    found = ascended(gaussian(N, 6), TL1(a=0.1), 2, max_iter=1, tol=0.0)[1]
    assert all(len(one.path) <= 2 and not one.converged for one in found)


def test_more_starts_compete_for_the_first_places():
    data = [np.random.default_rng(seed).standard_t(2.2, size=(N + 300, 8)) for seed in range(4)]
    one, several = ([TL1PCA(1, a=1.0, n_starts=n).fit(X).objective_ for X in data] for n in (1, 8))
    assert np.mean(several) > np.mean(one)


def test_wide_rows_are_not_turned_into_their_span():
    wide = gaussian(N, 40) @ np.random.default_rng(0).normal(size=(40, N + 100))
    rows = DenseRows(wide)
    assert not SphereAscent().gains_by_turning(rows, 3)
    assert SphereAscent().gains_by_turning(rows, N // 2)
    pca = TL1PCA(3, a=100.0).fit(wide)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(3), atol=1e-10)
    turned, lift = rows.shifted(pca.mean_).to_row_space()
    W = lift(smooth_ascent(dispersion(turned, TL1(a=100.0)), np.zeros((turned.shape[1], 0)), 1).W)
    assert pca.objective_path_[0][-1] >= 0.99 * float(
        dispersion(rows.shifted(pca.mean_), TL1(a=100.0)).value(W)[0]
    )
