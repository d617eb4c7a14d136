"""The block of the report's page writes the file it names."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "report.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not part of this installation")
def test_block_writes_the_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    exec(compile(block, str(PAGE), "exec"), {})
    assert "magnesium" in (tmp_path / "wine.html").read_text(encoding="utf-8")
