"""
Faces by few directions of pixel rows
=====================================

PCA of flat pictures has one weight for each pixel. `ImagePCA` fits a method to the rows of all pictures
instead: its directions are as long as a picture is wide, and there are many rows to find them from.
"""

# %%
# The pictures
# ------------
#
# A hundred faces of 25 x 25 pixels, from the subset of Labeled Faces in the Wild that comes with
# scikit-image. A fifth of them gets a block of noise.

import matplotlib.pyplot as plt
import numpy as np

from tl1pca import TL1PCA, ImagePCA, LpPCA
from tl1pca.datasets import load_lfw_subset

pixels, label = load_lfw_subset()
faces = pixels[label == 1].reshape(-1, 25, 25)
rng = np.random.default_rng(0)
seen = faces.copy()
for picture in seen[::5]:
    top, left = rng.integers(0, 13, size=2)
    picture[top : top + 12, left : left + 12] = rng.uniform(size=(12, 12))

# %%
# Three forms, the same number of features
# ----------------------------------------
#
# Eight directions for the rows of pixels (2DPCA), eight by the Tl1 operator (2DPCA-Tl1), and fourteen by
# fourteen for both sides. The error is that of the clean faces: there are so many rows of pixels that blocks
# of noise hardly turn the directions, and the two operators are alike. Reducing both sides serves the faces
# better.

fits = {
    "2DPCA": ImagePCA(LpPCA(8, p=2)),
    "2DPCA-Tl1": ImagePCA(TL1PCA(8, a=0.5)),
    "both sides": ImagePCA(LpPCA(14, p=2), side="both"),
}
clean = np.ones(len(faces), bool)
clean[::5] = False
backs = {}
for name, pca in fits.items():
    back = backs[name] = pca.fit(seen).inverse_transform(pca.transform(seen))
    error = np.linalg.norm((back - faces)[clean]) / np.linalg.norm((faces - faces.mean(axis=0))[clean])
    print(f"{name}: {pca.transform(seen).shape[1]} features, relative error {error:.3f} on clean faces")

# %%
# What they make of the faces
# ---------------------------

rows = {"seen": seen, **backs}
figure, axes = plt.subplots(len(rows), 8, figsize=(9, 4.8), layout="constrained")
for line, (name, pictures) in zip(axes, rows.items()):
    for axis, picture in zip(line, pictures):
        axis.imshow(picture, cmap="gray", vmin=0, vmax=1)
        axis.set(xticks=[], yticks=[])
    line[0].set_ylabel(name)
plt.show()
