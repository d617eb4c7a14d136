"""
How many components?
====================

The usual ways to choose the number of components look at variances, and bad rows have a variance too. Here
the good rows lie in three dimensions plus noise, and a fifth of the rows is spread along a line off them.
"""

# %%
# Two scree plots
# ---------------
#
# Classical PCA sees four large variances, the first of which is that of the bad rows. The robust variances
# fall to the level of the noise after the third.

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score

from tl1pca import TL1SubspacePCA
from tl1pca.datasets import make_contaminated
from tl1pca.displays import ScreeDisplay

X, bad, axes = make_contaminated(300, 15, 3, kind="line", fraction=0.2, random_state=0)
classical = PCA(8).fit(X)
robust = TL1SubspacePCA(8, random_state=0).fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
ScreeDisplay.from_estimator(classical, ax=left)
ScreeDisplay.from_estimator(robust, ax=right)
plt.show()

# %%
# In numbers, beside the variances of the good rows alone, which a user does not know.

ideal = PCA(8).fit(X[~bad])
for name, pca in (("PCA", classical), ("TL1SubspacePCA", robust), ("PCA of the good rows", ideal)):
    print(f"{name:22s}" + "".join(f"{variance:7.1f}" for variance in pca.explained_variance_))

# %%
# A share instead of a number
# ---------------------------
#
# A number between 0 and 1 keeps as many components as explain that share of the dispersion. A share that the
# structure does not reach brings in the noise: look at the scree plot before you ask for 90 %.

for share in (0.5, 0.8, 0.9):
    count = TL1SubspacePCA(share, random_state=0).fit(X).n_components_
    print(f"n_components={share}: {count} components")

# %%
# Rows that were not fitted
# -------------------------
#
# ``score`` is minus the median distance of a row to the subspace, so that it can be cross-validated on data
# with bad rows. It always rises with the number of components; what counts is where it stops to rise fast.

counts = range(1, 9)
scores = [cross_val_score(TL1SubspacePCA(k, random_state=0), X, cv=5).mean() for k in counts]
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
ax.plot(counts, [-score for score in scores], "o-", color="#0072B2")
ax.axvline(3, color="black", ls="--", lw=1, label="dimension of the good rows")
ax.set(xlabel="number of components", ylabel="median distance, new rows", ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
