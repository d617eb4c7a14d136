"""Several estimators on the same data, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.decomposition import PCA

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
        `explained_variance_` will do; they are cloned, not changed.
    n_components : int, optional
        Set on every estimator; by default each keeps its own.

    Returns
    -------
    pandas.DataFrame
        One row per method: ``objective`` (of the method itself, not
        comparable between methods), ``score`` (minus the median distance to
        the subspace), ``outliers`` (rows that the diagnostics flag),
        ``time`` in seconds, ``n_iter``, ``converged``, and one column
        ``angle to NAME`` for each method: the largest principal angle in degrees.

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
        raise ImportError("compare returns a pandas DataFrame; install pandas or tl1pca[cli].") from error
    data = np.asarray(X)
    fitted, rows = {}, []
    for label, estimator in _named(estimators).items():
        model = clone(estimator)
        if n_components is not None:
            model.set_params(n_components=n_components)
        begin = perf_counter()
        model.fit(X)
        seconds = perf_counter() - begin
        fitted[label] = model
        found = diagnose(model, data)
        rows.append(
            {
                "method": label,
                "n_components": len(model.components_),
                "objective": getattr(model, "objective_", np.nan),
                "score": -float(np.median(found.orthogonal_distances)),
                "outliers": int((found.flags > 0).sum()),
                "time": seconds,
                "n_iter": getattr(model, "n_iter_", 1),
                "converged": getattr(model, "converged_", True),
            }
        )
    table = pd.DataFrame(rows).set_index("method")
    for label, model in fitted.items():
        table[f"angle to {label}"] = [principal_angles(other, model)[0] for other in fitted.values()]
    return table


def _named(estimators: Mapping[str, Any] | Sequence[Any] | None) -> dict[str, Any]:
    if estimators is None:
        estimators = [PCA(), L1PCA(), R1PCA(), TL1PCA(), TL1SubspacePCA(random_state=0)]
    if isinstance(estimators, Mapping):
        return dict(estimators)
    named: dict[str, Any] = {}
    for estimator in estimators:
        label = base = type(estimator).__name__
        count = 2
        while label in named:
            label, count = f"{base} {count}", count + 1
        named[label] = estimator
    return named
