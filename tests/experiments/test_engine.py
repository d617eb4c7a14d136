"""The engine: one spec, every cell once, the same draws for all, and nothing lost when it dies."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import small_study
from tl1pca import LpPCA
from tl1pca.experiments import Method, Study, run
from tl1pca.experiments.journal import Journal
from tl1pca.experiments.spec import derive
from tl1pca.experiments.studies import toy


def table(results):
    return results.table().drop(columns="seconds")


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return table(run(small_study.study(), tmp_path_factory.mktemp("reference") / "small.jsonl"))


def test_every_cell_once_in_order(reference):
    names = ["noise", "method", "value", "split"]
    cells = reference[names].drop_duplicates()
    assert len(cells) == 2 * 3 * 6
    assert len(reference) == 2 * len(cells)
    assert reference["split"].is_monotonic_increasing
    assert list(reference["parameter"].unique()) == ["", "scale"]


def test_all_methods_see_the_same_sample(reference):
    draws = reference.groupby(["noise", "split"])["draw"].nunique()
    assert (draws == 1).all()
    assert reference["draw"].nunique() == 12


def test_two_processes_give_the_same_table(tmp_path, reference):
    with_two = run(small_study.study(), tmp_path / "two" / "small.jsonl", jobs=2)
    pd.testing.assert_frame_equal(table(with_two), reference, check_exact=True)


def test_the_order_of_methods_does_not_matter(tmp_path, reference):
    study = small_study.study()
    turned = Study("small", study.sources, study.methods[::-1], study.splits, study.measure)
    names = ["split", "noise", "method", "value"]
    other = table(run(turned, tmp_path / "turned" / "small.jsonl")).sort_values(names, kind="stable")
    expected = reference.sort_values(names, kind="stable")
    pd.testing.assert_frame_equal(
        other.reset_index(drop=True), expected.reset_index(drop=True), check_exact=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_killed_and_started_again_ends_with_the_same_table(tmp_path, reference, jobs):
    journal = tmp_path / "killed" / "small.jsonl"
    _start_and_signal(journal, jobs, signal.SIGKILL)
    kept = journal.read_bytes().count(b"\n")
    assert 0 < kept < 36
    with journal.open("ab") as file:  # as if it died in the middle of a line
        file.write(b'{"key": "torn", "rec')
    # The pause is a parameter of the estimator, so the cells are those of the same study.
    resumed = run(small_study.study(pause=0.03), journal, jobs=1)
    assert resumed.complete
    pd.testing.assert_frame_equal(table(resumed), reference, check_exact=True)
    assert b"torn" not in journal.read_bytes()


def test_interrupted_returns_what_is_finished(tmp_path):
    study = small_study.study()

    def stop(name, done, total):
        if done == 11:
            raise KeyboardInterrupt

    partial = run(study, tmp_path / "j" / "small.jsonl", tick=stop)
    assert not partial.complete
    assert len(partial.cells) == 11
    assert set(partial.balanced()["split"]) == {0}  # split 1 lacks a cell
    assert run(study, tmp_path / "j" / "small.jsonl").complete


def test_finished_cells_are_not_computed_again(tmp_path, monkeypatch):
    journal = tmp_path / "j" / "small.jsonl"
    first = run(small_study.study(splits=2), journal)
    monkeypatch.setattr("tl1pca.experiments.engine.evaluate", lambda *_: pytest.fail("computed again"))
    again = run(small_study.study(splits=2), journal)
    pd.testing.assert_frame_equal(again.table(), first.table(), check_exact=True)
    nothing = run(small_study.study(splits=3), journal, only_kept=True)
    assert not nothing.complete
    assert len(nothing.cells) == len(first.cells)


def test_a_key_depends_on_all_that_decides_the_result():
    study = small_study.study()
    keys = [study.key(cell) for cell in study.cells()]
    assert len(set(keys)) == len(keys)
    other = Study("small", study.sources, (Method("pca", LpPCA(p=1, center=None)),), 1, study.measure)
    assert {other.key(cell) for cell in other.cells()}.isdisjoint(keys)
    seeded = Study("small", study.sources, study.methods, 1, study.measure, seed=1)
    assert {seeded.key(cell) for cell in seeded.cells()}.isdisjoint(keys)


def test_a_key_does_not_depend_on_where_the_files_are(tmp_path):
    rows = [f"{x},{x},0" for x in range(34)]
    keys = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "toy_paper.csv").write_text("\n".join(["x,y,outlier", *rows]))
        study = toy.figure_study(str(tmp_path / name))
        keys.append([study.key(cell) for cell in study.cells()])
    assert keys[0] == keys[1]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "toy_paper.csv").write_text("\n".join(["x,y,outlier", *rows[::-1]]))
    study = toy.figure_study(str(tmp_path / "other"))
    assert set(keys[0]).isdisjoint(study.key(cell) for cell in study.cells())


def test_warnings_become_a_column(tmp_path):
    sources = (small_study.Blobs(),)
    method = Method("lp", LpPCA(solver="paper", center=None, max_iter=1), "p", (0.5,))
    results = run(Study("w", sources, (method,), 1, small_study.fingerprint), tmp_path / "j" / "w.jsonl")
    assert set(results.table()["warnings"]) == {"ConvergenceWarning"}
    assert not results.table()["converged"].any()


def test_names_must_differ():
    study = small_study.study()
    with pytest.raises(ValueError, match="different names"):
        Study("twice", study.sources * 2, study.methods, 1, study.measure)


def test_seeds_come_from_names():
    assert derive(0, "a", 1) == derive(0, "a", 1)
    assert len({derive(0, "yale", "split", i) for i in range(100)}) == 100


def test_journal_survives_damage(tmp_path):
    path = tmp_path / "j" / "x.jsonl"
    with Journal(path) as journal:
        journal.append("a", {"x": 0.1 + 0.2})
        journal.append("b", {"x": 1})
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"\x00garbage\n" + lines[1][:-4])
    with Journal(path) as journal:
        assert journal.records == {"a": {"x": 0.1 + 0.2}}
        journal.append("c", {"x": 2})
    assert json.loads(path.read_bytes().splitlines()[-1])["key"] == "c"


def test_a_second_run_is_refused(tmp_path):
    path = tmp_path / "journal" / "x.jsonl"
    with Journal(path), pytest.raises(ValueError, match="Another run"), Journal(path):
        pass


def test_a_closed_journal_takes_nothing(tmp_path):
    with pytest.raises(ValueError, match="not open"):
        Journal(tmp_path / "x").append("a", {})


def _start_and_signal(journal, jobs, number):
    """Run the small study in another process and signal it in the middle of its work."""
    script = Path(small_study.__file__)
    environment = dict(os.environ, PYTHONPATH=str(script.parent), OPENBLAS_NUM_THREADS="1")
    command = [sys.executable, str(script), str(journal), str(jobs), "0.03"]
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        deadline = time.monotonic() + 240
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= 4):
            assert process.poll() is None, "ended before it was signaled"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        # The whole group, as a scheduler or the kernel would.
        os.killpg(process.pid, number)
        process.wait()
    assert np.isfinite(process.returncode)
