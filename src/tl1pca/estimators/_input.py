"""From what a user hands over to the port, after scikit-learn's checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted, validate_data

from .._arrays import asarray_like, is_array, namespace, to_numpy
from ..rows import (
    MANY_ROWS,
    MAX_LOADED_ENTRIES,
    BlockRows,
    Predictable,
    Rows,
    Source,
    as_predictable,
    as_rows,
    finite_max_abs,
    mask_missing,
)
from ..rows.array import HOST_ENTRIES
from ..rows.dask import known_length, open_rows
from ..rows.lazy import dask_array, is_dask
from ..rows.opening import is_rows, is_sparse
from ..rows.sources import PickedSource, is_source, open_source
from ._containers import as_numbers

Array = NDArray[Any]

#: Rows that tell how large the data are.
_LOOKED_AT_ROWS = 1000

#: Data of so few entries are loaded whatever they are: a dense array of them costs nothing.
SMALL_ENTRIES = 1 << 20
#: Entries that a method for data in memory loads from a map or a file, 128 MiB in double precision.
LOADED_ENTRIES = 1 << 24


class DataNeeds:
    """What an estimator declares about the data that it takes."""

    #: Why X must be dense and in memory to be fitted; None where the solver asks the port alone.
    _in_memory: str | None = "works on all rows at once"
    #: Whether an array of another library is worked on where it is, and not on the host.
    _supports_array_api = False
    #: Whether NaN marks a missing entry.
    _takes_missing = False
    #: Whether components turn with the rows, so that any orthonormal basis will do.
    _rotates = True

    def _needs_memory(self) -> str | None:
        """`_in_memory`, or what the parameters add to it."""
        return self._in_memory


@dataclass(frozen=True)
class Data:
    """Rows as they were given, and their largest magnitude."""

    rows: Rows
    max_abs: float


@dataclass(frozen=True)
class Kind:
    """Data that are no dense array: how they are told, loaded, and worked on where they are."""

    accepts: Callable[[Any], bool]
    #: For errors: what X is, and what to pass instead.
    name: str
    advice: str
    load: Callable[[Any], Array]
    #: The rows with weight for a fit, given data and weights; consecutive rows; rows to answer for.
    open: Callable[[Any, Any], Rows]
    batches: Callable[[Any], Iterator[Array]]
    answering: Callable[[Any], Predictable] = as_rows
    error: type[Exception] = ValueError
    #: Entries that are loaded unasked for a method that needs all of them; for none, the user is to do it.
    loaded: int = 0

    def loads(self, estimator: Any, shape: tuple[int, int]) -> bool:
        """Whether X is worked on as a dense array: it is small, or needed as such."""
        entries = shape[0] * shape[1]
        small = shape[0] <= MANY_ROWS or entries <= SMALL_ENTRIES
        if estimator._needs_memory():
            return self.loaded > 0 and (small or entries <= self.loaded)
        return small


def open_data(estimator: Any, X: Any, sample_weight: ArrayLike | None = None) -> Data:
    """The port to the rows of X with positive weight, for a fit.

    Parameters
    ----------
    estimator : BasePCA
        Learns the names and the number of the features.
    X : array-like, or one of `KINDS`, of shape (n_samples, n_features)
        An array of another library stays where it is when scikit-learn's
        configuration has ``array_api_dispatch=True``, unless it is so small
        that the host is faster.
    sample_weight : array-like of shape (n_samples,), optional

    Returns
    -------
    Data
    """
    X = X if is_dask(X) else as_numbers(estimator, X)
    kind = _kind(X)
    data = _check(estimator, X, reset=True)
    if kind is not None:
        _check_capability(estimator, kind, data.shape)
        if kind.loads(estimator, data.shape):
            data, kind = kind.load(data), None
            _check_shape(estimator, data.shape, data.dtype, reset=True)
    rows = _open_array(estimator, data, sample_weight) if kind is None else kind.open(data, sample_weight)
    return Data(rows, finite_max_abs(rows, _name(estimator)))


def open_batches(estimator: Any, X: Any, *, reset: bool) -> Iterator[Array]:
    """Consecutive rows as dense arrays in memory, for a method that learns from one batch after the other.

    Parameters
    ----------
    estimator : BasePCA
        Learns the names and the number of the features where `reset` is true.
    X : array-like, one of `KINDS`, or an iterator of these
    reset : bool
        Whether these are the first rows.

    Yields
    ------
    ndarray of shape (n, d)
        Of finite numbers, and NaN where the estimator takes missing cells.
    """
    if isinstance(X, Iterator):
        for part in X:
            yield from open_batches(estimator, part, reset=reset)
            reset = False
        return
    X = as_numbers(estimator, X)
    kind = _kind(X)
    if kind is None:
        dtype = [np.float64, np.float32]
        given = to_numpy(X) if is_array(X) else X
        found = iter([validate_data(estimator, given, reset=reset, dtype=dtype, ensure_all_finite=False)])
    else:
        data = _check(estimator, X, reset=reset)
        if reset:
            _check_capability(estimator, kind, data.shape)
        found = kind.batches(data)
    for batch in found:
        refused = np.isinf(batch) if estimator._takes_missing else ~np.isfinite(batch)
        if refused.any():
            finite_max_abs(as_rows(batch), _name(estimator))
        yield batch


def open_new(estimator: Any, X: Any, method: str) -> Predictable:
    """The port to new rows, for a method of a fitted estimator; entries are not looked at."""
    check_is_fitted(estimator, msg=estimator._not_fitted)
    _check_home(estimator, X, method)
    X = X if is_dask(X) else as_numbers(estimator, X)
    kind = _kind(X)
    data = _check(estimator, X, reset=False)
    return as_rows(data) if kind is None else kind.answering(data)


def open_scores(estimator: Any, X: Any) -> Predictable:
    """The port to scores: rows with an entry for each component of a fitted estimator."""
    check_is_fitted(estimator, msg=estimator._not_fitted)
    scores: Any = X if _kind(X) is not None or is_foreign(X) else np.asarray(X)
    rows = as_predictable(scores) if getattr(scores, "ndim", 2) == 2 else None
    if rows is None or rows.shape[1] != estimator.n_components_:
        shape = tuple(scores.shape) if rows is None else rows.shape
        raise ValueError(
            f"inverse_transform takes scores of shape (n_samples, {estimator.n_components_}), "
            f"got an array of shape {shape}."
        )
    return rows


def is_foreign(X: Any) -> bool:
    """Whether X is an array of another library that scikit-learn is configured to leave where it is."""
    return is_array(X) and bool(get_config()["array_api_dispatch"])


# ---------------------------------------------------------------- what is no dense array
def _selecting(
    subset: Callable[[Any, Array], Any], rows: Callable[[Any, Any], Rows] = as_rows
) -> Callable[[Any, Any], Rows]:
    """What opens the rows that have weight, of data in this process or read by it."""

    def open_selected(data: Any, sample_weight: ArrayLike | None) -> Rows:
        weights = check_weights(sample_weight, data)
        if weights is not None and not weights.all():
            keep = np.flatnonzero(weights)
            data, weights = subset(data, keep), weights[keep]
        return rows(data, weights)

    return open_selected


def _gathered(rows: Rows) -> Iterator[Array]:
    n, step = rows.shape[0], max(1, SMALL_ENTRIES // rows.shape[1])
    for start in range(0, n, step):
        yield rows.gather_rows(np.arange(start, min(start + step, n)))


#: Whatever is no dense array.
KINDS = (
    Kind(
        is_rows,
        "an engine of its own",
        "an array",
        load=lambda rows: rows.array(),
        open=_selecting(lambda rows, keep: rows.subset(keep)),
        batches=_gathered,
    ),
    Kind(
        is_dask,
        "a Dask collection",
        "X.compute()",
        load=lambda A: A.compute(),
        open=open_rows,
        batches=lambda A: (np.asarray(A.blocks[i].compute()) for i in range(A.numblocks[0])),
        answering=as_predictable,
    ),
    Kind(
        is_sparse,
        "sparse X",
        "X.toarray()",
        load=lambda X: X.toarray(),
        open=_selecting(lambda X, keep: X[keep]),
        batches=lambda X: _gathered(as_rows(X)),
        error=TypeError,
    ),
    Kind(
        is_source,
        "X read in blocks",
        "np.asarray(X)",
        load=Source.load,
        open=_selecting(PickedSource, lambda source, weights: BlockRows(source, weights=weights)),
        batches=lambda source: (block for _, block in source.blocks()),
        answering=BlockRows,
        loaded=LOADED_ENTRIES,
    ),
)


def _kind(X: Any) -> Kind | None:
    return next((kind for kind in KINDS if kind.accepts(X)), None)


def _check_capability(estimator: Any, kind: Kind, shape: tuple[int, int]) -> None:
    """Raise where the method needs what data of this kind cannot give, and they are not loaded for it."""
    name, reason, entries = _name(estimator), estimator._needs_memory(), shape[0] * shape[1]
    if kind.loads(estimator, shape):
        if entries > MAX_LOADED_ENTRIES:
            raise ValueError(
                f"{name} holds up to {MANY_ROWS} rows in memory as a dense array, which for X of shape "
                f"{shape} would take {entries * 8 / 2**30:.1f} GiB; at most "
                f"{MAX_LOADED_ENTRIES * 8 / 2**30:.0f} GiB are taken unasked. Pass a NumPy array if you have "
                "the memory, or keep fewer features."
            )
        return
    if reason:
        raise kind.error(
            f"{name} {reason}, and takes dense data in memory only, not {kind.name}, here of shape {shape}. "
            f"Pass {kind.advice} if you have the memory, or use TL1SubspacePCA, which takes it."
        )
    if shape[1] > shape[0]:
        raise ValueError(
            f"{name} works in the row space of data with more features than samples, for which X, here of "
            f"shape {shape}, must be a dense array in memory. Keep fewer than {shape[0]} features, or "
            "project them at random first (sklearn.random_projection)."
        )


# ---------------------------------------------------------------- arrays
def _open_array(estimator: Any, data: Any, sample_weight: ArrayLike | None) -> Rows:
    few = is_array(data) and data.shape[0] * data.shape[1] <= HOST_ENTRIES
    if few or not estimator._supports_array_api:
        data = to_numpy(data)
    if isinstance(data, np.ndarray) and data.size <= SMALL_ENTRIES:
        data = np.ascontiguousarray(data)  # a data frame and an array of the same numbers give the same bits
    weights = check_weights(sample_weight, data)
    if weights is not None and not bool(namespace(weights).all(weights > 0)):
        xp = namespace(weights)
        keep = xp.nonzero(weights > 0)[0]
        data, weights = xp.take(data, keep, axis=0), xp.take(weights, keep, axis=0)
    if isinstance(data, np.ndarray):
        data = within_reach(data, by_rows=estimator._rotates)
    rows = as_rows(data, weights)
    if not estimator._takes_missing:
        return rows
    rows = mask_missing(rows)
    empty = [] if rows.observed is None else np.flatnonzero(~rows.observed.any(axis=0)).tolist()
    if empty:
        raise ValueError(f"Features {empty} have no observed value; drop these columns.")
    return rows


def check_weights(sample_weight: Any, X: Any) -> Any:
    if sample_weight is None:
        return None
    foreign = is_foreign(X)
    given = sample_weight.compute() if is_dask(sample_weight) else sample_weight
    host = np.empty((X.shape[0], 0), dtype=np.float64 if foreign else X.dtype)
    given = to_numpy(given) if is_array(given) else given
    weights = _check_sample_weight(given, host, dtype=host.dtype, ensure_non_negative=True)
    if np.count_nonzero(weights) < 2:
        raise ValueError("sample_weight must be positive for at least two rows.")
    info, top = np.finfo(host.dtype), float(weights.max())
    if not float(info.tiny) ** (1 / 3) < top < float(info.max) ** (1 / 3):
        raise ValueError(
            f"sample_weight counts how often a row occurs; its largest entry is {top:g}, beyond what can be "
            "added up. Only ratios matter for the components: divide the weights by their mean."
        )
    return asarray_like(weights, X) if foreign else weights


def within_reach(data: Array, *, by_rows: bool) -> Array:
    """Data in which no row is so far from the others that numbers in one unit cannot hold both.

    A row more than 1e138 times as large as the median one (2e17 in single
    precision) is brought in to that size: nearer than it was, and as far as
    anything can be. Its direction stays; a method that works on entries has
    its far entries cut instead.
    """
    step = max(1, len(data) // _LOOKED_AT_ROWS)
    with np.errstate(invalid="ignore"):
        size = np.abs(data[::step]).max(axis=1, initial=0.0)
        if not np.isfinite(size).all():
            return data  # which is said elsewhere
        size = np.sort(size[size > 0])
        most = float(size[len(size) // 2]) if len(size) else 0.0  # a median that cannot overflow
        top = as_rows(data).max_abs()
    reach = float(np.finfo(data.dtype).max) ** 0.45
    if most == 0.0 or not np.isfinite(top) or top / reach <= most:
        return data
    limit = data.dtype.type(most * reach)
    if not by_rows:
        return np.clip(data, -limit, limit)
    size = np.abs(data).max(axis=1)
    far = size > limit
    data = data.copy()
    data[far] = data[far] / size[far, None] * limit
    return data


# ---------------------------------------------------------------- scikit-learn's checks
def _check(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as a floating array of its library, CSR matrix, source or Dask array; entries are not looked at.

    `Rows.max_abs` sees what is not finite in the pass that it makes anyway.
    """
    if is_dask(X):
        A = dask_array(X)
        row = np.ones((1, A.shape[1]), dtype=A.dtype)
        named = type(X._meta)(row, columns=X.columns) if hasattr(X, "columns") else row
        validate_data(estimator, named, reset=reset, skip_check_array=True)
        return known_length(A) if reset else A
    if is_rows(X):
        _check_shape(estimator, X.shape, X.dtype, reset=reset)
        validate_data(estimator, np.empty((0, X.shape[1])), reset=reset, skip_check_array=True)
        return X
    if is_source(X):
        return _check_source(estimator, X, reset=reset)
    xp: Any = namespace(X) if is_foreign(X) else np
    return validate_data(
        estimator, X, reset=reset, dtype=[xp.float64, xp.float32], accept_sparse="csr", **_checks(reset)
    )


