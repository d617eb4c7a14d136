"""Robust principal component analysis with scikit-learn's conventions."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .comparison import compare
    from .estimators import (
        L1PCA,
        R1PCA,
        TL1LDA,
        TL1PCA,
        DispersionPCA,
        EulerPCA,
        GeneralizedLpPCA,
        ImagePCA,
        IncrementalTL1PCA,
        KernelizedPCA,
        L1BestFitPCA,
        L1ReconstructionPCA,
        LpPCA,
        RegularizedL1PCA,
        ResidualPCA,
        SparseLpPCA,
        SparseTL1PCA,
        SparseTL1SubspacePCA,
        TL1CellPCA,
        TL1SubspacePCA,
    )
    from .operators import TL1, Cauchy, Huber, Lp, Operator
    from .persistence import load, save
    from .selection import ComponentSelection, select_n_components

__all__ = [
    "L1PCA",
    "R1PCA",
    "TL1",
    "TL1LDA",
    "TL1PCA",
    "Cauchy",
    "ComponentSelection",
    "DispersionPCA",
    "EulerPCA",
    "GeneralizedLpPCA",
    "Huber",
    "ImagePCA",
    "IncrementalTL1PCA",
    "KernelizedPCA",
    "L1BestFitPCA",
    "L1ReconstructionPCA",
    "Lp",
    "LpPCA",
    "Operator",
    "RegularizedL1PCA",
    "ResidualPCA",
    "SparseLpPCA",
    "SparseTL1PCA",
    "SparseTL1SubspacePCA",
    "TL1CellPCA",
    "TL1SubspacePCA",
    "__version__",
    "compare",
    "load",
    "save",
    "select_n_components",
]

# Names are looked up in these modules on first use, so that `tl1pca --help` answers without numpy.
_HOMES = ("operators", "estimators", "comparison", "persistence", "selection")


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in _HOMES:
            module = import_module(f".{home}", __name__)
            if hasattr(module, name):
                globals()[name] = getattr(module, name)
                return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
