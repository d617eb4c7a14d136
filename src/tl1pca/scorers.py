"""Scorers for scikit-learn's searches, which bad rows in the data cannot mislead.

``GridSearchCV(estimator, grid, scoring=predicted_cells)`` looks for the number
of components, a parameter or a method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._pipelines import check_components, inner_rows, split
from ._predicted import predicted_cell_errors
from .statistics import main_mode

__all__ = ["predicted_cells"]

Array = NDArray[Any]


def predicted_cells(estimator: Any, X: ArrayLike, y: object = None) -> float:
    """Minus the logarithm of the error with which cells of X are predicted by the others of their row.

    The distance of held-out rows to a subspace, and the likelihood of
    scikit-learn's PCA as well, only get better when a component is added for
    the bad rows. Here every cell is predicted from the other cells of its row,
    so that a component too much makes it worse; and the value is that of the
    main mode of the rows, so that it does not matter whether a minority of bad
    rows is fitted well.

    Parameters
    ----------
    estimator : fitted estimator with mean_ and components_, or Pipeline that ends in one
    X : array-like of shape (n_samples, n_features)
        Rows that were not in the fit.
    y : ignored

    Returns
    -------
    float
        Larger is better. In the units of what the last step sees: pipelines
        with different scalers cannot be compared by it.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.datasets import make_contaminated
    >>> from tl1pca.scorers import predicted_cells
    >>> X, bad, axes = make_contaminated(300, 15, 3, kind="line", fraction=0.2, random_state=0)
    >>> grid = {"n_components": [1, 2, 3, 4, 5]}
    >>> search = GridSearchCV(TL1SubspacePCA(random_state=0), grid, scoring=predicted_cells)
    >>> search.fit(X).best_params_
    {'n_components': 3}
    """
    pca, data = split(estimator)[1], inner_rows(estimator, X)
    check_components(pca, "predicted_cells")
    values = np.asarray(data, dtype=np.float64)
    judged = np.isfinite(values)
    if not judged.all():
        values = np.where(judged, values, pca.inverse_transform(pca.transform(data)))
    _, size, basis = np.linalg.svd(np.asarray(pca.components_, dtype=np.float64), full_matrices=False)
    basis = basis[size > 1e-12 * size[0]]
    *_, errors = predicted_cell_errors(values - np.asarray(pca.mean_, dtype=np.float64), basis.T)
    keep = judged.any(axis=1)
    rows = np.average(errors[keep] ** 2, axis=1, weights=judged[keep])
    logs = 0.5 * np.log(np.maximum(rows, np.finfo(np.float64).tiny))
    return -main_mode(logs, len(logs) // 2 + 1)[0]
