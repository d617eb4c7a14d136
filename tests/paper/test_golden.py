"""The published figures and the golden values of the paper's data."""

import warnings

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from tl1pca import (
    L1PCA,
    R1PCA,
    TL1PCA,
    Cauchy,
    GeneralizedLpPCA,
    Huber,
    L1ReconstructionPCA,
    Lp,
    LpPCA,
    ResidualPCA,
    SparseLpPCA,
)
from tl1pca.datasets import load_toy, load_yale, make_kwak
from tl1pca.objectives import Dispersion
from tl1pca.operators import TL1
from tl1pca.rows import DenseRows
from tl1pca.solvers import best_sample

#: center, a: direction in degrees, objective, start row (0-based), objective there.
TOY = [
    (None, 100, 66.837748, 76.64831296, 11, 76.64389386),
    (None, 1, 56.532448, 43.33003534, 8, 43.32473354),
    (None, 0.01, 47.859453, 34.09312579, 2, 34.09312511),
    ("mean", 100, 61.461272, 73.41138044, 1, 73.37262732),
    ("mean", 1, 53.083817, 42.11114158, 28, 42.11067700),
    ("mean", 0.01, 49.441967, 34.07816029, 14, 34.07762096),
]
#: center, a: start row, objective there, local optimum that Newton reaches from it.
YALE = [
    (None, 100, 150, 1870.26282333, 1928.36832023),
    (None, 1, 150, 305.02441193, 305.82370842),
    (None, 0.01, 150, 166.51310428, 166.51786361),
    ("mean", 100, 50, 303.97428503, 349.70065758),
    ("mean", 1, 154, 181.18665374, 197.57227723),
    ("mean", 0.01, 154, 164.63810819, 165.32038068),
]


def degrees(pca):
    w = pca.components_[0]
    return np.degrees(np.arctan2(w[1], w[0])) % 180


def centered(X, center):
    return DenseRows(X if center is None else X - X.mean(axis=0))


@pytest.fixture(scope="module")
def toy(data_home):
    return load_toy(data_home)[0]


@pytest.fixture(scope="module")
def yale(data_home):
    return load_yale(data_home)[0]


@pytest.mark.parametrize(("center", "a", "angle", "value", "row", "f0"), TOY)
class TestToy:
    def test_default_solver_is_at_the_global_optimum(self, toy, center, a, angle, value, row, f0):
        pca = TL1PCA(1, a=a, center=center).fit(toy)
        assert pca.objective_ == pytest.approx(value, rel=1e-8)
        assert degrees(pca) == pytest.approx(angle, abs=1e-4)
        assert pca.converged_

    def test_start(self, toy, center, a, angle, value, row, f0):
        start = best_sample(Dispersion(centered(toy, center), TL1(a=a)))
        assert start.index == row
        assert start.value == pytest.approx(f0, rel=1e-9)

    @pytest.mark.parametrize("seed", range(10))
    def test_paper_solver_at_any_seed(self, toy, center, a, angle, value, row, f0, seed):
        pca = TL1PCA(1, a=a, center=center, solver="paper", random_state=seed).fit(toy)
        assert degrees(pca) == pytest.approx(angle, abs=0.1)
        assert pca.objective_path_[0][0] == pytest.approx(f0, rel=1e-9)


@pytest.mark.parametrize(("a", "printed", "ours"), [(100, 21.8, 21.84), (1, 11.5, 11.53), (0.01, 2.8, 2.86)])
def test_the_angles_printed_in_the_paper(toy, a, printed, ours):
    for solver in ("auto", "paper"):
        away = degrees(TL1PCA(1, a=a, center=None, solver=solver, random_state=0).fit(toy)) - 45
        assert away == pytest.approx(ours, abs=0.1)
        assert away == pytest.approx(printed, abs=0.1)


@pytest.mark.parametrize(("center", "a", "row", "f0", "value"), YALE)
def test_yale(yale, center, a, row, f0, value):
    start = best_sample(Dispersion(centered(yale, center), TL1(a=a)))
    assert start.index == row
    assert start.value == pytest.approx(f0, rel=1e-9)
    # The starts of the default solver include this one: it may end higher, never lower.
    assert TL1PCA(1, a=a, center=center).fit(yale).objective_ >= value * (1 - 1e-9)


@pytest.mark.parametrize(("center", "value"), [(None, 2168.14758415), ("mean", 355.90988318)])
def test_yale_l1_from_the_pca_start(yale, center, value):
    for greedy in (False, True):
        assert L1PCA(1, greedy=greedy, center=center).fit(yale).objective_ == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(("p", "away"), [(1, 22.09), (0.5, 21.07)])
def test_toy_published_lp(toy, p, away):
    assert degrees(LpPCA(1, p=p, solver="paper", center=None).fit(toy)) - 45 == pytest.approx(away, abs=5e-3)


@pytest.mark.parametrize(("p", "away"), [(1, 22.09), (0.5, 21.49)])
def test_toy_published_sparse(toy, p, away):
    assert degrees(SparseLpPCA(1, p=p, center=None).fit(toy)) - 45 == pytest.approx(away, abs=5e-3)


