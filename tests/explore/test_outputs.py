"""What leaves the page is what was decided on it, and the script does the same without the page."""

import contextlib
import csv
import io
import runpy
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import tl1pca
from tl1pca.diagnostics import diagnose


@pytest.fixture
def loaded(server, wine):
    return server.load("wine.csv", wine)


def flagged_of(server):
    lines = csv.DictReader(io.StringIO(server.get("out/flagged.csv").decode()))
    return [int(line["row"]) for line in lines]


def in_a_process(folder):
    command = [sys.executable, "-W", "ignore", "script.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_this_one(folder):
    """The same without the second that a start takes."""
    printed = io.StringIO()
    with warnings.catch_warnings(), contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        warnings.simplefilter("ignore")
        runpy.run_path("script.py", run_name="__main__")
    return printed.getvalue()


def run_script(server, tmp_path, name, content, run=in_this_one):
    """Run the script beside the file; the rows it flags, and the table it writes."""
    (tmp_path / name).write_bytes(content)
    (tmp_path / "script.py").write_bytes(server.get("out/script.py"))
    stem = name.partition(".")[0]
    rows = run(tmp_path).strip().removeprefix("Flagged rows: ")
    return [int(x) for x in rows.strip("[]").split(",") if x], (tmp_path / f"{stem}_cleaned.csv").read_bytes()


def test_what_was_decided_is_listed_in_words_and_taken_back(server, loaded):
    assert loaded["decisions"] == []
    server.do("aside", rows=[151])
    server.do("aside", cells=[[11, 0], [51, 2]])
    server.do("aside", rows=[1, 2, 3])
    server.do("back", rows=[2])
    server.do("level", level=0.999)
    state = server.fit(columns=loaded["numbers"][:-1], n_components=3, scale="robust")
    assert state["decisions"] == [
        "“wine 151” (row 151) set aside.",
        "2 cells (“alcohol” of row 11 and “ash” of row 51) set aside.",
        "3 rows (1, 2 and 3) set aside.",
        "“wine 2” (row 2) put back.",
        "Level: 0.999.",
        "Column “proline” left out. 3 components. Columns: divided by a robust spread.",
    ]
    assert state["aside"] == {"rows": 3, "cells": 2}
    assert state["fit"]["fitted"] == 175
    assert state["fit"]["level"] == 0.999
    state = server.do("all-back")
    assert state["decisions"][-1] == "All put back: 3 rows and 2 cells."
    assert state["fit"]["stale"]
    for left in range(6, -1, -1):
        state = server.do("undo")
        assert len(state["decisions"]) == left
    assert not state["undo"]
    assert state["settings"] == loaded["settings"]
    assert server.post("api/do/undo")[0] == 400
    state = server.fit()
    assert state["fit"]["counts"] == loaded["fit"]["counts"]
    assert (
        server.post("api/do/aside", b'{"rows": [' + b",".join(b"%d" % i for i in range(1, 177)) + b"]}")[0]
        == 400
    )


def test_a_reload_and_another_tab_see_the_same(server, loaded):
    server.do("aside", rows=[151])
    state = server.settled()
    again = server.json("api/state")
    assert again == state
    short = server.json(f"api/state?version={state['version']}")
    assert short == {"version": state["version"], "job": None, "error": ""}
    server.do("undo")


def test_the_table_is_paged_sorted_and_searched(server, loaded):
    frame = load_wine(as_frame=True).data
    page = server.json("api/rows?start=100&count=5")
    assert page["total"] == 178
    assert [row["row"] for row in page["rows"]] == [101, 102, 103, 104, 105]
    assert page["rows"][0]["values"] == frame.iloc[100].tolist()
    largest = server.json("api/rows?by=alcohol&kind=column&down=1&count=1")["rows"][0]
    assert largest["row"] == 11 or largest["row"] == 151  # the slip, or the row in the wrong order
    assert loaded["numbers"].index("alcohol") in largest["bad"]
    found = server.json("api/rows?find=WINE+17&count=50")
    assert [row["label"] for row in found["rows"]] == ["wine 17", *(f"wine {i}" for i in range(170, 179))]
    excess = [row["excess"] for row in server.json("api/rows?by=excess&kind=fit&down=1&count=200")["rows"]]
    assert excess == sorted(excess, reverse=True)
    flagged = server.json("api/rows?only=flagged&count=200")
    assert flagged["total"] == sum(loaded["fit"]["counts"][1:])
    assert all(row["kind"] in (1, 2, 3) for row in flagged["rows"])
    assert server.json("api/rows?only=aside")["total"] == 0
    assert server.json("api/rows?start=9999")["rows"] == []


def test_a_row_in_full(server, loaded):
    row = server.json("api/row?row=11")
    assert row["label"] == "wine 11"
    assert row["values"][0] == 142.3
    worst = max(row["parts"], key=lambda part: abs(part["residual"]))
    assert loaded["numbers"][worst["column"]] == "alcohol"
    assert row["excess"] > 1
    server.do("aside", cells=[[11, 0]])
    server.fit()
    row = server.json("api/row?row=11")
    assert row["off"] == [0]
    assert row["excess"] < 1  # an ordinary wine, without the slip
    server.do("undo")


def test_rows_set_aside_are_judged_and_drawn(server, loaded):
    server.do("aside", rows=[151])
    state = server.fit()
    assert state["fit"]["fitted"] == 177
    drawn = server.json("api/figures")["figures"]
    at = drawn["row"].index(151)
    assert drawn["flags"][drawn["flag"][at]] == "set aside"
    assert drawn["od"][at] > 10 * max(od for i, od in enumerate(drawn["od"]) if drawn["flag"][i] == 0)
    assert len(drawn["scores"][0]) == len(drawn["points"]) == 178
    assert drawn["map"]["logX"]  # or all others would be one spot beside it
    assert server.json("api/row?row=151")["aside"]
    server.do("undo")


def test_cleaned_table(server, loaded, wine):
    assert server.get("out/cleaned.csv") == wine.replace(b"\r\n", b"\n")
    server.do("aside", rows=[1, 151], cells=[[11, 0]])
    lines = server.get("out/cleaned.csv").decode().splitlines()
    before = wine.decode().splitlines()
    assert lines[0] == before[0]
    assert lines[1:10] == before[2:11]
    assert lines[10] == before[11].replace("142.3", "")
    assert lines[11:150] == before[12:151]
    assert lines[150:] == before[152:]
    server.do("all-back")


def test_model_file_and_report(server, loaded, wine, tmp_path):
    state = server.fit(n_components=3)
    (tmp_path / "model.npz").write_bytes(server.get("out/model.npz"))
    model = tl1pca.load(tmp_path / "model.npz")
    frame = pd.read_csv(io.BytesIO(wine), index_col=0)
    flags = diagnose(model, frame).flags
    assert np.bincount(flags, minlength=4).tolist() == state["fit"]["counts"]
    assert sorted(flagged_of(server)) == (np.flatnonzero(flags) + 1).tolist()
    page = server.get("out/report.html").decode()
    assert page.startswith("<!doctype html>")
    assert "wine 151" in page
    server.fit(method="pca")
    status, _, content = server.raw("GET", server.prefix + "out/model.npz")
    assert status == 400
    assert "classical PCA" in content.decode()


def gappy():
    """Numbers with gaps, dates, answers and a code, separated by semicolons, with decimal commas."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(120, 6)) + 5.0
    X[5, 2], X[40] = 99.0, X[40] + 9.0 * rng.normal(size=6)
    X[rng.random(X.shape) < 0.03] = np.nan
    lines = ["date;ok;" + ";".join(f"m{j}" for j in range(6))]
    for i, x in enumerate(X):
        cells = ["" if np.isnan(v) else f"{v:.3f}".replace(".", ",") for v in x]
        lines.append(";".join([f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}", "yes" if i % 3 else "no", *cells]))
    return ("\n".join(lines) + "\n").encode()


SCRIPTS = {
    "rows": ({}, {"rows": [151], "cells": [[11, 0]]}),
    "level": ({"level": 0.999, "n_components": 2}, {"rows": [151]}),
    "few columns": ({"columns": ["alcohol", "ash", "hue", "proline"], "scale": "std"}, {}),
    "cells": ({"method": "cell"}, {"cells": [[11, 0], [121, 10]]}),
    "paper": ({"method": "tl1", "scale": "robust"}, {}),
    "classical": ({"method": "pca", "n_components": 3}, {}),
}


@pytest.mark.parametrize("case", SCRIPTS)
def test_the_script_does_the_same(server, loaded, wine, tmp_path, case):
    settings, aside = SCRIPTS[case]
    server.do("aside", **aside)
    state = server.fit(**settings)
    assert state["error"] == ""
    rows, cleaned = run_script(server, tmp_path, "wine.csv", wine)
    assert rows == sorted(flagged_of(server))
    assert len(rows) == sum(state["fit"]["counts"][1:])
    assert cleaned == server.get("out/cleaned.csv")
    lines = server.get("out/script.py").decode().splitlines()
    assert len([line for line in lines if line and not line.startswith(("import", "from", '"""'))]) <= 12


@pytest.mark.parametrize("settings", [{}, {"method": "subspace"}, {"method": "subspace", "missing": "drop"}])
def test_the_script_for_a_table_with_gaps(server, tmp_path, settings):
    content = gappy()
    state = server.load("gaps.csv", content)
    assert state["settings"]["method"] == "cell"  # for what is missing
    kinds = {column["name"]: column["kind"] for column in state["columns"]}
    assert kinds["date"] == "dates"
    assert kinds["ok"] == "yes/no"
    assert kinds["m0"] == "numbers"
    missing = {column["name"]: column["missing"] for column in state["columns"]}
    assert missing["date"] == missing["ok"] == 0.0
    assert 0.0 < missing["m0"] < 0.1
    server.do("aside", rows=[41], cells=[[6, state["numbers"].index("m2")]])
    state = server.fit(**settings)
    assert state["error"] == ""
    rows, cleaned = run_script(server, tmp_path, "gaps.csv", content)
    assert rows == sorted(flagged_of(server))
    assert cleaned == server.get("out/cleaned.csv")
    assert b"2024-06-06" in cleaned  # what is not numbers is in the copy
    assert b"99,000" not in cleaned


def test_a_file_without_names(server, tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 4)) @ rng.normal(size=(4, 4))
    X[9] += 30.0
    content = ("\n".join(",".join(f"{v:.5f}" for v in x) for x in X) + "\n").encode()
    state = server.load("plain.txt", content)
    assert state["numbers"] == [f"column {j}" for j in (1, 2, 3, 4)]
    rows, _ = run_script(server, tmp_path, "plain.txt", content, run=in_a_process)
    assert rows == sorted(flagged_of(server))
    assert 10 in rows


