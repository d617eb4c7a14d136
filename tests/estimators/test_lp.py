"""Powers of projections: classical PCA at p = 2, constraints on balls, and what is refused."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from support import gaussian
from tl1pca import L1PCA, GeneralizedLpPCA, LpPCA

X = gaussian(80, 5, seed=2, decay=0.7)
AXES = PCA(2).fit(X).components_


@pytest.mark.parametrize("pca", [LpPCA(2, p=2, center="mean"), GeneralizedLpPCA(2, s=2, p=2, center="mean")])
def test_two_is_classical(pca):
    W = pca.fit(X).components_
    np.testing.assert_allclose(np.abs(np.sum(W * AXES, axis=1)), 1.0, atol=1e-6)


def test_greedy_and_joint_agree_on_one_component():
    for p in (1, 1.5):
        one, all_at_once = (LpPCA(1, p=p, greedy=greedy).fit(X).objective_ for greedy in (True, False))
        assert one == pytest.approx(all_at_once, rel=1e-9)
    assert L1PCA(1).fit(X).objective_ == pytest.approx(LpPCA(1, p=1).fit(X).objective_, rel=1e-9)


@pytest.mark.parametrize("p", [1.0, 1.5, np.inf])
def test_components_have_length_one_in_their_norm(p):
    W = GeneralizedLpPCA(2, s=1, p=p).fit(X).components_
    np.testing.assert_allclose([np.linalg.norm(w, p) for w in W], 1.0)
    assert GeneralizedLpPCA(p=p)._oblique
    assert not GeneralizedLpPCA(p=p)._rotates
    assert GeneralizedLpPCA(p=2)._rotates


@pytest.mark.parametrize(
    ("pca", "words"),
    [
        (GeneralizedLpPCA(s=0.5), "s must be a finite number, at least 1"),
        (GeneralizedLpPCA(p=0), "p must be a positive number"),
        (GeneralizedLpPCA(p=0.001), r"too small for 5 features.*at least 0\.0048"),
        (LpPCA(p=-1), "p"),
    ],
)
def test_what_makes_no_sense_is_refused(pca, words):
    with pytest.raises(ValueError, match=words):
        pca.fit(X)
