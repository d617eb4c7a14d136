"""Centres of a data matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .statistics import weighted_median

Array = NDArray[Any]

CENTERS = (None, "mean", "median", "spatial_median")


def locate(X: Array, center: str | Sequence[float] | Array | None, weights: Array | None = None) -> Array:
    """Centre of the rows of X by name, or the given vector, checked.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    center : None, "mean", "median", "spatial_median" or array-like of shape (d,)
    weights : ndarray of shape (n,), optional

    Returns
    -------
    ndarray of shape (d,), in the dtype of X

    Examples
    --------
    >>> locate(np.array([[0.0], [1.0], [8.0]]), "mean").tolist()
    [3.0]
    """
    d = X.shape[1]
    if center is None:
        return np.zeros(d, dtype=X.dtype)
    if isinstance(center, str):
        if center == "mean":
            return np.average(X, axis=0, weights=weights).astype(X.dtype)
        if center == "median":
            return weighted_median(X, weights).astype(X.dtype)
        if center == "spatial_median":
            return spatial_median(X, weights).astype(X.dtype)
        raise ValueError(f"center must be one of {CENTERS} or a vector of length {d}, got {center!r}.")
    given = np.asarray(center, dtype=X.dtype)
    if given.shape != (d,):
        raise ValueError(
            f"center as a vector must have one entry per feature, shape ({d},), got shape {given.shape}."
        )
    if not np.isfinite(given).all():
        raise ValueError("center as a vector must be finite, got NaN or infinity in it.")
    return given


def spatial_median(X: Array, weights: Array | None = None, tol: float = 1e-10, max_iter: int = 200) -> Array:
    """Point with the least sum of distances to the rows (the geometric or l1 median).

    Parameters
    ----------
    X : ndarray of shape (n, d)
    weights : ndarray of shape (n,), optional
    tol : float, default=1e-10
        Relative size of the last step.
    max_iter : int, default=200

    Returns
    -------
    ndarray of shape (d,)

    Examples
    --------
    >>> spatial_median(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [90.0, 90.0]])).round(6).tolist()
    [0.5, 0.5]
    """
    v = np.ones(len(X)) if weights is None else weights
    m = weighted_median(X, weights).astype(np.float64)
    for _ in range(max_iter):
        R = X - m
        r = np.sqrt(np.einsum("ij,ij->i", R, R))
        at = r <= 1e-14 * r.max(initial=0.0)
        if at.all():
            return m
        pull = np.where(at, 0.0, v / np.where(at, 1.0, r))
        step = (pull @ R) / pull.sum()
        # Vardi and Zhang: a row that m sits on resists with its own weight.
        force = float(np.linalg.norm(pull @ R))
        resist = float(v[at].sum())
        if force <= resist:
            return m
        m = m + (1.0 - resist / force) * step
        if np.linalg.norm(step) <= tol * float(np.median(r)):
            break
    return m
