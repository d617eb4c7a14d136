"""What the commands compute and print, against the library itself."""

import csv
import io
import json
import math

import numpy as np
import pandas as pd
import pytest

import tl1pca
from tl1pca.cli._options import Method
from tl1pca.diagnostics import diagnose


def strict(text):
    """JSON without the constants that JSON does not have."""

    def refuse(constant):
        raise AssertionError(f"{constant} in JSON")

    return json.loads(text, parse_constant=refuse)


def numbers(sample):
    return sample.drop(columns="name")


# ---------------------------------------------------------------- fit
@pytest.mark.parametrize("method", [method.value for method in Method])
def test_fit_with_every_method(run, data, sample, method):
    done = run("fit", data, "-k", 2, "--method", method, "--json")
    assert done.code == 0, done.err
    document = strict(done.out)
    assert document["method"] == method
    assert np.shape(document["components"]) == (2, 5)
    assert document["columns"] == list("abcde")
    assert document["rows"] == 100


def test_fit_is_the_library_and_the_model_holds_it(run, data, sample, tmp_path):
    done = run("fit", data, "-k", 2, "--seed", 3, "--model", tmp_path / "m.npz", "--json")
    expected = tl1pca.TL1SubspacePCA(2, random_state=3).fit(numbers(sample))
    document = strict(done.out)
    assert np.array_equal(document["components"], expected.components_)
    assert document["flagged"] == (expected.flags_ > 0).sum()
    model = tl1pca.load(tmp_path / "m.npz")
    assert np.array_equal(model.components_, expected.components_)
    assert model.feature_names_in_.tolist() == list("abcde")


def test_the_same_command_gives_the_same_bytes(run, data):
    assert run("fit", data, "--json").out == run("fit", data, "--json").out
    assert run("outliers", data, "-k", 2).out == run("outliers", data, "-k", 2).out


def test_fit_in_words(run, data, tmp_path):
    done = run("fit", data, "-k", 2, "--model", tmp_path / "m.npz")
    assert "TL1SubspacePCA of 100 rows and 5 columns. Rows that stand out: " in done.out
    assert f"Model: {tmp_path / 'm.npz'}" in done.out
    assert "component  variance" in done.out
    assert "Column 'name' names the rows" in done.err


def test_shares_and_no_number_of_components(run, data, sample):
    share = strict(run("fit", data, "-k", "0.5", "--json").out)
    assert (
        len(share["components"])
        == tl1pca.TL1SubspacePCA(0.5, random_state=0).fit(numbers(sample)).n_components_
    )
    chosen = tl1pca.TL1SubspacePCA(random_state=0).fit(numbers(sample)).n_components_
    done = run("fit", data, "--method", "l1", "--json")
    assert len(strict(done.out)["components"]) == chosen
    assert f"{chosen} component" in done.err
    assert "as many as --method subspace chooses" in done.err


def test_parameters_are_set(run, data):
    done = run("fit", data, "-k", 2, "--method", "tl1", "--set", "a=2.5", "--set", "center=median", "--json")
    parameters = strict(done.out)["parameters"]
    assert parameters["a"] == 2.5
    assert parameters["center"] == "median"
    done = run("fit", data, "-k", 2, "--method", "l1", "--set", "greedy=true", "--json")
    assert strict(done.out)["parameters"]["greedy"] is True


def test_warnings_become_notes(run, data):
    done = run("fit", data, "-k", 2, "--method", "l1-reconstruction", "--set", "max_iter=1")
    assert done.code == 0
    assert "Note: L1ReconstructionPCA did not converge" in done.err


# ---------------------------------------------------------------- transform
def test_transform_is_the_library(run, data, sample, tmp_path):
    run("fit", data, "-k", 2, "--model", tmp_path / "m.npz")
    done = run("transform", data, "--model", tmp_path / "m.npz")
    frame = pd.read_csv(io.StringIO(done.out))
    expected = tl1pca.load(tmp_path / "m.npz").transform(numbers(sample))
    assert frame.columns.tolist() == ["row", "label", "tl1subspacepca0", "tl1subspacepca1"]
    # Old versions of pandas read the last digit of a number wrongly.
    np.testing.assert_allclose(frame.iloc[:, 2:], expected, rtol=1e-12)
    assert frame["label"].tolist() == sample["name"].tolist()
    assert strict(run("transform", data, "--model", tmp_path / "m.npz", "--json").out)["scores"][0] == {
        "row": 1,
        "label": "row 1",
        "tl1subspacepca0": expected[0, 0],
        "tl1subspacepca1": expected[0, 1],
    }
    done = run("transform", data, "--model", tmp_path / "m.npz", "--out", tmp_path / "scores.csv")
    assert done.out == ""
    assert pd.read_csv(tmp_path / "scores.csv").equals(frame)


