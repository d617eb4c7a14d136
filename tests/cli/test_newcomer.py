"""What a newcomer meets: units, few rows, row numbers, copies of the table, files that must not be lost."""

import csv
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tl1pca
from tl1pca.diagnostics import Flag, diagnose
from tl1pca.preprocessing import MADScaler

WINE = load_wine(as_frame=True).data


@pytest.fixture
def wine(tmp_path):
    WINE.to_csv(tmp_path / "wine.csv", index=False)
    return tmp_path / "wine.csv"


def flagged(done):
    assert done.code == 0, done.err
    return {entry["row"] for entry in json.loads(done.out)["outliers"]}


# ---------------------------------------------------------------- units
def test_columns_in_different_units_are_scaled_with_a_word(run, wine):
    done = run("outliers", wine, "--json")
    model = make_pipeline(MADScaler(), tl1pca.TL1SubspacePCA()).fit(WINE)
    assert flagged(done) == set(np.flatnonzero(diagnose(model, WINE).flags) + 1)
    assert json.loads(done.out)["components"] == model[-1].n_components_ > 1
    lines = [line for line in done.err.splitlines() if "--scale" in line]
    assert len(lines) == 1
    assert "differ up to 2,382-fold ('proline' against 'nonflavanoid_phenols')" in lines[0]
    as_it_is = run("outliers", wine, "--scale", "none", "--json")
    assert json.loads(as_it_is.out)["components"] == 1
    assert "--scale" not in as_it_is.err


def test_breast_cancer_is_no_longer_a_third_outliers(run, tmp_path):
    load_breast_cancer(as_frame=True).data.to_csv(tmp_path / "x.csv", index=False)
    assert len(flagged(run("outliers", tmp_path / "x.csv", "--json"))) < 0.2 * 569


def test_columns_of_one_unit_stay_as_they_are(run, tmp_path):
    iris = load_iris(as_frame=True).data
    iris.to_csv(tmp_path / "x.csv", index=False)
    done = run("outliers", tmp_path / "x.csv", "--json")
    assert done.err == ""
    assert flagged(done) == set(np.flatnonzero(tl1pca.TL1SubspacePCA().fit(iris).flags_) + 1)


@pytest.mark.parametrize(
    ("scale", "kind"), [("auto", MADScaler), ("robust", MADScaler), ("std", StandardScaler)]
)
def test_the_scale_is_kept_in_the_model_and_applied_to_new_rows(run, wine, tmp_path, scale, kind):
    file = tmp_path / "m.npz"
    document = json.loads(run("fit", wine, "-k", 3, "--scale", scale, "--model", file, "--json").out)
    model = tl1pca.load(file)
    assert type(model[0]) is kind
    assert document["scale"]["estimator"] == kind.__name__
    assert document["scale"]["scale"] == model[0].scale_.tolist()
    few = WINE.iloc[60:64].assign(magnesium=[90, 90, 90, 9000])
    few.to_csv(tmp_path / "new.csv", index=False)
    expected = make_pipeline(kind(), tl1pca.TL1SubspacePCA(3)).fit(WINE).transform(few)
    done = run("transform", tmp_path / "new.csv", "--model", file)
    np.testing.assert_allclose(pd.read_csv(io.StringIO(done.out)).iloc[:, 1:], expected, rtol=1e-9)
    done = run("outliers", tmp_path / "new.csv", "--model", file, "--json")
    (entry,) = [entry for entry in json.loads(done.out)["outliers"] if entry["row"] == 4]
    assert entry["unusual_columns"].startswith("magnesium ")
    page = tmp_path / "page.html"
    assert run("report", tmp_path / "new.csv", "--model", file, "--out", page).code == 0
    assert kind.__name__ in page.read_text()
    done = run("outliers", wine, "--model", file, "--scale", "std" if scale != "std" else "none")
    assert done.code == 2
    assert "a --model is used as it is" in " ".join(done.err.replace("│", " ").split())


