"""How the house is kept: type tests are few, the tests mirror the source, files and functions are short."""

import ast
import functools
import inspect
import re
from pathlib import Path

import pytest

import tl1pca
from tl1pca import operators, solvers

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tl1pca"


@functools.cache
def modules():
    """The syntax of every module; not read on import, which every worker does."""
    return {str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}


@functools.cache
def our_classes():
    """Names of the classes; exceptions are told apart by their class everywhere."""
    return {
        node.name
        for tree in modules().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.endswith("Error")
    }


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
                if given & our_classes() or (isinstance(node.args[1], ast.Name) and given & handed):
                    yield ast.unparse(node)
        elif isinstance(node, ast.Compare) and ast.unparse(node.left).startswith("type("):
            yield from [ast.unparse(node)] if set(names_in(node.comparators[0])) & our_classes() else []


def test_what_an_object_can_do_is_declared_and_not_read_from_its_class():
    found = {(name, test) for name, tree in modules().items() for test in type_tests(tree)}
    assert found == set(TYPE_TESTS)
    assert len(found) <= 3


@pytest.mark.parametrize("layer", ["solvers", "rows", "estimators"])
def test_every_module_has_its_tests(layer):
    modules = {path.stem.lstrip("_") for path in (SOURCE / layer).glob("*.py")} - {"init__"}
    tests = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / layer).glob("test_*.py")}
    assert modules <= tests
    assert (ROOT / "tests" / "test_operators.py").exists()
    assert (ROOT / "tests" / "test_objectives.py").exists()


def test_files_and_functions_are_short():
    for name, tree in modules().items():
        assert len((SOURCE / name).read_text().splitlines()) <= 460, name
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
                inner = sum(
                    n.end_lineno - n.lineno
                    for n in node.body
                    if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
                )
                assert node.end_lineno - first.lineno - inner < 70, (name, node.name)


PARTS = [
    part
    for module in (tl1pca, operators, solvers)
    for part in (getattr(module, name) for name in module.__all__)
    if inspect.isclass(part) and hasattr(part, "get_params")
]


@pytest.mark.parametrize("part", sorted(set(PARTS), key=lambda part: part.__name__))
def test_the_documentation_says_the_defaults(part):
    said = dict(re.findall(r"^    (\w+) : .*, default=(.+?)$", part.__doc__ or "", re.M))
    given = {
        name: p.default for name, p in inspect.signature(part).parameters.items() if p.default is not p.empty
    }
    for name, words in said.items():
        value = given[name]
        assert words.strip('"') == value if isinstance(value, str) else ast.literal_eval(words) == value, name


#: Stems of British spellings, cut in two so that this file has none of them.
BRITISH = [
    "cent|red",
    "imis|e",
    "imis|ation",
    "col|our",
    "neighb|our",
    "recogn|is",
    "normal|is",
    "behavi|our",
    "label|led",
    "signal|led",
    "cancel|led(?!error)",
    "cent|re[sd]?$",
    "met|res?$",
    "analys|ed?$",
    "equal|is",
    "major|is",
    "learn|t$",
    "judg|ement",
    "gr|ey$",
]


def test_one_spelling():
    code = [page for kind in ("py", "j2", "js", "html") for page in SOURCE.rglob(f"*.{kind}")]
    code += [
        *(ROOT / "tests").rglob("*.py"),
        *(ROOT / "examples").glob("*.py"),
        *(ROOT / "benchmarks").rglob("*.py"),
    ]
    pages = [*code, *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.rst"), *ROOT.glob("*.md")]
    words = re.compile("|".join(stem.replace("|", "") for stem in BRITISH))
    allowed = re.compile("aria-labelledby")
    found = [
        f"{page.relative_to(ROOT)}: {match[0]}"
        for page in pages
        if not page.name.startswith("plotly") and ".peers" not in page.parts
        for match in re.finditer(r"[A-Za-z-]+", page.read_text(encoding="utf-8"))
        if words.search(match[0].lower()) and not allowed.match(match[0])
    ]
    assert not found
