"""TL1LDA: the quotient, its monotone solver, and scikit-learn's conventions for classifiers."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import tl1pca
from family import GROUPS, POINTS
from tl1pca import TL1, TL1LDA, Lp
from tl1pca.geometry import sphere_maximizer, unit
from tl1pca.objectives import Dispersion, Quotient
from tl1pca.rows import DenseRows
from tl1pca.solvers import QuotientAscent
from tl1pca.solvers.quotient import _TwoSets

X, y = load_iris(return_X_y=True)


def quotient(A, labels, operator, ridge=0.0):
    means = np.stack([A[labels == c].mean(axis=0) for c in np.unique(labels)])
    between = DenseRows(means - A.mean(axis=0), weights=np.bincount(labels).astype(float))
    below = Dispersion(DenseRows(A - means[labels]), operator)
    return Quotient(Dispersion(between, operator), below, ridge)


def test_squares_are_fishers_direction():
    found = QuotientAscent(tol=1e-14).solve(quotient(POINTS, GROUPS, Lp(p=2)))
    assert found.path[-1] == pytest.approx(11.0184366570)
    for A, labels in ((POINTS, GROUPS), (X, y)):
        w = QuotientAscent(tol=1e-14, max_iter=5000).solve(quotient(A, labels, Lp(p=2))).W[:, 0]
        theirs = unit(LinearDiscriminantAnalysis(solver="eigen").fit(A, labels).scalings_[:, 0])
        assert abs(w @ theirs) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("a", "slope"), [(0.1, 0.8098739500), (1.0, 1.5180166066), (10.0, 1.2794618109)])
def test_gradient(a, slope):
    w = unit(np.array([1.0, 0.3]))
    here = quotient(POINTS, GROUPS, TL1(a=a)).value_and_gradient(w[:, None])
    assert here.gradient[:, 0] @ [-w[1], w[0]] == pytest.approx(slope)


@pytest.mark.parametrize("ridge", [0.0, 50.0])
@pytest.mark.parametrize("operator", [TL1(a=0.3), TL1(a=1.0), Lp(p=1), Lp(p=2)], ids=repr)
def test_no_step_descends(operator, ridge):
    problem, _ = _TwoSets.of(quotient(X, y, operator, ridge))
    rng = np.random.default_rng(0)
    for h in (1.0, 0.01):
        w = unit(rng.normal(size=4))
        value = problem.smoothed_quotient(w, h)
        for _ in range(20):
            w, reached = problem.step(w, value, h)
            assert reached >= value
            assert reached == pytest.approx(problem.smoothed_quotient(w, h))
            value = reached


def test_maximizer_of_a_quadratic_on_the_sphere():
    rng = np.random.default_rng(0)
    for _ in range(20):
        v, d = rng.normal(size=5), rng.uniform(0, 3, size=5)
        best = sphere_maximizer(v, d)
        value = lambda W: v @ W - 0.5 * d @ W**2  # noqa: B023, E731
        assert np.linalg.norm(best) == pytest.approx(1.0)
        assert (value(unit(rng.normal(size=(5, 500)))) <= value(best) + 1e-9).all()
    np.testing.assert_allclose(sphere_maximizer(np.zeros(3), np.array([1.0, 0.0, 2.0])), [0, 1, 0])


def test_fit_and_predict():
    for lda in (TL1LDA(), TL1LDA(shrinkage=None), TL1LDA(a=1.0)):
        lda.fit(X, y)
        assert lda.transform(X).shape == (150, 2)
        assert lda.score(X, y) > 0.95
        np.testing.assert_allclose(np.linalg.norm(lda.components_, axis=1), 1.0)
        np.testing.assert_allclose(lda.transform(X), (X - lda.xbar_) @ lda.scalings_, atol=1e-12)
        assert all((np.diff(path) >= 0).all() for path in lda.objective_path_)
        assert (
            clone(lda).set_params(n_components=4).fit(X, y).n_components_ == 4
        )  # more than classes less one
        if not lda.shrinkage_:
            np.testing.assert_allclose(lda.components_ @ lda.components_.T, np.eye(2), atol=1e-12)
            np.testing.assert_allclose(lda.scalings_, lda.components_.T, atol=1e-15)


def test_gradient_with_a_ridge():
    w = unit(np.array([1.0, 0.3]))
    objective = quotient(POINTS, GROUPS, TL1(a=1.0), ridge=7.0)
    gradient = objective.value_and_gradient(w[:, None]).gradient[:, 0]
    for step in np.eye(2):
        ahead, back = (objective.value((w + s * step)[:, None])[0] for s in (1e-6, -1e-6))
        assert gradient @ step == pytest.approx((ahead - back) / 2e-6, rel=1e-6)


@pytest.mark.filterwarnings("ignore:TL1LDA did not converge")  # rounding decides on which processors
def test_shrinkage_does_not_overfit_columns_that_hardly_vary():
    """Digits have pixels that are constant within most classes: as published the quotient is lost in them."""
    digits = load_digits()
    A, labels = digits.data[:300] / 16.0, digits.target[:300]
    new, truth = digits.data[300:900] / 16.0, digits.target[300:900]
    fisher = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(A, labels).score(new, truth)
    ours = TL1LDA().fit(A, labels)
    assert ours.score(new, truth) > fisher - 0.03
    assert TL1LDA(shrinkage=None).fit(A, labels).score(new, truth) < fisher - 0.1
    within = ours.transform(A) - ours.transform(ours.means_)[labels]
    np.testing.assert_allclose(within.std(axis=0), 1.0, atol=0.5)


def test_far_rows_have_little_weight_in_the_scatter_within():
    rng = np.random.default_rng(0)
    moved = X.copy()
    moved[::10] += 50.0 * rng.normal(size=(15, 4))
    plain, hit = TL1LDA(center="median").fit(X, y), TL1LDA(center="median").fit(moved, y)
    assert np.rad2deg(subspace_angles(plain.scalings_, hit.scalings_).max()) < 25
    fisher = LinearDiscriminantAnalysis(solver="eigen")
    first, second = (fisher.fit(A, y).scalings_[:, :2] for A in (X, moved))
    assert np.rad2deg(subspace_angles(first, second).max()) > 45


def test_weights_are_repetitions():
    v = np.random.default_rng(0).integers(0, 3, size=150)
    weighted = TL1LDA().fit(X, y, sample_weight=v)
    repeated = TL1LDA().fit(np.repeat(X, v, axis=0), np.repeat(y, v))
    np.testing.assert_allclose(weighted.scalings_, repeated.scalings_, rtol=1e-5)


def test_labels_may_be_named_and_rows_shifted():
    names = np.array(["b", "c", "a"])[y]
    plain, named = TL1LDA().fit(X, y), TL1LDA().fit(X + 7.0, names)
    np.testing.assert_allclose(named.components_, plain.components_, atol=1e-6)
    assert (named.predict(X + 7.0) == np.array(["b", "c", "a"])[plain.predict(X)]).all()


def test_shape_has_the_units_of_the_data():
    for a, scaled, shrinkage in ((1.0, 10.0, "auto"), ("auto", "auto", None), ("auto", "auto", "auto")):
        plain = TL1LDA(a=a, shrinkage=shrinkage).fit(X, y)
        tenfold = TL1LDA(a=scaled, shrinkage=shrinkage).fit(10.0 * X, y)
        factor = 1.0 if plain.shrinkage_ else 10.0  # rows that are spherical have no units
        assert tenfold.a_ == pytest.approx(factor * plain.a_, rel=1e-5)
        np.testing.assert_allclose(tenfold.components_[0], plain.components_[0], atol=1e-5)


def test_images_of_one_row_are_rows():
    for shrinkage in (None, 0.5):
        flat = TL1LDA(2, shrinkage=shrinkage).fit(X, y)
        images = TL1LDA(2, shrinkage=shrinkage, image_shape=(1, 4)).fit(X, y)
        np.testing.assert_array_equal(flat.components_, images.components_)
    two = TL1LDA(1, image_shape=(2, 2)).fit(X, y)
    assert two.components_.shape == (1, 2)
    assert two.transform(X).shape == (150, 2)
    assert len(two.get_feature_names_out()) == 2


def test_more_features_than_the_rows_within_span():
    rng = np.random.default_rng(0)
    labels = np.arange(24) % 3
    wide = rng.normal(size=(24, 60)) + 3.0 * np.eye(3, 60)[labels]
    for shrinkage, dimensions in ((None, 21), ("auto", 23)):  # the rows within, all rows
        lda = TL1LDA(shrinkage=shrinkage).fit(wide, labels)
        assert lda.n_reduced_ == dimensions
        assert np.isfinite(lda.components_).all()
        assert lda.score(wide, labels) > 0.9


@pytest.mark.parametrize("center", ["median", "spatial_median"])
def test_robust_centers(center):
    lda = TL1LDA(center=center).fit(X, y)
    if center == "median":
        np.testing.assert_allclose(lda.means_[0], np.median(X[y == 0], axis=0))
    assert lda.score(X, y) > 0.9


@pytest.mark.parametrize(
    "labels", [y, np.array(["b", "c", "a"])[y], y.astype(object).astype(str).astype(object)]
)
def test_model_files(labels, tmp_path):
    lda = TL1LDA().fit(X, labels)
    tl1pca.save(lda, tmp_path / "model.npz")
    back = tl1pca.load(tmp_path / "model.npz")
    assert back.classes_.dtype == lda.classes_.dtype
    np.testing.assert_array_equal(back.predict(X), lda.predict(X))
    np.testing.assert_array_equal(back.transform(X), lda.transform(X))


def test_bad_input():
    for lda, data, labels, message in [
        (TL1LDA(), X, np.zeros(150), "needs two or more; the data have 1 class"),
        (TL1LDA(5), X, y, "must not exceed the number of features"),
        (TL1LDA(0), X, y, "n_components"),
        (TL1LDA(center="mode"), X, y, "center must be one of"),
        (TL1LDA(shrinkage=1.0), X, y, r"shrinkage must be None, 'auto' or a number in \[0, 1\)"),
        (TL1LDA(shrinkage="some"), X, y, "shrinkage must be"),
        (TL1LDA(image_shape=(3, 3)), X, y, "image_shape"),
        (TL1LDA(), np.repeat(np.eye(2), 3, axis=0), np.repeat([0, 1], 3), "rows of each class are all equal"),
        (TL1LDA(a=1.0), np.repeat(np.eye(2), 3, axis=0), np.repeat([0, 1], 3), "all equal"),
        (TL1LDA(), X, X[:, 0] + 0.5, "Unknown label type"),
    ]:
        with pytest.raises(ValueError, match=message):
            lda.fit(data, labels)
    with pytest.raises(TypeError, match=r"requires y|required"):
        TL1LDA().fit(load_wine().data)