def test_compare_and_transform_scale_as_well(run, wine):
    done = run("compare", wine, "-k", 3, "--json")
    methods = {entry["method"]: entry for entry in json.loads(done.out)["methods"]}
    model = make_pipeline(MADScaler(), tl1pca.TL1SubspacePCA(3)).fit(WINE)
    assert methods["subspace"]["outliers"] == (diagnose(model, WINE).flags > 0).sum()
    assert "score" not in methods["pca"]  # it would put PCA first
    done = run("transform", wine, "-k", 3)
    np.testing.assert_allclose(
        pd.read_csv(io.StringIO(done.out)).iloc[:, 1:], model.transform(WINE), rtol=1e-6, atol=1e-9
    )


def test_a_pipeline_from_python_is_a_model(run, wine, tmp_path):
    holes = WINE.copy()
    holes.iloc[3, 2] = np.nan
    pipeline = make_pipeline(SimpleImputer(), MADScaler(), tl1pca.TL1SubspacePCA(3)).fit(holes)
    tl1pca.save(pipeline, tmp_path / "m.npz")
    holes.to_csv(tmp_path / "holes.csv", index=False)
    done = run("outliers", tmp_path / "holes.csv", "--model", tmp_path / "m.npz", "--json")
    assert flagged(done) == set(np.flatnonzero(diagnose(pipeline, holes).flags) + 1)
    assert "Left to the method: 1 missing value in 1 row (" in done.err


# ---------------------------------------------------------------- missing values, too many components
def test_missing_values_are_left_to_the_method_that_takes_them(run, wine, tmp_path):
    holes = WINE.mask(np.random.default_rng(0).random(WINE.shape) < 0.02)
    holes.to_csv(tmp_path / "holes.csv", index=False)
    done = run(
        "outliers", tmp_path / "holes.csv", "--method", "l1-reconstruction", "-k", 2, "--json", "--all"
    )
    assert len(flagged(done)) == len(WINE)
    assert "Left to the method" in done.err
    refused = run("outliers", tmp_path / "holes.csv", "-k", 2)
    assert refused.code == 1
    assert "--method cell, which fits what is there" in refused.err
    assert run("fit", tmp_path / "holes.csv", "--method", "l1-reconstruction").code == 0


@pytest.mark.parametrize("command", ["fit", "outliers", "compare", "transform"])
def test_too_many_components_in_the_words_of_the_command_line(run, wine, command):
    done = run(command, wine, "-k", 20)
    assert done.code == 1
    assert "-k 20 is too many: 178 rows of 13 columns have at most 13 components. Without -k" in done.err
    assert "n_components" not in done.err


def test_too_many_components_in_python():
    with pytest.raises(ValueError, match="None keeps as many as predict the cells of the trusted rows"):
        tl1pca.TL1SubspacePCA(20).fit(WINE)
    with pytest.raises(ValueError, match="None keeps all that the rows span"):
        tl1pca.TL1PCA(20).fit(WINE)


# ---------------------------------------------------------------- few rows
@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_few_rows_are_not_judged(run, tmp_path, n):
    WINE.iloc[:n, :3].to_csv(tmp_path / "x.csv", index=False)
    words = f"{n} rows are too few for flags, which mean something from 10 rows on with 1 component."
    done = run("outliers", tmp_path / "x.csv", "-k", 1)
    assert done.out == words + "\n"
    document = json.loads(run("outliers", tmp_path / "x.csv", "-k", 1, "--json").out)
    assert (document["flagged"], document["outliers"]) == (None, [])
    assert words in run("fit", tmp_path / "x.csv", "-k", 1).out
    assert words in run("outliers", tmp_path / "x.csv", "-k", 1, "--append").err
    compared = run("compare", tmp_path / "x.csv", "-k", 1)
    assert words in compared.err
    assert "outliers" not in compared.out
    run("report", tmp_path / "x.csv", "-k", 1, "--out", tmp_path / "page.html")
    assert words in (tmp_path / "page.html").read_text()


def test_few_rows_in_a_model_of_many_are_judged(run, wine, tmp_path):
    run("fit", wine, "-k", 2, "--model", tmp_path / "m.npz")
    WINE.iloc[:2].assign(ash=[2.4, 50.0]).to_csv(tmp_path / "x.csv", index=False)
    done = run("outliers", tmp_path / "x.csv", "--model", tmp_path / "m.npz", "--json")
    (entry,) = json.loads(done.out)["outliers"]
    assert entry["row"] == 2
    assert entry["unusual_columns"].startswith("ash +")


# ---------------------------------------------------------------- the same row, the same flag everywhere
def page_data(path):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text())
    return json.loads(found.group(1))


