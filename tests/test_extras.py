"""Without an extra: one line that names it, for every command and every optional part."""

import json
import subprocess
import sys

import pytest

#: Does one thing after the other and prints what came of it: the exit code or None, and the words. A package
#: is absent where `sys.modules` says None; this one is forgotten each time, with what it had loaded.
DRIVER = """
import contextlib, io, json, os, sys
os.environ["SCIPY_ARRAY_API"] = "1"
found = []
for absent, program in json.load(sys.stdin):
    gone = ("tl1pca", *absent)
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] in gone}
    for name in kept:
        del sys.modules[name]
    sys.modules.update(dict.fromkeys(absent))
    code, said = None, io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            exec(program, {})
    except SystemExit as end:
        code = end.code
    except ImportError as error:
        said.write(str(error))
    found.append((code, said.getvalue()))
    for name in absent:
        del sys.modules[name]
    sys.modules.update({name: module for name, module in kept.items() if not name.startswith("tl1pca")})
print(json.dumps(found))
"""
CLI = ("typer", "rich", "pandas", "pyarrow", "joblib", "matplotlib", "jinja2", "python_calamine")
COMMANDS = [
    ("--help", CLI),
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
]

PARTS = {
    "arrays": (
        ["array_api_compat"],
        "array",
        "import array_api_strict, sklearn, tl1pca\n"
        "with sklearn.config_context(array_api_dispatch=True):\n"
        "    tl1pca.L1PCA(1).fit(array_api_strict.ones((5, 2)))",
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


def run(cases, folder):
    """Exit code and words of each, in a process that has loaded nothing before the first."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What came of every case, with a table to work on."""
    folder = tmp_path_factory.mktemp("extras")
    (folder / "x.csv").write_text("a,b\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(40)))
    (folder / "x.xlsx").write_bytes(b"PK")
    (folder / "x.parquet").write_bytes(b"")
    commands = [command(*case) for case in COMMANDS]
    parts = {part: (absent, program) for part, (absent, _, program) in PARTS.items()}
    found = run([*commands, *parts.values()], folder)
    return dict(zip([*map(str, COMMANDS), *parts], found))


def command(arguments, absent):
    return absent, f"from tl1pca.cli import main; main({arguments.split()!r})"


def check(answer, absent):
    code, said = answer
    assert code == 1
    assert len(said.splitlines()) == 1, said
    assert "pip install 'tl1pca[" in said
    assert any(name in said for name in absent)


@pytest.mark.parametrize("case", COMMANDS, ids=lambda case: f"{case[0]} without {case[1][0]}")
def test_commands_name_the_extra(answers, case):
    check(answers[str(case)], case[1])


@pytest.mark.parametrize("case", [("demo", CLI), ("reproduce operators --quick --out out", ["joblib"])])
def test_a_process_that_never_had_them(tmp_path, case):
    """joblib is loaded by scikit-learn, whoever comes later finds it there."""
    (answer,) = run([command(*case)], tmp_path)
    check(answer, case[1])


@pytest.mark.parametrize("part", PARTS)
def test_optional_parts_name_the_extra(answers, part):
    code, said = answers[part]
    assert code is None
    assert len(said.splitlines()) == 1
    assert f"tl1pca[{PARTS[part][1]}]" in said


def test_lists_and_frames_need_no_extra_where_arrays_are_dispatched(tmp_path):
    program = (
        "import pandas, sklearn, tl1pca\n"
        "sklearn.set_config(array_api_dispatch=True)\n"
        "rows = [[1.0, 2.0], [2.0, 1.0], [0.0, 3.0]]\n"
        "tl1pca.L1PCA(1).fit(rows)\n"
        "tl1pca.L1PCA(1).fit(pandas.DataFrame(rows))\n"
    )
    assert run([(["array_api_compat"], program)], tmp_path) == [[None, ""]]
