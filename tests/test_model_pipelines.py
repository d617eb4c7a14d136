"""Model files of pipelines: scikit-learn's scalers and imputers before an estimator of ours."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import tl1pca
from support import ESTIMATORS, gaussian, name, with_components
from test_persistence import forge, npy, refused, same
from tl1pca.preprocessing import MADScaler

X = gaussian(40, 5)
FRAME = pd.DataFrame(X, columns=["a", "b", "Größe", "d", "e"])
HOLES = X.copy()
HOLES[[2, 7, 7], [1, 0, 4]] = np.nan

SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    RobustScaler(quantile_range=(10.0, 90.0), unit_variance=True),
    RobustScaler(with_centering=False, with_scaling=False),
    MinMaxScaler((-1, 2), clip=True),
    MaxAbsScaler(),
    MADScaler(),
    PowerTransformer(),
    PowerTransformer(standardize=False),
    "passthrough",
]
IMPUTERS = [
    SimpleImputer(),
    SimpleImputer(strategy="median", keep_empty_features=True),
    SimpleImputer(strategy="most_frequent"),
    SimpleImputer(strategy="constant", fill_value=-1.5),
    SimpleImputer(strategy="constant"),
]
COLUMNS = [
    ColumnTransformer([("s", StandardScaler(), ["a", "b"]), ("p", "passthrough", ["d"])]),
    ColumnTransformer([("s", RobustScaler(), [0, 1]), ("x", "drop", [2])], remainder="passthrough"),
    ColumnTransformer([("s", MinMaxScaler(), slice(0, 2)), ("none", RobustScaler(), [])], n_jobs=2),
    ColumnTransformer([("s", MaxAbsScaler(), slice("a", "d"))], remainder=PowerTransformer()),
    ColumnTransformer([("s", MaxAbsScaler(), [True, False, True, True, False])]),
    ColumnTransformer(
        [("one", StandardScaler(), ["a"])], remainder=make_pipeline(SimpleImputer(), "passthrough")
    ),
    ColumnTransformer(
        [
            ("two", make_pipeline(SimpleImputer(), PowerTransformer()), ["b", "a"]),
            (
                "nested",
                ColumnTransformer([("m", MinMaxScaler(), ["e"])], remainder="passthrough"),
                ["d", "e"],
            ),
        ],
        verbose_feature_names_out=False,
    ),
]


def there_and_back(pipeline, tmp_path):
    tl1pca.save(pipeline, tmp_path / "model.npz")
    return tl1pca.load(tmp_path / "model.npz")


def equal(pipeline, data, tmp_path):
    """The loaded pipeline is the saved one: parameters, scores and bytes."""
    back = there_and_back(pipeline, tmp_path)
    assert repr(back) == repr(pipeline)
    same(np.asarray(back.transform(data)), np.asarray(pipeline.transform(data)))
    assert type(back.transform(data)) is type(pipeline.transform(data))
    assert back.get_feature_names_out().tolist() == pipeline.get_feature_names_out().tolist()
    tl1pca.save(back, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()
    return back


@pytest.mark.parametrize("scaler", SCALERS, ids=name)
@pytest.mark.parametrize("data", [X, X.astype(np.float32), FRAME], ids=["double", "single", "frame"])
def test_scalers(scaler, data, tmp_path):
    pipeline = make_pipeline(scaler, tl1pca.TL1PCA(2)).fit(data)
    back = equal(pipeline, data, tmp_path)
    for step, again in zip(pipeline, back):
        same(step, again)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_every_estimator_ends_a_pipeline(estimator, tmp_path):
    equal(make_pipeline(StandardScaler(), with_components(estimator, 2)).fit(X), X, tmp_path)


def test_counts_of_samples_with_holes(tmp_path):
    scaler = StandardScaler()
    pipeline = make_pipeline(scaler, tl1pca.L1ReconstructionPCA(2)).fit(HOLES)
    assert scaler.n_samples_seen_.shape == (5,)
    equal(pipeline, HOLES, tmp_path)


@pytest.mark.parametrize("imputer", IMPUTERS, ids=name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_imputers(imputer, dtype, tmp_path):
    data = HOLES.astype(dtype)
    equal(make_pipeline(imputer, StandardScaler(), tl1pca.L1PCA(2)).fit(data), data, tmp_path)


def test_an_imputer_that_drops_a_column(tmp_path):
    data = HOLES.copy()
    data[:, 3] = np.nan
    pipeline = make_pipeline(SimpleImputer(), tl1pca.L1PCA(2))
    with pytest.warns(UserWarning, match="Skipping features"):
        pipeline.fit(data)
    back = there_and_back(pipeline, tmp_path)
    assert back[-1].n_features_in_ == 4
    with pytest.warns(UserWarning, match="Skipping features"):
        same(back.transform(data), pipeline.transform(data))


def test_whole_numbers_that_are_missing(tmp_path):
    data = np.arange(60).reshape(12, 5) ** 2 % 17
    pipeline = make_pipeline(SimpleImputer(missing_values=0, strategy="mean"), tl1pca.L1PCA(2)).fit(data)
    equal(pipeline, data, tmp_path)


@pytest.mark.parametrize("columns", COLUMNS, ids=range(len(COLUMNS)))
@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_columns(columns, output, tmp_path):
    pipeline = make_pipeline(columns, tl1pca.R1PCA(1)).set_output(transform=output).fit(FRAME)
    back = equal(pipeline, FRAME, tmp_path)
    other = FRAME[["e", "d", "b", "a", "Größe"]] * 2.0 if columns is COLUMNS[0] else FRAME * 2.0
    same(np.asarray(back.transform(other)), np.asarray(pipeline.transform(other)))
    same(np.asarray(back.fit_transform(FRAME)), np.asarray(pipeline.fit_transform(FRAME)))


def test_columns_as_an_index(tmp_path):
    columns = ColumnTransformer([("s", StandardScaler(), FRAME.columns[:3])])
    pipeline = make_pipeline(columns, tl1pca.L1PCA(1)).fit(FRAME)
    same(there_and_back(pipeline, tmp_path).transform(FRAME), pipeline.transform(FRAME))


# ---------------------------------------------------------------- what is not saved
class OwnScaler(StandardScaler):
    """A scaler that only this file knows."""


class Own(TransformerMixin, BaseEstimator):
    """A step that only this file knows."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


