"""What methods about a center share: shares, units, signs, robust variances."""

import numpy as np
import pytest

from support import gaussian
from tl1pca import TL1PCA, LpPCA
from tl1pca.estimators._base import _explained, product, signed_rows
from tl1pca.rows import DenseRows
from tl1pca.statistics import NORMAL_CONSISTENCY, tl1_scale

X = gaussian(200, 5, seed=3, decay=0.6)


def test_variances_are_squares_of_the_tl1_scale():
    W = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 2)))[0]
    variance, ratio, rank = _explained(DenseRows(X), W)
    T = X @ W
    right = [(NORMAL_CONSISTENCY * float(tl1_scale(np.abs(t - np.median(t)))[()])) ** 2 for t in T.T]
    np.testing.assert_allclose(variance, right, rtol=1e-6)
    off = np.median(np.linalg.norm(X - T @ W.T, axis=1)) ** 2
    np.testing.assert_allclose(ratio, variance / (variance.sum() + off), rtol=1e-6)
    assert rank == 2


def test_a_share_takes_the_fewest_components_that_reach_it():
    for pca in (TL1PCA(0.8), LpPCA(0.8, p=1)):
        pca.fit(X)
        k = pca.n_components_
        assert 1 < k < 5
        fewer = type(pca)(k - 1).fit(X) if type(pca) is TL1PCA else LpPCA(k - 1, p=1).fit(X)
        assert fewer.explained_variance_ratio_.sum() < 0.8


def test_signs():
    W = np.array([[1.0, -3.0], [-2.0, 1.0]])
    np.testing.assert_array_equal(signed_rows(W), [[-1.0, 2.0], [3.0, -1.0]])


def test_a_product_ends_at_the_largest_number():
    top = np.finfo(np.float32).max
    assert product(np.array([1e30]), 1e30, dtype=np.float32)[0] == top
    assert product(np.array([1e300]), 1e300)[0] == np.finfo(np.float64).max
    assert product(np.array([2.0]), 3.0, 4.0)[0] == 24.0


@pytest.mark.parametrize("factor", [2.0**-900, 2.0**900])
def test_units_at_the_end_of_the_range(factor):
    near, far = (TL1PCA(2).fit(f * X) for f in (1.0, factor))
    np.testing.assert_allclose(near.components_, far.components_, atol=1e-9)
    np.testing.assert_allclose(far.objective_ / factor, near.objective_, rtol=1e-9)
