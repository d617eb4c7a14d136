"""Robust principal component analysis with scikit-learn's conventions."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .comparison import compare
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
        TL1SubspacePCA,
    )
    from .operators import TL1, Cauchy, Huber, Lp, Operator
    from .persistence import load, save

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
    "TL1SubspacePCA",
    "__version__",
    "compare",
    "load",
    "save",
]

# Names are looked up in these modules on first use, so that `tl1pca --help` answers without numpy.
_HOMES = ("operators", "estimators", "comparison", "persistence")


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
