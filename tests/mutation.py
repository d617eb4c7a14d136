"""Change one thing in the source at a time and see whether a test fails: `make mutate`.

A mutant is a module of the mathematics with one comparison, operator, number,
condition or statement changed. It survives if every test that runs the changed
line still passes. Which tests those are is recorded once (`Coverage`); each
mutant is then tried in a process forked from one that has all libraries loaded,
the fastest tests first, so that most of them take a second. The draw is seeded,
so a run can be repeated; survivors are printed with their line. The share that
survives is in docs/reliability.md.
"""

import argparse
import ast
import gc
import importlib
import importlib.abc
import importlib.util
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tl1pca"
#: The mathematics: what is mutated.
MODULES = [
    *(
        f"{name}.py"
        for name in ("operators", "objectives", "linear", "statistics", "geometry", "location", "extraction")
    ),
    *(
        f"{name}.py"
        for name in (
            "diagnostics",
            "_flags",
            "_subspace",
            "_limits",
            "_contributions",
            "_noise",
            "_predicted",
        )
    ),
    "dimension.py",
    *sorted(f"solvers/{path.name}" for path in (SOURCE / "solvers").glob("[a-z]*.py")),
]
#: The tests that should notice. Clusters and scikit-learn's own checks take too long for every mutant, and an
#: interrupt at a random moment may leave the tracer with its lock held.
TESTS = [
    *(
        f"tests/test_{name}.py"
        for name in ("operators", "objectives", "linear", "statistics", "geometry", "location")
    ),
    *(
        f"tests/test_{name}.py"
        for name in ("extraction", "diagnostics", "limits", "contributions", "noise", "dimension")
    ),
    *("tests/solvers", "tests/estimators", "tests/paper", "tests/scale/test_array_api.py"),
]
LEFT_OUT = "not dask and not check_estimator and not interrupts"
#: Numbers below this are tolerances: twice as much is no other program.
TOLERANCE = 1e-5
#: From so many rounds on, a loop that may end before is not expected to run them all.
MANY_ROUNDS = 20
#: Seconds that the tests of one mutant may take in the unchanged program; the fastest are taken.
BUDGET = 20.0

COMPARISONS = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
}  # fmt: skip


# ---------------------------------------------------------------- mutants
@dataclass(frozen=True)
class Mutant:
    """One changed place of a module: the lines of its statement, the change, and the changed source."""

    module: str
    lines: range
    statement: str
    what: str
    names: tuple[str, ...]
    make: Callable[[], str]

    @property
    def text(self):
        return self.make()


def mutants(module, source):
    """All mutants of a module; annotations, docstrings, messages and declarations are left alone."""
    tree = with_parents(source)
    for index, node in enumerate(ast.walk(tree)):
        for what, change in changes(node):
            if any(isinstance(up, ast.Raise | ast.JoinedStr) for up in ancestors(node)) or in_annotation(
                node
            ):
                continue
            statement = next(up for up in [node, *ancestors(node)] if isinstance(up, ast.stmt))
            head = ast.unparse(statement).splitlines()[0]
            make = partial(changed, source, index, change)
            yield Mutant(module, lines_of(statement), head, what, assigned(statement), make)


def with_parents(source):
    tree = ast.parse(source)
    for parent in ast.walk(tree):
        for child in ast.iter_child_nodes(parent):
            child.parent = parent
    return tree


def changed(source, index, change):
    """The source with one node changed, that of a number in the order of `ast.walk`."""
    tree = ast.parse(source)
    change(next(node for i, node in enumerate(ast.walk(tree)) if i == index))
    return ast.unparse(ast.fix_missing_locations(tree))


def constants(module, source):
    """Mutants of the tuned constants of a module: each number of them a quarter and four times as large."""
    tree = with_parents(source)
    for statement in tree.body:
        names = assigned(statement)
        if not any(name.isupper() for name in names):
            continue
        numbers = numbers_in(statement)
        for i, number in enumerate(numbers):
            for factor in (0.25, 4):
                value = number.value * factor
                value = max(1, round(value)) if type(number.value) is int else value
                if value == number.value or not is_number(number):
                    continue
                change = partial(set_number, i, value)
                where = next(at for at, node in enumerate(ast.walk(tree)) if node is statement)
                make = partial(changed, source, where, change)
                what = f"{number.value} to {value}"
                yield Mutant(module, lines_of(statement), ast.unparse(statement), what, names, make)


