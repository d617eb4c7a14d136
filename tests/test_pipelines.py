"""Pipelines of scikit-learn's scalers and one of our estimators: the same numbers, the user's columns."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import tl1pca
from support import gaussian
from tl1pca import L1ReconstructionPCA, TL1SubspacePCA, compare
from tl1pca._pipelines import inner_names
from tl1pca.diagnostics import (
    contributions,
    diagnose,
    distances,
    limits,
    monitor,
    principal_angles,
    rows_behind,
    suspects,
)
from tl1pca.displays import BiplotDisplay, OutlierMapDisplay, ScoreDisplay, ScreeDisplay
from tl1pca.preprocessing import MADScaler
from tl1pca.report import render_report
from tl1pca.report._analysis import analyze

NAMES = ["width", "height", "depth", "weight"]
FRAME = pd.DataFrame(gaussian(80, 4, seed=3) * [1.0, 1000.0, 1.0, 0.01], columns=NAMES)
FRAME.iloc[5] += [9.0, 0.0, 9.0, 0.0]
STEPS = [
    StandardScaler(),
    RobustScaler(),
    MinMaxScaler(),
    MaxAbsScaler(),
    PowerTransformer(),
    SimpleImputer(),
    MADScaler(),
    make_column_transformer((RobustScaler(), NAMES[:2]), remainder="passthrough"),
    ColumnTransformer([("a", StandardScaler(), ["depth", "width"]), ("b", "drop", ["weight"])]),
]


@pytest.mark.filterwarnings("ignore:.*matplotlib")
@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_everything_takes_them_and_speaks_of_the_columns(step, tmp_path):
    pipeline = make_pipeline(step, TL1SubspacePCA(2)).fit(FRAME)
    inside = pipeline[:-1].transform(FRAME)
    alone = diagnose(pipeline[-1], inside)
    found = diagnose(pipeline, FRAME)
    np.testing.assert_array_equal(found.flags, alone.flags)
    np.testing.assert_array_equal(distances(pipeline, FRAME)[1], alone.orthogonal_distances)

    known = inner_names(pipeline, NAMES)
    assert set(known) <= set(NAMES)
    assert len(known) == inside.shape[1]
    analysis = analyze(FRAME, pipeline)
    assert analysis.names == known
    np.testing.assert_array_equal(analysis.found.flags, alone.flags)

    table = compare(FRAME, {"one": pipeline, "two": make_pipeline(step, PCA(2))}, n_components=2)
    assert table.loc["one", "outliers"] == (alone.flags > 0).sum()
    assert np.isfinite(table.loc["one", "angle to two"])

    tl1pca.save(pipeline, tmp_path / "model.npz")
    again = tl1pca.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(diagnose(again, FRAME).flags, alone.flags)


def test_displays_speak_of_the_columns_and_rows():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = make_column_transformer((RobustScaler(), ["height", "weight"]), (StandardScaler(), ["width"]))
    pipeline = make_pipeline(columns, TL1SubspacePCA(2)).fit(FRAME)
    shown = BiplotDisplay.from_estimator(pipeline, FRAME)
    assert {text.get_text() for text in shown.names_} == {"height", "weight", "width"}
    for display in (OutlierMapDisplay, ScoreDisplay):
        drawn = display.from_estimator(pipeline, FRAME, n_labels=1)
        np.testing.assert_array_equal(drawn.flags, diagnose(pipeline, FRAME).flags)
    assert ScreeDisplay.from_estimator(pipeline).bars_
    drawn = OutlierMapDisplay.from_estimator(make_pipeline(MADScaler(), TL1SubspacePCA(2)).fit(FRAME), FRAME)
    assert drawn.labels[5] == "row 6"
    plt.close("all")


def test_names_of_steps_and_of_what_is_new():
    imputer = SimpleImputer(add_indicator=True)
    holes = FRAME.mask(FRAME.gt(FRAME.quantile(0.97)))
    pipeline = make_pipeline(imputer, MADScaler(), TL1SubspacePCA(2)).fit(holes)
    assert inner_names(pipeline, list("abcd"))[:5] == ["a", "b", "c", "d", "missingindicator_width"]
    own = make_pipeline(FunctionTransformer(np.log1p), TL1SubspacePCA(2)).fit(np.abs(FRAME.to_numpy()))
    assert inner_names(own, NAMES) == NAMES


def test_an_unfitted_pipeline_is_fitted_and_the_page_says_what_came_first():
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), TL1SubspacePCA(2))
    page = render_report(FRAME.mask(FRAME.gt(FRAME.quantile(0.99))), estimator=pipeline)
    assert "SimpleImputer(), StandardScaler()" in page
    assert not hasattr(pipeline[-1], "components_")


def test_angles_between_different_units_mean_nothing():
    table = compare(
        FRAME, {"as it is": PCA(2), "scaled": make_pipeline(StandardScaler(), PCA(2)), "again": PCA(2)}
    )
    assert np.isnan(table.loc["as it is", "angle to scaled"])
    assert table.loc["as it is", "angle to again"] == pytest.approx(0, abs=1e-6)
    assert principal_angles(make_pipeline(MADScaler(), PCA(2)).fit(FRAME), np.eye(4)[:2]).shape == (2,)


# ---------------------------------------------------------------- what is not a number
def dated(frame):
    return frame.assign(when=pd.date_range("2024-01-01", periods=len(frame)))


def text(frame):
    return frame.assign(when=["red", "blue"] * (len(frame) // 2))


CALLS = {
    "map": lambda X: OutlierMapDisplay.from_estimator(fitted_to(X), X),
    "report": render_report,
    "fitted report": lambda X: render_report(X, estimator=fitted_to(X)),
    "pipeline": lambda X: render_report(X, estimator=make_pipeline(MADScaler(), PCA(2)).fit(numbers(X))),
    "compare": lambda X: compare(X, [PCA(2)]),
    "diagnose": lambda X: diagnose(fitted_to(X), X),
}


def numbers(X):
    return np.random.default_rng(0).normal(size=X.shape)


def fitted_to(X):
    return PCA(2).fit(numbers(X))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(("change", "held"), [(dated, "dates or times"), (text, "text ('red' at index 0)")])
def test_columns_of_dates_and_text_are_named(call, library, change, held):
    frame = change(FRAME)
    if library == "polars":
        frame = pl.from_pandas(frame)
    with pytest.raises(
        ValueError, match=re.escape(f"Column 'when' holds {held}, and a PCA takes numbers: leave")
    ):
        CALLS[call](frame)


def test_numbers_in_columns_of_objects_and_gaps_are_numbers():
    frame = FRAME.assign(width=FRAME["width"].astype(object), flag=[True, False] * 40)
    assert len(analyze(frame, PCA(2)).data) == 80


def test_text_that_a_pipeline_leaves_out_does_no_harm():
    columns = make_column_transformer((StandardScaler(), NAMES))
    frame = text(FRAME)
    pipeline = make_pipeline(columns, TL1SubspacePCA(2)).fit(frame)
    assert analyze(frame, pipeline).names == NAMES


# ---------------------------------------------------------------- missing values
def test_missing_values_where_the_method_takes_them():
    holes = FRAME.to_numpy(copy=True)
    holes[3, 1] = np.nan
    pipeline = make_pipeline(MADScaler(), L1ReconstructionPCA(2)).fit(holes)
    found = diagnose(pipeline, holes)
    assert np.isfinite(found.orthogonal_distances).all()
    expected = -pipeline[-1].score_samples(pipeline[:-1].transform(holes))[3]
    assert found.orthogonal_distances[3] == pytest.approx(expected)
    assert "What to do next" in render_report(holes, estimator=pipeline)


@pytest.mark.parametrize("estimator", [tl1pca.TL1SubspacePCA(2), tl1pca.TL1PCA(2), tl1pca.R1PCA(2)])
def test_elsewhere_the_error_names_what_helps(estimator):
    holes = FRAME.to_numpy(copy=True)
    holes[3, 1] = np.nan
    for call in (estimator.fit, estimator.fit(FRAME.to_numpy()).transform):
        with pytest.raises(ValueError, match=r"Input X contains NaN.*SimpleImputer.*TL1CellPCA") as error:
            call(holes)
        assert "HistGradientBoosting" not in str(error.value)


@pytest.mark.parametrize(
    "estimator", [TL1SubspacePCA(2), PCA(2), make_pipeline(MADScaler(), TL1SubspacePCA(2))]
)
@pytest.mark.parametrize(
    "ask",
    [
        diagnose,
        distances,
        contributions,
        monitor,
        lambda estimator, X: limits(estimator),
        lambda estimator, X: suspects(estimator, X[:1]),
        lambda estimator, X: rows_behind(estimator, 10),
        lambda estimator, X: principal_angles(estimator, estimator),
    ],
)
def test_what_is_not_fitted_is_said_to_be(estimator, ask):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ask(estimator, gaussian(20, 4))
