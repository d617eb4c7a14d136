"""The rows that a fit of single cells trusts, once their bad cells are repaired."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._predicted import TrustedRows, principal_axes
from ..dimension import choose_dimension, dimension_of_trusted, largest_count
from ..solvers.cell_start import RowChoice
from ..solvers.cellwise import solve_scores
from ._subspace import TL1SubspacePCA

Array = NDArray[Any]

#: Share of the rows off a plane from which on it may lack a component.
OFF_SHARE = 0.05
#: Rounds in which repaired cells and the plane of the rows trusted follow each other.
ROUNDS = 5


class RepairedRowsPCA(TL1SubspacePCA):
    """For rows with predicted cells, which have the vectors that predicted them in common.

    Those of bad rows are among them, so that a judgment at more dimensions
    than the components have would take a cluster of bad rows for good.
    """

    _judges_beyond = False

    def choice(self, Y: Array, given: Array) -> RowChoice:
        """The plane, and the rows to trust.

        With fewer components than the data have, groups and tails that lie along the others would be left
        out. So where many rows are, they are judged at as many dimensions as predict the given cells of
        the rows that a fit with so many trusts.

        Parameters
        ----------
        Y : ndarray of shape (n, d)
            Repaired rows.
        given : ndarray of bool of shape (n, d)
            Cells that are not repaired.
        """
        # In an order of their own: folds and turned tables go by the numbers of rows and columns.
        rows, columns = (np.argsort((Y * Y).sum(axis=axis), kind="stable") for axis in (1, 0))
        chosen = self._choice(Y[np.ix_(rows, columns)], given[np.ix_(rows, columns)])
        before, after = np.argsort(rows), np.argsort(columns)
        return RowChoice(
            chosen.center[after],
            chosen.V[after],
            chosen.trusted[before],
            lambda Z: chosen.accepts(Z[:, columns]),
        )

    def _choice(self, Y: Array, given: Array) -> RowChoice:
        fitted = cache(lambda k: clone(self).set_params(n_components=k).fit(Y))

        def trusted(k: int) -> TrustedRows:
            fit = fitted(k)
            index = np.flatnonzero((fit.weights_ > 0) & given.any(axis=1))
            values = repaired_alone(Y[index], given[index], fit.mean_, fit.components_.T)
            return TrustedRows(values, given[index], index)

        most = min(largest_count(*Y.shape), *Y.shape)
        k = choose_dimension(trusted, most, beyond=True) if self.n_components is None else self.n_components
        judge = fitted(k)
        k = judge.n_components_
        if self.n_components is not None and np.mean(judge.weights_ == 0) > OFF_SHARE:
            judge = fitted(dimension_of_trusted(trusted, k, most))
        return RowChoice(
            judge.mean_, judge.components_[:k].T, judge.weights_ > 0, lambda Z: judge.predict(Z) > 0
        )


def repaired_alone(Y: Array, given: Array, center: Array, V: Array) -> Array:
    """Rows with their repaired cells as a plane of their own has them.

    They were predicted by what all rows have in common, so that a component of bad rows alone
    would be found in these cells.
    """
    for _ in range(0 if given.all() else ROUNDS):
        variances = np.maximum(((Y - center) @ V).var(axis=0), 1e-12)
        U = solve_scores(np.where(given, Y - center, 0.0), given.astype(np.float64), V, 1.0 / variances)
        Y = np.where(given, Y, center + U @ V.T)
        center = Y.mean(axis=0)
        V = principal_axes(Y - center, V.shape[1])[1]
    return Y