def set_number(i, value, statement):
    """Replace one of the numbers of a statement."""
    numbers_in(statement)[i].value = value


def numbers_in(node):
    return [n for n in ast.walk(node) if isinstance(n, ast.Constant) and type(n.value) in (int, float)]


def lines_of(statement):
    """Lines of a statement, without those of the block that it opens."""
    body = getattr(statement, "body", None)
    return range(statement.lineno, (body[0].lineno if body else statement.end_lineno + 1))


def assigned(statement):
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return tuple(n.id for target in targets if target for n in ast.walk(target) if isinstance(n, ast.Name))


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
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not is_tolerant(node):
        new = ARITHMETIC[type(node.op)]
        yield f"{type(node.op).__name__} to {new.__name__}", lambda n: setattr(n, "op", new())
    if isinstance(node, ast.BoolOp):
        swap = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} to {swap.__name__}", lambda n: setattr(n, "op", swap())
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and is_number(node):
        value = 2 * node.value if node.value else 1
        yield f"{node.value} to {value}", lambda n: setattr(n, "value", value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not is_tolerance(node.operand):
        yield "minus to plus", lambda n: setattr(n, "op", ast.UAdd())
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition inverted", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))
    if isinstance(node, ast.Assign | ast.AugAssign) and isinstance(node.parent, ast.For | ast.While | ast.If):
        yield "statement left out", blank


def is_number(node):
    """Whether it is a number whose size matters: no tolerance, size of memory (1 << 20) or cap of a loop."""
    if is_tolerance(node) or is_cap(node) or is_idle_default(node):
        return False
    shifted = isinstance(node.parent, ast.BinOp) and isinstance(node.parent.op, ast.LShift)
    return not (shifted or (node.value and of_precision(node)))


def of_precision(node):
    """Whether it is a factor or an exponent of the floating precision, a tolerance as well."""
    terms = [up for up in [node, *ancestors(node)] if isinstance(up, ast.BinOp)]
    products = [up for up in terms if isinstance(up.op, ast.Mult | ast.Pow)]
    return any(".eps" in ast.unparse(up) or "tiny" in ast.unparse(up) for up in products[:1])


def is_tolerance(node):
    return isinstance(node, ast.Constant) and type(node.value) is float and 0 < abs(node.value) <= TOLERANCE


def is_tolerant(node):
    """Whether it is a power of the precision, or a sum like 1 + 1e-12, whose sign is below rounding."""
    if isinstance(node.op, ast.Pow):
        return of_precision(node)
    return isinstance(node.op, ast.Add | ast.Sub) and is_tolerance(node.right)


def is_cap(node):
    """Whether it is the most rounds of a loop that ends by itself."""
    if not isinstance(node.parent, ast.Call) or ast.unparse(node.parent.func) != "range":
        return False
    loop = node.parent.parent
    ends = isinstance(loop, ast.For) and any(isinstance(n, ast.Break | ast.Return) for n in ast.walk(loop))
    return ends and node.value >= MANY_ROUNDS


def is_idle_default(node):
    """Whether it is the default of a `max_iter`, or of a parameter that the function never uses."""
    arguments = node.parent
    if not isinstance(arguments, ast.arguments):
        return False
    named = dict(zip(arguments.args[::-1], arguments.defaults[::-1]))
    named |= dict(zip(arguments.kwonlyargs, arguments.kw_defaults))
    name = next(a.arg for a, default in named.items() if default is node)
    used = {n.id for n in ast.walk(arguments.parent) if isinstance(n, ast.Name)}
    return name == "max_iter" or name not in used


def blank(node):
    """Turn a statement into one that does nothing."""
    node.__class__ = ast.Pass
    node.__dict__.clear()


# ---------------------------------------------------------------- which tests run which line
class Coverage:
    """Tests by line of a module, and their times, from runs of the unchanged program.

    A folder that is kept holds one recording after the other: of all tests, and
    of files that were changed since. Where the source was, all are recorded again.
    """

    def __init__(self, folder):
        self._folder, self.times, self._tests = folder, {}, {}
        source = max(path.stat().st_mtime for path in SOURCE.rglob("*.py"))
        recorded = {}  # by file of tests, the number of its last recording
        for times in sorted(folder.glob("*.times"), key=lambda path: int(path.stem)):
            if times.stat().st_mtime > source:
                recorded |= dict.fromkeys(self._read(times), int(times.stem))
        fresh = max(recorded.values(), default=-1) + 1
        files = [path for name in TESTS for path in sorted((ROOT / name).rglob("test_*.py")) or [ROOT / name]]
        when = {path: (folder / f"{recorded.get(str(path.relative_to(ROOT)))}.times") for path in files}
        stale = [p for p, t in when.items() if not t.exists() or t.stat().st_mtime < p.stat().st_mtime]
        if stale:
            self._record(fresh, [str(path.relative_to(ROOT)) for path in stale])
            recorded |= dict.fromkeys(self._read(folder / f"{fresh}.times"), fresh)
        self._recorded = recorded

    def _record(self, number, files):
        times, coverage = (self._folder / f"{number}.{kind}" for kind in ("times", "coverage"))
        coverage.unlink(missing_ok=True)
        times.write_text("".join(f"0 {name}::\n" for name in files))
        environment = ENVIRONMENT | {"COVERAGE_FILE": str(coverage), "MUTATION_TIMES": str(times)}
        command = [
            *(sys.executable, "-m", "pytest", "-q", *PLAIN, "-p", "mutation"),
            *("-k", LEFT_OUT, "--cov=tl1pca", "--cov-branch", "--cov-context=test", "--cov-report="),
            *files,
        ]
        began = time.time()
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        os.utime(times, (began, began))  # a file that is changed meanwhile is recorded again

    def _read(self, times):
        """The files of a recording; the times of their tests take the place of earlier ones."""
        lines = [line.split(" ", 1) for line in times.read_text().splitlines()]
        files = {file_of(name) for _, name in lines}
        self.times = {name: seconds for name, seconds in self.times.items() if file_of(name) not in files}
        for seconds, name in lines:
            if not name.endswith("::"):
                self.times[name] = self.times.get(name, 0.0) + float(seconds)
        return files

    def of(self, module):
        """Names of tests by line; those of a line that runs at import are under None."""
        if module not in self._tests:
            query = """select tono, context from arc join file on file.id = file_id
                       join context on context.id = context_id
                       where path like ? and tono > 0"""
            found = defaultdict(set)
            for number in set(self._recorded.values()):
                with sqlite3.connect(self._folder / f"{number}.coverage") as base:
                    for line, context in base.execute(query, [f"%/src/tl1pca/{module}"]):
                        name = context.rpartition("|")[0] or None
                        if name is None or self._recorded.get(file_of(name)) == number:
                            found[line].add(name)
            self._tests[module] = found
        return self._tests[module]

    def tests(self, mutant):
        """Tests that run a mutant, one case of each first; at import, those of its users."""
        by_line = self.of(mutant.module)
        found = set().union(*(by_line[line] for line in mutant.lines))
        if None in found and not found - {None}:
            source = (SOURCE / mutant.module).read_text().splitlines()
            used = [
                i for i, line in enumerate(source, 1) if any(name in line for name in mutant.names)
            ] or list(by_line)
            found = set().union(*(by_line[line] for line in used))
            if not found - {None}:
                found = set().union(*by_line.values())
            found |= {name for name in self.times if Path(file_of(name)).name == mirror(mutant.module)}
        chosen, total = [], 0.0
        by_time = sorted(found - {None}, key=lambda name: self.times.get(name, 1.0))
        seen = Counter()
        rank = {}  # the first case of every test function, then the second ones
        for name in by_time:
            function = name.partition("[")[0]
            rank[name] = seen[function] = seen[function] + 1
        # The tests of the module itself are never those that the budget leaves out.
        for name in sorted(
            by_time, key=lambda name: (Path(file_of(name)).name != mirror(mutant.module), rank[name])
        ):
            total += self.times.get(name, 1.0)
            if total > BUDGET:
                break
            chosen.append(name)
        return chosen, total


def file_of(name):
    """The file of a test."""
    return name.partition("::")[0]


def pytest_runtest_logreport(report):
    """Note the time of every test (this file is a plugin of the run that records)."""
    with open(os.environ["MUTATION_TIMES"], "a") as times:
        times.write(f"{report.duration:.4f} {report.nodeid}\n")


# ---------------------------------------------------------------- trying one
ENVIRONMENT = os.environ | {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "SCIPY_ARRAY_API": "1",
    "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")]),
}
PLAIN = ("-p", "no:xdist", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
#: Imported once, before the forks: what tests import but the package itself.
LIBRARIES = [
    *(f"scipy.{name}" for name in ("linalg", "optimize", "sparse", "stats", "special", "spatial.distance")),
    *(f"sklearn.{name}" for name in ("datasets", "decomposition", "linear_model", "model_selection")),
    *(f"sklearn.{name}" for name in ("pipeline", "preprocessing", "utils.estimator_checks")),
    *("pandas", "polars", "hypothesis", "hypothesis.extra.numpy", "pytest", "threadpoolctl"),
]


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the changed source for one module of the package."""

    def __init__(self, mutant):
        self._mutant = mutant
        self._name = "tl1pca." + mutant.module.removesuffix(".py").replace("/", ".")

    def find_spec(self, fullname, path, target=None):
        origin = str(SOURCE / self._mutant.module)
        return (
            importlib.util.spec_from_loader(fullname, self, origin=origin) if fullname == self._name else None
        )

    def exec_module(self, module):
        exec(compile(self._mutant.text, str(SOURCE / self._mutant.module), "exec"), vars(module))


def survives(mutant, tests, seconds):
    """Whether the tests pass with the mutant in place, in a process that is forked for it."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    status = 1
    try:
        limit = int(30 + 5 * seconds)  # one that no longer ends is noticed
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        signal.alarm(40 * limit)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # no test needs one, and they take half a second
        sys.meta_path.insert(0, Changed(mutant))
        status = int(sys.modules["pytest"].main(["-x", "-q", *PLAIN, *tests]))
    finally:
        os._exit(status)


def worker(share, coverage):
    """Tries its share of the mutants; yields them with what became of them."""
    for module in sorted({mutant.module for mutant in share}):
        same = replace(next(m for m in share if m.module == module), make=(SOURCE / module).read_text)
        tests = coverage.tests(same)[0][:5]
        if tests and not survives(same, tests, BUDGET):
            raise RuntimeError(f"the tests of {module} fail without any change")
    for mutant in share:
        tests, seconds = coverage.tests(mutant)
        own = [name for name in tests if Path(file_of(name)).name == mirror(mutant.module)]
        rest = [name for name in tests if name not in own]
        alive = all(not part or survives(mutant, part, seconds) for part in (own, rest))
        yield mutant, "survived" if alive else "noticed"


def mirror(module):
    """Name of the file with the tests of a module, which are tried first."""
    return f"test_{Path(module).stem.removeprefix('_')}.py"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--each", type=int, default=10, help="mutants drawn of each module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--module", action="append", help="only this module, e.g. solvers/mm.py")
    parser.add_argument("--constants", action="store_true", help="tuned constants, four times and a quarter")
    parser.add_argument("--keep", type=Path, help="folder that keeps what runs which line, for the next run")
    given = parser.parse_args()
    kind = constants if given.constants else mutants
    drawn, everything = [], 0
    for name in given.module or MODULES:
        found = list(kind(name, (SOURCE / name).read_text()))
        drawn += random.Random(f"{name} {given.seed}").sample(found, min(given.each, len(found)))
        everything += len(found)
    os.chdir(ROOT)
    os.environ.update(ENVIRONMENT)
    sys.path[:0] = [str(SOURCE.parent), str(ROOT / "tests")]
    sys.dont_write_bytecode = False  # of modules that are not changed, for the next fork
    fates, by_module = Counter(), defaultdict(Counter)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        keep = given.keep or Path(folder)
        keep.mkdir(exist_ok=True)
        coverage = Coverage(keep)
        for name in LIBRARIES:
            importlib.import_module(name)
        gc.freeze()  # what is shared need not be searched by every fork
        began = time.monotonic()
        for mutant, fate in worker(drawn, coverage):
            fates[fate] += 1
            by_module[mutant.module][fate] += 1
            if fate == "survived":
                print(
                    f"survived: {mutant.module}:{mutant.lines[0]} {mutant.what}: {mutant.statement}",
                    flush=True,
                )
    for name, found in sorted(by_module.items()):
        print(f"{name}: {found['survived']} of {found['survived'] + found['noticed']} survived")
    print(
        f"{len(drawn)} of {everything} mutants: {fates['survived']} survived "
        f"({fates['survived'] / max(len(drawn), 1):.1%}) in {time.monotonic() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
