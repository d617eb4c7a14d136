"""The tests with the oldest versions that pyproject.toml promises to work with; ``make oldest``.

The bounds are read from pyproject.toml: what the package and its extras ask
for, and the libraries whose data it takes, are installed at exactly their
lower bounds; the tools that run the tests are as new as they get.

python tests/oldest.py VENV [PYTEST ARGUMENTS]
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Of the extra dev: what runs the tests, and what hands data to the package.
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "psutil")
DATA = ("polars", "scikit-image", "array-api-strict", "zarr")


def lower_bounds(project):
    """Requirements of the package and of its extras, pinned to their lower bounds."""
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(r for name in extras if name != "dev" for r in extras[name])]
    asked += [r for r in extras["dev"] if r.startswith(DATA)]
    pins = {}
    for requirement in asked:
        found = re.fullmatch(r"([\w.-]+)(\[[\w,]+\])?>=([\w.]+)", requirement.replace(" ", ""))
        if found:
            pins[found[1]] = f"{found[1]}{found[2] or ''}=={found[3]}"
        elif not requirement.startswith(project["name"]):
            raise SystemExit(f"pyproject.toml asks for {requirement!r}, which has no lower bound to test.")
    return sorted(pins.values())


def main(venv, *arguments):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = ".".join(re.search(r">=\s*(\d+)\.(\d+)", project["requires-python"]).groups())
    if ".".join(map(str, sys.version_info[:2])) != oldest:
        raise SystemExit(f"The oldest Python is {oldest}: make oldest PYTHON=python{oldest}")
    pins = lower_bounds(project)
    python = str(Path(venv) / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *pins, *TOOLS], check=True, cwd=ROOT)
    subprocess.run([*install, "--no-deps", "--editable", "."], check=True, cwd=ROOT)
    print("Oldest versions:", *pins, flush=True)
    # Without the last one old versions of scikit-learn do not import their own checks.
    settings = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "SCIPY_ARRAY_API")
    environment = os.environ | dict.fromkeys(settings, "1")
    environment.pop("PYTHONPATH", None)
    # Old libraries use what their own, newer dependencies have deprecated since.
    command = [python, "-m", "pytest", "-q", "-W", "ignore::DeprecationWarning", *arguments]
    raise SystemExit(subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
