"""SparseTL1SubspacePCA: few loadings of the subspace that the trusted rows have, and what they cost."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import tl1pca
from support import gaussian
from tl1pca import SparseTL1SubspacePCA, TL1SubspacePCA
from tl1pca.datasets import make_contaminated
from tl1pca.solvers.sparse import _alternate, _quartimax, sparse_loadings

WINE = scale(load_wine().data)


def planted(fraction=0.2, seed=0):
    """Rows near two components with three entries each, and a cluster of bad rows."""
    rng = np.random.default_rng(seed)
    W = np.zeros((2, 10))
    W[0, :3], W[1, 5:8] = [2, 2, 1], [1, -2, 2]
    X = rng.normal(size=(200, 2)) * [5.0, 3.0] @ (W / 3.0) + 0.1 * rng.normal(size=(200, 10))
    bad = np.arange(200) < int(200 * fraction)
    X[bad] = 30.0 + rng.normal(size=(bad.sum(), 10))
    return X, bad, W / 3.0


def test_planted_loadings_are_found_among_bad_rows():
    X, bad, W = planted()
    pca = SparseTL1SubspacePCA(2, n_nonzero=3).fit(X)
    np.testing.assert_allclose(np.abs(pca.components_), np.abs(W), atol=0.02)
    np.testing.assert_array_equal(pca.components_ != 0, W != 0)
    assert pca.loss_of_fit_ < 0.01
    assert (pca.predict(X[bad]) == -1).all()


@pytest.mark.parametrize("n_nonzero", [None, 13, 99])
def test_all_loadings_are_the_dense_fit(n_nonzero):
    dense, sparse = TL1SubspacePCA(3).fit(WINE), SparseTL1SubspacePCA(3, n_nonzero=n_nonzero).fit(WINE)
    np.testing.assert_array_equal(sparse.components_, dense.components_)
    assert sparse.loss_of_fit_ == 0.0


def test_more_loadings_lose_less():
    losses = [SparseTL1SubspacePCA(3, n_nonzero=s).fit(WINE).loss_of_fit_ for s in (2, 4, 7, 10, 12)]
    assert losses[0] > 0.05
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.01


def test_the_loss_is_the_share_of_variance_that_is_explained_less():
    dense, sparse = TL1SubspacePCA(3).fit(WINE), SparseTL1SubspacePCA(3, n_nonzero=4).fit(WINE)
    v = dense.weights_ / dense.weights_.sum()
    total = v @ ((WINE - dense.mean_) ** 2).sum(axis=1)
    far = [v @ fit.score_samples(WINE) ** 2 for fit in (dense, sparse)]
    assert sparse.loss_of_fit_ == pytest.approx((far[1] - far[0]) / total, rel=1e-5)
    assert sparse.explained_variance_ratio_.sum() == pytest.approx(1 - far[1] / total, rel=1e-6)
    assert (np.diff(sparse.explained_variance_) <= 0).all()
    np.testing.assert_array_equal(sparse.flags_, dense.flags_)
    np.testing.assert_array_equal(sparse.predict(WINE), dense.predict(WINE))


def test_no_turn_increases_the_sum_of_squares():
    rng = np.random.default_rng(0)
    for _ in range(30):
        Y = rng.normal(size=(20, 6)) @ rng.normal(size=(6, 6))
        W = np.linalg.qr(rng.normal(size=(6, 3)))[0]
        _, path = _alternate(Y, W, 2, 0.0, 50)
        assert (np.diff(path) <= 1e-10 * path[0]).all()


def test_one_component_against_all_supports():
    """With one component the best support is known by enumeration; local ends lie within a few percent."""
    worst = 0.0
    for seed in range(20):
        Y = gaussian(30, 6, seed=seed) * [3.0, 2.5, 2.0, 1.5, 1.0, 0.5]
        total = (Y**2).sum()
        best = max(np.linalg.norm(Y[:, S], 2) ** 2 for S in map(list, combinations(range(6), 2)))
        W = np.linalg.svd(Y)[2][:1].T
        _, path = sparse_loadings(Y, W, 2, 1e-12, 500)
        assert path[-1] >= total - best - 1e-9 * total
        worst = max(worst, (path[-1] - (total - best)) / total)
    assert worst < 0.05


def test_quartimax_finds_rotated_sparse_loadings():
    W = np.zeros((8, 2))
    W[:4, 0], W[4:, 1] = 0.5, 0.5
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    R = _quartimax(W @ turn)
    np.testing.assert_allclose(R.T @ R, np.eye(2), atol=1e-12)
    assert np.count_nonzero(np.abs(W @ turn @ R) > 1e-6) == 8


def test_model_files(tmp_path):
    X, _, _ = make_contaminated(100, 8, 2, random_state=0)
    pca = SparseTL1SubspacePCA(2, n_nonzero=3).fit(X)
    tl1pca.save(pca, tmp_path / "model.npz")
    back = tl1pca.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(back.transform(X), pca.transform(X))
    np.testing.assert_array_equal(back.predict(X), pca.predict(X))
    assert back.loss_of_fit_ == pca.loss_of_fit_


@pytest.mark.parametrize("n_nonzero", [0, 2.5, "two"])
def test_bad_numbers_of_loadings(n_nonzero):
    with pytest.raises(ValueError, match="n_nonzero"):
        SparseTL1SubspacePCA(2, n_nonzero=n_nonzero).fit(WINE)
