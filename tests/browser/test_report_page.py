"""The report in a real browser: nothing loaded, no error, hover, sorting, export, names that stay text."""

import csv
import time

import numpy as np
import pytest

from browser_visits import Visit
from tl1pca import TL1SubspacePCA
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import Flag
from tl1pca.report import write_report
from tl1pca.report._words import shorten

pytestmark = pytest.mark.slow  # a real browser, step by step

HOSTILE = [
    "<script>alert(1)</script>",
    "<b>bold</b>",
    '<a href="javascript:alert(1)">link</a>',
    "=HYPERLINK(1)",
    'comma, "quote"',
    "&lt;i&gt;",
]
LABELS = ["@label <b>x</b>", "-5", '=1+1,"a"', "line\nbreak", "<img src=x onerror=alert(1)>"]


def contaminated(n=200, fraction=0.15):
    return make_contaminated(n, len(HOSTILE), 2, fraction=fraction, random_state=0)[0]


@pytest.fixture(scope="module")
def hostile(browser, tmp_path_factory):
    """A page whose columns and rows have names that try to be something else."""
    X = contaminated()
    labels = [f"{LABELS[i % len(LABELS)]} {i}" if i % 7 else LABELS[i % len(LABELS)] for i in range(len(X))]
    fitted = TL1SubspacePCA(2, random_state=0).fit(X)
    path = tmp_path_factory.mktemp("pages") / "hostile.html"
    names = {"columns": HOSTILE, "labels": labels, "title": HOSTILE[0], "source": LABELS[4]}
    write_report(X, path, estimator=fitted, **names)
    return path, fitted, labels


@pytest.mark.parametrize("width", [1280, 420])
def test_opens_without_errors_requests_or_sideways_scrolling(browser, hostile, width):
    visit = Visit(browser, hostile[0], width)
    visit.check()
    assert visit.requests == [hostile[0].as_uri()]
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    for figure in ("map", "scores", "classical", "again", "scree", "loadings"):
        assert visit.page.locator(f"#figure-{figure} .main-svg").count() > 0
    visit.page.close()


def test_names_stay_text(browser, hostile):
    visit = Visit(browser, hostile[0])
    page = visit.page
    assert page.locator("h1").inner_text() == HOSTILE[0]
    assert page.title() == HOSTILE[0]
    ticks = page.locator("#figure-loadings .ytick text").all_text_contents()
    assert ticks == [shorten(name, 26) for name in HOSTILE]
    assert page.locator("main img, main b, svg a, #table a, #table i").count() == 0
    assert any("<" in cell for cell in visit.column("most unusual variables"))  # as text, markup and all
    visit.check()
    page.close()


def test_hover_shows_the_label_and_the_most_unusual_variables(browser, hostile):
    visit = Visit(browser, hostile[0])
    data = visit.page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    outliers = [i for i in data["points"] if data["flag"][i] == Flag.ORTHOGONAL_OUTLIER]
    for figure in ("figure-map", "figure-scores", "figure-classical"):
        shown = visit.hover(figure, "orthogonal outlier")
        # Points may lie on top of each other; whichever is shown has its own label and its own variables.
        match = [i for i in outliers if f"(row {data['row'][i]})" in shown]
        assert len(match) == 1, shown
        i = match[0]
        assert data["label"][i].replace("\n", " ").split()[0] in shown
        for j in data["variables"][i]:
            assert data["names"][j] in shown
        assert "residual, in usual spreads" in shown
    visit.check()
    visit.page.close()