@pytest.mark.parametrize(
    ("center", "p", "angle", "value"),
    [
        (None, 1, 67.092211, 78.25853297),
        (None, 0.5, 66.268573, 48.95701041),
        (None, 0.01, 54.071349, 34.20530514),
        ("mean", 1, 61.755185, 74.96636493),
        ("mean", 0.5, 56.592801, 47.54502847),
        ("mean", 0.01, 52.969784, 34.18408913),
    ],
)
def test_toy_lp_global_optimum(toy, center, p, angle, value):
    pca = LpPCA(1, p=p, greedy=True, center=center).fit(toy)
    assert pca.objective_ == pytest.approx(value, rel=1e-8)
    assert degrees(pca) == pytest.approx(angle, abs=1e-3)


@pytest.mark.parametrize(
    ("pca", "distance"), [(L1PCA(1, center=None), 1.200), (R1PCA(1, center=None), 1.206)], ids=["l1", "r1"]
)
def test_kwak_points(pca, distance):
    X = make_kwak()
    assert -pca.fit(X).score_samples(X).mean() == pytest.approx(distance, abs=5e-4)


@pytest.mark.parametrize("p", [0.9, 0.5, 0.1, 0.01])
@pytest.mark.parametrize("k", [1, 3])
def test_the_sound_lp_solver_is_never_below_the_published_rule(p, k):
    X = np.random.default_rng(k).standard_t(3, size=(40, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        published = LpPCA(k, p=p, solver="paper").fit(X)
    sound = LpPCA(k, p=p).fit(X)
    assert sound.objective_ >= published.objective_ * (1 - 1e-12)
    assert (np.diff(sound.objective_path_[0]) >= 0).all()
    np.testing.assert_allclose(sound.components_ @ sound.components_.T, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(published.components_ @ published.components_.T, np.eye(k), atol=1e-12)


def test_a_published_rule_that_does_not_converge_says_so():
    X = np.random.default_rng(3).standard_t(2, size=(40, 4))
    with pytest.warns(ConvergenceWarning, match="neither monotone nor convergent"):
        LpPCA(2, p=0.01, solver="paper", max_iter=20).fit(X)
    with pytest.warns(ConvergenceWarning, match="last iterate is kept"):
        pca = SparseLpPCA(2, p=0.01, n_nonzero=2, solver="paper", max_iter=3).fit(X)
    np.testing.assert_allclose(np.linalg.norm(pca.components_, axis=1), 1.0)


def test_p_two_is_pca():
    X = np.random.default_rng(0).normal(size=(50, 6)) * [6, 5, 4, 3, 2, 1]
    reference = PCA(3).fit(X).components_
    for pca in (
        LpPCA(3, p=2, center="mean"),
        LpPCA(3, p=2, greedy=True, center="mean"),
        GeneralizedLpPCA(3, s=2, p=2, center="mean"),
    ):
        inner = np.abs(np.sum(pca.fit(X).components_ * reference, axis=1))
        np.testing.assert_allclose(inner, 1.0, atol=1e-8)


def test_generalized_constraints():
    X = np.random.default_rng(1).normal(size=(60, 4)) * [4, 3, 2, 1]
    one = GeneralizedLpPCA(2, s=1, p=1).fit(X).components_
    assert (np.count_nonzero(one, axis=1) == 1).all()
    signs = GeneralizedLpPCA(2, s=1, p=np.inf).fit(X).components_
    np.testing.assert_array_equal(np.abs(signs), 1.0)
    for p in (0.5, 1.5, 3.0):
        W = GeneralizedLpPCA(2, s=1, p=p).fit(X).components_
        np.testing.assert_allclose((np.abs(W) ** p).sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "paper"])
@pytest.mark.parametrize("s", [1, 3, 5])
def test_exactly_so_many_loadings(s, solver):
    X = np.random.default_rng(2).normal(size=(40, 5))
    W = SparseLpPCA(3, n_nonzero=s, solver=solver).fit(X).components_
    assert (np.count_nonzero(W, axis=1) == s).all()


def test_r1_is_a_preset_of_the_residual_side():
    X = np.random.default_rng(4).normal(size=(40, 5))
    for name, operator in (("huber", Huber()), ("l1", Lp(p=1)), ("cauchy", Cauchy())):
        np.testing.assert_array_equal(
            R1PCA(2, weights=name).fit(X).components_, ResidualPCA(2, operator=operator).fit(X).components_
        )


@pytest.mark.parametrize("solver", ["median", "lp"])
def test_reconstruction_recovers_a_low_rank_matrix(solver):
    rng = np.random.default_rng(5)
    L = rng.normal(size=(100, 3)) @ rng.normal(size=(3, 30))
    X = L.copy()
    bad = rng.uniform(size=X.shape) < 0.1
    X[bad] += rng.choice([-10.0, 10.0], size=int(bad.sum()))
    pca = L1ReconstructionPCA(3, solver=solver, center=None).fit(X)
    off = L - (L @ pca.components_.T) @ pca.components_
    assert np.abs(off).max() < 1e-6
    holes = X.copy()
    holes[rng.uniform(size=X.shape) < 0.05] = np.nan
    again = L1ReconstructionPCA(3, solver=solver, center=None).fit(holes)
    assert np.abs(L - (L @ again.components_.T) @ again.components_).max() < 1e-6
    filled = again.inverse_transform(again.transform(np.where(np.isnan(holes), np.nan, L)))
    np.testing.assert_allclose(filled, L, atol=1e-6)
