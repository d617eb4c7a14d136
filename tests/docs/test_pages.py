"""The blocks of pages run and print what the page shows."""

import importlib.util
import io
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tl1pca.cli import main

SCRIPT = Path(__file__).parents[2] / "docs" / "run_blocks.py"
PAGES = [
    "index.md",
    "getting_started.md",
    "guide.md",
    "coming_from.md",
    "user_guide.md",
    "command_line.md",
    "plots.md",
    "monitoring.md",
    "../CONTRIBUTING.md",
]


def in_this_process(line, folder):
    """What a line of a shell prints, with our command called here, which saves the second of its start."""
    given = b""
    for part in line.split(" | "):
        words = shlex.split(part)
        if words[0] != "tl1pca":
            done = subprocess.run(
                ["bash", "-c", part], cwd=folder, input=given, capture_output=True, check=True
            )
            given = done.stdout
            continue
        out = io.BytesIO()
        screen = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            patch.setenv("COLUMNS", "80")
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
            patch.setattr(sys, "stdout", screen)
            patch.setattr(sys, "stderr", screen)
            with pytest.raises(SystemExit):
                main(words[1:])
        given = out.getvalue()
    return given.decode()


@pytest.mark.skipif(not SCRIPT.is_file(), reason="the documentation is not part of this installation")
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    spec = importlib.util.spec_from_file_location("run_blocks", SCRIPT)
    blocks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(blocks)
    shown = (SCRIPT.parent / page).read_text(encoding="utf-8")
    assert blocks.run(blocks.run_console(shown, in_this_process)) == shown
    if page == "plots.md":
        assert (tmp_path / "wine.pdf").stat().st_size > 5_000


@pytest.mark.parametrize(
    "page", [*sorted(SCRIPT.parent.glob("*.md")), SCRIPT.parents[1] / "README.md"], ids=lambda p: p.name
)
def test_tables_are_tables(page):
    """A blank line inside a table makes text of what is below it; a line right below makes a row."""
    fenced, before, block = False, "", 0
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        row = line.startswith("|") and not fenced
        assert row or not block or not line.strip(), f"a row of the table above: {line}"
        block = block + 1 if row else 0
        if block == 2:
            assert set(line) <= set("|-: "), f"no header above: {before}"
        before = line
