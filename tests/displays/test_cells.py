"""The cell map shows every cell as it was judged."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tl1pca import TL1CellPCA, TL1SubspacePCA
from tl1pca.displays import CellMapDisplay, OutlierMapDisplay, ScoreDisplay
from tl1pca.preprocessing import MADScaler


@pytest.fixture(name="data", scope="module")
def some_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 7)) + 0.1 * rng.normal(size=(50, 7))
    X[3, 2], X[8, 5], X[20, 1] = 30.0, -30.0, np.nan
    return X


def test_cells(data, render):
    pca = TL1CellPCA(2, random_state=0).fit(data)
    drawn = render(CellMapDisplay.from_estimator(pca, data))
    np.testing.assert_allclose(drawn.image_.get_array().filled(np.nan), pca.cell_residuals(data))
    up = {tuple(point) for point in drawn.above_.get_offsets().astype(int).tolist()}
    down = {tuple(point) for point in drawn.below_.get_offsets().astype(int).tolist()}
    assert up | down == {(j, i) for i, j in np.argwhere(pca.cell_flags_)}
    assert (2, 3) in up
    assert (5, 8) in down
    assert drawn.missing_.get_offsets().astype(int).tolist() == [[1, 20]]
    assert len(drawn.bad_rows_) == np.count_nonzero(pca.flags_)
    np.testing.assert_array_equal(drawn.rows_, np.arange(50))


def test_names_and_chosen_rows(data, render):
    frame = pd.DataFrame(data, columns=list("abcdefg"), index=[f"day {i}" for i in range(50)])
    pca = TL1CellPCA(2, random_state=0).fit(frame)
    drawn = render(CellMapDisplay.from_estimator(pca, frame, rows=[8, 3]))
    assert [t.get_text() for t in drawn.ax_.get_yticklabels()] == ["day 8", "day 3"]
    assert [t.get_text() for t in drawn.ax_.get_xticklabels()] == list("abcdefg")
    worst = render(drawn.plot(n_rows=2))
    assert set(worst.rows_.tolist()) == {3, 8}
    with pytest.raises(ValueError, match="either rows or n_rows"):
        drawn.plot(rows=[1], n_rows=1)


def test_rows_with_gaps_are_judged_as_the_fit_judges_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)) @ rng.normal(size=(2, 8)) + 0.3 * rng.normal(size=(120, 8))
    X[rng.random(X.shape) < 0.05] += 5.0
    X[:10] += 3.0
    X[rng.random(X.shape) < 0.25] = np.nan
    pca = TL1CellPCA(2, random_state=0).fit(X)
    for display in (OutlierMapDisplay, ScoreDisplay):
        np.testing.assert_array_equal(display.from_estimator(pca, X).flags, pca.flags_)


def test_blocks_of_many_rows(render):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2)) @ rng.normal(size=(2, 90)) + 0.1 * rng.normal(size=(400, 90))
    X[:40, :9] = 50.0
    pca = TL1CellPCA(2, random_state=0).fit(X)
    drawn = render(CellMapDisplay.from_estimator(pca, X))
    assert drawn.above_ is None
    share = drawn.image_.get_array()
    assert share.shape == (60, 80)
    assert share[0, 0] == 100.0
    assert share[40:].mean() < 2.0


def test_a_pipeline_and_a_method_for_rows(data, render):
    pipe = make_pipeline(FunctionTransformer(lambda X: 10 * X), TL1CellPCA(2, random_state=0)).fit(data)
    drawn = render(CellMapDisplay.from_estimator(pipe, data))
    np.testing.assert_allclose(drawn.residuals, pipe[-1].cell_residuals(10 * data))
    assert drawn.features == [f"x{j}" for j in range(7)]
    frame = pd.DataFrame(data, columns=list("abcdefg"))
    scaled = make_pipeline(MADScaler(), TL1CellPCA(2)).fit(frame)  # whose last step knows no names
    assert CellMapDisplay.from_estimator(scaled, frame).features == list("abcdefg")
    with pytest.raises(TypeError, match="no cell_residuals"):
        CellMapDisplay.from_estimator(TL1SubspacePCA(2).fit(np.nan_to_num(data)), data)