def test_columns_are_matched_by_name(run, data, sample, tmp_path):
    run("fit", data, "-k", 2, "--model", tmp_path / "m.npz")
    straight = run("transform", data, "--model", tmp_path / "m.npz").out
    mixed = sample[["name", "e", "c", "a", "b", "d"]].assign(more=1.0)
    mixed.to_csv(tmp_path / "mixed.csv", index=False)
    done = run("transform", tmp_path / "mixed.csv", "--model", tmp_path / "m.npz")
    assert done.out == straight
    assert "Not part of the model and left out: more" in done.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="c"), "there is no column of numbers 'c'"),
        (lambda frame: frame.rename(columns={"c": "C"}), "there is no column of numbers 'c'"),
        (lambda frame: frame.assign(c="text"), "'c' is in the file, but was set aside"),
    ],
)
def test_missing_columns_are_named(run, data, sample, tmp_path, change, message):
    run("fit", data, "-k", 2, "--model", tmp_path / "m.npz")
    change(sample).to_csv(tmp_path / "other.csv", index=False)
    for command in ("transform", "outliers"):
        done = run(command, tmp_path / "other.csv", "--model", tmp_path / "m.npz")
        assert done.code == 1
        assert message in done.err
        assert done.out == ""


def test_files_without_names(run, data, sample, tmp_path):
    np.save(tmp_path / "x.npy", numbers(sample))
    np.save(tmp_path / "short.npy", numbers(sample).iloc[:, :3])
    run("fit", data, "-k", 2, "--model", tmp_path / "named.npz")
    run("fit", tmp_path / "x.npy", "-k", 2, "--model", tmp_path / "bare.npz")
    for source, model in ((tmp_path / "x.npy", "named.npz"), (data, "bare.npz")):
        done = run("transform", source, "--model", tmp_path / model)
        assert done.code == 0, done.err
        assert "matched by position" in done.err
    done = run("transform", tmp_path / "short.npy", "--model", tmp_path / "named.npz")
    assert done.code == 1
    assert "fitted to 5 columns, here are 3" in done.err


# ---------------------------------------------------------------- outliers
def test_outliers_are_those_of_the_library(run, data, sample, tmp_path):
    fitted = tl1pca.TL1SubspacePCA(2, random_state=0).fit(numbers(sample))
    found = diagnose(fitted, numbers(sample).to_numpy())
    document = strict(run("outliers", data, "-k", 2, "--json").out)
    listed = document["outliers"]
    assert {entry["row"] for entry in listed} == set(np.flatnonzero(found.flags) + 1)
    assert {entry["row"] for entry in listed} >= set(range(81, 101))
    assert [entry["excess"] for entry in listed] == sorted((e["excess"] for e in listed), reverse=True)
    for entry in listed:
        i = entry["row"] - 1
        assert entry["label"] == f"row {entry['row']}"
        assert entry["score_distance"] == pytest.approx(found.score_distances[i], rel=1e-12)
        assert entry["orthogonal_distance"] == pytest.approx(found.orthogonal_distances[i], rel=1e-12)
        assert entry["flag"].replace(" ", "_") == tl1pca.diagnostics.Flag(found.flags[i]).name.lower()
    assert len(strict(run("outliers", data, "-k", 2, "--json", "--all").out)["outliers"]) == 100


def test_outliers_as_table_and_csv(run, data, tmp_path):
    table = run("outliers", data, "-k", 2)
    printed = run("outliers", data, "-k", 2, "--format", "csv")
    saved = run("outliers", data, "-k", 2, "--out", tmp_path / "found.csv")
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    assert f"{len(rows)} of 100 rows stand out" in table.out
    assert len(table.out.splitlines()) == len(rows) + 2
    assert (tmp_path / "found.csv").read_text() == printed.out
    assert saved.out == ""
    assert "Written:" in saved.err


