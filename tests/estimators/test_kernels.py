"""KernelizedPCA: the plain method for the linear kernel, scikit-learn's KernelPCA for squares."""

import numpy as np
import pytest
from sklearn.datasets import make_circles
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import tl1pca
from support import gaussian
from tl1pca import L1PCA, R1PCA, TL1PCA, KernelizedPCA, LpPCA, TL1SubspacePCA
from tl1pca.diagnostics import Flag

X = gaussian(40, 4)
NEW = gaussian(7, 4, seed=1)
EQUIVARIANT = [TL1PCA(2), TL1PCA(2, a=1.0), L1PCA(2, greedy=True), LpPCA(2, p=1.5), R1PCA(2)]


def same_scores(a, b, atol=1e-7):
    np.testing.assert_allclose(a * np.sign((a * b).sum(axis=0)), b, atol=atol)


@pytest.mark.parametrize("estimator", EQUIVARIANT, ids=repr)
def test_linear_kernel_is_the_plain_method(estimator):
    ours, plain = KernelizedPCA(estimator, kernel="linear").fit(X), estimator.fit(X)
    same_scores(ours.transform(X), plain.transform(X))
    same_scores(ours.transform(NEW), plain.transform(NEW))
    np.testing.assert_allclose(ours.score_samples(NEW), plain.score_samples(NEW), atol=1e-6)
    np.testing.assert_allclose(ours.distances(NEW)[0], tl1pca.diagnostics.distances(plain, NEW)[0], rtol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine"])
def test_squares_are_kernel_pca(kernel):
    ours = KernelizedPCA(LpPCA(3, p=2, center="mean"), kernel=kernel, gamma=0.3).fit(X)
    theirs = KernelPCA(3, kernel=kernel, gamma=0.3).fit(X)
    same_scores(ours.transform(X), theirs.transform(X))
    same_scores(ours.transform(NEW), theirs.transform(NEW))


def test_pre_images_are_those_of_kernel_pca():
    ours = KernelizedPCA(LpPCA(3, p=2, center="mean"), gamma=0.3, fit_inverse_transform=True, alpha=0.1).fit(
        X
    )
    theirs = KernelPCA(3, kernel="rbf", gamma=0.3, fit_inverse_transform=True, alpha=0.1).fit(X)
    back = theirs.inverse_transform(theirs.transform(NEW))
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(NEW)), back, atol=1e-6)


def test_rows_of_the_fit_are_new_rows_too():
    pca = KernelizedPCA(TL1PCA(3), gamma=0.2)
    np.testing.assert_allclose(pca.fit_transform(X), pca.transform(X), atol=1e-9)


def test_a_constant_added_to_the_kernel_changes_nothing():
    K, new = rbf_kernel(X, gamma=0.3), rbf_kernel(NEW, X, gamma=0.3)
    plain = KernelizedPCA(TL1PCA(2), kernel="precomputed").fit(K)
    shifted = KernelizedPCA(TL1PCA(2), kernel="precomputed").fit(K + 5.0)
    same_scores(plain.transform(new), shifted.transform(new + 5.0), 1e-6)


def test_precomputed_and_callable_kernels():
    named = KernelizedPCA(TL1PCA(2), kernel="poly", gamma=0.5, degree=2).fit(X)
    K = polynomial_kernel(X, gamma=0.5, degree=2)
    given = KernelizedPCA(TL1PCA(2), kernel="precomputed").fit(K)
    called = KernelizedPCA(TL1PCA(2), kernel=lambda x, y: (0.5 * x @ y + 1.0) ** 2).fit(X)
    same_scores(given.transform(polynomial_kernel(NEW, X, gamma=0.5, degree=2)), named.transform(NEW))
    same_scores(called.transform(NEW), named.transform(NEW))
    np.testing.assert_allclose(called.score_samples(NEW), named.score_samples(NEW), atol=1e-6)
    assert given.__sklearn_tags__().input_tags.pairwise


def test_gaussian_of_great_width_is_linear():
    wide = KernelizedPCA(TL1PCA(2), gamma=1e-7).fit(X)
    same_scores(wide.transform(X) / np.sqrt(2e-7), TL1PCA(2).fit(X).transform(X), 1e-3)


def test_distance_to_the_subspace_counts_what_the_rows_do_not_span():
    pca = KernelizedPCA(TL1PCA(2), gamma=0.5).fit(X)
    far = np.full((1, 4), 100.0)  # k(z, x) = 0 for all x, so that |phi(z) - mean|^2 = 1 + mean K
    K = rbf_kernel(X, gamma=0.5)
    mean_score = pca.transform(far)[0]  # of the origin's shadow
    total = 1.0 + K.mean()
    coordinates = pca._coordinates(np.zeros((1, 40)))
    shifted = coordinates - pca.estimator_.mean_
    inside = (coordinates**2).sum()
    want = total - inside + (shifted**2).sum() - (mean_score**2).sum()
    assert pca.distances(far)[1][0] == pytest.approx(np.sqrt(want))


