"""A reader's steps: choose a row anywhere and see it everywhere; search, select, change the level."""

import csv
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from browser_visits import Visit
from tl1pca import TL1CellPCA, TL1SubspacePCA
from tl1pca._unusual import unusual
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import diagnose
from tl1pca.preprocessing import MADScaler
from tl1pca.report import write_report
from tl1pca.report._words import short_names, shorten

pytestmark = pytest.mark.slow  # a real browser, step by step

NAMES = ["<b>width</b>", "height", "weight", "depth", "age", "speed of a thing with a rather long name"]
FIGURES = ("figure-map", "figure-scores", "figure-classical", "figure-again")


@pytest.fixture(scope="module")
def frame():
    X = make_contaminated(200, len(NAMES), 2, fraction=0.1, random_state=0)[0] + 1000.0
    return pd.DataFrame(X, columns=NAMES, index=[f"plant <{i}>" for i in range(200)])


@pytest.fixture(scope="module")
def fitted(frame):
    return TL1SubspacePCA(2, random_state=0).fit(frame)


@pytest.fixture(scope="module")
def path(frame, fitted, tmp_path_factory):
    return write_report(frame, tmp_path_factory.mktemp("linked") / "page.html", estimator=fitted)


@pytest.fixture
def visit(browser, path):
    visit = Visit(browser, path)
    yield visit
    visit.check()
    visit.page.close()


def number(text):
    return float(text.replace("−", "-"))


def marked(page, figure):
    """Where the ring of the chosen row lies in a figure."""
    return page.evaluate(
        "id => { const t = document.getElementById(id).data.at(-1); return [t.x[0], t.y[0]]; }", figure
    )


def click_point(page, figure, flag):
    """Click the first point of a kind, and say where it lies in units of the axes."""
    x, y, px, py = page.evaluate(
        """([figure, name]) => {
            const plot = document.getElementById(figure);
            plot.scrollIntoView({block: "center", behavior: "instant"});
            const trace = plot._fullData.find((trace) => trace.name === name);
            const box = plot.getBoundingClientRect(), {xaxis, yaxis} = plot._fullLayout;
            return [trace.x[0], trace.y[0], box.left + xaxis._offset + xaxis.d2p(trace.x[0]),
                    box.top + yaxis._offset + yaxis.d2p(trace.y[0])];
        }""",
        [figure, flag],
    )
    page.mouse.move(px - 3, py)
    page.mouse.move(px, py)
    page.mouse.click(px, py)
    page.locator("#row").wait_for()
    return x, y


def shown_row(page):
    return int(re.search(r"\(row (\d+)\)$", page.locator("#row-title").inner_text()).group(1)) - 1


def columns_of(page):
    """Name, value, expected value and contribution, as the panel shows them."""
    lines = page.locator("#row-columns tbody tr")
    return [lines.nth(i).locator("th, td").all_inner_texts() for i in range(lines.count())]


def test_a_click_on_a_point_shows_the_row_and_marks_it_everywhere(visit, frame, fitted):
    page = visit.page
    for figure in FIGURES:
        at = click_point(page, figure, "orthogonal outlier")
        np.testing.assert_allclose(marked(page, figure), at, err_msg=figure)
        row = shown_row(page)
        distances = [fitted.score_distances_[row], fitted.orthogonal_distances_[row]]
        for name in ("figure-map", "figure-again"):
            np.testing.assert_allclose(marked(page, name), distances, rtol=1e-4, err_msg=figure)
        scores = fitted.transform(frame.iloc[[row]])[0]
        np.testing.assert_allclose(marked(page, "figure-scores"), scores, rtol=1e-3, atol=1e-3)
        assert page.locator("#row-title").inner_text() == f"plant <{row}> (row {row + 1})"
        page.keyboard.press("Escape")
        page.wait_for_timeout(200)  # the figures have become wider


def test_a_table_row_shows_its_values_and_what_each_column_adds(visit, frame, fitted):
    page = visit.page
    page.locator("#table tbody tr").nth(2).click()
    row = shown_row(page)
    assert page.locator("#table tr[aria-current]").count() == 1
    page.locator("#row-order").select_option("column")
    shown = columns_of(page)
    assert [line[0] for line in shown] == [shorten(name) for name in NAMES]
    x, X = frame.iloc[row].to_numpy(), frame.to_numpy()
    np.testing.assert_allclose([number(line[1]) for line in shown], x, rtol=1e-5)
    expected = fitted.inverse_transform(fitted.transform(frame.iloc[[row]]))[0]
    np.testing.assert_allclose([number(line[2]) for line in shown], expected, rtol=1e-3)
    spread = unusual(fitted, X, diagnose(fitted, X), np.array([row])).spread
    residuals = (x - expected) / spread
    page.locator("#row-measure").select_option("residual")
    np.testing.assert_allclose(
        [number(line[3]) for line in columns_of(page)], residuals, rtol=6e-3, atol=2e-3
    )
    page.locator("#row-measure").select_option("share")
    shares = [number(line[3].replace("%", "")) for line in columns_of(page)]
    assert abs(sum(shares) - 100) <= 3  # of rounded percentages
    page.locator("#row-order").select_option("size")
    shares = [abs(number(line[3].replace("%", ""))) for line in columns_of(page)]
    assert shares == sorted(shares, reverse=True)


