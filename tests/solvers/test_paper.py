"""Algorithm 1 of the paper against an explicit transliteration of it."""

import numpy as np
import pytest

from support import gaussian
from tl1pca import TL1, TL1PCA
from tl1pca.objectives import dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers import PaperAscent, State
from transliteration import algorithm_2, complement


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


def test_the_printed_basis_of_the_complement():
    W = np.linalg.qr(np.random.default_rng(0).normal(size=(40, 7)))[0]
    T = complement(W)
    np.testing.assert_allclose(T.T @ T, np.eye(33), atol=1e-12)
    np.testing.assert_allclose(W.T @ T, 0.0, atol=1e-12)


def test_the_angle_is_halved_and_doubled():
    """One step: from the given angle down to the first that does not descend, then doubled."""
    X = gaussian(30, 3, seed=2)
    objective = dispersion(DenseRows(X), TL1(a=1.0))
    w = np.eye(3)[:, 0]
    theta = 0.4 * np.pi
    t = X @ w
    g = X.T @ (np.sign(t) * TL1(a=1.0).slope(np.abs(t)))
    g -= w * (w @ g)
    g /= np.linalg.norm(g)
    angle = theta
    while objective.value(np.cos(angle) * w + np.sin(angle) * g) < objective.value(w):
        angle *= 0.5
    found = PaperAscent(max_iter=1).solve(objective, State(w[:, None], theta))
    np.testing.assert_allclose(found.W[:, 0], np.cos(angle) * w + np.sin(angle) * g, atol=1e-12)
    assert found.state.step == pytest.approx(min(2 * angle, np.pi / 2))
    assert not found.converged
    assert len(found.path) == 2


def test_it_stops_at_an_absolute_gain():
    objective = dispersion(DenseRows(gaussian(30, 3, seed=2)), TL1(a=1.0))
    path = PaperAscent(tol=1e-2).solve(objective).path
    assert np.diff(path)[-1] < 1e-2
    assert (np.diff(path)[:-1] >= 1e-2).all()


def test_a_maximum_at_the_start_is_seen():
    objective = dispersion(DenseRows(np.outer([1.0, 2.0, -1.0], [3.0, 4.0])), TL1(a=1.0))
    found = PaperAscent().solve(objective)
    assert found.converged
    assert len(found.path) == 1
    np.testing.assert_allclose(np.abs(found.W[:, 0]), [0.6, 0.8])


def test_the_first_angle_is_drawn():
    objective = dispersion(DenseRows(gaussian(30, 3, seed=2)), TL1(a=1.0))
    first, again, other = (
        PaperAscent(max_iter=1).solve(objective, rng=np.random.RandomState(seed)).W for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


def test_without_a_generator_the_angle_is_fixed():
    objective = dispersion(DenseRows(gaussian(30, 3, seed=2)), TL1(a=1.0))
    plain = PaperAscent(max_iter=1).solve(objective)
    drawn = PaperAscent(max_iter=1).solve(objective, rng=np.random.RandomState(0))
    np.testing.assert_array_equal(plain.W, drawn.W)
    assert 0.0 < plain.state.step <= np.pi / 2
