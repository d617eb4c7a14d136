"""Finite data in, finite numbers out, to the end of the floating range, for every estimator."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import tl1pca
from properties.cases import check_finite, check_monotone, check_orthonormal
from support import CENTERED, COMPOSED, ESTIMATORS, name, subspace_angle, with_components
from tl1pca.diagnostics import limits

every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
MOST = np.finfo(np.float64).max


def gaussian(n=20, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def far(size, **options):
    X = gaussian(**options)
    X[3, 2] = size
    return X


def beside(constant, size=1.0):
    X = size * gaussian()
    X[:, 1] = constant
    return X


def spread():
    rng = np.random.default_rng(1)
    return gaussian() * 10.0 ** rng.uniform(-300, 300, size=5)


DATA = {
    "one entry of 1e170": far(1e170),
    "one entry of 1e300": far(-1e300),
    "one entry, the largest number": far(MOST),
    "two far rows": np.vstack([far(1e170), -far(1e200, seed=1)]),
    "far row of small data": np.vstack([1e-200 * gaussian(), 1e150 * np.ones((1, 5))]),
    "all of 1e300": 1e300 * gaussian(),
    "all the largest number": np.sign(gaussian()) * MOST,
    "up to the largest number": np.clip(gaussian() / 3, -1, 1) * MOST,
    "denormal": gaussian() * 1e-320,
    "columns of all sizes": spread(),
    "a constant column, the largest number": beside(MOST),
    "a constant column, the others denormal": beside(1.0, 1e-315),
    "half of the rows 1e200 times as large": gaussian() * np.where(np.arange(20) < 10, 1e200, 1.0)[:, None],
    "one column 1e160 times as large": gaussian(n=24, d=5, seed=7717) * [3, 2, 1e160, 0.5, 0.5],
    "multiples of the smallest number": np.round(gaussian()) * 5e-324,
    "more columns than rows": far(1e170, n=5, d=30),
    "single precision": far(1e38).astype(np.float32),
    "single precision, the largest number": (np.sign(gaussian()) * np.finfo(np.float32).max).astype(
        np.float32
    ),
}


def fit(estimator, X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="The centered rows span")
        return with_components(estimator, 2).fit(X, **options)


@every
@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_finite_in_finite_out(estimator, data):
    before = data.copy()
    pca = fit(estimator, data)
    np.testing.assert_array_equal(data, before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_finite(pca, data)
        check_orthonormal(pca)
        check_monotone(pca)


#: What the composed ones are fitted with here: other sides, kernels, centers and shapes.
MORE = [
    *COMPOSED,
    tl1pca.ImagePCA(tl1pca.TL1PCA(1), image_shape=(1, 5), side="left", center="spatial_median"),
    tl1pca.ImagePCA(tl1pca.LpPCA(1, p=2), image_shape=(5, 1), side="both"),
    tl1pca.KernelizedPCA(tl1pca.TL1SubspacePCA(1), n_landmarks=8, fit_inverse_transform=True),
    tl1pca.KernelizedPCA(tl1pca.L1PCA(1, greedy=True), kernel="poly"),
    tl1pca.KernelizedPCA(kernel="laplacian"),
    tl1pca.TL1LDA(a=1.0),
    tl1pca.TL1LDA(center="spatial_median", image_shape=(1, 5)),
    tl1pca.SparseTL1PCA(1, n_nonzero=2),  # each one takes a quarter of a second
    tl1pca.SparseTL1PCA(2, a=1.0, n_nonzero=2),
    tl1pca.SparseLpPCA(2, p=0.5, n_nonzero=2),
    tl1pca.GeneralizedLpPCA(2, s=1.5, p=1.5),
    tl1pca.RegularizedL1PCA(2, penalty=0.5),
    tl1pca.TL1PCA(2, a=1.0, solver="paper"),
]
#: Where no answer exists: all that the error may say.
NO_ANSWER = "equal|alike|not finite|must be between 1 and"


def answers(model, X):
    """Whatever a fitted object says of rows, method by method."""
    found = {}
    for method in ("transform", "score_samples", "distances", "decision_function", "predict"):
        if hasattr(model, method):
            try:
                found[method] = getattr(model, method)(X)
            except ValueError as error:
                if "not finite" not in str(error):  # a polynomial of rows that large
                    raise
    if "transform" in found and hasattr(model, "inverse_transform"):
        found["inverse_transform"] = model.inverse_transform(found["transform"])
    return found


def numbers(value):
    """All floating arrays in what an object holds."""
    if isinstance(value, tuple | list):
        return [array for part in value for array in numbers(part)]
    if hasattr(value, "get_params"):
        return numbers([v for k, v in vars(value).items() if k not in value.get_params()])
    array = np.asarray(value) if isinstance(value, float | np.ndarray) else np.empty(0)
    return [array] if array.dtype.kind == "f" else []


@pytest.mark.parametrize("estimator", MORE, ids=name)
@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_finite_in_finite_out_of_what_is_composed(estimator, data):
    y = np.arange(len(data)) % 2
    new = np.vstack([np.full((2, data.shape[1]), MOST) * [[1], [-1]], far(1e170, d=data.shape[1])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="The centered rows span")
        if "image_shape" in estimator.get_params() and data.shape[1] != 5:
            estimator = clone(estimator).set_params(image_shape=(5, data.shape[1] // 5))
        try:
            model = clone(estimator).fit(data, y)
        except ValueError as error:
            if not re.search(NO_ANSWER, str(error)):
                raise
            return
        for found in (model, *answers(model, data).values(), *answers(model, new).values()):
            assert all(np.isfinite(array).all() for array in numbers(found))


def test_far_rows_are_answered_as_they_should_be():
    """A Gaussian kernel is zero there; the nearest class center is that along the direction."""
    X = gaussian(40)
    y = (X[:, 0] > 0).astype(int)
    far_rows = np.outer([1e100, 1e200, MOST], [1.0, 0, 0, 0, 0])
    pca = tl1pca.KernelizedPCA(tl1pca.TL1PCA(2)).fit(X)
    np.testing.assert_allclose(pca.transform(far_rows), pca.transform(far_rows[:1] * 1e-90).repeat(3, axis=0))
    for model in (tl1pca.TL1LDA().fit(X, y), tl1pca.TL1LDA(a=1.0).fit(X, y)):
        np.testing.assert_array_equal(model.predict(far_rows), model.predict(far_rows * 1e-90))
        np.testing.assert_array_equal(model.predict(-far_rows), 1 - model.predict(far_rows))


@pytest.mark.parametrize("estimator", [tl1pca.TL1LDA(), tl1pca.TL1LDA(a=1.0, center="median")], ids=name)
def test_classes_are_the_same_in_other_units(estimator):
    X = gaussian(60)
    y = (X @ [1.0, 1, 0, 0, 0] > 0).astype(int)
    wanted = clone(estimator).fit(X, y)
    for power in (-1000, -300, 300, 1000):
        model = clone(estimator)
        if model.a != "auto":
            model.set_params(a=float(model.a * 2.0**power))
        model.fit(X * 2.0**power, y)
        np.testing.assert_array_equal(model.predict(X * 2.0**power), wanted.predict(X))
        np.testing.assert_allclose(model.components_, wanted.components_, atol=1e-9)


def test_a_kernel_of_differences_does_not_see_the_origin():
    X = gaussian(30)
    near, away = (tl1pca.KernelizedPCA(tl1pca.TL1PCA(2)).fit(data) for data in (X, X + 1e8))
    np.testing.assert_allclose(away.transform(X + 1e8), near.transform(X), atol=1e-5)


@every
def test_new_rows_at_the_end_of_the_range(estimator):
    """A model of ordinary data meets rows that are none."""
    pca = fit(estimator, gaussian())
    new = np.vstack([DATA["all the largest number"], far(1e300), gaussian()])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_finite(pca, new)
        np.testing.assert_allclose(pca.transform(new)[-20:], pca.transform(gaussian()), rtol=1e-9)
        if hasattr(pca, "predict"):
            assert (pca.predict(new)[:20] == -1).all()
            assert np.isfinite(pca.decision_function(new)).all()


@every
def test_small_units_of_large_data(estimator):
    """At the end of the range a fit is that of the same data in smaller units."""
    # Parameters in the units of the data cannot be the same.
    if estimator.get_params().get("a", "auto") != "auto" or "joint" in name(estimator):
        pytest.skip("a is in the units of the data")
    X = gaussian(40)
    large = fit(estimator, X * 2.0**1015)
    np.testing.assert_allclose(large.components_, fit(estimator, X).components_, atol=1e-6)


def test_a_row_that_is_too_far_changes_nothing_for_the_robust_one():
    """As far as anything can be: the subspace is that of the other rows, and the row is flagged."""
    X = gaussian(60)
    wanted = fit(tl1pca.TL1SubspacePCA(random_state=0), X)
    for size in (1e100, 1e170, MOST):
        dirty = X.copy()
        dirty[3, 4] = size
        pca = fit(tl1pca.TL1SubspacePCA(random_state=0), dirty)
        assert subspace_angle(pca.components_, wanted.components_) < 10
        assert pca.flags_[3] != 0


@pytest.mark.parametrize("estimator", [*CENTERED, tl1pca.KernelizedPCA(), tl1pca.TL1LDA()], ids=name)
@pytest.mark.parametrize("weight", [1e300, MOST, 1e-300])
def test_weights_beyond_the_range_are_named(estimator, weight):
    y = np.arange(20) % 2
    with pytest.raises(ValueError, match="divide the weights by their mean"):
        clone(estimator).fit(gaussian(), y, sample_weight=np.full(20, weight))


@pytest.mark.parametrize("estimator", CENTERED, ids=name)
@pytest.mark.parametrize(
    "weights", [np.full(20, 1e100), np.r_[1e100, np.ones(19)], np.r_[1e-300, np.ones(19)]]
)
def test_weights_of_all_sizes(estimator, weights):
    pca = fit(estimator, gaussian(), sample_weight=weights)
    check_finite(pca, gaussian())
    check_orthonormal(pca)


def test_models_of_the_end_of_the_range_are_saved(tmp_path):
    pca = fit(tl1pca.TL1SubspacePCA(random_state=0), DATA["up to the largest number"])
    tl1pca.save(pca, tmp_path / "model.npz")
    assert tl1pca.load(tmp_path / "model.npz").mean_.tobytes() == pca.mean_.tobytes()


@pytest.mark.parametrize("power", [-1000, -600, 600, 1000])
@pytest.mark.parametrize(
    "kind", [tl1pca.TL1SubspacePCA, tl1pca.SparseTL1SubspacePCA, tl1pca.IncrementalTL1PCA], ids=name
)
def test_rows_are_judged_alike_in_units_whose_squares_are_no_numbers(kind, power):
    """`explained_variance_` is out of range there; predictions and limits for new rows do not hang on it."""
    X, unit = gaussian(n=60, d=5), 2.0**power
    X[:5] += 9.0
    plain, scaled = kind(2).fit(X), kind(2).fit(unit * X)
    np.testing.assert_array_equal(scaled.predict(unit * X), plain.predict(X))
    (inside, off), (plain_inside, plain_off) = scaled.distances(unit * X), plain.distances(X)
    np.testing.assert_allclose(inside, plain_inside, rtol=1e-9)
    np.testing.assert_allclose(off / unit, plain_off, rtol=1e-9)
    given = (
        [None] if kind is tl1pca.IncrementalTL1PCA else [None, X]
    )  # of a stream first limits differ a little
    for rows in given:
        one = limits(scaled, X=None if rows is None else unit * rows)
        other = limits(plain, X=rows)
        assert one.score == pytest.approx(other.score, rel=1e-9)
        assert one.orthogonal / unit == pytest.approx(other.orthogonal, rel=1e-9)
