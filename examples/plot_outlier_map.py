"""
The outlier map
===============

Two distances say how a row differs from the others: the score distance tells how far out it lies inside the
fitted subspace, the orthogonal distance how far off it. Two cut-offs make four regions. This example mixes
two kinds of bad rows and compares the map of ``TL1SubspacePCA`` with that of classical PCA.
"""

# %%
# Data with two kinds of bad rows
# -------------------------------
#
# 10 % of the rows are a cluster off the subspace, 5 % lie far away inside it. The second kind does no harm
# to the directions (good leverage), the first does (orthogonal outliers, or bad leverage where the score is
# far out too).

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from tl1pca import TL1SubspacePCA
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import diagnose, principal_angles
from tl1pca.displays import OutlierMapDisplay

X, cluster, axes = make_contaminated(400, 20, 3, kind="cluster", fraction=0.1, random_state=0)
leverage = np.zeros(len(X), dtype=bool)
leverage[np.flatnonzero(~cluster)[:20]] = True
rng = np.random.default_rng(0)
X[leverage] += rng.choice([-40.0, 40.0], size=(20, 1)) * axes[:, 0]
good = ~cluster & ~leverage

classical = PCA(3).fit(X)
robust = TL1SubspacePCA(3, random_state=0).fit(X)

# %%
# The two maps
# ------------
#
# The groups are known here, so they are given.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
groups = np.select([cluster, leverage], ["cluster, off the subspace", "leverage, inside it"], "good rows")
OutlierMapDisplay.from_estimator(classical, X, groups=groups, n_labels=0, ax=left)
OutlierMapDisplay.from_estimator(robust, X, groups=groups, n_labels=0, ax=right)
plt.show()

# %%
# Usually nobody knows the groups. The points then show the flags: regular rows lie below both cut-offs, good
# leverage on the right, orthogonal outliers above, bad leverage above on the right. The most extreme rows are
# labeled with their number, or their name in a data frame. The orthogonal cut-off bends upwards, because a
# subspace that is fitted to noisy rows is a little tilted, and rows far out notice it.

OutlierMapDisplay.from_estimator(robust, X, n_labels=8)
plt.show()

# %%
# In numbers
# ----------
#
# Classical PCA has turned toward the cluster, so the cluster is not off its subspace any more. The flags
# of ``TL1SubspacePCA`` are fitted attributes; for any other estimator :func:`tl1pca.diagnostics.diagnose`
# computes them.

names = ("regular", "good leverage", "orthogonal", "bad leverage")
print(f"{'':34s}" + "".join(f"{name:>15s}" for name in names))
for label, flags in (("classical PCA", diagnose(classical, X).flags), ("TL1SubspacePCA", robust.flags_)):
    for group, rows in (("good rows", good), ("leverage", leverage), ("cluster", cluster)):
        counts = np.bincount(flags[rows], minlength=4)
        print(f"{label:16s}{group:18s}" + "".join(f"{count:15d}" for count in counts))
for label, pca in (("classical PCA", classical), ("TL1SubspacePCA", robust)):
    print(f"{label}: largest angle to the true subspace {principal_angles(pca, axes.T)[0]:.1f} degrees")
