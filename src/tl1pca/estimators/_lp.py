"""The power operators: PCA-L1, PCA-Lp and Lp GPCA."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .._arrays import to_numpy
from ..extraction import Extraction, greedy
from ..geometry import polar_rank
from ..objectives import Dispersion
from ..operators import Lp, Operator
from ..rows import Lift, Rows
from ..solvers import (
    BallFixedPoint,
    FixedPoint,
    Solver,
    SphereAscent,
    StiefelAscent,
    sides_of,
)
from ._base import Center, ObliquePCA, Problem
from ._dispersion import BaseDispersionPCA, check_iteration

Array = NDArray[Any]

# The stopping rules of the published PCA-Lp programs: a change of W below the
# first or of the objective below the second.
_PUBLISHED_STEP, _PUBLISHED_CHANGE = 1e-2, 1e-4


class JointPowerPCA(BaseDispersionPCA):
    """Says when the joint fixed point leaves directions undetermined.

    W <- polar(G), G = X'(sign(T) psi(|T|)), has many solutions where the
    columns of G are dependent, as they are for scores of which several never
    change sign. The solution closest to the last W is taken.
    """

    def _store(self, problem: Problem, extraction: Extraction, mean: Array, lift: Lift) -> None:
        super()._store(problem, extraction, mean, lift)
        solver, kind = self._parts()
        if kind == "greedy" or self.n_components_ == 1 or not solver.linearizes:
            return
        free = min(self.n_components_, self.rank_) - _decided(problem.rows, self._operator(), extraction.W)
        if free > 0:
            warnings.warn(
                f"{type(self).__name__}: the data leave {free} of {self.n_components_} directions open, for "
                "the signs of the scores are linearly dependent. Those closest to the last iterate were "
                "taken, one of many equally good choices, and scores on the first few components depend on "
                "it. Center the rows, ask for fewer components, or set greedy=True.",
                ConvergenceWarning,
                stacklevel=3,
            )


def _decided(rows: Rows, operator: Operator, W: Array) -> int:
    """Directions that the gradient at W decides."""

    def pull(t: Array) -> Array:
        return sides_of(t) * operator.slope(abs(t))

    return polar_rank(to_numpy(rows.pullback(rows.map(pull, rows.project(rows.asarray(W))))))


class L1PCA(JointPowerPCA):
    r"""PCA-L1: maximizes :math:`\sum_{ij} |x_i^T w_j|` (Kwak 2008, Nie et al. 2011).

    The published fixed point W <- polar(X' sign(XW)) from the classical
    principal axes: finite, never descending, a local maximum. Above 5000 rows
    longer steps lead to such a point, until one of them gains less than two
    in a million.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a share in (0, 1) of the total dispersion; None
        keeps all that the rows span.
    greedy : bool, default=False
        One component after the other (Kwak) or all at once (Nie). The joint
        components are not nested: fewer components are another problem.
    center : None, "mean", "median", "spatial_median" or array-like, default="spatial_median"
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
        One for each component (greedy), or a single one (joint).
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
        As in `DispersionPCA`.
    n_components_, rank_, n_iter_, n_features_in_ : int
    converged_ : bool

    Examples
    --------
    >>> from tl1pca import L1PCA
    >>> from tl1pca.datasets import make_kwak
    >>> pca = L1PCA(n_components=1, center=None).fit(make_kwak())
    >>> pca.score_samples(make_kwak()).mean().round(3).item()
    -1.2
    """

    random_state = None

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        greedy: bool = False,
        center: Center = "spatial_median",
        max_iter: int = 1000,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.greedy = greedy
        self.center = center
        self.max_iter = max_iter
        self.verbose = verbose

    def _operator(self) -> Operator:
        return Lp(p=1)

    def _check_parameters(self) -> None:
        check_flag("greedy", self.greedy)
        check_iteration(0.0, self.max_iter)

    def _parts(self, factor: float = 1.0) -> tuple[Solver, str]:
        return FixedPoint(max_iter=self.max_iter), "greedy" if self.greedy else "joint"


class LpPCA(JointPowerPCA):
    r"""PCA-Lp: maximizes :math:`\sum_{ij} |x_i^T w_j|^p` (Kwak 2014).

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a share in (0, 1) of the total dispersion; None
        keeps all that the rows span.
    p : float, default=1
        p = 2 is classical PCA. For p < 1 rows near the complement of a
        component rule, and the objective has many local maxima.
    greedy : bool, default=False
        One component after the other, or all at once.
    solver : {"auto", "paper"}, default="auto"
        "paper" is the published fixed point with its rule to stop, a change
        of W below 1e-2 or of the objective below 1e-4; it need neither ascend
        nor converge for p < 1. "auto" is the same for p >= 1; for p < 1 it is a
        monotone ascent, from the principal axes and from where the published
        rule ends, and so never lower than that.
    center : None, "mean", "median", "spatial_median" or array-like, default="spatial_median"
    tol : float, default=1e-8
        Relative increase at which "auto" stops; tol^(2/3), with longer steps,
        above 5000 rows for p >= 1.
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
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from tl1pca import LpPCA
    >>> X = load_iris().data
    >>> ours = LpPCA(n_components=2, p=2, center="mean").fit(X).components_
    >>> bool(np.allclose(np.abs(ours), np.abs(PCA(2).fit(X).components_)))
    True
    """

    random_state = None
    _advice = (
        "For p < 1 the published fixed point is neither monotone nor convergent; "
        "use solver='auto' for a monotone ascent of the same objective."
    )

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        p: float = 1,
        greedy: bool = False,
        solver: str = "auto",
        center: Center = "spatial_median",
        tol: float = 1e-8,
        max_iter: int = 1000,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.p = p
        self.greedy = greedy
        self.solver = solver
        self.center = center
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _operator(self) -> Operator:
        return Lp(p=self.p)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("greedy", self.greedy)
        check_iteration(self.tol, self.max_iter)
        if self.solver not in ("auto", "paper"):
            raise ValueError(f"solver must be 'auto' or 'paper', got {self.solver!r}.")

    def _parts(self, factor: float = 1.0) -> tuple[Solver, str]:
        extraction = "greedy" if self.greedy else "joint"
        change = _PUBLISHED_CHANGE / self._operator().value_scale(factor)
        published = FixedPoint(tol=0.0, step_tol=_PUBLISHED_STEP, value_tol=change, max_iter=self.max_iter)
        if self.solver == "paper":
            return published, extraction
        if self.p >= 1:
            return FixedPoint(tol=self.tol, max_iter=self.max_iter), extraction
        ascent = SphereAscent if self.greedy else StiefelAscent
        return ascent(tol=self.tol, max_iter=self.max_iter, warm=published), extraction


class GeneralizedLpPCA(ObliquePCA):
    r"""Lp GPCA: maximizes :math:`\sum_i |x_i^T w|^s` over :math:`\|w\|_p = 1` (Liang et al. 2013).

    The published fixed point, one component after the other on deflated
    rows. Components have p-norm one and are not orthogonal to each other
    (but for p = 2); scores are least squares coefficients in their span.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a share in (0, 1) of the total dispersion; None
        keeps all that the rows span.
    s : float, default=2
        Power of the dispersion, at least 1.
    p : float, default=2
        Norm of the constraint, positive or infinite: p = 1 picks single
        features, p = inf only signs.
    center : None, "mean", "median", "spatial_median" or array-like, default="spatial_median"
    tol : float, default=1e-10
        Relative increase at which to stop.
    max_iter : int, default=1000
    verbose : bool, default=False
        Whether to print the objective after every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Rows of p-norm one, the largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
    objective_ : float
    objective_path_ : list of ndarray
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
        As in `DispersionPCA`, of the projections onto the normalized loadings.
    n_components_, rank_, n_iter_, n_features_in_ : int
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from tl1pca import GeneralizedLpPCA
    >>> pca = GeneralizedLpPCA(n_components=1, s=1, p=1).fit(load_wine().data)
    >>> int(np.count_nonzero(pca.components_))
    1
    """

    random_state = None

    @property
    def _rotates(self) -> bool:  # type: ignore[override]
        """The unit ball of every norm but one belongs to the coordinates."""
        return self.p == 2

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        s: float = 2,
        p: float = 2,
        center: Center = "spatial_median",
        tol: float = 1e-10,
        max_iter: int = 1000,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.s = s
        self.p = p
        self.center = center
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_iteration(self.tol, self.max_iter)
        if not isinstance(self.s, Real) or not 1 <= self.s < np.inf:
            raise ValueError(f"s must be a finite number, at least 1, got {self.s!r}.")
        if not isinstance(self.p, Real) or not self.p > 0:
            raise ValueError(f"p must be a positive number or infinity, got {self.p!r}.")

    def _solve(self, problem: Problem) -> Extraction:
        d, reach = problem.rows.shape[1], -0.5 * float(np.log(np.finfo(problem.rows.dtype).tiny))
        if np.log(d) > reach * self.p:
            raise ValueError(
                f"p={self.p} is too small for {d} features: equal entries of a component of p-norm one are "
                f"{d}^(-1/p), whose square is no number. Take p of at least {1.05 * np.log(d) / reach:.2g}."
            )
        solver = BallFixedPoint(norm=float(self.p), tol=self.tol, max_iter=self.max_iter)
        objective = Dispersion(problem.rows, Lp(p=self.s))
        return greedy(objective, solver, problem.n_components, problem.rng, self._enough(problem))


def check_flag(name: str, value: object) -> None:
    """Readable error for a switch that is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
