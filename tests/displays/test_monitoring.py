import numpy as np
import pandas as pd
import pytest

from tl1pca import TL1CellPCA, TL1SubspacePCA, select_n_components
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import contributions, diagnose
from tl1pca.displays import ContributionDisplay, ControlChartDisplay, SelectionDisplay


@pytest.fixture(scope="module")
def new():
    X, bad, _ = make_contaminated(300, 8, 2, fraction=0.1, random_state=1)
    pca = TL1SubspacePCA(2, random_state=0).fit(X[:200])
    rows = X[200:][~bad[200:]]
    rows[40, 5] += 9.0
    return pca, rows


def test_selection_draws_what_was_found(render):
    X = make_contaminated(200, 12, 3, kind="line", fraction=0.2, random_state=0)[0]
    found = select_n_components(X)
    drawn = render(SelectionDisplay(selection=found).plot())
    left = drawn.axes_[0]
    np.testing.assert_array_equal(drawn.eigenvalues_[0].get_ydata(), found.parallel_analysis.eigenvalues)
    np.testing.assert_array_equal(drawn.null_.get_ydata(), found.parallel_analysis.null_limit)
    np.testing.assert_array_equal(drawn.errors_[0].get_ydata(), found.cross_validation.errors)
    assert left.get_yscale() == "log"
    assert "chosen: 3" in [text.get_text() for text in left.get_legend().get_texts()]
    again = render(SelectionDisplay.from_estimator(TL1SubspacePCA(random_state=0), X, method="parallel"))
    assert again.selection.method == "parallel"


def test_control_chart(new, render):
    pca, rows = new
    frame = pd.DataFrame(rows, index=[f"$t_{i}$" for i in range(len(rows))])
    drawn = render(ControlChartDisplay.from_estimator(pca, frame.set_axis(list("abcdefgh"), axis=1)))
    upper, lower = drawn.axes_
    assert "$t_40$" in [text.get_text() for text in lower.texts]
    np.testing.assert_allclose(drawn.limits_[0].get_ydata(), drawn.monitoring.limits.score)
    assert (drawn.limits_[1].get_ydata() >= drawn.monitoring.limits.orthogonal).all()
    assert any("orthogonal outlier" in text.get_text() for text in upper.get_legend().get_texts())
    when = np.datetime64("2026-01-01") + np.arange(len(rows))
    dated = render(ControlChartDisplay.from_estimator(pca, rows, time=when, n_labels=0))
    assert not dated.axes_[1].texts
    assert [chart.axes_[1].get_xlabel() for chart in (drawn, dated)] == ["row", "time"]
    rows = rows.copy()
    rows[3] += 1e4
    assert render(ControlChartDisplay.from_estimator(pca, rows)).axes_[1].get_yscale() == "log"


@pytest.mark.parametrize("kind", ["cell", "orthogonal", "score"])
def test_contributions_of_one_row(new, render, kind):
    pca, rows = new
    drawn = render(ContributionDisplay.from_estimator(pca, rows, rows=40, kind=kind))
    found = getattr(contributions(pca, rows), kind)[40]
    widths = [bar.get_width() for bar in drawn.bars_]
    assert np.abs(widths[-1]) == np.abs(found).max()
    assert drawn.ax_.get_title() == "row 41"
    np.testing.assert_allclose(sorted(widths), sorted(found))
    regular = getattr(contributions(pca, rows), kind)[diagnose(pca, rows).flags == 0]
    np.testing.assert_allclose(drawn.usual, np.quantile(regular, [0.05, 0.95], axis=0))
    if kind == "cell":
        assert drawn.ax_.get_yticklabels()[-1].get_text() == "x5"


def test_a_missing_cell_of_a_repaired_row_has_no_bar(new, render):
    rows = new[1].copy()
    rows[40, 2] = np.nan
    drawn = render(ContributionDisplay.from_estimator(TL1CellPCA(2).fit(rows), rows, rows=40))
    widths = {tick.get_text(): bar.get_width() for tick, bar in zip(drawn.ax_.get_yticklabels(), drawn.bars_)}
    assert widths["x2"] == 0.0
    assert np.isfinite(list(widths.values())).all()


def test_mean_of_rows_and_errors(new, render):
    pca, rows = new
    drawn = render(ContributionDisplay.from_estimator(pca, rows, rows=[1, 2, 3], n_columns=3))
    assert len(drawn.bars_) == 3
    assert drawn.ax_.get_title() == "mean of 3 rows"
    with pytest.raises(ValueError, match="kind must be one of"):
        ContributionDisplay.from_estimator(pca, rows, kind="t2")


def test_the_charts_count_rows_as_their_labels_do():
    X = make_contaminated(300, 8, 2, fraction=0.1, random_state=3)[0]
    X[250] += 30.0
    pca = TL1SubspacePCA(2, random_state=0).fit(X[:200])
    drawn = ControlChartDisplay.from_estimator(pca, X[200:], n_labels=1)
    upper, lower = drawn.axes_
    (text,) = lower.texts
    assert text.get_text() == "row 51"
    assert text.xy[0] == 51
    drawn.figure_.canvas.draw()
    assert upper.get_title(loc="left") == "TL1SubspacePCA"
    assert not upper._left_title.get_window_extent().overlaps(upper.get_legend().get_window_extent())


def test_one_row_is_called_by_its_name():
    X = pd.DataFrame(make_contaminated(60, 5, 2, random_state=0)[0])
    pca = TL1SubspacePCA(2).fit(X)
    assert ContributionDisplay.from_estimator(pca, X, rows=7).ax_.get_title() == "row 8"
    named = X.set_axis([f"plant {i}" for i in range(60)])
    assert ContributionDisplay.from_estimator(pca, named, rows=7).ax_.get_title() == "plant 7"
