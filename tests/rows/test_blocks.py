"""Rows read in blocks: one pass for each verb, and no more in memory than that needs."""

import threading

import numpy as np
import pytest

from support import Sliced
from tl1pca.rows import BlockRows
from tl1pca.rows.sources import SliceSource

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 4)) + 2.0
W = np.linalg.qr(rng.normal(size=(4, 2)))[0]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of at most 16 rows."""
    monkeypatch.setattr("tl1pca.rows.sources.BLOCK_BYTES", 16 * 4 * 8)


@pytest.mark.parametrize(
    "verb",
    [
        lambda rows: rows.project(W),
        lambda rows: rows.pullback(np.ones((100, 2))),
        lambda rows: rows.map_reduce(lambda T: (np.sign(T), abs(T)), W),
        lambda rows: rows.gram(),
        lambda rows: rows.scores_and_distances(W),
        lambda rows: rows.norms(),
        lambda rows: rows.mean(),
        lambda rows: rows.max_abs(),
    ],
)
def test_a_verb_reads_the_data_once(verb):
    data = Sliced(X)
    verb(BlockRows(SliceSource(data), X[0]).scaled(2.0))
    assert data.read == 100


def test_samples_after_the_first_pass_cost_nothing():
    data = Sliced(X)
    rows = BlockRows(SliceSource(data))
    rows.max_abs()
    data.read = 0
    np.testing.assert_array_equal(rows.gather_rows(np.array([93, 4, 4, 0])), X[[93, 4, 4, 0]])
    assert data.read == 0


def test_more_than_memory_is_not_taken():
    rows = BlockRows(SliceSource(Sliced(np.broadcast_to(np.float64(1), (10**6, 1000)))))
    with pytest.raises(ValueError, match="1000000 rows of 1000 features in memory at once"):
        rows.gather_rows(np.arange(10**6))


def test_an_error_of_the_reader_arrives_and_no_thread_is_left():
    class Broken(Sliced):
        def __getitem__(self, rows):
            if rows.start > 40:
                raise OSError("the disk is gone")
            return super().__getitem__(rows)

    before = set(threading.enumerate())  # another test may have left some
    with pytest.raises(OSError, match="the disk is gone"):
        BlockRows(SliceSource(Broken(X))).norms()
    for _ in SliceSource(Sliced(X)).blocks():
        break
    left = set(threading.enumerate()) - before
    assert not [t for t in left if t.name.startswith("ThreadPool")]


def test_a_function_of_the_port_is_asked_of_each_block_in_one_pass():
    data = Sliced(X)
    rows = BlockRows(SliceSource(data))
    np.testing.assert_array_equal(rows.map_blocks(lambda block: block.array() @ W), X @ W)
    assert data.read == 100
    first, second = rows.map_blocks(lambda block: (block.array()[:, 0], block.norms()))
    np.testing.assert_array_equal(first, X[:, 0])
    np.testing.assert_allclose(second, np.linalg.norm(X, axis=1))
