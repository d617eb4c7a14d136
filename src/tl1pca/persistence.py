"""Model files: a fitted estimator in one file that can be read without running anything.

The header of a model file names classes of this package, and nothing is
imported by a name in a file. docs/model_files.md describes the format.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from inspect import isabstract
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import estimators, operators, solvers
from ._archive import ASK, RefusedError, pack, plain, refuse, unpack
from ._files import write_atomically
from ._version import __version__
from .diagnostics import Cutoffs

__all__ = ["load", "save"]

Array = NDArray[Any]

FORMAT = "tl1pca model"
VERSION = 1
MAX_BYTES = 1 << 30


def _concrete(module: Any, base: type) -> dict[str, type]:
    found = (getattr(module, name) for name in module.__all__)
    return {c.__name__: c for c in found if isinstance(c, type) and issubclass(c, base) and not isabstract(c)}


_ESTIMATORS = _concrete(estimators, BaseEstimator)
_PARTS = _concrete(operators, operators.Operator) | _concrete(solvers, solvers.Solver)

#: Fitted arrays with their shapes: k components, d features, n training rows.
_ARRAYS = {
    "components_": "kd",
    "mean_": "d",
    "explained_variance_": "k",
    "explained_variance_ratio_": "k",
    "a_": "k",
    "score_distances_": "n",
    "orthogonal_distances_": "n",
    "flags_": "n",
    "weights_": "n",
}
#: Other fitted attributes by what they are.
_SCALARS: dict[str, tuple[type, ...]] = {
    "n_components_": (int,),
    "n_features_in_": (int,),
    "rank_": (int,),
    "n_iter_": (int,),
    "objective_": (float,),
    "scale_": (float,),
    "_unit": (float,),
    "converged_": (bool, np.bool_),
    "cutoffs_": (Cutoffs,),
}
_REQUIRED = {"components_", "mean_", "explained_variance_", "n_components_", "n_features_in_"}
_NAMES = "feature_names_in_"
_OUTPUT = "_sklearn_output_config"


def save(estimator: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator of the package to a model file.

    The file is put in place in one step: a process that dies while it saves
    leaves the old file. The same model gives the same bytes.

    Parameters
    ----------
    estimator : fitted estimator of tl1pca
        Its parameters may be numbers, text, arrays, random states, and
        operators and solvers of the package.
    path : path-like
        By custom it ends in ``.npz``; nothing is appended.

    Raises
    ------
    ValueError
        If something of the estimator cannot be kept, your own classes among
        them; it is named.

    See Also
    --------
    load : Read it again.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import tl1pca
    >>> from tl1pca.datasets import make_toy
    >>> X, outlier = make_toy(random_state=0)
    >>> pca = tl1pca.TL1SubspacePCA(n_components=1, random_state=0).fit(X)
    >>> path = Path(tempfile.mkdtemp()) / "model.npz"
    >>> tl1pca.save(pca, path)
    >>> bool((tl1pca.load(path).transform(X) == pca.transform(X)).all())
    True
    """
    try:
        content = _pack(estimator)
        _unpack(content)  # never a file that cannot be read again
    except RefusedError as refusal:
        raise ValueError(f"The estimator cannot be saved: {refusal}") from refusal.__cause__
    write_atomically(path, content)


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a model file.

    Safe for files from anywhere: nothing in the file is run, and no more
    memory is taken than a few times its size.

    Parameters
    ----------
    path : path-like
    max_bytes : int, default=2**30
        Largest file to read.

    Returns
    -------
    fitted estimator
        Equal to the last bit to the one that was saved.

    Raises
    ------
    ValueError
        If the file is no model file, is damaged, is of another version, or
        holds what no estimator of the package has.

    See Also
    --------
    save : Write such a file.
    """
    where = Path(path)
    try:
        if where.exists() and not where.is_file():
            raise RefusedError("it is no plain file. Give the path of a file that tl1pca.save wrote.")
        with where.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > max_bytes:
                raise RefusedError(
                    f"it has {size} bytes, more than the {max_bytes} allowed. If you expect a model of that "
                    "size, give max_bytes."
                )
            content = file.read(size)
        return _unpack(content)
    except RefusedError as refusal:
        raise ValueError(f"{str(where)!r} cannot be loaded: {refusal}") from refusal.__cause__


# ---------------------------------------------------------------- bytes
def _pack(estimator: Any) -> bytes:
    """The bytes of a model file."""
    encoder = _Encoder()
    return pack(encoder.model(estimator), encoder.arrays)


def _unpack(content: bytes) -> Any:
    """The estimator in the bytes of a model file."""
    try:
        header, arrays = unpack(content)
        return _Decoder(arrays).model(header)
    except RefusedError:
        raise
    # Whatever a crafted file makes the readers stumble over is one thing to the caller.
    except Exception as error:
        raise RefusedError(f"its content makes no sense ({error!r}). {ASK}") from error


# ---------------------------------------------------------------- values
class _Encoder:
    """Values as JSON; what JSON cannot hold exactly becomes ``{kind: ...}`` or an array beside it."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []

    def model(self, estimator: Any) -> dict[str, Any]:
        if not _known(estimator, _ESTIMATORS):
            _refuse_class(estimator, "a fitted estimator")
        check_is_fitted(estimator)
        parameters = estimator.get_params(deep=False)
        state = {name: value for name, value in vars(estimator).items() if name not in parameters}
        output = state.pop(_OUTPUT, {})
        return {
            "format": FORMAT,
            "version": VERSION,
            "tl1pca": __version__,
            "estimator": type(estimator).__name__,
            "parameters": {name: self.value(value, name) for name, value in parameters.items()},
            "fitted": {name: self.fitted(value, name) for name, value in state.items()},
            "output": output.get("transform"),
        }

    def fitted(self, value: Any, name: str) -> Any:
        if name not in {*_ARRAYS, *_SCALARS, "objective_path_", _NAMES}:
            refuse(f"a model file has no place for its attribute {name!r}. Delete it from the estimator.")
        return self.names(value) if name == _NAMES else self.value(value, name)

    def value(self, value: Any, name: str) -> Any:
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is list:
            if value and all(type(part) is float for part in value):
                return {"floats": self.array(np.array(value), name)}
            return [self.value(part, name) for part in value]
        if type(value) is tuple:
            return {"tuple": [self.value(part, name) for part in value]}
        if type(value) is np.ndarray:
            return {"array": self.array(value, name)}
        if isinstance(value, np.generic):
            return {"scalar": self.array(np.asarray(value), name)}
        if type(value) is Cutoffs:
            limits = (value.score, value.orthogonal, value.tilt)
            return {"cutoffs": [self.value(limit, name) for limit in limits]}
        if type(value) is np.random.RandomState:
            return {"random_state": self.random_state(value)}
        if _known(value, _PARTS):
            parameters = value.get_params(deep=False)
            return {
                "object": type(value).__name__,
                "parameters": {key: self.value(part, f"{name}__{key}") for key, part in parameters.items()},
            }
        return _refuse_class(value, name)

    def array(self, value: Array, name: str) -> int:
        if not plain(value.dtype):
            refuse(f"{name} is an array of {value.dtype}; a model file holds numbers of at most 64 bits.")
        self.arrays.append(value)
        return len(self.arrays) - 1

    def names(self, columns: Array) -> list[int]:
        """All names in one text and the length of each."""
        texts = [str(column) for column in columns]
        letters = np.frombuffer("".join(texts).encode("utf-8", "surrogatepass"), dtype=np.uint8)
        return [self.array(letters, _NAMES), self.array(np.array([len(t) for t in texts]), _NAMES)]

    def random_state(self, value: np.random.RandomState) -> list[Any]:
        state = value.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            refuse("random_state draws from another generator than MT19937. Use an int or RandomState().")
        inner = state["state"]
        rest = (inner["pos"], state["has_gauss"], state["gauss"])
        return [
            self.array(inner["key"], "random_state"),
            *(self.value(part, "random_state") for part in rest),
        ]


