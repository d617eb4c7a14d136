"""Dask collections for prediction: one more step of the graph, no client and no computation."""

import numpy as np
import pytest

from tl1pca.rows.lazy import LazyRows, dask_array, is_dask

da = pytest.importorskip("dask.array")
X = np.random.default_rng(0).normal(size=(40, 3))
LENGTHS = (7, 0, 20, 13)


def lazy(data=X):
    return LazyRows(dask_array(da.from_array(data, chunks=(LENGTHS, 3))))


def doubled(rows):
    return 2.0 * rows.array()


def pair(rows):
    return rows.norms(), rows.array()[:, 0]


def test_answers_are_dask_arrays_of_the_right_shape():
    found = lazy().map_blocks(doubled)
    assert (found.shape, found.dtype, found.chunks[0]) == (X.shape, X.dtype, LENGTHS)
    np.testing.assert_array_equal(found.compute(), 2 * X)
    norms, first = lazy().map_blocks(pair)
    np.testing.assert_allclose(norms.compute(), np.linalg.norm(X, axis=1))
    np.testing.assert_array_equal(first.compute(), X[:, 0])


def test_nothing_is_computed_and_the_first_error_comes_at_once():
    def broken(block):
        raise AssertionError("computed")

    LazyRows(da.from_array(X).map_blocks(broken, dtype=float, meta=np.empty((0, 0)))).map_blocks(doubled)
    with pytest.raises(ZeroDivisionError):
        lazy().map_blocks(lambda rows: 1 / 0)


def test_what_a_collection_becomes():
    assert dask_array(da.ones((4, 2), dtype=np.int8)).dtype == np.float64
    assert dask_array(da.ones((4, 2), dtype=np.float32)).dtype == np.float32
    assert dask_array(da.ones((4, 6), chunks=2)).numblocks == (2, 1)
    for bad, message in ((da.ones(4), "shape"), (da.ones((4, 2), dtype=complex), "real numbers")):
        with pytest.raises(ValueError, match=message):
            dask_array(bad)
    assert is_dask(da.ones(3))
    assert not is_dask(X)
