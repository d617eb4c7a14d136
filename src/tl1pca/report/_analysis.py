"""The numbers of the report: distances and flags, what makes a row unusual, what classical PCA says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.utils import check_array

from ..diagnostics import Diagnostics, Flag, diagnose, excess, principal_angles
from ..estimators import TL1SubspacePCA

Array = NDArray[Any]

#: Variables named for a row.
N_UNUSUAL = 3
#: Rows behind the spread of the residuals; more would not change what is named.
N_SPREAD = 5000
#: A classical component at least so far (degrees) from the fitted subspace counts as turned.
TURNED = 10.0
#: Flagged rows with at least this share of the variance along it are what it points at.
HELD = 0.5


@dataclass(frozen=True)
class Unusual:
    """The variables in which rows are most unusual, the most unusual first.

    Attributes
    ----------
    by_score : ndarray of bool of shape (m,)
        Whether `values` are shares of the squared score distance; otherwise
        they are residuals in units of their robust spread.
    variables, values : ndarray of shape (m, min(3, d))
    """

    by_score: Array
    variables: Array
    values: Array


@dataclass(frozen=True)
class Classical:
    """Classical PCA of the same rows, with as many components.

    Attributes
    ----------
    pca : sklearn.decomposition.PCA
    shares : ndarray of shape (k,)
        Of the variance.
    found : Diagnostics
    angles : ndarray of shape (k,)
        Principal angles between the two subspaces in degrees, largest first.
    component_angles : ndarray of shape (k,)
        Angle of each classical component to the fitted subspace.
    turned : int or None
        The first classical component that left the fitted subspace, one that
        points at the flagged rows where there is such a one.
    pulls : ndarray of shape (n,)
        Share of every row in the variance along that component.
    """

    pca: Any
    shares: Array
    found: Diagnostics
    angles: Array
    component_angles: Array
    turned: int | None
    pulls: Array

    def weight(self, rows: Array) -> float:
        """Share of some rows in the variance along the turned component."""
        return float(self.pulls[rows].sum())


@dataclass(frozen=True)
class Analysis:
    """All that the page shows, as numbers.

    `flagged` holds the row numbers with the largest `excess` (distance over
    limit) first.
    """

    estimator: Any
    data: Array
    names: list[str]
    labels: list[str] | None
    found: Diagnostics
    excess: Array
    flagged: Array
    classical: Classical | None

    @property
    def false_alarms(self) -> float:
        """Share of clean normal rows beyond one of the two limits: their levels are 0.99 or 0.975 each."""
        return 0.02 if hasattr(self.estimator, "cutoffs_") else 0.05

    def scores(self, rows: Array) -> Array:
        """Scores of some rows, of shape (m, k)."""
        return np.asarray((self.data[rows] - self.estimator.mean_) @ np.linalg.pinv(_components(self)))


def analyse(
    X: ArrayLike, estimator: Any, columns: Sequence[object] | None, labels: Sequence[object] | None
) -> Analysis:
    """Fit where that is still to be done, and look at every row."""
    data = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False, ensure_min_samples=2)
    names = _names(X, data, estimator, columns)
    _check_complete(data, names)
    row_labels = _labels(X, data, labels)
    fitted = _fitted(estimator, X, data)
    found = diagnose(fitted, data)
    beyond = excess(found.score_distances, found.orthogonal_distances, found.cutoffs, len(fitted.components_))
    rows = np.flatnonzero(found.flags != Flag.REGULAR)
    flagged = rows[np.argsort(-beyond[rows], kind="stable")]
    classical = None if isinstance(fitted, PCA) else _classical(data, fitted, flagged)
    return Analysis(fitted, data, names, row_labels, found, beyond, flagged, classical)


# ------------------------------------------------------------------------------- what is given
def text(value: object) -> str:
    """Any name as text that can be written as UTF-8."""
    return str(value).encode("utf-8", "replace").decode()


def _names(X: Any, data: Array, estimator: Any, columns: Sequence[object] | None) -> list[str]:
    d = data.shape[1]
    if columns is None:
        columns = getattr(X, "columns", None)
    if columns is None:
        columns = getattr(estimator, "feature_names_in_", None)
    if columns is None:
        return [f"x{j}" for j in range(d)]
    if len(columns) != d:
        raise ValueError(f"columns must name the {d} columns of X, got {len(columns)} names.")
    return [text(name) for name in columns]


def _labels(X: Any, data: Array, labels: Sequence[object] | None) -> list[str] | None:
    if labels is None:
        index = getattr(X, "index", None)  # of a pandas DataFrame; a plain count is no label
        if index is None or not hasattr(index, "dtype") or type(index).__name__ == "RangeIndex":
            return None
        labels = list(index)
    if len(labels) != len(data):
        raise ValueError(f"labels must name the {len(data)} rows of X, got {len(labels)} labels.")
    return [text(label) for label in labels]


def _check_complete(data: Array, names: list[str]) -> None:
    bad = ~np.isfinite(data)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"The report needs finite numbers in every row; {np.count_nonzero(bad)} entries of X are missing "
            f"or infinite, the first in row {row}, column {names[column]!r}. Drop or impute them first."
        )


def _fitted(estimator: Any, X: ArrayLike, data: Array) -> Any:
    model = TL1SubspacePCA(random_state=0) if estimator is None else estimator
    if not hasattr(model, "components_") and hasattr(model, "fit"):
        model = clone(model).fit(X)
    needed = ("components_", "mean_", "explained_variance_", "explained_variance_ratio_")
    missing = [name for name in needed if not hasattr(model, name)]
    if missing:
        raise TypeError(
            f"estimator must be a PCA with {', '.join(needed)}; {type(model).__name__} has no {missing[0]}. "
            "For a pipeline, pass the rows as its last step sees them, and that step."
        )
    if model.components_.shape[1] != data.shape[1]:
        raise ValueError(
            f"estimator was fitted to {model.components_.shape[1]} columns, X has {data.shape[1]}; "
            "pass the columns it was fitted to."
        )
    return model


# ------------------------------------------------------------------------------- unusual variables
def _components(analysis: Analysis) -> Array:
    return np.asarray(analysis.estimator.components_, dtype=np.float64)


def unusual(analysis: Analysis, rows: Array) -> Unusual:
    """The most unusual variables of some rows.

    Of a row off the subspace those are the largest residuals, each in units of
    the robust spread of that variable's residuals (variables whose changes the
    components follow count less); of a row that is far out inside it, those
    that add most to the squared score distance. A regular row is described by
    the distance that is nearer to its limit.
    """
    found, W = analysis.found, _components(analysis)
    mean, dual = np.asarray(analysis.estimator.mean_, dtype=np.float64), np.linalg.pinv(W)
    variances = np.asarray(analysis.estimator.explained_variance_, dtype=np.float64)
    live = variances > 1e-20 * variances.max(initial=0.0)
    precision = np.divide(1.0, variances, out=np.zeros_like(variances), where=live)
    spread = _residual_spread(analysis, mean, dual, W)
    # What a change of one variable alone leaves as residual: of a variable that all but is a
    # component next to nothing, so that its residual tells of the other variables.
    shown = np.sqrt(np.clip(1.0 - np.einsum("ij,ji->i", dual, W), 0.0, 1.0))
    top = min(N_UNUSUAL, len(mean))
    by_score = _nearer_to_score_limit(found)[rows]
    variables = np.empty((len(rows), top), dtype=np.int64)
    values = np.empty((len(rows), top))
    step = max(64, (1 << 20) // len(mean))
    for begin in range(0, len(rows), step):
        block = slice(begin, begin + step)
        A = analysis.data[rows[block]].astype(np.float64) - mean
        T = A @ dual
        size = (A - T @ W) / spread
        weighted = T * precision
        total = np.maximum((T * weighted).sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        shares = A * (weighted @ dual.T) / total
        inside = by_score[block, None]
        rank = np.where(inside, shares, np.abs(size) * shown)
        first = np.argpartition(-rank, top - 1, axis=1)[:, :top]
        order = np.argsort(-np.take_along_axis(rank, first, axis=1), axis=1, kind="stable")
        variables[block] = np.take_along_axis(first, order, axis=1)
        values[block] = np.take_along_axis(np.where(inside, shares, size), variables[block], axis=1)
    return Unusual(by_score, variables, values)


def _nearer_to_score_limit(found: Diagnostics) -> Array:
    tiny = np.finfo(np.float64).tiny
    nearer = (
        found.score_distances * max(found.cutoffs.orthogonal, tiny)
        > found.orthogonal_distances * found.cutoffs.score
    )
    return np.asarray((found.flags == Flag.GOOD_LEVERAGE) | ((found.flags == Flag.REGULAR) & nearer))


def _residual_spread(analysis: Analysis, mean: Array, dual: Array, W: Array) -> Array:
    """Robust spread of each variable's residuals, over regular rows while these are the majority."""
    pool = np.flatnonzero(analysis.found.flags == Flag.REGULAR)
    if 2 * len(pool) < len(analysis.data):
        pool = np.arange(len(analysis.data))
    if len(pool) > N_SPREAD:
        pool = np.random.default_rng(0).choice(pool, N_SPREAD, replace=False)
    A = analysis.data[pool].astype(np.float64) - mean
    E = A - (A @ dual) @ W
    spread = 1.4826 * np.median(np.abs(E - np.median(E, axis=0)), axis=0)
    # A variable that the subspace fits exactly has no spread; rounding errors in it are not unusual.
    floor = max(1e-3 * float(np.median(spread)), 1e-12 * float(np.abs(A).max()), np.finfo(np.float64).tiny)
    return np.maximum(spread, floor)


