"""Fitted attributes: what a class declares is written, and nothing else is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .._archive import ASK, refuse
from .._arrays import to_numpy
from .._version import __version__
from ..estimators._fitted import Fitted
from ._values import Reader, Writer

__all__ = ["OUTPUT", "read_fitted", "read_output", "write_fitted", "write_output"]

Array = NDArray[Any]
Declared = Mapping[str, Fitted]

NAMES, OUTPUT = "feature_names_in_", "_sklearn_output_config"


def write_fitted(
    estimator: Any,
    declared: Declared,
    writer: Writer,
    nested: Callable[[Any, Writer], Any],
    apart: tuple[str, ...] = (),
) -> dict[str, Any]:
    """The fitted attributes of an estimator but those `apart`; `nested` writes estimators inside."""
    parameters = estimator.get_params(deep=False)
    state = {name: value for name, value in vars(estimator).items() if name not in parameters}
    found: dict[str, Any] = {}
    for name, value in sorted(state.items()):  # the same bytes, however the attributes were set
        if name == OUTPUT or name in apart:
            continue
        if name == NAMES:
            found[name] = writer.names(value, name)
            continue
        if name not in declared:
            refuse(
                f"a model file has no place for the attribute {name!r} of {type(estimator).__name__}. "
                "Delete it from the estimator."
            )
        spec = declared[name]
        if value is not None and spec.kind is list:
            found[name] = writer.paths(value, name)
        elif spec.kind is tuple:
            found[name] = [writer.array(part, name) for part in value]
        elif spec.kind is object:
            found[name] = writer.labels(value, name)
        elif value is not None and spec.kind is BaseEstimator:
            found[name] = nested(value, writer)
        else:  # an array may be of another library, or on another device
            is_array = spec.shape is not None and getattr(value, "ndim", 0) > 0
            found[name] = writer.value(to_numpy(value) if is_array else value, name)
    return found


def read_fitted(
    content: Any, declared: Declared, reader: Reader, nested: Callable[[Any, Reader], Any]
) -> dict[str, Any]:
    """The fitted attributes in a file, checked: all that are declared, no others, and one with the other."""
    missing, unknown = sorted(declared.keys() - content.keys()), sorted(content.keys() - {*declared, NAMES})
    if missing:
        refuse(f"{', '.join(missing)} are missing. {ASK}")
    if unknown:
        refuse(
            f"it has an attribute {unknown[0]!r}, which no such estimator of tl1pca {__version__} has. {ASK}"
        )
    state: dict[str, Any] = {}
    sides: dict[str, int] = {}
    for name, value in content.items():
        if name == NAMES:
            state[name] = reader.names(value)
            _check_side(name, len(state[name]), sides.setdefault("d", len(state[name])))
            continue
        spec = declared[name]
        if value is not None and spec.kind is list:
            state[name] = reader.paths(value)
        elif spec.kind is tuple:
            state[name] = tuple(reader.matrices(value))
        elif spec.kind is object:
            state[name] = reader.labels(value)
            _check_side(name, len(state[name]), sides.setdefault(spec.shape or "", len(state[name])))
        elif value is not None and spec.kind is BaseEstimator:
            state[name] = nested(value, reader)
        else:
            state[name] = reader.value(value)
            _check(name, state[name], spec, sides)
    return state


def write_output(estimator: Any) -> Any:
    """Container that `set_output` asked for."""
    return vars(estimator).get(OUTPUT, {}).get("transform")


def read_output(estimator: Any, output: Any) -> None:
    """Ask for the container again."""
    if output is None:
        return
    if output not in ("default", "pandas", "polars"):
        refuse(f"its output is {output!r}. {ASK}")
    setattr(estimator, OUTPUT, {"transform": output})


def _check(name: str, value: Any, spec: Fitted, sides: dict[str, int]) -> None:
    if value is None and spec.optional:
        return
    if spec.shape is not None:
        _check_array(name, value, spec, sides)
    elif spec.kind is bool:
        if not isinstance(value, bool | np.bool_):
            refuse(f"{name} is {value!r}. {ASK}")
    elif not isinstance(value, spec.kind) or isinstance(value, bool):
        refuse(f"{name} is {value!r}. {ASK}")
    elif isinstance(value, int | float) and not (math.isfinite(value) and spec.least <= value <= spec.most):
        refuse(f"{name} is {value!r}, which no fit gives: numbers of a model are finite. {ASK}")
    if spec.counts is not None:
        _check_side(name, value, sides.setdefault(spec.counts, value))


#: Types of the numbers in an array of a kind.
_KINDS: dict[type, tuple[type, ...]] = {
    int: (np.int64, np.int32),
    bool: (np.bool_,),
    float: (np.float64, np.float32),
}


def _check_array(name: str, value: Any, spec: Fitted, sides: dict[str, int]) -> None:
    shape = spec.shape or ""
    kinds = _KINDS[spec.kind]
    if not isinstance(value, np.ndarray) or value.dtype not in kinds or value.ndim != len(shape):
        refuse(f"{name} is no array of the right kind. {ASK}")
    for side, length in zip(shape, value.shape):
        _check_side(name, length, sides.setdefault(side, length))
    if spec.missing:
        value = value[~np.isnan(value)]
    if not np.isfinite(value).all():
        refuse(f"{name} holds numbers that are not finite. Fit the model again.")
    if value.size and (value.min() < spec.least or value.max() > spec.most):
        refuse(f"{name} holds numbers that no fit gives, from {value.min()} to {value.max()}. {ASK}")


def _check_side(name: str, length: int, wanted: int) -> None:
    if length != wanted or length < 1:
        refuse(f"the sizes of its attributes do not agree ({name}: {length} and {wanted}). {ASK}")
