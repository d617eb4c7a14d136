"""monitor and explain, against the library itself."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import tl1pca
from tl1pca.diagnostics import monitor, suspects


@pytest.fixture
def files(tmp_path, sample, run):
    """A model of the sample, and twenty good rows of which the fifth has a bad cell."""
    train, new, model = (tmp_path / name for name in ("train.csv", "new.csv", "m.npz"))
    sample.to_csv(train, index=False)
    assert run("fit", train, "-k", 2, "--model", model).code == 0
    rows = sample[:20].copy()
    rows.iloc[4, 3] += 15.0
    rows.to_csv(new, index=False)
    return model, new, rows


def test_monitor_is_the_library_and_ends_with_its_verdict(files, run, tmp_path):
    model, new, rows = files
    done = run("monitor", model, new, "--json")
    assert done.code == 3
    document = json.loads(done.out)
    pca = tl1pca.load(model)
    found = monitor(pca, rows.drop(columns="name"))
    assert document["beyond"] == (found.flags > 0).sum() >= 1
    assert document["limits"]["score"] == found.limits.score
    (alarm,) = (entry for entry in document["alarms"] if entry["row"] == 5)
    assert alarm["label"] == "row 5"
    assert alarm["cells"].split(", ")[0] == "c"
    assert alarm["orthogonal_distance"] == pytest.approx(found.orthogonal_distances[4])
    regular = rows[found.flags == 0]
    regular.to_csv(new, index=False)
    assert run("monitor", model, new).code == 0
    done = run("monitor", model, new, "--all", "--out", tmp_path / "all.csv")
    assert done.code == 0
    assert len(pd.read_csv(tmp_path / "all.csv")) == len(regular)


def stream_files(tmp_path, run, n=400, options=()):
    """A model of the first rows of a stream, and the rows that follow, later ones elsewhere."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(6, 3)))[0]
    X = (rng.normal(size=(3 * n, 2)) * [6.0, 4.0]) @ axes[:, :2].T + 0.5 * rng.normal(size=(3 * n, 6))
    X[2 * n :] += 15.0 * axes[:, 2]
    data = pd.DataFrame(X, columns=list("abcdef")).round(4)
    first, log, model = tmp_path / "first.csv", tmp_path / "log.csv", tmp_path / "s.npz"
    data[:n].to_csv(first, index=False)
    data[n:].to_csv(log, index=False)
    done = run("fit", first, "-k", 2, "--method", "stream", "--scale", "none", *options, "--model", model)
    assert done.code == 0, done.err
    return model, log, data


def test_learn_judges_first_and_keeps_what_it_learned(tmp_path, run):
    """The rows of the new operating point are beyond the limits; told of them, the model accepts them."""
    model, log, data = stream_files(tmp_path, run, options=("--set", "forget=0.99"))
    before = tl1pca.load(model)
    done = run("monitor", model, log, "--json")
    assert done.code == 3
    assert json.loads(done.out)["beyond"] > 350
    assert tl1pca.load(model).n_samples_seen_ == before.n_samples_seen_  # nothing is learned without --learn
    learned = run("monitor", model, log, "--learn", "--json")
    assert json.loads(learned.out)["alarms"] == json.loads(done.out)["alarms"]
    after, want = tl1pca.load(model), before.partial_fit(data[400:])
    assert after.components_.tobytes() == want.components_.tobytes()
    assert (after.predict(data[-100:]) > 0).mean() > 0.9