def test_landmarks():
    data = gaussian(300, 4)
    exact = KernelizedPCA(TL1PCA(2), kernel="linear").fit(data)
    few = KernelizedPCA(TL1PCA(2), kernel="linear", n_landmarks=20).fit(data)
    same_scores(few.transform(NEW), exact.transform(NEW), 1e-6)  # 20 rows span the space
    near = KernelizedPCA(TL1PCA(2), gamma=0.02, n_landmarks=60).fit(data)
    full = KernelizedPCA(TL1PCA(2), gamma=0.02).fit(data)
    assert len(near.landmarks_) == 60
    correlation = np.corrcoef(near.transform(NEW)[:, 0], full.transform(NEW)[:, 0])[0, 1]
    assert abs(correlation) > 0.999
    np.testing.assert_array_equal(
        near.transform(NEW), KernelizedPCA(TL1PCA(2), gamma=0.02, n_landmarks=60).fit(data).transform(NEW)
    )


def test_flags_in_feature_space():
    rings, _ = make_circles(300, factor=0.3, noise=0.03, random_state=0)
    outliers = np.random.default_rng(0).uniform(1.8, 2.2, size=(15, 2))
    pca = KernelizedPCA(TL1SubspacePCA(2), gamma=0.5).fit(np.vstack([rings, outliers]))
    assert (pca.flags(outliers) != Flag.REGULAR).all()
    assert (pca.flags(rings) == Flag.REGULAR).mean() > 0.95


def test_weights_are_repetitions():
    v = np.random.default_rng(0).integers(0, 3, size=40)
    weighted = KernelizedPCA(L1PCA(2, greedy=True), gamma=0.2).fit(X, sample_weight=v)
    repeated = KernelizedPCA(L1PCA(2, greedy=True), gamma=0.2).fit(np.repeat(X, v, axis=0))
    same_scores(weighted.transform(NEW), repeated.transform(NEW), 1e-5)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        KernelizedPCA(TL1SubspacePCA(2)).fit(X, sample_weight=v)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_a_row_without_weight_is_not_there(kernel):
    """Neither for the cut-offs nor for landmarks and pre-images."""
    v, given = np.random.default_rng(0).integers(0, 3, size=40), np.vstack([X[:20], 5 * X[20:]])
    used = np.flatnonzero(v)
    plain = {"estimator": L1PCA(2, greedy=True), "gamma": 0.2, "fit_inverse_transform": kernel == "rbf"}
    some, without = KernelizedPCA(**plain).fit(given[used], sample_weight=v[used]), KernelizedPCA(**plain)
    new = NEW
    if kernel == "precomputed":
        without.set_params(kernel=kernel)
        given, new = rbf_kernel(given, gamma=0.2), rbf_kernel(NEW, given, gamma=0.2)
    without.fit(given, sample_weight=v)
    np.testing.assert_array_equal(without.landmark_index_, used)
    same_scores(without.transform(new), some.transform(NEW))
    if kernel == "rbf":
        assert without.cutoffs_ == some.cutoffs_
        np.testing.assert_array_equal(without.inverse_transform(X[:, :2]), some.inverse_transform(X[:, :2]))


@pytest.mark.parametrize(
    "pca",
    [
        KernelizedPCA(TL1PCA(2), gamma=0.3),
        KernelizedPCA(TL1SubspacePCA(2), kernel="poly", n_landmarks=20),
        KernelizedPCA(TL1PCA(2), fit_inverse_transform=True),
    ],
    ids=repr,
)
def test_model_files(pca, tmp_path):
    pca.fit(X)
    tl1pca.save(pca, tmp_path / "model.npz")
    back = tl1pca.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(back.transform(NEW), pca.transform(NEW))
    np.testing.assert_array_equal(back.flags(NEW), pca.flags(NEW))


@pytest.mark.parametrize(
    ("pca", "data", "message"),
    [
        (KernelizedPCA(kernel="gauss"), X, "kernel must be a function of two rows or one of"),
        (KernelizedPCA(kernel=lambda x, y: -(abs(x[0] - y[0]) ** 3)), X, "is not positive"),
        (KernelizedPCA(kernel="precomputed"), -np.eye(5), "is not positive"),
        (KernelizedPCA(kernel="precomputed"), X, "square matrix"),
        (KernelizedPCA(kernel="precomputed"), np.triu(np.ones((5, 5))), "not symmetric"),
        (KernelizedPCA(kernel="poly", degree=200), 1e3 * X, "not finite"),
        (KernelizedPCA(), np.ones((5, 3)), "All rows are alike"),
        (KernelizedPCA(gamma=-1.0), X, "gamma must be a positive number"),
        (KernelizedPCA(n_landmarks=1), X, "n_landmarks"),
        (KernelizedPCA(tl1pca.SparseLpPCA(2, n_nonzero=2)), X, "depends on the coordinates"),
        (KernelizedPCA(tl1pca.L1BestFitPCA(2)), X, "depends on the coordinates"),
        (KernelizedPCA(TL1PCA(2, center="median")), X, "depends on the coordinates"),
        (KernelizedPCA(TL1PCA(2, center=np.zeros(4))), X, "depends on the coordinates"),
        (KernelizedPCA(kernel="precomputed", fit_inverse_transform=True), np.eye(4), "no rows to learn"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_bad_input(pca, data, message):
    with pytest.raises(ValueError, match=message):
        pca.fit(data)


def test_pre_images_must_be_asked_for():
    with pytest.raises(AttributeError, match="inverse_transform"):
        KernelizedPCA(TL1PCA(2)).fit(X).inverse_transform(np.zeros((1, 2)))
    asked = KernelizedPCA(TL1PCA(2), fit_inverse_transform=True).fit(X)
    with pytest.raises(ValueError, match=r"\(n_samples, 2\)"):
        asked.inverse_transform(X)
