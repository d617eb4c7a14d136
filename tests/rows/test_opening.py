"""Which adapter data get, and what is said of entries that are not finite."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from support import Sliced
from tl1pca.rows import (
    ArrayRows,
    BlockRows,
    DenseRows,
    SparseRows,
    as_predictable,
    as_rows,
    finite_max_abs,
    safe_factor,
)
from tl1pca.rows.lazy import LazyRows

X = np.random.default_rng(0).normal(size=(30, 4))


@pytest.mark.parametrize(
    ("data", "adapter"),
    [
        (X, DenseRows),
        (X.tolist(), DenseRows),
        (pd.DataFrame(X), DenseRows),
        (sp.csc_matrix(X), SparseRows),
        (sp.coo_array(X), SparseRows),
        (Sliced(X), BlockRows),
    ],
)
def test_adapters(data, adapter):
    rows = as_rows(data)
    assert type(rows) is adapter
    assert rows.in_memory == (adapter is DenseRows)
    np.testing.assert_allclose(rows.gather_rows(np.arange(30)), X)


def test_an_engine_with_weights_is_another_one():
    engine = DenseRows(X)
    assert as_rows(engine, np.ones(30)).mass == 30.0
    assert engine.weights is None
    assert engine.mass == 30.0


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_arrays_of_other_libraries_stay_what_they_are(library):
    xp = pytest.importorskip(library)
    assert type(as_rows(xp.asarray(X))) is ArrayRows
    whole = as_rows(xp.asarray((X > 0).astype(np.int64)))
    assert whole.array().dtype == xp.float64


def test_dask_is_left_lazy_for_prediction():
    da = pytest.importorskip("dask.array")
    assert type(as_predictable(da.from_array(X))) is LazyRows
    assert type(as_predictable(X)) is DenseRows


@pytest.mark.parametrize("kind", [np.int16, bool, np.float16, ">f4"])
def test_other_numbers_become_double_and_single_stays(kind):
    data = (X > 0).astype(kind)
    for form in (np.asarray, sp.csr_array, Sliced):
        if form is sp.csr_array and kind in (np.float16, ">f4"):
            continue  # scipy has no such matrices
        assert as_rows(form(data)).dtype == np.float64
        assert as_rows(form(X.astype(np.float32))).dtype == np.float32


@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_entries_that_are_not_finite(bad, word):
    data = X.copy()
    data[3, 1] = bad
    for form in (np.asarray, sp.csr_array, Sliced):
        with pytest.raises(ValueError, match=f"Input X contains {word}"):
            finite_max_abs(as_rows(form(data)), "TL1PCA")
        assert finite_max_abs(as_rows(form(X))) == np.abs(X).max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("power", [-0.99, -0.1, 0.0, 0.2, 0.99])
def test_squares_in_safe_units_are_normal_numbers(dtype, power):
    info = np.finfo(dtype)
    size = dtype(float(info.max) ** power)
    factor = safe_factor(float(size), np.dtype(dtype))
    assert np.log2(factor) == int(np.log2(factor))
    assert float(info.tiny) < float(dtype(size * dtype(factor)) ** 2) < float(info.max)
    assert (factor == 1.0) == (abs(power) < 0.5)
