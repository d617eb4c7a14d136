"""Which rows are bad once their bad cells are repaired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from .._flags import Cutoffs
from ..statistics import main_mode
from .cellwise import CellAssessment, CellPlane, Cells, judge_cells, robust_scores
from .plane import LEVEL, mode_quantile, score_cutoff

Array = NDArray[Any]

#: Share of the rows of the fit that are good, at least.
TRUSTED = 0.8
#: Share of bad cells that a good row may have in any table: one of ten cells is no surprise.
USUAL_RATE = 0.05
#: A bad row says no more about what bad rows have in common than one that is this many deviations off.
MOST_DEVIATIONS = 10.0


@dataclass(frozen=True)
class Common:
    """What bad rows have in common: directions off the plane, and the variances of all rows along them.

    A row that lies along one of them is bad as a whole. Without them its cells
    would be taken for bad ones, one by one, and repaired until it looks good.

    Attributes
    ----------
    axes : ndarray of shape (d, e)
        Orthonormal, and orthogonal to the plane.
    variances : ndarray of shape (e,)
    """

    axes: Array
    variances: Array

    def added_to(self, plane: CellPlane) -> CellPlane:
        """The plane and these directions."""
        variances = np.concatenate([plane.variances, self.variances])
        return CellPlane(plane.center, np.column_stack([plane.V, self.axes]), variances)


def common_directions(cells: Cells, plane: CellPlane, vectors: Array, rows: Array) -> Common:
    """Directions in which the rows outside the fit leave the plane together.

    Parameters
    ----------
    cells : Cells
    plane : CellPlane
    vectors : ndarray of shape (d, v)
        Directions in which the cells of all rows, bad ones among them, go together.
    rows : ndarray of bool of shape (n,)
        Rows of the fit.

    Returns
    -------
    Common
        Directions along which bad rows have more variance, over all rows, than the noise has.
    """
    Q = np.linalg.qr(vectors)[0]
    left, sines, _ = np.linalg.svd(Q - plane.V @ (plane.V.T @ Q), full_matrices=False)
    off = left[:, sines > np.sqrt(0.5)]  # the others turn toward the plane rather than away from it
    outside = np.flatnonzero(~rows)
    if not off.shape[1] or not len(outside):
        return Common(off[:, :0], np.zeros(0))
    free = Common(off, np.full(off.shape[1], MOST_DEVIATIONS**2))
    scores = robust_scores(cells.take(outside), free.added_to(plane))[:, -off.shape[1] :]
    scores *= np.minimum(1.0, MOST_DEVIATIONS / np.maximum(np.linalg.norm(scores, axis=1), 1e-300))[:, None]
    variances, turn = np.linalg.eigh(scores.T @ scores / len(rows))
    more = variances > 1.0
    return Common(off @ turn[:, more], variances[more])


@dataclass(frozen=True)
class RowEvidence:
    """What speaks against rows whose bad cells are repaired.

    Attributes
    ----------
    residual : ndarray of shape (n,)
        Standard normal for good rows, from the squares of the residuals that are left.
    bad, seen : ndarray of int of shape (n,)
        Bad cells and observed ones.
    """

    residual: Array
    bad: Array
    seen: Array

    def distances(self, rate: float, usual: float, free: int) -> Array:
        """Orthogonal distances in deviations, as if all cells had been seen.

        That of a row of Gaussian noise with `free` degrees of freedom which is as unusual as the residuals
        and the number of bad cells together, where good rows have bad cells at the given rate and residuals
        of the usual size: less than zero where units are larger than the noise, as those of grades.
        """
        strange = surprise(self.bad, self.seen, max(rate, USUAL_RATE))
        # Residuals that are small because so many cells were put aside do not speak for a row.
        unusual = np.where(strange > 1.0, np.maximum(self.residual, usual), self.residual) + strange
        return np.where(self.seen > 0, np.sqrt(_square_of(unusual, max(free, 1))), 0.0)


def row_evidence(
    cells: Cells, plane: CellPlane, found: CellAssessment, common: Common, tails: Array, first: Array
) -> RowEvidence:
    """Rows are repaired by the plane and by what bad rows have in common.

    Parameters
    ----------
    cells : Cells
    plane : CellPlane
    found : CellAssessment
        What the plane alone says of the cells.
    common : Common
    tails : ndarray of shape (2, d)
        Shapes of the long tails of good cells, see `tail_shapes`.
    first : ndarray of shape (n, k + e)
        `first_scores` of the plane and what bad rows have in common.

    Returns
    -------
    RowEvidence
    """
    (d, k), e = plane.V.shape, len(common.variances)
    if e:
        wider = common.added_to(plane)
        found = judge_cells(cells, wider, e, first).within(tails)
    seen, bad, left = cells.mask.sum(axis=1), found.flags.sum(axis=1), left_cells(cells, found)
    count = left.sum(axis=1)
    # The residuals are corrected for their leverage, so their mean square is that of the noise.
    free = np.maximum(count - k - e, 1)
    squares = (np.where(left, found.residuals, 0.0) ** 2).sum(axis=1) * free / np.maximum(count, 1)
    squares += count / d * (found.scores[:, k:] ** 2).sum(axis=1)
    return RowEvidence(_normal_score(squares, free + e), bad, seen)


def left_cells(cells: Cells, found: CellAssessment) -> Array:
    """Mask of the cells that the repair of rows leaves as they are.

    A row of which more than half would have to be repaired is none: it stays as it is.
    """
    few = found.flags.sum(axis=1) <= 0.5 * cells.mask.sum(axis=1)
    return np.asarray(cells.mask & ~(found.flags & few[:, None]))


def _normal_score(squares: Array, free: Array) -> Array:
    """Chi-squared values as standard normal ones (Wilson and Hilferty 1931)."""
    return (np.cbrt(squares / free) - (1.0 - 2.0 / (9.0 * free))) / np.sqrt(2.0 / (9.0 * free))


def _square_of(score: Array, free: int) -> Array:
    """The inverse of `_normal_score`."""
    return free * np.maximum(1.0 - 2.0 / (9.0 * free) + score * np.sqrt(2.0 / (9.0 * free)), 0.0) ** 3


def surprise(bad: Array, seen: Array, rate: float) -> Array:
    """Normal score of more bad cells than the rate makes usual, the root of the deviance; else zero."""
    share = np.clip((bad - 0.5) / np.maximum(seen, 1), 0.0, 1.0)
    deviance = 2.0 * seen * (xlogy(share, share / rate) + xlogy(1.0 - share, (1.0 - share) / (1.0 - rate)))
    return np.where(share > rate, np.sqrt(np.maximum(deviance, 0.0)), 0.0)


def row_cutoffs(score_distances: Array, orthogonal_distances: Array, rows: Array, k: int) -> Cutoffs:
    """Cut-offs from the rows of the fit: the main mode of orthogonal distances, F for score distances.

    Powers of 2/3 of the orthogonal distances are nearly normal (Hubert et al. 2005). Next to all rows of the
    fit are good, so that their mode is sought among most of them: the shortest half of few is a clump.

    Parameters
    ----------
    score_distances, orthogonal_distances : ndarray of shape (n,)
    rows : ndarray of bool of shape (n,)
        Rows of the fit.
    k : int
        Dimension of the plane.

    Returns
    -------
    Cutoffs
    """
    inside = np.cbrt(orthogonal_distances[rows] ** 2)
    n = len(inside)
    location, scale = main_mode(inside, min(int(TRUSTED * n) + 1, n))
    orthogonal = max(max(location + mode_quantile(LEVEL, n) * scale, 0.0) ** 1.5, 1e-9)
    score = score_cutoff(score_distances[rows & (orthogonal_distances <= orthogonal)], k, n)
    return Cutoffs(score, orthogonal, tilt=n + 1.0)