def test_headings_sort(browser, hostile):
    visit = Visit(browser, hostile[0])
    assert visit.column("excess") == sorted(visit.column("excess"), key=float, reverse=True)
    visit.sort("row")
    flagged = np.flatnonzero(hostile[1].flags_) + 1
    assert [int(cell) for cell in visit.column("row")] == flagged[:20].tolist()
    visit.sort("row")
    assert [int(cell) for cell in visit.column("row")] == flagged[::-1][:20].tolist()
    visit.sort("score distance")
    expected = np.sort(hostile[1].score_distances_[hostile[1].flags_ > 0])[::-1][:20]
    np.testing.assert_allclose([float(cell) for cell in visit.column("score distance")], expected, rtol=6e-3)
    head = visit.page.locator("#table th[aria-sort]")
    assert head.count() == 1
    assert head.get_attribute("aria-sort") == "descending"
    visit.page.locator("#following").click()
    count = np.count_nonzero(hostile[1].flags_)
    assert visit.page.locator("#range").inner_text() == f"21–{min(40, count)} of {count}"
    visit.check()
    visit.page.close()


def test_export_holds_all_flagged_rows_as_safe_csv(browser, hostile, tmp_path):
    _, fitted, labels = hostile
    visit = Visit(browser, hostile[0])
    visit.sort("row")
    with visit.page.expect_download() as download:
        visit.page.locator("#export").click()
    target = tmp_path / "flagged.csv"
    download.value.save_as(target)
    assert download.value.suggested_filename == "flagged_rows.csv"
    with target.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    flagged = np.flatnonzero(fitted.flags_)
    assert [int(row["row"]) for row in rows] == (flagged + 1).tolist()
    for row, i in zip(rows, flagged):
        # A formula is disarmed by an apostrophe; all else comes back as it was.
        begins = labels[i][0] in "=@" or (labels[i][0] == "-" and labels[i] != "-5")
        assert row["label"] == ("'" if begins else "") + labels[i]
        assert row["variable_1"].removeprefix("'") in HOSTILE
        assert not row["variable_1"].startswith("=")
        distances = [float(row["score_distance"]), float(row["orthogonal_distance"])]
        expected = [fitted.score_distances_[i], fitted.orthogonal_distances_[i]]
        np.testing.assert_allclose(distances, expected, rtol=1e-5)
    assert {row["flag"] for row in rows} <= {"good leverage", "orthogonal outlier", "bad leverage"}
    visit.check()
    visit.page.close()


def test_components_of_the_scores_can_be_chosen(browser, tmp_path):
    X = contaminated()
    path = write_report(X, tmp_path / "page.html", estimator=TL1SubspacePCA(3, random_state=0))
    visit = Visit(browser, path)
    visit.page.locator("#score-y").select_option(label="component 3")
    assert visit.page.locator("#figure-scores .ytitle").text_content() == "component 3"
    visit.check()
    visit.page.close()


@pytest.mark.parametrize("case", ["clean", "one component", "far out", "wide"])
def test_other_pages_open_without_errors(browser, tmp_path, case):
    rng = np.random.default_rng(0)
    X, k = rng.normal(size=(80, 6)) * [5, 4, 1, 1, 1, 1], 2
    if case == "one component":
        k = 1
    elif case == "far out":
        X[0] += 1e6
    elif case == "wide":
        X = rng.normal(size=(12, 200))
    estimator = TL1SubspacePCA(k, random_state=0)
    visit = Visit(browser, write_report(X, tmp_path / "page.html", estimator=estimator))
    visit.check()
    note = visit.page.locator("#note-map").inner_text()
    assert ("logarithmic" in note) == (case == "far out")
    visit.page.close()


@pytest.mark.slow
def test_a_hundred_thousand_rows_load_and_respond(browser, tmp_path):
    X = contaminated(100_000, 0.3)
    fitted = TL1SubspacePCA(2, random_state=0).fit(X)
    path = write_report(X, tmp_path / "page.html", estimator=fitted)
    assert path.stat().st_size < 15_000_000
    visit = Visit(browser, path)
    assert visit.seconds < 60  # a few seconds on a free machine
    begin = time.monotonic()
    visit.sort("row")
    assert visit.column("row")[0] == str(np.flatnonzero(fitted.flags_)[0] + 1)
    assert "share of the squared score distance" in visit.hover("figure-map", "good leverage")
    assert time.monotonic() - begin < 20
    assert visit.page.locator("#range").inner_text() == f"1–20 of {np.count_nonzero(fitted.flags_):,}"
    visit.check()
    visit.page.close()
