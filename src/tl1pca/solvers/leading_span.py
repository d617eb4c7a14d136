"""Rows of many columns in a span that holds the plane they have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._arrays import to_numpy
from .._threads import one_thread
from ..location import column_medians
from ..rows import DenseRows, Rows, SpannedRows
from ..statistics import subsample
from .axes import spherical_span

Array = NDArray[Any]

#: Directions of the span, at least.
SPAN = 100
#: Rows of many columns that tell their center and their noise.
CENTER_ROWS = NOISE_ROWS = 300


def has_leading_span(size: int, n_components: int | float) -> bool:
    """Whether the plane of so many rows, or columns if they are fewer, is sought in a span of few directions.

    A share of the variance needs all directions.
    """
    return isinstance(n_components, int) and size >= 4 * _span_size(n_components)


@dataclass(frozen=True)
class Span:
    """Rows in coordinates of center + span(axes), and the way back; without axes in their columns."""

    rows: SpannedRows
    muted: Array
    center: Array | float = 0.0
    axes: Array | None = None

    def point(self, c: Array) -> Array:
        return c if self.axes is None else self.center + self.axes @ c

    def directions(self, W: Array) -> Array:
        return W if self.axes is None else self.axes @ W


def leading_span(sample: Rows, muted: Array, n_components: int | float) -> Span:
    """Rows in a span of the leading axes of spherical PCA, where they and their columns are many.

    A row has one say in these axes however far out it lies, and they are many
    times as many as those of the plane: what is left outside is noise, and
    rows so far off in directions of their own that its length tells.
    """
    m, d = sample.shape
    every = np.arange(m)
    if not has_leading_span(min(m, d), n_components):
        return Span(SpannedRows(sample.gather_rows(every), None, d), muted)
    if muted.any():
        A = sample.gather_rows(every)
        A[:, muted] = 0.0
        sample = DenseRows(A)
    center = column_medians(sample.subset(subsample(m, CENTER_ROWS)))
    sample = sample.shifted(center)
    axes = spherical_span(sample, _span_size(int(n_components)), steps=2)
    T, outside = (sample.gather_scores(z, every) for z in sample.scores_and_distances(axes))
    return Span(
        SpannedRows(T, outside, d), np.zeros(T.shape[1], dtype=bool), to_numpy(center), to_numpy(axes)
    )


def _span_size(n_components: int) -> int:
    return max(SPAN, 4 * n_components)


def noise_variance(A: Array, k: int) -> float:
    """Variance of the rows in a direction beyond the first k.

    The median one, corrected after Marchenko and Pastur.
    """
    m, d = A.shape
    A = A - A.mean(axis=0)
    with one_thread():
        squares = linalg.eigvalsh(A @ A.T if m < d else A.T @ A, check_finite=False)[::-1][: min(d, m - 1)]
    ratio = d / m
    median = max(float(np.median(squares[k:])), 1e-14 * float(squares[0])) / (m - 1)
    return median / (1 - ratio / 3 if ratio <= 1 else ratio - 1 / 3)
