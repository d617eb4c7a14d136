"""Fitted estimators of the package, and pipelines that end in one."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._archive import ASK, RefusedError, refuse
from ..estimators._fitted import fitted_attributes
from ..location import CENTERS
from ._attributes import read_fitted, read_output, write_fitted, write_output
from ._sklearn import check_node, read_pipeline, write_pipeline
from ._values import ESTIMATORS, Reader, Writer, is_one_of, refuse_class

__all__ = ["read_model", "write_model"]


def write_model(estimator: Any, writer: Writer) -> dict[str, Any]:
    """A model as the header has it."""
    if type(estimator) is Pipeline:
        return write_pipeline(estimator, writer, _write_estimator)
    return _write_estimator(estimator, writer)


def read_model(node: Any, reader: Reader) -> Any:
    """The model in the header of a file."""
    check_node(node)
    if node["estimator"] != "Pipeline":
        return _read_estimator(node, reader)
    return read_pipeline(node, reader, _read_estimator)


def _write_estimator(estimator: Any, writer: Writer) -> dict[str, Any]:
    if not is_one_of(estimator, ESTIMATORS):
        refuse_class(estimator, "a fitted estimator")
    check_is_fitted(estimator)
    return {
        "estimator": type(estimator).__name__,
        "parameters": writer.parameters(estimator),
        "fitted": write_fitted(estimator, fitted_attributes(type(estimator)), writer, _write_estimator),
        "output": write_output(estimator),
    }


def _read_estimator(node: Any, reader: Reader) -> Any:
    check_node(node)
    estimator = reader.object(node["estimator"], node["parameters"], ESTIMATORS)
    declared = fitted_attributes(type(estimator))
    for name, value in read_fitted(node["fitted"], declared, reader, _read_estimator).items():
        setattr(estimator, name, value)
    try:
        _check_parameters(estimator)
        estimator._check_fitted()
    except RefusedError:
        raise
    except (TypeError, ValueError) as error:
        raise RefusedError(f"{error} {ASK}") from error
    read_output(estimator, node["output"])
    return estimator


def _check_parameters(estimator: Any) -> None:
    """What `fit` checks of the parameters, with the number of features that is known."""
    estimator._check_parameters()
    d = estimator.n_features_in_
    estimator._check_n_components(d)
    check_random_state(estimator.random_state)
    if not isinstance(estimator.verbose, bool | int | np.bool_):
        refuse(f"verbose is {estimator.verbose!r}. {ASK}")
    center = getattr(estimator, "center", None)
    if center is None or isinstance(center, str):
        if center not in CENTERS:
            refuse(f"center is {center!r}. {ASK}")
    else:
        given = np.asarray(center, dtype=np.float64)
        if given.shape != (d,) or not np.isfinite(given).all():
            refuse(f"center is no vector of {d} numbers. {ASK}")
