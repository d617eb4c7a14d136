"""Properties of Tl1PCA on random matrices of all small shapes."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support import matrices, subspace_angle
from tl1pca import L1PCA, R1PCA, TL1PCA, DispersionPCA, Lp, ResidualPCA

# Moderate shapes: for very small a the objective is chaotic in the last digits of the data.
shapes = st.sampled_from([0.5, 1.0, 3.0, "auto"])


def same(first, second, rel=1e-7):
    """Equal objectives; equal lines where the maximum is not shared by two of them."""
    assert first.objective_ == pytest.approx(second.objective_, rel=rel)


@given(matrices(), shapes, st.integers(1, 3))
def test_path_is_monotone_and_components_orthonormal(X, a, k):
    pca = TL1PCA(min(k, *X.shape), a=a).fit(X)
    for path in pca.objective_path_:
        assert (np.diff(path) >= 0).all()
    W = pca.components_
    np.testing.assert_allclose(W @ W.T, np.eye(len(W)), atol=1e-12)


@given(matrices(), shapes, st.integers(0, 1000))
def test_order_of_rows(X, a, seed):
    order = np.random.default_rng(seed).permutation(len(X))
    same(TL1PCA(1, a=a).fit(X), TL1PCA(1, a=a).fit(X[order]))


@given(matrices(), shapes, st.integers(0, 1000))
def test_signs_of_rows(X, a, seed):
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(len(X), 1))
    same(TL1PCA(1, a=a, center=None).fit(X), TL1PCA(1, a=a, center=None).fit(signs * X))


@given(matrices(), shapes)
def test_rows_that_occur_twice(X, a):
    once, twice = TL1PCA(1, a=a).fit(X), TL1PCA(1, a=a).fit(np.vstack([X, X]))
    factor = 1 if a == "auto" else 2
    assert twice.objective_ == pytest.approx(factor * once.objective_, rel=1e-7)


@given(matrices(min_columns=2), shapes, st.integers(0, 1000))
def test_rotation(X, a, seed):
    d = X.shape[1]
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    first, second = TL1PCA(1, a=a).fit(X), TL1PCA(1, a=a).fit(X @ Q)
    same(first, second)
    turned = second.components_ @ Q.T
    at = TL1PCA(1, a=a).fit(X)
    value = lambda w: np.abs((X - at.mean_) @ w)  # noqa: E731
    # The rotated direction is as good in the original data.
    u = value(turned[0])
    alpha = at.a_[0]
    own = value(first.components_[0])
    assert np.sum(u / (alpha + u)) == pytest.approx(np.sum(own / (alpha + own)), rel=1e-6)


@given(matrices(), st.floats(1e-8, 1e8))
def test_units_do_not_matter_for_auto(X, c):
    first, second = TL1PCA(1).fit(X), TL1PCA(1).fit(c * X)
    np.testing.assert_allclose(second.a_, c * first.a_, rtol=1e-7)
    assert subspace_angle(first.components_, second.components_) < 1e-3


@given(matrices(), st.floats(1e-3, 1e3), st.floats(0.3, 5))
def test_a_moves_with_the_units(X, c, a):
    first, second = TL1PCA(1, a=a * c).fit(c * X), TL1PCA(1, a=a).fit(X)
    assert first.objective_ / (a * c + 1) == pytest.approx(second.objective_ / (a + 1), rel=1e-7)


@given(matrices(min_rows=6))
def test_large_a_is_l1(X):
    tl1 = TL1PCA(1, a=1e8, center="mean").fit(X)
    l1 = DispersionPCA(1, operator=Lp(p=1), solver="auto", center="mean").fit(X)
    assert tl1.objective_ == pytest.approx(l1.objective_, rel=1e-5)
    assert tl1.objective_ >= L1PCA(1, center="mean").fit(X).objective_ * (1 - 1e-5)


@given(matrices(min_columns=2), st.sampled_from(["huber", "l1", "cauchy"]), st.integers(0, 1000))
def test_residual_side_is_rotation_equivariant(X, weights, seed):
    d = X.shape[1]
    k = max(1, min(X.shape) // 2)
    assume(k < min(X.shape))
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    pca = R1PCA(k, weights=weights, tol=1e-12)
    first, second = pca.fit(X).objective_, pca.fit(X @ Q).objective_
    assert first == pytest.approx(second, rel=1e-6)


@given(matrices(min_columns=2))
def test_residual_path_never_rises(X):
    for pca in (ResidualPCA(1), ResidualPCA(1, operator=Lp(p=1))):
        assert (np.diff(pca.fit(X).objective_path_[0]) <= 0).all()


@given(matrices(), shapes)
def test_translation(X, a):
    shift = np.arange(1.0, X.shape[1] + 1)
    first, second = TL1PCA(1, a=a).fit(X), TL1PCA(1, a=a).fit(X + shift)
    same(first, second, rel=1e-6)
    np.testing.assert_allclose(second.mean_ - first.mean_, shift, atol=1e-5)
