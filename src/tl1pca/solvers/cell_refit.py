"""The last step of a cellwise fit: least squares that cost nothing where no cell is bad.

Weights that fall with the residual protect while it is not known which cells
are bad, and lose a little of what all good ones say. Once a fit is there, its
residuals show how many there are: a cell counts by the share of good ones among
those whose residuals are of its size. In a clean table that is one for nearly
all of them, long tails included, with far cells one up to where these begin,
and less from two deviations on where many are a little off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from .cellwise import (
    CellFit,
    CellLoss,
    CellPlane,
    Cells,
    Loadings,
    orthonormal,
    residual_variances,
    solve_scores,
)

Array = NDArray[Any]

#: Classes of residuals by their size, in deviations; nothing beyond the last edge is good.
EDGES = np.linspace(0.0, 6.0, 61)
#: Number of classes, up to one deviation, by which good cells are counted: bad ones are few there.
MIDDLE = 10
#: First class of those in which next to no cell is good: their number says how near the bad ones come.
ALL_BAD = 45
#: Degrees of freedom of the longest tail that good cells may have: rows and columns differ in their noise,
#: and units are a few percent off.
LONG = 6.0

_NORMAL = 2.0 * np.diff(ndtr(EDGES))
_LONG = 2.0 * np.diff(stdtr(LONG, EDGES * stdtrit(LONG, 0.75) / ndtri(0.75)))  # with the same quartiles


def good_shares(counts: Array) -> Array:
    """Share of good cells in every class of residuals, from the numbers of cells in them.

    Good cells are as many as the normal density says, from those in the middle. There are more of them, a
    longer tail, where far classes are nearly empty: bad cells are taken to be no more frequent nearer by
    than there. But no more than Student's t with `LONG` degrees of freedom has, and only a part of that
    where the excess over the normal density, in all classes together, is larger than it can explain.

    Parameters
    ----------
    counts : ndarray of shape (len(EDGES),)
        Of the classes between the edges, and of all beyond.

    Returns
    -------
    ndarray of shape (len(EDGES),)
        Never rising with the size of the residual.
    """
    seen = counts[:-1]
    normal, long = (
        min(float(counts[:MIDDLE].sum() / usual[:MIDDLE].sum()), counts.sum()) * usual
        for usual in (_NORMAL, _LONG)
    )
    excess, tail = (np.maximum(x - normal, 0.0)[MIDDLE:].sum() for x in (seen, long))
    more = np.maximum(np.minimum(long, seen - seen[ALL_BAD:].mean()) - normal, 0.0)
    good = normal + more * min(1.0, tail / max(excess, 1e-300))
    ratio = np.where(seen > 0, good / np.maximum(seen, 1), 1.0)
    shares = isotonic_regression(ratio, weights=np.maximum(seen, 1e-9), increasing=False).x
    return np.append(np.minimum(shares, 1.0), 0.0)


@dataclass(frozen=True)
class _Trusted:
    """Cells of the rows of a fit, in blocks, with the class of the residual of each."""

    cells: Cells
    rows: Array
    classes: Array
    shares: Array

    def __iter__(self) -> Iterator[tuple[Array, Cells, Array]]:
        """Numbers of rows, their cells and the weights of these."""
        for index in trusted_blocks(self.cells, self.rows):
            some = self.cells.take(index)
            yield index, some, self.shares[self.classes[index]] * some.mask

    @classmethod
    def of(cls, cells: Cells, fit: CellFit, rows: Array) -> _Trusted:
        classes = np.zeros(cells.mask.shape, dtype=np.uint8)
        counts = np.zeros(len(EDGES))
        correction = _freedom(cells.mask, rows, len(fit.plane.variances))
        for index in trusted_blocks(cells, rows):
            some = cells.take(index)
            R = some.values - fit.plane.center - fit.scores[index] @ fit.plane.V.T
            W = CellLoss.cell_weights(R, some.mask)
            R *= correction / np.sqrt(residual_variances(W, fit.plane.V))
            classes[index] = np.searchsorted(EDGES, np.abs(R), side="right") - 1
            counts += np.bincount(classes[index][some.mask], minlength=len(EDGES))
        return cls(cells, rows, classes, good_shares(counts))


def trusted_blocks(cells: Cells, rows: Array) -> Iterator[Array]:
    """Numbers of the rows of the fit, some at a time."""
    return (part.start + np.flatnonzero(rows[part]) for part in cells.blocks())


def _freedom(mask: Array, rows: Array, k: int) -> Array:
    """Each column is fitted by its own loadings and center, which take k + 1 of its residuals."""
    count = np.maximum(mask[rows].sum(axis=0), 1.0)
    return np.sqrt(count / np.maximum(count - k - 1, 1.0))


def refit_cells(cells: Cells, fit: CellFit, rows: Array, least: Array) -> tuple[CellPlane, Array, Array]:
    """Weighted least squares over the cells of the rows of the fit, in units from their residuals.

    One step from the scores to the loadings: the fit to start from is near.

    Parameters
    ----------
    cells : Cells
        In units of the noise of each column; they are turned to the new ones in place.
    fit : CellFit
        A robust one.
    rows : ndarray of bool of shape (n,)
    least : ndarray of shape (d,)
        Units that cannot be smaller.

    Returns
    -------
    plane : CellPlane
        In the new units.
    scores : ndarray of shape (n, k)
        Of the rows of the fit; those of others are zero.
    unit : ndarray of shape (d,)
        The new units, in the old ones.
    """
    trusted = _Trusted.of(cells, fit, rows)
    new = np.maximum(_noise(trusted, fit.plane), least)
    plane, U = orthonormal(fit.plane.center / new, fit.plane.V / new[:, None], fit.scores, rows)
    for part in cells.blocks():
        cells.values[part] /= new
    loadings = Loadings(*plane.V.shape)
    for index, some, W in trusted:
        U[index] = solve_scores(some.values - plane.center, W, plane.V)
        loadings.add(some.values, W, U[index])
    plane, U = orthonormal(*loadings.solve(plane), U, rows)
    return plane, np.where(rows[:, None], U, 0.0), new


def _noise(trusted: _Trusted, plane: CellPlane) -> Array:
    """Root mean squares of the residuals of the columns."""
    count, squares = (np.zeros(len(plane.center)) for _ in range(2))
    for _, some, W in trusted:
        deviations = some.values - plane.center
        R = deviations - solve_scores(deviations, W, plane.V) @ plane.V.T
        squares += (W * R * R / residual_variances(W, plane.V)).sum(axis=0)
        count += W.sum(axis=0)
    freedom = _freedom(trusted.cells.mask, trusted.rows, len(plane.variances))
    return freedom * np.sqrt(squares / np.maximum(count, 1.0))