# ------------------------------------------------------------------------------- classical PCA
def _classical(data: Array, fitted: Any, flagged: Array) -> Classical:
    k = min(len(fitted.components_), *data.shape)
    with np.errstate(invalid="ignore", divide="ignore"):  # rows that are all the same have no variance
        pca = PCA(n_components=k, random_state=0).fit(data)
    axes = np.asarray(pca.components_, dtype=np.float64)
    component_angles = np.array([principal_angles(axis[None], fitted)[0] for axis in axes])
    turned, pulls = _pulled(data, pca.mean_, axes, np.flatnonzero(component_angles >= TURNED), flagged)
    return Classical(
        pca=pca,
        shares=np.nan_to_num(pca.explained_variance_ratio_),
        found=diagnose(pca, data),
        angles=principal_angles(fitted, pca),
        component_angles=component_angles,
        turned=turned,
        pulls=pulls,
    )


def _pulled(
    data: Array, mean: Array, axes: Array, candidates: Array, flagged: Array
) -> tuple[int | None, Array]:
    """The first candidate that points at the flagged rows, or else the first; and the share of each row."""
    first, pulls = None, np.zeros(len(data))
    for j in candidates.tolist():
        t = np.asarray(data @ axes[j] - mean @ axes[j], dtype=np.float64)
        shares = t**2 / max(float(t @ t), np.finfo(np.float64).tiny)
        if shares[flagged].sum() >= HELD:
            return j, shares
        if first is None:
            first, pulls = j, shares
    return first, pulls
