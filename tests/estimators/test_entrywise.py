"""Methods that fit entries: a few bad ones do not move an exact fit."""

import numpy as np
import pytest

from support import subspace_angle
from tl1pca import L1BestFitPCA, L1ReconstructionPCA

RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=(40, 2)) @ RNG.normal(size=(2, 6))


@pytest.mark.parametrize("kind", [L1ReconstructionPCA, L1BestFitPCA])
def test_bad_entries_of_rows_in_a_plane_are_paid_for_and_no_more(kind):
    X = TRUTH.copy()
    X[3, 2] += 5.0
    pca = kind(2, center=None).fit(X)
    assert subspace_angle(pca.components_, np.linalg.svd(TRUTH)[2][:2]) < 1e-3
    assert not pca._rotates


def test_missing_entries_are_left_out():
    X = TRUTH.copy()
    X[5, 1] = np.nan
    pca = L1ReconstructionPCA(2, center=None).fit(X)
    assert subspace_angle(pca.components_, np.linalg.svd(TRUTH)[2][:2]) < 1e-3
    X[:, 0] = np.nan
    with pytest.raises(ValueError, match="no observed value"):
        L1ReconstructionPCA(2).fit(X)


def test_the_objective_of_best_hyperplanes_is_the_sum_over_the_dimensions_removed():
    X = TRUTH + 0.1 * np.random.default_rng(1).normal(size=TRUTH.shape)
    whole = L1BestFitPCA(1).fit(X).objective_path_[0]
    assert len(whole) == 6
    for k in range(1, 7):
        pca = L1BestFitPCA(k).fit(X)
        np.testing.assert_allclose(pca.objective_path_[0], whole[: 7 - k])
        assert pca.objective_ == pytest.approx(whole[6 - k])
