"""The residual side: ResidualPCA and its preset R1PCA."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ..extraction import Extraction, joint
from ..location import host_weights
from ..objectives import Residual
from ..operators import Cauchy, Huber, Lp, Operator
from ..solvers import State, SubspaceMM, principal_axes
from ..statistics import subsample
from ._base import Center, CenteredPCA, Problem
from ._dispersion import check_iteration
from ._input import check_part

_WEIGHTS = {"huber": Huber, "l1": Lp, "cauchy": Cauchy}


class BaseResidualPCA(CenteredPCA):
    """Composition of an operator with majorize-minimize; a preset says which operator."""

    tol: float
    max_iter: int
    random_state = None
    _minimizes = True
    _in_memory = None
    _supports_array_api = True

    @abstractmethod
    def _operator(self) -> Operator:
        """The operator of the method, its parameters not yet checked."""

    def _check_parameters(self) -> None:
        self._operator().check()
        check_iteration(self.tol, self.max_iter)
        self._solver().check(self._operator(), "joint")

    def _solver(self) -> SubspaceMM:
        return SubspaceMM(tol=self.tol, max_iter=self.max_iter)

    def _solve(self, problem: Problem) -> Extraction:
        rows, given = problem.rows, self._operator().rescaled(problem.factor)

        def solve(k: int) -> Extraction:
            operator, start = given, principal_axes(rows, k)
            if operator.adaptive:  # settled at the residuals of classical PCA
                few = subsample(rows.shape[0])
                distances = rows.gather_scores(Residual(rows, operator).distances(start), few)
                operator = operator.resolve(distances, host_weights(rows, few))
            return joint(Residual(rows, operator), self._solver(), k, start=State(start))

        return self._jointly(problem, solve)


class ResidualPCA(BaseResidualPCA):
    r"""PCA that minimizes :math:`\sum_i \rho(r_i)`, r the distance of a row to the subspace.

    Rotation equivariant and joint in the components. Solved by reweighted
    PCA (majorize-minimize) from the classical principal axes; the objective
    never increases. The components are ordered as in PCA, by the scatter of
    the reweighted rows.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Dimension of the subspace; a share in (0, 1) of the total dispersion;
        None keeps all that the rows span.
    operator : Operator or None, default=None
        What a distance costs: ``Lp(1)``, ``Huber()``, ``Cauchy()``, ``TL1()``.
        None is ``Huber()``. A parameter "auto" is settled at the residuals of
        classical PCA.
    center : None, "mean", "median", "spatial_median" or array-like, default="spatial_median"
    tol : float, default=1e-8
        Relative decrease of the objective at which to stop; tol^(2/3), with
        longer steps, above 5000 rows.
    max_iter : int, default=1000
    verbose : bool, default=False
        Whether to print the objective after every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows, the largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
    objective_ : float
        The minimized sum.
    objective_path_ : list of one ndarray
        Non-increasing.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
        As in `DispersionPCA`.
    n_components_, rank_, n_iter_, n_features_in_ : int
    converged_ : bool

    Examples
    --------
    >>> from tl1pca import ResidualPCA, TL1
    >>> from tl1pca.datasets import make_toy
    >>> X, outlier = make_toy(random_state=0)
    >>> ResidualPCA(1, operator=TL1()).fit(X).components_.shape
    (1, 2)
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        operator: Operator | None = None,
        center: Center = "spatial_median",
        tol: float = 1e-8,
        max_iter: int = 1000,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.operator = operator
        self.center = center
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _operator(self) -> Operator:
        return Huber() if self.operator is None else self.operator

    def _check_parameters(self) -> None:
        check_part("operator", self._operator(), Operator, "an Operator such as Huber() or Lp(1)")
        super()._check_parameters()


class R1PCA(BaseResidualPCA):
    r"""R1-PCA: rotation invariant l1 PCA (Ding, Zhou, He and Zha 2006).

    A preset of `ResidualPCA`: minimizes the sum of an operator of the row
    distances to the subspace.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Dimension of the subspace; a share in (0, 1) of the total dispersion;
        None keeps all that the rows span.
    weights : {"huber", "l1", "cauchy"}, default="huber"
        Weight of a row at distance r: min(1, c/r), 1/r or 1/(1 + r^2/c^2),
        where c is the median distance to the classical subspace.
    center : None, "mean", "median", "spatial_median" or array-like, default="spatial_median"
    tol : float, default=1e-8
        Relative decrease of the objective at which to stop; tol^(2/3), with
        longer steps, above 5000 rows.
    max_iter : int, default=1000
    verbose : bool, default=False
        Whether to print the objective after every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows, the largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
    objective_ : float
        The minimized sum.
    objective_path_ : list of one ndarray
        Non-increasing.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
        As in `DispersionPCA`.
    n_components_, rank_, n_iter_, n_features_in_ : int
    converged_ : bool

    Examples
    --------
    >>> from tl1pca import R1PCA
    >>> from tl1pca.datasets import make_kwak
    >>> pca = R1PCA(n_components=1, center=None).fit(make_kwak())
    >>> pca.score_samples(make_kwak()).mean().round(3).item()
    -1.206
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        weights: str = "huber",
        center: Center = "spatial_median",
        tol: float = 1e-8,
        max_iter: int = 1000,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.weights = weights
        self.center = center
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _operator(self) -> Operator:
        operator: Any = _WEIGHTS[self.weights]
        return operator()

    def _check_parameters(self) -> None:
        if self.weights not in _WEIGHTS:
            raise ValueError(f"weights must be one of {tuple(_WEIGHTS)}, got {self.weights!r}.")
        super()._check_parameters()
