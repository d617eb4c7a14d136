"""Without an extra: one line that names it, for every command and every optional part."""

import subprocess
import sys

import pytest

#: Runs first in the process and makes packages absent.
WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""
CLI = ("typer", "rich", "pandas", "pyarrow", "joblib", "matplotlib", "jinja2", "python_calamine")


def run(absent, program, cwd):
    command = [sys.executable, "-c", WITHOUT.format(absent=set(absent)) + program]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=cwd)


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        ("--help", CLI),
        ("demo", CLI),
        ("--help", ["typer"]),
        ("demo", ["matplotlib"]),
        ("fit x.csv", ["pandas"]),
        ("outliers x.csv", ["pyarrow"]),
        ("outliers x.xlsx", ["python_calamine"]),
        ("report x.csv --out page.html", ["jinja2"]),
        ("explore x.csv --no-browser", ["starlette"]),
        ("explore x.csv --no-browser", ["uvicorn"]),
        ("compare x.csv", ["pandas"]),
        ("reproduce operators --quick --out out", ["matplotlib"]),
        ("reproduce operators --quick --out out", ["joblib"]),
    ],
)
def test_commands_name_the_extra(tmp_path, arguments, absent):
    (tmp_path / "x.csv").write_text("a,b\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(40)))
    (tmp_path / "x.xlsx").write_bytes(b"PK")
    done = run(absent, f"from tl1pca.cli import main; main({arguments.split()!r})", tmp_path)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "pip install 'tl1pca[" in done.stderr
    assert any(name in done.stderr for name in absent)


PARTS = {
    "torch": (
        ["array_api_compat"],
        "array",
        "import numpy as np, sklearn, torch, tl1pca\n"
        "with sklearn.config_context(array_api_dispatch=True):\n"
        "    tl1pca.L1PCA(1).fit(torch.ones(5, 2))",
    ),
    "displays": (
        ["matplotlib"],
        "plot",
        "import numpy as np, tl1pca\nfrom tl1pca.displays import ScreeDisplay\n"
        "X = np.random.default_rng(0).normal(size=(30, 3))\n"
        "ScreeDisplay.from_estimator(tl1pca.L1PCA(2).fit(X))",
    ),
    "report": (
        ["jinja2"],
        "report",
        "from tl1pca.report import render_report\nrender_report([[1.0, 2.0], [2.0, 1.0], [0.0, 3.0]])",
    ),
    "compare": (["pandas"], "cli", "import tl1pca\ntl1pca.compare([[1.0, 2.0], [2.0, 1.0], [0.0, 3.0]])"),
    "csv": (["pyarrow"], "cli", "from tl1pca.tables import read_table\nread_table('x.csv')"),
    "parquet": (["pyarrow"], "cli", "from tl1pca.tables import read_table\nread_table('x.parquet')"),
    "explore": (["uvicorn"], "explore", "import tl1pca.explore"),
    "excel": (["python_calamine"], "excel", "from tl1pca.tables import read_table\nread_table('x.xlsx')"),
}


@pytest.mark.parametrize("part", PARTS)
def test_optional_parts_name_the_extra(tmp_path, part):
    absent, extra, program = PARTS[part]
    if part == "torch":
        pytest.importorskip("torch")
        program = "import os; os.environ['SCIPY_ARRAY_API'] = '1'\n" + program
    for ending in (".csv", ".parquet", ".xlsx"):
        (tmp_path / f"x{ending}").write_bytes(b"")
    caught = "\n".join(f"    {line}" for line in program.splitlines())
    done = run(absent, f"try:\n{caught}\nexcept ImportError as error:\n    print(error)", tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert f"tl1pca[{extra}]" in done.stdout


def test_lists_and_frames_need_no_extra_where_arrays_are_dispatched(tmp_path):
    program = (
        "import os; os.environ['SCIPY_ARRAY_API'] = '1'\n"
        "import pandas, sklearn, tl1pca\n"
        "sklearn.set_config(array_api_dispatch=True)\n"
        "rows = [[1.0, 2.0], [2.0, 1.0], [0.0, 3.0]]\n"
        "tl1pca.L1PCA(1).fit(rows)\n"
        "tl1pca.L1PCA(1).fit(pandas.DataFrame(rows))\n"
    )
    done = run(["array_api_compat"], program, tmp_path)
    assert done.returncode == 0, done.stderr
