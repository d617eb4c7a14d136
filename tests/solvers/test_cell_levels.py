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
    assert (step, low) == (0.0, 0.0)
    assert 9.5 < high < 30.0
    assert found(-x) == (0.0, -high, 0.0)
    both = found(np.append(x, -3.0 * x))
    assert both == pytest.approx((0.0, -3.0 * high, high))


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_slips_do_not_move_the_reach_of_amounts(share):
    x = np.where(np.arange(1000) % 5 == 0, np.exp(rng.normal(size=1000)), 0.0)
    high = found(x)[2]
    assert high == pytest.approx(np.exp(2.33), rel=0.3)
    others = np.flatnonzero(x)
    x[others[: int(share * len(others))]] = 1e4 + np.arange(int(share * len(others)))
    assert found(x)[2] == pytest.approx(high, rel=0.3)


def test_other_values_are_common_where_they_differ():
    """One other value may be a code, far from the levels beside it; several are what the column is like."""
    assert found(repeated(v0=800, v1=100, v99=100))[2] > 50
    assert found(repeated(v0=800, v1=70, v99=130)) == (1.0, 0.0, 1.0)
    assert found(repeated(v0=900, v99=100)) == (99.0, 0.0, 99.0)


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


def repeated(**counts):
    """A column with each value as often as is said, v3=10: ten times three."""
    return np.concatenate([np.full(n, float(name[1:].replace("_", "."))) for name, n in counts.items()])


NONE = (0.0, np.inf, -np.inf)


def test_a_value_that_one_row_in_a_hundred_has_is_a_level():
    assert found(repeated(v0=595, v1=395, v2=10)) == (1.0, 0.0, 2.0)
    assert found(repeated(v0=596, v1=395, v2=9)) == (1.0, 0.0, 1.0)
    assert found(repeated(v0=30, v1=18, v2=2)) == (1.0, 0.0, 2.0)  # of few rows two are needed
    assert found(repeated(v0=30, v1=19, v2=1)) == (1.0, 0.0, 1.0)


def test_grades_are_twelve_levels_at_most():
    assert found(np.repeat(np.arange(12.0), 20)) == (1.0, 0.0, 11.0)
    assert found(np.repeat(np.arange(13.0), 20)) == (1.0, np.inf, -np.inf)


def test_three_quarters_of_a_column_of_grades_are_at_its_levels():
    other = 0.5 + np.arange(26) / 1000.0
    assert found(np.append(repeated(v0=38, v1=38), other[:24])) == (1.0, 0.0, 1.0)
    assert found(np.append(repeated(v0=37, v1=37), other)) == (pytest.approx(0.001), np.inf, -np.inf)


def test_a_column_has_steps_where_half_of_its_cells_are_repeated():
    unique = 10.0 + np.sqrt(np.arange(100.0))
    assert found(np.append(np.repeat(np.arange(7.0), 7), unique[:51])) == NONE
    assert found(np.append(np.repeat(np.arange(25.0), 2), unique[:50]))[0] > 0
    assert found(np.append(repeated(v3=51), unique[:49])) != NONE


def test_the_step_is_that_beside_the_most_frequent_level():
    assert found(repeated(v0=10, v1=30, v3=20)) == (1.0, 0.0, 3.0)
    assert found(repeated(v0=10, v2=30, v3=20)) == (1.0, 0.0, 3.0)
    assert found(repeated(v0=30, v1=20, v1_5=10)) == (1.0, 0.0, 1.5)
    assert found(repeated(v0=10, v1=20, v3=30)) == (2.0, 0.0, 3.0)


def test_a_code_may_be_the_most_frequent_value():
    grades = np.repeat(np.arange(1.0, 6.0), 9)
    assert found(np.append(grades, np.full(10, -999.0))) == (1.0, 1.0, 5.0)
    assert found(np.append(grades, np.full(10, 999.0))) == (1.0, 1.0, 5.0)
    assert found(np.append(grades, np.full(16, 999.0)))[1:] == NONE[1:]  # a quarter of the column


def test_the_levels_are_those_that_most_cells_have():
    assert found(repeated(v0=22, v1=2, v100=21, v101=21, v102=21, v103=21)) == (1.0, 100.0, 103.0)


