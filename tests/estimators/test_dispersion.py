"""Presets of the dispersion: which parts they are made of, and what they refuse."""

import numpy as np
import pytest

from support import gaussian
from tl1pca import TL1, TL1PCA, DispersionPCA, Huber, Lp
from tl1pca.estimators._dispersion import choose_solver
from tl1pca.solvers import FixedPoint, PaperAscent, SphereAscent, StiefelAscent

X = gaussian(60, 4, seed=1)


@pytest.mark.parametrize(
    ("operator", "extraction", "kind"),
    [
        (TL1(a=1.0), "greedy", SphereAscent),
        (TL1(a=1.0), "joint", StiefelAscent),
        (Lp(p=1.5), "greedy", FixedPoint),
        (Huber(c=1.0), "joint", FixedPoint),
    ],
)
def test_auto_goes_by_the_traits(operator, extraction, kind):
    assert type(choose_solver("auto", operator, extraction)) is kind
    assert type(choose_solver("paper", operator, extraction)) is PaperAscent
    given = StiefelAscent(tol=1e-3)
    assert choose_solver(given, operator, extraction) is given


def test_tl1pca_is_a_preset():
    same = DispersionPCA(2, operator=TL1(a=0.7), solver=SphereAscent(n_starts=12)).fit(X)
    preset = TL1PCA(2, a=0.7, n_starts=12).fit(X)
    np.testing.assert_allclose(np.abs(np.sum(same.components_ * preset.components_, axis=1)), 1.0, atol=1e-8)
    assert preset.a_.tolist() == [0.7, 0.7]
    auto = TL1PCA(2).fit(X)
    np.testing.assert_allclose(auto.a_, [path[-1] for path in auto.objective_path_])


@pytest.mark.parametrize(
    ("pca", "error", "words"),
    [
        (DispersionPCA(operator="tl1"), TypeError, "operator must be an Operator"),
        (DispersionPCA(extraction="both"), ValueError, "extraction must be 'greedy' or 'joint'"),
        (DispersionPCA(solver="fast"), ValueError, "solver must be 'auto', 'paper' or a Solver"),
        (TL1PCA(solver=3), TypeError, "solver must be 'auto', 'paper' or a Solver"),
        (DispersionPCA(extraction="joint"), ValueError, "defined per component"),
        (DispersionPCA(operator=Huber()), ValueError, "defined for residuals"),
        (TL1PCA(n_starts=0), ValueError, "n_starts must be a positive integer"),
        (TL1PCA(tol=-1.0), ValueError, "tol must be a non-negative number"),
        (TL1PCA(max_iter=0), ValueError, "max_iter must be a positive integer"),
        (TL1PCA(solver=FixedPoint()), ValueError, "needs an operator that is convex"),
    ],
)
def test_what_makes_no_sense_is_refused(pca, error, words):
    with pytest.raises(error, match=words):
        pca.fit(X)
