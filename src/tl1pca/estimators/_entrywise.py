"""Entrywise L1 fits: L1-PCA (reconstruction) and L1-PCA* (best-fit hyperplanes)."""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from ..extraction import Extraction
from ..location import host_weights, locate
from ..rows import DenseRows, Rows
from ..solvers.entrywise import fit_l1_low_rank, fit_l1_star
from ._base import Center, CenteredPCA, Problem
from ._dispersion import check_iteration

Array = NDArray[Any]


class L1ReconstructionPCA(CenteredPCA):
    r"""L1-PCA: minimizes :math:`\sum_{ij} |X - UV^T|_{ij}` (Baccini 1996, Ke and Kanade 2003, 2005).

    Resists single bad entries rather than bad rows, and takes missing values,
    as `TL1CellPCA` does, which resists both: NaN entries do not
    count. Not rotation equivariant. The published alternation stops at local
    minima; it is started here from a smoothed l1 fit, which is ours.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Rank of the fit; a share in (0, 1) of the total dispersion; None keeps
        all that the rows span.
    solver : {"median", "lp"}, default="median"
        Alternating weighted medians, one coefficient at a time, or linear
        programs for all coefficients of a row or column.
    center : None, "mean", "median", "spatial_median" or array-like, default="median"
        With missing values "mean" and "median" are those of the observed
        entries; "spatial_median" needs complete rows.
    tol : float, default=1e-8
        Relative decrease of the objective at which to stop.
    max_iter : int, default=200
    verbose : bool, default=False
        Whether to print the objective after every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows that span the fit, the largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
    objective_ : float
        Sum of absolute errors over the observed entries.
    objective_path_ : list of one ndarray
        Non-increasing.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
        As in `DispersionPCA`, missing entries replaced by the fit.
    n_components_, rank_, n_iter_, n_features_in_ : int
    converged_ : bool

    Notes
    -----
    `transform` returns least squares coefficients (on the observed entries of
    a row), so that it is the inverse of `inverse_transform`; the l1 scores of
    the training rows differ from them where entries are bad.

    Examples
    --------
    >>> import numpy as np
    >>> from tl1pca import L1ReconstructionPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 6))
    >>> X[3, 2], X[7, 5] = np.nan, 50.0
    >>> pca = L1ReconstructionPCA(n_components=2, center=None).fit(X)
    >>> round(pca.objective_, 1) < 60
    True
    """

    random_state = None
    _minimizes = True
    _rotates = False
    _takes_missing = True
    _in_memory = "fits all entries at once"

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        solver: str = "median",
        center: Center = "median",
        tol: float = 1e-8,
        max_iter: int = 200,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.solver = solver
        self.center = center
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_iteration(self.tol, self.max_iter)
        if self.solver not in ("median", "lp"):
            raise ValueError(f"solver must be 'median' or 'lp', got {self.solver!r}.")

    def _locate(self, rows: Rows, center: Center) -> Array:
        observed = rows.observed
        if observed is None or center is None or not isinstance(center, str):
            return locate(rows, center)
        if center == "spatial_median":
            raise ValueError("center='spatial_median' needs complete rows; use 'median' with NaN in X.")
        # Column by column, over the observed entries only.
        data, weights = rows.gather_rows(np.arange(rows.shape[0])), host_weights(rows)
        parts = [
            locate(DenseRows(column[seen, None], weights=None if weights is None else weights[seen]), center)
            for column, seen in zip(data.T, observed.T)
        ]
        return np.concatenate(parts)

    def _measured(self, rows: Rows, W: Array) -> Rows:
        """The rows with their missing entries replaced by the fit."""
        if rows.observed is None:
            return rows
        fitted = rows.scores_and_distances(W)[0] @ W.T
        return DenseRows(np.where(rows.observed, rows.array(), fitted), weights=host_weights(rows))

    def _solve(self, problem: Problem) -> Extraction:
        rows = problem.rows
        A = rows.gather_rows(np.arange(rows.shape[0])).astype(np.float64)
        solver = cast(Literal["median", "lp"], self.solver)

        def solve(k: int) -> Extraction:
            fit = fit_l1_low_rank(
                A,
                k,
                observed=rows.observed,
                weights=host_weights(rows),
                solver=solver,
                max_iter=self.max_iter,
                tol=self.tol,
            )
            return Extraction(fit.loadings.astype(rows.dtype), (tuple(fit.path),), fit.converged)

        return self._jointly(problem, solve)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class L1BestFitPCA(CenteredPCA):
    r"""L1-PCA*: successive best l1 hyperplanes (Brooks, Dula and Boone 2013).

    The hyperplane with the least sum of absolute errors is found exactly, by
    one linear program (HiGHS) per coordinate; the rows are moved onto it, and
    the search goes on inside. Components come out last to first. Takes
    in-memory data of moderate dimension: about d^2/2 linear programs.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a share in (0, 1) of the total dispersion; None
        keeps all that the rows span.
    center : None, "mean", "median", "spatial_median" or array-like, default="median"
    verbose : bool, default=False
        Whether to print the objective after every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows, the largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
    objective_ : float
        Sum over the removed dimensions of the l1 error of their hyperplane.
    objective_path_ : list of one ndarray
        That sum after each removal.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
        As in `DispersionPCA`.
    n_components_, rank_, n_iter_, n_features_in_ : int
    converged_ : bool
        Always true: linear programs end.

    Notes
    -----
    Where the rows do not span the whole space (more features than samples) the
    data are reduced by an SVD first, and the l1 norm is then that of the
    reduced coordinates.

    Examples
    --------
    >>> from tl1pca import L1BestFitPCA
    >>> from tl1pca.datasets import make_toy
    >>> X, outlier = make_toy(random_state=0)
    >>> L1BestFitPCA(n_components=1).fit(X).components_.shape
    (1, 2)
    """

    random_state = None
    _rotates = False
    _in_memory = "solves linear programs over all entries"

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        center: Center = "median",
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.center = center
        self.verbose = verbose

    def _check_parameters(self) -> None:
        """Nothing to check beyond what `fit` does."""

    def _solve(self, problem: Problem) -> Extraction:
        rows = problem.rows
        A = rows.gather_rows(np.arange(rows.shape[0])).astype(np.float64)
        fit = fit_l1_star(A, problem.n_components, weights=host_weights(rows))

        def first(k: int) -> Extraction:  # which come out last
            removed = fit.objectives[: len(fit.objectives) + 1 - k]
            path = tuple(np.cumsum(np.append(0.0, removed)))
            return Extraction(fit.components[:k].T.astype(rows.dtype), (path,), True)

        return self._jointly(problem, first)
