"""What the package survives: kills, faults, interrupts, hard numbers, load. ``make torture`` runs all of it.

The tests run a small sample of each part.
"""

import os
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def script(module, *arguments):
    """Command line of a module of this folder."""
    return [sys.executable, "-m", f"torture.{module}", *map(str, arguments)]


def environment(**more):
    """Environment in which the modules of this folder are found and BLAS uses one thread."""
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    kept = {key: value for key, value in os.environ.items() if key != "TL1PCA_DATA"}
    return kept | {
        "PYTHONPATH": os.pathsep.join(paths),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        **more,
    }
