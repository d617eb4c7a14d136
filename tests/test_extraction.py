"""Many rows: directions of a sample, polished on all rows."""

import numpy as np
import pytest

from support import subspace_angle
from tl1pca import L1PCA, TL1, TL1PCA, DispersionPCA, Lp
from tl1pca.extraction import greedy
from tl1pca.objectives import dispersion
from tl1pca.rows import MANY_ROWS, DenseRows
from tl1pca.solvers import SparseFixedPoint, SphereAscent

N = MANY_ROWS + 1500


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 12)) * 0.75 ** np.arange(12)
    X[:300] *= 10
    return X @ np.linalg.qr(rng.normal(size=(12, 12)))[0]


@pytest.mark.parametrize("a", [0.3, 1.0, "auto"])
def test_polished_is_as_good_as_all_rows_at_once(data, a):
    rows = DenseRows(data)
    pca = TL1PCA(3, a=a, center=None).fit(data)
    first = SphereAscent().solve(dispersion(rows, TL1(a=a)))
    assert pca.objective_path_[0][-1] >= first.path[-1] * (1 - 2e-3)
    assert pca.converged_
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(3), atol=1e-12)
    for path, w in zip(pca.objective_path_, pca.components_):
        assert (np.diff(path) >= 0).all()
        value = float(dispersion(rows, TL1(a=a)).value(w))
        # The scale of "auto" goes on by one Newton step with each step of the direction.
        assert path[-1] == pytest.approx(value, rel=5e-5)


def test_the_result_does_not_depend_on_the_number_of_threads(data, monkeypatch):
    big = np.tile(data, (15, 1))
    results = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
        results.append(TL1PCA(2, a=1.0).fit(big))
    assert results[0].objective_ == pytest.approx(results[1].objective_, rel=1e-9)
    assert subspace_angle(results[0].components_, results[1].components_) < 1e-3


def test_weights_of_many_rows(data):
    v = np.random.default_rng(1).integers(0, 3, size=N)
    weighted = TL1PCA(2, a=1.0, center=None).fit(data, sample_weight=v)
    repeated = TL1PCA(2, a=1.0, center=None).fit(np.repeat(data, v, axis=0))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-3)
    assert subspace_angle(weighted.components_, repeated.components_) < 10


def test_what_the_sample_does_not_span_is_found(data):
    rare = np.zeros((N, 14))
    rare[:, :3] = data[:, :3]
    rare[17, 12], rare[23, 13] = 5.0, 7.0  # two features of two rows
    pca = TL1PCA(a=1.0, center=None).fit(rare)
    assert pca.n_components_ == pca.rank_ == 5
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(rare)), rare, atol=1e-9)


def test_share_of_many_rows(data):
    pca = TL1PCA(0.9).fit(data)
    assert pca.explained_variance_ratio_.sum() >= 0.9
    assert pca.n_components_ < 12


def test_single_precision(data):
    single = data.astype(np.float32)
    pca = TL1PCA(2, a=1.0, center=None).fit(single)
    assert pca.components_.dtype == np.float32
    scores = single.astype(np.float64) @ pca.components_.T.astype(np.float64)
    assert pca.objective_ == pytest.approx(TL1(a=1.0).value(np.abs(scores)).sum(), rel=1e-5)
    double = TL1PCA(2, a=1.0, center=None).fit(single.astype(np.float64))
    assert pca.objective_ == pytest.approx(double.objective_, rel=2e-3)


def test_more_components_than_the_rows_span_completes_a_basis():
    X = np.outer(np.arange(-3.0, 4.0), [1.0, 2.0, 0.0])
    found = greedy(dispersion(DenseRows(X), TL1(a=1.0)), SphereAscent(), 3, np.random.RandomState(0))
    np.testing.assert_allclose(found.W.T @ found.W, np.eye(3), atol=1e-12)
    assert found.paths[1:] == ((0.0,), (0.0,))


def test_joint_and_greedy_agree_for_one_component(data):
    few = data[:400]
    joint = DispersionPCA(1, operator=TL1(a=1.0), extraction="joint").fit(few)
    alone = DispersionPCA(1, operator=TL1(a=1.0)).fit(few)
    assert joint.objective_ <= alone.objective_ * (1 + 1e-9)
    assert L1PCA(1).fit(few).objective_ == pytest.approx(L1PCA(1, greedy=True).fit(few).objective_)


def test_equal_rows_have_one_component_whatever_the_share():
    nothing = dispersion(DenseRows(np.zeros((6, 3))), TL1(a=1.0))
    found = greedy(nothing, SphereAscent(), 3, np.random.RandomState(0), enough=lambda W: False)
    assert found.W.shape == (3, 1)
    assert found.paths == ((0.0,),)


def test_rounding_is_nothing_left_even_where_the_first_rows_are_zero():
    X = np.zeros((200, 3))
    X[100:] = np.outer(np.random.default_rng(0).normal(size=100), [0.3, -0.7, 0.1])
    found = greedy(dispersion(DenseRows(X), TL1(a=1.0)), SphereAscent(), 2, np.random.RandomState(0))
    assert found.paths[1] == (0.0,)


def test_methods_that_are_not_orthogonal_are_completed_by_unused_axes():
    X = np.outer(np.arange(-3.0, 4.0), [1.0, 2.0, 0.0])
    found = greedy(dispersion(DenseRows(X), Lp(p=1)), SparseFixedPoint(2), 3, np.random.RandomState(0))
    np.testing.assert_array_equal(found.W[:, 1:], [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    assert found.paths[1:] == ((0.0,), (0.0,))


def test_the_extraction_ends_when_it_is_enough():
    rows = dispersion(DenseRows(np.random.default_rng(0).normal(size=(60, 4))), TL1(a=1.0))
    found = greedy(rows, SphereAscent(), 4, np.random.RandomState(0), enough=lambda W: W.shape[1] >= 2)
    assert found.W.shape == (4, 2)
    assert len(found.paths) == 2


def test_a_row_that_only_later_ones_show_is_seen():
    """The first rows say whether anything is left; where they do not, all of them are asked."""
    X = np.zeros((3000, 3))
    X[-1, 2], X[:, 0] = -4.0, 1.0
    found = greedy(dispersion(DenseRows(X), TL1(a=1.0)), SphereAscent(), 2, np.random.RandomState(0))
    np.testing.assert_allclose(np.abs(found.W[:, 1]), [0.0, 0.0, 1.0], atol=1e-2)
    assert found.paths[1][-1] > 1.0
