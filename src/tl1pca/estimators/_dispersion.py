"""The dispersion side: DispersionPCA and its preset TL1PCA."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..extraction import Extraction, greedy, joint
from ..objectives import dispersion
from ..operators import TL1, Operator
from ..rows import Lift, Rows
from ..solvers import FixedPoint, PaperAscent, Solver, SphereAscent, StiefelAscent
from ._base import Center, CenteredPCA, Problem, product
from ._fitted import Fitted
from ._input import check_part

Array = NDArray[Any]


class BaseDispersionPCA(CenteredPCA):
    """Composition of operator, solver and extraction; a preset says which."""

    _in_memory = None

    @abstractmethod
    def _operator(self) -> Operator:
        """The operator of the method, its parameters not yet checked."""

    @abstractmethod
    def _parts(self, factor: float = 1.0) -> tuple[Solver, str]:
        """The solver, for data multiplied by `factor`, and the extraction, "greedy" or "joint"."""

    def _check_parameters(self) -> None:
        self._operator().check()
        solver, extraction = self._parts()
        solver.check(self._operator(), extraction)

    def _needs_memory(self) -> str | None:
        solver = self._parts()[0]
        named = self.get_params(deep=False).get("solver", solver)
        reason = solver.in_memory and f"with solver={named!r} {solver.in_memory}"
        return super()._needs_memory() or reason

    @property
    def _supports_array_api(self) -> bool:  # type: ignore[override]
        return self._parts()[0].supports_array_api

    def _turns(self, rows: Rows, n_components: int | None) -> bool:
        count = min(rows.shape) if n_components is None else n_components
        return super()._turns(rows, n_components) and self._parts()[0].gains_by_turning(rows, count)

    def _solve(self, problem: Problem) -> Extraction:
        objective = dispersion(problem.rows, self._operator().rescaled(problem.factor))
        solver, extraction = self._parts(problem.factor)
        if extraction == "joint":
            return self._jointly(problem, lambda k: joint(objective, solver, k, problem.rng))
        return greedy(objective, solver, problem.n_components, problem.rng, self._enough(problem))


class DispersionPCA(BaseDispersionPCA):
    """PCA that maximizes the dispersion sum_i rho(x_i.w) of the scores.

    The general form of `TL1PCA`, `L1PCA` and `LpPCA`: any operator, any
    solver, one component at a time or all at once.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a share in (0, 1) of the total dispersion; None
        keeps all that the rows span.
    operator : Operator or None, default=None
        What a projection contributes; None is ``TL1(a="auto")``. Its
        parameters can be searched, e.g. ``operator__a``.
    solver : "auto", "paper" or Solver, default="auto"
        "auto" takes `SphereAscent` (greedy) or `StiefelAscent` (joint) for
        concave operators, `FixedPoint` for convex ones and `StiefelAscent` for
        those that are neither.
    extraction : {"greedy", "joint"}, default="greedy"
        One component after the other in the complement of the earlier ones,
        or all at once.
    center : None, "mean", "median", "spatial_median" or array-like, default="spatial_median"
    random_state : int, RandomState or None, default=0
        For solvers that draw; the default one does not. The default gives the
        same question the same answer; None draws afresh in every call.
    verbose : bool, default=False
        Whether to print the objective after every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows, the largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
        The center that was subtracted.
    objective_ : float
        Dispersion of the fitted components, summed.
    objective_path_ : list of ndarray
        Objective against iteration, one array per solve.
    explained_variance_ : ndarray of shape (n_components_,)
        Square of the Tl1 scale of the scores about their median, consistent
        at the normal distribution.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Its share of the total: the sum over the components plus the median
        squared distance to their span.
    n_components_, rank_, n_iter_, n_features_in_ : int
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> from tl1pca import DispersionPCA, Lp
    >>> X = np.array([[1.0, 1.1], [2.0, 1.9], [-1.0, -1.2], [-2.0, -1.8], [0.0, 40.0]])
    >>> pca = DispersionPCA(1, operator=Lp(p=1), center=None).fit(X)
    >>> pca.components_.shape
    (1, 2)
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        operator: Operator | None = None,
        solver: str | Solver = "auto",
        extraction: str = "greedy",
        center: Center = "spatial_median",
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.operator = operator
        self.solver = solver
        self.extraction = extraction
        self.center = center
        self.random_state = random_state
        self.verbose = verbose

    def _operator(self) -> Operator:
        return TL1() if self.operator is None else self.operator

    def _check_parameters(self) -> None:
        check_part("operator", self._operator(), Operator, "an Operator such as TL1(a=1.0) or Lp(p=1)")
        if self.extraction not in ("greedy", "joint"):
            raise ValueError(f"extraction must be 'greedy' or 'joint', got {self.extraction!r}.")
        check_solver(self.solver)
        super()._check_parameters()
        if self._operator().adaptive and not self._operator().scale_form:
            raise ValueError(
                f"The 'auto' of {self._operator()!r} is defined for residuals; give a number in the units "
                "of the data, or use ResidualPCA."
            )
        if self.extraction == "joint" and self._operator().adaptive:
            raise ValueError(
                "a='auto' is defined per component; use extraction='greedy' or give a number for a."
            )

    def _parts(self, factor: float = 1.0) -> tuple[Solver, str]:
        return choose_solver(self.solver, self._operator(), self.extraction), self.extraction