def test_outliers_of_new_rows_in_an_old_model(run, data, sample, tmp_path):
    run("fit", data, "-k", 2, "--model", tmp_path / "m.npz")
    sample.iloc[78:83].to_csv(tmp_path / "new.csv", index=False)
    document = strict(run("outliers", tmp_path / "new.csv", "--model", tmp_path / "m.npz", "--json").out)
    assert {entry["label"] for entry in document["outliers"]} >= {"row 81", "row 82", "row 83"}
    assert document["rows"] == 5


def test_names_in_data_do_no_harm(run, tmp_path, sample):
    names = ["\x1b[31mred", "=1+1", "@SUM(A1)", "-5", "+x", "two\nlines", "\u202eright to left"]
    frame = sample.copy()
    frame.loc[93:, "name"] = names
    frame.columns = ["name", "\x1b[2Ja", *"bcde"]
    frame.to_csv(tmp_path / "x.csv", index=False)
    for extra in ([], ["--format", "csv"], ["--json"]):
        done = run("outliers", tmp_path / "x.csv", "-k", 2, *extra)
        assert done.code == 0, done.err
        for text in (done.out, done.err):
            assert "\x1b" not in text
            assert "\u202e" not in text
        if extra == ["--format", "csv"]:
            labels = {row["label"] for row in csv.DictReader(io.StringIO(done.out))}
            assert {"\\x1b[31mred", "'=1+1", "'@SUM(A1)", "-5", "'+x", "two\\nlines"} <= labels
        if extra == ["--json"]:
            assert set(names) <= {entry["label"] for entry in strict(done.out)["outliers"]}


# ---------------------------------------------------------------- report, compare, demo
def test_report(run, data, tmp_path):
    done = run("report", data, "--out", tmp_path / "page.html", "-k", 2, "--title", "My <data>")
    assert done.code == 0, done.err
    assert done.out == f"Page: {tmp_path / 'page.html'}\n"
    page = (tmp_path / "page.html").read_text()
    assert "My &lt;data&gt;" in page
    assert "row 81" in page
    run("fit", data, "-k", 2, "--model", tmp_path / "m.npz")
    done = run("report", data, "--out", tmp_path / "again.html", "--model", tmp_path / "m.npz", "--json")
    assert strict(done.out)["page"] == str(tmp_path / "again.html")


def test_a_report_in_the_order_of_time(run, data, sample, tmp_path):
    page = tmp_path / "page.html"
    run("report", data, "--out", page, "-k", 2)
    assert 'id="charts"' not in page.read_text()
    run("report", data, "--out", page, "-k", 2, "--in-order")
    assert 'id="charts"' in page.read_text()
    dated = sample.assign(name=pd.date_range("2024-01-01", periods=len(sample)).astype(str))
    dated.to_csv(data, index=False)
    run("report", data, "--out", page, "-k", 2)
    assert '"2024-01-01T00:00:00.000"' in page.read_text()


def test_compare(run, data, sample):
    document = strict(run("compare", data, "-k", 2, "--json").out)
    assert [entry["method"] for entry in document["methods"]] == ["pca", "l1", "r1", "tl1", "subspace"]
    expected = tl1pca.compare(numbers(sample), n_components=2)
    assert [entry["outliers"] for entry in document["methods"]] == expected["outliers"].tolist()
    done = run("compare", data, "--method", "pca", "--method", "subspace")
    assert done.out.splitlines()[0].split("  ")[-1].strip() == "angle to subspace"
    assert len(done.out.splitlines()) == 3
    assert "as many as --method subspace chooses" in done.err


def test_demo(run, tmp_path):
    """Against the truth, classical beside robust, with a picture and the report."""
    done = run("demo", "--out", tmp_path / "demo")
    assert done.code == 0, done.err
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        "classical_and_robust.png",
        "report.html",
        "data.csv",
        "flagged_rows.csv",
        "comparison.csv",
    }
    assert (tmp_path / "demo" / "classical_and_robust.png").read_bytes().startswith(b"\x89PNG")
    assert "<!doctype html>" in (tmp_path / "demo" / "report.html").read_text()[:100]
    table = pd.read_csv(tmp_path / "demo" / "comparison.csv", index_col="method")
    assert "score" not in table.columns  # which would put PCA first
    assert table.loc["TL1SubspacePCA", "bad rows found"] == "200 of 200"
    assert table.loc["PCA", "bad rows found"] == "0 of 200"
    angles = table["angle to the truth"].str.removesuffix(" degrees").astype(float)
    assert angles["TL1SubspacePCA"] < 5
    assert angles["PCA"] > 85
    for line in ("TL1SubspacePCA  200 of 200", "report.html", "angle to the truth"):
        assert line in done.out
    flagged = pd.read_csv(tmp_path / "demo" / "flagged_rows.csv")
    assert (flagged["truth"] == "bad").sum() == 200
    listed = strict(run("outliers", tmp_path / "demo" / "data.csv", "-k", 3, "--json").out)["outliers"]
    assert {entry["row"] for entry in listed} == set(flagged["row"])


