"""PCA-L1 with a trace lasso between plain PCA-L1 and single columns."""

import numpy as np
import pytest

from support import gaussian
from tl1pca import L1PCA, RegularizedL1PCA

X = gaussian(60, 5, seed=2, decay=0.7)


def test_without_a_penalty_it_is_l1pca():
    plain = L1PCA(1, greedy=True, center="mean").fit(X).objective_
    name = next(
        n for n in RegularizedL1PCA().get_params() if n in ("penalty", "alpha", "reg", "regularization")
    )
    free = RegularizedL1PCA(1, center="mean", **{name: 0.0}).fit(X).objective_
    assert free >= plain * (1 - 1e-9)


def test_paths_ascend_and_components_are_orthonormal():
    pca = RegularizedL1PCA(3).fit(X)
    assert all((np.diff(path) >= 0).all() for path in pca.objective_path_)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(3), atol=1e-10)
    with pytest.raises(ValueError):  # noqa: PT011
        RegularizedL1PCA(1, tol=-1.0).fit(X)
