"""What a model says about the rows of a table, in the words of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._pipelines import inner_names, inner_rows, numbers, observed_numbers, split
from .._subspace import has_variance
from .._unusual import unusual
from ..diagnostics import Diagnostics, Flag, diagnose, excess, rows_behind, rows_for_flags
from ..report._words import NO_VARIANCE, count, too_few
from ..tables import Table
from ._data import frame

Array = NDArray[Any]

#: Columns of numbers about a row.
DISTANCES = ("score_distance", "orthogonal_distance", "excess")

#: In place of a flag where there are too few rows for flags.
NOT_JUDGED = "not judged"


@dataclass(frozen=True)
class Judged:
    """Distances, flags and unusual columns of the rows of a table.

    Attributes
    ----------
    pca : fitted estimator
        The last step of a pipeline.
    data : ndarray of shape (n, d)
        The rows as it sees them.
    columns : list of str of length d
        Their names.
    found : Diagnostics
    excess : ndarray of shape (n,)
        The larger distance over its limit.
    n_fit : int
        Rows behind the limits.
    cells : ndarray of shape (n, d) or None
        Residuals of the cells, of a method that judges them.
    """

    pca: Any
    data: Array
    columns: list[str]
    found: Diagnostics
    excess: Array
    n_fit: int
    cells: Array | None = None

    @property
    def n_components(self) -> int:
        """Of the model."""
        return len(self.pca.components_)

    @property
    def too_few(self) -> str:
        """Why there are no flags, or nothing where there are."""
        if self.n_fit >= rows_for_flags(self.n_components):
            return ""
        return too_few(self.n_fit, self.n_components)

    @property
    def flagged(self) -> int | None:
        """Number of rows that are not regular; None where there are too few for flags."""
        return None if self.too_few else int((self.found.flags > 0).sum())

    @property
    def heading(self) -> str:
        """What was found in one line."""
        name, n, limits = type(self.pca).__name__, len(self.data), self.found.cutoffs
        if self.too_few:
            return self.too_few
        usual = {"score distance": limits.score, "orthogonal distance": limits.orthogonal}
        # Rows that are all the same have no limit along the components.
        named = ", ".join(f"{what} {limit:.4g}" for what, limit in usual.items() if np.isfinite(limit))
        said = (
            f"{self.flagged:,} of {count(n, 'row')} stand{'s' * (self.flagged == 1)} out from "
            f"{count(self.n_components, 'component')} ({name}; usual up to {named})."
        )
        return said if has_variance(self.pca) else f"{said} {NO_VARIANCE}"

    def flags(self) -> list[str]:
        """Flags of all rows in words."""
        if self.too_few:
            return [NOT_JUDGED] * len(self.data)
        return [Flag(flag).label for flag in self.found.flags.tolist()]

    def distances(self) -> list[tuple[float, ...]]:
        """`DISTANCES` of all rows."""
        beyond = np.full(len(self.data), np.nan) if self.too_few else self.excess
        found = (self.found.score_distances, self.found.orthogonal_distances, beyond)
        return list(zip(*(np.asarray(part, dtype=np.float64).tolist() for part in found)))

    def unusual(self, rows: Array) -> list[str]:
        """The columns that make rows unusual: in spreads off what is expected, or shares in percent."""
        details = unusual(self.pca, self.data, self.found, rows, self.cells)
        texts = []
        for by_score, columns, values in zip(details.by_score, details.columns, details.values):
            parts = [
                f"{self.columns[j]} {f'{100 * value:.0f} %' if by_score else _signed(value)}"
                for j, value in zip(columns.tolist(), values.tolist())
                if np.isfinite(value)
            ]
            texts.append(", ".join(parts))
        return texts


def _signed(value: float) -> str:
    """A number of spreads with its sign.

    Examples
    --------
    >>> [_signed(x) for x in (3.14159, -25.3, 1234.5, 1e9)]
    ['+3.1', '-25', '+1,234', '+1e+09']
    """
    size = abs(value)
    return f"{value:+.2g}" if size < 10 else f"{value:+,.0f}" if size < 1e6 else f"{value:+.0e}"


def judge(model: Any, table: Table) -> Judged:
    """Look at every row of a table with a fitted model."""
    pca = split(model)[1]
    rows = inner_rows(model, frame(table, model))
    cellwise = hasattr(pca, "impute")  # judges rows with missing and bad cells itself
    given = observed_numbers(pca, rows) if cellwise else numbers(pca, rows)
    data = pca._repaired(given) if cellwise else given
    found = diagnose(pca, given)
    beyond = excess(found.score_distances, found.orthogonal_distances, found.cutoffs)
    columns = inner_names(model, list(table.columns))
    cells = pca._cell_residuals(given) if cellwise else None
    return Judged(pca, data, columns, found, np.asarray(beyond), rows_behind(pca, len(data)), cells)
