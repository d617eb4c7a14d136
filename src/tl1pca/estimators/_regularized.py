"""PCA-L1 with adaptive regularization."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..extraction import Extraction, greedy
from ..objectives import Dispersion
from ..operators import Lp
from ..solvers import TraceLasso, TraceLassoAscent
from ._base import Center, CenteredPCA, Problem
from ._dispersion import check_iteration

Array = NDArray[Any]


class RegularizedL1PCA(CenteredPCA):
    r"""PCA-L1/AR: maximizes :math:`\sum_i |x_i^T w| - \lambda\,\|X\,\mathrm{Diag}(w)\|_*` (Lu et al. 2016).

    The trace lasso lies between the l1 norm of w, for uncorrelated columns of
    unit length, and its Euclidean norm, for equal ones: columns that move
    together are kept together. One component after the other, each orthogonal
    to the earlier ones, by steps that never descend (ours; the published
    augmented Lagrangian gives no such promise). Entries shrink and seldom
    vanish. Standardize the columns first.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a share in (0, 1) of the total dispersion; None
        keeps all that the rows span.
    penalty : float, default=0.1
        :math:`\lambda`; zero is PCA-L1.
    center : None, "mean", "median", "spatial_median" or array-like, default="spatial_median"
    tol : float, default=1e-8
        Relative increase at which to stop.
    max_iter : int, default=1000
    verbose : bool, default=False
        Whether to print the objective after every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows, the largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
    objective_ : float
    objective_path_ : list of ndarray
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
        As in `DispersionPCA`.
    n_components_, rank_, n_iter_, n_features_in_ : int
    converged_ : bool

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tl1pca import RegularizedL1PCA
    >>> RegularizedL1PCA(2).fit(load_wine().data).components_.shape
    (2, 13)
    """

    random_state = None
    _rotates = False

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        penalty: float = 0.1,
        center: Center = "spatial_median",
        tol: float = 1e-8,
        max_iter: int = 1000,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.penalty = penalty
        self.center = center
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_iteration(self.tol, self.max_iter)
        if not isinstance(self.penalty, Real) or not 0 <= self.penalty < np.inf:
            raise ValueError(f"penalty must be a non-negative number, got {self.penalty!r}.")

    def _solve(self, problem: Problem) -> Extraction:
        rows = problem.rows
        A = rows.array()
        v = 1.0 if rows.weights is None else np.sqrt(rows.weights)[:, None]
        columns, basis = A.astype(np.float64) * v, np.eye(A.shape[1])
        objective = TraceLasso(Dispersion(rows, Lp(p=1)), columns, float(self.penalty), basis)
        solver = TraceLassoAscent(tol=self.tol, max_iter=self.max_iter)
        return greedy(objective, solver, problem.n_components, problem.rng, self._enough(problem))  # type: ignore[arg-type]
