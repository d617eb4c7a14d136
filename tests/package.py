"""Build the sdist and the wheel and use each in a clean environment without extras; ``make package``.

python tests/package.py FOLDER
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: What a newcomer does, and what is said where an extra is missing.
USE = """
import importlib.util, subprocess, sys
from pathlib import Path
import numpy as np
import tl1pca

assert "site-packages" in tl1pca.__file__, tl1pca.__file__
assert not {"sklearn", "pandas", "matplotlib", "typer"} & set(sys.modules), "import tl1pca is not light"
X = np.random.default_rng(0).normal(size=(50, 4))
pca = tl1pca.TL1SubspacePCA(2, random_state=0).fit(X)
tl1pca.save(pca, "model.npz")
assert (tl1pca.load("model.npz").transform(X) == pca.transform(X)).all()
assert Path(tl1pca.__file__).with_name("py.typed").exists()
for command in (["tl1pca", "--help"], ["tl1pca", "reproduce", "toy"]):
    command[0] = str(Path(sys.executable).with_name(command[0]))
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "pip install 'tl1pca[" in done.stderr, (command, done)
for name in ("displays", "report"):
    if importlib.util.find_spec(f"tl1pca.{name}") is None:
        print(f"There is no tl1pca.{name} in this version: not tried.")
        continue
    try:
        importlib.import_module(f"tl1pca.{name}")  # may be light; if it is not, the extra is named
    except ImportError as error:
        assert "tl1pca[" in str(error), error
print("fine")
"""


def python_in(folder, *requirements):
    """The interpreter of a new environment with some requirements."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *requirements], check=True)
    return python


def main(folder):
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    builder = python_in(folder / "builder", "build")
    dist = folder / "dist"
    command = [builder, "-m", "build", "--outdir", str(dist), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    for package in (*dist.glob("*.whl"), *dist.glob("*.tar.gz")):
        python = python_in(folder / "clean", str(package))
        print(f"{package.name} ({package.stat().st_size // 1024} KiB):", end=" ", flush=True)
        subprocess.run([python, "-c", USE], check=True, cwd=folder, env=environment)


if __name__ == "__main__":
    main(*sys.argv[1:])
