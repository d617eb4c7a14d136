"""What a study is, written down and nothing run: data x noise x methods x parameters x splits."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

Array = NDArray[Any]
#: What a measure returns: equally long columns of plain numbers.
Columns = dict[str, list[float]]

_NUMERICAL = ("rows", "solvers", "estimators")


@dataclass(frozen=True)
class Sample:
    """One draw of a source: what the methods are fitted to, and what they are read on.

    `part` tells for each test row to which half of the whole data it belongs,
    the same half in every split.
    """

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    part: Array | None = None


class Source(Protocol):
    """Where samples come from.

    Frozen and hashable, so that a draw can be remembered. Its repr names what
    decides the draws, and so not where the files are.
    """

    @property
    def name(self) -> str:
        """Short name, part of every seed."""

    @property
    def title(self) -> str:
        """Name for a reader."""

    @property
    def artificial(self) -> bool:
        """Whether the samples are drawn from a formula."""

    @property
    def noises(self) -> tuple[int, ...]:
        """Levels of noise; 0 is none."""

    @property
    def n_components(self) -> int:
        """Number of components every method is fitted with."""

    def draw(self, noise: int, split: int, seed: int) -> Sample:
        """The sample of a split, the same for every method."""

    def __hash__(self) -> int: ...

    def digest(self) -> str:
        """Fingerprint of the data, so that kept results are never those of other data."""


@dataclass(frozen=True)
class Method:
    """A transformer with at most one parameter to vary.

    Parameters
    ----------
    name : str
        For tables and figures.
    estimator : scikit-learn transformer or pipeline
        Cloned for each fit.
    parameter : str, default=""
        Name of the parameter, as in `set_params`.
    values : tuple of float
        Its values, in the order in which ties are broken.
    components : str, default="n_components"
        Parameter that takes the number of components; empty if there is none.
    """

    name: str
    estimator: BaseEstimator
    parameter: str = ""
    values: tuple[float, ...] = ()
    components: str = "n_components"

    @property
    def symbol(self) -> str:
        """The parameter's own name, without the step of the pipeline it belongs to."""
        return self.parameter.rsplit("__", 1)[-1]

    def variants(self) -> tuple[float | None, ...]:
        """Values of the parameter; one None where there is no parameter."""
        return self.values or (None,)

    def build(self, value: float | None, n_components: int, seed: int) -> BaseEstimator:
        """The unfitted estimator of one cell."""
        estimator = clone(self.estimator)
        known = estimator.get_params()
        chosen: dict[str, Any] = {}
        if self.components:
            chosen[self.components] = n_components
        if value is not None:
            chosen[self.parameter] = int(value) if self.symbol == "n_components" else value
        if "random_state" in known:
            chosen["random_state"] = seed
        return estimator.set_params(**chosen)


@dataclass(frozen=True)
class Cell:
    """The unit of work: one fit."""

    source: str
    noise: int
    method: str
    value: float | None
    split: int


@dataclass(frozen=True)
class Study:
    """A study: every source x noise x method x value x split, and what is measured on each fit.

    Parameters
    ----------
    name : str
    sources : tuple of Source
    methods : tuple of Method
    splits : int
        Number of splits or redraws.
    measure : callable
        ``measure(estimator, sample, source)`` gives columns of numbers. A
        function of a module, so that worker processes find it.
    seed : int, default=0
    """

    name: str
    sources: tuple[Source, ...]
    methods: tuple[Method, ...]
    splits: int
    measure: Callable[[Any, Sample, Any], Columns]
    seed: int = 0
    _sources: dict[str, Source] = field(init=False, repr=False, compare=False)
    _methods: dict[str, Method] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sources", {source.name: source for source in self.sources})
        object.__setattr__(self, "_methods", {method.name: method for method in self.methods})
        if len(self._sources) < len(self.sources) or len(self._methods) < len(self.methods):
            raise ValueError(f"The sources and the methods of study {self.name!r} need different names.")

    def source(self, cell: Cell) -> Source:
        """Source of a cell."""
        return self._sources[cell.source]

    def method(self, cell: Cell) -> Method:
        """Method of a cell."""
        return self._methods[cell.method]

    def cells(self) -> Iterator[Cell]:
        """All cells, a split at a time: what is done first is complete for some splits."""
        variants = [(method, value) for method in self.methods for value in method.variants()]
        for split, source in product(range(self.splits), self.sources):
            for noise, (method, value) in product(source.noises, variants):
                yield Cell(source.name, noise, method.name, value, split)

    def build(self, cell: Cell) -> BaseEstimator:
        """The unfitted estimator of a cell; its seed does not depend on the method."""
        seed = derive(self.seed, cell.source, "start", cell.noise, cell.split)
        return self.method(cell).build(cell.value, self.source(cell).n_components, seed)

    def draw(self, cell: Cell) -> Sample:
        """The sample of a cell; it does not depend on the method."""
        return self.source(cell).draw(cell.noise, cell.split, self.seed)

    def key(self, cell: Cell) -> str:
        """Fingerprint of all that decides the result of a cell."""
        source = self.source(cell)
        facts = (
            _code(self.measure, type(source)),
            self.seed,
            repr(source),
            source.digest(),
            (cell.noise, cell.split),
            _fingerprint(self.method(cell), cell.value, source.n_components),
        )
        return _sha(facts)[:24]


def derive(*parts: object) -> int:
    """A seed from the names of what it is for, and so not from the order of the work.

    Examples
    --------
    >>> derive(0, "yale", "split", 3) == derive(0, "yale", "split", 3)
    True
    """
    return int(_sha(parts)[:8], 16)


def _sha(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


@lru_cache(maxsize=64)
def _code(*parts: Callable[..., Any]) -> str:
    """Fingerprint of the code that computes a cell: the numerical modules of the package and the given parts.

    A kept cell is never that of another version, nor of a solver that was
    edited in between; words and figures may be edited freely.
    """
    package = Path(__file__).parents[1]
    numerical = [
        *package.glob("*.py"),
        *(path for name in _NUMERICAL for path in (package / name).glob("*.py")),
    ]
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(numerical)]
    return _sha((digests, [inspect.getsource(part) for part in parts]))


@lru_cache(maxsize=256)
def _fingerprint(method: Method, value: float | None, n_components: int) -> list[tuple[str, str]]:
    """Class and parameters of an estimator, of its steps too, as text."""
    estimator = method.build(value, n_components, 0)
    params = estimator.get_params(deep=True)
    plain = [
        (name, type(value).__name__ if hasattr(value, "get_params") else repr(value))
        for name, value in sorted(params.items())
        if not isinstance(value, list)
    ]
    return [("", type(estimator).__name__), *plain]