REFUSED = {
    "own class": (make_pipeline(Own(), tl1pca.L1PCA(1)), r"step 'own' is a .*\.Own"),
    "own subclass": (make_pipeline(OwnScaler(), tl1pca.L1PCA(1)), r"'ownscaler' is a .*OwnScaler"),
    "a function": (make_pipeline(FunctionTransformer(np.abs), tl1pca.L1PCA(1)), "FunctionTransformer"),
    "PCA at the end": (make_pipeline(StandardScaler(), PCA(1)), r"sklearn.*PCA"),
    "nothing of ours": (make_pipeline(StandardScaler(), StandardScaler()), "StandardScaler"),
    "union": (make_pipeline(FeatureUnion([("a", StandardScaler())]), tl1pca.L1PCA(1)), "FeatureUnion"),
    "indicator": (make_pipeline(SimpleImputer(add_indicator=True), tl1pca.L1PCA(1)), "add_indicator"),
    "memory": (Pipeline([("s", StandardScaler()), ("p", tl1pca.L1PCA(1))], memory="x"), "memory"),
    "selector": (
        make_pipeline(
            ColumnTransformer([("s", StandardScaler(), make_column_selector("a"))]), tl1pca.L1PCA(1)
        ),
        "columns of 's'",
    ),
    "weights": (
        make_pipeline(
            ColumnTransformer([("s", StandardScaler(), ["a"])], transformer_weights={"s": 2.0}),
            tl1pca.L1PCA(1),
        ),
        "weights",
    ),
    "own class in columns": (
        make_pipeline(ColumnTransformer([("s", Own(), ["a"])]), tl1pca.L1PCA(1)),
        r"step 's' is a .*\.Own",
    ),
    "two of ours": (make_pipeline(tl1pca.L1PCA(3), tl1pca.L1PCA(1)), "'l1pca-1' is a tl1pca"),
}


