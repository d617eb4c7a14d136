"""
Rows that were not in the fit
=============================

A model is kept in a file and judges rows of another day. The limits are those of the rows it was fitted to,
widened for rows that had no part in the fit.
"""

# %%
# The fit, and its file
# ---------------------
#
# The wine data in a random order: 120 wines are fitted, 58 come later. Three of these are entered wrongly.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline

import tl1pca
from tl1pca import TL1SubspacePCA
from tl1pca.diagnostics import suspects
from tl1pca.displays import ControlChartDisplay
from tl1pca.preprocessing import MADScaler

wine = load_wine(as_frame=True).data.sample(frac=1, random_state=0)
past, new = wine.iloc[:120], wine.iloc[120:].copy()
wrong = {10: "proline", 25: "magnesium", 40: "alcohol"}
for row, column in wrong.items():
    new.iloc[row, new.columns.get_loc(column)] *= 10  # the decimal point in the wrong place

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "wine.npz"
    tl1pca.save(make_pipeline(MADScaler(), TL1SubspacePCA(3, random_state=0)).fit(past), path)
    model = tl1pca.load(path)  # checked; nothing in the file is executed

# %%
# Both distances of the new rows
# ------------------------------
#
# Far above the limit lie the three; a few wines are a little beyond it, as some rows of any table are.

ControlChartDisplay.from_estimator(model, new)
plt.show()

# %%
# Which column of a row it was:

for row, column in wrong.items():
    found = suspects(model, new.iloc[[row]])
    print(f"row {row}: {column} is wrong, found: {', '.join(cell.column for cell in found)}")
