"""Kill a command at random moments: its output is the old one or the whole new one.

A `Target` is a command line, the files it writes and what makes them whole.
New commands are covered by a line in `targets`.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import tl1pca
from tl1pca.cli import COMMANDS
from tl1pca.datasets import make_contaminated
from torture import environment, script

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
CLI = (sys.executable, "-m", "tl1pca.cli")
#: Columns of a study's results that are times, not results.
TIMES = ("seconds",)


@dataclass(frozen=True)
class Target:
    """A command that writes files, to be killed.

    `command` takes the folder it works in; `state` gives what is in that
    folder by name, every value that of a whole file, or raises.
    """

    name: str
    command: Callable[[Path], list[str]]
    state: Callable[[Path], dict[str, object]]
    prepare: Callable[[Path], None] = lambda folder: None
    #: Whether the command picks up what an earlier one left.
    resumes: bool = False


@dataclass
class Tally:
    """What happened to one target."""

    name: str
    trials: int = 0
    killed: int = 0
    during_write: int = 0
    old: int = 0
    new: int = 0
    faults: list[str] = field(default_factory=list)


def torture(target, folder, kills, seed=0):
    """Kill the target so many times in fresh folders (one folder for a command that resumes).

    A command that ends before it is killed is a trial and no kill; there are at most twice as many trials.
    """
    rng, tally = random.Random(seed), Tally(target.name)
    whole, seconds = _uninterrupted(target, folder / "whole")
    for trial in range(2 * kills):
        if tally.killed == kills:
            break
        place = folder / ("resumed" if target.resumes else f"trial{trial}")
        if not place.exists():
            place.mkdir(parents=True)
            target.prepare(place)
        before, stale = target.state(place), len(_partials(place))
        at_write, delay = rng.random() < 0.5, rng.uniform(0, seconds)
        tally.trials += 1
        tally.killed += _start_and_kill(target.command(place), place, delay, at_write)
        tally.during_write += len(_partials(place)) > stale
        try:
            after = target.state(place)
        except Exception as error:
            tally.faults.append(f"trial {trial}: {error!r}")
            continue
        odd = [n for n, v in after.items() if not _same(v, before.get(n)) and not _same(v, whole.get(n))]
        lost = [n for n in before if n not in after]
        if odd or lost:
            tally.faults.append(f"trial {trial}: neither old nor new {odd}, lost {lost}")
        tally.new += _same(after, whole)
        tally.old += _same(after, before)
    if target.resumes:
        _run(target.command(folder / "resumed"))
        if not _same(target.state(folder / "resumed"), whole):
            tally.faults.append("resumed to another result than that of a run of its own")
    return tally


def _uninterrupted(target, folder):
    folder.mkdir(parents=True)
    target.prepare(folder)
    start = time.monotonic()
    _run(target.command(folder))
    return target.state(folder), time.monotonic() - start


def _run(command):
    subprocess.run(command, env=environment(), check=True, **QUIET)


def _start_and_kill(command, folder, delay, at_write):
    """Kill after the delay, or, if so wished, as soon as a file is being written; False if it had ended."""
    with subprocess.Popen(command, env=environment(), start_new_session=True, **QUIET) as process:
        known = set(_partials(folder))
        deadline = time.monotonic() + (60 if at_write else delay)
        while process.poll() is None and time.monotonic() < deadline:
            if at_write and set(_partials(folder)) - known:
                break
            time.sleep(0.0005)
        alive = process.poll() is None
        if alive:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return alive


def _partials(folder):
    return list(folder.rglob(".tl1pca-*.partial"))


def _same(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    return type(a) is type(b) and a == b


# ---------------------------------------------------------------- what is whole
def one_file(name, whole):
    """State of a single output, checked by `whole`."""

    def state(folder):
        path = folder / name
        if not path.exists():
            return {}
        whole(path)
        return {name: path.read_bytes()}

    return state


def study_files(folder):
    """Everything a reproduction has written, times left out; its journal is checked by going on with it."""
    import pandas as pd

    state = {}
    for path in sorted(folder.rglob("*")):
        if path.is_dir() or path.name.startswith(".") or path.parent.name == "journal":
            continue
        name = str(path.relative_to(folder))
        if path.suffix in (".csv", ".parquet"):
            table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
            state[name] = table.drop(columns=[c for c in TIMES if c in table]).to_csv(index=False)
        else:
            state[name] = path.read_bytes()
    return state


def _page(path):
    text = path.read_text(encoding="utf-8")
    assert text.rstrip().endswith("</html>"), "half a page"


# ---------------------------------------------------------------- targets
def model(seed):
    """A model of some megabytes, so that writing it takes a moment."""
    X = np.random.default_rng(seed).normal(size=(20, 100_000))
    return tl1pca.L1PCA(2, center="mean").fit(X)


def _old_model(folder):
    tl1pca.save(model(0), folder / "model.npz")


def _table(folder):
    X, _, _ = make_contaminated(400, 6, 2, fraction=0.2, random_state=0)
    lines = [",".join(f"v{j}" for j in range(6)), *(",".join(map(repr, row)) for row in X.tolist())]
    (folder / "data.csv").write_text("\n".join(lines) + "\n")


def _fitted(folder):
    _table(folder)
    tl1pca.save(tl1pca.TL1PCA(1).fit([[0.0, 1.0], [2.0, 5.0], [3.0, 1.0]]), folder / "model.npz")


def _reported(folder):
    _table(folder)
    (folder / "page.html").write_text("<html>the old page</html>")


def targets():
    """All targets there are; commands that are not installed are named and left out."""
    found = [
        Target(
            "tl1pca.save",
            lambda folder: script("save_model", folder / "model.npz"),
            one_file("model.npz", tl1pca.load),
            _old_model,
        ),
        Target(
            "tl1pca reproduce operators",
            lambda folder: [*CLI, "reproduce", "operators", "--out", str(folder)],
            study_files,
        ),
        Target(
            "tl1pca reproduce toy --quick",
            lambda folder: [*CLI, "reproduce", "toy", "--quick", "--out", str(folder)],
            study_files,
            resumes=True,
        ),
    ]
    commands = {
        "fit": Target(
            "tl1pca fit --model",
            lambda folder: [
                *CLI, "fit", str(folder / "data.csv"), "--model", str(folder / "model.npz"), "-k", "2",
            ],
            one_file("model.npz", tl1pca.load),
            _fitted,
        ),
        "report": Target(
            "tl1pca report",
            lambda folder: [*CLI, "report", str(folder / "data.csv"), "--out", str(folder / "page.html")],
            one_file("page.html", _page),
            _reported,
        ),
    }  # fmt: skip
    for name, target in commands.items():
        if name in COMMANDS:
            found.append(target)
        else:
            print(f"There is no command {name!r} in this version: not killed.")
    return found
