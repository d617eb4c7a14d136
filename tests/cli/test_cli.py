"""The command line, as a user meets it: a process with arguments, streams and an exit code."""

import os
import resource
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest


def tl1pca(*arguments, **environment):
    env = {key: value for key, value in os.environ.items() if key != "TL1PCA_DATA"} | environment
    command = [sys.executable, "-m", "tl1pca.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, check=False)


@pytest.mark.parametrize("arguments", [("--help",), ("reproduce", "--help"), ("--version",)])
def test_help_is_light(arguments):
    probe = (
        "import sys\n"
        "from tl1pca.cli import main\n"
        "try:\n"
        f"    main({list(arguments)!r})\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    # CPU time, so that a busy machine does not matter; the wall time of a free one is the same.
    assert (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime) < 0.6


def test_no_arguments_show_the_help():
    done = tl1pca()
    assert "reproduce" in done.stdout + done.stderr
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("reproduce", "everything"), 2, "not one of"),
        (("reproduce", "toy", "--jobs", "0"), 2, "jobs"),
        (("reproduce", "toy", "--data", "/no/such/folder"), 1, "does not exist"),
        (("nonsense",), 2, "No such command"),
    ],
)
def test_errors_go_to_stderr_without_traceback(run, tmp_path, arguments, code, message):
    done = run(*arguments, *(("--out", tmp_path) if len(arguments) > 1 else ()))
    assert done.code == code
    assert message in done.err
    assert not done.out


def test_an_error_of_a_process():
    done = tl1pca("nonsense")
    assert done.returncode == 2
    assert "No such command" in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_a_broken_data_file_is_named(run, tmp_path, monkeypatch):
    (tmp_path / "yale_32x32.npz").write_bytes(b"nothing of the sort")
    monkeypatch.setenv("TL1PCA_DATA", str(tmp_path))
    done = run("reproduce", "faces", "--out", tmp_path / "out")
    assert done.code == 1
    assert "yale_32x32.npz cannot be read; expected" in done.err


def test_the_output_must_be_a_folder(run, tmp_path):
    (tmp_path / "file").write_text("")
    done = run("reproduce", "operators", "--out", tmp_path / "file")
    assert done.code == 1
    assert "must be a folder" in done.err


def test_operators_end_to_end(run, tmp_path, monkeypatch):
    monkeypatch.delenv("TL1PCA_DATA", raising=False)
    done = run("reproduce", "operators", "--out", tmp_path)
    assert done.code == 0, done.err
    *claims, page = done.out.strip().splitlines()
    assert page == f"Page: {tmp_path / 'operators.html'}"
    assert len(claims) == 7
    assert all(line.startswith("holds:") for line in claims)
    assert (tmp_path / "operators.html").stat().st_size > 10_000


@pytest.mark.slow
def test_ctrl_c_leaves_a_valid_partial_result_that_goes_on(tmp_path):
    command = [sys.executable, "-m", "tl1pca.cli", "reproduce", "toy", "--quick", "--out", str(tmp_path)]
    env = {key: value for key, value in os.environ.items() if key != "TL1PCA_DATA"}
    journal = tmp_path / "journal" / "toy_redraws.jsonl"
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 240
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= 60):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=240)
    assert process.returncode == 130, errors
    assert "partial" in errors
    assert "Traceback" not in errors
    assert "Page:" in output
    assert "Partial result" in (tmp_path / "toy.html").read_text()
    kept = pd.read_csv(tmp_path / "results" / "toy_redraws.csv")
    assert 60 <= len(kept) < 50 * 19

    again = tl1pca("reproduce", "toy", "--quick", "--out", tmp_path)
    assert again.returncode == 0, again.stderr
    whole = pd.read_csv(tmp_path / "results" / "toy_redraws.csv")
    assert len(whole) == 50 * 19
    names = ["method", "value", "split", "seconds", "angle"]
    merged = kept[names].merge(whole[names], how="left", indicator=True)
    assert (merged["_merge"] == "both").all()  # what was finished was kept, times and all
    assert "Partial result" not in (tmp_path / "toy.html").read_text()