@pytest.mark.parametrize("labels", [False, True])
def test_a_row_is_called_the_same_everywhere(run, tmp_path, labels):
    frame = WINE.copy()
    frame.iloc[4, 0] = np.nan  # left out, and still counted
    frame.iloc[100] *= 30.0
    if labels:
        frame.insert(0, "bottle", [f"bottle {i + 1}" for i in range(len(frame))])
    path = tmp_path / "x.csv"
    frame.to_csv(path, index=False)
    options = ["-k", 3, "--missing", "drop"]
    listed = json.loads(run("outliers", path, *options, "--json").out)["outliers"]
    run("report", path, *options, "--out", tmp_path / "page.html")
    page = page_data(tmp_path / "page.html")
    assert listed[0]["row"] == 101
    assert [entry["row"] for entry in listed] == page["row"][: page["listed"]]
    assert [entry["flag"] for entry in listed] == [page["flags"][f] for f in page["flag"][: page["listed"]]]
    text = (tmp_path / "page.html").read_text()
    if labels:
        assert [entry["label"] for entry in listed] == page["label"][: page["listed"]]
        assert "“bottle 101”" in text
    else:
        assert "row 101" in text.replace("rows 101", "row 101")
    copy = list(csv.DictReader(io.StringIO(run("outliers", path, *options, "--append").out)))
    assert {i for i, row in enumerate(copy, start=1) if row["flag"] not in ("", "regular")} == {
        entry["row"] for entry in listed
    }


def test_the_map_counts_like_the_page():
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    from tl1pca.displays import OutlierMapDisplay

    frame = WINE.copy()
    frame.iloc[100] *= 30.0
    model = make_pipeline(MADScaler(), tl1pca.TL1SubspacePCA(3)).fit(frame)
    drawn = OutlierMapDisplay.from_estimator(model, frame, n_labels=1)
    assert [label.get_text() for label in drawn.labels_] == ["row 101"]
    named = OutlierMapDisplay.from_estimator(model, frame.iloc[50:], n_labels=1)
    assert [label.get_text() for label in named.labels_] == [
        "100"
    ]  # the index, which does not count from zero
    plt.close("all")
    assert [flag.label for flag in Flag] == ["regular", "good leverage", "orthogonal outlier", "bad leverage"]


# ---------------------------------------------------------------- which columns
def test_outliers_names_the_columns_that_make_a_row_unusual(run, tmp_path):
    frame = WINE.copy()
    frame.iloc[10, frame.columns.get_loc("ash")] = 240.0  # a decimal point lost
    frame.to_csv(tmp_path / "x.csv", index=False)
    first = json.loads(run("outliers", tmp_path / "x.csv", "--json").out)["outliers"][0]
    assert first["row"] == 11
    assert first["unusual_columns"].startswith("ash +")
    run("report", tmp_path / "x.csv", "--out", tmp_path / "page.html")
    page = page_data(tmp_path / "page.html")
    assert page["names"][page["variables"][0][0]] == "ash"


# ---------------------------------------------------------------- the table once more
MESSY = (
    "name;when;x;y;z\n"
    + "".join(
        f'"no. {i};";2024-01-{i % 28 + 1:02};{i % 7},5;{3 * (i % 7) + i % 2},25;{(i * 5) % 11}\n'
        for i in range(30)
    )
    + '"typo";2024-02-30;3,5;1050,0;4\n'
)


@pytest.fixture
def messy(tmp_path):
    (tmp_path / "messy.csv").write_text(MESSY)
    return tmp_path / "messy.csv"


def test_append_gives_the_table_back_with_more_columns(run, messy, tmp_path):
    out = tmp_path / "more.csv"
    done = run("outliers", messy, "--decimal", ",", "-k", 2, "--append", "--out", out)
    assert done.code == 0, done.err
    assert "Rows written: 31 of 31." in done.err
    given = list(csv.reader(io.StringIO(MESSY), delimiter=";"))
    written = list(csv.reader(io.StringIO(out.read_text()), delimiter=";"))
    assert [row[:5] for row in written] == given
    more = ["flag", "score_distance", "orthogonal_distance", "excess", "unusual_columns"]
    assert written[0][5:] == more
    assert written[-1][5] in ("orthogonal outlier", "bad leverage")
    assert written[-1][9].startswith("y +")
    assert re.fullmatch(r"\d+,\d+", written[-1][8])  # a decimal comma, as in the rest of the file
    twice = run("outliers", out, "--decimal", ",", "-k", 2, "--exclude", ",".join(more[1:4]), "--append")
    assert twice.code == 0, twice.err
    assert '"flag (2)"' in twice.out.splitlines()[0] or "flag (2)" in twice.out.splitlines()[0]


