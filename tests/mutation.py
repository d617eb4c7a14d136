"""Change one thing in the source at a time and see whether a test fails: `make mutate`.

Every module of the mathematics has its own test files (TARGETS). A mutant is the
module with one comparison, operator, number, condition or statement changed; it
survives if all of these files still pass. The draw is seeded, so a run can be
repeated; survivors are printed with their line. The share that survives is in
docs/reliability.md.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Module under src/tl1pca, and the tests that should notice a change in it.
TARGETS = {
    "operators.py": ["tests/test_operators.py", "tests/test_objectives.py", "tests/solvers/test_base.py"],
    "objectives.py": ["tests/test_objectives.py", "tests/solvers"],
    "linear.py": ["tests/test_linear.py"],
    "statistics.py": ["tests/test_statistics.py", "tests/solvers/test_subspace.py"],
    "geometry.py": ["tests/test_geometry.py", "tests/solvers"],
    "extraction.py": ["tests/test_extraction.py", "tests/solvers/test_base.py"],
    "diagnostics.py": [
        "tests/test_diagnostics.py",
        "tests/test_limits.py",
        "tests/estimators/test_prediction.py",
        "tests/estimators/test_subspace.py",
        "tests/properties/test_end_of_range.py",
    ],
    "solvers/base.py": ["tests/solvers/test_base.py"],
    "solvers/starts.py": ["tests/solvers/test_starts.py"],
    "solvers/axes.py": ["tests/solvers/test_axes.py"],
    "solvers/paper.py": ["tests/solvers"],
    "solvers/ascent.py": ["tests/solvers"],
    "solvers/sampled.py": ["tests/solvers/test_sampled.py", "tests/test_extraction.py"],
    "solvers/refine.py": [
        "tests/solvers/test_refine.py",
        "tests/solvers/test_sampled.py",
        "tests/test_extraction.py",
    ],
    "solvers/fixed_point.py": ["tests/solvers", "tests/paper/test_published_rules.py"],
    "solvers/frame.py": ["tests/solvers/test_many_rows.py"],
    "solvers/quasi_newton.py": ["tests/solvers/test_many_rows.py"],
    "solvers/mm.py": [
        "tests/solvers/test_many_rows.py",
        "tests/solvers/test_base.py",
        "tests/test_objectives.py",
    ],
    "solvers/stiefel.py": ["tests/solvers"],
    "solvers/plane.py": ["tests/solvers/test_subspace.py", "tests/estimators/test_subspace.py"],
    "solvers/subspace.py": ["tests/solvers/test_subspace.py", "tests/estimators/test_subspace.py"],
    "solvers/outlyingness.py": ["tests/solvers/test_subspace.py", "tests/estimators/test_subspace.py"],
}
#: Numbers below this are tolerances: twice as much is no other program.
TOLERANCE = 1e-6
#: Seconds after which a mutant counts as noticed: it no longer ends.
LIMIT = 300

COMPARISONS = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One changed place of a module."""

    module: str
    line: int
    what: str
    text: str


def mutants(module, source):
    """All mutants of a module; annotations, docstrings, messages and declarations are left alone."""
    tree = ast.parse(source)
    for parent in ast.walk(tree):
        for child in ast.iter_child_nodes(parent):
            child.parent = parent
    for index, node in enumerate(ast.walk(tree)):
        for what, change in changes(node):
            if any(isinstance(up, ast.Raise | ast.JoinedStr) for up in ancestors(node)) or in_annotation(
                node
            ):
                continue
            clone = copy.deepcopy(tree)
            change(next(n for i, n in enumerate(ast.walk(clone)) if i == index))
            yield Mutant(
                module, getattr(node, "lineno", 0), what, ast.unparse(ast.fix_missing_locations(clone))
            )


def ancestors(node):
    while hasattr(node, "parent"):
        node = node.parent
        yield node


def in_annotation(node):
    inner = node
    for up in ancestors(node):
        if getattr(up, "annotation", None) is inner or getattr(up, "returns", None) is inner:
            return True
        inner = up
    return False


def changes(node):
    """Names of changes to a node, with the function that makes them."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        other = COMPARISONS[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} to {other.__name__}", lambda n: n.ops.__setitem__(0, other())
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        new = ARITHMETIC[type(node.op)]
        yield f"{type(node.op).__name__} to {new.__name__}", lambda n: setattr(n, "op", new())
    if isinstance(node, ast.BoolOp):
        swap = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} to {swap.__name__}", lambda n: setattr(n, "op", swap())
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and is_number(node.value):
        value = 2 * node.value if node.value else 1
        yield f"{node.value} to {value}", lambda n: setattr(n, "value", value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "minus to plus", lambda n: setattr(n, "op", ast.UAdd())
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition inverted", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))
    if isinstance(node, ast.Assign | ast.AugAssign) and isinstance(node.parent, ast.For | ast.While | ast.If):
        yield "statement left out", blank


def is_number(value):
    return value == 0 or abs(value) > TOLERANCE


def blank(node):
    """Turn a statement into one that does nothing."""
    node.__class__ = ast.Pass
    node.__dict__.clear()


def survives(mutant, folder):
    """Whether all tests of the module pass with the mutant in place."""
    path = folder / "src" / "tl1pca" / mutant.module
    kept = path.read_text()
    path.write_text(mutant.text)
    environment = os.environ | {
        "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *TARGETS[mutant.module]]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, timeout=LIMIT, check=False
        )
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_text(kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="mutants drawn over all modules")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--module", action="append", help="only this module, e.g. solvers/mm.py")
    given = parser.parse_args()
    modules = given.module or list(TARGETS)
    everything = [m for name in modules for m in mutants(name, (ROOT / "src/tl1pca" / name).read_text())]
    drawn = random.Random(given.seed).sample(everything, min(given.sample, len(everything)))
    survivors = []
    with tempfile.TemporaryDirectory() as base, ThreadPoolExecutor(given.workers) as pool:
        folders = []
        for worker in range(given.workers):
            folder = Path(base) / str(worker)
            shutil.copytree(
                ROOT, folder, ignore=shutil.ignore_patterns(".git", ".venv*", "demo", "_build", "*.pyc")
            )
            folders.append(folder)

        def run(worker):
            found = []
            for mutant in drawn[worker :: given.workers]:
                if survives(mutant, folders[worker]):
                    found.append(mutant)
                    print(f"survived: {mutant.module}:{mutant.line} {mutant.what}", flush=True)
            return found

        for found in pool.map(run, range(given.workers)):
            survivors += found
    share = len(survivors) / len(drawn)
    print(f"{len(drawn)} of {len(everything)} mutants, {len(survivors)} survived ({share:.1%})")


if __name__ == "__main__":
    main()
