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

figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, pca, title in ((panels[0], classical, "classical PCA"), (panels[1], robust, "TL1SubspacePCA")):
    found = diagnose(pca, X)
    groups = (
        (good, "o", "#999999", 14, "good rows"),
        (leverage, "^", "#0072B2", 32, "leverage, inside the subspace"),
        (cluster, "x", "#D55E00", 32, "cluster, off the subspace"),
    )
    for rows, marker, color, size, label in groups:
        ax.scatter(
            found.score_distances[rows],
            found.orthogonal_distances[rows],
            s=size,
            marker=marker,
            c=color,
            label=label,
        )
    ax.axvline(found.cutoffs.score, color="black", ls="--", lw=1)
    ax.axhline(found.cutoffs.orthogonal, color="black", ls="--", lw=1)
    ax.set(title=title, xlabel="score distance", xlim=(0, None))
    ax.set_ylim(0, 1.3 * found.orthogonal_distances.max())
    ax.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("orthogonal distance")
panels[0].legend(frameon=False, fontsize=9, loc="upper right")
region = {"fontsize": 9, "color": "#333333", "transform": panels[1].transAxes}
panels[1].text(0.98, 0.98, "bad leverage", ha="right", va="top", **region)
panels[1].text(0.98, 0.03, "good leverage", ha="right", **region)
panels[1].text(0.02, 0.98, "orthogonal outliers", ha="left", va="top", **region)
plt.show()

# %%
# In numbers
# ----------
#
# Classical PCA has turned towards the cluster, so the cluster is not off its subspace any more. The flags
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