def test_keep_regular_gives_the_table_without_the_rows_that_stand_out(run, messy, tmp_path):
    done = run(
        "outliers", messy, "--decimal", ",", "-k", 2, "--keep", "regular", "--out", tmp_path / "good.csv"
    )
    assert done.code == 0, done.err
    kept = (tmp_path / "good.csv").read_text()
    assert kept.splitlines()[0] == "name;when;x;y;z"
    assert "typo" not in kept
    assert set(kept.splitlines()) <= {line.replace('"typo"', "typo") for line in MESSY.splitlines()}
    both = run("outliers", messy, "--decimal", ",", "-k", 2, "--keep", "regular", "--append")
    assert {row["flag"] for row in csv.DictReader(io.StringIO(both.out), delimiter=";")} == {"regular"}


@pytest.mark.parametrize("ending", [".parquet", ".npy", ".csv.gz", ".tsv"])
def test_copies_of_other_formats(run, tmp_path, ending):
    path = tmp_path / f"wine{ending}"
    writers = {
        ".parquet": lambda: WINE.assign(kind="red").to_parquet(path),
        ".npy": lambda: np.save(path, WINE.to_numpy()),
        ".csv.gz": lambda: WINE.to_csv(path, index=False),
        ".tsv": lambda: WINE.to_csv(path, index=False, sep="\t"),
    }
    writers[ending]()
    done = run("outliers", path, "-k", 3, "--append")
    if ending == ".csv.gz" and done.code:
        pytest.skip("compressed text is not read here")
    assert done.code == 0, done.err
    frame = pd.read_csv(io.StringIO(done.out), sep="\t" if ending == ".tsv" else ",")
    np.testing.assert_allclose(frame.iloc[:, :13], WINE)
    if ending == ".parquet":
        assert "Not in the copy, which holds numbers and labels: kind" in done.err


@pytest.mark.parametrize(
    "arguments", [["--append", "--json"], ["--keep", "regular", "--all"], ["--keep", "bad"]], ids=" ".join
)
def test_what_does_not_go_together(run, wine, arguments):
    assert run("outliers", wine, *arguments).code == 2


def test_exclude_takes_several(run, wine, tmp_path):
    done = run("fit", wine, "--exclude", "proline, magnesium", "--exclude", "hue", "--json")
    assert json.loads(done.out)["columns"] == [
        c for c in WINE.columns if c not in ("proline", "magnesium", "hue")
    ]
    WINE.rename(columns={"hue": "hue,tone"}).to_csv(wine, index=False)
    assert "hue,tone" not in json.loads(run("fit", wine, "--exclude", "hue,tone", "--json").out)["columns"]


# ---------------------------------------------------------------- an input is never lost
def same_file(kind, target, link):
    if kind == "path":
        return target.parent / "." / ".." / target.parent.name / target.name
    (link.symlink_to if kind == "symbolic link" else link.hardlink_to)(target)
    return link


@pytest.mark.parametrize("kind", ["path", "symbolic link", "hard link"])
def test_an_output_that_is_an_input_is_refused(run, wine, tmp_path, kind):
    model = tmp_path / "m.npz"
    run("fit", wine, "-k", 2, "--model", model)
    before = wine.read_bytes(), model.read_bytes()
    over_data = same_file(kind, wine, tmp_path / "data link")
    over_model = same_file(kind, model, tmp_path / "model link")
    calls = [
        ("outliers", wine, "--out", over_data),
        ("outliers", wine, "--append", "--out", over_data),
        ("outliers", wine, "--model", model, "--out", over_model),
        ("fit", wine, "--model", over_data),
        ("report", wine, "--out", over_data),
        ("report", wine, "--model", model, "--out", over_model),
        ("transform", wine, "--model", model, "--out", over_data),
        ("transform", wine, "--model", model, "--out", over_model),
        ("compare", wine, "--out", over_data),
    ]
    for call in calls:
        done = run(*call)
        assert done.code == 1, call
        assert "is the same file as" in done.err
        assert (wine.read_bytes(), model.read_bytes()) == before