def test_values_of_a_pipeline_are_the_users(browser, frame, tmp_path):
    model = make_pipeline(MADScaler(), TL1SubspacePCA(2, random_state=0)).fit(frame)
    visit = Visit(browser, write_report(frame, tmp_path / "page.html", estimator=model))
    visit.page.locator("#table tbody tr").first.click()
    row = shown_row(visit.page)
    visit.page.locator("#row-order").select_option("column")
    values = [number(line[1]) for line in columns_of(visit.page)]
    np.testing.assert_allclose(values, frame.iloc[row], rtol=1e-5)
    expected = model.inverse_transform(model.transform(frame.iloc[[row]]))[0]  # in the units of the frame
    np.testing.assert_allclose([number(line[2]) for line in columns_of(visit.page)], expected, rtol=1e-3)
    visit.check()
    visit.page.close()


def test_search_by_label_and_number(visit):
    page = visit.page
    page.locator("#search").fill("<17>")
    assert page.locator("#search-results button").all_inner_texts() == ["plant <17> (row 18)"]
    page.keyboard.press("Enter")
    assert shown_row(page) == 17
    page.locator("#search").fill("200")
    page.locator("#search-results button").first.click()
    assert shown_row(page) == 199
    page.locator("#search").fill("no such plant")
    assert "Not among the 200 rows" in page.locator("#search-count").inner_text()


def test_keyboard_alone(visit):
    page = visit.page
    page.locator("#table tbody button").first.focus()
    page.keyboard.press("Enter")
    first = shown_row(page)
    assert page.evaluate("document.activeElement.closest('tr').getAttribute('aria-current')") == "true"
    page.locator("#row-next").focus()
    page.keyboard.press("Enter")
    assert shown_row(page) == int(visit.column("row")[1]) - 1 != first
    page.keyboard.press("Escape")
    assert page.locator("#row").is_hidden()
    assert marked(page, "figure-map") == [None, None]