def _known(value: Any, classes: Mapping[str, type]) -> bool:
    """Whether the value is of one of the classes, and not of a subclass that only its owner has."""
    return classes.get(type(value).__name__) is type(value)


def _refuse_class(value: Any, name: str) -> NoReturn:
    kind = type(value)
    refuse(
        f"{name} is a {kind.__module__}.{kind.__qualname__}; a model file holds estimators, operators and "
        "solvers of tl1pca with numbers, text and arrays. For anything else use joblib, and load such files "
        "only from people you trust."
    )


class _Decoder:
    """The way back, which takes nothing for granted."""

    def __init__(self, arrays: Sequence[Array]):
        self.arrays = arrays
        self.kinds: dict[str, Callable[[Any], Any]] = {
            "float": lambda text: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[text],
            "tuple": lambda parts: tuple(self.value(part) for part in parts),
            "floats": lambda index: self.array(index).tolist(),
            "array": self.array,
            "scalar": lambda index: self.array(index)[()],
            "cutoffs": lambda limits: Cutoffs(*(_number(self.value(limit)) for limit in limits)),
            "random_state": self.random_state,
        }

    def model(self, header: Any) -> Any:
        if header.get("format") != FORMAT:
            refuse("it is no model file. Give a file that tl1pca.save wrote.")
        if header.get("version") != VERSION:
            refuse(
                f"it is of version {header.get('version')!r} of the format and tl1pca {__version__} reads "
                f"version {VERSION}. It was written by tl1pca {header.get('tl1pca')!r}: use that one, or "
                "fit and save the model again."
            )
        estimator = self.object(header["estimator"], header["parameters"], _ESTIMATORS)
        state = {
            name: self.names(value) if name == _NAMES else self.value(value)
            for name, value in header["fitted"].items()
        }
        _check_fitted(state)
        for name, value in state.items():
            setattr(estimator, name, value)
        if header["output"] in ("default", "pandas", "polars"):
            estimator.set_output(transform=header["output"])
        return estimator

    def object(self, name: str, parameters: dict[str, Any], known: Mapping[str, type]) -> Any:
        kind: Any = known.get(name)
        if kind is None:
            refuse(f"{name!r} is no class that tl1pca {__version__} has. Update tl1pca, or {ASK.lower()}")
        unknown = sorted(set(parameters) - set(kind._get_param_names()))
        if unknown:
            refuse(f"{name} has no parameters {unknown}. Update tl1pca, or {ASK.lower()}")
        return kind(**{key: self.value(value) for key, value in parameters.items()})

    def names(self, content: list[int]) -> Array:
        letters, lengths = (self.array(index) for index in content)
        text = letters.tobytes().decode("utf-8", "surrogatepass")
        ends = np.cumsum(lengths)
        if (lengths < 0).any() or ends[-1] != len(text):
            refuse(f"{_NAMES} are not names. {ASK}")
        return np.array([text[end - size : end] for end, size in zip(ends, lengths)], dtype=object)

    def value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.value(part) for part in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {"object", "parameters"}:
            return self.object(value["object"], value["parameters"], _PARTS)
        ((kind, content),) = value.items()
        return self.kinds[kind](content)

    def array(self, index: int) -> Array:
        return self.arrays[index]

    def random_state(self, content: list[Any]) -> np.random.RandomState:
        index, position, has_gauss, cached = content
        keys = self.array(index)
        if keys.dtype != np.uint32 or keys.shape != (624,) or not 0 <= position <= 624:
            refuse(f"its random state is none. {ASK}")
        state = np.random.RandomState()
        state.set_state(("MT19937", keys, position, int(has_gauss), float(cached)))
        return state