def test_another_column_names_the_rows(server):
    state = server.load("gaps.csv", gappy())
    assert state["label"] == "date"
    server.do("aside", rows=[41])
    server.do("label", label="ok")
    state = server.settled()
    assert state["label"] == "ok"
    assert state["aside"]["rows"] == 1  # what was decided stays
    assert server.json("api/rows?count=2")["rows"][1]["label"] == "yes"
    assert server.post("api/do/label", b'{"label": "no such"}')[0] == 400


def test_the_curve_of_the_components(server, loaded):
    server.do("curve")
    state = server.settled()
    curve = state["curve"]
    assert curve["chosen"] == state["fit"]["components"]
    assert len(curve["errors"]) == len(curve["spread"]) > curve["chosen"]
    assert len(curve["eigenvalues"]) == len(curve["noise"])


def test_a_row_without_a_value_is_no_row(server, tmp_path):
    """Units below the names do not make it a table with gaps, and their medians are not fitted."""
    X = np.random.default_rng(5).normal(size=(40, 2)) @ np.array([[1.0, 2, 1, 0], [0, 1, 1, 2]]) + 3.0
    lines = ["a,b,c,d", "m,s,kg,K", *(",".join(f"{x:.3f}" for x in row) for row in X), ",,,"]
    content = ("\n".join(lines) + "\n").encode()
    loaded = server.load("x.csv", content)
    assert loaded["settings"]["method"] == "subspace"
    state = server.fit(n_components=2)
    assert state["fit"]["fitted"] == 40
    assert run_script(server, tmp_path, "x.csv", content)[0] == flagged_of(server)
