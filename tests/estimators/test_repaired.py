"""The rows that a fit of single cells trusts, and how many components these have."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from support import subspace_angle
from tl1pca import TL1CellPCA
from tl1pca.estimators._repaired import RepairedRowsPCA, repaired_alone


def table(n=200, d=20, k=3, *, missing=0.2, seed=0):
    """Values with bad cells, a cluster of bad rows and gaps; which rows are bad, and the true axes."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, k + 1)))[0]
    X = (rng.normal(size=(n, k)) * np.linspace(6, 3, k)) @ Q[:, :k].T + rng.normal(size=(n, d)) + 5.0
    bad = np.arange(n) < 0.2 * n
    X[bad] = 5.0 + 20.0 * Q[:, k] + rng.normal(size=(bad.sum(), d))
    wrong = rng.uniform(size=X.shape) < 0.2
    X[wrong] = 5.0 + 40.0 * rng.choice([-1, 1], size=wrong.sum())
    X[rng.uniform(size=X.shape) < missing] = np.nan
    return X, bad, Q[:, :k].T


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_bad_rows_are_not_counted_in_repaired_cells(missing, seed):
    """These were predicted by what all rows have in common: a cluster would be a component of most rows."""
    X, bad, axes = table(missing=missing, seed=seed)
    pca = TL1CellPCA().fit(X)
    assert pca.n_components_ == 3
    assert subspace_angle(pca.components_, axes) < 20
    assert (pca.weights_[bad] == 0).mean() > 0.97


@pytest.mark.parametrize("k", [1, 2])
def test_groups_along_further_components_stay_in_the_fit(k):
    """Three wines, which differ in three directions: a third of the rows was left out."""
    pca = TL1CellPCA(k).fit(load_wine().data)
    assert pca.n_components_ == k
    assert (pca.weights_ == 0).mean() < 0.05
    assert (pca.flags_ > 0).mean() < 0.1


def test_the_plane_is_that_of_the_first_components():
    """Rows are judged at the two dimensions that they have, of which one is asked for."""
    rng = np.random.default_rng(0)
    centers = np.array([[9.0, 0.0], [-9.0, 6.0], [-9.0, -6.0]])
    U = centers[rng.choice(3, size=300, p=[0.8, 0.1, 0.1])] + rng.normal(size=(300, 2))
    Y = U @ np.eye(2, 8) + 0.5 * rng.normal(size=(300, 8))
    choice = RepairedRowsPCA(1, random_state=0).choice(Y, np.ones(Y.shape, dtype=bool))
    assert choice.V.shape == (8, 1)
    assert choice.trusted.mean() > 0.9
    assert choice.accepts(Y).mean() > 0.9


def test_repaired_cells_are_those_of_the_plane():
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(10, 3)))[0]
    Z = rng.normal(size=(200, 2)) @ (8.0 * V[:, :2].T) + 0.1 * rng.normal(size=(200, 10))
    given = rng.uniform(size=Z.shape) > 0.2
    Y = np.where(given, Z, Z + 5.0 * np.outer(rng.normal(size=200), V[:, 2]))
    alone = repaired_alone(Y, given, Y.mean(axis=0), V[:, :2])
    np.testing.assert_array_equal(alone[given], Z[given])
    assert np.sqrt(np.mean((alone - Z)[~given] ** 2)) < 0.2
    assert np.var((alone - Z) @ V[:, 2]) < 0.05 * np.var((Y - Z) @ V[:, 2])
