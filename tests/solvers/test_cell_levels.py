"""Columns of few or rounded values."""

import numpy as np
import pytest

from tl1pca.solvers.cell_levels import find_levels


def found(x):
    x = np.asarray(x, dtype=float)[:, None]
    levels = find_levels(x, np.ones_like(x, dtype=bool))
    return levels.step[0], levels.low[0], levels.high[0]


rng = np.random.default_rng(0)
YES = (rng.uniform(size=500) < 0.2).astype(float)


def coded(x, code, every=25):
    return np.where(np.arange(len(x)) % every == 0, code, x)


@pytest.mark.parametrize(
    ("x", "want"),
    [
        (YES, (1.0, 0.0, 1.0)),
        (1.0 + YES, (1.0, 1.0, 2.0)),
        (1000.0 * YES, (1000.0, 0.0, 1000.0)),
        (coded(YES, -999.0), (1.0, 0.0, 1.0)),
        (coded(YES, 0.3, every=250), (1.0, 0.0, 1.0)),
        (coded(rng.integers(1, 6, size=500), 99), (1.0, 1.0, 5.0)),
        (rng.normal(size=500), (0.0, np.inf, -np.inf)),
        (np.ones(500), (0.0, np.inf, -np.inf)),
        (coded(np.zeros(500), rng.normal(size=500), every=50), (0.0, np.inf, -np.inf)),
    ],
    ids=["yes", "1/2", "units", "sentinel", "typo", "grades", "continuous", "constant", "few others"],
)
def test_levels(x, want):
    assert found(x) == want


def test_rounded_values_have_a_step_and_no_levels():
    step, low, high = found(np.round(10 * rng.normal(size=500)))
    assert step == 1.0
    assert low > high


def test_mostly_zero():
    x = np.where(rng.uniform(size=1000) < 0.7, 0.0, rng.uniform(1.0, 10.0, size=1000))
    step, low, high = found(x)
    assert (step, low) == (0.0, -high)
    assert high == pytest.approx(9.1, abs=0.2)


def test_the_blur_is_even_within_a_step_and_belongs_to_the_row():
    X = np.column_stack([rng.normal(size=2000), rng.integers(0, 2, size=2000) * 3.0])
    X[5, 1] = np.nan
    mask = ~np.isnan(X)
    X = np.where(mask, X, 0.0)
    levels = find_levels(X, mask)
    blur = levels.blur(X, mask)
    assert blur.shape == (2000, 1)
    assert blur[5] == 0
    assert np.abs(blur).max() <= 1.5
    np.testing.assert_allclose(np.quantile(blur, [0.1, 0.5, 0.9]), [-1.2, 0.0, 1.2], atol=0.15)
    assert abs(np.corrcoef(blur[:, 0], X[:, 0])[0, 1]) < 0.1
    order = rng.permutation(2000)
    np.testing.assert_array_equal(levels.blur(X[order], mask[order]), blur[order])
    assert find_levels(X[:, :1], mask[:, :1]).blur(X[:, :1], mask[:, :1]).shape == (2000, 0)
