"""The numbers of the report: distances and flags, what makes a row unusual, what classical PCA says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.utils import check_array

from .._pipelines import (
    check_columns,
    index_labels,
    inner_names,
    inner_rows,
    numbers,
    observed_numbers,
    split,
)
from .._unusual import Unusual, unusual
from ..diagnostics import (
    Diagnostics,
    Flag,
    diagnose,
    excess,
    principal_angles,
    rows_behind,
    rows_for_flags,
)
from ..estimators import TL1SubspacePCA

Array = NDArray[Any]

#: A classical component at least so far (degrees) from the fitted subspace counts as turned.
TURNED = 10.0
#: Rows of the cell map.
MAX_CELL_ROWS = 30
#: Flagged rows with at least this share of the variance along it are what it points at.
HELD = 0.5


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

    Attributes
    ----------
    estimator : fitted PCA
        The last step of a pipeline.
    steps : Pipeline or None
        What comes before it.
    data : ndarray of shape (n, d)
        The rows as the estimator sees them.
    names : list of str of length d
        Of the columns, as the user knows them.
    numbers : ndarray of int of shape (n,)
        What the rows are called where they have no label, from 1 by default.
    labels : list of str or None
    found : Diagnostics
    excess : ndarray of shape (n,)
        Distance over limit.
    flagged : ndarray of int
        Positions of the flagged rows, those with the largest `excess` first.
    classical : Classical or None
    n_fit : int
        Rows behind the limits; of too few of them no row is flagged.
    user_values : ndarray of shape (n, d) or None
        The columns as the user gave them, where a pipeline changed them one by one.
    """

    estimator: Any
    steps: Any
    data: Array
    names: list[str]
    numbers: Array
    labels: list[str] | None
    found: Diagnostics
    excess: Array
    flagged: Array
    classical: Classical | None
    n_fit: int
    user_values: Array | None
    given: Array | None = None  # rows with missing and bad cells, where `data` has them repaired
    time: Array | None = None  # when each row was measured, where that is known
    moved_to: float | None = None  # the level of the limits, where it is not that of the fit

    @cached_property
    def cell_residuals(self) -> Array | None:
        """Residuals of all cells in deviations, NaN where one is missing; None of a method for rows."""
        if self.given is None:
            return None
        return np.asarray(self.estimator._cell_residuals(self.given), dtype=np.float64)

    @cached_property
    def bad_cells(self) -> Array | None:
        """Mask of the cells that do not fit their rows."""
        if self.cell_residuals is None:
            return None
        return np.asarray(np.abs(np.nan_to_num(self.cell_residuals)) > self.estimator.cell_cutoff)

    @cached_property
    def rows_with_bad_cells(self) -> Array:
        """Positions of the rows of the cell map, the one with the worst cell first."""
        if self.cell_residuals is None or self.bad_cells is None:
            return np.arange(0)
        size = np.where(self.bad_cells, np.abs(np.nan_to_num(self.cell_residuals)), 0.0).max(axis=1)
        rows = np.argsort(-size, kind="stable")[:MAX_CELL_ROWS]
        return np.asarray(rows[size[rows] > 0])

    @property
    def level(self) -> float:
        """Share of clean normal rows within each of the two limits."""
        own = 0.99 if hasattr(self.estimator, "cutoffs_") else 0.975
        return own if self.moved_to is None else self.moved_to

    @property
    def false_alarms(self) -> float:
        """Share of clean normal rows beyond one of the two limits."""
        return 2.0 * (1.0 - self.level)

    @property
    def too_few(self) -> bool:
        """Whether there were too few rows behind the limits for flags to mean anything."""
        return self.n_fit < rows_for_flags(len(self.estimator.components_))

    def scores(self, rows: Array) -> Array:
        """Scores of some rows, of shape (m, k)."""
        if self.given is not None:
            return np.asarray(self.estimator._scores(self.given[rows]))
        components = np.asarray(self.estimator.components_, dtype=np.float64)
        return np.asarray((self.data[rows] - self.estimator.mean_) @ np.linalg.pinv(components))

    def unusual(self, rows: Array) -> Unusual:
        """What makes some rows unusual."""
        return unusual(self.estimator, self.data, self.found, rows, self.cell_residuals)


def analyze(
    X: ArrayLike,
    estimator: Any = None,
    columns: Sequence[object] | None = None,
    labels: Sequence[object] | None = None,
    row_numbers: ArrayLike | None = None,
    time: ArrayLike | bool | None = None,
) -> Analysis:
    """Fit where that is still to be done, and look at every row."""
    model = TL1SubspacePCA() if estimator is None else estimator
    given = _names(X, model, columns)
    if not hasattr(split(model)[1], "components_") and hasattr(model, "fit"):
        if split(model)[0] is None:
            _check_numbers(model, X, given)  # said before the fit, not after it
        model = clone(model).fit(X)
    steps, pca = split(model)
    _check_attributes(pca)
    names = inner_names(model, given)
    rows_inside = inner_rows(model, X)
    _check_numbers(pca, rows_inside, names)
    cellwise = hasattr(pca, "impute")
    seen = (observed_numbers if cellwise else numbers)(pca, rows_inside)
    data = pca._repaired(seen) if cellwise else seen  # what is said of rows is said of their good cells
    row_labels = _labels(X, data, labels)
    found = diagnose(pca, seen)
    n_fit = rows_behind(pca, len(data))
    if n_fit < rows_for_flags(len(pca.components_)):
        found = replace(found, flags=np.zeros_like(found.flags))
    beyond, flagged = furthest(found)
    classical = None if isinstance(pca, PCA) else _classical(data, pca, flagged)
    called = _numbers(data, row_numbers)
    return Analysis(
        estimator=pca,
        steps=steps,
        data=data,
        names=names,
        numbers=called,
        labels=row_labels,
        found=found,
        excess=beyond,
        flagged=flagged,
        classical=classical,
        n_fit=n_fit,
        user_values=None if steps is None else _user_values(X, given, names),
        given=seen if cellwise else None,
        time=_time(X, called, time),
    )


