"""Bad and missing cells on the command line."""

import csv
import io
import json
import re

import numpy as np
import pandas as pd
import pytest

from tl1pca import TL1CellPCA


@pytest.fixture(name="wrong")
def wrong_table(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(60, 6))
    X[4, 2], X[9, 5] = 77.0, np.nan
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    frame.to_csv(tmp_path / "wrong.csv", index=False)
    return tmp_path / "wrong.csv", frame


def test_cells_are_listed_the_furthest_first(run, wrong):
    path, frame = wrong
    done = run("outliers", path, "--cells", "-k", 2, "--format", "csv")
    assert done.code == 0
    listed = list(csv.DictReader(io.StringIO(done.out)))
    assert listed[0]["row"] == "5"
    assert listed[0]["column"] == "w"
    assert float(listed[0]["value"]) == 77.0
    pca = TL1CellPCA(2, random_state=0).fit(frame)
    assert len(listed) == pca.cell_flags_.sum()
    assert float(listed[0]["deviations"]) == pytest.approx(pca.cell_residuals_[4, 2], rel=1e-3)
    fit = pca.inverse_transform(pca.transform(frame))
    assert float(listed[0]["expected"]) == pytest.approx(fit[4, 2], rel=1e-3)


def test_json(run, wrong):
    document = json.loads(run("outliers", wrong[0], "--cells", "-k", 2, "--json").out)
    assert document["missing"] == 1
    assert document["cells"] == 359
    assert document["bad_cells"][0]["column"] == "w"


def test_impute(run, wrong, tmp_path):
    path, frame = wrong
    done = run("impute", path, "-k", 2)
    assert done.code == 0
    assert "1 missing and" in done.err
    repaired = pd.read_csv(io.StringIO(done.out))
    want = TL1CellPCA(2, random_state=0).fit(frame).impute(frame)
    np.testing.assert_allclose(repaired.to_numpy(), want, rtol=1e-6)
    assert run("impute", path, "-k", 2, "--out", tmp_path / "r.csv").code == 0
    np.testing.assert_allclose(pd.read_csv(tmp_path / "r.csv"), want, rtol=1e-6)
    document = json.loads(run("impute", path, "-k", 2, "--json").out)
    assert document["missing"] == 1
    np.testing.assert_allclose([list(row.values())[1:] for row in document["rows"]], want, rtol=1e-6)


def test_impute_leaves_the_rest_of_a_file_as_it_is(run, wrong, tmp_path):
    """Texts, dates, the separator, the decimal mark and every digit of the other cells."""
    frame = wrong[1].round(3)
    frame.insert(0, "when", [f"2024-01-{i % 28 + 1:02}" for i in range(60)])
    frame["site"] = ["north", "south"] * 30
    path = tmp_path / "x.csv"
    text = "A title\n" + frame.to_csv(index=False, sep=";", decimal=",", float_format="%.3f", na_rep="n.d.")
    path.write_text(text)
    done = run("impute", path, "-k", 2)
    assert done.code == 0, done.err
    given = list(csv.reader(io.StringIO(text.partition("\n")[2]), delimiter=";"))
    written = list(csv.reader(io.StringIO(done.out), delimiter=";"))
    changed = {
        (i, j)
        for i, (old, new) in enumerate(zip(given, written, strict=True))
        for j, (a, b) in enumerate(zip(old, new, strict=True))
        if a != b
    }
    assert {(5, 3), (10, 6)} <= changed
    n = int(re.search(r"Replaced: 1 missing and (\d+) bad of 360 cells", done.err).group(1))
    assert len(changed) == n + 1
    assert all(re.fullmatch(r"-?\d+,\d+", written[i][j]) for i, j in changed)


def test_with_a_model(run, wrong, tmp_path):
    path, _ = wrong
    model = tmp_path / "model.npz"
    assert run("fit", path, "-k", 2, "--method", "cell", "--model", model).code == 0
    assert run("transform", path, "--model", model).code == 0
    assert run("outliers", path, "--model", model).code == 0
    by_model = run("impute", path, "--model", model).out
    assert by_model == run("impute", path, "-k", 2).out


def test_what_cannot_be(run, wrong, tmp_path):
    path, frame = wrong
    assert "judged by --method cell" in run("impute", path, "--method", "l1").err
    frame.dropna().to_csv(tmp_path / "full.csv", index=False)
    model = tmp_path / "rows.npz"
    assert run("fit", tmp_path / "full.csv", "-k", 2, "--model", model).code == 0
    refused = run("outliers", tmp_path / "full.csv", "--cells", "--model", model)
    assert refused.code == 1
    assert "judges rows, not cells" in refused.err
    assert run("outliers", path).code == 1  # a method for rows stops at missing values


@pytest.mark.parametrize("labels", ["", "name,"])
def test_impute_keeps_a_row_of_units(run, tmp_path, labels):
    X = np.random.default_rng(0).normal(size=(30, 1)) * [1.0, 2.0, 3.0] + 5.0
    path = tmp_path / "x.csv"
    lines = [f"r{i}," * bool(labels) + ",".join(f"{x:.3f}" for x in row) for i, row in enumerate(X)]
    lines[4] = lines[4].rpartition(",")[0] + ","
    path.write_text("\n".join([f"{labels}a,b,c", "," * bool(labels) + "kg,m,s", *lines]) + "\n")
    done = run("impute", path, "-k", 1)
    assert done.code == 0
    copied = done.out.splitlines()
    assert copied[:6] == path.read_text().splitlines()[:6]
    assert copied[6].startswith(lines[4])
    assert float(copied[6].rpartition(",")[2]) == pytest.approx(X[4, 2], abs=0.01)
    assert "Replaced: 1 missing and 0 bad" in done.err
    rows = json.loads(run("impute", path, "-k", 1, "--json").out)["rows"]
    assert [row["row"] for row in rows] == [*range(2, 32)]
