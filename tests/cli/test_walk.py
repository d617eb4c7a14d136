"""A new user's walk through the command line, on ordinary tables.

One table is looked at by the real command, in a process of its own; all else goes through the same
entry point in this one, which saves a second each time.

Each table is looked at (`outliers`), explained (`report`), fitted and used
again (`fit`, then `transform` or `outliers` with the model), and written
again without the rows that stand out.
"""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

COMMAND = Path(sys.executable).with_name("tl1pca")
WINE = datasets.load_wine(as_frame=True).data


def real_command(folder, arguments):
    """Exit code, standard output and standard error of the command as it is installed."""
    command = [str(COMMAND)] if COMMAND.exists() else [sys.executable, "-m", "tl1pca.cli"]
    return subprocess.run(
        [*command, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


class Walk:
    """A folder and the command in it."""

    def __init__(self, folder, command):
        self.folder, self.command = folder, command

    def __call__(self, *arguments, code=0):
        done = self.command(self.folder, [str(argument) for argument in arguments])
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert "Warning" not in done.stderr
        return done

    def flagged(self, *arguments):
        done = self("outliers", *arguments, "--json")
        document = json.loads(done.stdout)
        assert document["flagged"] == len(document["outliers"])
        for entry in document["outliers"]:
            assert entry["flag"] in ("good leverage", "orthogonal outlier", "bad leverage")
            assert entry["excess"] > 1
            assert entry["unusual_columns"]
        return document["outliers"], done.stderr

    def page(self, *arguments):
        self("report", *arguments, "--out", "page.html")
        page = (self.folder / "page.html").read_text(encoding="utf-8")
        return page, json.loads(re.search(r'id="data">(.*?)</script>', page).group(1))


@pytest.fixture
def walk(tmp_path, run, monkeypatch):
    def command(folder, arguments):
        monkeypatch.chdir(folder)
        done = run(*arguments)
        return SimpleNamespace(returncode=done.code, stdout=done.out, stderr=done.err)

    return Walk(tmp_path, command)


@pytest.mark.parametrize(
    ("name", "scaled", "most"),
    [
        ("wine", True, 22),
        ("iris", False, 10),
        ("diabetes", False, 30),
        ("digits", False, 70),
    ],
)
def test_tables_of_scikit_learn(walk, name, scaled, most):
    inside = walk.command
    if name == "wine":
        walk.command = real_command
    frame = getattr(datasets, f"load_{name}")(as_frame=True).data[:200]
    frame.to_csv(walk.folder / "x.csv", index=False)
    listed, notes = walk.flagged("x.csv")
    assert len(listed) <= most
    assert ("--scale none" in notes) == scaled
    assert len(notes.splitlines()) == scaled  # nothing else to say about a clean table

    walk.command = inside
    _, data = walk.page("x.csv")
    assert data["names"] == frame.columns.tolist()
    assert [entry["row"] for entry in listed] == data["row"][: data["listed"]]
    first = data["names"][data["variables"][0][0]]
    assert listed[0]["unusual_columns"].startswith(f"{first} ")

    walk("fit", "x.csv", "--model", "m.npz")
    frame.iloc[::-1, ::-1].to_csv(walk.folder / "new.csv", index=False)  # other order of rows and columns
    again, _ = walk.flagged("new.csv", "--model", "m.npz")
    assert {len(frame) + 1 - entry["row"] for entry in again} == {entry["row"] for entry in listed}
    scores = pd.read_csv(io.StringIO(walk("transform", "x.csv", "--model", "m.npz").stdout))
    assert len(scores) == len(frame)

    walk("outliers", "x.csv", "--keep", "regular", "--out", "good.csv")
    kept = pd.read_csv(walk.folder / "good.csv")
    out = [entry["row"] - 1 for entry in listed]
    np.testing.assert_array_equal(kept, frame.drop(index=out))


def test_an_identifier(walk):
    WINE.assign(sample_no=range(1000, 1000 + len(WINE))).to_csv(walk.folder / "x.csv", index=False)
    listed, notes = walk.flagged("x.csv")
    assert "'sample_no'" in notes
    WINE.to_csv(walk.folder / "plain.csv", index=False)
    expected, _ = walk.flagged("plain.csv")
    assert [entry["row"] for entry in listed] == [entry["row"] for entry in expected]


def test_dates_and_strings(walk):
    frame = WINE.copy()
    frame.insert(0, "bottled", pd.date_range("2020-01-01", periods=len(frame)).strftime("%Y-%m-%d"))
    frame.insert(5, "cellar", np.where(np.arange(len(frame)) % 3, "north", "south"))
    frame.to_csv(walk.folder / "x.csv", index=False)
    listed, notes = walk.flagged("x.csv")
    assert "'bottled'" in notes
    assert "'cellar'" in notes
    assert {"north", "south"}.isdisjoint(listed[0]["unusual_columns"].split())
    walk("outliers", "x.csv", "--append", "--out", "more.csv")
    more = pd.read_csv(walk.folder / "more.csv")
    assert more["cellar"].tolist() == frame["cellar"].tolist()
    assert (more["flag"] != "regular").sum() == len(listed)


def test_missing_values(walk):
    WINE.mask(np.random.default_rng(0).random(WINE.shape) < 0.01).to_csv(walk.folder / "x.csv", index=False)
    refused = walk("outliers", "x.csv", code=1)
    ways = ["--missing drop", "--missing median", "--exclude", "--method cell"]
    assert all(way in refused.stderr for way in ways)
    for way in (["--missing", "drop"], ["--missing", "median"], ["--method", "cell", "-k", 3]):
        listed, notes = walk.flagged("x.csv", *way)
        assert listed
        assert "missing values" in notes


def test_european_numbers(walk):
    WINE.to_csv(walk.folder / "x.csv", index=False, sep=";", decimal=",")
    WINE.to_csv(walk.folder / "plain.csv", index=False)
    listed, _ = walk.flagged("x.csv", "--decimal", ",")
    expected, _ = walk.flagged("plain.csv")
    assert listed == expected
    walk("outliers", "x.csv", "--decimal", ",", "--append", "--out", "more.csv")
    more = pd.read_csv(walk.folder / "more.csv", sep=";", decimal=",")
    np.testing.assert_array_equal(more[WINE.columns], WINE)
    shown = more[more["flag"] != "regular"].sort_values("excess", ascending=False)
    np.testing.assert_allclose(shown["excess"], [entry["excess"] for entry in expected])


def test_one_typo(walk):
    frame = WINE.astype(str)
    frame.loc[41, "ash"] = "2.3o"  # a letter
    frame.loc[86, "hue"] = "103"  # a lost decimal point
    frame.to_csv(walk.folder / "x.csv", index=False)
    refused = walk("outliers", "x.csv", code=1)
    assert "2.3o" in refused.stderr
    assert "'ash'" in refused.stderr
    listed, _ = walk.flagged("x.csv", "--missing", "drop")
    assert listed[0]["row"] == 87
    assert listed[0]["unusual_columns"].startswith("hue +")
    page, data = walk.page("x.csv", "--missing", "drop")
    assert data["row"][0] == 87
    assert "row 87" in page.replace("rows 87", "row 87")
    written = walk("outliers", "x.csv", "--missing", "drop", "--keep", "regular").stdout
    rows = list(csv.DictReader(io.StringIO(written)))
    assert all(row["hue"] != "103" and row["ash"] != "2.3o" for row in rows)


def test_the_demo_and_what_it_goes_on_with(walk):
    walk("demo", "--out", "demo")
    listed, _ = walk.flagged("demo/data.csv", "-k", 3)
    with (walk.folder / "demo" / "flagged_rows.csv").open(newline="") as file:
        assert {int(row["row"]) for row in csv.DictReader(file)} == {entry["row"] for entry in listed}
    assert walk.page("demo/data.csv", "-k", 3)[1]["row"][0] == listed[0]["row"]
    shown = walk("compare", "demo/data.csv", "-k", 3).stdout.splitlines()
    assert shown[0].split()[:2] == ["method", "outliers"]
    assert "score" not in shown[0].split()


@pytest.mark.parametrize("command", ["fit", "outliers", "report", "transform", "compare"])
def test_a_file_is_never_written_over_itself(walk, command):
    WINE.to_csv(walk.folder / "x.csv", index=False)
    before = (walk.folder / "x.csv").read_bytes()
    walk(command, "x.csv", "--model" if command == "fit" else "--out", "x.csv", code=1)
    assert (walk.folder / "x.csv").read_bytes() == before
