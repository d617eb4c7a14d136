"""Sources: blocks in order, what the files say, and which objects are read in blocks."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import zarr

from support import Sliced
from tl1pca.rows.sources import ParquetSource, PickedSource, SliceSource, is_source, open_source

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 4)) + 2.0


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of at most 16 rows."""
    monkeypatch.setattr("tl1pca.rows.sources.BLOCK_BYTES", 16 * 4 * 8)


@pytest.mark.parametrize(("chunk", "step"), [(5, 15), (7, 14), (30, 30), (None, 16)])
def test_blocks_are_whole_chunks(chunk, step):
    source = SliceSource(Sliced(X, chunks=None if chunk is None else (chunk, 4)))
    assert [len(block) for _, block in source.blocks()][:3] == [step] * 3
    np.testing.assert_array_equal(source.load(), X)


def test_a_sample_ends_with_its_last_row():
    data = Sliced(X)
    np.testing.assert_array_equal(SliceSource(data).gather_rows(np.array([3, 1])), X[[3, 1]])
    assert data.read <= 32  # its block, and the one being read meanwhile


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("float32", "float32"),
        ("float64", "float64"),
        ("int16", "float64"),
        (">f4", "float64"),
        ("bool", "float64"),
    ],
)
def test_precision(given, expected):
    data = (X > 2).astype(given)
    source = SliceSource(Sliced(data))
    assert source.dtype == source.load().dtype == expected
    np.testing.assert_array_equal(source.load(), data)


def test_picked_rows():
    index = np.array([0, 3, 17, 18, 50, 99])
    source = PickedSource(SliceSource(Sliced(X)), index)
    np.testing.assert_array_equal(source.load(), X[index])
    np.testing.assert_array_equal(source.gather_rows(np.array([5, 1])), X[index][[5, 1]])
    assert source.header().shape == (0, 4)


class TestParquet:
    @pytest.fixture(params=["file", "dataset"])
    def opened(self, request, tmp_path):
        """Write a table with small row groups and open it in one of two ways."""

        def write(table):
            path = tmp_path / "x.parquet"
            pq.write_table(table, path, row_group_size=7)
            return pq.ParquetFile(path) if request.param == "file" else ds.dataset(path)

        return write

    def test_rows_in_order(self, opened):
        source = open_source(opened(pa.table({f"v{j}": X[:, j] for j in range(4)})))
        assert isinstance(source, ParquetSource)
        assert [len(block) for _, block in source.blocks()] == [16] * 6 + [4]
        np.testing.assert_array_equal(source.load(), X)
        assert source.header().column_names == ["v0", "v1", "v2", "v3"]

    def test_types_and_nulls(self, opened):
        table = pa.table(
            {
                "i": pa.array([1, None, 3]),
                "b": pa.array([True, False, None]),
                "f": pa.array([0.5, 1.5, None], pa.float32()),
                "d": pa.array([1, 2, 3]).cast(pa.decimal128(21, 2)),
            }
        )
        source = open_source(opened(table))
        assert source.dtype == np.float64
        want = [[1, 1, 0.5, 1], [np.nan, 0, 1.5, 2], [3, np.nan, np.nan, 3]]
        np.testing.assert_array_equal(source.load(), want)
        assert open_source(opened(table.select(["f"]))).dtype == np.float32

    def test_a_column_without_numbers_is_named(self, opened):
        with pytest.raises(ValueError, match="column 'city' of X holds values of type string"):
            open_source(opened(pa.table({"a": [1.0], "city": ["Bonn"]})))

    def test_an_index_of_pandas_is_no_feature(self, opened):
        frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=[7, 9])
        source = open_source(opened(pa.Table.from_pandas(frame)))
        np.testing.assert_array_equal(source.load(), frame.to_numpy())


def test_columns_of_a_dataset_are_chosen_by_its_schema(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1.0, 2.0], "city": ["Bonn", "Köln"], "b": [3, 4]}), path)
    chosen = ds.dataset(path, schema=pa.schema([("b", pa.float64()), ("a", pa.float64())]))
    np.testing.assert_array_equal(open_source(chosen).load(), [[3, 1], [4, 2]])


def test_what_is_read_in_blocks(tmp_path):
    np.save(tmp_path / "x.npy", X)
    assert is_source(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert is_source(zarr.create_array(tmp_path / "x.zarr", shape=(3, 2), dtype="f8"))
    torch = pytest.importorskip("torch")
    for other in (X, X.tolist(), pd.DataFrame(X), pd.Series(X[0]), torch.asarray(X), np.float64(1), "x.npy"):
        assert not is_source(other)
