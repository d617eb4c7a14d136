"""What estimators share that fit another one."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from support import gaussian
from tl1pca import TL1PCA, EulerPCA, ImagePCA, KernelizedPCA
from tl1pca.estimators._composed import check_choice, contract


def test_a_side_is_contracted():
    rng = np.random.default_rng(0)
    T, M = rng.normal(size=(4, 3, 5)), rng.normal(size=(3, 2))
    np.testing.assert_allclose(contract(T, M, 1), np.einsum("nij,ik->nkj", T, M))
    np.testing.assert_allclose(contract(T, rng.normal(size=(5, 1)), 2).shape, (4, 3, 1))


@pytest.mark.parametrize("kind", [ImagePCA, KernelizedPCA])
def test_the_inner_estimator_is_one_of_ours(kind):
    with pytest.raises(TypeError, match="must be a PCA of tl1pca"):
        kind(estimator=PCA(2)).fit(np.ones((4, 4)))


def test_a_choice_is_one_of_the_words():
    check_choice("side", "both", ("both", "left"))
    for bad in ("Both", 3):
        with pytest.raises(ValueError, match=r"side must be one of 'both', 'left', got"):
            check_choice("side", bad, ("both", "left"))


def test_what_needs_memory_says_so():
    assert EulerPCA()._needs_memory()


BOTH_WAYS = [EulerPCA(2), ImagePCA(TL1PCA(2)), KernelizedPCA(TL1PCA(2), fit_inverse_transform=True)]


@pytest.mark.parametrize("estimator", BOTH_WAYS, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_way_back_keeps_the_precision_of_the_scores(estimator, dtype):
    estimator.fit(gaussian(20, 4))
    scores = estimator.transform(gaussian(20, 4)).astype(dtype)
    assert estimator.inverse_transform(scores).dtype == dtype
    with pytest.raises(ValueError, match="takes scores of shape"):
        estimator.inverse_transform(scores[0])


def test_no_scores_are_no_images():
    assert ImagePCA(TL1PCA(2)).fit(gaussian(20, 4)).inverse_transform(np.zeros((0, 2))).shape == (0, 4)
