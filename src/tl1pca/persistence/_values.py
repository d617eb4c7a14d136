"""Single values: JSON where JSON is exact, ``{kind: ...}`` or an array beside it where it is not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from inspect import isabstract
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .. import estimators, operators, solvers
from .._archive import ASK, plain, refuse
from .._version import __version__
from ..diagnostics import Cutoffs

__all__ = ["ESTIMATORS", "Reader", "Writer", "is_one_of", "refuse_class"]

Array = NDArray[Any]

#: Floats that JSON does not have, by name.
_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
#: Numbers of NumPy that are kept with their type.
_SCALARS = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
_SCALARS += ("float16", "float32", "float64")


def _concrete(module: Any) -> dict[str, type]:
    """Classes of a module that have parameters, by name."""
    found = {name: getattr(module, name) for name in module.__all__}
    return {
        name: c
        for name, c in found.items()
        if isinstance(c, type) and issubclass(c, BaseEstimator) and not isabstract(c)
    }


ESTIMATORS, OPERATORS, SOLVERS = (_concrete(module) for module in (estimators, operators, solvers))
#: What a parameter may be beside numbers and text.
PARTS = OPERATORS | SOLVERS | ESTIMATORS


def is_one_of(value: Any, classes: Mapping[str, type]) -> bool:
    """Whether the value is of one of the classes, and not of a subclass that only its owner has."""
    return classes.get(type(value).__name__) is type(value)


def refuse_class(value: Any, name: str) -> NoReturn:
    """End a save at what a model file cannot hold."""
    kind = type(value)
    refuse(
        f"{name} is a {kind.__module__}.{kind.__qualname__}; a model file holds estimators, operators and "
        "solvers of tl1pca with numbers, text and arrays, after scalers and imputers of scikit-learn. For "
        "anything else use joblib, and load such files only from people you trust."
    )


class Writer:
    """Values on their way into a file; `arrays` is what goes beside the header."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []

    def value(self, value: Any, name: str) -> Any:
        """One value; a list or tuple holds single values."""
        if type(value) in (list, tuple):
            if type(value) is list and value and all(type(part) is float for part in value):
                return {"floats": self.array(np.array(value), name)}
            parts = [self.single(part, name) for part in value]
            return parts if type(value) is list else {"tuple": parts}
        if type(value) is np.ndarray:
            return {"array": self.array(value, name)}
        if type(value) is Cutoffs:
            limits = (value.score, value.orthogonal, value.tilt)
            return {"cutoffs": [self.single(limit, name) for limit in limits]}
        if type(value) is np.random.RandomState:
            return {"random_state": self.random_state(value)}
        if is_one_of(value, PARTS):
            return {"object": type(value).__name__, "parameters": self.parameters(value, f"{name}__")}
        return self.single(value, name)

    def parameters(self, estimator: Any, prefix: str = "") -> dict[str, Any]:
        """Parameters by name."""
        found = estimator.get_params(deep=False)
        return {key: self.value(part, f"{prefix}{key}") for key, part in found.items()}

    def single(self, value: Any, name: str) -> Any:
        """A number, text or nothing."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.generic) and value.dtype.name in _SCALARS:
            return {"scalar": [value.dtype.name, self.single(value.item(), name)]}
        return refuse_class(value, name)

    def array(self, value: Array, name: str) -> int:
        """Put an array beside the header; its number."""
        if not plain(value.dtype):
            refuse(f"{name} is an array of {value.dtype}; a model file holds numbers of at most 64 bits.")
        self.arrays.append(value)
        return len(self.arrays) - 1

    def names(self, columns: Any, name: str) -> list[int]:
        """All names in one text and the number of characters of each."""
        texts = [str(column) for column in columns]
        letters = np.frombuffer("".join(texts).encode("utf-8", "surrogatepass"), dtype=np.uint8)
        return [self.array(letters, name), self.array(np.array([len(t) for t in texts]), name)]

    def paths(self, paths: Any, name: str) -> list[int]:
        """All paths in one array and the length of each."""
        joined = np.concatenate([np.asarray(path) for path in paths])
        return [self.array(joined, name), self.array(np.array([len(path) for path in paths]), name)]

    def labels(self, values: Any, name: str) -> dict[str, Any]:
        """Labels of classes: numbers as they are, text with the type that it had."""
        if values.dtype.kind in "US" or (values.dtype == object and all(type(v) is str for v in values)):
            return {"text": self.names(values, name), "object": values.dtype == object}
        return {"array": self.array(values, name)}

    def random_state(self, value: np.random.RandomState) -> list[Any]:
        """State of the generator."""
        state = value.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            refuse("random_state draws from another generator than MT19937. Use an int or RandomState().")
        inner = state["state"]
        rest = (inner["pos"], state["has_gauss"], state["gauss"])
        return [
            self.array(inner["key"], "random_state"),
            *(self.single(part, "random_state") for part in rest),
        ]


class Reader:
    """The way back, which takes nothing for granted.

    Every array is used exactly once, so that what is built is in proportion
    to the file however its header refers to the arrays.
    """

    def __init__(self, arrays: Sequence[Array]):
        self._arrays: list[Array | None] = list(arrays)
        self._kinds: dict[str, Callable[[Any], Any]] = {
            "tuple": lambda parts: tuple(self.single(part) for part in parts),
            "floats": lambda index: self.array(index, np.float64, 1).tolist(),
            "array": self.array,
            "cutoffs": lambda limits: Cutoffs(*(_limit(self.single(limit)) for limit in limits)),
            "random_state": self._random_state,
        }

    def check_all_used(self) -> None:
        """Refuse arrays that nothing refers to."""
        if any(array is not None for array in self._arrays):
            refuse(f"it holds arrays that belong to nothing. {ASK}")

    def value(self, value: Any) -> Any:
        """One value; a list holds single values."""
        if type(value) is list:
            return [self.single(part) for part in value]
        if type(value) is not dict:
            return self.single(value)
        if value.keys() == {"object", "parameters"}:
            return self.object(value["object"], value["parameters"], PARTS)
        ((kind, content),) = value.items()
        return self._kinds[kind](content) if kind in self._kinds else self.single(value)

    def single(self, value: Any) -> Any:
        """A number, text or nothing."""
        if type(value) is int and not -(1 << 63) <= value < 1 << 64:
            refuse(f"a number has more than 64 bits. {ASK}")
        if value is None or type(value) in (bool, int, float, str):
            return value
        ((kind, content),) = value.items()
        if kind == "float":
            return _FLOATS[content]
        if kind != "scalar" or content[0] not in _SCALARS:
            refuse(f"its header holds a {kind!r}, which no model file has there. {ASK}")
        return np.dtype(content[0]).type(self.single(content[1]))

    def object(self, name: Any, parameters: Any, known: Mapping[str, type]) -> Any:
        """An object of a known class with its parameters, which it has checked where it can."""
        kind: Any = known.get(name) if type(name) is str else None
        if kind is None:
            refuse(f"{name!r} is no class that tl1pca {__version__} has. Update tl1pca, or {ASK.lower()}")
        self.check_keys(name, parameters, kind._get_param_names())
        made = kind(**{key: self.value(value) for key, value in parameters.items()})
        if name in SOLVERS:
            _check_solver(made)
        if name in OPERATORS:
            made.check()
        return made

    def check_keys(self, name: str, given: Any, allowed: Sequence[str]) -> None:
        """Refuse parameters that a class does not have."""
        unknown = sorted(set(given) - set(allowed))
        if unknown:
            refuse(f"{name} has no parameters {unknown}. Update tl1pca, or {ASK.lower()}")

    def array(self, index: Any, dtype: Any = None, ndim: int | None = None) -> Array:
        """Array of that number, which is given away."""
        if type(index) is not int or not 0 <= index < len(self._arrays):
            refuse(f"it refers to an array {index!r} that it does not have. {ASK}")
        found, self._arrays[index] = self._arrays[index], None
        if found is None:
            refuse(f"it refers to its array {index} twice. {ASK}")
        if (dtype is not None and found.dtype != dtype) or (ndim is not None and found.ndim != ndim):
            refuse(f"its array {index} is of the wrong kind. {ASK}")
        return found

    def names(self, content: Any) -> Array:
        """Names as an array of text."""
        first, second = content
        text = self.array(first, np.uint8, 1).tobytes().decode("utf-8", "surrogatepass")
        ends, lengths = self._ends(second, len(text))
        return np.array([text[end - size : end] for end, size in zip(ends, lengths)], dtype=object)

    def paths(self, content: Any) -> list[Array]:
        """A list of paths."""
        first, second = content
        joined = self.array(first, np.float64, 1)
        ends, lengths = self._ends(second, len(joined))
        if len(lengths) == 0 or (lengths == 0).any() or not np.isfinite(joined).all():
            refuse(f"a path of the objective is none. {ASK}")
        return [joined[end - size : end].copy() for end, size in zip(ends, lengths)]

    def labels(self, content: Any) -> Array:
        """Labels of classes, all different."""
        if content.keys() == {"array"}:
            found = self.array(content["array"], ndim=1)
        elif content.keys() == {"text", "object"} and type(content["object"]) is bool:
            found = (
                self.names(content["text"]) if content["object"] else self.names(content["text"]).astype(str)
            )
        else:
            refuse(f"its labels are none. {ASK}")
        if len(np.unique(found)) != len(found):
            refuse(f"two of its labels are equal. {ASK}")
        return found

    def matrices(self, content: Any) -> list[Array]:
        """A list of matrices of finite numbers."""
        if type(content) is not list:
            refuse(f"a list of matrices is none. {ASK}")
        found = [self.array(index, ndim=2) for index in content]
        if any(
            M.dtype not in (np.float32, np.float64) or M.size == 0 or not np.isfinite(M).all() for M in found
        ):
            refuse(f"one of its matrices holds no finite numbers. {ASK}")
        return found

    def _ends(self, index: Any, whole: int) -> tuple[Array, Array]:
        lengths = self.array(index, np.int64, 1)
        ends = np.cumsum(lengths)
        if ((lengths < 0) | (lengths > whole)).any() or (ends[-1] if len(ends) else 0) != whole:
            refuse(f"its names or paths have other lengths than they say. {ASK}")
        return ends, lengths

    def _random_state(self, content: Any) -> np.random.RandomState:
        index, position, has_gauss, cached = content
        keys = self.array(index, np.uint32, 1)
        given = type(position) is int and type(has_gauss) is int and type(cached) is float
        if keys.shape != (624,) or not given or not 0 <= position <= 624 or has_gauss not in (0, 1):
            refuse(f"its random state is none. {ASK}")
        state = np.random.RandomState()
        state.set_state(("MT19937", keys, position, has_gauss, cached))
        return state


def _limit(value: Any) -> float:
    if type(value) is not float or math.isnan(value) or value < 0:
        refuse(f"a cut-off is {value!r}. {ASK}")
    return value


def _check_solver(solver: Any) -> None:
    """Numbers that end an iteration; solvers do not check them before they are used."""
    for name, value in solver.get_params(deep=False).items():
        number = isinstance(value, int | float | np.number) and value >= 0
        if not (number or value is None or isinstance(value, bool | np.bool_) or is_one_of(value, SOLVERS)):
            refuse(f"{name} of {type(solver).__name__} is {value!r}. {ASK}")
