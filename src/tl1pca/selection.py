"""The number of components of a data set, with the curves that show it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from ._pipelines import inner_rows, split
from ._predicted import CrossValidation, TrustedRows, cross_validation
from .diagnostics import Flag, diagnose
from .dimension import ParallelAnalysis, choose_dimension, largest_count, parallel_analysis
from .estimators import TL1SubspacePCA

__all__ = ["ComponentSelection", "select_n_components"]

Array = NDArray[Any]

METHODS = ("cross-validation", "parallel")


@dataclass(frozen=True)
class ComponentSelection:
    """The number of components and what speaks for it.

    Attributes
    ----------
    n_components : int
        The answer of `method`.
    method : str
    curve, spread : ndarray
        Of the method: errors for 0, 1, ... components, or eigenvalues 1, 2, ...
    cross_validation : CrossValidation
        `errors` and `spread` for 0, 1, ... components.
    parallel_analysis : ParallelAnalysis
        `eigenvalues`, `spread`, `null` and `null_limit` for components 1, 2, ...
    n_trusted, n_samples : int
        Rows that took part, of those that were given.

    See Also
    --------
    tl1pca.displays.SelectionDisplay : Both curves as a figure.
    """

    n_components: int
    method: str
    cross_validation: CrossValidation
    parallel_analysis: ParallelAnalysis
    n_trusted: int
    n_samples: int

    @property
    def curve(self) -> Array:
        """The curve that decided."""
        if self.method == "parallel":
            return self.parallel_analysis.eigenvalues
        return self.cross_validation.errors

    @property
    def spread(self) -> Array:
        """Standard errors of the curve."""
        return self.parallel_analysis.spread if self.method == "parallel" else self.cross_validation.spread

    def __str__(self) -> str:
        word = "component" if self.n_components == 1 else "components"
        lines = [
            f"{self.n_components} {word} by {self.method.replace('parallel', 'parallel analysis')}, "
            f"from the {self.n_trusted} rows of {self.n_samples} that the fit trusts.",
            "",
            f"{'':>10}  {'eigenvalue':>10}  {'of noise':>10}  {'prediction':>10}",
            f"{'components':>10}  {'':>10}  {'up to':>10}  {'error':>10}",
        ]
        errors, parallel = self.cross_validation.errors, self.parallel_analysis
        for k in range(max(len(errors), len(parallel.eigenvalues) + 1)):
            cells = [""] * 3
            if 1 <= k <= len(parallel.eigenvalues):
                cells[:2] = [f"{parallel.eigenvalues[k - 1]:.4g}", f"{parallel.null_limit[k - 1]:.4g}"]
            if k < len(errors):
                cells[2] = f"{errors[k]:.4g}"
            mark = "  <" if k == self.n_components else ""
            lines.append(f"{k:>10}  " + "  ".join(f"{cell:>10}" for cell in cells) + mark)
        return "\n".join(lines)


def select_n_components(
    X: ArrayLike,
    estimator: BaseEstimator | None = None,
    *,
    method: str = "cross-validation",
    max_components: int | None = None,
    random_state: int = 0,
) -> ComponentSelection:
    """How many components the majority of the rows has.

    The estimator is fitted with 1, 2, ... components until the rows that it
    trusts have no more than that. A single fit with many components would
    not do: a line of bad rows becomes a component of it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    estimator : estimator or Pipeline, optional
        `TL1SubspacePCA(random_state=0)` by default. With a pipeline the
        components are those of the data after its first steps. An estimator
        that repairs cells (with `impute`) is judged by the cells it trusts.
    method : {"cross-validation", "parallel"}, default="cross-validation"
        "cross-validation": cells of held-out rows are predicted from the
        other cells of their row; the one that ``n_components=None`` uses.
        "parallel": eigenvalues against those of noise with the same
        variances, the classic way. Of tables with a true number both are
        right; in real ones it also sees components that are too weak to
        predict anything (38 of the digits, where 19 predict).
    max_components : int, optional
        By default a third of the rows, and fewer than the columns.
    random_state : int, default=0
        Of the folds and of the noise: the same rows have the same answer.

    Returns
    -------
    ComponentSelection

    Examples
    --------
    >>> from tl1pca import select_n_components
    >>> from tl1pca.datasets import make_contaminated
    >>> X, bad, axes = make_contaminated(200, 20, 3, kind="line", fraction=0.2, random_state=0)
    >>> select_n_components(X).n_components
    3
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
    estimator = TL1SubspacePCA(random_state=0) if estimator is None else estimator
    shape = np.shape(X)
    if len(shape) != 2 or min(shape) < 2 or shape[0] < 6:
        raise ValueError(f"X needs at least 6 rows and 2 columns, got an array of shape {shape}.")
    most = largest_count(*shape)
    if max_components is not None:
        if not 1 <= max_components <= most:
            raise ValueError(f"max_components must be between 1 and {most} here, got {max_components!r}.")
        most = int(max_components)
    seen: dict[int, TrustedRows] = {}

    def trusted(k: int) -> TrustedRows:
        seen[k] = trusted_rows(fit_with(estimator, k, X), X)
        return seen[k]

    count = choose_dimension(trusted, most, method=method, seed=random_state)
    rows = seen[count] if count in seen else trusted(count)
    shown, limited = min(count + 6, most), rows.limited()
    return ComponentSelection(
        n_components=count,
        method=method,
        cross_validation=cross_validation(limited, shown, seed=random_state),
        parallel_analysis=parallel_analysis(limited, shown, seed=random_state),
        n_trusted=len(rows.values),
        n_samples=shape[0],
    )


def fit_with(estimator: BaseEstimator, k: int, X: ArrayLike) -> Any:
    """A clone with k components, fitted."""
    name = "n_components"
    if isinstance(estimator, Pipeline):
        name = f"{estimator.steps[-1][0]}__{name}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit with too few components may not converge, and is one of many
        return clone(estimator).set_params(**{name: k}).fit(X)


def trusted_rows(fitted: Any, X: ArrayLike) -> TrustedRows:
    """The rows with a weight in the fit, as its last step saw them; without weights those near the plane."""
    pca, data = split(fitted)[1], inner_rows(fitted, X)
    values = np.asarray(data, dtype=np.float64)
    judged = None
    if hasattr(pca, "impute"):
        judged = np.isfinite(values) & ~np.asarray(pca.cell_flags_, dtype=bool)
        values = np.asarray(pca.impute(data), dtype=np.float64)
    elif np.isnan(values).any():
        judged = np.isfinite(values)
        values = np.where(judged, values, pca.inverse_transform(pca.transform(data)))
    weights = getattr(pca, "weights_", None)
    if weights is None:
        keep = np.asarray(diagnose(pca, values).flags) < Flag.ORTHOGONAL_OUTLIER
    else:
        keep = np.asarray(weights) > 0
    if judged is not None:
        keep &= judged.any(axis=1)
        judged = judged[keep]
    return TrustedRows(values[keep], judged, np.flatnonzero(keep))
