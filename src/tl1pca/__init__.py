"""Robust principal component analysis with scikit-learn's conventions."""

from ._version import __version__
from .estimators import (
    L1PCA,
    R1PCA,
    TL1PCA,
    DispersionPCA,
    GeneralizedLpPCA,
    L1BestFitPCA,
    L1ReconstructionPCA,
    LpPCA,
    ResidualPCA,
    SparseLpPCA,
)
from .operators import TL1, Cauchy, Huber, Lp, Operator

__all__ = [
    "L1PCA",
    "R1PCA",
    "TL1",
    "TL1PCA",
    "Cauchy",
    "DispersionPCA",
    "GeneralizedLpPCA",
    "Huber",
    "L1BestFitPCA",
    "L1ReconstructionPCA",
    "Lp",
    "LpPCA",
    "Operator",
    "ResidualPCA",
    "SparseLpPCA",
    "__version__",
]
