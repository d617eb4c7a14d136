"""Cells predicted by the other cells of their row, by components of other rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

from .linear import leading_eigenpairs
from .statistics import subsample

Array = NDArray[Any]

#: Rows that are looked at: enough for eigenvalues, and a few of them cost as much as one fit.
MAX_ROWS = 2000
#: Standard errors by which more components than a fit has are better, so that one division of rows is enough.
CLEAR = 4.0
#: Share of the scatter that the rows of a fold may leave to the others, when it is taken off that of all.
LEAST_LEFT = 1e-3
N_FOLDS = 10
#: Ways to divide the rows into folds, over which the error is averaged: the answer hangs on none.
N_PARTITIONS = 3
#: Columns, of all turned tables together, over which the error in turned coordinates is averaged at least.
TURNED_COLUMNS = 128


@dataclass(frozen=True)
class TrustedRows:
    """Rows that a fit trusts, in the columns of the data.

    Attributes
    ----------
    values : ndarray of shape (n, d)
        Complete: missing and repaired cells have the value of the fit.
    judged : ndarray of bool of shape (n, d) or None
        Cells that were measured and are trusted; None stands for all.
    index : ndarray of int of shape (n,) or None
        Which rows of the data they are; None stands for the first n.
    """

    values: Array
    judged: Array | None = None
    index: Array | None = None

    @property
    def numbers(self) -> Array:
        """Which rows of the data they are."""
        return np.arange(len(self.values)) if self.index is None else self.index

    def limited(self) -> TrustedRows:
        """At most `MAX_ROWS` of them."""
        some = subsample(len(self.values), MAX_ROWS)
        judged = None if self.judged is None else self.judged[some]
        return TrustedRows(self.values[some], judged, self.numbers[some])


@dataclass(frozen=True)
class CrossValidation:
    """Error of predicted cells for 0, 1, ... components.

    Attributes
    ----------
    errors : ndarray of shape (m + 1,)
        Geometric mean over rows of the root mean squared error of their cells.
    spread : ndarray of shape (m + 1,)
        Standard error of the difference to the smallest one.
    turned : ndarray of shape (m + 1,)
        The errors in other orthonormal coordinates, to each of which all
        columns contribute. Two columns that are nearly one predict each other
        there no better than any two.
    """

    errors: Array
    spread: Array
    turned: Array

    @property
    def count(self) -> int:
        """Where the error is smallest."""
        return int(np.argmin(self.errors))

    @property
    def turned_count(self) -> int:
        """Where the error in turned coordinates is smallest."""
        return int(np.argmin(self.turned))


def cross_validation(rows: TrustedRows, most: int, *, seed: int = 0) -> CrossValidation:
    """Element-wise cross-validation of the number of components.

    Rows that are held out do not do: a row is always nearer to a larger
    subspace. So every cell of them is predicted from the other cells of its
    row. For components V and the residual r of a row that is exactly
    r_c / (1 - h_c), h = diag(V V'), without a fit for each cell.

    A row counts by the logarithm of its error, so that a few rows with a
    component of their own cannot decide, nor can rows with a bad cell.

    Parameters
    ----------
    rows : TrustedRows
    most : int
    seed : int

    Returns
    -------
    CrossValidation
    """
    return validated(rows, most, seed)[0]


def validated(
    rows: TrustedRows, most: int, seed: int, enough: int | None = None
) -> tuple[CrossValidation, list[Fold]]:
    """`cross_validation`, and the folds of the first division of the rows.

    It ends sooner where one division says clearly that more than `enough` components are better.
    """
    X, judged = rows.values, rows.judged
    n, d = X.shape
    rng = np.random.RandomState(seed)
    divisions = [rng.permutation(n) % N_FOLDS for _ in range(N_PARTITIONS)]
    turns = 2.0 * rng.randint(2, size=(-(-TURNED_COLUMNS // d), 2, d)) - 1.0
    most = min(most, d - 1, n - int(np.bincount(divisions[0]).max()) - 1)
    total, turned = np.zeros((most + 1, n)), np.zeros(most + 1)
    floor = max(1e-24 * float(np.square(X - X.mean(axis=0)).mean(axis=1).max()), np.finfo(np.float64).tiny)
    first: list[Fold] = []
    for p, division in enumerate(divisions, start=1):
        for fold in folds_of(X, division, most):
            weights = None if judged is None else judged[fold.held]
            total[:, fold.held] += _log_errors(fold.rows, fold.axes, most, floor, weights)
            if p > 1:
                continue
            first.append(fold)
            for signs in turns:
                A, V = _turned(fold.rows, signs), _turned(fold.axes.T, signs).T
                turned += _log_errors(A, V, most, floor).sum(axis=1) / (n * len(turns))
        logs = total / p
        centers = logs.mean(axis=1)
        best = int(np.argmin(centers))
        apart = logs - logs[best]
        spread = apart.std(axis=1, ddof=1) / np.sqrt(n)
        if (
            enough is not None
            and (centers[: enough + 1] - centers[best] > CLEAR * spread[: enough + 1]).all()
        ):
            break
    errors = np.exp(centers)
    return CrossValidation(errors, errors * spread, np.exp(turned)), first


@dataclass(frozen=True)
class Fold:
    """Rows that are held out, and axes of the others.

    Attributes
    ----------
    held : ndarray of bool of shape (n,)
    rows : ndarray of shape (m, d)
        These rows less the mean of the others.
    axes : ndarray of shape (d, k)
        Largest variance first.
    """

    held: Array
    rows: Array
    axes: Array


def divided(n: int) -> Array:
    return np.arange(n) % N_FOLDS


def folds_of(X: Array, division: Array, most: int) -> Iterator[Fold]:
    """The folds of a division of the rows, with `most` axes; sums of products are found once for all."""
    n, d = X.shape
    Z = X - X.mean(axis=0)
    wide = d > n - int(np.bincount(division).max())
    products = Z @ Z.T if wide else Z.T @ Z
    scatter = float(np.trace(products))
    for f in range(min(N_FOLDS, n)):
        held = division == f
        left = n - int(held.sum())
        mean = Z[held].sum(axis=0) / -left
        if wide:
            C = products[np.ix_(~held, ~held)]
            C = C - C.mean(axis=0)
            C = C - C.mean(axis=1)[:, None]
        else:
            C = products - Z[held].T @ Z[held] - left * np.outer(mean, mean)
        if float(np.trace(C)) < LEAST_LEFT * scatter:  # the digits are gone with the rows
            rest = Z[~held] - Z[~held].mean(axis=0)
            C = rest @ rest.T if wide else rest.T @ rest
        values, axes = leading_eigenpairs(C, min(most, len(C)))
        if wide:
            keep = values > 1e-12 * max(float(values[0]), np.finfo(np.float64).tiny)
            axes = (Z[~held] - mean).T @ axes[:, keep] / np.sqrt(values[keep])
        yield Fold(held, Z[held] - mean, axes)


def _log_errors(A: Array, V: Array, most: int, floor: float, weights: Array | None = None) -> Array:
    """Logarithms of the errors (most + 1, n) of predicted cells; beyond the axes there are the last ones."""
    share = np.full(A.shape, 1.0 / A.shape[1]) if weights is None else weights / weights.sum(axis=1)[:, None]
    found = [np.einsum("ij,ij,ij->i", e, e, share) for e in predicted_cell_errors(A, V)]
    return 0.5 * np.log(np.maximum(found + found[-1:] * (most + 1 - len(found)), floor))


def predicted_cell_errors(A: Array, V: Array) -> Any:
    """Errors of cells predicted by the others of their row, for 0, 1, ... of the orthonormal columns of V.

    Yields
    ------
    ndarray of shape (n, d)
    """
    residuals, h = A, np.zeros(A.shape[1])
    yield residuals
    for v in V.T:
        residuals = residuals - (residuals @ v)[:, None] * v
        h = h + v * v
        errors, alone = residuals / np.maximum(1 - h, 1e-10), h >= 1 - 1e-10
        # A column that a component consists of cannot be predicted: its mean is all there is.
        errors[:, alone] = A[:, alone]
        yield errors


def _turned(X: Array, signs: Array) -> Array:
    """The rows in other orthonormal coordinates, to each of which all columns contribute."""
    for sign in signs:
        X = dct(X * sign, norm="ortho", axis=1)
    return X


def principal_axes(A: Array, most: int | None = None) -> tuple[Array, Array]:
    """Variances and axes (d, r) of centered rows, largest first, `most` at most; none without variance."""
    n, d = A.shape
    C = (A.T @ A if d <= n else A @ A.T) / max(n - 1, 1)
    values, U = leading_eigenpairs(C, min(most or len(C), len(C)))
    if d <= n:
        return np.maximum(values, 0.0), U
    keep = values > 1e-12 * max(float(values[0]), np.finfo(np.float64).tiny)
    values, U = values[keep], U[:, keep]
    return values, (A.T @ U) / np.sqrt(max(n - 1, 1) * values)
