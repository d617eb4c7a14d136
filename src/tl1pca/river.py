"""`IncrementalTL1PCA` with river's conventions: one row at a time, as a dictionary.

``compose.Pipeline(preprocessing.StandardScaler(), RiverTL1PCA(3))`` is a pipeline of river.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .estimators import IncrementalTL1PCA

try:
    import river.base

    Transformer: Any = river.base.Transformer
except ImportError:  # said when it is used: tools that import every module go on
    Transformer = None

__all__ = ["RiverTL1PCA"]


class RiverTL1PCA(Transformer or object):  # type: ignore[misc]
    """A transformer of river around `IncrementalTL1PCA`.

    The columns are those of the first row, in alphabetical order. A column that
    a later row lacks, or that is None, is a missing cell; columns that the
    first row did not have are left out.

    Parameters
    ----------
    n_components : int, default=2
    warm_up, forget, batch_size, breakdown, seed
        As in `IncrementalTL1PCA`, whose `random_state` is `seed`.

    Attributes
    ----------
    pca : IncrementalTL1PCA
        What was learned; fitted after `warm_up` rows.
    """

    def __init__(
        self,
        n_components: int = 2,
        warm_up: int = 300,
        forget: float = 1.0,
        batch_size: int | None = None,
        breakdown: float = 0.5,
        seed: int | None = 0,
    ):
        if Transformer is None:
            raise ImportError("tl1pca.river is an adapter for river, which is missing: pip install river.")
        self.n_components = n_components
        self.warm_up = warm_up
        self.forget = forget
        self.batch_size = batch_size
        self.breakdown = breakdown
        self.seed = seed
        self.pca = IncrementalTL1PCA(
            n_components,
            warm_up=warm_up,
            forget=forget,
            batch_size=batch_size,
            breakdown=breakdown,
            random_state=seed,
        )
        self.columns: list[Any] = []

    def _row(self, x: dict[Any, Any]) -> Any:
        values = [x.get(name) for name in self.columns]
        return np.array([[np.nan if value is None else float(value) for value in values]])

    def _fitted(self) -> bool:
        return hasattr(self.pca, "components_")

    def learn_one(self, x: dict[Any, Any]) -> None:
        """Learn from one row.

        Parameters
        ----------
        x : dict
        """
        if not self.columns:
            self.columns = sorted(x, key=str)
        self.pca.partial_fit(self._row(x))

    def transform_one(self, x: dict[Any, Any]) -> dict[int, float]:
        """The scores of a row: 0, 1, ... for the components, all zero during the warm-up.

        Parameters
        ----------
        x : dict

        Returns
        -------
        dict
        """
        scores = self.pca.transform(self._row(x))[0] if self._fitted() else np.zeros(self.n_components)
        return {j: float(score) for j, score in enumerate(scores)}

    def score_one(self, x: dict[Any, Any]) -> float:
        """How far out a row is: above one for outliers, zero during the warm-up.

        Parameters
        ----------
        x : dict

        Returns
        -------
        float
        """
        return float(1.0 - self.pca.decision_function(self._row(x))[0]) if self._fitted() else 0.0
