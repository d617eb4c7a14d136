"""Three stories from a file to a cleaned table, in a real browser; with keyboard alone, and on a phone."""

import csv
import io
import re
import time

import numpy as np
import pandas as pd
import psutil
import pyarrow
import pyarrow.csv
import pytest
from sklearn.datasets import load_wine

from explore_server import Explorer
from tl1pca.datasets import make_contaminated

pytestmark = pytest.mark.slow  # a real browser, step by step

pytest.importorskip("starlette", reason="the extra explore is not installed")


class Page:
    """A tab on the server, with all it requested and complained about."""

    def __init__(self, browser, server, width=1280):
        self.server, self.complaints, self.requests = server, [], []
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.page.goto(server.address)
        self.page.wait_for_selector("html[data-ready=yes]")

    def __call__(self, selector):
        return self.page.locator(selector)

    def until(self, condition, arg=None, seconds=60):
        """Wait for something on the page; playwright's own way is forbidden by the policy."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition, arg):
            assert time.monotonic() < end, (condition, arg)
            self.page.wait_for_timeout(40)

    def settled(self):
        """Wait until the page shows the fit and the rows of the moment; the state."""
        state = self.server.settled()
        shown = "(now) => ['fit', 'rows'].every((n, i) => document.documentElement.dataset[n] === now[i])"
        if state["fit"] is not None:
            self.until(shown, [str(state["fit"]["version"]), str(state["version"])])
        return state

    def load(self, path, drop=False):
        before = self.server.json("api/state")["file"]
        if drop:
            dropped = self.page.evaluate_handle(
                """([name, text]) => {
                    const data = new DataTransfer();
                    data.items.add(new File([text], name));
                    return data;
                }""",
                [path.name, path.read_text()],
            )
            self.page.dispatch_event("body", "dragenter", {"dataTransfer": dropped})
            assert self.page.locator("#dropping").is_visible()
            self.page.dispatch_event("body", "drop", {"dataTransfer": dropped})
        else:
            self.page.locator("#file").set_input_files(path)
        end = time.monotonic() + 60
        while (self.server.settled()["file"] or {}).get("id") == (before or {}).get("id"):
            assert time.monotonic() < end, f"{path.name} never came"
            self.page.wait_for_timeout(50)
        return self.settled()

    def decided(self, act):
        """Do something that is a decision, and wait for the fit that follows it."""
        before = self.server.json("api/state")["version"]
        act()
        for _ in range(400):
            state = self.server.settled()
            if state["version"] != before and not state["fit"]["stale"]:
                break
            self.page.wait_for_timeout(50)
        return self.settled()

    def download(self, name):
        with self.page.expect_download() as download:
            self.page.locator(f"#out button[data-out='{name}']").click()
        with open(download.value.path(), "rb") as file:
            return download.value.suggested_filename, file.read()

    def rows(self):
        return [int(text) for text in self.page.locator("#table tbody button.open").all_inner_texts()]

    def check(self):
        assert self.complaints == []
        ours = (self.server.address, "data:", "blob:")
        assert [url for url in self.requests if not url.startswith(ours)] == []
        self.page.close()


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    """The wine data with two slips and a row in the wrong order, and names that look like markup."""
    path = tmp_path_factory.mktemp("explore") / "wine.csv"
    frame = load_wine(as_frame=True).data.copy()
    frame.loc[10, "alcohol"] = 142.3
    frame.loc[50, "ash"] = 24.3
    frame.iloc[150] = frame.iloc[150].to_numpy()[::-1]
    frame.insert(0, "wine <b>", [f"<i>wine</i> {i + 1}" for i in range(len(frame))])
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def server(browser):
    explorer = Explorer()
    yield explorer
    code, err = explorer.stop()
    assert (code, err) == (130, "")


def test_wine_with_slips(browser, server, wine):
    tab = Page(browser, server)
    assert tab("#welcome").is_visible()
    tab.load(wine)
    assert "178 × 13" in tab("#tiles").inner_text()

    # The row in the wrong order is the furthest out, in the table and on the map.
    tab(
        "#table thead button",
    ).filter(has_text="excess").click()
    tab.until("document.querySelector('#table tbody button').textContent === '151'")
    place = tab.page.evaluate(
        """() => {
            const plot = document.getElementById("figure-map"), {xaxis, yaxis} = plot._fullLayout;
            plot.scrollIntoView({block: "center", behavior: "instant"});
            const trace = plot._fullData.find((trace) => trace.name === "bad leverage");
            const i = trace.y.indexOf(Math.max(...trace.y)), box = plot.getBoundingClientRect();
            const [x, y] = [xaxis.d2p(trace.x[i]), yaxis.d2p(trace.y[i])];
            return [box.left + xaxis._offset + x, box.top + yaxis._offset + y];
        }"""
    )
    tab.page.mouse.click(*place)
    tab("#row").wait_for()
    assert tab("#row-title").inner_text() == "<i>wine</i> 151 (row 151)"  # names are text
    state = tab.decided(lambda: tab("#row-aside").click())
    assert state["fit"]["fitted"] == 177
    assert tab("#row-flag").inner_text() == "set aside"
    tab.page.keyboard.press("Escape")
    assert tab("#row").is_hidden()

    # A slip in one cell: the row is found, the cell set aside, and the rest of the row is regular.
    tab("#find").fill("wine</i> 11")
    tab.until("document.querySelectorAll('#table tbody tr').length === 11")
    assert tab("#table tbody tr").filter(has_text="142.3").locator("td.bad").inner_text() == "142.3"
    tab("#table tbody tr").filter(has_text="142.3").locator("button.open").click()
    tab("#row-columns tbody tr").first.wait_for()
    assert tab("#row-columns tbody th").first.inner_text() == "alcohol"
    tab.decided(tab("#row-columns tbody button").first.click)
    assert tab("#row-flag").inner_text() == "regular"
    tab.page.keyboard.press("Escape")
    assert [re.sub(r"<.*?>", "", text) for text in tab("#decisions li").all_inner_texts()] == [
        "“wine 151” (row 151) set aside.",
        "“alcohol” of “wine 11” (row 11), 142.3, set aside.",
    ]

    # Undo, and again; a reload and a second tab show the same.
    tab.decided(lambda: tab("#undo").click())
    tab("#table tbody tr").filter(has_text="142.3").locator("button.open").click()
    tab("#row-columns tbody tr").first.wait_for()
    tab.decided(tab("#row-columns tbody button").first.click)
    tab.page.reload()
    tab.page.wait_for_selector("html[data-ready=yes]")
    other = Page(browser, server)
    for page in (tab, other):
        page.settled()
        assert page("#decisions li").count() == 2
        assert page("#file-name").inner_text() == "wine.csv"
    other.check()

    # The figures of the report, and every file.
    for name, figure in (
        ("scores", "figure-scores"),
        ("classical", "figure-classical"),
        ("components", "figure-loadings"),
    ):
        tab(f"#tab-{name}").click()
        tab(f"#{figure} .main-svg").first.wait_for()
    tab("#tab-scores").click()
    tab("#arrows").check()
    assert "flavanoids" in tab("#figure-scores").text_content()
    tab("#tab-cells").click()
    assert tab("#cells tbody tr").count() > 3
    name, content = tab.download("cleaned.csv")
    assert name == "wine_cleaned.csv"
    kept = list(csv.reader(io.StringIO(content.decode())))
    before = list(csv.reader(io.StringIO(wine.read_text())))
    before[11][1] = ""
    assert kept == before[:151] + before[152:]
    name, page = tab.download("report.html")
    assert name == "wine_report.html"
    assert page.startswith(b"<!doctype html>")
    assert tab.download("model.npz")[1][:2] == b"PK"
    assert b"write_cleaned('wine.csv'" in tab.download("script.py")[1]
    tab.check()


def test_scores_are_shown_where_the_regular_rows_are(browser, server, tmp_path):
    X = np.random.default_rng(2).normal(size=(80, 2)) @ np.array([[1.0, 2, 1, 0], [0, 1, 1, 2]]) + 5.0
    X[3, 1] *= 1e4
    path = tmp_path / "slip.csv"
    path.write_text("a,b,c,d\n" + "".join(",".join(f"{x:.4f}" for x in row) + "\n" for row in X))
    tab = Page(browser, server)
    tab.load(path)
    tab("#tab-scores").click()
    tab("#figure-scores .main-svg").first.wait_for()
    assert tab("#close").is_checked()
    assert tab("#outside").inner_text().strip() == "1 row lies outside this figure."
    tab("#close").uncheck()
    assert tab("#outside").inner_text() == ""
    tab.decided(lambda: tab("#fit").click())
    assert not tab("#close").is_checked()  # who has chosen is not asked again
    tab.check()


@pytest.mark.slow
def test_gaps_and_dates(browser, server, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(150, 6)) + 5.0
    X[5, 2], X[99, 4] = 99.0, -50.0
    X[rng.random(X.shape) < 0.04] = np.nan
    X[5, 2], X[99, 4] = 99.0, -50.0
    frame = pd.DataFrame(X, columns=[f"m{j}" for j in range(6)])
    frame.insert(0, "sample", [f"S{i:03d}" for i in range(150)])
    frame.insert(1, "day", pd.date_range("2024-01-01", periods=150).strftime("%Y-%m-%d"))
    frame["paid"] = np.where(rng.random(150) < 0.5, "yes", "no")
    path = tmp_path / "gaps.csv"
    frame.to_csv(path, index=False)
    tab = Page(browser, server)
    tab.load(path, drop=True)
    tab("#columns-details summary").click()
    listed = tab("#columns").inner_text()
    assert "dates or times" in listed
    assert "every row has its own" in listed
    assert "yes or no" in listed
    assert "% missing" in listed
    assert tab("#method").input_value() == "cell"
    assert tab("#label").input_value() == "sample"
    tab("#only").select_option("cells")
    for value in ("99", "−50"):
        shown = (
            "(value) => [...document.querySelectorAll('#table td.bad')].some((c) => c.innerText === value)"
        )
        tab.until(shown, value)
    assert "2024-01-06" in tab("#table tbody").inner_text()
    bad = tab.server.json("api/state")["fit"]["cells"]
    tab.decided(lambda: tab("#cells-aside").click())
    assert f"{bad} cells" in tab("#decisions").inner_text()

    # The curve, and a number of components of one's own.
    tab("#curve").click()
    tab("#curve-dialog[open]").wait_for()
    tab("#curve-k").fill("2")
    tab.decided(lambda: tab("#curve-take").click())
    assert "2 components." in tab("#decisions").inner_text()
    _, cleaned = tab.download("cleaned.csv")
    after = pd.read_csv(io.BytesIO(cleaned))
    assert after["day"].tolist() == frame["day"].tolist()
    emptied = after.iloc[:, 2:8].isna().to_numpy() & ~np.isnan(X)
    assert emptied.sum() == bad
    assert emptied[5, 2]
    assert emptied[99, 4]
    tab.check()


@pytest.mark.slow
def test_two_hundred_thousand_rows(browser, server, tmp_path):
    rows = 200_000
    X = make_contaminated(rows, 20, 3, fraction=0.03, random_state=0)[0].round(3)
    path = tmp_path / "large.csv"
    pyarrow.csv.write_csv(pyarrow.table({f"v{j}": X[:, j] for j in range(20)}), path)
    tab = Page(browser, server)
    state = tab.load(path)
    flagged = sum(state["fit"]["counts"][1:])
    assert tab("#range").inner_text().endswith(f"of {rows:,}")
    assert tab("#table tbody tr").count() < 100  # only what is in sight
    tab("#scroller").evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
    last = "(row) => document.querySelector('#table tbody tr:last-child button').textContent === row"
    tab.until(last, arg=str(rows))
    tab("#table thead button").filter(has_text=re.compile("^v3")).click()
    tab.until("document.querySelector('#table th[aria-sort]').textContent.startsWith('v3')")
    tab.until(
        "(row) => document.querySelector('#table tbody button').textContent === row",
        arg=str(int(X[:, 3].argmin()) + 1),
    )
    tab("#find").fill(str(rows - 1))
    tab.until("document.querySelectorAll('#table tbody tr').length === 1")
    assert tab.rows() == [rows - 1]
    tab("#find").fill("")

    # A fit that does not end can be canceled; the table is still there.
    workers = psutil.Process(server.process.pid).children()
    (worker,) = [child for child in workers if "spawn_main" in " ".join(child.cmdline())]
    worker.suspend()
    tab("#fit").click()
    tab("#job").wait_for()
    tab("#cancel").click()
    tab("#job").wait_for(state="hidden")
    state = tab.decided(lambda: tab("#flagged-aside").click())
    assert state["fit"]["fitted"] == rows - flagged
    _, cleaned = tab.download("cleaned.csv")
    assert cleaned.count(b"\n") == rows + 1 - flagged
    tab.check()


def test_keyboard_alone(browser, server, wine):
    tab = Page(browser, server)
    tab.load(wine)
    press = tab.page.keyboard.press
    focused = (
        "document.activeElement.id || document.activeElement.dataset.row || document.activeElement.className"
    )

    def until(wanted, key="Tab", most=60):
        for _ in range(most):
            if tab.page.evaluate(focused) == wanted:
                return
            press(key)
        raise AssertionError(tab.page.evaluate(focused))

    until("skip")
    press("Enter")  # to the table
    until("find")
    tab.page.keyboard.type("wine</i> 15")
    tab.until("document.querySelectorAll('#table tbody tr').length === 11")
    until("15")
    for row in ("150", "151"):
        press("ArrowDown")
        assert tab.page.evaluate(focused) == row
    press("Enter")
    tab.until("document.activeElement.id === 'row-aside'")  # where the panel begins
    tab.decided(lambda: press("Enter"))
    press("Escape")
    assert tab.page.evaluate(focused) == "151"
    assert "set aside" in tab("#table tbody tr").filter(has_text="151").inner_text()
    until("tab-map", key="Shift+Tab")
    press("ArrowRight")
    assert tab("#panel-scores").is_visible()
    until("level", key="Shift+Tab")
    tab.decided(lambda: press("End"))
    assert "Level: 0.99999." in tab("#decisions").inner_text()
    until("undo", key="Shift+Tab")
    tab.decided(lambda: press("Enter"))
    with tab.page.expect_download() as download:
        for _ in range(3):
            press("Tab")
            if "Cleaned" in tab.page.evaluate("document.activeElement.textContent"):
                press("Enter")
                break
    assert download.value.suggested_filename == "wine_cleaned.csv"
    for element in tab("button, select, input").all():  # each has a name for a screen reader
        named = element.evaluate(
            "(e) => e.textContent.trim() || e.ariaLabel || e.title || e.labels?.[0]?.textContent.trim()"
        )
        assert named, element.evaluate("(e) => e.outerHTML")
    tab.check()


def test_on_a_phone(browser, server, wine):
    tab = Page(browser, server, width=390)
    tab.load(wine)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 390
    tab("#only").select_option("flagged")
    tab.until("document.querySelector('#table tbody button').textContent === '11'")
    tab("#table tbody button").first.click()
    tab("#row").wait_for()
    box = tab("#row").bounding_box()
    assert box["width"] <= 390
    assert box["y"] > 300  # at the bottom, the figures stay in sight
    cells = "[...document.querySelectorAll('#row-columns th, #row-columns td')]"
    cut = f"{cells}.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)"
    assert tab.page.evaluate(cut) == []  # such as 41.0...
    tab.decided(lambda: tab("#row-aside").click())
    tab("#row-close").click()
    tab("#theme").click()
    assert tab.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 27, 32)"
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert tab.download("cleaned.csv")[1].count(b"\n") == 178
    tab.check()


def test_the_policy_holds_in_the_browser(browser, server):
    tab = Page(browser, server)
    found = tab.page.evaluate(
        """async () => {
            const script = document.createElement("script");
            script.textContent = "window.inline = 1";
            const image = document.createElement("div");
            image.innerHTML = "<img src=x onerror='window.handler = 1'><iframe src='https://example.com'></iframe>";
            document.body.append(script, image);
            setTimeout("window.evaluated = 1");
            let fetched = "answered";
            try { await fetch("http://localhost:1/"); } catch { fetched = "refused"; }
            await new Promise((resolve) => setTimeout(resolve, 200));
            return [window.inline, window.handler, window.evaluated, fetched];
        }"""
    )
    assert found == [None, None, None, "refused"]
    assert sum("Content Security Policy" in text for text in tab.complaints) >= 4
    foreign = browser.new_page()  # a page of another site, in the same browser
    foreign.route(
        "https://evil.example/", lambda route: route.fulfill(content_type="text/html", body="<p>evil</p>")
    )
    foreign.goto("https://evil.example/")
    answer = "(url) => fetch(url).then((r) => r.text(), () => 'refused')"
    assert foreign.evaluate(answer, server.address + "api/state") == "refused"
    tab.page.close()
    foreign.close()