def _number(value: Any) -> float:
    if not isinstance(value, float) or math.isnan(value):
        refuse(f"a cut-off is {value!r}. {ASK}")
    return value


# ---------------------------------------------------------------- what a fit is
def _check_fitted(state: dict[str, Any]) -> None:
    """Hold the fitted attributes against each other: kinds, shapes, finite numbers."""
    missing = sorted(_REQUIRED - state.keys())
    if missing:
        refuse(f"{', '.join(missing)} are missing. {ASK}")
    sides: dict[str, int] = {}
    for name, value in state.items():
        if name in _ARRAYS:
            _check_array(name, value, _ARRAYS[name], sides)
        elif name in _SCALARS:
            if not isinstance(value, _SCALARS[name]) or (isinstance(value, bool) and name != "converged_"):
                refuse(f"{name} is {value!r}. {ASK}")
            if isinstance(value, float) and not math.isfinite(value):
                refuse(f"{name} is {value!r}; every number of a model is finite. {ASK}")
        elif name == "objective_path_":
            if type(value) is not list:
                refuse(f"{name} is no list of arrays. {ASK}")
            for path in value:
                _check_array(name, path, "-", {})
        elif name == _NAMES:
            _check_side(name, len(value), sides.setdefault("d", state["n_features_in_"]))
        else:
            refuse(f"it has an attribute {name!r}, which no estimator of tl1pca {__version__} has. {ASK}")
    _check_side("n_components_", state["n_components_"], sides["k"])
    _check_side("n_features_in_", state["n_features_in_"], sides["d"])


def _check_array(name: str, value: Any, shape: str, sides: dict[str, int]) -> None:
    kind = "i" if name == "flags_" else "f"
    if not isinstance(value, np.ndarray) or value.dtype.kind != kind or value.ndim != len(shape):
        refuse(f"{name} is no array of the right kind. {ASK}")
    if not np.isfinite(value).all():
        refuse(f"{name} holds numbers that are not finite. Fit the model again.")
    for side, length in zip(shape, value.shape):
        _check_side(name, length, sides.setdefault(side, length))


def _check_side(name: str, length: int, wanted: int) -> None:
    if length != wanted or length < 1:
        refuse(f"the sizes of its attributes do not agree ({name}: {length} and {wanted}). {ASK}")
