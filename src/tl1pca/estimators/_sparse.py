"""Few non-zero loadings: lpSPCA, and the Tl1 operator with the same constraint."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from ..extraction import Extraction, greedy
from ..geometry import project_out, unit
from ..objectives import dispersion
from ..operators import TL1, Lp, Operator
from ..rows import Lift, Rows, safe_factor
from ..solvers import (
    GramFixedPoint,
    Solver,
    SparseAscent,
    SparseFixedPoint,
    fewer_products,
    sparse_loadings,
)
from ._base import Center, ObliquePCA, Problem, check_unit_rows, product, signed_rows
from ._composed import check_choice
from ._dispersion import check_iteration
from ._fitted import Fitted
from ._input import Data
from ._subspace import TL1SubspacePCA

Array = NDArray[Any]


class BaseSparsePCA(ObliquePCA):
    """Components with `n_nonzero` non-zero entries, one after the other on deflated rows."""

    n_nonzero: int | None

    @property
    def _rotates(self) -> bool:  # type: ignore[override]
        """The count of non-zeros belongs to the coordinates; without one any basis will do."""
        return self.n_nonzero is None

    @abstractmethod
    def _operator(self) -> Operator:
        """The operator of the method, its parameters not yet checked."""

    @abstractmethod
    def _solver(self, rows: Rows, n_nonzero: int) -> Solver:
        """Who finds the next component."""

    def _check_parameters(self) -> None:
        self._operator().check()
        check_n_nonzero(self.n_nonzero)

    def _solve(self, problem: Problem) -> Extraction:
        rows, d = problem.rows, problem.rows.shape[1]
        s = d if self.n_nonzero is None else int(self.n_nonzero)
        if s > d:
            raise ValueError(f"n_nonzero={s} must not exceed the number of features, {d}; None allows all.")
        objective = dispersion(rows, self._operator().rescaled(problem.factor))
        solver = self._solver(rows, s)
        return greedy(objective, solver, problem.n_components, problem.rng, self._enough(problem))


class SparseLpPCA(BaseSparsePCA):
    r"""lpSPCA: maximizes :math:`\sum_i |x_i^T w|^p` with few non-zero loadings (Li, Chen and Shao 2017).

    One component after the other on deflated rows. With p = 1 it is the robust
    sparse PCA of Meng, Zhao and Xu (2012). Sparse components are not orthogonal
    to each other; scores are least squares coefficients in their span.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a share in (0, 1) of the total dispersion; None
        keeps all that the rows span.
    p : float, default=1
        For p < 1 the published iteration need neither ascend nor converge.
    n_nonzero : int or None, default=None
        Non-zero entries of each component; None allows all.
    solver : {"auto", "paper"}, default="auto"
        "paper" is the published fixed point from the longest row, soft
        thresholding to `n_nonzero` entries, which may descend. "auto" is the
        search of `SparseAscent`: several starts, hard thresholds that never
        descend, the best direction on each support, and exchanges of single
        features. Without `n_nonzero` both are the fixed point.
    center : None, "mean", "median", "spatial_median" or array-like, default="spatial_median"
    max_iter : int, default=600
        As published.
    verbose : bool, default=False
        Whether to print the objective after every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit rows, the largest entry of each positive; not orthogonal.
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
    >>> from sklearn.datasets import load_wine
    >>> from tl1pca import SparseLpPCA
    >>> pca = SparseLpPCA(n_components=3, n_nonzero=4).fit(load_wine().data)
    >>> np.count_nonzero(pca.components_, axis=1).tolist()
    [4, 4, 4]
    """

    random_state = None
    _advice = (
        "For p < 1 the published fixed point is neither monotone nor convergent; its last iterate is kept."
    )

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        p: float = 1,
        n_nonzero: int | None = None,
        solver: str = "auto",
        center: Center = "spatial_median",
        max_iter: int = 600,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.p = p
        self.n_nonzero = n_nonzero
        self.solver = solver
        self.center = center
        self.max_iter = max_iter
        self.verbose = verbose

    def _operator(self) -> Operator:
        return Lp(p=self.p)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_iteration(0.0, self.max_iter)
        check_choice("solver", self.solver, ("auto", "paper"))

    def _solver(self, rows: Rows, n_nonzero: int) -> Solver:
        if self.n_nonzero is None and rows.in_memory and fewer_products(rows.shape):
            return GramFixedPoint(max_iter=self.max_iter)  # the published iteration, in half the work
        if self.solver == "paper" or self.n_nonzero is None:
            return SparseFixedPoint(n_nonzero=n_nonzero, max_iter=self.max_iter)
        return SparseAscent(n_nonzero=n_nonzero, max_iter=self.max_iter)


class SparseTL1PCA(BaseSparsePCA):
    r"""Sparse Tl1PCA: maximizes :math:`\sum_i \rho_a(x_i^T w)` with few non-zero loadings.

    Ours: the operator of the paper (Yang et al. 2020) under the constraint of
    robust sparse PCA (Meng, Zhao and Xu 2012). Each component is found by hard
    thresholds with a shift that keeps them from descending, the best direction
    on each support, and exchanges of single features, on the rows that earlier
    components leave. Components are not orthogonal to each other; scores are
    least squares coefficients in their span.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; a share in (0, 1) of the total dispersion; None
        keeps all that the rows span.
    n_nonzero : int or None, default=None
        Non-zero entries of each component; None allows all, as `TL1PCA` does.
    a : float or "auto", default="auto"
        Shape of the operator, in the units of the data; "auto" maximizes the
        Tl1 scale of the scores.
    center : None, "mean", "median", "spatial_median" or array-like, default="spatial_median"
    tol : float, default=1e-8
        Relative increase at which an ascent ends.
    max_iter : int, default=1000
    verbose : bool, default=False
        Whether to print the objective after every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit rows, the largest entry of each positive; not orthogonal.
    a_ : ndarray of shape (n_components_,)
        Shape that was used for each component.
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
    >>> from sklearn.datasets import load_wine
    >>> from tl1pca import SparseTL1PCA
    >>> pca = SparseTL1PCA(n_components=2, n_nonzero=3).fit(load_wine().data)
    >>> np.count_nonzero(pca.components_, axis=1).tolist()
    [3, 3]
    """

    random_state = None
    _fitted: ClassVar[dict[str, Fitted]] = {"a_": Fitted(shape="k", least=0)}

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        n_nonzero: int | None = None,
        a: float | str = "auto",
        center: Center = "spatial_median",
        tol: float = 1e-8,
        max_iter: int = 1000,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.n_nonzero = n_nonzero
        self.a = a
        self.center = center
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _operator(self) -> Operator:
        return TL1(a=self.a)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_iteration(self.tol, self.max_iter)

    def _solver(self, rows: Rows, n_nonzero: int) -> Solver:
        return SparseAscent(n_nonzero=n_nonzero, tol=self.tol, max_iter=self.max_iter)

    def _store(self, problem: Problem, extraction: Extraction, mean: Array, lift: Lift) -> None:
        super()._store(problem, extraction, mean, lift)
        if isinstance(self.a, str):
            last = np.array([path[-1] for path in self.objective_path_])
            self.a_ = product(last, dtype=problem.rows.dtype)
        else:
            self.a_ = np.full(self.n_components_, float(self.a), dtype=problem.rows.dtype)


class SparseTL1SubspacePCA(TL1SubspacePCA):
    """TL1SubspacePCA with few non-zero loadings: the residual side of the sparse methods.

    Ours. `TL1SubspacePCA` says which rows are trusted, with which weights, and
    about which center; on these rows the sum of squared distances to the span
    of components with `n_nonzero` entries each is decreased, by turns in the
    scores and in each component, from the dense components and from their
    rotation toward few large entries (quartimax). Outliers are judged by the
    dense subspace. What the few entries cost of the fit is `loss_of_fit_`.
    Components are not orthogonal to each other; scores are least squares coefficients in their span.

    Parameters
    ----------
    n_components : int, float or None, default=None
        As in `TL1SubspacePCA`.
    n_nonzero : int or None, default=None
        Most non-zero entries of each component; None, or as many as there are
        features, allows all, as `TL1SubspacePCA` does.
    breakdown, n_directions, reweight, random_state, verbose
        As in `TL1SubspacePCA`.
    tol : float, default=1e-8
        Decrease, as a share of the variance, at which the turns end.
    max_iter : int, default=500

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Unit rows, the largest entry of each positive; not orthogonal.
    loss_of_fit_ : float
        Share of the variance of the rows in the fit that the sparse components
        explain less than the dense ones; zero is no loss.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
        Of the rows in the fit, each beyond what the components before it
        explain (Zou et al. 2006).
    mean_, judging_components_, judging_scale_, score_distances_, orthogonal_distances_
        Of the dense fit, as in `TL1SubspacePCA`; so are all that follow.
    cutoffs_, flags_, weights_, scale_, noise_dimension_, noise_ratio_, objective_, objective_path_
    n_components_, rank_, n_iter_, n_features_in_, converged_

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from tl1pca import SparseTL1SubspacePCA
    >>> pca = SparseTL1SubspacePCA(n_components=2, n_nonzero=4).fit(scale(load_wine().data))
    >>> np.count_nonzero(pca.components_, axis=1).tolist()
    [4, 4]
    >>> bool(0 < pca.loss_of_fit_ < 0.25)
    True
    """

    _in_memory: str | None = "changes single loadings on all rows"  # type: ignore[assignment]
    _supports_array_api = False
    _oblique = True
    explained_variance_: Array
    _fitted: ClassVar[dict[str, Fitted]] = {"loss_of_fit_": Fitted(least=0, most=1)}

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        n_nonzero: int | None = None,
        breakdown: float = 0.5,
        n_directions: int = 250,
        reweight: bool = True,
        tol: float = 1e-8,
        max_iter: int = 500,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ):
        super().__init__(
            n_components,
            breakdown=breakdown,
            n_directions=n_directions,
            reweight=reweight,
            random_state=random_state,
            verbose=verbose,
        )
        self.n_nonzero = n_nonzero
        self.tol = tol
        self.max_iter = max_iter

    @property
    def _rotates(self) -> bool:  # type: ignore[override]
        return self.n_nonzero is None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_n_nonzero(self.n_nonzero)
        check_iteration(self.tol, self.max_iter)

    def _fit(self, data: Data) -> None:
        super()._fit(data)
        d = data.rows.shape[1]
        s = d if self.n_nonzero is None else int(self.n_nonzero)
        self.loss_of_fit_ = 0.0
        if s < d:
            self._thin_out(to_numpy(data.rows.array()), s, safe_factor(data.max_abs, data.rows.dtype))

    def _thin_out(self, A: Array, s: int, factor: float) -> None:
        """Sparse components in place of the dense ones, and what they explain."""
        v = self.weights_ / self.weights_.sum()
        Y = (A.astype(np.float64) * factor - self.mean_.astype(np.float64) * factor) * np.sqrt(v)[:, None]
        total, dense = float((Y * Y).sum()), self.components_.astype(np.float64)
        B, path = sparse_loadings(Y, dense.T, s, self.tol, self.max_iter)
        lost = float(((Y - Y @ dense.T @ dense) ** 2).sum())
        self.loss_of_fit_ = float(np.clip((path[-1] - lost) / total, 0.0, 1.0)) if total > 0 else 0.0
        order, explained = _adjusted(Y, B)
        dtype = self.components_.dtype
        self.components_ = signed_rows(B[:, order]).astype(dtype)
        # In the units of the dense fit, whose variances may be corrected for what a limit cuts off.
        first = float(self.explained_variance_ratio_[0]) * total
        unit_of = float(self.explained_variance_[0]) / first if first > 0 else 0.0
        self.explained_variance_ = product(explained, unit_of, dtype=dtype)
        share = explained / total if total > 0 else np.zeros(len(explained))
        self.explained_variance_ratio_ = share.astype(dtype)

    def _check_components(self, W: Array) -> None:
        check_unit_rows(W)


def _adjusted(Y: Array, B: Array) -> tuple[list[int], Array]:
    """Components by what each explains beyond those before it, the most first, and these sums of squares."""
    order: list[int] = []
    found: list[float] = []
    basis = np.zeros((len(B), 0))
    while len(order) < B.shape[1]:
        left = [j for j in range(B.shape[1]) if j not in order]
        parts = unit(project_out(B[:, left], basis))
        gains = ((Y @ parts) ** 2).sum(axis=0)
        best = int(np.argmax(gains))
        order.append(left[best])
        found.append(float(gains[best]))
        basis = np.column_stack([basis, parts[:, best]])
    return order, np.array(found)


def check_n_nonzero(s: object) -> None:
    """Readable error for a number of non-zero entries that is none."""
    if s is not None and (not isinstance(s, Integral) or isinstance(s, bool) or s < 1):
        raise ValueError(f"n_nonzero must be None or a positive integer, got {s!r}.")
