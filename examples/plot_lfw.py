"""
Faces, and pictures that are none
=================================

A hundred faces and some patches of background, 25 x 25 pixels each, from the subset of Labeled Faces in the
Wild that comes with scikit-image. Which pictures are not faces, and how well are the faces reconstructed?
"""

# %%
# The pictures
# ------------
#
# In raw pixels even classical PCA of faces alone hardly tells background from new faces: the first number
# below is near one half, because a patch of plain background is nearer to any subspace than a face with its
# edges is. Robustness cannot find what the features do not show. Histograms of oriented gradients, the usual
# description of faces, show it.

import matplotlib.pyplot as plt
import numpy as np
from skimage.feature import hog
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from tl1pca import TL1SubspacePCA
from tl1pca.datasets import load_lfw_subset


def gradients(pixels):
    """Histograms of eight orientations in cells of 5 x 5 pixels, normalized over neighboring cells."""
    images = pixels.reshape(-1, 25, 25)
    return np.stack([hog(image, 8, pixels_per_cell=(5, 5), cells_per_block=(2, 2)) for image in images])


def off(pca, X):
    """Distance of each row to the fitted subspace."""
    return np.linalg.norm(X - pca.inverse_transform(pca.transform(X)), axis=1)


pixels, label = load_lfw_subset()
faces, others = pixels[label == 1], pixels[label == 0]
F, B = gradients(faces), gradients(others)
for name, inside, outside in (("raw pixels", faces, others), ("gradients", F, B)):
    half = PCA(10, svd_solver="full").fit(inside[::2])
    truth = np.r_[np.zeros(len(inside[1::2])), np.ones(len(outside))]
    auc = roc_auc_score(truth, np.r_[off(half, inside[1::2]), off(half, outside)])
    print(f"{name}: PCA of 50 faces tells background from 50 new faces with an AUC of {auc:.2f}")

# %%
# Twenty others among a hundred and twenty
# ----------------------------------------
#
# Ten components, fitted to the mixture without labels. Each mixed-in picture says whether it was flagged.

drawn = np.random.RandomState(0).permutation(len(B))[:20]
X = np.vstack([F, B[drawn]])
robust = TL1SubspacePCA(10, random_state=0).fit(X)
classical = PCA(10, svd_solver="full").fit(X)
flagged = robust.flags_ > 0
print(f"flagged faces: {flagged[:100].sum()} of 100; flagged others: {flagged[100:].sum()} of 20")

figure, axes = plt.subplots(2, 10, figsize=(10, 2.9), layout="constrained")
for ax, image, found in zip(axes.flat, others[drawn], flagged[100:]):
    ax.imshow(image.reshape(25, 25), cmap="gray")
    ax.set_title("flagged" if found else "missed", fontsize=9, color="black" if found else "#D55E00")
    ax.set_xticks([])
    ax.set_yticks([])
figure.suptitle("the twenty pictures mixed in", fontsize=10)
plt.show()

# %%
# Components spent on the others are lost for the faces
# -----------------------------------------------------

ideal = PCA(10, svd_solver="full").fit(F)
print("mean distance of the faces to their reconstruction, in gradients")
for name, pca in (("PCA", classical), ("TL1SubspacePCA", robust), ("PCA without the others", ideal)):
    print(f"  {name:24s} {off(pca, F).mean():.3f}")
print(f"faces nearer with TL1SubspacePCA than with PCA: {(off(robust, F) < off(classical, F)).mean():.0%}")

# %%
# The flags serve the pixels, too: PCA of the pictures that were not flagged, against PCA of all. Shown are
# the faces whose reconstructions differ most, three in favor of each, so that the figure takes no side.

mixture = np.vstack([faces, others[drawn]])
kept, whole = (PCA(20, svd_solver="full").fit(rows) for rows in (mixture[~flagged], mixture))
gain = off(whole, faces) - off(kept, faces)
order = np.argsort(-gain)
chosen = np.r_[order[:3], order[-3:]]
rows = (
    ("picture", faces[chosen]),
    ("without flagged", kept.inverse_transform(kept.transform(faces[chosen]))),
    ("of all", whole.inverse_transform(whole.transform(faces[chosen]))),
)
figure, axes = plt.subplots(3, 6, figsize=(7.2, 3.9), layout="constrained")
for line, (title, images) in zip(axes, rows):
    line[0].set_ylabel(title, fontsize=9)
    for ax, image in zip(line, images):
        ax.imshow(image.reshape(25, 25), cmap="gray", vmin=0, vmax=1)
        ax.set_xticks([])
        ax.set_yticks([])
for ax, value in zip(axes[0], gain[chosen]):
    ax.set_title(f"{value:+.2f}", fontsize=9)
figure.suptitle("gain in distance to the picture", fontsize=10)
plt.show()
means = off(kept, faces).mean(), off(whole, faces).mean()
print("mean distance in pixels: {:.3f} without the flagged, {:.3f} of all".format(*means))

# %%
# How many others, how many components
# ------------------------------------
#
# Five draws of the others each. Of ten preparations tried (contrast, equalized histograms, blurs, logarithms)
# gradients were the only one with which the others can be told by their distance.

print("others  components  flagged others  flagged faces  distance of faces over PCA's")
for count in (5, 10, 20, 40):
    for k in (5, 10, 15):
        found = []
        for draw in range(5):
            mixed = np.vstack([F, B[np.random.RandomState(draw).permutation(len(B))[:count]]])
            pca = TL1SubspacePCA(k, random_state=0).fit(mixed)
            flags, ratio = (
                pca.flags_ > 0,
                off(pca, F).mean() / off(PCA(k, svd_solver="full").fit(mixed), F).mean(),
            )
            found.append((flags[100:].mean(), flags[:100].mean(), ratio))
        hit, alarm, ratio = np.mean(found, axis=0)
        print(f"{count:6d} {k:11d} {hit:15.0%} {alarm:14.1%} {ratio:19.3f}")
