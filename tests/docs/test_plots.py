"""The blocks of the page on plots run, in order, and print what the page shows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "run_blocks.py"


@pytest.mark.skipif(not SCRIPT.is_file(), reason="the documentation is not part of this installation")
def test_blocks_run_and_print_what_is_shown(tmp_path):
    command = [sys.executable, str(SCRIPT), str(SCRIPT.parent / "plots.md")]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    if "PYTHONPATH" in environment:  # the figure of the page is written into the working folder
        paths = environment["PYTHONPATH"].split(os.pathsep)
        environment["PYTHONPATH"] = os.pathsep.join(str(Path(path).resolve()) for path in paths)
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "wine.pdf").stat().st_size > 5_000