# ---------------------------------------------------------------- missing values
@pytest.mark.parametrize("missing", ["error", "median"])
def test_rows_without_a_value_are_left_out(run, data, tmp_path, missing):
    """Units below the names, and lines of separators, as spreadsheets write them."""
    names, *rows = data.read_text().splitlines()
    path = tmp_path / "x.csv"
    path.write_text("\n".join([names, ",m,s,-,K,A", *rows, ",,,,,", ",,,,,"]) + "\n")
    options = () if missing == "error" else ("--missing", missing)
    done = run("outliers", path, "-k", 2, "--format", "csv", *options)
    assert done.code == 0
    assert "Left out: 3 rows without a value." in done.err
    expected = run("outliers", data, "-k", 2, "--format", "csv").out.splitlines()
    assert done.out.count("\n") == len(expected)
    assert [line.split(",")[2:] for line in done.out.splitlines()] == [
        line.split(",")[2:] for line in expected
    ]
    model = tmp_path / "m.npz"
    assert run("fit", path, "-k", 2, "--model", model).code == 0
    refused = run("transform", path, "--model", model)
    assert refused.code == 1
    assert "in 2 of 102 rows" in refused.err  # where a model judges them, these may be what is asked about
    path.write_text("\n".join([names, ",m,s,-,K,A", *rows]) + "\n")
    assert run("transform", path, "--model", model).out.splitlines()[1].startswith("2,")


def test_missing_values_have_ways_out(run, sample, tmp_path):
    frame = sample.copy()
    frame.loc[[3, 5], "b"] = np.nan
    frame.loc[5, "c"] = np.nan
    path = tmp_path / "gaps.csv"
    frame.to_csv(path, index=False)
    done = run("fit", path, "-k", 2)
    assert done.code == 1
    assert "values are missing: 3 in 2 of 100 rows ('b': 2, 'c': 1)" in done.err
    assert "--missing drop" in done.err

    done = run("outliers", path, "-k", 2, "--missing", "drop", "--all", "--json")
    assert "Left out because of missing values: 2 of 100 rows" in done.err
    rows = sorted(entry["row"] for entry in strict(done.out)["outliers"])
    assert rows == [i for i in range(1, 101) if i not in (4, 6)]

    done = run("fit", path, "-k", 2, "--missing", "median", "--json")
    assert "Replaced by the median of the column: 3 missing values (" in done.err
    filled = numbers(frame).fillna(numbers(frame).median())
    expected = tl1pca.TL1SubspacePCA(2, random_state=0).fit(filled)
    # The same table in another memory layout: equal to rounding.
    np.testing.assert_allclose(strict(done.out)["components"], expected.components_, rtol=1e-12)

    done = run("fit", path, "-k", 2, "--exclude", "b", "--exclude", "c", "--json")
    assert strict(done.out)["columns"] == ["a", "d", "e"]

    frame.assign(
        a=np.where(np.arange(100) % 2, np.nan, 1.0), d=np.where(np.arange(100) % 2, 1.0, np.nan)
    ).to_csv(path, index=False)
    done = run("fit", path, "--missing", "drop")
    assert done.code == 1
    assert "every row has a missing value" in done.err


def test_json_has_no_nan(run, tmp_path):
    rows = "\n".join(f"{i},{2 * i}" for i in range(20))
    (tmp_path / "line.csv").write_text(f"a,b\n{rows}\n")
    for method in ("subspace", "pca"):
        done = run("outliers", tmp_path / "line.csv", "-k", 1, "--method", method, "--json", "--all")
        assert done.code == 0, done.err
        assert all(math.isfinite(e["score_distance"]) for e in strict(done.out)["outliers"])
