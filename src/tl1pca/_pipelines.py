"""Pipelines: the steps before a PCA, the rows as it sees them, and the columns that the user knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array, check_is_fitted

from ._arrays import to_numpy

__all__ = [
    "check_columns",
    "fitted_end",
    "index_labels",
    "inner_names",
    "inner_rows",
    "judging_scales",
    "numbers",
    "observed_numbers",
    "split",
]

Array = NDArray[Any]


def split(estimator: Any) -> tuple[Pipeline | None, Any]:
    """The steps before the last one, None where there are none, and the last one."""
    if not isinstance(estimator, Pipeline):
        return None, estimator
    return (estimator[:-1] if len(estimator) > 1 else None), estimator[-1]


def fitted_end(estimator: Any) -> Any:
    """The last step of a pipeline, or the estimator itself; scikit-learn's error where it is not fitted."""
    pca = split(estimator)[1]
    if hasattr(pca, "fit"):  # what has no fit has been given its attributes
        check_is_fitted(pca)
    return pca


def judging_scales(fitted: Any) -> Array:
    """Standard deviations of the scores that rows are judged by."""
    scales = getattr(fitted, "judging_scale_", None)
    if scales is None:
        return np.sqrt(to_numpy(fitted.explained_variance_).astype(np.float64))
    return to_numpy(scales).astype(np.float64)


def inner_rows(estimator: Any, X: Any) -> Any:
    """The rows of X as the last step of a pipeline sees them; X itself where there is no step before."""
    steps, _ = split(estimator)
    if steps is None:
        return X
    if not any(isinstance(step, ColumnTransformer) for _, step in steps.steps):  # one may drop text
        check_columns(X)
    return steps.transform(X)


def inner_names(estimator: Any, names: Sequence[str]) -> list[str]:
    """What the columns that the last step sees are called, by the names of the columns of X.

    A scaler changes no name, a ColumnTransformer puts the name of a step in
    front of it, and only what is new (an indicator of missing values, say)
    has a name of its own.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import RobustScaler
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> inner_names(make_pipeline(RobustScaler(), PCA(1)).fit(X), ["width", "height"])
    ['width', 'height']
    """
    steps, pca = split(estimator)
    if steps is None:
        return list(names)
    try:
        inside = [str(name) for name in steps.get_feature_names_out()]
    except AttributeError:  # a step that cannot say what its columns are
        count = int(pca.n_features_in_)
        return list(names) if count == len(names) else [f"x{j}" for j in range(count)]
    learned = getattr(steps, "feature_names_in_", None)
    keys = [f"x{j}" for j in range(len(names))] if learned is None else [str(name) for name in learned]
    known = dict(zip(keys, names))
    return [_known_name(name, known) for name in inside]


def _known_name(name: str, known: dict[str, str]) -> str:
    if name in known:
        return known[name]
    ends = [key for key in known if name.endswith(f"__{key}")]
    return known[max(ends, key=len)] if ends else name


def check_components(pca: Any, asked: str) -> None:
    """An error for what has no components in the space of its rows."""
    if not hasattr(pca, "components_") or not hasattr(pca, "mean_"):
        raise TypeError(
            f"{type(pca).__name__} has no components_ and mean_; {asked} needs both, "
            "as the estimators of tl1pca that fit a subspace and scikit-learn's PCA have."
        )


def numbers(pca: Any, rows: Any) -> Array:
    """Rows as a checked array of numbers for a fitted PCA.

    What is missing is no reason to call a row an outlier: where the PCA takes
    missing values, its own fit takes their place.
    """
    data = observed_numbers(pca, rows)
    missing = np.isnan(data)
    if missing.any():
        data = np.where(missing, pca.inverse_transform(np.asarray(pca.transform(rows))), data)
    return data


def observed_numbers(pca: Any, rows: Any) -> Array:
    """The same with NaN where a value is missing, if the PCA takes missing values."""
    check_columns(rows)
    tags = getattr(pca, "__sklearn_tags__", None)
    nan = "allow-nan" if tags is not None and tags().input_tags.allow_nan else True
    with np.errstate(over="ignore", invalid="ignore"):  # it adds all entries up first
        data: Array = check_array(rows, dtype=[np.float64, np.float32], ensure_all_finite=nan, input_name="X")
    d = np.shape(pca.components_)[1]
    if data.shape[1] != d:
        raise ValueError(
            f"X has {data.shape[1]} features, {type(pca).__name__} was fitted to {d}; "
            "give rows of the same columns."
        )
    return data


#: How the names of types begin that pandas has for dates, whatever their kind is.
DATES = ("datetime", "timedelta", "date", "time", "duration", "period")
#: Dates and times among Python objects.
DATE_TYPES = (date, time, timedelta, np.datetime64, np.timedelta64)


