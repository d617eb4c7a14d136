"""From what a user hands over to the port: which adapter, and whether the numbers can be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, check_array, validate_data

from .._arrays import like, namespace, to_numpy
from ..extraction import SAMPLE_ABOVE
from ..rows import ArrayRows, BlockRows, DenseRows, Rows, Source, SparseRows
from ..rows.host import MOST
from ..rows.sources import PickedSource, is_source, open_source
from ._dask import is_dask, open_dask

Array = NDArray[Any]

#: Data of so few entries are loaded whatever they are: a dense array of them costs nothing.
FEW_ENTRIES = 1 << 20
#: Entries that a method for data in memory loads from a map or a file, 128 MiB in double precision.
LOADED = 1 << 24


@dataclass(frozen=True)
class Data:
    """Rows as they were given, their largest magnitude, and the mask of observed entries if some are not."""

    rows: Rows
    extent: float
    observed: Array | None = None


def open_data(
    estimator: Any, X: Any, sample_weight: ArrayLike | None = None, *, missing: bool = False
) -> Data:
    """The port to the rows of X with positive weight, after scikit-learn's checks.

    Parameters
    ----------
    estimator : BasePCA
        Learns the names and the number of the features.
    X : array-like, sparse matrix or source of shape (n_samples, n_features)
        An array of another library stays where it is when scikit-learn's
        configuration has ``array_api_dispatch=True``. See `OPENERS` for what
        is no array.
    sample_weight : array-like of shape (n_samples,), optional
    missing : bool, default=False
        Whether NaN marks a missing entry.

    Returns
    -------
    Data
    """
    for accepts, opener in OPENERS:
        if accepts(X):
            return opener(estimator, X, sample_weight, missing)
    return _open_array(estimator, X, sample_weight, missing)


def _open_array(estimator: Any, X: Any, sample_weight: ArrayLike | None, missing: bool) -> Data:
    data = check_data(estimator, X, reset=True)
    if not estimator._at_home:
        data = to_numpy(data)
    weights = _check_weights(sample_weight, data)
    if weights is not None and not bool(namespace(weights).all(weights > 0)):
        xp = namespace(weights)
        keep = xp.nonzero(weights > 0)[0]
        data, weights = xp.take(data, keep, axis=0), xp.take(weights, keep, axis=0)
    observed = None
    if missing:
        data, observed = _observed(data)
    rows = (
        DenseRows(data, weights=weights) if isinstance(data, np.ndarray) else ArrayRows(data, weights=weights)
    )
    return Data(rows, _finite_extent(estimator, rows, data), observed)


def _open_sparse(estimator: Any, X: Any, sample_weight: ArrayLike | None, missing: bool) -> Data:
    _refuse_sparse(estimator)
    if X.ndim == 2 and _is_small(estimator, X.shape):
        return _open_array(estimator, X.toarray(), sample_weight, missing)
    data = check_data(estimator, X, reset=True)
    _check_tall(estimator, data.shape)
    weights = _check_weights(sample_weight, data)
    if weights is not None and not weights.all():
        data, weights = data[weights > 0], weights[weights > 0]
    rows = SparseRows(data, weights=weights)
    return Data(rows, _finite_extent(estimator, rows, data))


def _open_source(estimator: Any, X: Any, sample_weight: ArrayLike | None, missing: bool) -> Data:
    source = _check_source(estimator, X, reset=True)
    reason = estimator._needs_memory()
    if _is_small(estimator, source.shape) or (reason and np.prod(source.shape) <= LOADED):
        data = _open_array(estimator, source.load(), sample_weight, missing)
        _learn_names(estimator, source, reset=True)
        return data
    if reason:
        raise ValueError(
            f"{_name(estimator)} {reason}, and takes data in memory only: X, read in blocks, has shape "
            f"{source.shape}. Pass np.asarray(X) if you have the memory, or use TL1SubspacePCA, which "
            "works on blocks."
        )
    _check_tall(estimator, source.shape)
    weights = _check_weights(sample_weight, source)
    if weights is not None and not weights.all():
        source, weights = PickedSource(source, np.flatnonzero(weights)), weights[weights > 0]
    rows = BlockRows(source, weights=weights)
    return Data(rows, _finite_extent(estimator, rows, source))


def is_sparse(X: Any) -> bool:
    """Whether X is a matrix or array of scipy.sparse."""
    return bool(sparse.issparse(X))


def _open_dask(estimator: Any, X: Any, sample_weight: Any, missing: bool) -> Data:
    opened = open_dask(estimator, X, sample_weight)
    if not isinstance(opened, Rows):
        return _open_array(estimator, *opened, missing)
    extent = opened.extent()
    assert_all_finite(np.array([extent]), estimator_name=_name(estimator), input_name="X")
    return Data(opened, extent)


#: What is no array: who recognises it, and who opens it.
OPENERS: list[tuple[Callable[[Any], bool], Callable[..., Data]]] = [
    (is_dask, _open_dask),
    (is_sparse, _open_sparse),
    (is_source, _open_source),
]


def _is_small(estimator: Any, shape: tuple[int, int]) -> bool:
    """Whether X is worked on as a dense array, as solvers for few rows do."""
    n, d = shape
    if n <= SAMPLE_ABOVE and n * d > MOST:
        raise ValueError(
            f"{_name(estimator)} holds up to {SAMPLE_ABOVE} rows in memory as a dense array, which for X of "
            f"shape {(n, d)} would take {n * d * 8 / 2**30:.1f} GiB; at most {MOST * 8 / 2**30:.0f} GiB are "
            "taken unasked. Pass a NumPy array if you have the memory, or keep fewer features."
        )
    return n <= SAMPLE_ABOVE or n * d <= FEW_ENTRIES


def _check_tall(estimator: Any, shape: tuple[int, int]) -> None:
    n, d = shape
    if d > n:
        raise ValueError(
            f"{_name(estimator)} works in the row space of data with more features than samples, for which "
            f"X, here of shape {(n, d)}, must be a dense array in memory. Keep fewer than {n} features, or "
            "project them at random first (sklearn.random_projection)."
        )


def _refuse_sparse(estimator: Any) -> None:
    reason = estimator._needs_memory()
    if reason:
        raise TypeError(
            f"{_name(estimator)} {reason}, and takes dense data only, not sparse X. Pass X.toarray() if you "
            "have the memory, or use TL1SubspacePCA, which takes sparse data."
        )


def _finite_extent(estimator: Any, rows: Rows, data: Any) -> float:
    """Largest magnitude; scikit-learn's error where an entry is not finite."""
    extent = rows.extent()
    if not np.isfinite(extent):
        for part in parts(data):
            assert_all_finite(part, estimator_name=_name(estimator), input_name="X")
    return extent


