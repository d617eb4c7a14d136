"""The report: its numbers are those of the fit, its sentences are true, its names are text."""

import json
import re
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import tl1pca
from support import ESTIMATORS, gaussian, name, subspace_angle
from tl1pca import TL1SubspacePCA
from tl1pca._unusual import unusual
from tl1pca.datasets import load_table, make_contaminated
from tl1pca.diagnostics import Flag, diagnose, principal_angles
from tl1pca.preprocessing import MADScaler
from tl1pca.report import render_report, write_report
from tl1pca.report._analysis import analyze
from tl1pca.report._levels import levels, limits_at

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "<b>bold</b>",
    "{{ 7 * 7 }}",
    "a\u2028b]]><!--",
    '"><svg onload=alert(1)>',
]


TURNS = "\u202eevil\u2066"


class Outline(HTMLParser):
    """Tags with their attributes, and the text of the page without scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self._inside = [], [], []
        self.feed(page)
        self.text = " ".join(" ".join(self.text).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside.append(tag)

    def handle_endtag(self, tag):
        if self._inside and tag == self._inside[-1]:
            self._inside.pop()

    def handle_data(self, data):
        if not self._inside:
            self.text.append(data)


def content(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page).group(1))


def text(page):
    return Outline(page).text


# ------------------------------------------------------------------------------- numbers
@pytest.mark.parametrize("estimator", [*ESTIMATORS, PCA()], ids=name)
def test_numbers_are_those_of_the_estimator(estimator):
    X = gaussian(60, 6, seed=1)
    X[:4] += [0, 0, 15, 0, -15, 0]
    fitted = clone(estimator).set_params(n_components=2).fit(X)
    page = render_report(X, estimator=fitted)
    data, found = content(page), diagnose(fitted, X)
    rows = np.array(data["row"]) - 1  # people count from 1
    assert sorted(rows) == list(range(60))
    np.testing.assert_array_equal(data["flag"], found.flags[rows])
    np.testing.assert_allclose(data["sd"], found.score_distances[rows], rtol=1e-5)
    np.testing.assert_allclose(data["od"], found.orthogonal_distances[rows], rtol=1e-5, atol=1e-12)
    drawn = rows[data["points"]]
    np.testing.assert_allclose(np.transpose(data["scores"]), fitted.transform(X[drawn]), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(data["loadings"]["components"], fitted.components_, rtol=1e-3, atol=1e-8)
    np.testing.assert_allclose(data["shares"], fitted.explained_variance_ratio_, rtol=1e-5)
    assert data["listed"] == np.count_nonzero(found.flags)
    assert f"{found.cutoffs.score:.4g}" in text(page)
    assert type(fitted).__name__ in text(page)


def test_default_is_the_robust_estimator():
    X, _, _ = make_contaminated(200, 8, 2, fraction=0.2, random_state=0)
    expected = TL1SubspacePCA(random_state=0).fit(X)
    data = content(render_report(X))
    assert sorted(data["row"][: data["listed"]]) == (np.flatnonzero(expected.flags_) + 1).tolist()


def test_classical_numbers_and_the_rows_it_points_at():
    X, _, axes = make_contaminated(300, 10, 2, kind="clean", random_state=0)
    bad = [3, 7]
    X[bad] += 200 * np.linalg.qr(np.column_stack([axes, np.ones(10)]))[0][:, 2]
    fitted = TL1SubspacePCA(2, random_state=0).fit(X)
    page = render_report(X, estimator=fitted)
    classical = PCA(2).fit(X)
    found, data = diagnose(classical, X), content(page)
    rows = np.array(data["row"])[data["points"]] - 1
    np.testing.assert_allclose(data["classical"]["sd"], found.score_distances[rows], rtol=1e-5)
    np.testing.assert_allclose(data["classical"]["od"], found.orthogonal_distances[rows], rtol=1e-5)
    angle = subspace_angle(fitted.components_, classical.components_[:1])
    assert angle > 80
    assert f"The first classical component points at rows 4 and 8: it lies {angle:.0f}° off" in text(page)
    assert f"{principal_angles(fitted, classical)[0]:.0f}°" in text(page)
    assert "Do not use the components of classical PCA" in text(page)


def test_unusual_variables_of_a_spike_are_the_spiked_one():
    X = gaussian(200, 8, seed=2, decay=0.8)
    X[5, 6] += 40.0
    analysis = analyze(X, TL1SubspacePCA(2, random_state=0), [f"v{j}" for j in range(8)], None)
    details = analysis.unusual(np.array([5]))
    assert details.columns[0, 0] == 6
    assert not details.by_score[0]
    fitted = analysis.estimator
    residuals = X - fitted.inverse_transform(fitted.transform(X))
    regular = residuals[analysis.found.flags == 0]
    spread = 1.4826 * np.median(np.abs(regular - np.median(regular, axis=0)), axis=0)
    np.testing.assert_allclose(details.values[0, 0], residuals[5, 6] / spread[6], rtol=1e-10)


@pytest.mark.parametrize("column", range(13))
def test_one_wrong_cell_is_named_whatever_it_is_tied_to(column):
    from sklearn.datasets import load_wine

    X = load_wine().data.copy()
    X[10, column] *= 100.0  # a decimal point lost
    analysis = analyze(X, make_pipeline(MADScaler(), TL1SubspacePCA()))
    details = analysis.unusual(np.array([10]))
    assert details.columns[0, 0] == column
    assert details.values[0, 0] > 10
    assert np.isnan(details.values[0, 1:]).all()  # what it did to the others is not their fault


def test_of_two_columns_along_a_line_the_wilder_one_is_named():
    t = np.random.default_rng(0).normal(size=100)
    X = np.column_stack([t, 2 * t]) + 0.01 * np.random.default_rng(1).normal(size=(100, 2))
    X[3, 1] = 500.0
    analysis = analyze(X, TL1SubspacePCA(1))
    assert analysis.unusual(np.array([3])).columns[0, 0] == 1


def test_wild_is_what_is_far_for_its_column():
    t = np.random.default_rng(0).normal(size=100)
    X = np.column_stack([t, 1000 * t]) + [0.01, 10.0] * np.random.default_rng(1).normal(size=(100, 2))
    X[3] = [500.0, 1500.0]  # one of them five hundred times as far as usual, the other one usual
    analysis = analyze(X, TL1SubspacePCA(1))
    assert analysis.unusual(np.array([3])).columns[0, 0] == 0


def test_what_is_said_of_a_row_has_no_units():
    X = gaussian(200, 6, seed=4, decay=0.7)
    rows = np.arange(200)
    near, far = (analyze(c * X, TL1SubspacePCA(2)).unusual(rows) for c in (1.0, 1000.0))
    assert 0 < near.by_score.sum() < 200
    np.testing.assert_array_equal(near.by_score, far.by_score)
    np.testing.assert_array_equal(near.columns, far.columns)
    np.testing.assert_allclose(near.values, far.values, rtol=1e-6)


def test_unusual_variables_of_a_leverage_point_share_its_score_distance():
    X = gaussian(200, 3, seed=3)
    X[0] = X.mean(axis=0) + np.array([60.0, 0.0, 0.0])
    analysis = analyze(X, TL1SubspacePCA(3, random_state=0), None, None)
    details = analysis.unusual(np.array([0]))
    assert details.by_score[0]
    assert details.columns[0, 0] == 0
    np.testing.assert_allclose(np.nansum(details.values), 1.0, atol=0.01)  # small shares are not named


# ------------------------------------------------------------------------------- levels
def test_limits_at_other_levels_are_those_of_clean_rows():
    X, _, _ = make_contaminated(20_000, 10, 3, kind="clean", random_state=0)
    analysis = analyze(X, TL1SubspacePCA(3, random_state=0))
    at = levels(analysis)["at"]
    assert at[levels(analysis)["chosen"]]["level"] == analysis.level == 0.99
    for entry in at:
        _, far, off, both = entry["counts"]
        # Each limit keeps its share of clean rows, about: the law of the distances is an approximation.
        for beyond in (far + both, off + both):
            assert 0.4 * (1 - entry["level"]) < (beyond + 1) / len(X) < 2 * (1 - entry["level"]) + 3 / len(X)
    assert limits_at(analysis, 0.99) == analysis.found.cutoffs
    scores = [entry["score"] for entry in at]
    assert scores == sorted(scores)


def test_the_level_of_the_fit_counts_its_flags():
    X, _, _ = make_contaminated(300, 6, 2, fraction=0.2, random_state=0)
    for estimator in (TL1SubspacePCA(2, random_state=0), PCA(2)):
        page = render_report(X, estimator=estimator)
        found, at = diagnose(clone(estimator).fit(X), X), content(page)["levels"]
        assert at["at"][at["chosen"]]["counts"] == np.bincount(found.flags, minlength=4).tolist()


def test_too_few_rows_have_no_levels():
    page = render_report(gaussian(4, 3))
    assert content(page)["levels"] is None
    assert 'id="level"' not in page


# ------------------------------------------------------------------------------- names
def test_names_of_the_data_stay_text():
    X = gaussian(40, len(HOSTILE), seed=4)
    X[0] += 30
    labels = [HOSTILE[i % len(HOSTILE)] for i in range(40)]
    page = render_report(X, columns=HOSTILE, labels=labels, title=HOSTILE[0], source=HOSTILE[1])
    for bad in HOSTILE[:3] + HOSTILE[5:]:
        assert bad not in page
    outline = Outline(page)
    assert [tag for tag, _ in outline.tags].count("script") == 3  # data, library, ours
    assert not {"img", "svg", "b", "iframe"} & {tag for tag, _ in outline.tags}
    assert not [key for _, attributes in outline.tags for key in attributes if key.startswith("on")]
    assert HOSTILE[0] in outline.text
    data = content(page)
    assert data["names"] == HOSTILE
    assert {*data["label"]} == {*HOSTILE}


def test_nothing_is_loaded_and_only_our_scripts_may_run():
    outline = Outline(render_report(gaussian(30, 3)))
    for _, attributes in outline.tags:
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith(("#", "data:"))
    policy = next(a["content"] for _, a in outline.tags if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert policy.count("'sha256-") == 2
    assert "script-src 'sha256-" in policy


def test_text_that_utf8_cannot_hold_is_replaced(tmp_path):
    page = write_report(gaussian(30, 2), tmp_path / "page.html", columns=["ok", "bad \ud800"], title="\udfff")
    assert content(page.read_text(encoding="utf-8"))["names"] == ["ok", "bad ?"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_column_names_of_a_frame(frame):
    X = gaussian(40, 2)
    data = content(render_report(frame({"width": X[:, 0], "height": X[:, 1]})))
    assert data["names"] == ["width", "height"]
    assert data["label"] is None


def test_labels_of_an_index_that_does_not_only_count():
    X = pd.DataFrame(gaussian(40, 2), columns=["a", "b"], index=[f"sample {i}" for i in range(40)])
    data = content(render_report(X))
    assert all(label == f"sample {row - 1}" for label, row in zip(data["label"], data["row"]))


# ------------------------------------------------------------------------------- time
def test_dates_of_an_index_make_charts():
    X = pd.DataFrame(gaussian(40, 2), index=pd.date_range("2024-01-31", periods=40, freq="D"))
    page = render_report(X)
    data = content(page)
    assert 'id="charts"' in page
    assert all(
        pd.Timestamp(when) == X.index[row - 1] for when, row in zip(data["time"], data["row"], strict=True)
    )
    assert content(render_report(X, time=False))["time"] is None
    assert 'id="charts"' not in render_report(X.reset_index(drop=True))


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (True, np.arange(1.0, 41.0)),
        (np.linspace(0.0, 1.0, 40), np.linspace(0.0, 1.0, 40)),
        ([f"2024-05-31 16:{i:02d}" for i in range(40)], [f"2024-05-31T16:{i:02d}:00.000" for i in range(40)]),
    ],
    ids=["their order", "numbers", "text"],
)
def test_time_as_it_is_given(time, expected):
    data = content(render_report(gaussian(40, 2), time=time))
    assert data["time"] == [pytest.approx(expected[row - 1]) for row in data["row"]]


@pytest.mark.parametrize("time", [[1, 2], ["noon"] * 30, ["1"] * 30, "2024-05-31"])
def test_what_is_no_time(time):
    with pytest.raises(ValueError, match="time must be True, for rows in the order of time, or 30 dates"):
        render_report(gaussian(30, 3), time=time)


# ------------------------------------------------------------------------------- sentences
def clean(n=60):
    """Rows on an ellipse: none is further out than another."""
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    X = np.column_stack(
        [6 * np.cos(angle), 4 * np.sin(angle), 0.1 * np.cos(7 * angle), 0.1 * np.sin(5 * angle)]
    )
    return X + np.random.default_rng(0).normal(0, 0.05, size=X.shape)


def test_no_outliers():
    said = text(render_report(clean(), estimator=TL1SubspacePCA(2, random_state=0)))
    assert "None of the 60 rows is flagged" in said
    assert "No row needs attention" in said
    assert "No row is flagged." in said
    assert "nothing in these data distorts classical PCA" in said
    assert "flagged rows" not in said.replace("Flagged rows", "").replace("0 flagged rows", "")


def test_one_outlier_is_singular():
    X = clean()
    X[7] += [0, 0, 30, -20]
    said = text(render_report(X, estimator=TL1SubspacePCA(2, random_state=0)))
    assert "1 of 60 rows (1.7 %) is flagged: 1 bad leverage point." in said or "1 orthogonal outlier." in said
    assert "Furthest out is row 8 (counted from 1); its distance is" in said
    assert "component points at row 8: " in said
    assert "Look at the flagged row and" in said
    assert "Do not use the components of classical PCA for these data: the flagged row moved them" in said
    assert "1 rows" not in said


def test_leverage_points_only():
    X = np.vstack([clean(), clean() + 1e-3])
    X[[3, 4, 5]] += [70.0, 0, 0, 0]
    said = text(render_report(X, estimator=TL1SubspacePCA(2, random_state=0)))
    assert "3 of 120 rows (2.5 %) are flagged: 3 good leverage points." in said
    assert "These rows are far from the center but in line with the others" in said
    assert "if so, keep them" in said


def test_many_outliers():
    X, _, _ = make_contaminated(300, 10, 2, fraction=0.3, random_state=0)
    said = text(render_report(X, estimator=TL1SubspacePCA(2, random_state=0)))
    assert "So many rows are rarely single errors" in said
    assert "Careful" not in said


def test_most_rows_flagged_is_a_warning():
    fitted = TL1SubspacePCA(2, random_state=0).fit(gaussian(200, 5))
    said = text(render_report(gaussian(50, 5) * 50, estimator=fitted))
    assert "Careful." in said
    assert "of the rows are flagged. Limits are made for a majority" in said


def test_chance_alone_asks_for_nothing():
    X, _, _ = make_contaminated(1000, 10, 3, kind="clean", random_state=1)
    said = text(render_report(X, estimator=TL1SubspacePCA(3, random_state=0)))
    assert "no more than chance produces" in said


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (
            [MADScaler()],
            "MADScaler(): each column less its median, divided by its median absolute deviation.",
        ),
        (
            [StandardScaler()],
            "StandardScaler(): each column less its mean, divided by its standard deviation.",
        ),
        ([StandardScaler(), MADScaler()], "StandardScaler(), MADScaler(): each column less its median"),
        ([FunctionTransformer()], "FunctionTransformer(). Distances, variances and loadings are those"),
    ],
)
def test_what_comes_before_the_fit_is_said(steps, said):
    assert said in text(render_report(gaussian(50, 4), estimator=make_pipeline(*steps, TL1SubspacePCA(2))))


def test_classical_pca_is_not_compared_with_itself():
    page = render_report(gaussian(50, 4), estimator=PCA(2))
    assert "The fitted method is classical PCA itself" in text(page)
    assert content(page)["classical"] is None
    assert 'id="figure-classical"' not in page


def test_different_units_are_noticed():
    X = gaussian(80, 4)
    X[:, 2] *= 5000
    said = text(render_report(X))
    assert "fold (“x2” against" in said
    assert "scale them first: --scale robust on the command line" in said
    assert "scale them first" not in text(
        render_report(X, estimator=make_pipeline(MADScaler(), TL1SubspacePCA()))
    )


# ------------------------------------------------------------------------------- many rows
def test_of_many_rows_the_figures_show_a_sample_and_say_so():
    X, _, _ = make_contaminated(30_000, 6, 2, fraction=0.2, random_state=0)
    fitted = TL1SubspacePCA(2, random_state=0).fit(X)
    page = render_report(X, estimator=fitted)
    data, flagged = content(page), np.flatnonzero(fitted.flags_)
    assert len(data["points"]) == 4000
    assert sorted(data["row"][: data["listed"]]) == (flagged + 1).tolist()  # the table holds them all
    assert data["points"][:1000] == list(range(1000))  # the furthest out are drawn
    assert np.all(np.diff(data["times"][: data["listed"]]) <= 1e-3)
    assert (
        f"2,000 of the {30_000 - len(flagged):,} regular rows (drawn at random) and "
        f"2,000 of the {len(flagged):,} flagged rows (the 1,000 furthest out and others at random)"
    ) in text(page)
    assert len(page) < 15_000_000


def test_few_rows_are_all_drawn():
    assert "All 40 rows are drawn." in text(render_report(gaussian(40, 3)))


@pytest.mark.parametrize(
    "X",
    [
        np.ones((20, 3)),
        gaussian(50, 1),
        gaussian(8, 300),
        gaussian(2, 3),
        gaussian(60, 5).astype(np.float32),
        np.vstack([gaussian(40, 2) @ gaussian(2, 6), 9 * gaussian(3, 6)]),
    ],
    ids=["constant", "one column", "wide", "two rows", "single precision", "exact fit"],
)
def test_degenerate_data_still_give_a_page(X):
    assert "What to do next" in text(render_report(X))


def test_shares_of_the_score_distance_are_never_more_than_the_whole():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(60, 6))
    pca = tl1pca.TL1SubspacePCA(2).fit(X)
    found = diagnose(pca, X)
    found = replace(found, flags=np.full(60, Flag.GOOD_LEVERAGE))  # all rows are described by shares
    shares = unusual(pca, X, found, np.arange(60)).values
    assert np.nanmin(shares) >= 0
    assert (np.nansum(shares, axis=1) <= 1 + 1e-12).all()
    C, T = pca.components_, pca.transform(X)
    added = (X - pca.mean_) * ((T / pca.explained_variance_) @ C)
    assert (added < 0).any()  # which others made up for, beyond the whole
    np.testing.assert_allclose(
        shares[:, 0], (added.max(axis=1) / np.maximum(added, 0).sum(axis=1)), rtol=1e-9
    )


@pytest.mark.parametrize("value", [1.0, 0.1, -1234.56])
@pytest.mark.parametrize("bad", [0, 1, 4])
def test_rows_that_are_all_equal_have_no_components_to_use(value, bad):
    X = np.full((20, 3), value)
    X[:bad] += np.arange(1, 4)
    page = text(render_report(X))
    assert "there is no variance" in page
    assert "can be used as they are" not in page
    assert "there is no variance" not in text(render_report(gaussian(20, 3) * 1e-9 + value))


# ------------------------------------------------------------------------------- errors and files
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"columns": ["a"]}, ValueError, "columns must name the 3 columns of X, got 1"),
        ({"labels": ["a"]}, ValueError, "labels must name the 30 rows of X, got 1"),
        (
            {"X": np.full((30, 3), np.nan)},
            ValueError,
            "90 entries of X are missing or infinite, the first in row 1 (index 0), column 'x0'",
        ),
        ({"X": gaussian(30, 3) * 1e200}, ValueError, "other units"),
        ({"estimator": make_pipeline(PCA(1), StandardScaler())}, TypeError, "or a pipeline that ends in one"),
        ({"estimator": PCA(2).fit(gaussian(30, 5))}, ValueError, "X has 3 features, PCA was fitted to 5"),
        ({"row_numbers": [1, 2]}, ValueError, "row_numbers must be 30 whole numbers"),
        ({"X": [["a", "b", "c"]] * 30}, ValueError, "could not convert"),
    ],
)
def test_errors_say_what_to_do(change, error, message):
    arguments = {"X": gaussian(30, 3)} | change
    with pytest.raises(error, match=re.escape(message)):
        render_report(arguments.pop("X"), **arguments)


def test_an_unfitted_estimator_is_not_changed():
    estimator = tl1pca.TL1PCA(1)
    render_report(gaussian(30, 3), estimator=estimator)
    assert not hasattr(estimator, "components_")


def test_the_file_holds_the_page_and_nothing_is_left_beside_it(tmp_path):
    X = gaussian(30, 3)
    path = write_report(X, tmp_path / "page.html", title="Twice")
    first = path.read_bytes()
    assert write_report(X, str(path), title="Twice") == path
    assert path.read_bytes() == first == render_report(X, title="Twice").encode()
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_a_folder_that_does_not_exist_or_a_path_that_is_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        write_report(gaussian(30, 3), tmp_path / "no" / "page.html")
    with pytest.raises(OSError, match="could not be written"):
        write_report(gaussian(30, 3), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'tl1pca[report]'")):
        render_report(gaussian(30, 3))


# ------------------------------------------------------------------------------- known data
def test_octane_finds_the_six_samples_with_alcohol(data_home):
    table, columns = load_table("octane.csv.gz", data_home)
    X = table[:, 1:227]
    page = render_report(X, estimator=TL1SubspacePCA(2, random_state=0), columns=columns[1:227])
    data = content(page)
    assert sorted(data["row"][: data["listed"]]) == [3, 7, 25, 26, 36, 37, 38, 39]
    assert "8 of 39 rows (21 %) are flagged" in text(page)
    assert unescape(page).count("V226") >= 1


def test_a_name_does_not_turn_the_sentence_around_it():
    """Marks for writing from right to left turned the rest of the line."""
    X, _, _ = make_contaminated(60, 5, 2, fraction=0.1, random_state=0)
    page = render_report(
        X, columns=[TURNS, *"bcde"], labels=[f"{TURNS}{i}" for i in range(60)], title=TURNS, source=TURNS
    )
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", page)
    assert "\\u202eevil\\u2066" in Outline(page).text
