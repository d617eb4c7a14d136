"""Several estimators on the same data, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.decomposition import PCA

from ._pipelines import check_columns, inner_rows, split
from .diagnostics import diagnose, principal_angles
from .estimators import L1PCA, R1PCA, TL1PCA, TL1SubspacePCA

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare"]


def compare(
    X: ArrayLike,
    estimators: Mapping[str, Any] | Sequence[Any] | None = None,
    n_components: int | None = None,
) -> pd.DataFrame:
    """Fit several estimators to X and put what they found side by side.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    estimators : mapping of names to estimators, sequence of estimators, or None
        None compares scikit-learn's PCA with `L1PCA`, `R1PCA`, `TL1PCA` and
        `TL1SubspacePCA`. Any estimator with `components_`, `mean_` and
        `explained_variance_` will do, and a pipeline that ends in one; they
        are cloned, not changed.
    n_components : int, optional
        Set on every estimator, in a pipeline on its last step; by default
        each keeps its own.

    Returns
    -------
    pandas.DataFrame
        One row per method: ``n_components``, ``outliers`` (rows that the
        diagnostics flag), ``time`` in seconds, ``n_iter``, ``converged``,
        ``objective`` (of the method itself, not comparable between methods)
        and one column ``angle to NAME`` for each method: the largest
        principal angle in degrees, NaN between pipelines that scale the
        columns differently. Nothing here says which method is best: a
        subspace that outliers captured may well be the nearest to all rows.

    Examples
    --------
    >>> from tl1pca import compare
    >>> from tl1pca.datasets import make_contaminated
    >>> X, bad, axes = make_contaminated(200, 10, 2, fraction=0.2, random_state=0)
    >>> table = compare(X, n_components=2)
    >>> bool(table.loc["TL1SubspacePCA", "outliers"] >= bad.sum())
    True
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "compare returns a pandas DataFrame: pip install 'tl1pca[cli]' (or pandas alone)."
        ) from error
    fitted, rows = {}, []
    for label, estimator in _named(estimators).items():
        model = clone(estimator)
        if n_components is not None:
            split(model)[1].set_params(n_components=n_components)
        if split(model)[0] is None:
            check_columns(X)
        begin = perf_counter()
        _fit(model, label, X)
        seconds = perf_counter() - begin
        fitted[label] = model
        pca = split(model)[1]
        rows.append(
            {
                "method": label,
                "n_components": len(pca.components_),
                "outliers": int((diagnose(model, X).flags > 0).sum()),
                "time": seconds,
                "n_iter": getattr(pca, "n_iter_", 1),
                "converged": getattr(pca, "converged_", True),
                "objective": getattr(pca, "objective_", np.nan),
            }
        )
    table = pd.DataFrame(rows).set_index("method")
    for label, model in fitted.items():
        table[f"angle to {label}"] = [_angle(other, model, X) for other in fitted.values()]
    return table


def _fit(model: Any, label: str, X: ArrayLike) -> None:
    try:
        model.fit(X)
    except ValueError as error:
        if "contains NaN" not in str(error):
            raise
        raise ValueError(  # scikit-learn's advice is about classifiers
            f"X contains NaN, and {label} takes complete rows: drop those with missing values, fill them in "
            "first, SimpleImputer(strategy='median').fit_transform(X), or compare methods that fit the cells "
            "that are there, compare(X, [TL1CellPCA(), L1ReconstructionPCA(2)])."
        ) from None


def _angle(first: Any, second: Any, X: ArrayLike) -> float:
    """The largest angle between two subspaces of the same space; columns in other units make another one."""
    if split(first)[0] is not None or split(second)[0] is not None:
        one, other = (np.asarray(inner_rows(model, X)) for model in (first, second))
        if one.shape != other.shape or not np.allclose(one, other, equal_nan=True):
            return float("nan")
    return float(principal_angles(first, second)[0])


def _named(estimators: Mapping[str, Any] | Sequence[Any] | None) -> dict[str, Any]:
    if estimators is None:
        estimators = [PCA(), L1PCA(), R1PCA(), TL1PCA(), TL1SubspacePCA()]
    if isinstance(estimators, Mapping):
        return dict(estimators)
    named: dict[str, Any] = {}
    for estimator in estimators:
        label = base = type(split(estimator)[1]).__name__
        count = 2
        while label in named:
            label, count = f"{base} {count}", count + 1
        named[label] = estimator
    return named