def test_levels_more_than_three_steps_away_are_codes():
    assert found(repeated(v0=20, v1=30, v4=10)) == (1.0, 0.0, 4.0)
    assert found(repeated(v0=20, v1=35, v4_1=5)) == (1.0, 0.0, 1.0)
    assert found(-repeated(v0=20, v1=30, v4=10)) == (1.0, -4.0, 0.0)
    assert found(-repeated(v0=20, v1=35, v4_1=5)) == (1.0, -1.0, 0.0)
    assert found(repeated(v0=5, v10=20, v11=35, v21=5)) == (1.0, 10.0, 11.0)


def test_amounts_beside_a_frequent_value_are_known_from_one_in_twenty_on():
    amounts = np.sqrt(2.0 + np.arange(51.0))
    assert found(np.append(np.zeros(950), amounts[:50])) == NONE
    reach = found(np.append(np.zeros(949), amounts))[2]
    assert amounts.max() < reach < 2 * amounts.max()
    assert found(np.append(np.zeros(20), amounts[::10])[:25]) == NONE  # of few rows more than five are needed
    assert found(np.append(np.zeros(20), amounts[::9])) != NONE


@pytest.mark.parametrize(
    "x",
    [YES, np.round(10 * rng.normal(size=500)), np.append(np.zeros(949), np.sqrt(2.0 + np.arange(51.0)))],
    ids=["yes", "rounded", "mostly zero"],
)
def test_levels_follow_a_shift_and_a_change_of_units(x):
    step, low, high = found(x)
    assert found(4.0 * x + 100.0) == pytest.approx((4 * step, 4 * low + 100, 4 * high + 100))


def test_reach_is_the_longer_way_from_the_location():
    levels = find_levels(3.0 + np.arange(500)[:, None] % 3, np.ones((500, 1), dtype=bool))
    assert levels.reach(np.array([3.8])) == pytest.approx([1.2])
    assert levels.reach(np.array([4.9])) == pytest.approx([1.9])
    amounts = np.append(np.zeros(949), np.sqrt(2.0 + np.arange(51.0)))[:, None]
    levels = find_levels(amounts, np.ones((1000, 1), dtype=bool))
    assert levels.reach(np.array([1.0])) == pytest.approx(levels.high - 1.0)
    np.testing.assert_array_equal(levels.common, [True])
    nothing = find_levels(rng.normal(size=(500, 1)), np.ones((500, 1), dtype=bool))
    assert nothing.reach(np.array([3.0])) == [0.0]
    np.testing.assert_array_equal(nothing.common, [False])


@pytest.mark.parametrize("location", [0.0, 0.2, 0.9])
def test_of_two_values_one_may_be_where_the_other_is_expected(location):
    levels = find_levels(YES[:, None], np.ones((500, 1), dtype=bool))
    assert levels.reach(np.array([location])) == pytest.approx([1.0])


def test_the_size_of_a_column():
    X = np.array([[1.0, 0.0, 0.0], [-3.0, 0.0, 0.0], [7.0, 5.0, 0.0]])
    mask = np.ones((3, 3), dtype=bool)
    levels = find_levels(X, mask)
    np.testing.assert_array_equal(levels.middle, [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(levels.size, [4.0, 5.0, 1.0])
    mask[2, 0] = False
    levels = find_levels(X, mask)
    assert (levels.middle[0], levels.size[0]) == (-1.0, 2.0)


def test_the_blur_does_not_depend_on_units_and_wild_cells_do_not_spoil_it():
    X = np.column_stack([1000.0 + rng.normal(size=1000), rng.integers(0, 2, size=1000)])
    mask = np.ones_like(X, dtype=bool)
    levels = find_levels(X, mask)
    blur = levels.blur(X, mask)
    other = X * [1e6, 1.0]
    np.testing.assert_allclose(find_levels(other, mask).blur(other, mask), blur, atol=1e-6)
    np.testing.assert_allclose(np.quantile(blur, [0.1, 0.5, 0.9]), [-0.4, 0.0, 0.4], atol=0.05)
    X[:3, 0] = 1005.0, 1e4, 1e300  # beyond nine usual distances all are alike
    X[:3, 1] = 1.0
    near, *wild = levels.blur(X, mask)[:3, 0]
    assert near != pytest.approx(wild[0], abs=1e-3)
    assert wild[0] == pytest.approx(wild[1], abs=1e-9)
    X[:2, 0] = -1e4, -1e5
    assert np.ptp(levels.blur(X, mask)[:2]) < 1e-9


def test_the_blur_knows_neither_the_order_of_columns_nor_what_they_are_counted_from():
    X = np.column_stack([rng.integers(1, 6, size=(500, 6)), rng.normal(size=(500, 2))])
    X[rng.random(X.shape) < 0.1] = np.nan
    mask, order = ~np.isnan(X), rng.permutation(8)
    X = np.where(mask, X, 0.0)
    blur = find_levels(X, mask).blur(X, mask)
    Y = np.where(mask, 40.0 + 1.8 * X, 0.0)[:, order]
    other = find_levels(Y, mask[:, order]).blur(Y, mask[:, order])
    np.testing.assert_allclose(other, 1.8 * blur[:, order[order < 6]], atol=1e-6)


def test_the_blur_of_a_column_turned_round_is_its_mirror_image():
    X = np.column_stack([rng.integers(1, 6, size=(500, 6)), rng.normal(size=(500, 2))])
    mask, sign = np.ones_like(X, dtype=bool), np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0])
    blur = find_levels(X, mask).blur(X, mask)
    np.testing.assert_allclose(find_levels(sign * X, mask).blur(sign * X, mask), sign[:6] * blur, atol=1e-9)


