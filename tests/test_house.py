"""How the house is kept: type tests are few, the tests mirror the source, files and functions are short."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tl1pca"
MODULES = {str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}
OUR_CLASSES = {n.name for tree in MODULES.values() for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}

#: Where the type of an object of the package is asked for, and why nothing else would do.
TYPE_TESTS = {
    ("rows/opening.py", "isinstance(X, Rows)"): "what a user hands over is the port itself, or data",
    (
        "estimators/_input.py",
        "isinstance(value, kind)",
    ): "one error for parameters that must be parts",
    (
        "persistence/_values.py",
        "type(value) is Cutoffs",
    ): "a model file spells each kind of value its own way",
}


def names_in(node):
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute):
            yield part.id if isinstance(part, ast.Name) else part.attr


def type_tests(tree):
    """Where a class of the package, or one that a caller hands over, is held against an object."""
    handed = {a.arg for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) for a in n.args.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("isinstance", "issubclass"):
                given = set(names_in(node.args[1]))
                if given & OUR_CLASSES or (isinstance(node.args[1], ast.Name) and given & handed):
                    yield ast.unparse(node)
        elif isinstance(node, ast.Compare) and ast.unparse(node.left).startswith("type("):
            yield from [ast.unparse(node)] if set(names_in(node.comparators[0])) & OUR_CLASSES else []


def test_what_an_object_can_do_is_declared_and_not_read_from_its_class():
    found = {(name, test) for name, tree in MODULES.items() for test in type_tests(tree)}
    assert found == set(TYPE_TESTS)
    assert len(found) <= 3


@pytest.mark.parametrize("layer", ["rows"])
def test_every_module_has_its_tests(layer):
    modules = {path.stem.lstrip("_") for path in (SOURCE / layer).glob("*.py")} - {"init__"}
    tests = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / layer).glob("test_*.py")}
    assert modules <= tests
    assert (ROOT / "tests" / "test_operators.py").exists()
    assert (ROOT / "tests" / "test_objectives.py").exists()


def test_files_and_functions_are_short():
    for name, tree in MODULES.items():
        assert len((SOURCE / name).read_text().splitlines()) <= 460, name
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
                assert node.end_lineno - first.lineno < 70, (name, node.name)
