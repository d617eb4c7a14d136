"""Feed damaged and hostile files to the readers for a given time.

python fuzz/run.py --seconds 60 [--seed 0] [--large]

A reader may return a table or raise TableError or OSError. Anything else, a
crash, more than five seconds for a damaged file (half a minute for a hostile one) or
more memory than allowed is a failure: the file is kept in fuzz/failures/, and the exit
code is 1.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from hostile_files import HOSTILE, LARGE, TRACE
from hypothesis import HealthCheck, Phase, given, seed, settings
from isolation import isolated, timed
from mutations import SEEDS, damaged

from tl1pca.cli._data import guarded
from tl1pca.tables import TableError, read_table

LIMIT = 32 << 20
SLACK = 96 << 20  # parsers, their buffers, and a block of text
FAILURES = Path(__file__).parent / "failures"
BATCH = 100


def check(path, limit=LIMIT):
    """Read a file the way the command line does; what came of it in words."""
    try:
        with guarded(limit):
            table = read_table(path, max_memory=limit)
    except (TableError, OSError) as error:
        return str(error)
    n, d = table.values.shape
    assert n >= 1
    assert d >= 1
    assert len(set(table.columns)) == d
    assert table.labels is None or len(table.labels) == n
    assert table.values.dtype == np.float64
    assert not np.isinf(table.values).any()
    return f"{n} x {d}; {' '.join(table.notes)}"


def examine(path):
    """What is wrong with reading one file, in a child of its own."""

    def show():
        print(f"{path.name}: {ascii(check(path))[:300]}", flush=True)

    return isolated(show, most_memory=3 * LIMIT + SLACK)


def batch(ending, number, path):
    """Read some damaged files in one child; `path` holds the one that was read last."""

    def attempt(content):
        path.write_bytes(content)
        with timed():
            check(path)

    run = settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )(given(damaged(ending))(attempt))
    return isolated(seed(number)(run), most_memory=3 * LIMIT + SLACK)


def keep(path, problem, failures):
    FAILURES.mkdir(exist_ok=True)
    copy = FAILURES / f"{len(failures)}{''.join(path.suffixes)}"
    copy.write_bytes(path.read_bytes())
    failures.append(copy)
    print(f"FAILED {copy}: {problem.strip()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--large", action="store_true", help="of the hostile files only the large ones")
    options = parser.parse_args()
    hostile = {name: HOSTILE[name] for name in (LARGE if options.large else HOSTILE)}
    begin = time.monotonic()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        os.environ[TRACE] = str(trace)
        for name, (ending, build) in hostile.items():
            path = Path(folder) / f"{name}{ending}"
            problem = isolated(lambda path=path, build=build: path.write_bytes(build())) or examine(path)
            if problem:
                keep(path, f"{name}: {problem}", failures)
            path.unlink()
        if trace.exists():
            sys.exit("FAILED: a file ran a command when it was read")
        print(f"{len(hostile)} hostile files in {time.monotonic() - begin:.0f} s", flush=True)
        rounds = 0
        while time.monotonic() - begin < options.seconds:
            ending = list(SEEDS)[rounds % len(SEEDS)]
            path = Path(folder) / f"damaged{ending}"
            if problem := batch(ending, options.seed + rounds, path):
                keep(path, f"seed {options.seed + rounds}: {problem}", failures)
            rounds += 1
    print(f"{rounds * BATCH} damaged files, seed {options.seed}, {len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