@pytest.mark.parametrize("mode", ["select", "lasso"])
def test_a_selection_goes_to_the_table_and_to_a_file(visit, fitted, tmp_path, mode):
    page = visit.page
    page.locator("#dragging").select_option(mode)
    box = page.evaluate(
        """() => {
            const plot = document.getElementById("figure-map");
            plot.scrollIntoView({block: "center", behavior: "instant"});
            const box = plot.getBoundingClientRect(), {xaxis, yaxis} = plot._fullLayout;
            return [box.left + xaxis._offset + 2, box.top + yaxis._offset + 2, xaxis._length - 4,
                    yaxis._length / 2];
        }"""
    )
    x, y, width, height = box
    page.mouse.move(x, y)
    page.mouse.down()
    for to in ((x + width, y), (x + width, y + height), (x, y + height))[1 if mode == "select" else 0 :]:
        page.mouse.move(*to, steps=8)
        if mode == "select":
            break
    page.mouse.up()
    page.locator("#clear").wait_for()
    with page.expect_download() as download:
        page.locator("#export").click()
    assert download.value.suggested_filename == "selected_rows.csv"
    download.value.save_as(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        rows = sorted(int(line["row"]) - 1 for line in csv.DictReader(file))
    middle = page.evaluate("document.getElementById('figure-map')._fullLayout.yaxis.range")[1] / 2
    od = fitted.orthogonal_distances_
    assert set(np.flatnonzero(od > 1.05 * middle)) <= set(rows) <= set(np.flatnonzero(od > 0.9 * middle))
    assert f"{len(rows)} rows selected" in page.locator("#selected-note").inner_text()
    dimmed = page.evaluate(
        "document.getElementById('figure-scores').data.map((t) => t.selectedpoints?.length ?? 0)"
    )
    assert sum(dimmed) == len(rows)  # the other figures show the same selection
    page.locator("#clear").click()
    assert page.locator("#range").inner_text().endswith(f"of {np.count_nonzero(fitted.flags_)}")


def test_the_level_recounts_the_flags(visit, fitted):
    page, n = visit.page, len(fitted.flags_)

    def counts():
        return [int(page.locator(f"#count-{flag}").inner_text()) for flag in range(4)]

    def listed():
        return int(page.locator("#range").inner_text().rsplit(" ", 1)[-1])

    assert counts() == np.bincount(fitted.flags_, minlength=4).tolist()
    assert "0.99, as fitted" in page.locator("#level-text").inner_text()
    page.locator("#level").focus()
    page.keyboard.press("Home")
    low = counts()
    assert page.locator("#level-text").inner_text().startswith("0.9: ")
    assert sum(low) == n
    assert listed() == n - low[0] >= 0.1 * n  # the browser flags as many as Python counted
    page.keyboard.press("End")
    high = counts()
    assert high[0] > low[0]
    assert listed() == n - high[0]
    lines = page.evaluate("document.getElementById('figure-map').data[1].x")
    assert lines[0] > fitted.cutoffs_.score  # the limits move with it
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    assert counts() == np.bincount(fitted.flags_, minlength=4).tolist()


def test_columns_as_arrows(visit, fitted):
    page = visit.page
    page.locator("#arrows").check()
    names = page.locator("#figure-scores .annotation-text").all_text_contents()
    assert sorted(filter(None, names)) == sorted(shorten(name, 18) for name in NAMES)
    ends = np.array(
        page.evaluate(
            "document.getElementById('figure-scores').layout.annotations.filter((a) => a.showarrow)"
            ".map((a) => [a.x, a.y])"
        )
    )
    loadings = fitted.components_.T
    lengths = np.linalg.norm(loadings, axis=1)
    longest = loadings[np.argsort(-lengths)]
    np.testing.assert_allclose(ends / np.linalg.norm(ends[0]), longest / lengths.max(), atol=1e-3)
    page.locator("#arrows").uncheck()
    assert page.locator("#figure-scores .annotation-text").count() == 0


def test_dark_and_print(visit):
    page = visit.page
    ground = "getComputedStyle(document.body).backgroundColor"
    paper = "document.getElementById('figure-map')._fullLayout.paper_bgcolor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.locator("#theme").click()
    assert page.evaluate(ground) == "rgb(22, 27, 32)"
    assert page.evaluate(paper) == "#161b20"
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert page.evaluate(paper) == "#fff"
    assert page.locator(".tools").is_hidden()
    widths = "[...document.querySelectorAll('.js-plotly-plot')].map((plot) => plot._fullLayout.width)"
    assert set(page.evaluate(widths)) == {660}
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    page.wait_for_function(f"{widths}[0] > 660")
    assert page.evaluate(ground) == "rgb(22, 27, 32)"


def test_the_system_is_asked_for_dark(browser, path):
    page = browser.new_page(color_scheme="dark")
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]")
    assert page.locator("#theme").inner_text() == "Light"
    page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_many_long_names_do_not_overprint(browser, tmp_path, width):
    X = make_contaminated(100, 300, 3, fraction=0.1, random_state=0)[0]
    columns = [f"column {j} with a name that says what was measured and how" for j in range(300)]
    estimator = TL1SubspacePCA(3, random_state=0)
    visit = Visit(
        browser, write_report(X, tmp_path / "page.html", estimator=estimator, columns=columns), width
    )
    page = visit.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = page.evaluate(
        "[...document.querySelectorAll('#figure-loadings .xtick text')].map((t) => t.getBoundingClientRect())"
        ".map((b) => [b.left, b.right]).sort((a, b) => a[0] - b[0])"
    )
    assert len(boxes) >= 2
    assert all(left[1] <= right[0] for left, right in pairwise(boxes))
    page.locator("#table tbody button").first.click()
    page.locator("#row-order").select_option("column")
    page.locator("#row-all").check()
    names = page.locator("#row-columns tbody th").evaluate_all("cells => cells.map((cell) => cell.title)")
    assert names == columns
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    visit.check()
    page.close()


def test_long_names_show_where_they_differ(browser, tmp_path):
    X = make_contaminated(100, 60, 3, fraction=0.1, random_state=0)[0]
    columns = [f"concentration of compound number {j} in the second tank, mg per liter" for j in range(60)]
    columns[7] = "temperature"
    estimator = TL1SubspacePCA(3, random_state=0)
    visit = Visit(browser, write_report(X, tmp_path / "page.html", estimator=estimator, columns=columns))
    page = visit.page
    page.locator("#table tbody button").first.click()
    page.locator("#row-order").select_option("column")
    page.locator("#row-all").check()
    shown = page.locator("#row-columns tbody th").all_inner_texts()
    assert shown == short_names(columns)  # the page and the sentences on it agree
    assert len(set(shown)) == len(columns)
    assert all(str(j) in name for j, name in enumerate(shown) if j != 7)
    ticks = page.locator("#figure-loadings .xtick text").all_text_contents()
    assert len(set(ticks)) == len(ticks)
    visit.check()
    page.close()


