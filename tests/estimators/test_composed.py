"""What estimators share that fit another one."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from tl1pca import EulerPCA, ImagePCA, KernelizedPCA
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
