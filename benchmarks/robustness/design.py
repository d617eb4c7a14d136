"""What the study runs: settings x kinds x fractions x noise x seeds x methods.

The data are those of `tl1pca.datasets.make_contaminated`: it has the six kinds, its clean rows are
the same for all kinds of a seed (so the oracle of cellwise data is known: the same rows before), and
the estimator was tuned on another generator and other draws.
"""

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.stats import chi2

from tl1pca.datasets import make_contaminated


@dataclass(frozen=True)
class Setting:
    n: int
    d: int
    k: int
    noises: tuple[float, ...]


#: Noise 1 is left out for the wide rows: there the oracle itself is 50 to 70 degrees off.
SETTINGS = {
    "small": Setting(1000, 50, 5, (1.0, 0.3)),
    "wide": Setting(200, 1024, 30, (0.2, 0.3)),
    "large": Setting(10000, 100, 10, (1.0, 0.3)),
}
ROW_KINDS = ("cluster", "line", "scattered", "leverage")
FRACTIONS = {
    "clean": (0.0,),
    **dict.fromkeys(ROW_KINDS, (0.1, 0.2, 0.3, 0.4, 0.45)),
    "cellwise": (0.02, 0.05),
}
QUICK_FRACTIONS = {"clean": (0.0,), **dict.fromkeys(ROW_KINDS, (0.2, 0.4)), "cellwise": (0.05,)}
OWN = "TL1SubspacePCA"


@dataclass(frozen=True)
class Method:
    """A method of a worker; `seeds` says on how many seeds it runs where that is not all of them."""

    name: str
    label: str
    environment: str = "own"
    seeds: dict[str, int] = field(default_factory=dict)
    thin: tuple[str, ...] = ()  # settings where it runs at the first noise and 0, 20 and 40 % only


METHODS = (
    Method(OWN, OWN),
    Method("PCA", "scikit-learn PCA"),
    Method("MinCovDet", "scikit-learn MinCovDet", seeds={"small": 2, "wide": 0, "large": 1}, thin=("large",)),
    Method("TL1PCA", "TL1PCA(a=auto)", seeds={"small": 5, "wide": 3, "large": 1}, thin=("large",)),
    Method("L1PCA", "L1PCA", seeds={"large": 1}, thin=("large",)),
    Method("R1PCA", "R1PCA"),
    Method("ROBPCA", "robpy ROBPCA(.5)", "robpy", {"small": 5, "wide": 5, "large": 2}, ("large",)),
    Method("PCALocantore", "robpy PCALocantore", "robpy", {"wide": 5}),
    Method("Tyler", "statsmodels Tyler", "statsmodels", {"wide": 0}),
    Method("PcaHubert", "rrcov PcaHubert(.5)", "R", {"small": 5, "wide": 5, "large": 2}, ("large",)),
)


@dataclass(frozen=True)
class Cell:
    setting: str
    noise: float
    kind: str
    fraction: float


@dataclass(frozen=True)
class Task:
    """One data set and the methods that meet on it."""

    cell: Cell
    seed: int
    methods: tuple[Method, ...]

    @property
    def key(self):
        return f"{self.cell.setting}/{self.cell.noise}/{self.cell.kind}/{self.cell.fraction}/{self.seed}"


def runs(method, cell, seed, quick):
    if cell.setting in method.thin and (
        quick or cell.noise != SETTINGS[cell.setting].noises[0] or cell.fraction not in (0.0, 0.2, 0.4)
    ):
        return False
    return seed < method.seeds.get(cell.setting, seed + 1)


def plan(seeds, quick, environments):
    """The tasks, seed by seed (a run cut short has all cells), those with the slow methods last."""
    fractions = QUICK_FRACTIONS if quick else FRACTIONS
    cells = [
        Cell(name, noise, kind, fraction)
        for name, setting in SETTINGS.items()
        for noise, kind in product(setting.noises[: 1 if quick else None], fractions)
        for fraction in fractions[kind]
    ]
    methods = [method for method in METHODS if method.environment in environments]
    return [
        Task(cell, seed, tuple(method for method in methods if runs(method, cell, seed, quick)))
        for seed, cell in product(reversed(range(seeds)), cells)
    ]


@dataclass(frozen=True)
class Data:
    X: np.ndarray
    axes: np.ndarray
    bad: np.ndarray  # rows that were contaminated
    far: np.ndarray  # those of them that a detector has to find
    oracle: float  # largest angle of classical PCA on the clean rows alone, degrees


def draw(cell, seed):
    setting = SETTINGS[cell.setting]
    size = (setting.n, setting.d, setting.k)
    options = {"noise": cell.noise, "random_state": 1000 + seed}
    X, bad, axes = make_contaminated(*size, kind=cell.kind, fraction=cell.fraction, **options)
    clean = make_contaminated(*size, kind="clean", **options)[0] if cell.kind == "cellwise" else X[~bad]
    # Some rows of a line lie near its middle. "Far" is a quarter beyond the .999 cut-off of the true model.
    scores = X @ axes
    score2 = ((scores / np.linspace(6.0, 3.0, setting.k)) ** 2).sum(axis=1)
    orthogonal2 = ((X - scores @ axes.T) ** 2).sum(axis=1) / cell.noise**2
    cut = 1.25**2 * chi2.ppf(0.999, [setting.k, setting.d - setting.k])
    far = bad & ((score2 > cut[0]) | (orthogonal2 > cut[1]))
    return Data(X, axes, bad, far, largest_angle(axes, classical_pca(clean, setting.k)))


def classical_pca(X, k):
    Xc = X - X.mean(axis=0)
    if len(X) < X.shape[1]:
        return np.linalg.svd(Xc, full_matrices=False)[2][:k]
    return np.linalg.eigh(Xc.T @ Xc)[1][:, ::-1][:, :k].T


def largest_angle(axes, components):
    """Degrees from the true subspace to its image in the estimated one; 90 if components are missing."""
    if not np.isfinite(components).all():
        return 90.0
    Q = np.linalg.qr(components.T)[0]
    return float(np.degrees(np.arcsin(min(1.0, np.linalg.norm(axes - Q @ (Q.T @ axes), 2)))))
