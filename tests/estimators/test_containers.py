"""Masked arrays, dates and sparse data frames: honored, or refused with a reason."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from support import COMPOSED, ESTIMATORS, gaussian, name, with_components
from tl1pca import TL1PCA, LpPCA, TL1SubspacePCA

every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
composed = pytest.mark.parametrize("estimator", COMPOSED, ids=name)
X = gaussian(30, 4)
y = np.arange(30) % 2
DATES = np.datetime64("2024-01-01") + np.arange(30)


@every
def test_a_mask_is_not_forgotten(estimator):
    clean = with_components(estimator, 2).fit(X)
    open_mask = np.ma.masked_array(X, mask=False)
    np.testing.assert_array_equal(with_components(estimator, 2).fit(open_mask).components_, clean.components_)
    np.testing.assert_array_equal(clean.transform(open_mask), clean.transform(X))
    bad = X.copy()
    bad[3, 1] = 1e6
    masked = np.ma.masked_array(bad, mask=bad > 1e5)
    if estimator._takes_missing:
        holes = np.where(bad > 1e5, np.nan, bad)
        wanted = with_components(estimator, 2).fit(holes)
        found = with_components(estimator, 2).fit(masked)
        np.testing.assert_array_equal(found.components_, wanted.components_)
        np.testing.assert_array_equal(found.transform(masked), wanted.transform(holes))
        return
    for call in (with_components(estimator, 2).fit, clean.transform, clean.score_samples):
        with pytest.raises(ValueError, match=r"masked entries.*TL1CellPCA"):
            call(masked)


@every
@pytest.mark.parametrize(
    "dates",
    [
        np.column_stack([DATES, DATES]),
        np.column_stack([DATES, DATES]) - DATES[0],
        pd.DataFrame({"when": DATES, "x": X[:, 0]}),
        pd.DataFrame({"when": pd.to_datetime(DATES).tz_localize("UTC"), "x": X[:, 0]}),
        pl.DataFrame({"when": DATES, "x": X[:, 0]}),
    ],
    ids=["dates", "durations", "frame", "zones", "polars"],
)
def test_dates_are_no_numbers(estimator, dates):
    with pytest.raises(ValueError, match="dates or times"):
        with_components(estimator, 1).fit(dates)
    with pytest.raises(ValueError, match="dates or times"):
        with_components(estimator, 1).fit(X[:, :2]).transform(dates)


@every
def test_sparse_data_frames(estimator):
    holes = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = pd.DataFrame(holes, columns=list("abcd"))
    sparse = dense.astype(pd.SparseDtype("float64", 0.0))
    wanted, found = (with_components(estimator, 2).fit(data) for data in (dense, sparse))
    np.testing.assert_array_equal(found.components_, wanted.components_)
    np.testing.assert_array_equal(found.transform(sparse), wanted.transform(dense))
    assert found.feature_names_in_.tolist() == list("abcd")


def test_a_large_sparse_frame_is_not_filled_up():
    column = pd.arrays.SparseArray(np.zeros(2**16), fill_value=0.0)
    frame = pd.DataFrame({str(i): column for i in range(2**11 + 1)})
    with pytest.raises(ValueError, match="to_coo"):
        with_components(ESTIMATORS[0], 1).fit(frame)


def test_a_column_of_words_is_named():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a", "b", "c"])
    assert TL1PCA(1).fit(frame.astype(str)).components_.shape == (1, 3)  # numbers, written out
    for words in (["north"] * 40, pd.Categorical(["x", "y"] * 20)):
        with pytest.raises(ValueError, match="Column 'site' holds text"):
            TL1PCA(1).fit(frame.assign(site=words))
    with pytest.raises(ValueError, match="Column 'when' holds dates or times"):
        TL1PCA(1).fit(frame.assign(when=pd.period_range("2024", periods=40, freq="D")))


def layouts():
    """The same numbers in other memory."""
    wide = np.zeros((60, 8))
    wide[::2, ::2] = X
    closed = X.copy()
    closed.setflags(write=False)
    return {
        "by columns": np.asfortranarray(X),
        "strided": wide[::2, ::2],
        "backwards": X[::-1, ::-1].copy()[::-1, ::-1],
        "read-only": closed,
        "other bytes": X.astype(X.dtype.newbyteorder()),
        "long": X.astype(np.longdouble),
        "objects": X.astype(object),
        "list": X.tolist(),
        "frame": pd.DataFrame(X, columns=list("abcd")),
        "nullable frame": pd.DataFrame(X, columns=list("abcd")).astype("Float64"),
        "polars": pl.DataFrame({c: X[:, i] for i, c in enumerate("abcd")}),
    }


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    "estimator", [*(with_components(e, 2) for e in ESTIMATORS), *COMPOSED, LpPCA(2, p=0.5)], ids=name
)
def test_the_memory_of_an_array_changes_no_bit(estimator):
    wanted = clone(estimator).fit(X, y)
    for kind, data in layouts().items():
        model = clone(estimator).fit(data, y)
        np.testing.assert_array_equal(np.asarray(model.transform(X)), np.asarray(wanted.transform(X)), kind)
        np.testing.assert_allclose(np.asarray(model.transform(data)), wanted.transform(X), atol=1e-12)


@pytest.mark.parametrize("estimator", [*ESTIMATORS[:1], *COMPOSED], ids=name)
@pytest.mark.parametrize(
    "value",
    [np.timedelta64(1, "D"), np.datetime64("2024-01-01"), pd.Timestamp("2024-01-01"), pd.Timedelta(1)],
    ids=str,
)
def test_dates_among_objects_are_no_numbers(estimator, value):
    dates = X.astype(object)
    dates[3, 1] = value
    for data in (dates, pd.DataFrame(dates, columns=list("abcd"))):
        with pytest.raises(ValueError, match="dates or times"):
            clone(estimator).fit(data, y)
        with pytest.raises(ValueError, match="dates or times"):
            clone(estimator).fit(X, y).transform(data)


@pytest.mark.parametrize("estimator", [*ESTIMATORS[:1], *COMPOSED], ids=name)
def test_integers_beyond_the_range_are_named(estimator):
    large = X.astype(object)
    large[3, 1] = 10**400
    with pytest.raises(ValueError, match="beyond the largest floating number"):
        clone(estimator).fit(large, y)


@composed
def test_what_is_composed_takes_the_same_containers(estimator):
    clean = clone(estimator).fit(X, y)
    masked = np.ma.masked_array(X, mask=np.arange(120).reshape(X.shape) == 7)
    sparse = pd.DataFrame(X, columns=list("abcd")).astype(pd.SparseDtype("float64", 0.0))
    found = clone(estimator).fit(sparse, y).transform(sparse)
    np.testing.assert_allclose(found, clean.transform(X), atol=1e-12)
    for call in (lambda data: clone(estimator).fit(data, y), clean.transform):
        with pytest.raises(ValueError, match=r"masked entries.*TL1CellPCA"):
            call(masked)
        with pytest.raises(ValueError, match="dates or times"):
            call(np.column_stack([DATES] * 4))


def test_a_lazy_frame_is_to_be_collected():
    frame = pl.DataFrame({c: gaussian(20, 3)[:, i] for i, c in enumerate("abc")})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TypeError, match=re.escape("X.collect()")):
            TL1SubspacePCA(1).fit(frame.lazy())
        assert TL1SubspacePCA(1).fit(frame).n_components_ == 1