@pytest.mark.parametrize(("pipeline", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_saved_is_named(pipeline, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    pipeline.fit(FRAME)
    with pytest.raises(ValueError, match=message):
        tl1pca.save(pipeline, tmp_path / "out" / "model.npz")
    assert not list((tmp_path / "out").iterdir())


# ---------------------------------------------------------------- hostile pipelines
@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.npz"
    columns = ColumnTransformer([("s", RobustScaler(), ["a", "b"])], remainder="passthrough")
    pipeline = make_pipeline(columns, SimpleImputer(), PowerTransformer(), tl1pca.L1PCA(2))
    tl1pca.save(pipeline.fit(FRAME), path)
    return path


def steps(header):
    return [node for _, node in header["model"]["parameters"]["steps"]]


def at(step, *keys, value):
    """Change an entry of a step."""

    def change(header, content):
        place = steps(header)[step]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


def filled(step, attribute, array):
    """Change an array of a step."""

    def change(header, content):
        place = steps(header)[step]["fitted"][attribute]
        content[f"{place if isinstance(place, int) else place['array']}.npy"] = npy(array)

    return change


def scaler_scale(header, content):
    inner = steps(header)[0]["parameters"]["transformers"][0][1]
    content[f"{inner['fitted']['scale_']['array']}.npy"] = npy(np.array([1.0, 0.0]))


def fewer_columns(header, content):
    steps(header)[0]["parameters"]["transformers"][0][2] = ["a"]


def swapped(header, content):
    header["model"]["parameters"]["steps"].reverse()


HOSTILE = {
    "unknown class": (at(1, "estimator", value="FunctionTransformer"), "no class"),
    "estimator before the last": (at(1, "estimator", value="TL1PCA"), "no class"),
    "pipeline that is none": (lambda h, c: h["model"].update(fitted={"a": 1}), "none"),
    "pipeline without steps": (lambda h, c: h["model"]["parameters"].update(steps=[]), "makes no sense"),
    "memory": (lambda h, c: h["model"]["parameters"].update(memory="/tmp/x"), "no parameters"),
    "weights of columns": (at(0, "parameters", "transformer_weights", value=["a"]), "weights"),
    "unknown parameter": (at(1, "parameters", "__class__", value=1), "no parameters"),
    "strategy that is none": (at(1, "parameters", "strategy", value="os.system"), "makes no sense"),
    "object type": (at(1, "fitted", "dtype", value="O"), "of a kind"),
    "text type": (at(1, "fitted", "dtype", value="U1000000"), "of a kind"),
    "infinite statistics": (filled(1, "statistics_", np.full(5, np.inf)), "no 5 numbers"),
    "statistics of another size": (filled(1, "statistics_", np.ones(4)), "no 5 numbers"),
    "step that drops": (lambda h, c: h["model"]["parameters"]["steps"].insert(0, ["x", "drop"]), "Pipeline"),
    "scale of zero": (scaler_scale, "no fit gives"),
    "not a number": (filled(2, "lambdas_", np.full(5, np.nan)), "not finite"),
    "inner scaler missing": (lambda h, c: steps(h)[2]["fitted"].pop("_scaler") and None, "_scaler"),
    "inner scaler of a word": (at(2, "fitted", "_scaler", value="passthrough"), "no StandardScaler"),
    "many columns": (at(0, "fitted", "n_features_in_", value=2**40), "n_features_in_"),
    "more columns than names": (at(0, "fitted", "n_features_in_", value=6), "do not agree"),
    "columns that are not there": (at(0, "parameters", "transformers", 0, 2, value=["z"]), "makes no sense"),
    "columns beyond the last": (at(0, "parameters", "transformers", 0, 2, value=[0, 99]), "makes no sense"),
    "columns for another step": (fewer_columns, "other columns"),
    "processes": (at(0, "parameters", "n_jobs", value="x"), "makes no sense"),
    "last step first": (swapped, "no class"),
    "features of another step": (at(1, "fitted", "n_features_in_", value=4), "no 4 numbers|do not agree"),
}


@pytest.mark.parametrize(("change", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_pipelines(saved, change, message):
    forge(saved, change)
    refused(saved, message)


def test_steps_that_do_not_fit_each_other(tmp_path):
    """The last step of one file behind the first step of another."""
    path, other = tmp_path / "model.npz", tmp_path / "other.npz"
    tl1pca.save(make_pipeline(StandardScaler(), tl1pca.L1PCA(2)).fit(X), path)
    tl1pca.save(make_pipeline(StandardScaler(), tl1pca.L1PCA(2)).fit(X[:, :3]), other)
    pieces = {}
    forge(other, lambda header, content: pieces.update(content, header=header))

    def change(header, content):
        last = steps(header)[1]["fitted"]
        for attribute in ("components_", "mean_"):
            content[f"{last[attribute]['array']}.npy"] = pieces[
                f"{steps(pieces['header'])[1]['fitted'][attribute]['array']}.npy"
            ]
        last["n_features_in_"] = 3

    forge(path, change)
    refused(path, "takes 3 features and is given 5")
