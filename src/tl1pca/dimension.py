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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct

from .linear import leading_eigenpairs
from .statistics import subsample, truncated_normal

Array = NDArray[Any]

#: Rows that are looked at: enough for eigenvalues, and a few of them cost as much as one fit.
MAX_ROWS = 2000
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
#: Standard errors by which more components than a fit has are better, so that one division of rows is enough.
CLEAR = 4.0
#: Share of the scatter that the rows of a fold may leave to the others, when it is taken off that of all.
LEAST_LEFT = 1e-3
N_FOLDS = 10
#: Ways to divide the rows into folds, over which the error is averaged: the answer hangs on none.
N_PARTITIONS = 3
N_FLIPS = 20
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


def largest_count(rows: int, columns: int) -> int:
    """Components that can be judged: a third of the rows, and one column is left to be predicted."""
    return max(1, min(columns - 1, rows // 3))


def choose_dimension(
    trusted: Callable[[int], TrustedRows], most: int, *, method: str = "cross-validation", seed: int = 0
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
    counted = cache(lambda k: _count(trusted(k), k, most, method, seed))
    for k in range(1, most):
        here = counted(k)
        if here.count <= k and not _overlooked(here, counted(k + 1), k):
            return max(1, here.count)
    return most


@dataclass(frozen=True)
class Count:
    """Components of the rows that a fit trusts: what the criterion says, and how many most rows have."""

    rows: TrustedRows
    claimed: int
    count: int


def _count(rows: TrustedRows, k: int, most: int, method: str, seed: int) -> Count:
    few = rows.limited()
    if method == "parallel":  # the smaller k have been looked at
        claimed = 0 if k == 1 else k
        # To the first that is not above the null: what is left then is noise, by which `common` judges.
        while claimed < most and parallel_analysis(few, claimed + 1, first=claimed, seed=seed).count:
            claimed += 1
        shared = common(few, claimed)
    else:
        # Beyond k + 1: the error may rise at first, as one component of ten predicts little.
        found, folds = _validated(few, min(2 * k + 10, most), seed, k)
        claimed = min(found.count + columns_of_their_own(few, found), found.turned_count)
        shared = common(few, claimed, folds)
    return Count(rows, claimed, min(shared, needed(few)))


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
    for fold in _folds(X, _divided(n), k):
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
    n, d = rows.values.shape
    V = principal_axes(rows.values - rows.values.mean(axis=0), max(count, 1))[1]
    folds = list(_folds(rows.values, _divided(n), count)) if folds is None else folds
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


def _turned(X: Array, signs: Array) -> Array:
    """The rows in other orthonormal coordinates, to each of which all columns contribute."""
    for sign in signs:
        X = dct(X * sign, norm="ortho", axis=1)
    return X


def needed(rows: TrustedRows, share: float = SHARE) -> int:
    """The fewest components that hold a share of the variance."""
    A = rows.values - rows.values.mean(axis=0)
    values = np.maximum(np.linalg.eigvalsh(A.T @ A if len(A.T) <= len(A) else A @ A.T)[::-1], 0.0)
    return 1 + int((np.cumsum(values) < share * (1 - 1e-12) * values.sum()).sum())


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
    return _validated(rows, most, seed)[0]


def _validated(
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
        for fold in _folds(X, division, most):
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


def _divided(n: int) -> Array:
    return np.arange(n) % N_FOLDS


def _folds(X: Array, division: Array, most: int) -> Iterator[Fold]:
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
    found = [np.average(e * e, axis=1, weights=weights) for e in predicted_cell_errors(A, V)]
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
        residuals = residuals - np.outer(residuals @ v, v)
        h = h + v * v
        # A column that a component consists of cannot be predicted: its mean is all there is.
        yield np.where(h < 1 - 1e-10, residuals / np.maximum(1 - h, 1e-10), A)


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


def _first_eigenvalue(A: Array) -> float:
    n, d = A.shape
    return float(np.linalg.eigvalsh(A.T @ A if d <= n else A @ A.T)[-1]) / max(n - 1, 1)
