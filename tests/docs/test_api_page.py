"""The API page lists what users can import."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "api.rst"
MODULES = ["comparison", "datasets", "diagnostics", "displays", "explore", "operators", "persistence"]
MODULES += ["preprocessing", "report", "river", "scorers", "selection", "tables"]


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not part of this installation")
@pytest.mark.parametrize("name", ["tl1pca", *(f"tl1pca.{name}" for name in MODULES)])
def test_every_public_class_and_function_is_listed(name):
    listed = set(re.findall(r"^   (?:\w+\.)?(\w+)$", PAGE.read_text(), re.MULTILINE))
    module = importlib.import_module(name)
    assert {each for each in module.__all__ if callable(getattr(module, each))} <= listed


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not part of this installation")
def test_every_name_that_is_listed_is_there():
    for name in re.findall(r"^   ((?:\w+\.)?\w+)$", PAGE.read_text(), re.MULTILINE):
        module, _, attribute = f"tl1pca.{name}".rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name