def test_a_column_of_as_many_yes_as_no_has_a_side_as_well():
    """Its own values are the same on both sides, and those of its rows are not."""
    X = np.column_stack([rng.permutation(np.arange(500) % 2), rng.exponential(size=500)])
    mask = np.ones_like(X, dtype=bool)
    levels = find_levels(X, mask)
    Y = [-1.0, 1.0] * X
    np.testing.assert_allclose(find_levels(Y, mask).blur(Y, mask), -levels.blur(X, mask), atol=1e-9)
    shifted = X / 3 + 0.1  # and rounding does not decide
    np.testing.assert_array_equal(find_levels(shifted, mask).side, levels.side)
    even = np.repeat([[0.0], [1.0]], 250, axis=0)
    for same in (even, -even, even / 3 + 0.1):
        np.testing.assert_array_equal(find_levels(same, mask[:, :1]).side, [1.0])


def test_rows_of_the_same_few_values_are_blurred_evenly():
    """Yes and no alone, as often each: rows with as many of either differ."""
    X = rng.permuted(np.tile([[0.0], [1.0]], (500, 8)), axis=0)
    mask = np.ones_like(X, dtype=bool)
    blur = find_levels(X, mask).blur(X, mask)
    np.testing.assert_allclose(
        np.quantile(blur, np.linspace(0.1, 0.9, 9)), np.linspace(-0.4, 0.4, 9), atol=0.05
    )
    assert len(np.unique(blur[:, 0].round(9))) == len(np.unique(X, axis=0))


def test_a_code_beside_zeros_is_no_second_level():
    """Pixels that are mostly empty: other values say how far apart values are."""
    x = np.zeros(600)
    x[:18], x[100:112] = -999.0, np.repeat(np.arange(1.0, 7.0), 2)
    codes, two = (
        find_levels(column[:, None], np.ones((600, 1), dtype=bool)) for column in (x, np.minimum(x, 0))
    )
    assert not codes.common[0] or codes.low[0] > -999.0
    assert (two.low[0], two.high[0]) == (-999.0, 0.0)  # of which nobody can tell
    x[200:220] = -999.0  # too many for slips
    assert find_levels(x[:, None], np.ones((600, 1), dtype=bool)).low[0] == -999.0


@pytest.mark.parametrize(("factor", "shift"), [(1.7, 3.0), (0.1, 0.0), (2.54, -17.0)])
def test_whole_numbers_three_steps_apart_are_neighbors_in_any_unit(factor, shift):
    x = np.repeat([0.0, 1, 2, 3, 6, 7, 11, 30], [60, 50, 40, 30, 12, 9, 8, 1])
    seen = np.ones((len(x), 1), dtype=bool)
    for values in (x, x * factor + shift):
        found = find_levels(values[:, None], seen)
        unit, origin = (1.0, 0.0) if values is x else (factor, shift)
        assert (found.high[0] - origin) / unit == pytest.approx(7.0)
        assert found.step[0] / unit == pytest.approx(1.0)
