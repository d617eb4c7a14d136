"""What is said in several places about a release is the same everywhere."""

import re
import tomllib
from pathlib import Path

import pytest

import tl1pca
from tl1pca.report import _page

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="the repository is not part of this installation"
)


def test_the_version():
    assert (
        re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M).group(1)
        == tl1pca.__version__
    )
    assert f"\n## {tl1pca.__version__}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_promised_versions_of_python_are_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = [c.rsplit(" ", 1)[1] for c in project["classifiers"] if re.search(r":: 3\.\d+$", c)]
    workflow = ROOT / ".github" / "workflows" / "tests.yml"
    if not workflow.is_file():
        pytest.skip("the workflows are not part of the sdist")
    (matrix,) = re.findall(r"python: \[(.*)\]", workflow.read_text(encoding="utf-8"))
    assert re.findall(r"[\d.]+", matrix) == promised
    assert project["requires-python"] == f">={promised[0]}"


def test_the_conda_recipe_asks_for_what_the_wheel_asks_for():
    path = ROOT / "packaging" / "conda" / "recipe.yaml"
    if not path.is_file():
        pytest.skip("the recipe is not part of the sdist")
    recipe = path.read_text(encoding="utf-8")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    assert f'version: "{tl1pca.__version__}"' in recipe
    assert f"  summary: {project['description']}\n  license: {project['license']}\n" in recipe
    assert re.findall(r"^    - (LICENSE|licenses/.*)$", recipe, re.M) == project["license-files"]
    assert re.findall(r"^      - (\S+) = (\S+:\S+)$", recipe, re.M) == list(project["scripts"].items())
    host = re.search(r"\n  host:\n(.*?)\n  run:", recipe, re.S).group(1)
    build = settings["build-system"]["requires"]
    assert {line.replace(">=", " >=") for line in build} <= set(re.findall(r"^    - (.*)$", host, re.M))
    assert f'python_min: "{project["requires-python"].removeprefix(">=")}"' in recipe
    extras = project["optional-dependencies"]
    asked = [
        *project["dependencies"],
        *(line for name in ("cli", "plot", "report", "excel") for line in extras[name]),
    ]
    wanted = {line for line in asked if not line.startswith("tl1pca[")}
    run = re.search(r"\n  run:\n(.*?)\ntests:", recipe, re.S).group(1)
    found = set(re.findall(r"^    - (?!python >=)(.*)$", run, re.M))
    assert {line.replace(" ", "").replace("matplotlib-base", "matplotlib") for line in found} == wanted


def test_the_bundle_of_plotly_is_what_the_page_and_the_license_say():
    bundle = _page.asset("plotly-basic.min.js")
    assert f"plotly.js (basic - minified) v{_page.PLOTLY}\n" in bundle[:200]
    assert "Licensed under the MIT license" in bundle[:300]
    assert "MIT License" in (ROOT / "licenses" / "plotly.js.txt").read_text(encoding="utf-8")
