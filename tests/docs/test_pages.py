"""The blocks of pages run and print what the page shows."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "run_blocks.py"


@pytest.mark.skipif(not SCRIPT.is_file(), reason="the documentation is not part of this installation")
@pytest.mark.parametrize("page", ["getting_started.md", "user_guide.md", "command_line.md"])
def test_blocks_run_and_print_what_is_shown(page):
    command = [sys.executable, str(SCRIPT), str(SCRIPT.parent / page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
