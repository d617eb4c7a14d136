"""
Is the next row all right, and if not, why?
===========================================

A model of a process is fitted to rows of the past, some of which are bad, and watches the rows that come.
"""

# %%
# The past
# --------
#
# Eight sensors that follow two causes, 200 rows, a fifth of them from a start-up that nobody removed.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.decomposition import PCA

from tl1pca import TL1CellPCA, TL1SubspacePCA
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import limits, suspects
from tl1pca.displays import ContributionDisplay, ControlChartDisplay

sensors = ["flow", "temperature", "pressure", "level", "acidity", "power", "speed", "dose"]
X, bad, axes = make_contaminated(200, 8, 2, fraction=0.2, random_state=0)
past = pd.DataFrame(X, columns=sensors)
pca = TL1SubspacePCA(2, random_state=0).fit(past)

# %%
# The rows that come
# ------------------
#
# At 60 the pressure sensor fails for one row; from 100 on it drifts.

rng = np.random.default_rng(1)
rows = (rng.normal(size=(140, 2)) * [6.0, 3.0]) @ axes.T + rng.normal(size=(140, 8))
new = pd.DataFrame(rows, columns=sensors)
new.loc[60, "pressure"] += 9.0
new.loc[100:, "pressure"] += 0.12 * np.arange(40)

ControlChartDisplay.from_estimator(pca, new)
plt.show()

# %%
# The limits are those of new rows: rows of the fit have pulled the subspace toward themselves, and lie
# nearer. Classical PCA has learned the start-up as well, and its limit is wider by two thirds.

classical = PCA(2).fit(past)
for name, bounds in (
    ("TL1SubspacePCA, new rows", limits(pca)),
    ("TL1SubspacePCA, training rows", limits(pca, kind="training")),
    ("PCA, new rows", limits(classical, X=past)),
):
    print(f"{name:30s} score {bounds.score:5.2f}   orthogonal {bounds.orthogonal:5.2f}")

# %%
# Why this row?
# -------------
#
# A bad cell moves the scores of its row, and through them the residuals of all columns: the parts of the
# orthogonal distance (left) are smeared. Predicting each cell from the cells that are not suspect (middle)
# leaves one. :class:`tl1pca.TL1CellPCA` repairs the cell: of what is left of the row (right), it adds nothing
# to the distance, and the others add what is usual.

cells = TL1CellPCA(2).fit(past)
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.6), layout="constrained")
ContributionDisplay.from_estimator(pca, new, rows=60, kind="orthogonal", ax=left)
ContributionDisplay.from_estimator(pca, new, rows=60, ax=middle)
ContributionDisplay.from_estimator(cells, new, rows=60, kind="orthogonal", ax=right)
right.set_title("after the repair of the cell")
plt.show()

# %%
# In numbers, with the value that the other sensors lead one to expect:

for cell in suspects(pca, new.loc[[60]]):
    print(f"{cell.column}: {cell.value:.1f}, expected {cell.expected:.1f} ({cell.deviations:.1f} deviations)")

# %%
# The drift, on average over its last twenty rows:

ContributionDisplay.from_estimator(pca, new, rows=range(120, 140))
plt.show()
