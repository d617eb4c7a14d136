"""scikit-learn estimators: thin presets over the parts."""

from ._dispersion import TL1PCA, DispersionPCA
from ._entrywise import L1BestFitPCA, L1ReconstructionPCA
from ._lp import L1PCA, GeneralizedLpPCA, LpPCA, SparseLpPCA
from ._residual import R1PCA, ResidualPCA
from ._subspace import TL1SubspacePCA

__all__ = [
    "L1PCA",
    "R1PCA",
    "TL1PCA",
    "DispersionPCA",
    "GeneralizedLpPCA",
    "L1BestFitPCA",
    "L1ReconstructionPCA",
    "LpPCA",
    "ResidualPCA",
    "SparseLpPCA",
    "TL1SubspacePCA",
]
