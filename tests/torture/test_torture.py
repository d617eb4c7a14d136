"""A small sample of every part of ``make torture``."""

import sys
import warnings
from pathlib import Path

import pytest

import tl1pca
from support import ESTIMATORS
from torture import faults, hard_cases, interrupts, kills, load, soak

pytestmark = pytest.mark.slow


def test_a_killed_save_leaves_the_old_model_or_the_new(tmp_path):
    tally = kills.torture(kills.targets()[0], tmp_path, kills=2)
    assert tally.killed >= 1
    assert not tally.faults


def test_the_harness_notices_half_a_file(tmp_path):
    """A command that writes in place is found out."""
    slowly = (
        "import sys, time\n"
        "with open(sys.argv[1], 'w') as file:\n"
        "    for _ in range(60):\n"
        "        print('new', file=file, flush=True); time.sleep(0.01)\n"
    )

    def command(folder):
        return [sys.executable, "-c", slowly, str(folder / "file")]

    def whole(path):
        assert len(path.read_text().split()) == 60

    def prepare(folder):
        Path(folder / "file").write_text("old\n" * 60)

    target = kills.Target("in place", command, kills.one_file("file", whole), prepare)
    assert kills.torture(target, tmp_path, kills=3).faults


@pytest.mark.parametrize(
    ("what", "fault", "reason"),
    [
        pytest.param("reproduce", "full", "too large"),
        ("save", "readonly", "denied"),
    ],
)
def test_faults_are_said_and_nothing_is_lost(fault, reason, what):
    code, said, before, after = faults.meet(fault, what)
    assert code == 1
    assert reason in said
    assert "Traceback" not in said
    assert after == before  # the old files are there, and no others


def test_a_file_that_may_not_be_read():
    code, said, before, after = faults.meet("readonly", "load")
    assert code == 1
    assert "denied" in said
    assert "model.npz" in said
    assert "Traceback" not in said
    assert after == before


def test_a_short_soak():
    """Threads, forks and a spawned pool at once; ``python -m torture.soak`` does it for an hour."""
    with warnings.catch_warnings():
        found = soak.soak(2, threads=2)
    assert found["faults"] == []
    assert found["counts"]["threads"] > 3
    assert found["counts"]["forks"] > 0
    assert found["descriptors"][1] - found["descriptors"][0] <= 4


@pytest.mark.parametrize("index", [0, 16], ids=interrupts.label)
def test_ctrl_c_gives_the_prompt_back(index):
    took, answer = interrupts.seconds_to_return(index)
    assert answer == "interrupted"
    assert took < 1.0


def test_hard_cases_are_counted_and_failures_kept():
    by_estimator, by_kind, failed = hard_cases.torture(4, workers=1)
    assert sum(by_estimator.values()) == sum(by_kind.values()) == 4
    assert not failed


def test_threads_share_estimators():
    assert load.with_threads(threads=6, rounds=1) == []


def test_memory_does_not_grow():
    assert load.growth(fits=300, warm_up=150) < 3 << 20


def test_processes_agree():
    (other,) = load.across_processes(1)
    assert other == load.digests()
    assert len(other.splitlines()) == len(ESTIMATORS)


def test_a_random_state_decides():
    first, same, other = (tl1pca.TL1PCA(1, solver="paper", random_state=s).fit(load.X) for s in (0, 0, 1))
    assert load.digest(first) == load.digest(same) != load.digest(other)
