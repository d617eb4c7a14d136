"""
A table with bad rows: scree plot, biplot, scores
=================================================

Measurements of 178 wines from scikit-learn, in thirteen variables. In fifteen rows the decimal point of one
of them has been lost. This page goes through the plots one would look at first, each of them one line.
"""

# %%
# The table
# ---------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import RobustScaler

from tl1pca import TL1SubspacePCA
from tl1pca.displays import BiplotDisplay, OutlierMapDisplay, ScoreDisplay, ScreeDisplay

wine = load_wine(as_frame=True)
table = wine.data.copy()
spoiled = np.random.default_rng(0).choice(len(table), size=15, replace=False)
table.loc[spoiled, "flavanoids"] *= 10.0

X = RobustScaler().set_output(transform="pandas").fit_transform(table)
classical = PCA(3).fit(X)
robust = TL1SubspacePCA(3, random_state=0).fit(X)

# %%
# How much do the components explain?
# -----------------------------------
#
# PCA seems to explain more with one component. What it explains is the mistake.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
ScreeDisplay.from_estimator(PCA(8).fit(X), ax=left)
ScreeDisplay.from_estimator(TL1SubspacePCA(8, random_state=0).fit(X), ax=right)
plt.show()

# %%
# Biplots
# -------
#
# Points are wines, arrows are variables. Groups, here the three cultivars, may be given where they are known.
# The first component of PCA is the spoiled variable and nothing else. The robust components show how the
# cultivars differ, and the spoiled rows leave them along the arrow of that variable.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.4), layout="constrained")
cultivar = np.array(["first", "second", "third"], dtype=object)[wine.target]
cultivar[spoiled] = "spoiled"
BiplotDisplay.from_estimator(classical, X, groups=cultivar, n_features=8, ax=left)
BiplotDisplay.from_estimator(robust, X, groups=cultivar, n_features=8, ax=right)
plt.show()

# %%
# Which rows are bad?
# -------------------
#
# Without groups the points are marked by their flag. Some outliers look regular in a plot of two scores; the
# outlier map sees the third one and the distance to the subspace as well.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
ScoreDisplay.from_estimator(robust, X, ax=left)
OutlierMapDisplay.from_estimator(robust, X, n_labels=8, ax=right)
plt.show()

flagged = robust.flags_ > 0
good = np.setdiff1d(np.arange(len(X)), spoiled)
print(f"spoiled rows flagged: {flagged[spoiled].sum()} of {len(spoiled)}")
print(f"other rows flagged: {flagged[good].sum()} of {len(good)}")
