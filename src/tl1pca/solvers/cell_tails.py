"""How far good cells reach on either side of each column: limits that follow long tails.

Columns of amounts, times or concentrations are skewed. What is left of them by a plane has a long
tail of good cells on one side, where a limit for normal noise would call a tenth of them bad. A tail
goes on from the middle and thins out as it goes; bad cells lie apart, or as often far off as near by.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[Any]

#: Classes of residuals by their size, in deviations; what lies beyond the last edge says nothing of tails.
EDGES = np.concatenate([np.arange(0.0, 3.0, 0.25), np.geomspace(3.0, 48.0, 17)])
#: First class of those that a normal side hardly reaches, and the share of its cells that may lie there.
FAR, FAR_SHARE = 12, 0.01
#: Shapes of tails: a side is (exp(g z) - 1)/g of a normal z, lognormal from the middle on; 0 is normal.
SHAPES = np.linspace(0.0, 1.4, 8)
#: Below it a side is normal: its limit would be less than two percent longer.
LEAST_SHAPE = 0.01
#: Shares of bad cells among those of a side, middles of bumps of them, and how far evenly spread ones reach.
SHARES = (0.05, 0.15, 0.3, 0.45)
BUMPS = np.geomspace(2.5, 42.0, 22)
REACHES = (9.0, 13.0, 18.0, 26.0, 36.0, 49.0)
#: Share of the bad cells of a side that lie anywhere, whatever the others do.
STRAYS = 0.01
#: Rows that tell the tails; more would not change them.
TAIL_ROWS = 2000
#: Normal sides without bad cells that stand for what is known of all sides before any is seen.
PRIOR_SIDES = 3.0
#: Rounds in which the sides learn from each other.
ROUNDS = 10


def telling_rows(rows: Array) -> Array:
    """Numbers of the rows that tell the tails: those of the fit, or some of them."""
    index = np.flatnonzero(rows)
    return index[:: max(1, -(-len(index) // TAIL_ROWS))]


def tail_shapes(residuals: Array, mask: Array, rows: Array, columns: Array) -> Array:
    """Shapes g of the tails of good cells, (2, d): below and above the fit; 0 where normal noise says it all.

    Parameters
    ----------
    residuals : ndarray of shape (n, d)
        In deviations, as if all noise were normal.
    mask : ndarray of bool of shape (n, d)
        Observed cells.
    rows : ndarray of bool of shape (n,)
        Rows of the fit.
    columns : ndarray of bool of shape (d,)
        Those whose tails are asked for; the others have none.
    """
    index, d = telling_rows(rows), residuals.shape[1]
    shapes = np.zeros(2 * d)
    counts = _counts(residuals, mask, index, columns)
    long = counts[:, FAR:].sum(axis=1) > np.maximum(1.0, FAR_SHARE * counts.sum(axis=1))
    if long.any():
        shapes[long] = _mean_shapes(counts[long], float(np.count_nonzero(~long)))
    return shapes.reshape(2, d)


def _counts(residuals: Array, mask: Array, index: Array, columns: Array) -> Array:
    """Cells of some rows in the classes of all sides, (2 d, classes): those below the fit first."""
    d, last = len(columns), len(EDGES) - 1
    counts = np.zeros((2, d, last))
    for j in np.flatnonzero(columns):  # one by one, as the table of all classes would be as large as the rows
        R = residuals[index[mask[index, j]], j]
        size = np.searchsorted(EDGES, np.abs(R), side="right") - 1
        found = np.bincount(np.where(R > 0, size, size + last + 1), minlength=2 * last + 2)
        counts[1, j], counts[0, j] = found[:last], found[last + 1 : -1]
    return counts.reshape(2 * d, last)


@lru_cache
def _laws() -> tuple[Array, Array]:
    """Log shares of classes, (shapes, mixtures, classes), and the shares of the mixtures.

    A mixture is a tail with nothing else, or with bad cells: normal around some distance, or evenly
    spread from three deviations up to one. Half of the sides have none until their cells speak.
    """
    tails = []
    for g in SHAPES:
        z = np.log1p(g * EDGES) / g if g > 0 else EDGES
        share = np.diff(ndtr(z))
        tails.append(share / share.sum())
    wide = [(b, width) for b in BUMPS for width in (1.0, max(2.0, 0.25 * b))]
    bad = [np.diff(ndtr((EDGES - b) / width)) for b, width in wide]
    bad += [np.where((EDGES[:-1] >= 3.0) & (EDGES[1:] <= most), np.diff(EDGES), 0.0) for most in REACHES]
    anywhere = bad[-1] / bad[-1].sum()
    bad = [(1.0 - STRAYS) * b / b.sum() + STRAYS * anywhere for b in bad]
    shares = [np.zeros(len(EDGES) - 1)] + [e * b for b in bad for e in SHARES]
    rest = np.array([1.0] + [1.0 - e for _ in bad for e in SHARES])
    laws = np.array(tails)[:, None] * rest[:, None] + np.array(shares)
    first = np.full(len(rest), 0.5 / (len(rest) - 1))
    first[0] = 0.5
    return np.log(np.maximum(laws, 1e-7)), first


def _mean_shapes(counts: Array, normal: float) -> Array:
    """Mean shape of each side, given its cells and what is common to all sides.

    Which tails and which bad cells there are is learned from all sides together (empirical Bayes,
    by EM): in few rows a single side hardly tells the ones from the others.

    Parameters
    ----------
    counts : ndarray of shape (sides, classes)
    normal : float
        Number of further sides, which are normal.
    """
    laws, first = _laws()
    shapes, mixtures, classes = laws.shape
    logs = counts @ laws.reshape(-1, classes).T
    logs -= logs.max(axis=1, keepdims=True)
    likely = np.exp(logs).reshape(-1, shapes, mixtures)
    total = len(counts) + normal + PRIOR_SIDES
    tails, bad = np.full(shapes, 1.0 / shapes), first
    for _ in range(ROUNDS):
        of_tail = likely @ bad
        share = 1.0 / (of_tail @ tails)
        new = tails * (share @ of_tail)
        new[0] += normal + PRIOR_SIDES
        of_bad = np.tensordot(share, likely, axes=1)
        bad = (bad * (tails @ of_bad) + (normal + PRIOR_SIDES) * first) / total
        tails = new / total
    known = tails * (likely @ bad)
    shapes = known @ SHAPES / known.sum(axis=1)
    return np.where(shapes < LEAST_SHAPE, 0.0, shapes)
