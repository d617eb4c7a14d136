"""The default solver against brute force in the plane, and its two forms of a Newton step."""

import numpy as np
import pytest

from support import gaussian, name, plane_optimum
from tl1pca import TL1, TL1PCA, Lp
from tl1pca.objectives import dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers import SphereAscent, ascent

X = gaussian(60, 4, seed=1)


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


def test_rows_of_zeros_are_no_mirrors():
    Z = np.zeros((200, 4))
    Z[:20] = X[:20]
    alone, among = (TL1PCA(1, a=1.0, center=None).fit(rows).components_ for rows in (Z[:20], Z))
    np.testing.assert_allclose(np.abs(alone @ among.T), 1.0, atol=1e-7)
