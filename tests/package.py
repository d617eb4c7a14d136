"""Build the sdist and the wheel, check them, and use each in clean environments; ``make package``.

Once without extras, and once as the README says: with the extra ``explore``,
which includes ``cli``, its commands and its Python blocks.

python tests/package.py FOLDER
"""

import os
import re
import shlex
import subprocess
import sys
import urllib.request
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
for command in (["tl1pca", "--help"], ["tl1pca", "demo"], ["tl1pca", "reproduce", "toy"]):
    command[0] = str(Path(sys.executable).with_name(command[0]))
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "pip install 'tl1pca[cli]'" in done.stderr, (command, done)
    assert done.stderr.count("\\n") == 1, done
for name in ("displays", "report"):
    try:
        importlib.import_module(f"tl1pca.{name}")  # may be light; if it is not, the extra is named
    except ImportError as error:
        assert "tl1pca[" in str(error), error
print("fine")
"""


def python_in(folder, *requirements):
    """The interpreter of a new environment with some requirements."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *requirements], check=True)
    return python


def build(folder):
    """The sdist and the wheel, and what two checkers say about them."""
    builder = python_in(folder / "builder", "build", "twine", "check-wheel-contents")
    dist = folder / "dist"
    for old in dist.glob("*"):
        old.unlink()
    command = [builder, "-m", "build", "--outdir", str(dist), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    assert wheel.name.endswith("-py3-none-any.whl"), f"{wheel.name} is tied to an interpreter or a system"
    subprocess.run([builder, "-m", "twine", "check", "--strict", str(wheel), str(sdist)], check=True)
    subprocess.run([builder, "-m", "check_wheel_contents", str(wheel)], check=True, cwd=ROOT)
    return wheel, sdist


def readme_commands(text):
    """The commands of the section on one's own environment, less the installation."""
    block = re.search(r"## In your own environment\s+```\n(.*?)```", text, flags=re.S).group(1)
    lines = [line.split("#")[0].strip() for line in block.splitlines()]
    commands = [line for line in lines if line and not line.startswith("pip ")]
    assert commands, "the README has no commands"
    return commands


def visit(command, folder, environment):
    """A command that serves a page until it is ended: the page is there."""
    options = {"cwd": folder, "env": environment, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **options) as child:
        said = child.stdout.readline()
        with urllib.request.urlopen(re.search(r"http://\S+", said).group(), timeout=60) as page:
            assert b"</html>" in page.read()
        child.terminate()


def follow_readme(python, folder, environment):
    """Its commands, then its Python blocks, in an empty folder."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    folder.mkdir(exist_ok=True)
    for command in readme_commands(text):
        program, *arguments = shlex.split(command)
        print(f"  {command}", flush=True)
        run = [str(Path(python).with_name(program)), *arguments]
        if arguments[0] == "explore":
            visit([*run, "--no-browser"], folder, environment)
            continue
        subprocess.run(run, check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.S))
    subprocess.run([python, "-c", blocks], check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    for name in ("demo/data.csv", "page.html", "report.html", "model.npz"):
        assert (folder / name).stat().st_size > 0, name


def main(folder):
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wheel, sdist = build(folder)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["MPLBACKEND"] = "Agg"
    for package in (wheel, sdist):
        python = python_in(folder / "clean", str(package))
        print(f"{package.name} ({package.stat().st_size // 1024} KiB):", end=" ", flush=True)
        subprocess.run([python, "-c", USE], check=True, cwd=folder, env=environment)
    print(f"{wheel.name}[explore], as the README says:", flush=True)
    follow_readme(python_in(folder / "clean", f"{wheel}[explore]"), folder / "readme", environment)
    print("fine")


if __name__ == "__main__":
    main(*sys.argv[1:])
