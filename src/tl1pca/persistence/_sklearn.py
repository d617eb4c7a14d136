"""The steps that a pipeline may have before the estimator: a closed list, all checked."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PowerTransformer, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from .._archive import ASK, plain, refuse
from ..estimators._fitted import Fitted
from ..preprocessing import MADScaler
from ._attributes import read_fitted, read_output, write_fitted, write_output
from ._values import Reader, Writer, refuse_class

__all__ = ["check_node", "read_pipeline", "write_pipeline"]

#: More columns than this are no table; a ColumnTransformer says a number without an array behind it.
MAX_COLUMNS = 1 << 20

_ANY, _NOT_NEGATIVE = Fitted(shape="d"), Fitted(shape="d", least=0)
_VECTOR = Fitted(shape="d", optional=True)
_VARIANCE = Fitted(shape="d", least=0, optional=True)
_POSITIVE = Fitted(shape="d", least=sys.float_info.min * sys.float_info.epsilon, optional=True)
_COUNT = {"n_features_in_": Fitted(int, counts="d", most=MAX_COLUMNS)}
_SEEN, _INNER = "n_samples_seen_", "_scaler"
#: Fitted attributes of the scalers.
_SCALERS: dict[type, dict[str, Fitted]] = {
    StandardScaler: {"mean_": _VECTOR, "var_": _VARIANCE, "scale_": _POSITIVE},
    RobustScaler: {"center_": _VECTOR, "scale_": _POSITIVE},
    MADScaler: {"center_": _ANY, "scale_": replace(_POSITIVE, optional=False)},
    MinMaxScaler: {
        "min_": _ANY,
        "scale_": _POSITIVE,
        "data_min_": _ANY,
        "data_max_": _ANY,
        "data_range_": _NOT_NEGATIVE,
    },
    MaxAbsScaler: {"max_abs_": _NOT_NEGATIVE, "scale_": _POSITIVE},
    PowerTransformer: {"lambdas_": _ANY},
}
#: What is done in words.
_WORDS = ("passthrough", "drop")


def check_node(node: Any) -> None:
    """Refuse what is not the description of an estimator."""
    if type(node) is not dict or node.keys() != {"estimator", "parameters", "fitted", "output"}:
        refuse(f"its header has other entries than a model file has. {ASK}")


def _width(step: Any) -> int:
    """Number of features that a fitted step gives."""
    if isinstance(step, Pipeline):
        steps = [inner for _, inner in step.steps if inner != "passthrough"]
        return _width(steps[-1])
    if isinstance(step, ColumnTransformer):
        return max((part.stop for part in step.output_indices_.values()), default=0)
    n = int(step.n_features_in_)
    if isinstance(step, SimpleImputer) and step.strategy != "constant" and not step.keep_empty_features:
        return n - int(np.isnan(step.statistics_).sum())
    return n


# ---------------------------------------------------------------- one step
def _write_step(step: Any, writer: Writer, name: str, fitted: bool = True) -> Any:
    if isinstance(step, str) and step in _WORDS:
        return step
    if type(step) is Pipeline:
        return write_pipeline(step, writer, None)
    if type(step) is ColumnTransformer:
        return _write_columns(step, writer)
    if type(step) is SimpleImputer:
        return _write_imputer(step, writer) if fitted else _node(step, writer.parameters(step), None)
    if type(step) not in _SCALERS:
        refuse_class(step, f"the step {name!r}")
    parameters = writer.parameters(step, f"{name}__")
    return _node(step, parameters, _write_scaler(step, writer) if fitted else None)


def _node(step: Any, parameters: dict[str, Any], fitted: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "estimator": type(step).__name__,
        "parameters": parameters,
        "fitted": fitted,
        "output": write_output(step),
    }


def _read_step(node: Any, reader: Reader) -> Any:
    if isinstance(node, str) and node in _WORDS:
        return node
    check_node(node)
    name, fitted = node["estimator"], node["fitted"]
    if name == "Pipeline":
        return read_pipeline(node, reader, None)
    if name == "ColumnTransformer":
        return _read_columns(node, reader)
    kinds: dict[str, type] = {kind.__name__: kind for kind in (*_SCALERS, SimpleImputer)}
    step = reader.object(name, node["parameters"], kinds)
    step._validate_params()
    if fitted is not None:
        (_read_imputer if name == "SimpleImputer" else _read_scaler)(step, fitted, reader)
    read_output(step, node["output"])
    return step


# ---------------------------------------------------------------- scalers
def _write_scaler(step: Any, writer: Writer) -> dict[str, Any]:
    check_is_fitted(step)
    found = write_fitted(step, _SCALERS[type(step)] | _COUNT, writer, _no_estimator, (_SEEN, _INNER))
    if hasattr(step, _SEEN):
        found[_SEEN] = writer.value(getattr(step, _SEEN), _SEEN)
    if hasattr(step, _INNER):
        found[_INNER] = _write_step(getattr(step, _INNER), writer, _INNER)
    return found


def _read_scaler(step: Any, fitted: dict[str, Any], reader: Reader) -> None:
    content = dict(fitted)
    seen, inner = content.pop(_SEEN, None), content.pop(_INNER, None)
    state = read_fitted(content, _SCALERS[type(step)] | _COUNT, reader, _no_estimator)
    d = state["n_features_in_"]
    if (seen is not None) != (type(step) in (StandardScaler, MinMaxScaler, MaxAbsScaler)):
        refuse(f"{_SEEN} is missing or is not of {type(step).__name__}. {ASK}")
    if seen is not None:
        state[_SEEN] = reader.value(seen)
        counts = np.asarray(state[_SEEN])
        if counts.dtype.kind not in "iuf" or counts.shape not in ((), (d,)) or not (counts >= 0).all():
            refuse(f"{_SEEN} is no number of samples. {ASK}")
    if (inner is not None) != bool(getattr(step, "standardize", False)):
        refuse(f"{_INNER} is missing or is not of {type(step).__name__}. {ASK}")
    if inner is not None:
        state[_INNER] = _read_step(inner, reader)
        if type(state[_INNER]) is not StandardScaler or state[_INNER].n_features_in_ != d:
            refuse(f"{_INNER} is no StandardScaler of {d} features. {ASK}")
    for name, part in (("with_mean", "mean_"), ("with_std", "scale_"), ("with_scaling", "scale_")):
        if getattr(step, name, False) and state[part] is None:
            refuse(f"{part} is missing. {ASK}")
    if getattr(step, "with_centering", False) and state["center_"] is None:
        refuse(f"center_ is missing. {ASK}")
    vars(step).update(state)


def _no_estimator(*_: Any) -> Any:
    refuse(f"it has an estimator where none belongs. {ASK}")


# ---------------------------------------------------------------- imputer
_STATISTICS = "statistics_"


def _write_imputer(step: Any, writer: Writer) -> dict[str, Any]:
    check_is_fitted(step)
    if step.add_indicator:
        refuse("a model file has no place for the indicator of SimpleImputer. Set add_indicator=False.")
    dtype = np.dtype(getattr(step, "_fit_dtype", step.statistics_.dtype))
    if not plain(dtype):
        refuse(f"SimpleImputer was fitted to {dtype}; a model file holds imputers of numbers.")
    parameters = writer.parameters(step, "simpleimputer__")
    apart = (_STATISTICS, "_fit_dtype", "_fill_dtype", "indicator_")
    found = write_fitted(step, _COUNT, writer, _no_estimator, apart)
    found["dtype"] = dtype.name
    if step.strategy != "constant":
        found[_STATISTICS] = writer.array(step.statistics_, _STATISTICS)
    return _node(step, parameters, found)


def _read_imputer(step: Any, fitted: dict[str, Any], reader: Reader) -> None:
    content = dict(fitted)
    dtype, index = np.dtype(str(content.pop("dtype"))), content.pop(_STATISTICS, None)
    if not plain(dtype) or step.add_indicator:
        refuse(f"its SimpleImputer is of a kind that no model file has. {ASK}")
    state = read_fitted(content, _COUNT, reader, _no_estimator)
    d = state["n_features_in_"]
    if (index is None) != (step.strategy == "constant"):
        refuse(f"{_STATISTICS} are missing. {ASK}")
    if index is not None:
        values = state[_STATISTICS] = reader.array(index, ndim=1)
        if values.dtype.kind != "f" or values.shape != (d,) or np.isinf(values).any():
            refuse(f"{_STATISTICS} are no {d} numbers. {ASK}")
    # What an imputer notes beside its statistics differs between versions: a row of data makes it note it.
    row = np.zeros((1, d), dtype) if step.missing_values != 0 else np.ones((1, d), dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step.fit(row)
    vars(step).update(state)


# ---------------------------------------------------------------- pipelines
def write_pipeline(
    pipeline: Any, writer: Writer, last: Callable[[Any, Writer], Any] | None
) -> dict[str, Any]:
    """A pipeline; `last` writes its last step, where that is no step of scikit-learn."""
    parameters = pipeline.get_params(deep=False)
    steps = parameters.pop("steps")
    if parameters.pop("memory") is not None:
        refuse("a model file has no place for the memory of a Pipeline. Set memory=None.")
    written = [[name, _write_step(step, writer, name)] for name, step in steps[:-1]]
    name, step = steps[-1]
    written.append([name, last(step, writer) if last else _write_step(step, writer, name)])
    rest = {key: writer.value(value, key) for key, value in parameters.items()}
    return _node(pipeline, {"steps": written, **rest}, {})


def read_pipeline(node: Any, reader: Reader, last: Callable[[Any, Reader], Any] | None) -> Any:
    """The way back; what one step gives is what the next one takes."""
    parameters = dict(node["parameters"])
    written = parameters.pop("steps")
    reader.check_keys("Pipeline", [*parameters, "steps"], [*_names_of(Pipeline, "memory")])
    steps = [(name, _read_step(step, reader)) for name, step in written[:-1]]
    name, step = written[-1]
    steps.append((name, last(step, reader) if last else _read_step(step, reader)))
    if node["fitted"] != {} or "drop" in [step for _, step in steps if isinstance(step, str)]:
        refuse(f"its Pipeline is none. {ASK}")
    pipeline = Pipeline(steps, **{key: reader.value(value) for key, value in parameters.items()})
    pipeline._validate_params()
    pipeline._validate_names([name for name, _ in steps])
    given = None
    for name, step in steps:
        if isinstance(step, str):
            continue
        taken = _taken(step)
        if given is not None and taken is not None and given != taken:
            refuse(f"the step {name!r} takes {taken} features and is given {given}. {ASK}")
        given = None if taken is None or step is steps[-1][1] else _width(step)
    read_output(pipeline, node["output"])
    return pipeline


def _taken(step: Any) -> int | None:
    if isinstance(step, Pipeline):
        inner = [_taken(part) for _, part in step.steps if not isinstance(part, str)]
        return inner[0] if inner else None
    return int(step.n_features_in_)


def _names_of(kind: Any, *without: str) -> list[str]:
    return [name for name in kind._get_param_names() if name not in without]


# ---------------------------------------------------------------- columns
class _StandIn(BaseEstimator):
    """Takes the place of a fitted step while a ColumnTransformer learns which columns go where."""

    def __init__(self, stands_for: Any):
        self.stands_for = stands_for

    def __sklearn_clone__(self) -> Self:
        return self

    def fit(self, X: Any, y: object = None) -> Self:
        """Look at the number of columns."""
        if X.shape[1] != _taken(self.stands_for):
            refuse(f"a step of its ColumnTransformer takes other columns than it is given. {ASK}")
        return self

    def transform(self, X: Any) -> Any:
        """As many columns as the step would give."""
        return np.zeros((X.shape[0], _width(self.stands_for)))


def _write_columns(step: Any, writer: Writer) -> dict[str, Any]:
    check_is_fitted(step)
    if step.sparse_output_ or step.transformer_weights is not None:
        refuse("a model file has no place for a ColumnTransformer with weights or sparse output.")
    fitted = {name: (inner, columns) for name, inner, columns in step.transformers_}
    parameters = step.get_params(deep=False)
    remainder = parameters.pop("remainder")
    written = [
        [name, _write_part(fitted, name, given, writer), _write_selection(columns, name, writer)]
        for name, given, columns in parameters.pop("transformers")
    ]
    rest = {key: writer.value(value, key) for key, value in parameters.items()}
    rest["remainder"] = _write_part(fitted, "remainder", remainder, writer)
    apart = tuple(vars(step).keys() - {"n_features_in_", "feature_names_in_"})  # they follow from the parts
    found = write_fitted(step, _COUNT, writer, _no_estimator, apart)
    return _node(step, {"transformers": written, **rest}, found)


def _write_part(fitted: dict[str, Any], name: str, given: Any, writer: Writer) -> Any:
    """A part as it was fitted; as it was given where it got no columns, and was not fitted."""
    if isinstance(given, str):
        return _write_step(given, writer, name)
    inner, columns = fitted.get(name, (given, []))
    if not hasattr(columns, "__len__") or isinstance(columns, str) or len(columns) > 0:
        return _write_step(inner, writer, name)
    return _write_step(given, writer, name, fitted=False)


def _write_selection(columns: Any, name: str, writer: Writer) -> Any:
    if isinstance(columns, slice):
        return {"slice": [writer.single(end, name) for end in (columns.start, columns.stop, columns.step)]}
    if hasattr(columns, "tolist"):
        columns = columns.tolist()
    if callable(columns):
        refuse(f"the columns of {name!r} are chosen by a function. Give their names or numbers.")
    return writer.value(columns, f"the columns of {name!r}")


def _read_selection(columns: Any, reader: Reader) -> Any:
    if isinstance(columns, dict) and columns.keys() == {"slice"}:
        start, stop, step = (reader.single(end) for end in columns["slice"])
        return slice(start, stop, step)
    return reader.value(columns)


def _read_columns(node: Any, reader: Reader) -> Any:
    parameters = dict(node["parameters"])
    names = _names_of(ColumnTransformer, "transformer_weights")
    reader.check_keys("ColumnTransformer", parameters, [*names, "transformer_weights"])
    written, remainder = parameters.pop("transformers"), _read_step(parameters.pop("remainder"), reader)
    parts = [
        (name, _read_step(inner, reader), _read_selection(columns, reader))
        for name, inner, columns in written
    ]
    rest = {key: reader.value(value) for key, value in parameters.items()}
    if rest.get("transformer_weights") is not None:
        refuse(f"its ColumnTransformer has weights, which no model file has. {ASK}")
    state = read_fitted(node["fitted"], _COUNT, reader, _no_estimator)
    stand_ins = [(name, _stand_in(inner), columns) for name, inner, columns in parts]
    learner = ColumnTransformer(stand_ins, remainder=_stand_in(remainder))
    learner.fit(_empty_table(state))
    given = [(name, _unfitted(inner), columns) for name, inner, columns in parts]
    step = ColumnTransformer(given, remainder=_unfitted(remainder), **rest)
    step._validate_params()
    parameters = learner.get_params(deep=False)
    learned = {key: _settled(value) for key, value in vars(learner).items() if key not in parameters}
    vars(step).update(learned | state)
    read_output(step, node["output"])
    return step


def _stand_in(step: Any) -> Any:
    return step if isinstance(step, str) else _StandIn(step)


def _settled(value: Any) -> Any:
    """What was learned with stand-ins, with the steps they stood for."""
    if isinstance(value, list | tuple):
        return type(value)(_settled(part) for part in value)
    return getattr(value, "stands_for", value)


def _unfitted(step: Any) -> Any:
    return step if isinstance(step, str) else clone(step)


def _empty_table(state: dict[str, Any]) -> Any:
    rows = np.zeros((1, state["n_features_in_"]))
    if "feature_names_in_" not in state:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=state["feature_names_in_"])
