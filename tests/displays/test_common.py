"""What holds for every display: imports, names from data, errors, where they are drawn."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.decomposition import NMF, PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler

import tl1pca
from support import gaussian
from tl1pca import displays
from tl1pca.diagnostics import diagnose
from tl1pca.displays import (
    BiplotDisplay,
    ContributionDisplay,
    ControlChartDisplay,
    ConvergenceDisplay,
    OperatorDisplay,
    OutlierMapDisplay,
    ReconstructionDisplay,
    ScoreDisplay,
    ScreeDisplay,
)

X = gaussian(60, 6)
NASTY = ["$x_1$ <b>", "_hidden", "a\\frac{", "100 %", "$", "{}^"]

WITH_ROWS = {
    "map": OutlierMapDisplay.from_estimator,
    "scores": ScoreDisplay.from_estimator,
    "biplot": BiplotDisplay.from_estimator,
    "contributions": lambda pca, rows, **options: ContributionDisplay.from_estimator(
        pca, rows, rows=[0, 4], **options
    ),
    "control": lambda pca, rows, **options: ControlChartDisplay.from_estimator(
        pca, rows, training=rows, **options
    ),
    "images": lambda pca, rows, **options: ReconstructionDisplay.from_estimator(
        pca, rows, image_shape=(2, 3), rows=[0, 4], **options
    ),
}
WITHOUT_ROWS = {"scree": ScreeDisplay.from_estimator, "convergence": ConvergenceDisplay.from_estimator}
ALL = {
    **WITH_ROWS,
    **{
        key: lambda pca, rows, make=make, **options: make(pca, **options)
        for key, make in WITHOUT_ROWS.items()
    },
}


def test_public_names():
    assert displays.__all__ == sorted(displays.__all__)
    found = {key for key, value in vars(displays).items() if isinstance(value, type)}
    assert found == set(displays.__all__)


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_is_light():
    code = "import sys, tl1pca.displays; print(sorted(m for m in sys.modules if m.startswith('matplotlib')))"
    assert run(code).strip() == "[]"


def test_without_matplotlib_the_error_names_the_extra():
    code = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
import numpy as np
from tl1pca import TL1, TL1PCA, TL1CellPCA
from tl1pca.displays import *

X = np.random.default_rng(0).normal(size=(30, 4))
pca = TL1PCA(2, a=1.0).fit(X)
calls = (
    (OutlierMapDisplay.from_estimator, pca, X), (ScoreDisplay.from_estimator, pca, X),
    (BiplotDisplay.from_estimator, pca, X), (ReconstructionDisplay.from_estimator, pca, X),
    (ScreeDisplay.from_estimator, pca), (ConvergenceDisplay.from_estimator, pca),
    (OperatorDisplay.from_operators, [TL1(a=1.0)]), (ContributionDisplay.from_estimator, pca, X),
    (ControlChartDisplay.from_estimator, pca, X), (SelectionDisplay.from_estimator, pca, X),
    (CellMapDisplay.from_estimator, TL1CellPCA(2, random_state=0).fit(X), X),
    (ConvergenceDisplay(paths=[np.ones(2)], names=["one"]).plot,),
)
for call, *arguments in calls:
    try:
        call(*arguments)
    except ImportError as error:
        assert "pip install 'tl1pca[plot]'" in str(error), error
        print(str(error).split()[0])
"""
    assert sorted(set(run(code).split())) == displays.__all__


@pytest.mark.parametrize("display", ALL)
def test_one_figure_for_each_plot(display, render, plt):
    drawn = render(ALL[display](tl1pca.TL1SubspacePCA(2, random_state=0).fit(X), X))
    first = drawn.figure_
    assert plt.get_fignums() == [first.number]
    assert drawn.ax_ in first.axes
    assert render(drawn.plot()) is drawn
    assert plt.get_fignums() == [first.number, drawn.figure_.number]


@pytest.mark.parametrize("display", ALL)
def test_given_axes_are_used(display, plt, render):
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    drawn = render(ALL[display](tl1pca.TL1PCA(2, a=1.0).fit(X), X, ax=right))
    assert drawn.ax_ is right
    assert drawn.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    assert not left.has_data()


@pytest.mark.parametrize("display", ALL)
def test_subfigures_and_figures_without_pyplot(display):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    part = figure.subfigures(1, 2)[1]
    drawn = ALL[display](tl1pca.TL1PCA(2, a=1.0).fit(X), X, ax=part.subplots())
    assert drawn.figure_ is part
    FigureCanvasAgg(figure).draw()


@pytest.mark.parametrize("display", ALL)
def test_not_fitted(display, plt):
    with pytest.raises(NotFittedError):
        ALL[display](tl1pca.TL1PCA(2), X)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("display", WITH_ROWS)
def test_scikit_learn_and_pipelines(display, render):
    classical = render(WITH_ROWS[display](PCA(2).fit(X), X))
    pipeline = make_pipeline(RobustScaler(), tl1pca.TL1PCA(2, a=1.0)).fit(X)
    piped = render(WITH_ROWS[display](pipeline, X))
    alone = render(WITH_ROWS[display](pipeline[-1], pipeline[:-1].transform(X)))
    if display == "images":  # pixels are shown in their own units
        undo = pipeline[0].inverse_transform
        np.testing.assert_allclose(piped.images.reshape(2, -1), X[[0, 4]])
        np.testing.assert_allclose(
            piped.reconstructions.reshape(2, -1), undo(alone.reconstructions.reshape(2, -1))
        )
        return
    for key, value in vars(alone).items():
        if isinstance(value, np.ndarray) and value.dtype != object:
            np.testing.assert_array_equal(value, vars(piped)[key])
    assert type(classical) is type(piped)


