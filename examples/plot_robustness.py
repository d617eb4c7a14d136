"""
Which method survives what
==========================

Rows in a subspace of three dimensions plus noise; a share of them is replaced by something else. The number
in a cell is the largest angle in degrees between the fitted and the true subspace, the median of three data
sets: 90 means that a direction is lost altogether. The oracle is classical PCA on the good rows alone, and
nothing can be expected to be much better.
"""

# %%
# The table
# ---------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from tl1pca import L1PCA, R1PCA, TL1PCA, LpPCA, TL1SubspacePCA
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import principal_angles

methods = {
    "oracle": PCA(3),
    "PCA": PCA(3),
    "L1PCA": L1PCA(3),
    "LpPCA, p = 0.5": LpPCA(3, p=0.5),
    "TL1PCA": TL1PCA(3),
    "R1PCA": R1PCA(3),
    "TL1SubspacePCA": TL1SubspacePCA(3, random_state=0),
}
cells = [
    ("clean", 0.0),
    ("scattered", 0.2),
    ("scattered", 0.4),
    ("line", 0.1),
    ("line", 0.4),
    ("cluster", 0.1),
    ("cluster", 0.2),
    ("cluster", 0.4),
    ("leverage", 0.2),
]


def largest_angle(name, kind, fraction, seed):
    X, bad, axes = make_contaminated(200, 15, 3, kind=kind, fraction=fraction, random_state=seed)
    return principal_angles(methods[name].fit(X[~bad] if name == "oracle" else X), axes.T)[0]


angles = np.array(
    [
        [np.median([largest_angle(name, *cell, seed) for seed in range(3)]) for cell in cells]
        for name in methods
    ]
)

figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
picture = ax.imshow(angles, cmap="cividis", vmin=0, vmax=90, aspect="auto")
for (i, j), value in np.ndenumerate(angles):
    ax.text(j, i, f"{value:.0f}", ha="center", va="center", color="black" if value > 50 else "white")
ax.set_xticks(
    range(len(cells)), [f"{kind}\n{fraction:.0%}" if fraction else kind for kind, fraction in cells]
)
ax.set_yticks(range(len(methods)), list(methods))
ax.tick_params(length=0)
figure.colorbar(picture, label="largest angle, degrees")
plt.show()

# %%
# What it says
# ------------
#
# *Scattered* rows are ten times as large as the noise and lie in all directions, a *line* is spread along
# one direction off the subspace, a *cluster* sits in one place off it, and *leverage* rows are far away
# inside the subspace. Methods that flatten or bound the contribution of a row suffer less from few
# scattered rows than PCA does. Rows that agree with each other are another matter: they can take a
# component over wherever a method asks for a large dispersion, and also where it asks for small distances
# but starts from classical PCA. And robustness by a concave dispersion has a price on clean data: compare
# the first column.
#
# The same with decimals, for those who want to copy it.

print(f"{'':16s}" + "".join(f"{kind[:9]:>10s}" for kind, _ in cells))
print(f"{'':16s}" + "".join(f"{fraction:10.0%}" for _, fraction in cells))
for name, row in zip(methods, angles):
    print(f"{name:16s}" + "".join(f"{value:10.1f}" for value in row))
