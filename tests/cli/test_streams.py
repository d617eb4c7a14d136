"""Streams that are closed, full or left early, and Ctrl-C at any moment: the exit code and no traceback."""

import os
import subprocess
import sys

import numpy as np
import pytest

TL1PCA = f'"{sys.executable}" -m tl1pca.cli'


@pytest.fixture
def shell(tmp_path):
    """Run a line of bash in a folder with rows in x.npy; exit codes of a pipeline are in PIPESTATUS."""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(4_000, 3)))  # more than a pipe holds

    def call(line, **environment):
        command = ["bash", "-c", line.replace("tl1pca", TL1PCA)]
        own = os.environ | environment
        done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, timeout=120, check=False)
        assert b"Traceback" not in done.stderr, done.stderr
        assert b"Exception ignored" not in done.stderr, done.stderr
        return done

    return call


@pytest.mark.parametrize(("form", "unbuffered"), [("", ""), ("--json", "1")])
def test_a_reader_that_leaves_early(shell, form, unbuffered):
    line = f"tl1pca outliers x.npy -k 2 --all {form} | head -1 >&2; exit ${{PIPESTATUS[0]}}"
    done = shell(line, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 141
    assert done.stderr.count(b"\n") == 1  # of head; nothing from the command


@pytest.mark.parametrize("what", ["--help", "outliers --help", pytest.param("demo", marks=pytest.mark.slow)])
def test_a_reader_that_is_gone_from_the_start(shell, what):
    # The first sleep lets the reader go before anything is written.
    done = shell(f"(sleep 0.3; exec tl1pca {what}) | true; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == 141
    assert done.stderr == b""


def test_nothing_of_a_long_output_is_lost(shell):
    done = shell("tl1pca outliers x.npy -k 2 --all --format csv | (sleep 1; cat)", PYTHONUNBUFFERED="1")
    assert done.stdout.count(b"\n") == 4_001


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("tl1pca outliers x.npy -k 2 >&-", 1, b"standard output is closed"),
        ("tl1pca --help >&-", 1, b"standard output is closed"),
        ("tl1pca outliers x.npy -k 2 >/dev/full", 1, b"No space left on device"),
        ("tl1pca outliers - -k 2 <&-", 1, b"standard input: is closed"),
        ("tl1pca outliers none.npy 2>/dev/full", 1, b""),
        ("tl1pca nonsense 2>&-", 2, b""),
        ("tl1pca outliers x.npy -k 2 <&- >&- 2>&-", 1, b""),
    ],
)
def test_closed_and_full_streams(shell, line, code, said):
    done = shell(line)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count(b"\n") == bool(said)


def test_notes_for_a_closed_stderr_do_not_get_among_the_results(shell, run, tmp_path):
    (tmp_path / "x.csv").write_text("name,a,b\n" + "".join(f"r{i},{i % 7},{i % 5}\n" for i in range(40)))
    heard = run("outliers", tmp_path / "x.csv", "-k", 1, "--all", "--format", "csv")
    assert "names the rows" in heard.err
    silent = shell("tl1pca outliers x.csv -k 1 --all --format csv 2>&-")
    assert silent.stdout.decode() == heard.out


#: A module that is found first and presses Ctrl-C while it is imported; `then` is what becomes of it.
PRESS = """
import os, signal
try:
    os.kill(os.getpid(), signal.SIGINT)
    import time
    time.sleep(10)
except KeyboardInterrupt:
    {then}
"""


@pytest.mark.parametrize(
    ("module", "then"),
    [
        ("typer", "raise"),
        pytest.param("typer", "raise ImportError('not loaded') from None", marks=pytest.mark.slow),
        pytest.param("pandas", "raise", marks=pytest.mark.slow),
        pytest.param("pandas", "raise ImportError('not loaded') from None", marks=pytest.mark.slow),
        ("sklearn", "raise RuntimeError"),
    ],
)
def test_ctrl_c_during_the_start(shell, tmp_path, module, then):
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / f"{module}.py").write_text(PRESS.format(then=then))
    done = shell("tl1pca outliers x.npy -k 2", PYTHONPATH=str(tmp_path / "early"))
    assert done.returncode == 130
    assert done.stdout == b""
    assert done.stderr == b""


def test_an_ignored_ctrl_c_and_a_closed_stdin_that_is_not_read_stop_nothing(shell, tmp_path):
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / "sitecustomize.py").write_text(
        "import os, signal\nassert signal.getsignal(signal.SIGINT) is signal.SIG_IGN\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
    )
    done = shell("trap '' INT; tl1pca outliers x.npy -k 2 <&-", PYTHONPATH=str(tmp_path / "early"))
    assert done.returncode == 0, done.stderr
