"""Every Python block of the README runs, in order, in one namespace."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.skipif(not README.is_file(), reason="the README is not part of this installation")
def test_readme_blocks_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.S)
    assert len(blocks) >= 3
    names = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    printed = capsys.readouterr().out
    assert "TL1SubspacePCA" in printed
    assert "operator__a" in printed
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert (tmp_path / "model.tl1pca").is_file()
