"""
Several methods on the same data
================================

:func:`tl1pca.compare` fits estimators to the same rows and puts what they found side by side: objectives,
outliers, times, and how far the fitted subspaces are from each other. Here 15 % of the rows are spread
along a line off the subspace of the others.
"""

# %%
# The table
# ---------
#
# Any estimator with ``mean_``, ``components_`` and ``explained_variance_`` can take part, scikit-learn's
# PCA among them. Objectives are those of each method and not comparable with each other.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from tl1pca import L1PCA, R1PCA, TL1PCA, TL1SubspacePCA, compare
from tl1pca.datasets import make_contaminated

X, bad, axes = make_contaminated(400, 20, 3, kind="line", fraction=0.15, random_state=0)
estimators = {
    "PCA": PCA(),
    "L1PCA": L1PCA(),
    "R1PCA": R1PCA(),
    "TL1PCA": TL1PCA(),
    "TL1SubspacePCA": TL1SubspacePCA(random_state=0),
}
table = compare(X, estimators, n_components=3)
print(f"{int(bad.sum())} of {len(X)} rows are bad\n")
print(table[["objective", "outliers", "n_iter", "converged"]].round(3).to_string())

# %%
# Who agrees with whom
# --------------------
#
# Left: the largest principal angle between each pair of fits. Right: the rows each method calls outliers
# when its own distances are held against the cut-offs, split into bad rows and false alarms, as we know
# which rows are bad. The number of flagged rows alone says little: a subspace that has turned toward the
# bad rows does not find them, because they lie in it, and flags good rows instead.

from tl1pca.diagnostics import diagnose, principal_angles

names = list(table.index)
angles = table[[f"angle to {name}" for name in names]].to_numpy()
fits = {name: estimator.set_params(n_components=3).fit(X) for name, estimator in estimators.items()}
flagged = {name: diagnose(pca, X).flags > 0 for name, pca in fits.items()}
found = [int(flagged[name][bad].sum()) for name in names]
alarms = [int(flagged[name][~bad].sum()) for name in names]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.1), layout="constrained", width_ratios=(1.15, 1))
picture = left.imshow(angles, cmap="cividis", vmin=0, vmax=90)
for (i, j), value in np.ndenumerate(angles):
    left.text(j, i, f"{value:.0f}", ha="center", va="center", color="black" if value > 50 else "white")
left.set_xticks(range(len(names)), names, rotation=35, ha="right")
left.set_yticks(range(len(names)), names)
left.tick_params(length=0)
left.set_title("largest angle between two fits, degrees")
figure.colorbar(picture, ax=left)

right.barh(names, found, color="#0072B2", edgecolor="black", label="bad rows")
right.barh(names, alarms, left=found, color="#E69F00", edgecolor="black", hatch="//", label="good rows")
right.axvline(bad.sum(), color="black", ls="--", lw=1.5, label=f"number of bad rows ({bad.sum()})")
right.invert_yaxis()
right.set(title="rows flagged")
right.spines[["top", "right"]].set_visible(False)
right.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.1))
plt.show()

# %%
# Who is right can be told here, because the true subspace is known.

for name, pca in fits.items():
    print(f"{name:15s} largest angle to the true subspace {principal_angles(pca, axes.T)[0]:5.1f} degrees")
