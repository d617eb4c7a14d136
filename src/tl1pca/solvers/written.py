"""Rows off a plane by how the table was written: by rounding, or by categories that are columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._arrays import to_numpy
from ..rows import Rows
from ..statistics import subsample
from .judging import OTHERS_SHARE
from .plane import Plane

Array = NDArray[Any]

#: Different values of a column that was measured and rounded, and steps from its smallest to its largest;
#: rows that tell them.
FEWEST_VALUES, MOST_STEPS, LOOKED_AT = 10, 1e6, 200
#: Share of the rows that lie off the plane by rounding alone. Of parts that make a whole it is a quarter
#: or more (Mosteller, Youtz and Zahn, 1967); a few rows off by one step are slips.
ROUNDED_SHARE = 0.1
#: Length of their mean beside their own: rounding moves rows to both sides, and slips may all be alike.
ONE_SIDED = 0.8
LEVEL = 0.99
#: Share of the rows of a category that are off, where it is off as a whole; and of rows off that are of such.
WHOLE = 0.9


def rounding_length(sample: Rows, count: int) -> float:
    """Distance below which a row lies in a plane: a share of the length of the rows that are trusted.

    Not of the longest row, next to which all others may be rounding.
    """
    length = np.sort(sample.gather_scores(sample.norms(), np.arange(sample.shape[0])))
    return 1e-11 * float(length[count - 1] or length[-1])


def as_written(sample: Rows, plane: Plane, far: Array, limit: float, tol: float) -> tuple[float, Array]:
    """Length of rounding, and columns of two values, that tell why rows lie off a plane."""
    m, d = sample.shape
    exact = _are_exact(far, tol)
    if not exact and not _of_two_values(sample.gather_rows(subsample(m, LOOKED_AT))).any():
        return tol, np.zeros(d, dtype=bool)
    X, center, W = sample.gather_rows(np.arange(m)), to_numpy(plane.center), to_numpy(plane.W)
    return written_length(X, center, W, far, tol), deciding_categories(X, center, W, far > limit, exact)


def written_length(X: Array, center: Array, W: Array, far: Array, tol: float) -> float:
    """Distance below which a row lies in a plane that most rows lie in exactly, as numbers were written.

    Rounding moves a row off the plane by the length of what it leaves of errors
    that are even between minus and plus half a step of each column.

    Parameters
    ----------
    X : ndarray of shape (m, d)
        The rows in the columns of the data.
    center, W : ndarray of shape (d,), (d, q)
        A point of the plane, and its axes.
    far : ndarray of shape (m,)
        Distances of the rows from it.
    tol : float
        Length below which a distance is rounding of the machine; it is what is
        returned where nothing else is to be seen.
    """
    if not _are_exact(far, tol):
        return tol
    off = 1.0 - np.einsum("ij,ij->i", W, W)
    length = float(ndtri(0.5 + 0.5 * LEVEL)) * float(np.sqrt(off.clip(0.0) @ steps(X) ** 2 / 12.0))
    A = X[(far > tol) & (far <= length)] - center
    if len(A) < max(ROUNDED_SHARE * len(far), 1):
        return tol
    A = A - (A @ W) @ W.T
    aside = np.linalg.norm(A.mean(axis=0)) / np.sqrt(np.einsum("ij,ij->", A, A) / len(A))
    return length if aside < ONE_SIDED else tol


def _are_exact(far: Array, tol: float) -> bool:
    """Whether most rows lie in the plane to the digits of the machine."""
    return bool(2 * np.count_nonzero(far <= tol) >= len(far))


def steps(X: Array) -> Array:
    """Between the values that a column may have, where these are multiples of something; else zero.

    Examples
    --------
    >>> X = np.column_stack([np.arange(12) * 0.3, np.arange(12.0) ** 0.5, np.arange(12) % 2])
    >>> steps(X).round(3)
    array([0.3, 0. , 0. ])
    """
    X = np.sort(X, axis=0)
    values, widths = 1 + (X[1:] > X[:-1]).sum(axis=0), X[-1] - X[0]
    found, least = np.zeros(X.shape[1]), 1e-9 * widths
    for gaps in np.diff(X[subsample(len(X), LOOKED_AT)], axis=0):
        larger, smaller = np.maximum(found, gaps), np.minimum(found, gaps)
        while (live := smaller > least).any():  # Euclid's algorithm
            times = np.round(np.divide(larger, smaller, out=np.zeros_like(larger), where=live))
            left = np.abs(larger - times * smaller)
            larger, smaller = np.where(live, smaller, larger), np.where(live, left, 0.0)
        found = larger
    return np.where((values >= FEWEST_VALUES) & (found * MOST_STEPS > widths), found, 0.0)


def deciding_categories(X: Array, center: Array, W: Array, off: Array, exact: bool) -> Array:
    """Mask of the columns of two values, if they alone say which rows lie off a plane.

    Two of four categories that were coded as columns may hold most rows; the
    others are no bad rows for that. Mostly they are off in these columns, and
    as a whole, unless most rows lie in the plane exactly. Not where a few rows
    are off, nor where other columns are hardly any.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    center, W : ndarray of shape (d,), (d, q)
        A point of the plane, and its axes.
    off : ndarray of bool of shape (m,)
    exact : bool
        Whether most rows lie in the plane exactly.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    two = (low < high) & _of_two_values(X)
    none = np.zeros(X.shape[1], dtype=bool)
    if not two.any() or np.count_nonzero((low < high) & ~two) < 2:
        return none
    A = X - center
    squares = (A - (A @ W) @ W.T) ** 2
    by_category = off & (2 * squares[:, two].sum(axis=1) > squares.sum(axis=1))
    whole = np.full(len(X), exact)
    for value in (low, high):
        has = X[:, two] == value[two]
        whole |= has[:, has[off].sum(axis=0) >= WHOLE * has.sum(axis=0)].any(axis=1)
    count = np.count_nonzero(by_category)
    decided = count >= OTHERS_SHARE * len(X) and np.count_nonzero(whole & by_category) >= WHOLE * count
    return two if decided else none


def _of_two_values(X: Array) -> Array:
    """Mask of the columns with two values at most."""
    return np.asarray(((X.min(axis=0) == X) | (X.max(axis=0) == X)).all(axis=0))
