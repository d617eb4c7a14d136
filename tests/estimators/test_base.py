"""What methods about a center share: shares, units, signs, robust variances."""

import numpy as np
import pytest

from support import CENTERED, ESTIMATORS, gaussian, name, with_components
from tl1pca import (
    L1PCA,
    R1PCA,
    TL1,
    TL1PCA,
    DispersionPCA,
    L1BestFitPCA,
    L1ReconstructionPCA,
    LpPCA,
    ResidualPCA,
)
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


JOINT = [
    L1PCA(),
    LpPCA(p=1),
    DispersionPCA(operator=TL1(a=1.0), extraction="joint"),
    R1PCA(weights="l1"),
    ResidualPCA(operator=TL1()),
    L1ReconstructionPCA(),
    L1BestFitPCA(),
]


@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
@pytest.mark.parametrize("pca", [TL1PCA(), *JOINT], ids=name)
def test_a_share_takes_the_fewest_components_that_reach_it(pca, share):
    """Rows far out turn the classical axes, so that these need another number of them."""
    for far in (0, 12):
        rows = np.vstack([X, gaussian(far, 5) * [0, 0, 0, 0, 8] + [0, 0, 0, 0, 20]])
        fitted = with_components(pca, share).fit(rows)
        assert fitted.explained_variance_ratio_.sum() >= share
        k = fitted.n_components_
        np.testing.assert_array_equal(with_components(pca, k).fit(rows).components_, fitted.components_)
        if k > 1:
            assert with_components(pca, k - 1).fit(rows).explained_variance_ratio_.sum() < share


def test_a_share_of_rows_with_gaps():
    gaps = X.copy()
    gaps[::7, 2] = np.nan
    fitted = L1ReconstructionPCA(0.7).fit(gaps)
    assert fitted.explained_variance_ratio_.sum() >= 0.7
    assert L1ReconstructionPCA(fitted.n_components_ - 1).fit(gaps).explained_variance_ratio_.sum() < 0.7


def test_signs():
    W = np.array([[1.0, -3.0], [-2.0, 1.0]])
    np.testing.assert_array_equal(signed_rows(W), [[-1.0, 2.0], [3.0, -1.0]])


def test_a_product_ends_at_the_largest_number():
    top = np.finfo(np.float32).max
    assert product(np.array([1e30]), 1e30, dtype=np.float32)[0] == top
    assert product(np.array([1e300]), 1e300)[0] == np.finfo(np.float64).max
    assert product(np.array([2.0]), 3.0, 4.0)[0] == 24.0


@pytest.mark.parametrize("estimator", CENTERED, ids=name)
def test_variances_are_those_of_the_scores_on_the_data(estimator):
    pca = with_components(estimator, 2).fit(X)
    W = (pca.components_ / np.linalg.norm(pca.components_, axis=1)[:, None]).T
    T = (X - pca.mean_) @ W
    scales = [float(tl1_scale(np.abs(t - np.median(t)))[()]) for t in T.T]
    np.testing.assert_allclose(
        pca.explained_variance_, (NORMAL_CONSISTENCY * np.array(scales)) ** 2, rtol=1e-5
    )
    rest = (X - pca.mean_) @ (np.eye(5) - W @ np.linalg.pinv(W))
    total = pca.explained_variance_.sum() + np.median(np.linalg.norm(rest, axis=1)) ** 2
    np.testing.assert_allclose(pca.explained_variance_ratio_, pca.explained_variance_ / total, rtol=1e-5)


#: Those without a parameter in the units of the data.
UNITLESS = [
    e for e in ESTIMATORS if getattr(e, "a", "auto") == "auto" and getattr(e, "operator", None) is None
]


@pytest.mark.parametrize("factor", [2.0**-300, 2.0**300])
@pytest.mark.parametrize("estimator", UNITLESS, ids=name)
def test_variances_in_units_whose_squares_are_numbers(estimator, factor):
    """Fitted in other units, of which no square is beyond the range of its own products."""
    near, far = (with_components(estimator, 2).fit(f * X) for f in (1.0, factor))
    np.testing.assert_allclose(far.components_, near.components_, atol=1e-9)
    np.testing.assert_allclose(far.explained_variance_ / factor**2, near.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(far.explained_variance_ratio_, near.explained_variance_ratio_, rtol=1e-9)


@pytest.mark.parametrize("factor", [2.0**-900, 2.0**900])
def test_units_at_the_end_of_the_range(factor):
    near, far = (TL1PCA(2).fit(f * X) for f in (1.0, factor))
    np.testing.assert_allclose(near.components_, far.components_, atol=1e-9)
    np.testing.assert_allclose(far.objective_ / factor, near.objective_, rtol=1e-9)
