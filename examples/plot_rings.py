"""
Two rings, and rows that lie on neither
=======================================

Two rings cannot be told apart by a straight line. In the feature space of a Gaussian kernel they can, and
distances to a subspace of that space tell rows that lie on neither ring.
"""

# %%
# The rows
# --------
#
# Three hundred rows on two rings, and twenty in a heap outside.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from tl1pca import KernelizedPCA, LpPCA, TL1SubspacePCA
from tl1pca.diagnostics import Flag
from tl1pca.displays.style import LOOKS

rings, ring = make_circles(300, factor=0.3, noise=0.03, random_state=0)
heap = np.random.default_rng(0).uniform(1.8, 2.2, size=(20, 2))
X = np.vstack([rings, heap])

# %%
# Classical and robust, in the same feature space
# -----------------------------------------------
#
# `KernelizedPCA` fits any method that turns with its rows. Both fits keep two components, and both flag the
# heap as off the subspace of the rings. That is no promise: with eighty rows in the heap, a fifth of all, the
# classical fit spends a component on it and calls it good leverage, and the robust one takes it for regular.
# Look at the map for a few widths and numbers of components before you believe flags in a feature space.

fits = {
    "classical kernel PCA": KernelizedPCA(LpPCA(2, p=2, center="mean"), gamma=1.0).fit(X),
    "robust: TL1SubspacePCA": KernelizedPCA(TL1SubspacePCA(2), gamma=1.0).fit(X),
}
for name, pca in fits.items():
    print(
        f"{name}: {(pca.flags(rings) != Flag.REGULAR).sum()} of 300 rows on the rings are flagged; the heap:"
    )
    for flag in Flag:
        print(f"    {flag.label:18s} {(pca.flags(heap) == flag).sum():2d}")

# %%
# The outlier map of the feature space
# ------------------------------------

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
kinds = {"inner ring": ring == 1, "outer ring": ring == 0}
groups = {name: np.append(part, np.zeros(20, bool)) for name, part in kinds.items()}
groups["heap"] = np.arange(320) >= 300
for look, (name, part) in zip(LOOKS, groups.items()):
    axes[0].scatter(*X[part].T, s=8, color=look.color, marker=look.marker, label=name)
axes[0].set(title="rows", aspect="equal")
axes[0].legend(frameon=False)
for axis, (name, pca) in zip(axes[1:], fits.items()):
    score, orthogonal = pca.distances(X)
    for look, part in zip(LOOKS, groups.values()):
        axis.scatter(score[part], orthogonal[part], s=8, color=look.color, marker=look.marker)
    axis.axvline(pca.cutoffs_.score, color="0.6", linewidth=1)
    axis.axhline(pca.cutoffs_.orthogonal, color="0.6", linewidth=1)
    axis.set(title=name, xlabel="score distance", ylabel="orthogonal distance")
plt.show()
