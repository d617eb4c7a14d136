"""What every estimator promises; a new class is covered by its line in support.ESTIMATORS."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import tl1pca
from support import CENTERED, COMPOSED, ESTIMATORS, gaussian, name, with_components

every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
centered = pytest.mark.parametrize("estimator", CENTERED, ids=name)

X = gaussian(40, 5)


def cellwise(estimator):
    """Whether scores come from a robust fit of each row, and distances are in units of the columns."""
    return hasattr(estimator, "_row_distances")


#: The conventions are those of a class: the first instance of each.
CLASSES = list({type(estimator): estimator for estimator in reversed([*ESTIMATORS, *COMPOSED])}.values())


#: Those that choose the number of components, which takes most of the time of every fit.
CHOOSERS = [estimator for estimator in CLASSES if getattr(estimator, "_none_keeps", "").startswith("as many")]


@pytest.mark.parametrize(
    "estimator",
    [
        *(with_components(e, 1) if e in CHOOSERS else e for e in CLASSES),
        *(pytest.param(e, marks=pytest.mark.slow) for e in CHOOSERS),
    ],
    ids=name,
)
def test_check_estimator(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # not all checks expect a few iterations
        results = check_estimator(clone(estimator), on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 40


def test_every_public_estimator_is_in_the_list():
    public = {getattr(tl1pca, n) for n in tl1pca.__all__ if n.endswith(("PCA", "LDA"))}
    assert public == {type(e) for e in [*ESTIMATORS, *COMPOSED]}


@every
class TestFitted:
    def test_attributes(self, estimator):
        pca = with_components(estimator, 3).fit(X)
        assert pca.components_.shape == (3, 5)
        assert pca.mean_.shape == (5,)
        assert pca.explained_variance_.shape == pca.explained_variance_ratio_.shape == (3,)
        assert (pca.explained_variance_ > 0).all()
        assert 0 < pca.explained_variance_ratio_.sum() <= 1 + 1e-12
        assert pca.n_components_ == 3
        assert pca.n_features_in_ == 5
        assert pca.n_iter_ >= 1
        assert isinstance(pca.converged_, bool)
        assert pca.converged_
        assert np.isfinite(pca.objective_)
        assert pca.objective_ == pytest.approx(sum(path[-1] for path in pca.objective_path_))

    def test_components_are_orthonormal_and_signed(self, estimator):
        W = with_components(estimator, 4).fit(X).components_
        if not estimator._oblique:
            np.testing.assert_allclose(W @ W.T, np.eye(4), atol=1e-12)
        largest = np.abs(W).argmax(axis=1)
        assert (W[np.arange(4), largest] > 0).all()

    def test_paths_are_monotone(self, estimator):
        pca = with_components(estimator, 3).fit(X)
        steps = np.concatenate([np.diff(path) for path in pca.objective_path_])
        assert ((-steps if estimator._minimizes else steps) >= -1e-9 * abs(pca.objective_)).all()

    def test_transform_and_back(self, estimator):
        pca = with_components(estimator, 2).fit(X)
        scores = pca.transform(X)
        back = pca.inverse_transform(scores)
        if not cellwise(estimator):
            # Scores are least squares coefficients: the residual is orthogonal to the components.
            np.testing.assert_allclose((X - back) @ pca.components_.T, 0, atol=1e-9)
        np.testing.assert_allclose(pca.transform(back), scores, atol=1e-9)
        np.testing.assert_allclose(clone(pca).fit_transform(X), scores, atol=1e-9)

    def test_all_components_reconstruct_exactly(self, estimator):
        pca = with_components(estimator, None if estimator._none_keeps.startswith("all") else 5).fit(X)
        assert pca.n_components_ == 5
        np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)), X, atol=1e-9)
        np.testing.assert_allclose(pca.explained_variance_ratio_.sum(), 1.0, atol=1e-9)

    def test_score_is_minus_the_median_distance(self, estimator):
        pca = with_components(estimator, 2).fit(X)
        distance = np.linalg.norm(X - pca.inverse_transform(pca.transform(X)), axis=1)
        if cellwise(estimator):
            distance = pca.distances(X)[1]
        np.testing.assert_allclose(pca.score_samples(X), -distance, atol=1e-12)
        assert pca.score(X) == pytest.approx(-np.median(distance))
        assert pca.score(X) < with_components(estimator, 4).fit(X).score(X)

    def test_fits_the_same_twice_and_survives_pickle(self, estimator):
        first = with_components(estimator, 3).fit(X)
        second = pickle.loads(pickle.dumps(clone(first))).fit(X)
        np.testing.assert_array_equal(first.components_, second.components_)
        copy = pickle.loads(pickle.dumps(first))
        np.testing.assert_array_equal(copy.transform(X), first.transform(X))

    def test_share_of_the_dispersion(self, estimator):
        if cellwise(estimator):
            pytest.skip("a share of the variance in units of the columns: see test_cell")
        wide = gaussian(60, 6, decay=0.3)
        pca = with_components(estimator, 0.95).fit(wide)
        assert 1 <= pca.n_components_ < 6
        assert pca.explained_variance_ratio_.sum() >= 0.95
        assert with_components(estimator, 0.3).fit(wide).n_components_ <= pca.n_components_


@every
class TestInput:
    def test_x_is_never_changed(self, estimator):
        data = X.copy()
        data.setflags(write=False)
        with_components(estimator, 2).fit(data).transform(data)
        np.testing.assert_array_equal(data, X)

    def test_integers(self, estimator):  # other types and layouts are in test_containers, to the last bit
        data = np.round(10 * X)
        want = with_components(estimator, 2).fit(data).components_
        found = with_components(estimator, 2).fit(data.astype(np.int32)).components_
        np.testing.assert_allclose(found, want, atol=1e-7)

    def test_float32_in_float32_out(self, estimator):
        single = X.astype(np.float32)
        pca = with_components(estimator, 2).fit(single)
        for value in (pca.components_, pca.mean_, pca.explained_variance_, pca.transform(single)):
            assert value.dtype == np.float32
        double = with_components(estimator, 2).fit(single.astype(np.float64))
        assert pca.objective_ == pytest.approx(double.objective_, rel=1e-5)

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
    def test_frames_in_and_out(self, estimator, frame):
        columns = [f"v{i}" for i in range(5)]
        data = frame(dict(zip(columns, X.T)))
        pca = with_components(estimator, 2).set_output(
            transform="pandas" if frame is pd.DataFrame else "polars"
        )
        scores = pca.fit_transform(data)
        assert isinstance(scores, frame)
        stem = type(estimator).__name__.lower()
        assert list(scores.columns) == [f"{stem}0", f"{stem}1"] == list(pca.get_feature_names_out())
        assert pca.feature_names_in_.tolist() == columns


@centered
class TestCentered:
    # About a point far from the rows all signs are alike, and joint l1 methods say what that leaves open.
    @pytest.mark.filterwarnings("ignore:.*directions open:sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("center", [None, "mean", "median", "spatial_median", np.arange(5.0)])
    def test_centers(self, estimator, center):
        pca = with_components(estimator, 2).set_params(center=center).fit(X)
        want = {"mean": X.mean(axis=0), "median": np.median(X, axis=0)}
        if center is None:
            assert not pca.mean_.any()
        elif isinstance(center, np.ndarray):
            np.testing.assert_allclose(pca.mean_, center)
        elif center in want:
            np.testing.assert_allclose(pca.mean_, want[center])

    def test_weights_are_repetitions(self, estimator):
        v = np.random.default_rng(0).integers(0, 3, size=len(X))
        weighted = with_components(estimator, 2).fit(X, sample_weight=v)
        repeated = with_components(estimator, 2).fit(np.repeat(X, v, axis=0))
        np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-5)
        np.testing.assert_allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-4)
        assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)

    def test_bad_weights(self, estimator):
        with pytest.raises(ValueError, match=r"[Nn]egative"):
            clone(estimator).fit(X, sample_weight=-np.ones(len(X)))
        with pytest.raises(ValueError, match="at least two rows"):
            clone(estimator).fit(X, sample_weight=np.eye(len(X))[0])
        with pytest.raises(ValueError, match="sample_weight"):
            clone(estimator).fit(X, sample_weight=np.ones(3))

    def test_bad_center(self, estimator):
        with pytest.raises(ValueError, match="center"):
            clone(estimator).set_params(center="middle").fit(X)

    def test_more_components_than_the_rows_span_is_said(self, estimator):
        data = np.outer(X[:, 0], [1.0, 2.0, 3.0])
        with pytest.warns(UserWarning, match="span 1 dimensions"):
            pca = with_components(estimator, 2).set_params(center=None).fit(data)
        assert pca.rank_ == np.linalg.matrix_rank(pca.transform(data), tol=1e-6) == 1


@every
class TestBadInput:
    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (np.full((5, 3), np.inf), "infinity|inf"),
            (np.ones((1, 3)), "minimum of 2"),
            (np.ones((0, 3)), "0 sample"),
            (np.ones((4, 0)), "0 feature"),
            (np.ones(4), "1D array|1 dim|Expected 2D"),
            (np.ones((2, 2, 2)), "dim 3|3-d"),
            (np.ones((4, 2)) * 1j, "[Cc]omplex"),
            (np.array([["a", "b"], ["c", "d"]]), "string|numeric|float"),
        ],
        ids=["inf", "one", "empty", "no-feature", "1d", "3d", "complex", "strings"],
    )
    def test_data(self, estimator, data, message):
        with pytest.raises((ValueError, TypeError), match=message):
            clone(estimator).fit(data)

    def test_missing_values(self, estimator):
        data = X.copy()
        data[2, 1] = np.nan
        if estimator._takes_missing:
            assert np.isfinite(with_components(estimator, 2).fit(data).components_).all()
            return
        with pytest.raises(ValueError, match="NaN"):
            clone(estimator).fit(data)

    @pytest.mark.parametrize("k", [0, 6, -1, 1.0, 1.5, "3", True, np.nan])
    def test_n_components(self, estimator, k):
        with pytest.raises(ValueError, match="n_components"):
            with_components(estimator, k).fit(X)

    def test_use_before_fit_and_wrong_shapes(self, estimator):
        with pytest.raises(NotFittedError):
            clone(estimator).transform(X)
        with pytest.raises(NotFittedError):
            clone(estimator).inverse_transform(X)
        pca = with_components(estimator, 2).fit(X)
        with pytest.raises(ValueError, match="3 features"):
            pca.transform(X[:, :3])
        with pytest.raises(ValueError, match=r"\(n_samples, 2\)"):
            pca.inverse_transform(X)


@every
class TestDegenerate:
    @pytest.mark.parametrize(
        "data",
        [
            np.column_stack([X, np.full(40, 3.0)]),
            np.vstack([X, np.zeros((5, 5))]),
            X[:, :1],
            X[:2],
            X[:3],
            np.repeat(X[:4], 10, axis=0),
            np.outer(X[:, 0], np.ones(5)),
            np.ones((6, 3)),
            np.zeros((6, 3)),
            1e-300 * X,
            1e300 * X,
            np.column_stack([X[:, 0], 1e-9 * X[:, 1]]),
        ],
        ids=[
            "constant-column",
            "zero-rows",
            "one-column",
            "two-rows",
            "three-rows",
            "duplicates",
            "rank-one",
            "all-equal",
            "all-zero",
            "tiny",
            "huge",
            "mixed-scales",
        ],
    )
    def test_no_nan_whatever_the_data(self, estimator, data):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The centered rows span")
            warnings.simplefilter("ignore", ConvergenceWarning)  # cells of four points may take long
            pca = with_components(estimator, min(2, *data.shape)).fit(data)
        for value in (pca.components_, pca.mean_, pca.explained_variance_, pca.transform(data)):
            assert np.isfinite(value).all()
        assert np.isfinite(pca.objective_)
        W = pca.components_
        if not estimator._oblique:
            np.testing.assert_allclose(W @ W.T, np.eye(len(W)), atol=1e-10)
        assert np.isfinite(pca.inverse_transform(pca.transform(data))).all()


@every
def test_wide_data(estimator):
    data = gaussian(12, 40, decay=0.95)
    pca = with_components(estimator, 3).fit(data)
    assert pca.components_.shape == (3, 40)
    back = pca.inverse_transform(pca.transform(data))
    if not cellwise(estimator):
        np.testing.assert_allclose((data - back) @ pca.components_.T, 0, atol=1e-8)


@every
def test_in_a_pipeline_and_a_grid_search(estimator):
    data, target = load_iris(return_X_y=True)
    pipe = make_pipeline(with_components(estimator, 2), LogisticRegression(max_iter=1000))
    step = type(estimator).__name__.lower()
    search = GridSearchCV(pipe, {f"{step}__n_components": [1, 2]}, cv=3).fit(data, target)
    assert search.best_score_ > 0.8


@every
def test_close_to_pca_on_clean_data(estimator):
    data = gaussian(400, 4, decay=0.3, seed=3)
    ours = with_components(estimator, 1).fit(data).components_[0]
    theirs = PCA(1).fit(data).components_[0]
    assert abs(ours @ theirs) > 0.9


@every
def test_the_same_question_gets_the_same_answer(estimator):
    X = load_wine().data
    plain = type(estimator)(n_components=2)  # as a user writes it
    first, second = (clone(plain).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)
    if "random_state" in plain.get_params():
        assert plain.random_state == 0


@every
def test_score_is_said_to_be_no_criterion(estimator):
    assert "no criterion" in " ".join(type(estimator).score.__doc__.split())
