"""The majority of rows nearest to a plane of their own, from the least outlying ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rows import Rows
from .judging import ROWS_PER_AXIS
from .outlyingness import majority_of
from .plane import Plane, fit_limit, free_distances, plane_distances, weighted_plane

Array = NDArray[Any]

#: The plane starts from this share of the trusted rows, the least outlying ones.
START_SHARE = 0.6
#: By this share of their squares the nearest rows must come nearer for another round of concentration.
SETTLED = 0.005


def start_rows(order: Array, count: int, q: int) -> Array:
    """The rows that the plane starts from, the least outlying ones."""
    return order[: int(max(START_SHARE * count, min(count, ROWS_PER_AXIS * q)))]


def nearest_majority(sample: Rows, order: Array, q: int, count: int, muted: Array, tol: float) -> Any:
    """At least `count` rows that lie near one plane of q dimensions, from the least outlying ones.

    What a gap separates may be bad or another group of good rows. So the rows
    that are left, those in `order`, are data of their own: of them a majority
    is concentrated, as more of them may be bad than of all, and then those
    within its limit are taken. Where these are too few, the others have their
    say, but only then: near to a plane of few rows as they may be, they lie
    far out and would turn it.
    """
    n, some = sample.shape[0], majority_of(len(order), count, sample.shape[0])
    keep, far = concentrate(sample, order, start_rows(order, some, q), q, some, muted, tol)
    if some == count:
        return keep
    far = far[order]
    found = order[far <= max(fit_limit(far, some, tol), np.partition(far, some - 1)[some - 1])]
    if len(found) >= count:
        return mask_of(sample, found)
    return concentrate(sample, np.arange(n), found, q, count, muted, tol)[0]


def concentrate(
    sample: Rows, order: Array, first: Array, q: int, count: int, muted: Array, tol: float
) -> tuple[Any, Array]:
    """PCA of the rows kept and the `count` rows nearest to it, in turn, while these come nearer.

    From the rows `first`; `order` are those that may be kept. A fixed number:
    where no gap divides good from bad rows, a limit would take the bad ones in
    one by one. With fewer than five rows for each axis the number says less
    than the limit, which is used then. Returns the rows kept, and the distances
    of all rows that they were chosen by.
    """
    keep, before = mask_of(sample, first), np.inf
    for _ in range(20):  # it settles after a few
        plane = weighted_plane(sample, keep, q, muted)
        far = _free(sample, plane, keep, tol)
        near = order[np.argsort(far[order], kind="stable")]
        if count < ROWS_PER_AXIS * q:
            inside = far[near] <= max(fit_limit(far, count, tol), far[near[count - 1]])
            keep = mask_of(sample, near[inside])
        else:
            keep = mask_of(sample, near[:count])
        squares = float((far[near[:count]] ** 2).sum())
        if before - squares <= SETTLED * squares:
            break
        before = squares
    return keep, far


def _free(sample: Rows, plane: Plane, keep: Any, tol: float) -> Array:
    """`free_distances` of all rows to the plane of the rows kept, none below `tol`: rounding has no order."""
    _, *both = plane_distances(sample, plane)
    free = sample.map(partial(free_distances, plane.n_fit), *both, keep)
    return np.maximum(sample.gather_scores(free, np.arange(sample.shape[0])), tol)


def mask_of(sample: Rows, index: Array) -> Any:
    """Handle of ones at these rows, zeros elsewhere."""
    ones = np.zeros(sample.shape[0])
    ones[index] = 1.0
    return sample.asarray(ones)
