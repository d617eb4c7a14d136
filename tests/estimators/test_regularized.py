"""PCA-L1 with a trace lasso between plain PCA-L1 and single columns."""

import numpy as np
import pytest

from support import gaussian
from tl1pca import L1PCA, RegularizedL1PCA

X = gaussian(60, 5, seed=2, decay=0.7)


def test_without_a_penalty_it_is_l1pca():
    plain = L1PCA(1, greedy=True, center="mean").fit(X).objective_
    free = RegularizedL1PCA(1, center="mean", penalty=0.0).fit(X).objective_
    assert free >= plain * (1 - 1e-9)


@pytest.mark.parametrize("weights", [None, np.arange(60) % 3 + 1.0])
def test_the_objective_is_the_published_one(weights):
    pca = RegularizedL1PCA(1, penalty=0.3).fit(X, sample_weight=weights)
    v = np.ones(60) if weights is None else weights
    A, w = X - pca.mean_, pca.components_[0]
    lasso = np.linalg.svd(np.sqrt(v)[:, None] * A * w, compute_uv=False).sum()
    assert pca.objective_ == pytest.approx(v @ np.abs(A @ w) - 0.3 * lasso, rel=1e-9)


def test_paths_ascend_and_components_are_orthonormal():
    pca = RegularizedL1PCA(3).fit(X)
    assert all((np.diff(path) >= 0).all() for path in pca.objective_path_)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(3), atol=1e-10)
    with pytest.raises(ValueError):  # noqa: PT011
        RegularizedL1PCA(1, tol=-1.0).fit(X)