@pytest.mark.parametrize("display", WITH_ROWS)
def test_wrong_rows(display, plt):
    pca = tl1pca.TL1PCA(2, a=1.0).fit(X)
    with pytest.raises(ValueError, match="X has 5 features, TL1PCA was fitted to 6"):
        WITH_ROWS[display](pca, X[:, :5])
    with pytest.raises(ValueError, match="NaN"):
        WITH_ROWS[display](pca, np.where(X > 2, np.nan, X))
    assert plt.get_fignums() == []


def test_missing_parts_are_named():
    nmf = NMF(2, max_iter=1000).fit(np.abs(X))
    with pytest.raises(TypeError, match="NMF has no mean_, explained_variance_"):
        OutlierMapDisplay.from_estimator(nmf, np.abs(X))
    with pytest.raises(TypeError, match="PCA has no objective_path_"):
        ConvergenceDisplay.from_estimator(PCA(2).fit(X))
    with pytest.raises(TypeError, match="NMF has no explained_variance_"):
        ScreeDisplay.from_estimator(nmf)
    drawn = ScoreDisplay.from_estimator(nmf, np.abs(X))  # scores it has, flags it has not
    assert drawn.flags is None
    np.testing.assert_array_equal(drawn.points_[0].get_offsets(), nmf.transform(np.abs(X)))


def test_anything_with_the_attributes_has_a_map():
    pca = PCA(2).fit(X)
    bare = SimpleNamespace(
        mean_=pca.mean_, components_=pca.components_, explained_variance_=pca.explained_variance_
    )
    drawn = OutlierMapDisplay.from_estimator(bare, X)
    np.testing.assert_array_equal(drawn.orthogonal_distances, diagnose(pca, X).orthogonal_distances)


def test_names_from_data_are_shown_as_they_are(render):
    frame = pd.DataFrame(X, columns=NASTY, index=[f"$row_{i}$ <i>" for i in range(len(X))])
    frame.iloc[3] += 40.0
    pca = tl1pca.TL1SubspacePCA(2, random_state=0).fit(frame)
    drawn = render(BiplotDisplay.from_estimator(pca, frame))
    assert sorted(text.get_text() for text in drawn.names_) == sorted(NASTY)
    drawn = render(OutlierMapDisplay.from_estimator(pca, frame, n_labels=1, groups=NASTY * 10))
    assert [text.get_text() for text in drawn.labels_] == ["$row_3$ <i>"]
    assert [text.get_text() for text in drawn.ax_.get_legend().get_texts()] == [
        f"{one} (10)" for one in NASTY
    ]
    drawn = render(ScoreDisplay.from_estimator(pca, frame, n_labels=1))
    assert [text.get_text() for text in drawn.labels_] == ["$row_3$ <i>"]
    drawn = render(ReconstructionDisplay.from_estimator(pca, frame, image_shape=(3, 2), rows=[3]))
    assert drawn.axes_[0, 0].get_title().startswith("$row_3$ <i>\n")
    drawn = render(OperatorDisplay.from_operators({"_$": tl1pca.TL1(a=1.0)}))
    assert drawn.axes_[1].get_legend().get_texts()[0].get_text() == "_$"


def test_names_from_data_are_never_given_to_tex(plt):
    pca = tl1pca.TL1PCA(2, a=1.0).fit(pd.DataFrame(X, columns=NASTY))
    with plt.rc_context({"text.usetex": True}):
        drawn = BiplotDisplay.from_estimator(
            pca, pd.DataFrame(X, columns=NASTY), groups=NASTY * 10, ax=plt.subplots()[1]
        )
    texts = [*drawn.names_, *drawn.ax_.get_legend().get_texts()]
    assert len(texts) == 13
    assert not any(text.get_usetex() or text.get_parse_math() for text in texts)


@pytest.mark.parametrize("display", WITH_ROWS)
def test_polars_and_frames_as_output(display, render):
    frame = pl.DataFrame({f"f{i}": column for i, column in enumerate(X.T)})
    pca = tl1pca.TL1PCA(2, a=1.0).fit(frame)
    first = render(WITH_ROWS[display](pca, frame))
    second = render(WITH_ROWS[display](pca.set_output(transform="pandas"), frame))
    for key, value in vars(first).items():
        if isinstance(value, np.ndarray) and value.dtype != object:
            np.testing.assert_array_equal(value, vars(second)[key])


@pytest.mark.parametrize("display", WITH_ROWS)
def test_missing_values_where_the_estimator_takes_them(display, render):
    holes = X.copy()
    holes[4, 2] = np.nan
    pca = tl1pca.L1ReconstructionPCA(2).fit(holes)
    drawn = render(WITH_ROWS[display](pca, holes))
    if display == "map":
        assert drawn.orthogonal_distances[4] == pytest.approx(-pca.score_samples(holes)[4])
    if display == "scores":
        np.testing.assert_allclose(drawn.scores, pca.transform(holes))
