"""The robust scaler, and when columns are taken to be in different units."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

from support import gaussian
from tl1pca.preprocessing import MADScaler, unequal_spreads


@parametrize_with_checks([MADScaler()])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_it_is_the_median_and_the_median_absolute_deviation():
    X = gaussian(101, 4)
    center = np.median(X, axis=0)
    scale = 1.482602218505602 * np.median(np.abs(X - center), axis=0)
    scaler = MADScaler().fit(X)
    np.testing.assert_allclose(scaler.transform(X), (X - center) / scale, rtol=1e-12)
    np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(X)), X, rtol=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.49])
def test_wild_values_in_up_to_half_of_a_column_do_not_carry_the_scale_away(share):
    X = np.random.default_rng(0).normal(size=(1000, 1))
    X[: int(share * 1000)] = 1e9
    assert 0.5 < MADScaler().fit(X).scale_[0] < 40


def test_tied_columns():
    column = np.zeros(100)
    column[:9] = 4.0
    constant = np.full(100, 7.0)
    wild = column.copy()
    wild[0] = 1e12
    scaler = MADScaler().fit(np.column_stack([column, constant, wild]))
    np.testing.assert_allclose(scaler.scale_, [np.sqrt(0.09) * 4.0, 1.0, np.sqrt(0.09) * 4.0])
    assert abs(scaler.scale_[0] - column.std()) < 0.1 * column.std()


def test_missing_values_stay_missing():
    X = gaussian(50, 3)
    holes = X.copy()
    holes[::7, 1] = np.nan
    scaler = MADScaler().fit(holes)
    assert scaler.center_[1] == np.nanmedian(holes[:, 1])
    assert (np.isnan(scaler.transform(holes)) == np.isnan(holes)).all()


def test_which_tables_are_in_different_units():
    for load in (load_wine, load_breast_cancer):
        assert unequal_spreads(load().data).quotient > 1000
    for load in (load_iris, load_digits):  # one unit; many pixels of the digits hardly change
        assert unequal_spreads(load().data) is None
    meters = np.random.default_rng(0).normal(size=(100, 2)) * [0.1, 15.0]
    found = unequal_spreads(meters)
    assert (found.widest, found.narrowest) == (1, 0)
    assert unequal_spreads(meters * [10.1, 1.0 / 14.9]) is None
    assert unequal_spreads(np.ones((10, 3))) is None
    spreads = np.abs(meters - np.median(meters, axis=0))
    unit = meters / np.median(spreads, axis=0)
    assert [unequal_spreads(unit * [1.0, c]) is None for c in (9.9, 10.1)] == [True, False]
