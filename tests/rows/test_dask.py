"""Rows on a cluster: partitions of any length; what a fit does with them is in tests/scale."""

import numpy as np
import pytest

from tl1pca.rows import dask as engine
from tl1pca.rows.dask import known_length, open_rows

da = pytest.importorskip("dask.array")
X = np.random.default_rng(0).normal(size=(60, 4))
LENGTHS = (11, 0, 29, 20)


@pytest.fixture(autouse=True)
def _client(threaded_client):
    with threaded_client.as_current():
        yield


def rows(weights=None):
    return open_rows(da.from_array(X, chunks=(LENGTHS, 4)), weights)


def test_rows_are_gathered_in_the_order_asked_from_any_partition():
    index = np.array([59, 0, 11, 10, 11, 40])
    found = rows()
    np.testing.assert_array_equal(found.gather_rows(index), X[index])
    np.testing.assert_array_equal(found.subset(index).array(), X[index])
    np.testing.assert_array_equal(found.gather_scores(found.project(X[0]), index), X[index] @ X[0])


def test_many_partial_sums_are_added_on_the_workers(monkeypatch):
    monkeypatch.setattr(engine, "FAN_IN", 2)
    np.testing.assert_allclose(rows().gram(), X.T @ X)


def test_the_user_gets_lazy_arrays():
    found = rows()
    answer = found.to_user(found.project(X[:2].T))
    assert isinstance(answer, da.Array)
    assert answer.shape == (60, 2)
    np.testing.assert_allclose(answer.compute(), X @ X[:2].T)


def test_weights_of_any_kind_and_rows_without_any_left_out():
    v = np.arange(60) % 3
    for weights in (v, da.from_array(v, chunks=17), v.tolist()):
        found = rows(weights)
        assert (found.shape, found.mass) == ((40, 4), v.sum())
        np.testing.assert_array_equal(found.gather_weights(), v[v > 0])
    with pytest.raises(ValueError, match="not negative"):
        rows(-v)
    with pytest.raises(ValueError, match=r"shape \(60,\)"):
        rows(v[1:])


def test_unknown_lengths_are_counted():
    unknown = da.from_array(X, chunks=(LENGTHS, 4))
    unknown = unknown[unknown[:, 0] > -np.inf]
    assert np.isnan(unknown.shape[0])
    assert known_length(unknown).shape == (60, 4)
    assert np.isnan(unknown.shape[0])  # the user's own is not changed
    assert open_rows(unknown).shape == (60, 4)