def _name(estimator: Any) -> str:
    return type(estimator).__name__


def _check_home(estimator: Any, X: Any, method: str) -> None:
    """scikit-learn's rule for arrays of other libraries: new rows come from where the training rows did."""
    if not get_config()["array_api_dispatch"]:
        return
    home = estimator.components_
    here = type(X) if is_foreign(X) else np.ndarray
    there = type(home) if is_foreign(home) else np.ndarray
    if here is not there or (is_foreign(X) and X.device != home.device):
        raise ValueError(
            f"Inputs passed to {_name(estimator)}.{method}() must use the same namespace and the same device "
            f"as those passed to fit(): got {_where(X)}, fitted on {_where(home)}. Move X or fit again."
        )


def _where(x: Any) -> str:
    name = f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}"
    return f"{name} on {x.device}" if is_foreign(x) else name


def check_new(estimator: Any, X: Any, method: str) -> Any:
    """X for a fitted estimator: an array, a CSR matrix or a source; entries are not looked at."""
    _check_home(estimator, X, method)
    if is_sparse(X):
        _refuse_sparse(estimator)
    return _check_source(estimator, X, reset=False) if is_source(X) else check_data(estimator, X, reset=False)


def parts(data: Any) -> Iterator[Any]:
    """An array as it is, a sparse matrix and a source in dense blocks of rows."""
    if isinstance(data, Source):
        for _, block in data.blocks():
            yield block
    elif is_sparse(data):
        step = max(1, FEW_ENTRIES // max(1, data.shape[1]))
        for i in range(0, data.shape[0], step):
            yield data[i : i + step].toarray()
    else:
        yield data


def check_data(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """X as a floating array of its library; entries are not looked at.

    `Rows.extent` sees what is not finite in the pass that it makes anyway.
    """
    xp: Any = namespace(X) if is_foreign(X) else np
    return validate_data(
        estimator, X, reset=reset, dtype=[xp.float64, xp.float32], accept_sparse="csr", **_checks(reset)
    )


def _checks(reset: bool) -> dict[str, Any]:
    return {"ensure_all_finite": False, "ensure_min_samples": 2 if reset else 1}


def _check_source(estimator: Any, X: Any, *, reset: bool) -> Source:
    """The source of X, after the checks of an array of its shape and type; nothing is read."""
    if hasattr(X, "shape"):
        kind = np.dtype(X.dtype)
        if kind.kind not in "buifc":
            raise ValueError(f"X holds values of type {kind}, {_name(estimator)} takes numbers only.")
        _check_shape(estimator, X.shape, np.complex128 if kind.kind == "c" else np.float64, reset)
        source = open_source(X)
    else:
        source = open_source(X)
        _check_shape(estimator, source.shape, np.float64, reset)
    _learn_names(estimator, source, reset=reset)
    return source


def _check_shape(estimator: Any, shape: tuple[int, ...], dtype: Any, reset: bool) -> None:
    """scikit-learn's errors for an array of this shape and type, from one that has a single entry."""
    check_array(
        np.broadcast_to(np.zeros((), dtype=dtype), shape),
        estimator=estimator,
        input_name="X",
        **_checks(reset),
    )


def _learn_names(estimator: Any, source: Source, *, reset: bool) -> None:
    validate_data(estimator, source.header(), reset=reset, skip_check_array=True)


def is_foreign(X: Any) -> bool:
    """Whether X is an array of another library that scikit-learn is configured to leave where it is."""
    if isinstance(X, np.ndarray) or not get_config()["array_api_dispatch"]:
        return False
    from array_api_compat import is_array_api_obj

    return bool(is_array_api_obj(X))


def _check_weights(sample_weight: ArrayLike | None, X: Any) -> Any:
    if sample_weight is None:
        return None
    foreign = is_foreign(X)
    host = np.empty((X.shape[0], 0), dtype=np.float64 if foreign else X.dtype)
    given = to_numpy(sample_weight) if foreign else sample_weight
    weights = _check_sample_weight(given, host, dtype=host.dtype, ensure_non_negative=True)
    if np.count_nonzero(weights) < 2:
        raise ValueError("sample_weight must be positive for at least two rows.")
    return like(weights, X) if foreign else weights


def _observed(data: Array) -> tuple[Array, Array | None]:
    """Data with zeros for what is missing, and the mask of what is not."""
    missing = np.isnan(data)
    if not missing.any():
        return data, None
    empty = np.flatnonzero(missing.all(axis=0))
    if len(empty):
        raise ValueError(f"Features {empty.tolist()} have no observed value; drop these columns.")
    return np.where(missing, 0.0, data).astype(data.dtype), ~missing
