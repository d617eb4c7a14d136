"""scikit-learn estimators: thin presets over the parts."""

from ._cell import TL1CellPCA
from ._dispersion import TL1PCA, DispersionPCA
from ._entrywise import L1BestFitPCA, L1ReconstructionPCA
from ._euler import EulerPCA
from ._images import ImagePCA
from ._incremental import IncrementalTL1PCA
from ._kernels import KernelizedPCA
from ._lda import TL1LDA
from ._lp import L1PCA, GeneralizedLpPCA, LpPCA
from ._regularized import RegularizedL1PCA
from ._residual import R1PCA, ResidualPCA
from ._sparse import SparseLpPCA, SparseTL1PCA, SparseTL1SubspacePCA
from ._subspace import TL1SubspacePCA

__all__ = [
    "L1PCA",
    "R1PCA",
    "TL1LDA",
    "TL1PCA",
    "DispersionPCA",
    "EulerPCA",
    "GeneralizedLpPCA",
    "ImagePCA",
    "IncrementalTL1PCA",
    "KernelizedPCA",
    "L1BestFitPCA",
    "L1ReconstructionPCA",
    "LpPCA",
    "RegularizedL1PCA",
    "ResidualPCA",
    "SparseLpPCA",
    "SparseTL1PCA",
    "SparseTL1SubspacePCA",
    "TL1CellPCA",
    "TL1SubspacePCA",
]