class TL1PCA(BaseDispersionPCA):
    r"""Tl1PCA: PCA by maximization of the transformed l1 dispersion (Yang et al. 2020).

    Maximizes :math:`\sum_i (a+1)|x_i^T w|/(a+|x_i^T w|)` over unit w, one
    component at a time. Each row counts at most a + 1, however far it lies.

    Bounded dispersion is more robust than the l1 and lp ones, and not fully
    robust: a cluster of far rows can still win. `TL1SubspacePCA` is the
    estimator to pick when the data hold more than a few bad rows.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a share in (0, 1) of the total dispersion (see
        `explained_variance_ratio_`); None keeps all that the rows span.
    a : float or "auto", default="auto"
        Shape of the operator in the units of the data, as in the paper. "auto"
        is free of units: a is the scale alpha of the projections, the root of
        mean \|t\|/(alpha + \|t\|) = 1/2, and alpha is maximized.
    center : None, "mean", "median", "spatial_median" or array-like, default="spatial_median"
        What to subtract; the paper's experiments subtract nothing (None).
    solver : {"auto", "paper"} or Solver, default="auto"
        "auto" is `SphereAscent`: deterministic, several starts ascended
        together while the kinks of the objective are sharpened, then Newton.
        With more than 900 rows all components move together; with more than
        5000 a sample finds them and all rows polish them, one pass per step.
        "paper" is the published Algorithm 1 with its random first angle
        and its absolute tolerance of 1e-6 (`tol` and `n_starts` do not apply).
    tol : float, default=1e-8
        Relative tangent gradient at which to stop. With more than 900 rows,
        steps end when they gain less than tol^(3/4); with more than 5000, when
        one more step promises a relative increase below tol.
    max_iter : int, default=1000
        Most iterations per component.
    n_starts : int, default=1
        Effort in the search for the global maximum: the number of batches of
        start rows that are ascended.
    random_state : int, RandomState or None, default=0
        For ``solver="paper"``; the default solver draws nothing. The default
        gives the same question the same answer; None draws afresh in every call.
    verbose : bool, default=False
        Whether to print the objective after every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows, the largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
        The center that was subtracted.
    a_ : ndarray of shape (n_components_,)
        The a of every component.
    objective_ : float
        Sum over the components of f(w), or of alpha(w) for ``a="auto"``.
    objective_path_ : list of ndarray
        Per component, the objective after each iteration: from the start on
        for the paper's solver, from the end of the smoothing on for ours.
    explained_variance_ : ndarray of shape (n_components_,)
        Square of the Tl1 scale of the scores about their median, consistent
        at the normal distribution.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Its share of the total: the sum over the components plus the median
        squared distance to their span.
    n_components_ : int
    rank_ : int
        Number of components the rows determine.
    n_iter_ : int
        Most iterations of a component.
    converged_ : bool
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    References
    ----------
    X.-F. Yang, Y.-H. Shao, C.-N. Li, L.-M. Liu, N.-Y. Deng, "Principal
    component analysis based on Tl1-norm maximization", 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from tl1pca import TL1PCA
    >>> from tl1pca.datasets import make_toy
    >>> X, outlier = make_toy(random_state=0)
    >>> pca = TL1PCA(n_components=1, a=1.0).fit(X)
    >>> pca.transform(X).shape
    (34, 1)
    """

    _fitted: ClassVar[dict[str, Fitted]] = {"a_": Fitted(shape="k", least=0)}

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        a: float | str = "auto",
        center: Center = "spatial_median",
        solver: str | Solver = "auto",
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_starts: int = 1,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.a = a
        self.center = center
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.random_state = random_state
        self.verbose = verbose

    def _operator(self) -> Operator:
        return TL1(a=self.a)

    def _check_parameters(self) -> None:
        check_solver(self.solver)
        super()._check_parameters()
        check_iteration(self.tol, self.max_iter)
        if not isinstance(self.n_starts, Integral) or self.n_starts < 1:
            raise ValueError(f"n_starts must be a positive integer, got {self.n_starts!r}.")

    def _parts(self, factor: float = 1.0) -> tuple[Solver, str]:
        if not isinstance(self.solver, str):
            return self.solver, "greedy"
        if self.solver == "paper":
            return PaperAscent(max_iter=self.max_iter), "greedy"
        return SphereAscent(tol=self.tol, max_iter=self.max_iter, n_starts=self.n_starts), "greedy"

    def _store(self, problem: Problem, extraction: Extraction, mean: Array, lift: Lift) -> None:
        super()._store(problem, extraction, mean, lift)
        if isinstance(self.a, str):
            last = np.array([path[-1] for path in self.objective_path_])
            self.a_ = problem.rows.asarray(product(last, dtype=problem.rows.dtype))
        else:
            self.a_ = problem.rows.asarray(np.full(self.n_components_, float(self.a)))


def choose_solver(solver: str | Solver, operator: Operator, extraction: str) -> Solver:
    """The solver object behind a name; "auto" goes by the traits of the operator."""
    if not isinstance(solver, str):
        return solver
    if solver == "paper":
        return PaperAscent()
    if operator.concave:
        return SphereAscent() if extraction == "greedy" else StiefelAscent()
    return FixedPoint() if operator.convex else StiefelAscent()


def check_solver(solver: object) -> None:
    """Readable error for what is neither the name of a solver nor one."""
    if not isinstance(solver, str):
        check_part("solver", solver, Solver, "'auto', 'paper' or a Solver object")
    elif solver not in ("auto", "paper"):
        raise ValueError(f"solver must be 'auto', 'paper' or a Solver object, got {solver!r}.")


def check_iteration(tol: float, max_iter: int) -> None:
    """Readable errors for the two numbers that end an iteration."""
    if not isinstance(tol, Real) or not tol >= 0:
        raise ValueError(f"tol must be a non-negative number, got {tol!r}.")
    if not isinstance(max_iter, Integral) or max_iter < 1:
        raise ValueError(f"max_iter must be a positive integer, got {max_iter!r}.")