def furthest(found: Diagnostics) -> tuple[Array, Array]:
    """Distance over limit of every row, and the flagged rows, those with the largest first."""
    beyond = excess(found.score_distances, found.orthogonal_distances, found.cutoffs)
    rows = np.flatnonzero(found.flags != Flag.REGULAR)
    return beyond, rows[np.argsort(-beyond[rows], kind="stable")]


# ------------------------------------------------------------------------------- what is given
_TURNS = {turn: f"\\u{turn:04x}" for turn in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def text(value: object) -> str:
    r"""Any name as text that can be written as UTF-8, marks that turn the direction of writing written out.

    In a sentence such a mark would turn all that follows.

    Examples
    --------
    >>> print(text("a\u202eb"))
    a\u202eb
    """
    return str(value).encode("utf-8", "replace").decode().translate(_TURNS)


def _names(X: Any, model: Any, columns: Sequence[object] | None) -> list[str]:
    own = getattr(X, "columns", None)  # of a data frame, which may hold dates beside numbers
    d = check_array(X, dtype=None, ensure_all_finite=False).shape[1] if own is None else len(own)
    columns = own if columns is None else columns
    if columns is None:
        columns = getattr(model, "feature_names_in_", None)
    if columns is None:
        return [f"x{j}" for j in range(d)]
    if len(columns) != d:
        raise ValueError(f"columns must name the {d} columns of X, got {len(columns)} names.")
    return [text(name) for name in columns]


def _labels(X: Any, data: Array, labels: Sequence[object] | None) -> list[str] | None:
    if labels is None:
        labels = index_labels(X)
    if labels is None:
        return None
    if len(labels) != len(data):
        raise ValueError(f"labels must name the {len(data)} rows of X, got {len(labels)} labels.")
    return [text(label) for label in labels]


def _user_values(X: Any, given: list[str], names: list[str]) -> Array | None:
    """The user's numbers where columns before and after a pipeline are the same ones; otherwise None."""
    if given != names:
        return None
    try:
        return np.asarray(
            check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False), dtype=np.float64
        )
    except (TypeError, ValueError):  # columns that an encoder turned into numbers
        return None


def _numbers(data: Array, row_numbers: ArrayLike | None) -> Array:
    counted = np.arange(1, len(data) + 1) if row_numbers is None else np.asarray(row_numbers)
    if counted.shape != (len(data),) or counted.dtype.kind not in "iu":
        raise ValueError(f"row_numbers must be {len(data)} whole numbers, one for each row of X.")
    return counted


def are_dates(texts: Iterable[str]) -> bool:
    """Whether texts are dates such as 2024-05-31, with or without a time of day."""
    return all(re.fullmatch(r"\d{4}-\d\d-\d\d([T ][\d:.]+)?", text) for text in texts)


def _dates(values: Array) -> Array:
    """Dates and dates as text as dates; nothing where there is anything else."""
    try:
        if are_dates(value for value in values.ravel().tolist() if isinstance(value, str)):
            return values.astype("datetime64[ms]")
    except (TypeError, ValueError):
        pass
    return values[:0]


def _time(X: Any, called: Array, time: ArrayLike | bool | None) -> Array | None:
    """Dates or numbers in the order of which the rows were measured; True is their own order."""
    if time is None:
        index = getattr(X, "index", None)
        time = index if getattr(getattr(index, "dtype", None), "kind", "") == "M" else False
    if time is False:
        return None
    if time is True:
        return called
    values = np.asarray(time)
    if values.dtype.kind in "OUS":
        values = _dates(values)
    if values.shape != called.shape or values.dtype.kind not in "iufM":
        raise ValueError(
            f"time must be True, for rows in the order of time, or {len(called)} dates or numbers, one for "
            "each row of X; dates as text are written 2024-05-31 or 2024-05-31T16:30."
        )
    return values


def _check_numbers(pca: Any, rows: Any, names: list[str]) -> None:
    """Name what is missing, infinite or too large for squares."""
    check_columns(rows)
    data = check_array(rows, dtype=[np.float64, np.float32], ensure_all_finite=False, ensure_min_samples=2)
    tags = getattr(pca, "__sklearn_tags__", None)
    takes_missing = tags is not None and tags().input_tags.allow_nan
    bad = np.isinf(data) if takes_missing else ~np.isfinite(data)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"The report needs finite numbers in every row; {np.count_nonzero(bad)} entries of X are missing "
            f"or infinite, the first in row {row + 1} (index {row}), column {names[column]!r}. Drop these "
            f"rows, or begin with an imputer: make_pipeline(SimpleImputer(), {type(pca).__name__}())."
        )
    largest = float(np.nanmax(np.abs(data)))
    if largest and not 1e-100 < largest < 1e100:
        raise ValueError(
            f"The largest entry of X is {largest:g} in size, and squares of such numbers leave the range of "
            "floating point; give the data in other units."
        )


def _check_attributes(pca: Any) -> None:
    needed = ("components_", "mean_", "explained_variance_", "explained_variance_ratio_")
    missing = [name for name in needed if not hasattr(pca, name)]
    if missing:
        raise TypeError(
            f"estimator must be a PCA with {', '.join(needed)}, or a pipeline that ends in one; "
            f"{type(pca).__name__} has no {missing[0]}."
        )


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
