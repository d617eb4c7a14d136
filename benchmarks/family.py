"""Time of ImagePCA and KernelizedPCA against what they are made of, as ratios inside one run.

    python benchmarks/family.py > benchmarks/results/family.md

ImagePCA is held against the same estimator on the stacked rows of the same
images less their mean, the subtraction included; KernelizedPCA at 2000 rows against scikit-learn's
KernelPCA plus the inner fit to the coordinates. CPU time, median of five.
"""

import statistics
import time

import numpy as np
from sklearn.decomposition import KernelPCA

from tl1pca import L1PCA, TL1PCA, ImagePCA, KernelizedPCA, LpPCA

REPEATS = 5


def seconds(fit):
    """Median CPU time of a call."""
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        fit()
        found.append(time.process_time() - start)
    return statistics.median(found)


def main():
    """Print both tables."""
    rng = np.random.default_rng(0)
    print("# Time of the family\n\n`python benchmarks/family.py`, CPU time, median of five.\n")
    print("| images | estimator | stacked rows, s | ImagePCA, s | ratio |\n|---|---|---|---|---|")
    for shape in ((135, 32, 32), (1000, 28, 28)):
        images = rng.normal(size=shape) @ rng.normal(size=(shape[2], shape[2])) + rng.normal(size=shape[1:])
        for estimator in (LpPCA(4, p=2), L1PCA(4, greedy=True), TL1PCA(4)):
            plain = type(estimator)(**{**estimator.get_params(), "center": None})
            pca = ImagePCA(estimator)
            stacked = seconds(lambda: plain.fit((images - images.mean(axis=0)).reshape(-1, images.shape[2])))  # noqa: B023
            ours = seconds(lambda: pca.fit(images))  # noqa: B023
            name = f"{type(estimator).__name__}(4)"
            print(
                f"| {shape[0]} of {shape[1]} x {shape[2]} | {name} | {stacked:.3f} | {ours:.3f} "
                f"| {ours / stacked:.2f} |"
            )
    X = rng.normal(size=(2000, 10))
    print(
        "\n| rows | KernelPCA, s | inner fit, s | KernelizedPCA(TL1PCA(5)), s | ratio |\n" + "|---" * 5 + "|"
    )
    theirs = seconds(lambda: KernelPCA(5, kernel="rbf", gamma=0.05).fit(X))
    ours = KernelizedPCA(TL1PCA(5), gamma=0.05)
    total = seconds(lambda: ours.fit(X))
    E = ours._coordinates(ours._to_landmarks(X))
    inner = seconds(lambda: TL1PCA(5).fit(E))
    print(f"| 2000 x 10 | {theirs:.2f} | {inner:.2f} | {total:.2f} | {total / (theirs + inner):.2f} |")


if __name__ == "__main__":
    main()
