"""
A stream of sensors with faults
===============================

Twelve sensors follow two hidden rhythms. A tenth of the readings is faulty, for a while half of them are, and
later the process moves to another operating point. `IncrementalTL1PCA` reads the stream batch by batch:
bursts of faults are rejected, the change is learned. scikit-learn's `IncrementalPCA` reads the same batches.
"""

# %%
# The stream: faults anywhere, a burst of faults from row 4000 on, a new operating point from row 6000 on.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import IncrementalPCA

from tl1pca import IncrementalTL1PCA
from tl1pca.diagnostics import principal_angles

rng = np.random.default_rng(0)
n, d, batch = 10_000, 12, 100
axes = np.linalg.qr(rng.normal(size=(d, 4)))[0]
rhythms = rng.normal(size=(n, 2)) * [6.0, 4.0]
X = rhythms @ axes[:, :2].T + rng.normal(size=(n, d))
moved, when = 12.0 * axes[:, 2], 6000
X[when:] += moved
faulty = rng.random(n) < np.where((np.arange(n) >= 4000) & (np.arange(n) < 4500), 0.5, 0.1)
X[faulty] = 25.0 * axes[:, 3] + rng.normal(size=(int(faulty.sum()), d))

# %%
# Both read it in batches of 100 rows; ours remembers about 1000 rows. Each batch is judged before it is
# learned.
robust, classical = IncrementalTL1PCA(2, forget=0.999), IncrementalPCA(2)
ends, angles, flagged, frames = [], [], np.zeros(n, dtype=bool), {}
shown = (3900, 4500, 6300, 8500)
for start in range(0, n, batch):
    rows = X[start : start + batch]
    if start >= 300:
        flagged[start : start + batch] = robust.predict(rows) == -1
    robust.partial_fit(rows)
    classical.partial_fit(rows)
    if start >= 300:
        ends.append(start + batch)
        angles.append([principal_angles(pca.components_, axes[:, :2].T)[0] for pca in (robust, classical)])
    if start + batch in shown:
        frames[start + batch] = robust.cutoffs_, robust.distances(X[start - 300 : start + batch])

# %%
# Four moments of the stream: distances of the last 400 rows to the model of that moment, with its limits. At
# row 4500 a burst of faults ends; at row 6300 the process has moved, and all of its new rows are foreign; at
# row 8500 they are regular ones.
figure, panels = plt.subplots(1, 4, figsize=(11, 3.2), sharey=True, layout="constrained")
for panel, (end, (limits, (score, orthogonal))) in zip(panels, frames.items()):
    bad = faulty[end - 400 : end]
    panel.scatter(score[~bad], orthogonal[~bad], s=8, color="#0072b2", label="regular reading")
    panel.scatter(score[bad], orthogonal[bad], s=8, color="#d55e00", marker="x", label="fault")
    panel.axhline(limits.orthogonal, color="0.4", linewidth=1)
    panel.axvline(limits.score, color="0.4", linewidth=1)
    panel.set(title=f"row {end}", xlabel="score distance", xlim=(0, 6))
panels[0].set_ylabel("orthogonal distance")
panels[0].legend(loc="center right", fontsize=7)
plt.show()

# %%
# The angle to the true subspace along the stream, and how many rows of every batch were flagged.
figure, (top, bottom) = plt.subplots(2, 1, figsize=(9, 4.6), sharex=True, layout="constrained")
for column, name, color in ((0, "IncrementalTL1PCA", "#0072b2"), (1, "IncrementalPCA", "#d55e00")):
    top.plot(ends, [pair[column] for pair in angles], color=color, label=name)
top.set(ylabel="angle in degrees", ylim=(0, 95))
top.legend()
bottom.bar(
    np.arange(0, n, batch), flagged.reshape(-1, batch).mean(axis=1) * 100, batch, align="edge", color="0.5"
)
bottom.set(xlabel="row", ylabel="flagged, %", ylim=(0, 100))
for panel in (top, bottom):
    panel.axvspan(4000, 4500, color="#e69f00", alpha=0.2)
    panel.axvline(when, color="0.2", linestyle="--", linewidth=1)
plt.show()

# %%
# The state is in the model file, so a stream goes on where it stopped, to the last bit.
print(f"{robust.n_samples_seen_} rows learned from or rejected, {robust.n_rejected_} rejected")
