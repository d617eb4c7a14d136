"""Distances of rows to a fitted subspace, cut-offs, flags, and angles between two fits.

One module for every estimator of the package, and for any fitted object with
`mean_`, `components_` and `explained_variance_`, scikit-learn's PCA included;
a pipeline that ends in one is judged in the coordinates of its last step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _limits
from ._arrays import saturated, to_numpy
from ._contributions import Contributions, Suspect, contributions, suspects
from ._flags import Cutoffs, Flag, cutoffs, excess, flags, orthogonal_limit
from ._pipelines import fitted_end, inner_rows, judging_scales, numbers, observed_numbers
from ._subspace import row_distances
from .rows import as_predictable, safe_factor
from .rows.lazy import is_dask
from .statistics import effective_dimension

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


def distances(fitted: Fitted, X: ArrayLike) -> tuple[Array, Array]:
    """Score and orthogonal distances of the rows of X to a fitted subspace.

    The score distance is sqrt(sum_j t_j^2 / l_j), l_j the variance of score
    j; the orthogonal one is the length of what the subspace leaves of the row.
    An estimator that judges rows by another subspace than that of its
    components, as `TL1SubspacePCA` with fewer components than the data have,
    says so by `judging_components_` and `judging_scale_`; those of
    `TL1CellPCA` are of repaired rows and in deviations.

    Parameters
    ----------
    fitted : estimator with mean_, components_ and explained_variance_
        Or a pipeline that ends in one.
    X : array-like of shape (n, d)

    Returns
    -------
    score_distances, orthogonal_distances : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [-2.0, 0.0], [0.0, 0.1], [0.0, -0.1]])
    >>> distances(PCA(1).fit(X), X)[1].round(3).tolist()
    [0.0, 0.0, 0.0, 0.1, 0.1]
    """
    pca: Any = fitted_end(fitted)
    data = inner_rows(fitted, X)
    if _at_hand(data):
        data = (observed_numbers if hasattr(pca, "_row_distances") else numbers)(pca, data)
    return as_predictable(data).map_blocks(row_distances(pca))


def _at_hand(data: Any) -> bool:
    """Whether the rows are in memory, as an array or what becomes one."""
    return isinstance(data, list | tuple | np.ndarray) or (hasattr(data, "columns") and not is_dask(data))


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
    pca: Any = fitted_end(fitted)
    sd, od = distances(fitted, X)
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
    pca = fitted_end(fitted)
    own = getattr(pca, "cutoffs_", None) is not None and hasattr(pca, "flags_")
    return int(pca.flags_.shape[0]) if own else n_rows


def limits(estimator: Any, level: float = 0.99, kind: str = "new", *, X: ArrayLike | None = None) -> Cutoffs:
    """Limits of the two distances, for rows of the training data or for new ones.

    They come from the rows that took part in the fit alone, so that bad rows
    in the training data do not widen them. Rows of the fit lie nearer to the
    subspace than new rows of the same kind, which have not pulled it toward
    themselves: the two kinds have limits of their own.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline that ends in one
        One that keeps the distances and weights of its training rows, such as
        `TL1SubspacePCA`, or a sample of them, as `IncrementalTL1PCA` does; for
        others X is needed.
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
    orthogonal = float(saturated(np.float64(orthogonal), fit.factor))
    return Cutoffs(score, orthogonal, fit.n_rows + 1.0 if new else np.inf)


def _training(estimator: Any, X: ArrayLike | None) -> _limits.Training:
    """Distances of the training rows and which were in the fit: kept by the estimator, or computed."""
    pca = fitted_end(estimator)
    scales = judging_scales(pca)
    kept = [getattr(pca, name, None) for name in ("score_distances_", "orthogonal_distances_", "weights_")]
    if X is None and hasattr(pca, "remembered"):
        rows = pca.remembered()  # a stream keeps a sample
    else:
        rows = None if X is None else inner_rows(estimator, X)
    if rows is not None:
        found = diagnose(pca, rows)
        kept = [found.score_distances, found.orthogonal_distances, found.flags == Flag.REGULAR]
    elif any(part is None for part in kept):
        raise ValueError(
            f"{type(pca).__name__} keeps no distances and weights of its training rows; "
            "give these rows as X=..., or use TL1SubspacePCA."
        )
    sd, od, weights = (to_numpy(part).astype(np.float64) for part in kept)
    n, least = np.count_nonzero(weights > 0), len(scales) + 3
    if n < least:
        raise ValueError(
            f"{n} rows in the fit are too few for limits with {len(scales)} components; "
            f"at least {least} are needed."
        )
    d = int(np.shape(pca.components_)[1])
    factor = safe_factor(float(max(od.max(initial=0.0), scales.max(initial=0.0))), od.dtype)
    if rows is None:
        directions = getattr(pca, "noise_dimension_", np.nan)
    else:
        directions = _noise_dimension(pca, rows, weights > 0, factor)
    directions = float(np.fmin(directions, max(d - len(scales), 1)))
    return _limits.Training(sd, od * factor, weights > 0, (scales * factor) ** 2, d, directions, factor)


def _noise_dimension(pca: Any, rows: Any, fitted: Array, factor: float) -> float:
    """Directions over which the noise is spread evenly; NaN for rows whose distances are no plain lengths."""
    if hasattr(pca, "_row_distances") or not _at_hand(rows):
        return float("nan")
    A = np.asarray(numbers(pca, rows), dtype=np.float64)[fitted] - to_numpy(pca.mean_)
    A = A * factor
    components = to_numpy(getattr(pca, "judging_components_", pca.components_)).astype(np.float64)
    lost = (1 + len(components)) / max(len(A), 1)
    return effective_dimension(A - (A @ np.linalg.pinv(components)) @ components, lost)


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
    sd, od = (to_numpy(part) for part in distances(fitted_end(estimator), inner_rows(estimator, X)))
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
    A, B = (_row_basis(to_numpy(getattr(fitted_end(side), "components_", side))) for side in (first, second))
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"The rows have {A.shape[1]} and {B.shape[1]} columns; angles need the same columns."
        )
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