def check_columns(X: Any) -> None:
    """Name the columns of a data frame that hold dates or text, and say what to do about them."""
    if hasattr(X, "collect") and hasattr(X, "lazy"):  # no numbers yet
        raise TypeError("X is a lazy frame of polars, whose rows are still to be computed: pass X.collect().")
    names, types = getattr(X, "columns", None), getattr(X, "dtypes", None)
    if names is None or types is None:
        return
    for name, dtype in zip(list(names), list(types)):
        held = _held(X, name, dtype)
        if held:
            raise ValueError(f"Column {str(name)!r} holds {held[0]}, and a PCA takes numbers: {held[1]}")


def _held(X: Any, name: Any, dtype: Any) -> tuple[str, str] | None:
    """What a column holds that is no number, and what to do."""
    kind = getattr(dtype, "kind", None)  # NumPy's and pandas' types
    if kind is None:  # polars
        kind = "M" if dtype.is_temporal() else "f" if dtype.is_numeric() else "O"
    dates = (
        "dates or times",
        "leave it out, or turn it into a number first, for example the days since the first date.",
    )
    if kind in "mM" or str(dtype).lower().startswith(DATES):
        return dates
    if kind not in "OUST":
        return None
    for i, value in enumerate(X[name]):
        if value is None or value != value or type(value).__name__ == "NAType":  # noqa: PLR0124
            continue
        if isinstance(value, DATE_TYPES):
            return dates
        try:
            float(value)
        except OverflowError:
            return "integers beyond the largest floating number", "divide it first, or leave it out."
        except (TypeError, ValueError):
            return (
                f"text ({str(value)[:40]!r} at index {i})",
                "leave it out, use it as the names of the rows (labels), or encode it first "
                "(sklearn.preprocessing.OneHotEncoder).",
            )
    return None


def index_labels(X: Any) -> list[Any] | None:
    """Names of the rows in the index of a pandas data frame; None where it only counts from zero."""
    index = getattr(X, "index", None)
    if index is None or not hasattr(index, "dtype"):  # a list has a method of that name
        return None
    counts = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    return None if counts else list(index)


def feature_names(estimator: Any, n: int) -> list[str]:
    """Names of the columns that are given to an estimator; x0, x1, ... where it knows none."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{i}" for i in range(n)] if names is None else [str(name) for name in names]


def origins(estimator: Any, n_given: int) -> Array:
    """Column of the given rows behind each column that the last step sees."""
    found = np.arange(n_given)
    for step in _steps(estimator):
        if isinstance(step, ColumnTransformer):
            found = found[np.concatenate([columns for _, columns, _ in _blocks(step)])]
        elif getattr(step, "n_features_in_", len(found)) != len(found):
            break
    seen = np.shape(split(estimator)[1].components_)[1]
    if len(found) != seen:
        raise ValueError(
            f"The steps before {type(split(estimator)[1]).__name__} make {seen} columns of their own out of "
            f"{n_given}; what a column contributes can be said where they keep the columns, as scalers do."
        )
    return found


def in_given_units(estimator: Any, values: Array) -> Array:
    """Rows of the last step in columns and units of the rows that were given; NaN for columns left out."""
    for step in reversed(_steps(estimator)):
        if isinstance(step, ColumnTransformer):
            out = np.full((len(values), step.n_features_in_), np.nan)
            for part, columns, places in _blocks(step):
                block = values[:, places]
                out[:, columns] = _inverse(part, block)
            values = out
        else:
            values = _inverse(step, values)
    return np.asarray(values, dtype=np.float64)


def _steps(estimator: Any) -> list[Any]:
    if not isinstance(estimator, Pipeline):
        return []
    return [step for _, step in estimator.steps[:-1] if step is not None and not isinstance(step, str)]


def _inverse(step: Any, values: Array) -> Any:
    """What the step was given; what fills gaps, or does nothing, leaves values as they are."""
    if isinstance(step, str | SimpleImputer) or not hasattr(step, "inverse_transform"):
        return values
    return step.inverse_transform(values)


def _blocks(step: ColumnTransformer) -> Iterator[tuple[Any, Array, slice]]:
    """Transformers with their columns and the places of these in the result."""
    names = list(getattr(step, "feature_names_in_", ()))
    for name, part, columns in step.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        chosen = [columns] if isinstance(columns, str) else columns
        if not isinstance(chosen, slice) and len(chosen) and isinstance(chosen[0], str):
            chosen = [names.index(column) for column in chosen]
        yield part, np.arange(step.n_features_in_)[chosen], step.output_indices_[name]
