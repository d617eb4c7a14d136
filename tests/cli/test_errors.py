"""Exit codes, streams and messages, as a user and a script meet them."""

import ctypes
import io
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from tl1pca.cli import _terminal

TL1PCA = [sys.executable, "-m", "tl1pca.cli"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["fit"], 2, "DATA"),
        (["fit", "{data}", "-k", "x"], 2, "-k 'x' is neither a number of components (1, 2, ...) nor a share"),
        (["fit", "{data}", "-k", "0"], 2, "-k '0' is neither"),
        (["fit", "{data}", "-k", "1.5"], 2, "-k '1.5' is neither"),
        (["fit", "{data}", "-k", "nan"], 2, "-k 'nan' is neither"),
        (
            ["fit", "{data}", "-k", "9"],
            1,
            "-k 9 is too many: 100 rows of 5 columns have at most 5",
        ),
        (["fit", "{data}", "--method", "best"], 2, "not one of"),
        (["fit", "{data}", "--seed", "-1"], 2, "--seed"),
        (["fit", "{data}", "--set", "breakdown"], 2, "--set takes NAME=VALUE, got 'breakdown'"),
        (
            ["fit", "{data}", "--set", "brakdown=1"],
            2,
            "TL1SubspacePCA has no parameter 'brakdown'. Did you mean 'breakdown'?",
        ),
        (["fit", "{data}", "--set", "zzz=1"], 2, "It has breakdown, n_directions, reweight, verbose."),
        (["fit", "{data}", "--set", "n_components=1"], 2, "n_components is set by -k"),
        (["fit", "{data}", "--set", "random_state=1"], 2, "random_state is set by --seed"),
        (["fit", "{data}", "--set", "breakdown=7"], 1, "breakdown must be"),
        (["fit", "{data}", "--max-memory", "lots"], 2, "--max-memory 'lots' is not an amount"),
        (["fit", "{data}", "--max-memory", "3K"], 1, "the limit is 3.0 KiB"),
        (["fit", "{data}", "--decimal", "x"], 2, "--decimal"),
        (["fit", "{data}", "--missing", "guess"], 2, "--missing"),
        (["fit", "{data}", "--exclude", "aa"], 1, "no column of numbers 'aa'; did you mean 'a'?"),
        (["fit", "{data}", "--labels", "zz"], 1, "no column 'zz' for the labels"),
        (["fit", "{data}", "--method", "pca", "--model", "{out}"], 2, "scikit-learn's PCA has no model file"),
        (["fit", "{data}", "--model", "{out}/no/m.npz"], 1, "does not exist; create it first"),
        (["fit", "{out}/none.csv"], 1, "none.csv': No such file or directory"),
        (["fit", "{out}"], 1, "is a folder"),
        (["fit", "{out}/x.xlsx"], 1, "No such file"),
        (["transform", "{data}", "--model", "{data}"], 1, "it is no model file"),
        (["transform", "{data}", "--model", "{out}/none"], 1, "No such file or directory"),
        (["outliers", "{data}", "--model", "{data}", "-k", "2"], 2, "a --model is used as it is"),
        (["outliers", "{data}", "--out", "{out}/no/x.csv"], 1, "create it first"),
        (["report", "{data}"], 2, "--out"),
        (["report", "{data}", "--out", "{out}/no/page.html"], 1, "create it first"),
        (["compare", "{data}", "-k", "0"], 2, "-k"),
        (["demo", "--out", "{data}"], 1, "File exists"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors(run, data, tmp_path, arguments, code, message):
    done = run(*(argument.format(data=data, out=tmp_path) for argument in arguments))
    assert done.code == code, done.err
    # Older versions of typer put their errors into a box.
    assert message in " ".join(done.err.replace("│", " ").split())
    assert done.out == ""


def test_the_limit_can_come_from_the_environment(run, data, monkeypatch):
    monkeypatch.setenv("TL1PCA_MAX_MEMORY", "3K")
    assert "the limit is 3.0 KiB" in run("fit", data).err


def test_messages_hold_no_escape_sequences(run, tmp_path):
    path = tmp_path / "\x1b[31m.csv"
    path.write_text("a,b\n1\n")
    done = run("fit", path)
    assert done.code == 1
    assert "\x1b" not in done.err
    assert "\\x1b[31m.csv" in done.err


@pytest.mark.parametrize("ending", [".csv", ".npy", ".parquet", ".dat"])
def test_standard_input(run, sample, tmp_path, monkeypatch, ending):
    path = tmp_path / f"x{ending}"
    {
        ".csv": lambda: sample.to_csv(path, index=False),
        ".npy": lambda: np.save(path, sample.iloc[:, 1:].to_numpy()),
        ".parquet": lambda: sample.to_parquet(path),
        ".dat": lambda: path.write_text(sample.iloc[:, 1:].to_string(index=False)),  # lines of spaces
    }[ending]()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    done = run("outliers", "-", "-k", 2, "--format", "csv")
    assert done.code == 0, done.err
    assert done.out.count("\n") > 20


def test_standard_input_of_a_process(data):
    command = [*TL1PCA, "outliers", "-", "-k", "2", "--format", "csv"]
    done = subprocess.run(command, input=data.read_bytes(), capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"\n") > 20


def test_interruption(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(1000, 100)).round(3))
    frame.rename("row {}".format).to_csv(tmp_path / "x.csv")
    command = [*TL1PCA, "fit", str(tmp_path / "x.csv"), "-k", "50", "--method", "l1-best-fit"]
    with subprocess.Popen(
        [*command, "--model", str(tmp_path / "m.npz")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert b"names the rows" in child.stderr.readline()  # the file is read, the fit takes minutes
        time.sleep(0.3)
        assert child.poll() is None, child.communicate()
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert output == b""
    assert b"Traceback" not in errors
    assert os.listdir(tmp_path) == ["x.csv"]


def on_terminal(*command):
    """What a command shows on a terminal."""
    import pty

    screen, terminal = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment
    ) as child:
        os.close(terminal)
        seen = b""
        try:
            while block := os.read(screen, 4096):
                seen += block
        except OSError:  # how Linux says that the other side is closed
            pass
        assert child.wait(timeout=60) == 0, seen
    os.close(screen)
    return seen.decode()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a pseudo-terminal")
def test_a_terminal_gets_a_table(run, data):
    assert "┃" in on_terminal(*TL1PCA, "outliers", str(data), "-k", "2")
    assert "┃" not in run("outliers", data, "-k", 2).out


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_signs_of_life_after_two_seconds(seconds):
    assert _terminal.PATIENCE == 2.0
    program = (  # the same with an impatient user
        "import time\n"
        "from tl1pca.cli import _terminal\n"
        "_terminal.PATIENCE = 0.4\n"
        "with _terminal.waiting('Reading [bold]x.csv'):\n"
        f"    time.sleep({seconds})\n"
    )
    shown = on_terminal(sys.executable, "-c", program)
    assert ("Reading [bold]x.csv" in shown) == (seconds > 0)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert done.stderr == done.stdout == b""


@pytest.mark.parametrize("command", ["outliers", "transform", "monitor"])
def test_advice_about_gaps_can_be_followed_where_a_model_is_given(run, data, tmp_path, sample, command):
    """There --method is refused, and no column of the model can be left out."""
    run("fit", data, "-k", "2", "--model", tmp_path / "model")
    gaps = sample.copy()
    gaps.loc[3, ["b", "c"]] = np.nan
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    given = (
        [tmp_path / "model", tmp_path / "gaps.csv"]
        if command == "monitor"
        else [tmp_path / "gaps.csv", "--model", tmp_path / "model"]
    )
    done = run(command, *given)
    assert done.code == 1
    assert "values are missing: 2 in 1 of 100 rows" in done.err
    assert "--missing drop" in done.err
    assert "or a model that was fitted with --method cell" in done.err
    assert "--exclude" not in done.err


def _obey_permissions():
    """What is run is denied what the permissions of a file deny, even if it is root that runs it."""
    libc = ctypes.CDLL(None)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.skipif(sys.platform != "linux", reason="root gives up its rights as Linux has it")
@pytest.mark.parametrize(
    "words",
    [
        "outliers {data} --model {secret}",
        "explain {secret} {data} 1",
        "monitor {secret} {data}",
        "fit {secret}",
    ],
)
def test_a_file_that_may_not_be_read_is_no_wrong_usage(tmp_path, data, words):
    secret = tmp_path / "secret.csv"
    secret.touch(mode=0o000)
    done = subprocess.run(
        [*TL1PCA, *words.format(data=data, secret=secret).split()],
        preexec_fn=_obey_permissions,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, f"tl1pca: error: '{secret}': Permission denied\n")