def test_learn_follows_a_file_that_grows(tmp_path, run):
    model, log, data = stream_files(tmp_path, run)
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:101]))
    seen = tl1pca.load(model)
    command = [sys.executable, "-m", "tl1pca.cli", "monitor", str(model), str(log)]
    with subprocess.Popen(
        [*command, "--learn", "--follow", "--until-alarm", "--interval", "0.05", "--level", "0.9999"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert " of 100 rows" in process.stdout.readline()
        with log.open("a") as file:
            file.write("".join(lines[101:201]) + "90,90,90,-90,90,90\n")
        process.communicate(timeout=60)
    assert process.returncode == 3
    after = tl1pca.load(model)
    rows = after.n_samples_seen_ + after.n_pending_ - seen.n_samples_seen_ - seen.n_pending_
    assert rows in (201, 200)  # the last line may come by itself
    want = seen.partial_fit(data[400 : 400 + min(rows, 200)])
    assert after.models_center_.shape == want.models_center_.shape


def test_learn_needs_a_stream(files, run):
    model, new, _ = files
    done = run("monitor", model, new, "--learn")
    assert done.code == 2
    assert "--method stream" in " ".join(done.err.replace("│", " ").split())


def test_other_methods_need_the_training_rows(files, run, tmp_path):
    _, new, _ = files
    train, model = tmp_path / "train.csv", tmp_path / "t.npz"
    assert run("fit", train, "-k", 2, "--method", "tl1", "--set", "a=1.0", "--model", model).code == 0
    done = run("monitor", model, new)
    assert done.code == 2
    assert "--training" in done.err
    assert run("monitor", model, new, "--training", train).code in (0, 3)


def test_explain_names_the_cell(files, run):
    model, new, rows = files
    done = run("explain", model, new, "row 5", 7, "--json")
    assert done.code == 0
    first, second = json.loads(done.out)["rows"]
    want = suspects(tl1pca.load(model), rows.drop(columns="name").iloc[[4]])[0]
    assert first["cells"][0] == vars(want)
    assert (first["row"], first["label"], second["row"]) == (5, "row 5", 7)
    assert first["cells"][0]["column"] == "c"
    text = run("explain", model, new, 5).out
    assert "Row 5 (row 5): " in text
    assert "Cells that do not fit the others of the row:" in text


@pytest.mark.parametrize("method", ["cell", "stream"])
def test_rows_with_gaps_are_judged_by_what_they_have(files, run, tmp_path, method):
    _, new, rows = files
    model = tmp_path / "gaps.npz"
    assert run("fit", tmp_path / "train.csv", "-k", 2, "--method", method, "--model", model).code == 0
    rows.iloc[7, 2] = np.nan
    rows.iloc[4, 5] = np.nan
    rows.to_csv(new, index=False)
    done = run("monitor", model, new, "--all", "--json")
    assert done.code in (0, 3)
    assert json.loads(done.out)["rows"] == 20
    (first, other) = json.loads(run("explain", model, new, "row 5", "row 8", "--json").out)["rows"]
    assert first["cells"][0]["column"] == "c"
    assert other["suspect_cells"] == 0


def test_explain_a_row_far_out_as_a_whole(files, run):
    model, new, rows = files
    pca = tl1pca.load(model)
    rows.iloc[6, 1:] = pca.mean_ + 60.0 * pca.components_[0]
    rows.to_csv(new, index=False)
    done = run("explain", model, new, "row 7")
    assert "good leverage" in done.out
    assert "No single cell contradicts the others." in done.out


@pytest.mark.parametrize("name", ["row 500", "0", "21", "-"])
def test_rows_that_are_not_there(files, run, name):
    model, new, _ = files
    done = run("explain", model, new, "--", name)
    assert done.code == 2
    assert "There is no row" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("-", "--follow"), "text file that grows"), (("new.csv", "--follow", "--json"), "for a whole file")],
)
def test_follow_needs_a_file_and_prints_rows(files, run, arguments, message, monkeypatch):
    model, new, _ = files
    monkeypatch.chdir(new.parent)
    done = run("monitor", model, *arguments)
    assert done.code == 2
    assert message in " ".join(done.err.replace("│", " ").split())


def test_follow_reads_what_is_added_and_ends_at_an_alarm(files):
    model, new, _ = files
    lines = new.read_text().splitlines(keepends=True)
    new.write_text("".join(lines[:3]) + lines[3][:7])  # the last line is not complete yet
    command = [sys.executable, "-m", "tl1pca.cli", "monitor", model, new]
    options = ["--follow", "--until-alarm", "--interval", "0.05", "--level", "0.9999"]
    with subprocess.Popen(
        [*map(str, command), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout.readline().startswith("0 of 2 rows")
        with new.open("a") as file:
            file.write(lines[3][7:])
            file.flush()
            time.sleep(0.3)
            assert process.poll() is None
            file.write("".join(lines[4:]))
        out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    (alarm,) = (line for line in out.splitlines() if line.split()[:3] == ["5", "row", "5"])
    assert "c" in alarm.split()


def test_follow_without_a_header(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 1)) * [3.0, 2.0, 1.0] + 0.1 * rng.normal(size=(80, 3))
    train, new, model = (tmp_path / name for name in ("t.csv", "n.csv", "m.npz"))
    np.savetxt(train, X, delimiter=",")
    assert run("fit", train, "-k", 1, "--model", model).code == 0
    X[9, 0] += 5.0
    np.savetxt(new, X[:12], delimiter=",")
    done = run("monitor", model, new, "--follow", "--until-alarm", "--format", "csv")
    assert done.code == 3
    rows = [line.split(",")[0] for line in done.out.splitlines()]
    assert "10" in rows
