"""Distances of rows to a fitted subspace, cut-offs, flags, and angles between two fits.

One module for every estimator of the package, and for any fitted object with
`mean_`, `components_` and `explained_variance_`, scikit-learn's PCA included;
a pipeline that ends in one is judged in the coordinates of its last step.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtri, ndtri

from . import _limits
from ._arrays import asarray_like, cast, double, namespace, saturated, to_numpy
from ._contributions import Contributions, Suspect, contributions, suspects
from ._pipelines import inner_rows, numbers, observed_numbers, split
from .rows import Rows, as_predictable, finite_max_abs, mask_missing, safe_factor
from .rows.lazy import is_dask

__all__ = [
    "Contributions",
    "Cutoffs",
    "Diagnostics",
    "Flag",
    "Monitoring",
    "Suspect",
    "contributions",
    "cutoffs",
    "diagnose",
    "distances",
    "excess",
    "flags",
    "limits",
    "monitor",
    "orthogonal_limit",
    "principal_angles",
    "rows_behind",
    "rows_for_flags",
    "suspects",
]

Array = NDArray[Any]

#: What the tilt of a fitted subspace may add to a squared orthogonal distance, in units of the noise: it
#: at most doubles the distance. A row that needs more to be excused lies off the subspace.
MOST_TILT = 3.0

#: From here on differences and sums over the entries of a row may overflow.
_LARGE = 2.0**960


class Flag(IntEnum):
    """Region of the outlier map a row falls into."""

    REGULAR = 0
    GOOD_LEVERAGE = 1  # far away inside the subspace
    ORTHOGONAL_OUTLIER = 2  # off the subspace, its projection inside the cloud
    BAD_LEVERAGE = 3  # off the subspace and far away

    @property
    def label(self) -> str:
        """The name for people, as figures, pages, tables and files spell it.

        Examples
        --------
        >>> Flag.ORTHOGONAL_OUTLIER.label
        'orthogonal outlier'
        """
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Cutoffs:
    """Largest score and orthogonal distance of a regular row.

    `orthogonal` is that of a row in the middle of the scores. A fitted subspace
    is tilted by the noise of the rows behind it, which lengthens the orthogonal
    distance of rows far out in it: `tilt` is their number plus one, and infinite
    for a subspace that is taken as known.
    """

    score: float
    orthogonal: float
    tilt: float = np.inf


class Fitted(Protocol):
    """What is needed of a fitted estimator."""

    mean_: Array
    components_: Array
    explained_variance_: Array


@dataclass(frozen=True)
class Diagnostics:
    """Distances of rows with the cut-offs they are judged by.

    Attributes
    ----------
    score_distances, orthogonal_distances : ndarray of shape (n,)
    cutoffs : Cutoffs
    flags : ndarray of int of shape (n,)
        Values of `Flag`.
    """

    score_distances: Array
    orthogonal_distances: Array
    cutoffs: Cutoffs
    flags: Array


def distances(X: ArrayLike, fitted: Fitted) -> tuple[Array, Array]:
    """Score and orthogonal distances of the rows of X to a fitted subspace.

    The score distance is sqrt(sum_j t_j^2 / l_j), l_j the variance of score
    j; the orthogonal one is the length of what the subspace leaves of the row.
    An estimator that judges rows by another subspace than that of its
    components, as `TL1SubspacePCA` with fewer components than the data have,
    says so by `judging_components_` and `judging_variance_`; those of
    `TL1CellPCA` are of repaired rows and in deviations.

    Parameters
    ----------
    X : array-like of shape (n, d)
    fitted : estimator with mean_, components_ and explained_variance_
        Or a pipeline that ends in one.

    Returns
    -------
    score_distances, orthogonal_distances : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [-2.0, 0.0], [0.0, 0.1], [0.0, -0.1]])
    >>> distances(X, PCA(1).fit(X))[1].round(3).tolist()
    [0.0, 0.0, 0.0, 0.1, 0.1]
    """
    pca: Any = split(fitted)[1]
    data = inner_rows(fitted, X)
    # An estimator may have distances of its own, of rows whose bad cells are repaired.
    own = getattr(pca, "_row_distances", None)
    if isinstance(data, list | tuple | np.ndarray) or (hasattr(data, "columns") and not is_dask(data)):
        data = numbers(pca, data) if own is None else observed_numbers(pca, data)
    return as_predictable(data).map_blocks(own or Subspace.judging(pca).distances)


@dataclass(frozen=True)
class Subspace:
    """What prediction needs of a fit: a value that travels to where the rows are.

    The methods take the port to rows at hand, and raise where an entry is not
    finite. Rows of any size are answered: no square over- or underflows.
    """

    mean: Array
    components: Array
    variances: Array
    cutoffs: Cutoffs | None = None
    #: Name of the estimator for errors, and whether NaN says that an entry is missing.
    name: str | None = None
    missing: bool = False

    @classmethod
    def of(cls, fitted: Any, components: Any = None, variances: Any = None) -> Self:
        """The subspace of anything with mean_, components_ and explained_variance_."""
        return cls(
            to_numpy(fitted.mean_).astype(np.float64),
            to_numpy(fitted.components_ if components is None else components).astype(np.float64),
            to_numpy(fitted.explained_variance_ if variances is None else variances).astype(np.float64),
            getattr(fitted, "cutoffs_", None),
            type(fitted).__name__,
            getattr(fitted, "_takes_missing", False),
        )

    @classmethod
    def judging(cls, fitted: Any) -> Self:
        """The subspace that rows are judged by: another one where the estimator says so."""
        parts = (getattr(fitted, name, None) for name in ("judging_components_", "judging_variance_"))
        return cls.of(fitted, *parts)

    def scores(self, rows: Rows) -> Any:
        """Least squares coefficients in the components."""

        def coefficients(rows: Rows) -> tuple[Any, ...]:
            W = rows.asarray(self._basis)
            return (rows.project(W) if rows.observed is None else rows.scores_and_distances(W)[0],)

        rows, T = self._ask(rows, coefficients)
        return rows.to_user(self._turned(rows, T))

    def rows(self, scores: Rows) -> Any:
        """Rows in the units of the data for given scores."""
        W, mean = scores.asarray(self.components), scores.asarray(self.mean)
        with np.errstate(over="ignore", invalid="ignore"):
            found = scores.array() @ W + mean
        if isinstance(found, np.ndarray) and not np.isfinite(found).all():  # beyond the largest number
            small = 2.0**-60
            again = saturated(scores.scaled(small).array() @ W + mean * found.dtype.type(small), small)
            found = np.where(np.isfinite(found), found, again)
        return scores.to_user(found)

    def negative_distances(self, rows: Rows) -> Any:
        """Minus the distances to the subspace."""
        rows, _, r = self._ask(rows, self._measure)
        return rows.to_user(rows.map(lambda r: -r, r))

    def distances(self, rows: Rows) -> tuple[Any, Any]:
        """Score and orthogonal distances, in double precision."""
        rows, T, r = self._ask(rows, self._measure)
        sd = rows.map(lambda t: score_distances(double(t), self.variances), self._turned(rows, T))
        return rows.to_user(sd), rows.to_user(rows.map(double, r))

    def margins(self, rows: Rows) -> Any:
        """One minus the larger of the two distances over its cut-off."""
        assert self.cutoffs is not None, f"{self.name} has no cut-offs"
        return 1.0 - excess(*self.distances(rows), self.cutoffs)

    def labels(self, rows: Rows) -> Any:
        """+1 for regular rows and -1 for outliers."""
        bad = self.margins(rows) < 0
        return 1 - 2 * cast(bad, namespace(bad).int64)

    @cached_property
    def _basis(self) -> Array:
        """Orthonormal columns that span the components: these, where they are orthonormal."""
        if np.abs(self.components @ self.components.T - np.eye(len(self.components))).max() < 1e-6:
            return self.components.T
        U, s, _ = np.linalg.svd(self.components.T, full_matrices=False)
        return np.asarray(U[:, s > 1e-12 * s.max()])

    def _turned(self, rows: Rows, T: Any) -> Any:
        """Coefficients in the components from those in the basis."""
        if np.array_equal(self._basis, self.components.T):
            return T
        turn = rows.asarray(np.linalg.pinv(self.components @ self._basis))
        return rows.map(lambda t: t @ turn, T)

    def _measure(self, rows: Rows) -> tuple[Any, ...]:
        return rows.scores_and_distances(rows.asarray(self._basis))

    def _ask(self, rows: Rows, verb: Callable[[Rows], tuple[Any, ...]]) -> tuple[Any, ...]:
        """The rows, and what a verb says of them about the mean, whatever their size."""
        if self.missing:
            rows = mask_missing(rows)
        top = max(finite_max_abs(rows, self.name), float(np.abs(self.mean).max(initial=0.0)))
        factor = safe_factor(top, rows.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            found = verb(rows.shifted(rows.asarray(self.mean)))
        if factor == 1.0:
            return rows, *found

        def safe(z: Any, scaled: Any) -> Any:
            # Next to a huge row the others would vanish in its units.
            xp, back = namespace(z), saturated(scaled, factor)
            return back if factor > 1.0 else xp.where(xp.isfinite(z), z, back)

        scaled = rows.scaled(factor)
        again = verb(scaled.shifted(scaled.asarray(self.mean * factor)))
        return rows, *(rows.map(safe, z, other) for z, other in zip(found, again))


def score_distances(T: Array, variances: Array) -> Array:
    """sqrt(sum_j t_j^2 / l_j); a component without variance says nothing."""
    live = variances > 1e-20 * variances.max(initial=0.0)
    inverse = np.where(live, 1.0 / np.sqrt(np.where(live, variances, 1.0)), 0.0)
    with np.errstate(over="ignore"):
        Z = saturated(T * asarray_like(inverse, T))
    return row_lengths(Z)


def row_lengths(A: Array) -> Array:
    """Lengths of the rows, whatever their size: squares neither overflow nor vanish."""
    xp = namespace(A)
    if A.shape[0] == 0:
        return xp.sqrt(xp.sum(A * A, axis=1))
    size = xp.max(abs(A), axis=1, keepdims=True)
    info, top = xp.finfo(A.dtype), float(xp.max(size))
    if float(info.smallest_normal) ** 0.25 < top < float(info.max) ** 0.25:
        return xp.sqrt(xp.sum(A * A, axis=1))
    size = xp.where(size == 0, xp.ones_like(size), size)
    with np.errstate(over="ignore"):
        return saturated(size[:, 0] * xp.sqrt(xp.sum((A / size) ** 2, axis=1)))


def cutoffs(orthogonal_distances: Array, n_components: int, level: float = 0.975) -> Cutoffs:
    """The usual cut-offs (Hubert et al. 2005): chi for scores, OD^(2/3) nearly normal.

    Parameters
    ----------
    orthogonal_distances : ndarray of shape (n,)
    n_components : int
    level : float, default=0.975
        Share of regular rows below each of the two cut-offs.

    Returns
    -------
    Cutoffs
    """
    z = np.cbrt(to_numpy(orthogonal_distances).astype(np.float64)) ** 2
    middle = float(np.median(z))
    mad = 1.4826 * float(np.median(np.abs(z - middle)))
    with np.errstate(over="ignore"):
        orthogonal = float(saturated(np.float64(max(middle + mad * float(ndtri(level)), 0.0)) ** 1.5))
    return Cutoffs(float(np.sqrt(chdtri(n_components, 1.0 - level))), orthogonal)


def flags(score_distances: Array, orthogonal_distances: Array, limits: Cutoffs) -> Array:
    """Region of every row in the outlier map, as values of `Flag`."""
    whole = namespace(score_distances).int64
    off = orthogonal_distances > orthogonal_limit(score_distances, limits)
    far = score_distances > limits.score
    return int(Flag.GOOD_LEVERAGE) * cast(far, whole) + int(Flag.ORTHOGONAL_OUTLIER) * cast(off, whole)


def excess(score_distances: Array, orthogonal_distances: Array, limits: Cutoffs) -> Array:
    """The larger of the two distances over its cut-off: above one for rows that are not regular."""
    xp = namespace(score_distances)
    limit = xp.maximum(orthogonal_limit(score_distances, limits), sys.float_info.min)
    with np.errstate(over="ignore"):  # a product beyond the largest number caps nothing, as it should
        capped = xp.minimum(orthogonal_distances, 1e300 * limit)
    return xp.maximum(score_distances / limits.score, capped / limit)


def orthogonal_limit(score_distances: Array, limits: Cutoffs) -> Array:
    """Cut-off of the orthogonal distance, longer for rows far out in a tilted subspace.

    Parameters
    ----------
    score_distances : ndarray of shape (n,)
    limits : Cutoffs

    Returns
    -------
    ndarray of shape (n,)
        ``limits.orthogonal`` for every row where the subspace is taken as known.

    Examples
    --------
    >>> orthogonal_limit(np.array([0.0, 10.0, 900.0]), Cutoffs(3.0, 2.0, tilt=100.0)).round(1).tolist()
    [2.0, 2.8, 4.0]
    """
    xp = namespace(score_distances)
    most = float(xp.finfo(score_distances.dtype).max) ** 0.49
    far = xp.minimum(score_distances, most)  # its square is to be a number
    with np.errstate(over="ignore"):
        return saturated(limits.orthogonal * xp.sqrt(1 + xp.minimum(far**2 / limits.tilt, MOST_TILT)))


def diagnose(fitted: Fitted, X: ArrayLike) -> Diagnostics:
    """Distances, cut-offs and flags of the rows of X.

    Parameters
    ----------
    fitted : estimator with mean_, components_ and explained_variance_
        Its own `cutoffs_` are used where it has some. Or a pipeline that ends
        in one: distances are those of the rows as its last step sees them.
    X : array-like of shape (n, d)

    Returns
    -------
    Diagnostics

    Examples
    --------
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.datasets import make_contaminated
    >>> X, bad, axes = make_contaminated(200, 10, 2, fraction=0.3, random_state=0)
    >>> found = diagnose(TL1SubspacePCA(2, random_state=0).fit(X), X)
    >>> bool((found.flags[bad] >= Flag.ORTHOGONAL_OUTLIER).all())
    True
    """
    pca: Any = split(fitted)[1]
    sd, od = distances(X, fitted)
    k = len(pca.components_)
    limits = getattr(pca, "cutoffs_", None) or cutoffs(od, k)
    return Diagnostics(sd, od, limits, flags(sd, od, limits))


def rows_for_flags(n_components: int) -> int:
    """The least number of rows behind a fit from which its flags mean something.

    Of fewer rows a fit can neither tell an outlier from a direction of the
    data nor estimate a limit: in samples of 4 to 8 rows a row 15 standard
    deviations off the plane was missed in up to all of the samples, or a third
    of the others was flagged with it. From max(10, 4 (k + 1)) rows on it was
    found in at least 97 of 100 and about 5 % of the others were flagged.

    Parameters
    ----------
    n_components : int

    Returns
    -------
    int

    Examples
    --------
    >>> [rows_for_flags(k) for k in (1, 2, 5)]
    [10, 12, 24]
    """
    return max(10, 4 * (n_components + 1))


def rows_behind(fitted: Any, n_rows: int) -> int:
    """Number of rows that the limits of `diagnose` come from.

    Parameters
    ----------
    fitted : estimator
        With limits of its own they come from its training rows.
    n_rows : int
        Rows that are looked at, the source of the limits otherwise.

    Returns
    -------
    int
    """
    pca = split(fitted)[1]
    own = getattr(pca, "cutoffs_", None) is not None and hasattr(pca, "flags_")
    return int(pca.flags_.shape[0]) if own else n_rows


def limits(estimator: Any, level: float = 0.99, kind: str = "new", *, X: ArrayLike | None = None) -> Cutoffs:
    """Limits of the two distances, for rows of the training data or for new ones.

    They come from the rows that took part in the fit alone, so that bad rows
    in the training data do not widen them. Rows of the fit lie nearer to the
    subspace than new rows of the same kind, which have not pulled it towards
    themselves: the two kinds have limits of their own.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline that ends in one
        One that keeps the distances and weights of its training rows, such as
        `TL1SubspacePCA`; for others X is needed.
    level : float, default=0.99
        Share of regular rows below each of the two limits.
    kind : {"new", "training"}, default="new"
    X : array-like of shape (n, d), optional
        The training rows, for an estimator that keeps nothing of them; those
        near its subspace count as its fit.

    Returns
    -------
    Cutoffs
        `score` (F for new rows, beta for training rows) and `orthogonal`, to be
        used with `flags`, `excess` and `orthogonal_limit`.

    Notes
    -----
    Scores and noise are taken as normal. Heavy tails exceed the limits more
    often: choose the level by the false alarms of a clean period then.

    Examples
    --------
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.datasets import make_contaminated
    >>> X, bad, axes = make_contaminated(200, 10, 2, fraction=0.2, random_state=0)
    >>> pca = TL1SubspacePCA(2, random_state=0).fit(X)
    >>> new, training = limits(pca, 0.99), limits(pca, 0.99, "training")
    >>> new.orthogonal > training.orthogonal, new.score > training.score
    (True, True)
    """
    if kind not in ("new", "training"):
        raise ValueError(f"kind must be 'new' or 'training', got {kind!r}.")
    return _bounds(_training(estimator, X), level, kind)


def _bounds(fit: _limits.Training, level: float, kind: str) -> Cutoffs:
    if not 0.5 <= level < 1:
        raise ValueError(f"level must be a share in [0.5, 1), got {level!r}.")
    noise, new = _limits.noise_of(fit), kind == "new"
    score, orthogonal = (
        limit(fit, noise, level, new) for limit in (_limits.score_limit, _limits.orthogonal_limit)
    )
    if not new:
        return Cutoffs(score, orthogonal)
    # That limit is for a row at a usual score distance; `Cutoffs` has that of a row in the middle.
    tilt = fit.n_rows + 1.0
    return Cutoffs(score, orthogonal / float(np.sqrt(1 + len(fit.variances) / tilt)), tilt)


def _training(estimator: Any, X: ArrayLike | None) -> _limits.Training:
    """Distances of the training rows and which were in the fit: kept by the estimator, or computed."""
    pca = split(estimator)[1]
    variances = to_numpy(getattr(pca, "judging_variance_", pca.explained_variance_)).astype(np.float64)
    kept = [getattr(pca, name, None) for name in ("score_distances_", "orthogonal_distances_", "weights_")]
    if X is not None:
        found = diagnose(pca, inner_rows(estimator, X))
        kept = [found.score_distances, found.orthogonal_distances, found.flags == Flag.REGULAR]
    elif any(part is None for part in kept):
        raise ValueError(
            f"{type(pca).__name__} keeps no distances and weights of its training rows; "
            "give these rows as X=..., or use TL1SubspacePCA."
        )
    sd, od, weights = (to_numpy(part).astype(np.float64) for part in kept)
    n, least = np.count_nonzero(weights > 0), len(variances) + 3
    if n < least:
        raise ValueError(
            f"{n} rows in the fit are too few for limits with {len(variances)} components; "
            f"at least {least} are needed."
        )
    return _limits.Training(sd, od, weights > 0, variances, int(np.shape(pca.components_)[1]))


@dataclass(frozen=True)
class Monitoring:
    """New rows against the limits of a fitted model, in the order in which they came.

    Attributes
    ----------
    score_distances, orthogonal_distances : ndarray of shape (n,)
        The roots of what process engineers call T2 and Q (SPE).
    limits, warnings : Cutoffs
        At the level that was asked for, and at five times as many false alarms.
    flags : ndarray of int of shape (n,)
        Values of `Flag`, by `limits`.
    runs : ndarray of bool of shape (n,)
        Rows that, with at least one of the two before, are beyond `warnings`
        in the same distance: a small change that stays is seen sooner so.
    """

    score_distances: Array
    orthogonal_distances: Array
    limits: Cutoffs
    warnings: Cutoffs
    flags: Array
    runs: Array


def monitor(
    estimator: Any, X: ArrayLike, level: float = 0.99, *, training: ArrayLike | None = None
) -> Monitoring:
    """Whether new rows are as the rows behind a fitted model were.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline that ends in one
    X : array-like of shape (n, d)
        New rows in the order of time.
    level : float, default=0.99
        Share of regular rows below each of the two limits.
    training : array-like, optional
        The training rows, see `limits`.

    Returns
    -------
    Monitoring

    Examples
    --------
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.datasets import make_contaminated
    >>> X, bad, axes = make_contaminated(300, 10, 2, fraction=0.1, random_state=0)
    >>> pca = TL1SubspacePCA(2, random_state=0).fit(X[:200])
    >>> found = monitor(pca, X[200:])
    >>> bool((found.flags[bad[200:]] > 0).all())
    True
    """
    fit = _training(estimator, training)
    inner, outer = (_bounds(fit, share, "new") for share in (1 - 5 * (1 - level), level))
    sd, od = (to_numpy(part) for part in distances(inner_rows(estimator, X), split(estimator)[1]))
    near = np.column_stack([sd > inner.score, od > orthogonal_limit(sd, inner)])
    before = np.zeros_like(near)
    before[1:] |= near[:-1]
    before[2:] |= near[:-2]
    runs = np.asarray((near & before).any(axis=1))
    return Monitoring(sd, od, outer, inner, flags(sd, od, outer), runs)


def principal_angles(first: ArrayLike, second: ArrayLike) -> Array:
    """Principal angles between two row spaces in degrees, largest first.

    Parameters
    ----------
    first, second : array-like of shape (k, d), or fitted estimators
        Components as rows; they need not be orthonormal. Of a pipeline they
        are those of its last step, in the coordinates that it sees.

    Returns
    -------
    ndarray of shape (min(k1, k2),)

    Examples
    --------
    >>> principal_angles([[1.0, 0.0]], [[1.0, 1.0]]).round(6).tolist()
    [45.0]
    """
    inner = (split(side)[1] for side in (first, second))
    A, B = (_row_basis(to_numpy(getattr(side, "components_", side))) for side in inner)
    if len(A) < len(B):
        A, B = B, A
    cosines = np.clip(np.linalg.svd(A @ B.T, compute_uv=False), 0.0, 1.0)
    sines = np.clip(np.linalg.svd(B - (B @ A.T) @ A, compute_uv=False), 0.0, 1.0)
    # Small angles from their sines, large ones from their cosines: both keep all digits.
    small = sines[: len(cosines)] < np.sqrt(0.5)
    angles = np.where(small, np.arcsin(sines[: len(cosines)]), np.arccos(cosines[::-1]))
    return np.asarray(np.degrees(angles))


def _row_basis(components: ArrayLike) -> Array:
    M = np.atleast_2d(np.asarray(components, dtype=np.float64))
    return np.asarray(np.linalg.qr(M.T)[0].T)
