"""Arrays of other libraries: nothing leaves the device but totals and rows that are asked for."""

import numpy as np
import pytest

from tl1pca._arrays import to_numpy
from tl1pca.rows import ArrayRows, DenseRows

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 6)) + 5.0
W = rng.normal(size=(6, 3))


@pytest.fixture(params=["array_api_strict", "torch"])
def xp(request):
    return pytest.importorskip(request.param)


def test_answers_are_arrays_of_the_library_and_totals_numpy(xp):
    rows = ArrayRows(xp.asarray(X), xp.asarray(X[0]))
    kind, axes = type(xp.asarray(X)), xp.asarray(W)
    scores, distances = rows.scores_and_distances(axes)
    (total,), pulled = rows.map_reduce(lambda T: (T, T * T), axes)
    for answer in (scores, distances, pulled, rows.project(axes), rows.norms(), rows.gram(), rows.mean()):
        assert type(answer) is kind
    for answer in (
        total,
        rows.total(abs, scores),
        rows.inner(scores, scores),
        rows.gather_rows(np.arange(2)),
    ):
        assert type(answer) is np.ndarray


@pytest.mark.parametrize("single", [False, True])
def test_precision(xp, single):
    data = xp.asarray(X.astype(np.float32) if single else X)
    rows = ArrayRows(data)
    assert rows.dtype == (np.float32 if single else np.float64)
    assert rows.asarray(W).dtype == data.dtype
    assert rows.total(abs, rows.norms()).dtype == np.float64


@pytest.mark.parametrize("columns", [4, 256])
def test_small_samples_go_to_the_host_and_wide_ones_stay(xp, monkeypatch, columns):
    monkeypatch.setattr("tl1pca.rows.array.HOST_COLUMNS", columns)
    few = ArrayRows(xp.asarray(X.astype(np.float32))).subset_float64(np.array([2, 5]))
    assert type(few) is (ArrayRows if columns < 6 else DenseRows)
    assert few.dtype == np.float64
    np.testing.assert_allclose(to_numpy(few.array()), X[[2, 5]], rtol=1e-6)


def test_the_row_space(xp):
    wide = rng.normal(size=(5, 12))
    rows, lift = ArrayRows(xp.asarray(wide)).to_row_space()
    assert rows.shape == (5, 5)
    np.testing.assert_allclose(to_numpy(lift(rows.array().T)).T, wide, atol=1e-12)
