"""
Images with a spoiled patch
===========================

A hundred and twenty images of the digit three. In eighteen of them a square of four by four pixels has been
inverted. A subspace fitted to such images can be used in two ways: to find the spoiled ones, and to see what
they would look like without the patch.
"""

# %%
# The images
# ----------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from tl1pca import TL1SubspacePCA
from tl1pca.diagnostics import Flag, diagnose
from tl1pca.displays import OutlierMapDisplay, ReconstructionDisplay

digits, label = load_digits(return_X_y=True)
clean = digits[label == 3][:120]
rng = np.random.default_rng(0)
spoiled = np.zeros(len(clean), dtype=bool)
spoiled[rng.choice(len(clean), 18, replace=False)] = True
X = clean.copy()
for i in np.flatnonzero(spoiled):
    row, column = rng.integers(0, 5, 2)
    patch = X[i].reshape(8, 8)[row : row + 4, column : column + 4]
    patch[:] = 16.0 - patch

classical = PCA(6).fit(X)
robust = TL1SubspacePCA(6, random_state=0).fit(X)

# %%
# Two reconstructions
# -------------------
#
# PCA has learned the patches and reconstructs a part of them. The robust subspace does not know them: they
# stay in the residual, where they can be seen, and the reconstruction is a three. The number above each
# column is the length of the residual.

chosen = np.flatnonzero(spoiled)[:6]
ReconstructionDisplay.from_estimator(classical, X, rows=chosen)
plt.show()

# %%

ReconstructionDisplay.from_estimator(robust, X, rows=chosen)
plt.show()

# %%
# Here the images before the patch are known, so that the reconstructions can be held against them.

print("mean distance of the reconstruction to the image without the patch")
print("                     spoiled images   others")
for name, pca in (
    ("PCA", classical),
    ("TL1SubspacePCA", robust),
    ("PCA, others only", PCA(6).fit(X[~spoiled])),
):
    off = np.linalg.norm(pca.inverse_transform(pca.transform(X)) - clean, axis=1)
    print(f"{name:18s} {off[spoiled].mean():15.1f} {off[~spoiled].mean():8.1f}")

# %%
# Finding them
# ------------

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
groups = np.where(spoiled, "spoiled", "others")
OutlierMapDisplay.from_estimator(classical, X, groups=groups, n_labels=0, ax=left)
OutlierMapDisplay.from_estimator(robust, X, groups=groups, n_labels=0, ax=right)
plt.show()

for name, pca in (("PCA", classical), ("TL1SubspacePCA", robust)):
    off = diagnose(pca, X).flags >= Flag.ORTHOGONAL_OUTLIER
    print(f"{name:16s} {off[spoiled].sum():3d} of {spoiled.sum()} spoiled images off the subspace,", end=" ")
    print(f"{off[~spoiled].sum()} of {(~spoiled).sum()} others")
