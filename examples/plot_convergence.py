"""
How the objective climbs
========================

The published algorithm of Tl1PCA ascends from the best sample with a random first angle and stops when one
step gains less than 1e-6 (``solver="paper"``). The default solver (``solver="auto"``) draws nothing: it
ascends several samples at once on a smoothed objective, sharpens it step by step, finishes with Newton
steps, and looks once more across the kinks. ``n_starts`` multiplies the number of samples that are tried.
This example follows the first component on the digits of scikit-learn.
"""

# %%
# Objective against iteration
# ---------------------------
#
# The recorded path of the default solver begins where the smoothing has ended, so only its end is drawn.

import matplotlib.pyplot as plt
import numpy as np

from tl1pca import TL1PCA
from tl1pca.datasets import load_digit_images

X, y = load_digit_images(per_class=30)
shapes = (10.0, 1.0, 0.1)
seeds = range(10)

paper = {
    a: [TL1PCA(1, a=a, solver="paper", random_state=seed).fit(X).objective_path_[0] for seed in seeds]
    for a in shapes
}
ours = {a: TL1PCA(1, a=a).fit(X).objective_path_[0] for a in shapes}
more = {a: TL1PCA(1, a=a, n_starts=8).fit(X).objective_path_[0] for a in shapes}

figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for ax, a in zip(axes, shapes):
    for path in paper[a]:
        ax.plot(path, color="#0072B2", lw=0.9, alpha=0.7, ls="--", label="paper, 10 seeds")
    ax.axhline(ours[a][-1], color="#D55E00", lw=2.2, label="auto")
    ax.axhline(more[a][-1], color="#000000", lw=1.2, ls=":", label="auto, n_starts=8")
    ax.set(title=f"a = {a:g}", xlabel="iteration")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("objective of the first component")
handles, labels = axes[0].get_legend_handles_labels()
axes[0].legend(handles[-3:], labels[-3:], frameon=False, fontsize=9, loc="lower right")
plt.show()

# %%
# Where the ascents end
# ---------------------
#
# The objective has many local maxima, and more of them the smaller a is. The random first angle decides in
# which one the published ascent ends. The default solver ends in the same one every time, which need not be
# the highest. The smallest a of this table is well below the size of the projections, where the choice of a
# local maximum says little about the data: see the page on the mathematics for a usable range.

size = np.median(np.abs(TL1PCA(1, a=1.0).fit_transform(X)))
print(f"median absolute projection on the first component: {size:.2f}\n")
print("    a    paper: worst, mean and best seed        auto    auto, n_starts=8    iterations: paper, auto")
for a in shapes:
    ends = np.array([path[-1] for path in paper[a]])
    most = max(len(path) - 1 for path in paper[a])
    print(
        f"{a:5g} {ends.min():12.3f} {ends.mean():10.3f} {ends.max():10.3f} {ours[a][-1]:13.3f}"
        f" {more[a][-1]:15.3f} {most:20d}, {len(ours[a]) - 1}"
    )

# %%
# The paths never go down.

print(all((np.diff(path) >= 0).all() for a in shapes for path in (*paper[a], ours[a], more[a])))

# %%
# All components of one fit
# -------------------------
#
# Components come one after the other, each in the complement of those before it.

from tl1pca.displays import ConvergenceDisplay

ConvergenceDisplay.from_estimator(TL1PCA(4, a=1.0, solver="paper", random_state=0).fit(X))
plt.show()
