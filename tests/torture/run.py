"""``make torture``: everything at full size, and a page of what was tried and what failed.

python -m torture.run [--only PART] [--cases N] [--kills N] [--fits N] [--workers N] [--out PATH.md]
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import tl1pca
from support import ESTIMATORS
from tl1pca._files import write_atomically
from torture import faults, hard_cases, interrupts, kills, load

#: Share of the kills that each target gets; what it costs to start decides.
SHARES = {"tl1pca.save": 0.5, "tl1pca reproduce operators": 0.2}
DEFAULT_SHARE = 0.15
#: Growth over all fits that counts as flat.
FLAT = 8 << 20
COMMANDS = {"save": "tl1pca.save", "reproduce": "tl1pca reproduce"}
FAULTS = (("full", "disk full"), ("readonly", "folder that may not be written to"))


def say(*words):
    print(*words, flush=True)


def killed(number):
    """One row for each target."""
    rows = []
    for target in kills.targets():
        count = max(4, round(number * SHARES.get(target.name, DEFAULT_SHARE)))
        with tempfile.TemporaryDirectory() as folder:
            tally = kills.torture(target, Path(folder), count)
        for fault in tally.faults:
            say(f"{target.name}: {fault}")
        say(f"{target.name}: {tally.killed} kills, {len(tally.faults)} faults")
        rows.append([tally.name, tally.trials, tally.killed, tally.during_write, len(tally.faults)])
    return rows


def faulted():
    rows = []
    for what, command in COMMANDS.items():
        for fault, label in FAULTS:
            code, said, before, after = faults.meet(fault, what)
            clear = code == 1 and "Traceback" not in said
            rows.append([command, label, int(not clear), int(after != before)])
    return rows


def interrupted():
    rows = []
    for index in range(len(interrupts.EVERY)):
        took = [interrupts.seconds_to_return(index, wait) for wait in (0.5, 1.3)]
        slow = sum(answer != "interrupted" or seconds > 1.0 for seconds, answer in took)
        rows.append([interrupts.label(index), len(took), f"{max(t for t, _ in took):.2f}", slow])
        say(*rows[-1])
    return rows


def loaded(fits):
    wrong = load.with_threads()
    grown = load.growth(fits, warm_up=1000)
    first, second = load.across_processes()
    return [
        ["8 threads that share estimators", f"{8 * 20 * len(ESTIMATORS)} fits and transforms", len(wrong)],
        [f"memory over {fits} fits", f"{grown / 2**20:+.1f} MiB", int(grown > FLAT)],
        ["processes with other hash seeds", "2", int(not first == second == load.digests())],
    ]


def table(head, rows):
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines) + "\n"


def page(summary):
    """The summary as Markdown."""
    by_name = summary["hard cases"]
    total = sum(count for _, count, _ in by_name)
    parts = [
        f"{total} hard cases, {sum(r[2] for r in summary['kills'])} kills, "
        f"{len(summary['faults'])} faults, {sum(r[1] for r in summary['interrupts'])} interrupts: "
        f"**{summary['failures']} failures**. {summary['where']}, "
        f"{sum(summary['minutes'].values()):.0f} minutes.\n",
        "**Killed** at random moments; half of the kills wait until a file is being written\n",
        table(("command", "trials", "killed", "in a write", "damaged or lost"), summary["kills"]),
        "**Faults**\n",
        table(("command", "fault", "unclear", "changed or left behind"), summary["faults"]),
        "**Ctrl-C** during a long fit\n",
        table(("estimator", "tries", "CPU seconds to return, worst", "over one"), summary["interrupts"]),
        "**Hard cases** by estimator\n",
        table(("estimator", "cases", "failed"), by_name),
        "**Hard cases** by kind of data\n",
        table(("data", "cases"), summary["kinds"]),
        "**Load**\n",
        table(("what", "how much", "failures"), summary["load"]),
    ]
    return "\n".join(parts)


def cases(options):
    by_estimator, by_kind, failed = hard_cases.torture(options.cases, options.workers, say)
    return {
        "hard cases": [[name, n, len(failed.get(name, []))] for name, n in sorted(by_estimator.items())],
        "kinds": sorted(map(list, by_kind.items())),
        "failed": [list(entry) for entries in failed.values() for entry in entries],
    }


#: What is run, in this order; each gives its part of the summary.
PARTS = {
    "faults": lambda options: {"faults": faulted()},
    "kills": lambda options: {"kills": killed(options.kills)},
    "interrupts": lambda options: {"interrupts": interrupted()},
    "load": lambda options: {"load": loaded(options.fits)},
    "cases": cases,
}
#: Columns that count failures.
FAILURES = {"faults": (2, 3), "kills": (4,), "interrupts": (3,), "hard cases": (2,), "load": (2,)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="run this part and keep the others as they are")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--fits", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/torture.md"))
    options = parser.parse_args()
    kept = options.out.with_suffix(".json")
    found, minutes = {}, {}
    for part in [options.only] if options.only else PARTS:
        start = time.monotonic()
        found |= PARTS[part](options)
        minutes[part] = round((time.monotonic() - start) / 60, 1)
    summary = json.loads(kept.read_text()) if options.only and kept.exists() else {"minutes": {}}
    summary |= found
    summary["minutes"] |= minutes
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    summary["where"] = f"tl1pca {tl1pca.__version__}, Python {platform.python_version()}, {libraries}"
    write_atomically(kept, json.dumps(summary, indent=1) + "\n")
    if not all(part in summary for part in FAILURES):
        return
    summary["failures"] = sum(row[i] for part in FAILURES for row in summary[part] for i in FAILURES[part])
    write_atomically(options.out, page(summary))
    say(page(summary))
    sys.exit(int(summary["failures"] > 0))


if __name__ == "__main__":
    main()