def test_ten_thousand_rows_stay_below_two_megabytes(tmp_path):
    X = make_contaminated(10_000, 20, 3, fraction=0.05, random_state=0)[0]
    estimator = TL1SubspacePCA(3, random_state=0)
    page = write_report(X, tmp_path / "page.html", estimator=estimator)
    assert page.stat().st_size < 2_000_000


def test_a_row_far_out_does_not_hide_the_others(browser, frame, tmp_path):
    X = frame.to_numpy().copy()
    X[0] += 1e4
    estimator = TL1SubspacePCA(2, random_state=0).fit(frame.to_numpy())
    visit = Visit(browser, write_report(X, tmp_path / "page.html", estimator=estimator))
    page = visit.page
    extent = (
        "(() => { const {xaxis, yaxis} = document.getElementById('figure-scores')._fullLayout;"
        " return [xaxis, yaxis].map((axis) => axis.range[1] - axis.range[0]); })()"
    )
    narrow = page.evaluate(extent)  # as nothing could be told apart otherwise
    assert page.locator("#close").is_checked()
    assert page.locator("#outside").text_content().strip() == "1 row lies outside this figure."
    page.locator("#close").uncheck()
    wide = page.evaluate(extent)
    assert max(narrow) < 0.1 * max(wide)
    assert page.locator("#outside").text_content() == ""
    page.locator("#close").check()
    np.testing.assert_allclose(page.evaluate(extent), narrow)
    visit.check()
    page.close()


# ------------------------------------------------------------------------------- cells
@pytest.fixture(scope="module")
def wrong_cells():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(60, 6)) + 50.0
    X[4, 2], X[9, 5] = 77.0, np.nan
    return pd.DataFrame(X, columns=NAMES)


def test_a_row_of_the_cell_map_shows_its_cells(browser, wrong_cells, tmp_path):
    pca = TL1CellPCA(2, random_state=0).fit(wrong_cells)
    visit = Visit(browser, write_report(wrong_cells, tmp_path / "page.html", estimator=pca))
    page = visit.page
    line = page.locator(".cell-row[aria-label='Show row 5']")
    line.focus()
    page.keyboard.press("Enter")
    assert page.locator("#row-title").inner_text() == "Row 5"
    assert page.locator(".cell-row.chosen").get_attribute("aria-label") == "Show row 5"
    assert page.locator("#row-unusual").inner_text().startswith("Cells: weight (+")
    shown = columns_of(page)
    assert shown[0][0] == "weight bad cell"
    assert number(shown[0][1]) == 77.0  # as it was given, not as it was repaired
    np.testing.assert_allclose(number(shown[0][2]), pca.impute(wrong_cells)[4, 2], rtol=1e-3)
    np.testing.assert_allclose(number(shown[0][3]), pca.cell_residuals_[4, 2], rtol=6e-3)
    page.locator("#search").fill("10")
    page.keyboard.press("Enter")
    page.locator("#row-order").select_option("column")
    assert columns_of(page)[5][1] == "missing"
    visit.check()
    page.close()


# ------------------------------------------------------------------------------- time
def test_control_charts_follow_the_level_and_the_chosen_row(browser, frame, fitted, tmp_path):
    times = pd.date_range("2024-01-01", periods=len(frame), freq="h")[::-1]  # not in the order of the rows
    visit = Visit(browser, write_report(frame, tmp_path / "page.html", estimator=fitted, time=times))
    page = visit.page
    limit = "document.getElementById('figure-orthogonal-chart').data[0].y[0]"
    np.testing.assert_allclose(page.evaluate(limit), fitted.cutoffs_.orthogonal, rtol=1e-4)
    click_point(page, "figure-orthogonal-chart", "orthogonal outlier")
    row = shown_row(page)
    when, distance = marked(page, "figure-orthogonal-chart")
    assert pd.Timestamp(when) == times[row]
    np.testing.assert_allclose(distance, fitted.orthogonal_distances_[row], rtol=1e-4)
    np.testing.assert_allclose(
        marked(page, "figure-score-chart")[1], fitted.score_distances_[row], rtol=1e-4, atol=1e-6
    )
    joined = page.evaluate("document.getElementById('figure-score-chart').data[1].x")
    assert joined == sorted(joined)
    assert len(joined) == len(frame)
    page.locator("#level").focus()
    page.keyboard.press("End")
    assert page.evaluate(limit) > fitted.cutoffs_.orthogonal
    visit.check()
    page.close()
