"""Presets of the residual side."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from support import gaussian, subspace_angle
from tl1pca import R1PCA, Cauchy, Huber, Lp, ResidualPCA

X = gaussian(80, 5, seed=2, decay=0.7)


@pytest.mark.parametrize(("word", "operator"), [("huber", Huber()), ("l1", Lp(p=1)), ("cauchy", Cauchy())])
def test_r1pca_names_operators(word, operator):
    preset, composed = R1PCA(2, weights=word).fit(X), ResidualPCA(2, operator=operator).fit(X)
    np.testing.assert_allclose(preset.components_, composed.components_, atol=1e-9)
    assert preset.objective_ == pytest.approx(composed.objective_)


@pytest.mark.parametrize("kind", [Huber, Cauchy])
def test_an_automatic_parameter_is_the_median_distance_to_the_classical_subspace(kind):
    centered = X - ResidualPCA(2, operator=kind()).fit(X).mean_
    W = np.linalg.svd(centered, full_matrices=False)[2][:2].T
    c = float(np.median(np.linalg.norm(centered - centered @ W @ W.T, axis=1)))
    found, given = (ResidualPCA(2, operator=operator).fit(X) for operator in (kind(), kind(c=c)))
    np.testing.assert_allclose(found.components_, given.components_, atol=1e-9)


def test_squares_are_classical():
    W = ResidualPCA(2, operator=Lp(p=2), center="mean").fit(X).components_
    assert subspace_angle(W, PCA(2).fit(X).components_) < 1e-4


def test_what_is_refused():
    with pytest.raises(TypeError, match="operator must be an Operator such as Huber"):
        ResidualPCA(operator="huber").fit(X)
    with pytest.raises(ValueError, match="weights"):
        R1PCA(weights="l3").fit(X)
    with pytest.raises(ValueError, match="concave in t"):
        ResidualPCA(operator=Lp(p=3)).fit(X)
