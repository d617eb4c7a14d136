"""The methods of the paper and those it is set against, as scikit-learn transformers.

Nothing is centered, as in the paper.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import operators
from ..estimators import L1PCA, R1PCA, TL1PCA, DispersionPCA, LpPCA, SparseLpPCA
from ..geometry import polar
from ..solvers import FixedPoint, PaperAscent
from .spec import Method

Array = NDArray[Any]

A_VALUES = (100.0, 50.0, 10.0, 1.0, 0.5, 0.1, 0.05, 0.01, 0.001)
P_VALUES = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1, 0.01, 0.001)

TL1, LP, LPS, L1, PCA, RAW = "Tl1PCA", "PCA-Lp", "lpSPCA", "PCA-L1", "PCA", "raw pixels"
PUBLISHED_TL1, TIGHT_TL1 = "Tl1PCA, Algorithm 1", "Algorithm 1, tolerance 1e-12"
LP_ASCENT = "PCA-Lp, ascent"
L1_BY_CHANCE = "PCA-L1, factor left to rounding"
#: Relative size of a change of the data that stands for rounding.
ROUNDING = 1e-14


class TylerPCA(TransformerMixin, BaseEstimator):
    """Eigenvectors of Tyler's shape matrix about the origin, a classical robust yardstick.

    Parameters
    ----------
    n_components : int, default=1
    max_iter : int, default=500
    """

    def __init__(self, n_components: int = 1, max_iter: int = 500):
        self.n_components = n_components
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Iterate V <- (d/n) sum x x' / (x' V^-1 x) to its fixed point."""
        data = validate_data(self, X, dtype=np.float64)
        data = data[np.any(data != 0, axis=1)]
        n, d = data.shape
        V = np.eye(d)
        self.converged_ = False
        for step in range(1, self.max_iter + 1):
            self.n_iter_ = step
            distance = np.einsum("ij,ji->i", data, np.linalg.solve(V, data.T))
            new = d / n * (data / distance[:, None]).T @ data
            new *= d / np.trace(new)
            change, V = float(np.abs(new - V).max()), new
            if change < 1e-9:
                self.converged_ = True
                break
        self.components_ = np.linalg.eigh(V)[1][:, ::-1].T[: self.n_components]
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Scores of the rows of X."""
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False) @ self.components_.T)


class Jitter(TransformerMixin, BaseEstimator):
    """Changes every entry by some roundings: what depends on it depends on the machine.

    Parameters
    ----------
    seed : float, default=0
    size : float, default=1e-14
        Relative size of the changes.
    """

    def __init__(self, seed: float = 0, size: float = ROUNDING):
        self.seed = seed
        self.size = size

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Nothing is learned."""
        return self

    def transform(self, X: ArrayLike) -> Array:
        """X, slightly changed."""
        data = np.asarray(X, dtype=np.float64)
        return data * (1.0 + self.size * np.random.default_rng(int(self.seed)).normal(size=data.shape))


class ChancePolar(FixedPoint):
    """The published step with whichever polar factor comes out, as a plain SVD gives it.

    Parameters
    ----------
    seed : float, default=0
        Of the roundings added to the gradient.
    max_iter : int, default=1000
    """

    def __init__(self, seed: float = 0, max_iter: int = 1000):
        super().__init__(max_iter=max_iter)
        self.seed = seed

    def _step(self, G: Array, W: Array) -> Array:
        rng = np.random.default_rng(int(self.seed))
        return polar(G + ROUNDING * np.abs(G).max(initial=0.0) * rng.normal(size=G.shape))


def rounding_methods(seeds: int) -> tuple[Method, ...]:
    """The methods of the faces at one parameter each, on data that differ by roundings only."""
    values = tuple(float(seed) for seed in range(1, seeds + 1))

    def jittered(name: str, estimator: BaseEstimator) -> Method:
        components = f"{type(estimator).__name__.lower()}__n_components"
        return Method(name, make_pipeline(Jitter(), estimator), "jitter__seed", values, components)

    chance = DispersionPCA(operator=operators.Lp(p=1), solver=ChancePolar(), extraction="joint", center=None)
    return (
        Method(L1_BY_CHANCE, chance, "solver__seed", values),
        jittered(L1, L1PCA(center=None)),
        jittered(f"{LP} p = 0.5", LpPCA(p=0.5, solver="paper", greedy=False, center=None)),
        jittered(f"{LPS} p = 0.5", SparseLpPCA(p=0.5, center=None)),
        jittered(f"{TL1} a = 1", TL1PCA(a=1.0, center=None)),
    )


def toy_rounding_methods(seeds: int) -> tuple[Method, ...]:
    """The two published iterations at p = 0.01, on points that differ by roundings only."""
    values = tuple(float(seed) for seed in range(1, seeds + 1))
    lp = LpPCA(p=0.01, solver="paper", greedy=False, center=None)
    sparse = SparseLpPCA(p=0.01, center=None)
    return tuple(
        Method(name, make_pipeline(Jitter(size=1e-15), estimator), "jitter__seed", values, components)
        for name, estimator, components in (
            (LP, lp, "lppca__n_components"),
            (LPS, sparse, "sparselppca__n_components"),
        )
    )


def lp_spca(values: tuple[float, ...]) -> Method:
    """lpSPCA as the paper ran it, with all d loadings."""
    return Method(LPS, SparseLpPCA(center=None), "p", values)


def pca_lp(values: tuple[float, ...]) -> Method:
    """PCA-Lp as published: joint, from the principal axes, by a fixed point."""
    return Method(LP, LpPCA(solver="paper", greedy=False, center=None), "p", values)


def tl1_pca(values: tuple[float, ...]) -> Method:
    """Tl1PCA by the deterministic ascent of this package."""
    return Method(TL1, TL1PCA(center=None), "a", values)


def published_tl1(values: tuple[float, ...]) -> Method:
    """Tl1PCA by the paper's Algorithm 1, with its random first angle."""
    return Method(PUBLISHED_TL1, TL1PCA(center=None, solver="paper"), "a", values)


def tight_tl1(values: tuple[float, ...]) -> Method:
    """Algorithm 1 with an absolute tolerance of 1e-12 in place of 1e-6."""
    ascent = DispersionPCA(operator=operators.TL1(a=1.0), solver=PaperAscent(tol=1e-12), center=None)
    return Method(TIGHT_TL1, ascent, "operator__a", values)


def l1_pca() -> Method:
    """PCA-L1, joint, from the principal axes."""
    return Method(L1, L1PCA(center=None))


def classical_pca() -> Method:
    """PCA without centring: the leading right singular vectors of X."""
    return Method(PCA, LpPCA(p=2, center=None))


def raw_pixels() -> Method:
    """No reduction at all."""
    return Method(RAW, FunctionTransformer(), components="")


def lp_ascent(values: tuple[float, ...]) -> Method:
    """The objective of PCA-Lp, maximized by a monotone ascent instead of the published fixed point."""
    return Method(LP_ASCENT, LpPCA(greedy=True, center=None), "p", values)


def robust_yardsticks() -> tuple[Method, ...]:
    """Methods that the paper leaves out: R1-PCA, spherical PCA and Tyler's shape matrix."""
    spherical = make_pipeline(Normalizer(), LpPCA(p=2, center=None))
    return (
        Method("R1-PCA", R1PCA(weights="l1", center=None)),
        Method("spherical PCA", spherical, components="lppca__n_components"),
        Method("Tyler", TylerPCA()),
    )