def test_an_output_that_standard_input_comes_from_is_refused(wine):
    before = wine.read_bytes()
    command = [sys.executable, "-m", "tl1pca.cli", "outliers", "-", "--out", os.fspath(wine)]
    with wine.open("rb") as stream:
        done = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "is the same file as standard input" in done.stderr
    assert wine.read_bytes() == before


# ---------------------------------------------------------------- tables that are hard to describe
def test_the_columns_of_a_row_with_bad_cells_are_those_of_the_cells(run, tmp_path):
    """The method for cells repairs them; what is left of the row is the least unusual part of it."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(80, 6))
    X[30, [1, 4, 5]] += [9.0, -7.0, 5.0]
    pd.DataFrame(X, columns=list("abcdef")).to_csv(tmp_path / "x.csv", index=False)
    listed = json.loads(run("outliers", tmp_path / "x.csv", "--method", "cell", "-k", 2, "--json").out)
    (entry,) = [entry for entry in listed["outliers"] if entry["row"] == 31]
    assert re.fullmatch(r"b \+\d+, e -\d+, f \+\d+", entry["unusual_columns"])
    run("report", tmp_path / "x.csv", "--method", "cell", "-k", 2, "--out", tmp_path / "page.html")
    page = page_data(tmp_path / "page.html")
    place = page["row"].index(31)
    assert [page["names"][j] for j in page["variables"][place]] == ["b", "e", "f"]


def test_rows_that_are_nearly_all_the_same(run, tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c\n" + "1.5,2,3\n" * 30 + "4,2,9\n" * 5)
    done = run("outliers", tmp_path / "x.csv")
    assert done.code == 0
    assert "5 of 35 rows stand out" in done.out
    assert "inf" not in done.out
    assert "Warning" not in done.err
    for line in done.out.splitlines()[2:]:
        named = [part.split()[0] for part in line.split("  ")[-1].split(", ")]
        assert len(set(named)) == len(named)


def test_a_cell_at_the_end_of_the_range(run, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(3).normal(size=(50, 4)), columns=list("abcd"))
    frame.loc[10, "c"] = -1.7e308
    frame.to_csv(tmp_path / "x.csv", index=False)
    done = run("outliers", tmp_path / "x.csv", "-k", 2, "--scale", "none", "--json")
    assert "Warning" not in done.err
    first = json.loads(done.out)["outliers"][0]
    assert (first["row"], first["unusual_columns"].split()[0]) == (11, "c")


def test_units_that_differ_beyond_counting(run, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(3).normal(size=(50, 3)), columns=list("abc"))
    frame.mul([1e300, 1e-300, 1.0]).to_csv(tmp_path / "x.csv", index=False)
    done = run("fit", tmp_path / "x.csv", "-k", 2)
    assert "differ up to more than a million-fold ('a' against 'b')" in done.err
    assert "Warning" not in done.err


@pytest.mark.parametrize("command", ["fit", "outliers", "transform", "compare", "impute"])
def test_one_row_is_not_enough(run, tmp_path, command):
    (tmp_path / "x.csv").write_text("a,b,c\n1,2,3\n")
    done = run(command, tmp_path / "x.csv")
    assert done.code == 1
    assert "1 row is not enough: a fit needs at least 2" in done.err


def test_one_column_is_copied_with_commas(run, tmp_path):
    (tmp_path / "x.csv").write_text("a\n" + "".join(f"{i * i % 17}\n" for i in range(30)))
    done = run("outliers", tmp_path / "x.csv", "--append")
    assert done.out.splitlines()[0].startswith("a,flag,")


def test_python_dash_m():
    done = subprocess.run(
        [sys.executable, "-m", "tl1pca", "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "outliers" in done.stdout


@pytest.mark.parametrize("command", ["outliers", "transform", "impute", "compare", "report", "fit"])
def test_a_dash_is_no_file_to_write(run, wine, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    done = run(command, wine, "--model" if command == "fit" else "--out", "-")
    assert done.code == 1
    assert "'-' is no name of a file" in done.err
    assert not (tmp_path / "-").exists()
