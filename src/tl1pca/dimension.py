"""How many components: the rule behind `n_components=None`, on rows that a robust fit trusts.

Bad rows have a variance as well, and a line of them becomes a component of any
fit that has room for it. So the number is looked for upwards: fit with k = 1,
2, ... components, count the components of the rows that this fit trusts, and
stop at the first k that is enough. A fit with a component too few may distrust
the rows that have most of it, a group for instance: where the next fit trusts
more rows and counts more, it goes on, if the rows that both trust have that
component as well. Two ways to count:

- element-wise cross-validation: every cell is predicted from the other cells of
  its row by components of other rows;
- parallel analysis: an eigenvalue counts if it exceeds that of noise with the
  same variances.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._predicted import CrossValidation, Fold, TrustedRows, divided, folds_of, principal_axes, validated
from .statistics import truncated_normal

Array = NDArray[Any]

#: Standard deviations above the mean of the null: the 99.5 % point of the Tracy-Widom law.
NULL_DEVIATIONS = 2.86
#: Components beyond this share of the variance do not count, however significant: the last hundredth of
#: smooth curves such as spectra is predictable as well.
SHARE = 0.99
#: Share of a column that makes a component its own.
OWN = 0.8
#: Variance of such a component over that of the noise: columns may well differ by less.
LARGE = 4.0
#: Standard deviation over median absolute deviation, of normal values.
NORMAL_MAD = 1.4826
#: Deviations of the bulk of some values beyond which a value is none of it.
WINDOW = 3.0
#: Share of further rows that the next fit trusts, from which on this one may have overlooked a component.
GAINED = 0.02
#: Variance along a direction that most rows share, over that of the noise: as much signal as noise.
SHARED = 2.0
#: Share of what a component has beyond the noise that the bulk of the rows must have where that is less.
BULK = 0.25
N_FLIPS = 20


def largest_count(rows: int, columns: int) -> int:
    """Components that can be judged: a third of the rows, and one column is left to be predicted."""
    return max(1, min(columns - 1, rows // 3))


def choose_dimension(
    trusted: Callable[[int], TrustedRows],
    most: int,
    *,
    method: str = "cross-validation",
    seed: int = 0,
    beyond: bool = False,
) -> int:
    """The first k whose trusted rows have no more than k components.

    Parameters
    ----------
    trusted : callable
        Takes k and returns the rows that a fit with k components trusts.
    most : int
        Largest answer; see `largest_count`.
    method : {"cross-validation", "parallel"}
    seed : int
        Of the folds and of the null: the same rows have the same answer.
    beyond : bool
        Whether components count beyond `SHARE` of the variance, see `needed`.

    Returns
    -------
    int
        At least one, as a fit needs a component.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2)) @ (5 * np.eye(2, 10)) + rng.normal(size=(100, 10))
    >>> choose_dimension(lambda k: TrustedRows(X), 9)
    2
    """
    counted = cache(lambda k: _count(trusted(k), k, most, method, seed, beyond))
    for k in range(1, most):
        here = counted(k)
        if here.count <= k and not _overlooked(here, counted(k + 1), k):
            return max(1, here.count)
    return most


def dimension_of_trusted(trusted: Callable[[int], TrustedRows], k: int, most: int) -> int:
    """The number of components, k at least, that the rows have which a fit with so many trusts.

    Unlike `choose_dimension` it goes to what is counted at once, and no further: rows that one more
    component lets in are rather bad than overlooked where the number is not asked for.
    """
    while (count := _count(trusted(k), k, most, "cross-validation", 0, True).count) > k:
        k = count
    return k


@dataclass(frozen=True)
class Count:
    """Components of the rows that a fit trusts: what the criterion says, and how many most rows have."""

    rows: TrustedRows
    claimed: int
    count: int


def _count(rows: TrustedRows, k: int, most: int, method: str, seed: int, beyond: bool) -> Count:
    few = rows.limited()
    if method == "parallel":  # the smaller k have been looked at
        claimed = 0 if k == 1 else k
        # To the first that is not above the null: what is left then is noise, by which `common` judges.
        while claimed < most and parallel_analysis(few, claimed + 1, first=claimed, seed=seed).count:
            claimed += 1
        shared = common(few, claimed)
    else:
        # Beyond k + 1: the error may rise at first, as one component of ten predicts little.
        found, folds = validated(few, min(2 * k + 10, most), seed, k)
        claimed = min(found.count + columns_of_their_own(few, found), found.turned_count)
        shared = common(few, claimed, folds)
    return Count(rows, claimed, min(shared, needed(few, beyond=beyond)))


def _overlooked(here: Count, there: Count, k: int) -> bool:
    """Whether the fit with k components has made the rows with a further one outliers."""
    n = len(here.rows.values)
    gained = len(there.rows.values) - n > GAINED * n
    return gained and there.count > k and shared_direction(here.rows, there.rows, k)


def shared_direction(rows: TrustedRows, others: TrustedRows, k: int) -> bool:
    """Whether what other rows have beyond k components is there in most of the rows as well.

    The direction is that of the largest variance which k components of the
    rows leave of the others. That of a line of bad rows is noise in the good
    ones, while a group or a long tail only has more of what all have. The rows
    are looked at in folds that had no part in components and direction.
    """
    rows, others = rows.limited(), others.limited()
    X, Y = rows.values, others.values
    n, d = X.shape
    along, residuals = np.zeros(n), np.zeros((n, d))
    axes: list[Array] = []
    for fold in folds_of(X, divided(n), k):
        mean, V = X[fold.held][0] - fold.rows[0], fold.axes
        B = Y[~np.isin(others.numbers, rows.numbers[fold.held])] - mean
        u = principal_axes(B - (B @ V) @ V.T, 1)[1]
        if not u.size:
            return False
        axes.append(np.hstack([V, u]))
        left = fold.rows - (fold.rows @ V) @ V.T
        along[fold.held] = (left @ u)[:, 0]
        residuals[fold.held] = left - (left @ u) @ u.T
    directions = np.sqrt(np.mean([W[:, -1:] ** 2 for W in axes], axis=0))
    leverages = np.mean([(W * W).sum(axis=1) for W in axes], axis=0)
    return bool(bulk_variance(along) > SHARED * _noise_along(residuals, leverages, directions)[0])


def common(rows: TrustedRows, count: int, folds: Sequence[Fold] | None = None) -> int:
    """How many of the first components most of the rows have.

    What a fit has left of a line of bad rows is a component of few rows: in
    the others it is noise. Scores of rows that had a part in a component are
    larger, with many columns so much so that noise looks like long-tailed
    signal. So every row is looked at along components of other rows, turned
    to those of all: most of their scores must vary `SHARED` times as much as
    the noise does. Less is enough if it is more than noise would have in their
    place (Marchenko and Pastur) and not what a quarter of the rows in a line
    make of it, which is little beside what these have themselves.

    Parameters
    ----------
    rows : TrustedRows
    count : int
    folds : sequence of Fold, optional
        With at least so many axes.

    Returns
    -------
    int
    """
    if count < 1:
        return 0
    n, d = rows.values.shape
    V = principal_axes(rows.values - rows.values.mean(axis=0), count)[1]
    folds = list(folds_of(rows.values, divided(n), count)) if folds is None else folds
    count = min([count, V.shape[1], *(fold.axes.shape[1] for fold in folds)])
    if count < 1:
        return 0
    scores, residuals, leverages, V = np.zeros((n, count)), np.zeros((n, d)), np.zeros(d), V[:, :count]
    for fold in folds:
        W = fold.axes[:, :count]
        found = fold.rows @ W
        left, _, right = np.linalg.svd(W.T @ V)
        scores[fold.held] = found @ (left @ right)
        residuals[fold.held] = fold.rows - found @ W.T
        leverages += (W * W).sum(axis=1) / len(folds)
    edge = (1.0 + np.sqrt(max(d - count, 1) / max(n - 1 - count, 1))) ** 2
    noise = _noise_along(residuals, leverages, V)
    bulk = np.array([bulk_variance(score) for score in scores.T])
    of_bulk = (bulk > edge * noise) & (bulk - noise > BULK * (scores.var(axis=0) - noise))
    return int(np.count_nonzero((bulk > SHARED * noise) | of_bulk))


def _noise_along(residuals: Array, leverages: Array, directions: Array) -> Array:
    """Noise variances along directions (d, m), from residuals that have lost a share of every column.

    What a column has lost counts as noise like that of the others.
    """
    squares = np.square(residuals).mean(axis=0)
    typical = float(squares.sum()) / max(float((1.0 - leverages).sum()), 1.0)
    return np.asarray((directions * directions).T @ (squares + typical * leverages))


def bulk_variance(values: Array) -> float:
    """Variance of the values about their median within `WINDOW` deviations, consistent for normal ones.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=2000)
    >>> values[:200] *= 100
    >>> round(bulk_variance(values), 1)
    1.0
    """
    squares = np.square(values - np.median(values))
    variance, inside = NORMAL_MAD**2 * float(np.median(squares)), truncated_normal(WINDOW)[1]
    for _ in range(20):
        before, variance = variance, float(squares[squares <= WINDOW**2 * variance].mean()) / inside
        if abs(variance - before) <= 1e-3 * before:
            break
    return variance


def columns_of_their_own(rows: TrustedRows, found: CrossValidation) -> int:
    """Further components that consist of one column each, which no other column predicts.

    In turned coordinates such a column is shared by all, and its component is
    seen; but so is every column whose noise is larger than that of the others.
    Those count that hold at least `OWN` of a column, with `LARGE` times the
    variance of what is left and more than columns mostly have: in columns of
    one scale, a noisy one is no component.
    """
    count, turned = found.count, found.turned_count
    if not count < turned < len(found.turned) - 1:  # to the end: there is no noise that all columns share
        return 0
    values, V = principal_axes(rows.values - rows.values.mean(axis=0))
    noise = float(values[turned:].sum()) / max(rows.values.shape[1] - turned, 1)
    typical = float(np.median(rows.values.var(axis=0)))
    turned = min(turned, int(np.count_nonzero(values > max(LARGE * noise, typical))))
    held = (V[:, count:turned] ** 2).sum(axis=1)
    return max(0, min(turned - count, int(np.count_nonzero(held > OWN))))


def needed(rows: TrustedRows, share: float = SHARE, *, beyond: bool = False) -> int:
    """The fewest components that hold a share of the variance.

    Beyond it more of them, as long as one exceeds all that follow: where there is little noise, it is most
    of what the others leave of a cell.
    """
    A = rows.values - rows.values.mean(axis=0)
    values = np.maximum(np.linalg.eigvalsh(A.T @ A if len(A.T) <= len(A) else A @ A.T)[::-1], 0.0)
    held = np.cumsum(values)
    count = 1 + int((held < share * (1 - 1e-12) * held[-1]).sum())
    exceeds = values[count:] > held[-1] - held[count:]
    return count + int(np.cumprod(exceeds).sum()) * beyond


@dataclass(frozen=True)
class ParallelAnalysis:
    """Eigenvalues of the rows beside those of noise.

    Attributes
    ----------
    eigenvalues, spread : ndarray of shape (m,)
        With their standard errors.
    null, null_limit : ndarray of shape (m,)
        Mean and upper limit of the first eigenvalue of noise that is as large
        as what the components before leave.
    """

    eigenvalues: Array
    spread: Array
    null: Array
    null_limit: Array

    @property
    def count(self) -> int:
        """Eigenvalues above the null, up to the first that is not."""
        above = self.eigenvalues > self.null_limit
        return int(np.cumprod(above).sum())


def parallel_analysis(
    rows: TrustedRows, most: int, *, first: int = 0, seed: int = 0, n_flips: int = N_FLIPS
) -> ParallelAnalysis:
    """Parallel analysis with a null that keeps the variances of columns and rows.

    The null of eigenvalue j + 1 is what the first j components leave, every
    cell with a random sign (Hong, Sheng and Dobriban, 2020): the variance of
    each cell stays, what correlates the columns goes. With j components taken
    out of n x d cells, (n - 1 - j)(d - j) degrees of freedom are left, which
    the factor below makes good.

    Parameters
    ----------
    rows : TrustedRows
    most : int
    first : int
        Components that are known to be there: what follows is compared.
    seed : int
    n_flips : int

    Returns
    -------
    ParallelAnalysis
    """
    A = rows.values - rows.values.mean(axis=0)
    n, d = A.shape
    values, V = principal_axes(A)
    most = min(most, d - 1, n - 2, len(values))
    rng = np.random.RandomState(seed)
    null = []
    for j in range(first, most):
        left = A - (A @ V[:, :j]) @ V[:, :j].T
        tops = [_first_eigenvalue(left * (2.0 * rng.randint(2, size=(n, d)) - 1.0)) for _ in range(n_flips)]
        lost = n * d / ((n - 1 - j) * (d - j))
        edge = (np.sqrt(n - 1 - j) + np.sqrt(d - j)) / (np.sqrt(n) + np.sqrt(d))
        null.append((lost * edge**2 * np.mean(tops), lost * edge**2 * np.std(tops, ddof=1)))
    mean, deviation = np.array(null).reshape(-1, 2).T
    values, scores = values[first:most], A @ V[:, first:most]
    spread = np.sqrt(np.maximum((scores**4).mean(axis=0) - values**2, 0.0) / n)
    return ParallelAnalysis(values, spread, mean, mean + NULL_DEVIATIONS * deviation)


def _first_eigenvalue(A: Array) -> float:
    n, d = A.shape
    return float(np.linalg.eigvalsh(A.T @ A if d <= n else A @ A.T)[-1]) / max(n - 1, 1)
