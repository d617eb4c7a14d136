"""Columns of few or rounded values: yes and no, grades, counts, one decimal.

The scale of such a column is not what a main mode says, which is often a
single value. A rounded value lies within half a step of what is written, and a
value that many rows have is no slip.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..statistics import main_mode

Array = NDArray[Any]

#: Share of the rows with the same value that makes it a level of its column.
LEVEL_SHARE = 0.01
#: Levels that a column of grades has at most; with more of them it is a rounded one.
MOST_LEVELS = 12
#: Levels that more steps part are no neighbors: more than three, which rounding is not to decide.
APART = 3.0 + 1e-6
#: The second of two levels is a code where the other values are so many times nearer to the first.
NEXT = 10.0
#: Share of the cells of a column of grades that are at one of its levels.
GRADED = 0.75
#: Share of the cells, and number of them, on one side of a value that most rows have, beyond which they are
#: no slips; the largest share of one value among them, or it may be a code; and the share of usual ones.
OTHERS, LEAST_OTHERS, ONE_VALUE, USUAL = 0.05, 5, 0.6, 0.99


@dataclass(frozen=True)
class Levels:
    """What is known of the values of every column.

    Attributes
    ----------
    step : ndarray of shape (d,)
        From one value to the next; 0 where values are hardly ever repeated.
    low, high : ndarray of shape (d,)
        Between them values are too common to be slips; low is above high where nothing is said.
    middle, size : ndarray of shape (d,)
        Median of the values, and their usual distance from it.
    place : ndarray of int of shape (d,)
        Place of every column in an order that the data decide.
    side : ndarray of shape (d,)
        Side on which its rows lie farther out, 1 or -1.
    """

    step: Array
    low: Array
    high: Array
    middle: Array
    size: Array
    place: Array
    side: Array

    @property
    def common(self) -> Array:
        """Mask of the columns with common values, which say themselves how far good cells reach."""
        return self.low <= self.high

    def reach(self, location: Array) -> Array:
        """How far from where it is expected a common value may lie.

        With more than two of them that is the location of the column: a grade far from all that the others
        say may be wrong. Of yes and no one may be where the other is expected, and nothing is wrong.
        """
        far = np.maximum(np.maximum(location - self.low, self.high - location), 0.0)
        between = np.maximum(self.high - self.low, 0.0)
        return np.where((self.step > 0) & (between < 1.5 * self.step), between, far)

    def blur(self, X: Array, mask: Array) -> Array:
        """Where in their step the cells might lie, less its middle: (n, number of columns with steps).

        A draw by the row itself, so that it depends neither on a seed nor on the order of rows and columns
        nor on what their values are counted from, and in which direction.
        """
        which = np.flatnonzero(self.step)
        if not len(which):
            return np.zeros((len(X), 0))
        # Fractional parts of multiples of irrational numbers are spread evenly; one is added, as they jump at
        # zero, where a row of middle values would be.
        U = self.side * _from_middle(X, mask, self.middle, self.size)
        row = 30.0 * (1.0 + U @ np.sqrt(self.place + 2.5))
        drawn = np.outer(row, np.cbrt(self.place[which] + 2.0)) % 1.0 - 0.5
        return drawn * (self.side * self.step)[which] * mask[:, which]


def find_levels(A: Array, mask: Array) -> Levels:
    """Steps and common values of every column.

    - Grades: values that many rows have, next to each other, and most of the
      column. A code such as 999 is not next to them.
    - Rounded values: most of them are repeated.
    - One value that most rows have, among others that differ, as of amounts
      that are mostly zero: nearly all of the others on its side are common,
      if there are enough of them, as far as their main mode says.

    Parameters
    ----------
    A : ndarray of shape (n, d)
    mask : ndarray of bool of shape (n, d)

    Returns
    -------
    Levels
    """
    d = A.shape[1]
    step, low, high = np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf)
    middle, size = np.zeros(d), np.ones(d)
    for j, seen in enumerate(mask.T):
        x = A[seen, j]
        middle[j] = np.median(x)
        away = np.abs(x - middle[j])
        size[j] = np.median(away) or away.max() or 1.0
        values, counts = np.unique(x, return_counts=True)
        if len(values) == 1 or counts[counts > 1].sum() < 0.5 * len(x):
            continue
        many = counts >= max(2.0, LEVEL_SHARE * len(x))
        near, gap = _neighbors(values[many], counts[many])
        top, mostly = values[np.argmax(counts)], counts.max() > 0.5 * len(x)
        rare, others = values[~np.isin(values, near)], np.isin(x, near[near != top]).sum()
        slips = len(near) == 2 and others <= max(LEAST_OTHERS, OTHERS * len(x))
        if slips and len(rare) > 2 and NEXT * np.median(np.abs(rare - top)) < gap:
            near = near[:1]  # a code: the other values lie much nearer to the usual one
        if 1 < len(near) <= MOST_LEVELS and np.isin(x, near).mean() > GRADED:
            step[j], low[j], high[j] = gap, near[0], near[-1]
        elif not mostly:
            step[j] = np.median(np.diff(values))
        below, above = (_usual_reach(away[away > 0], len(x)) for away in (top - x, x - top))
        if mostly and max(below, above) > 0:
            low[j], high[j] = min(low[j], top - below), max(high[j], top + above)
    U = _from_middle(A, mask, middle, size)
    size_of_row = (U * U).sum(axis=1)
    lean = U.T @ size_of_row
    # Not by rounding: a column as even as yes and no, half each, may lean to neither side.
    side = np.where(lean < -1e-9 * (np.abs(U).T @ size_of_row), -1.0, 1.0)
    U *= side
    place = np.argsort(np.argsort(U.T @ (U + U * U).sum(axis=1), kind="stable"))
    return Levels(step, low, high, middle, size, place, side)


def _from_middle(X: Array, mask: Array, middle: Array, size: Array) -> Array:
    """Cells in usual distances from the middle of their columns, wild ones cut; missing ones are zero."""
    return np.where(mask, np.clip((X - middle) / size, -9.0, 9.0), 0.0)


def _usual_reach(away: Array, n: int) -> float:
    """How far from the value that most of n cells have the others on one side usually lie.

    Amounts differ by factors, so it is the main mode of their logarithms that tells, which slips do not move.
    Where most of them are one value, or they are few, they may be a code or slips: zero.
    """
    if len(away) <= max(OTHERS * n, LEAST_OTHERS):
        return 0.0
    if np.unique(away, return_counts=True)[1].max() > ONE_VALUE * len(away):
        return 0.0
    location, scale = main_mode(np.log(away), len(away) // 2 + 1)
    return float(np.exp(location + float(ndtri(USUAL)) * scale))


def _neighbors(levels: Array, counts: Array) -> tuple[Array, float]:
    """Levels next to each other, increasing, that most of the cells have, and their step.

    Those around the most frequent level, without the ones that some steps part from it; unless others have
    more cells, as where the most frequent level is a code.
    """
    best, step, most = levels[:1], 0.0, 0
    left = np.ones(len(levels), dtype=bool) if len(levels) > 1 else np.zeros(0, dtype=bool)
    while counts[: len(left)][left].sum() > most:
        top, gaps = int(np.argmax(np.where(left, counts, 0))), np.diff(levels)
        gap = float(min(gaps[max(top - 1, 0)], gaps[min(top, len(gaps) - 1)]))
        wide = np.flatnonzero(gaps > APART * gap)
        first, last = max(wide[wide < top] + 1, default=0), min(wide[wide >= top] + 1, default=len(levels))
        if gap > APART * np.median(gaps[first : last - 1]):  # far from all others, which are near each other
            first, last = top, top + 1
        elif counts[first:last].sum() > most:
            best, step, most = levels[first:last], gap, counts[first:last].sum()
        left[first:last] = False
    return best, step
