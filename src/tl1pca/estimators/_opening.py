"""From what a user hands over to the port: which adapter, and whether the numbers can be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, validate_data

from .._arrays import like, namespace, to_numpy
from ..rows import ArrayRows, DenseRows, Rows

Array = NDArray[Any]


@dataclass(frozen=True)
class Data:
    """Rows as they were given, their largest magnitude, and the mask of observed entries if some are not."""

    rows: Rows
    extent: float
    observed: Array | None = None


def open_data(
    estimator: BaseEstimator, X: Any, sample_weight: ArrayLike | None = None, *, missing: bool = False
) -> Data:
    """The port to the rows of X with positive weight, after scikit-learn's checks.

    Parameters
    ----------
    estimator : estimator
        Learns the names and the number of the features.
    X : array-like of shape (n_samples, n_features)
        An array of another library stays where it is when scikit-learn's
        configuration has ``array_api_dispatch=True``.
    sample_weight : array-like of shape (n_samples,), optional
    missing : bool, default=False
        Whether NaN marks a missing entry.

    Returns
    -------
    Data
    """
    data = check_data(estimator, X, reset=True)
    weights = _check_weights(sample_weight, data)
    if weights is not None and not bool(namespace(weights).all(weights > 0)):
        keep = weights > 0
        data, weights = data[keep, :], weights[keep]
    observed = None
    if missing:
        data, observed = _observed(data)
    rows = (
        DenseRows(data, weights=weights) if isinstance(data, np.ndarray) else ArrayRows(data, weights=weights)
    )
    extent = rows.extent()
    if not np.isfinite(extent):
        assert_all_finite(data, estimator_name=type(estimator).__name__, input_name="X")
    return Data(rows, extent, observed)


def check_data(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """X as a floating array of its library; entries are not looked at.

    `Rows.extent` sees what is not finite in the pass that it makes anyway.
    """
    xp: Any = namespace(X) if is_foreign(X) else np
    least = {"ensure_min_samples": 2} if reset else {}
    return validate_data(
        estimator, X, reset=reset, dtype=[xp.float64, xp.float32], ensure_all_finite=False, **least
    )


def is_foreign(X: Any) -> bool:
    """Whether X is an array of another library that scikit-learn is configured to leave where it is."""
    if isinstance(X, np.ndarray) or not get_config()["array_api_dispatch"]:
        return False
    from array_api_compat import is_array_api_obj

    return bool(is_array_api_obj(X))


def _check_weights(sample_weight: ArrayLike | None, X: Any) -> Any:
    if sample_weight is None:
        return None
    host = X if isinstance(X, np.ndarray) else np.empty((X.shape[0], 0))
    given = sample_weight if isinstance(X, np.ndarray) else to_numpy(sample_weight)
    weights = _check_sample_weight(given, host, dtype=host.dtype, ensure_non_negative=True)
    if np.count_nonzero(weights) < 2:
        raise ValueError("sample_weight must be positive for at least two rows.")
    return like(weights, X)


def _observed(data: Array) -> tuple[Array, Array | None]:
    """Data with zeros for what is missing, and the mask of what is not."""
    missing = np.isnan(data)
    if not missing.any():
        return data, None
    empty = np.flatnonzero(missing.all(axis=0))
    if len(empty):
        raise ValueError(f"Features {empty.tolist()} have no observed value; drop these columns.")
    return np.where(missing, 0.0, data).astype(data.dtype), ~missing