def _checks(reset: bool) -> dict[str, Any]:
    return {"ensure_all_finite": False, "ensure_min_samples": 2 if reset else 1}


def _check_source(estimator: Any, X: Any, *, reset: bool) -> Source:
    """The source of X, after the checks of an array of its shape and type; nothing is read."""
    kind = np.dtype(getattr(X, "dtype", np.float64))
    if kind.kind not in "buifc":
        raise ValueError(f"X holds values of type {kind}, {_name(estimator)} takes numbers only.")
    if hasattr(X, "shape"):
        _check_shape(estimator, X.shape, kind, reset=reset)
    source = open_source(X)
    _check_shape(estimator, source.shape, source.dtype, reset=reset)
    validate_data(estimator, source.header(), reset=reset, skip_check_array=True)
    return source


def _check_shape(estimator: Any, shape: tuple[int, ...], dtype: Any, *, reset: bool) -> None:
    """scikit-learn's errors for an array of this shape and type, from one that has a single entry."""
    check_array(
        np.broadcast_to(np.zeros((), dtype=dtype), shape),
        estimator=estimator,
        input_name="X",
        **_checks(reset),
    )


def _check_home(estimator: Any, X: Any, method: str) -> None:
    """scikit-learn's rule for arrays of other libraries: new rows come from where the training rows did."""
    if not get_config()["array_api_dispatch"]:
        return
    home = estimator.components_
    here, there = (type(x) if is_array(x) else np.ndarray for x in (X, home))
    if here is not there or (is_array(X) and X.device != home.device):
        raise ValueError(
            f"Inputs passed to {_name(estimator)}.{method}() must use the same namespace and the same device "
            f"as those passed to fit(): got {_where(X)}, fitted on {_where(home)}. Move X or fit again."
        )


def _where(x: Any) -> str:
    name = f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}"
    return f"{name} on {x.device}" if is_array(x) else name


def _name(estimator: Any) -> str:
    return type(estimator).__name__


def check_part(name: str, value: object, kind: type, allowed: str) -> None:
    """Readable error for a parameter that must be an object with the verbs of a class of the package."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {allowed}, got {value!r}.")
