"""
Wrong entries in a table
========================

Real tables have slips: a wrong unit, a decimal point that got lost, two columns swapped, -999 for "not
measured". One of them in a row is enough to spoil the row for a method that judges rows.
:class:`~tl1pca.TL1CellPCA` judges every entry by the others of its row, leaves gaps alone, and says what
should stand there instead.
"""

# %%
# A table with slips that we know
# -------------------------------
#
# The measurements of cell nuclei that come with scikit-learn, ten means for each of 569 samples. Six slips of
# the usual kinds are made, and 3 % of the entries are deleted.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from tl1pca import TL1CellPCA, TL1SubspacePCA
from tl1pca.diagnostics import principal_angles
from tl1pca.displays import CellMapDisplay

table = load_breast_cancer(as_frame=True).data.iloc[:, :10].rename(columns=lambda name: name[5:])
right = table.copy()
slips = {
    (40, "radius"): lambda row: row["radius"] * 10,  # millimeters for centimeters
    (120, "perimeter"): lambda row: row["perimeter"] / 10,  # a decimal point too far left
    (200, "area"): lambda row: row["area"] * 10,  # a lost decimal point
    (310, "texture"): lambda row: -999.0,  # "not measured"
    (450, "smoothness"): lambda row: row["smoothness"] * 10,
    (500, "concavity"): lambda row: row["symmetry"] * 3,  # from another column
}
for (sample, column), slip in slips.items():
    table.loc[sample, column] = slip(table.loc[sample])
rng = np.random.default_rng(0)
gone = rng.uniform(size=table.shape) < 0.03
table = table.mask(gone)

# %%
# One fit
# -------
#
# No scaling is needed, as every column has a unit of its own, and no imputation.

pca = TL1CellPCA(n_components=4, random_state=0).fit(table)
residuals = pca.cell_residuals(table)
for sample, column in slips:
    j = table.columns.get_loc(column)
    if not gone[sample, j]:
        found = "found" if pca.cell_flags_[sample, j] else "missed"
        print(f"sample {sample}, {column:12s} {table.loc[sample, column]:10.4g}", end="")
        print(
            f"  {found}, {residuals[sample, j]:+8.1f} deviations, right {right.loc[sample, column]:.4g}",
            end="",
        )
        print(f", repaired {pca.impute(table)[sample, j]:.4g}")

# %%
# The picture
# -----------
#
# The rows of the slips, and below them the rows with the worst entries of their own. White entries are as
# the rest of their row says, orange ones too high, blue ones too low; gray ones are missing. Rows that are
# unusual as a whole have a dot. A slip alone gives no dot: what is left of its row is a good row. The samples
# below are the largest ones. Their area is "too high" because areas grow with the square of a radius, which
# no straight line follows: the map says that logarithms would serve this table better.

chosen = [sample for sample, _ in slips]
worst = np.argsort(-np.nan_to_num(np.abs(residuals)).max(axis=1))
chosen += [int(i) for i in worst if i not in chosen][:12]
CellMapDisplay.from_estimator(pca, table, rows=chosen)
plt.show()

# %%
# The gaps
# --------
#
# What :meth:`~tl1pca.TL1CellPCA.impute` writes into them, against what was deleted, both in standard
# deviations of the column. A median is the same for every row.

spread = right.std().to_numpy()
true, filled, medians = (
    ((values - right.mean().to_numpy()) / spread)[gone]
    for values in (right.to_numpy(), pca.impute(table), np.tile(table.median(), (len(table), 1)))
)
figure, ax = plt.subplots(figsize=(6, 4.4), layout="constrained")
ax.axline((0, 0), slope=1, color="0.6", linewidth=1)
ax.plot(true, medians, "x", color="#D55E00", markersize=4, label="median of the column")
ax.plot(true, filled, "o", color="#0072B2", markersize=4, label="TL1CellPCA")
ax.set(xlabel="deleted value, standard deviations", ylabel="value filled in, standard deviations")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
for name, values in (("median of the column", medians), ("TL1CellPCA", filled)):
    print(f"{name:20s} {np.median(np.abs(values - true)):.2f} standard deviations off at the median")

# %%
# When slips are common
# ---------------------
#
# With 8 % of the entries ten times too large or too small more than half of the rows have one. The angle
# between the components of the table as it should be and as it is, in units of the columns; the rowwise
# method gets medians in the gaps.

often = rng.uniform(size=table.shape) < 0.08
many = right.where(~often, right * rng.choice([0.1, 10.0], size=table.shape)).mask(gone)
units = pca.cell_scales_
print(f"rows with a slip: {100 * often.any(axis=1).mean():.0f} %")
before = TL1CellPCA(4, random_state=0).fit(right).components_ / units
after = TL1CellPCA(4, random_state=0).fit(many).components_ / units
print(f"TL1CellPCA turned by {principal_angles(before, after)[0]:.1f} degrees")
before = TL1SubspacePCA(4, random_state=0).fit(right / units).components_
after = TL1SubspacePCA(4, random_state=0).fit((many / units).fillna((many / units).median())).components_
print(f"TL1SubspacePCA turned by {principal_angles(before, after)[0]:.1f} degrees")
