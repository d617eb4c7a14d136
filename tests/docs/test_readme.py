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
    assert "200 of 200 bad rows found" in printed
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert (tmp_path / "model.npz").is_file()


@pytest.mark.skipif(not README.is_file(), reason="the README is not part of this installation")
def test_the_first_screen_shows_a_picture_a_snippet_and_the_commands():
    text = README.read_text(encoding="utf-8")
    (picture,) = re.findall(r"!\[.*?\]\((.*?)\)", text[:1500])
    assert (README.parent / picture).read_bytes().startswith(b"\x89PNG")
    first = "\n".join(text.splitlines()[:45])
    for part in ("```python", "make demo", "make test", "pip install '.[explore]'", "tl1pca demo"):
        assert part in first
    assert "|---" not in first  # tables come later
    assert "GridSearchCV" not in text  # no search over score, which is no criterion


@pytest.mark.skipif(not README.is_file(), reason="the README is not part of this installation")
def test_the_picture_is_what_the_demo_draws(tmp_path):
    """Redraw it with ``tl1pca demo`` and copy it to docs/images when this fails."""
    import numpy as np
    from matplotlib.image import imread

    from tl1pca.cli import main

    with pytest.raises(SystemExit) as end:
        main(["demo", "--out", str(tmp_path)])
    assert not end.value.code
    name = "classical_and_robust.png"
    shown, drawn = imread(README.parent / "docs" / "images" / name), imread(tmp_path / name)
    assert np.abs(shown.shape[0] - drawn.shape[0]) <= 5  # fonts and versions of matplotlib differ a little
    rows, columns = (min(a, b) for a, b in zip(shown.shape[:2], drawn.shape[:2]))
    assert np.abs(shown[:rows, :columns] - drawn[:rows, :columns]).mean() < 0.05
