"""
How many components?
====================

The usual ways to choose the number of components look at variances, and bad rows have a variance too. Here
the good rows lie in three dimensions plus noise, and a fifth of the rows is spread along a line off them.
"""

# %%
# What the usual ways say
# -----------------------
#
# The largest variance of classical PCA is that of the bad rows, its likelihood counts it as a component, and
# 80 % of the variance is a matter of how much noise there is.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold

from tl1pca import TL1SubspacePCA, select_n_components
from tl1pca.datasets import make_contaminated
from tl1pca.displays import SelectionDisplay
from tl1pca.scorers import predicted_cells

X, bad, axes = make_contaminated(300, 15, 3, kind="line", fraction=0.2, random_state=0)
shares = np.cumsum(PCA().fit(X).explained_variance_ratio_)
print("scikit-learn's n_components='mle':", PCA("mle").fit(X).n_components_)
print("components with 80 % of the variance:", 1 + int((shares < 0.8).sum()))
print("components with 90 % of the variance:", 1 + int((shares < 0.9).sum()))

# %%
# Two curves of the rows that a robust fit trusts
# -----------------------------------------------
#
# :func:`tl1pca.select_n_components` fits with 1, 2, ... components until the rows that the fit trusts have no
# more than that. A single fit with many components would not do: the line would become one of them.
#
# The answer is that of a cross-validation in which every cell is predicted from the other cells of its row.
# The eigenvalues of the trusted rows beside those of noise (parallel analysis) come along.

found = select_n_components(X)
print(found)
SelectionDisplay(selection=found).plot()
plt.show()

# %%
# A search with scikit-learn
# --------------------------
#
# ``GridSearchCV`` needs a score. The likelihood of scikit-learn's PCA rises with a component that fits the
# bad rows; :func:`tl1pca.scorers.predicted_cells` is the criterion of above for held-out rows, and its value
# is that of the main mode of the rows, so that a minority of bad ones does not matter.

grid = {"n_components": [1, 2, 3, 4, 5, 6, 7, 8]}
folds = KFold(5, shuffle=True, random_state=0)
classical = GridSearchCV(PCA(), grid, cv=folds).fit(X)
robust = GridSearchCV(TL1SubspacePCA(random_state=0), grid, scoring=predicted_cells, cv=folds).fit(X)
print("likelihood of PCA:", classical.best_params_)
print("predicted cells of TL1SubspacePCA:", robust.best_params_)

figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.4), layout="constrained")
for ax, search, label in ((left, classical, "log-likelihood"), (right, robust, "predicted cells")):
    ax.plot(grid["n_components"], search.cv_results_["mean_test_score"], "o-", color="#0072B2")
    ax.axvline(3, color="black", ls="--", lw=1)
    ax.set(xlabel="number of components", ylabel=label, title=type(search.estimator).__name__)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
