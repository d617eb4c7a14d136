"""Outlyingness over many directions: what does not depend on order, place and units."""

import numpy as np
import pytest
from scipy.special import ndtri

from support import gaussian
from tl1pca.rows import DenseRows
from tl1pca.solvers import outlyingness as module
from tl1pca.statistics import majority_share

X = gaussian(80, 4, seed=5)


def test_the_order_is_that_of_the_data():
    order = module.canonical_order(DenseRows(X))
    shuffle = np.random.default_rng(0).permutation(80)
    again = module.canonical_order(DenseRows(X[shuffle]))
    np.testing.assert_array_equal(X[order], X[shuffle][again])
    assert sorted(order.tolist()) == list(range(80))


def test_directions_are_unit_and_join_rows():
    W = module.pair_directions(X, 30)
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0)
    differences = X[:, None] - X[None]
    length = np.linalg.norm(differences, axis=2)
    between = differences[length > 0] / length[length > 0][:, None]
    assert np.abs(W @ between.T).max(axis=1).min() > 1 - 1e-12


def test_the_least_outlying_rows_leave_out_a_far_cluster():
    Z = X.copy()
    Z[:24] = [40.0, -30.0, 20.0, 0.0] + 0.01 * X[:24]
    good, _ = module.least_outlying(Z, 45, 250, 1e-9)
    chosen = np.flatnonzero(good) if good.dtype == bool else good
    assert len(chosen) >= 45
    assert chosen.min() >= 24


def test_a_gap_separates():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(2, 400))  # a row for each direction
    assert not module.separated_rows(T, 220).any()
    T[0, :80] += 60.0
    found = module.separated_rows(T, 220)
    assert found[:80].all()
    assert found[80:].mean() < 0.05  # the ends of the tail at most
    assert (~module.separated_rows(T, 350)).sum() >= 350  # so many must be left


def test_counts_below():
    S = np.sort(np.random.default_rng(0).integers(0, 9, size=(3, 40)).astype(float), axis=1)
    x = np.array([3.0, 0.0, 8.0])
    np.testing.assert_array_equal(module._count_below(S, x), [(s < v).sum() for s, v in zip(S, x)])


def test_a_grown_half_has_the_mean_and_deviation_of_what_it_holds():
    rng = np.random.default_rng(1)
    T = rng.normal(3.0, 2.0, size=(4, 2000))
    location, scale = module.grown_halves(T, 1100, 1e-9)
    np.testing.assert_allclose(location, 3.0, atol=0.2)
    np.testing.assert_allclose(scale, 2.0, rtol=0.12)
    flat = np.concatenate([np.ones((1, 30)), rng.normal(size=(1, 10))], axis=1)
    location, scale = module.grown_halves(flat, 25, 1e-9)
    assert location[0] == 1.0
    assert scale[0] == 0.0
    order = module.outlyingness_order(flat, 25, 1e-9)
    assert set(order[:30].tolist()) == set(range(30))


def test_repeated_rows_are_no_pairs_and_rounding_is_no_gap():
    """Rows that are the same but for rounding, as in coordinates of their span, point nowhere."""
    rng = np.random.default_rng(0)
    Z = np.vstack([np.tile(X[0], (30, 1)), X[:20]]) + 1e-15 * rng.normal(size=(50, 4))
    assert len(module.pair_directions(Z, 10_000, 1e-9)) == 50 * 49 // 2 - 31 * 30 // 2
    T = np.array([[0.0] * 25 + [1e-17] * 5 + [1e-13] * 20])
    assert module.separated_rows(T, 26).any()
    assert not module.separated_rows(T, 26, 1e-9).any()


def test_the_order_has_no_units_place_or_direction():
    skewed = np.random.default_rng(1).exponential(size=(60, 3)) @ np.diag([3.0, 1.0, 0.2])
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    order = module.canonical_order(DenseRows(skewed))
    for factor in (1e-3, 1e3, 1e100):
        again = module.canonical_order(DenseRows(factor * (skewed @ turn + 5.0)))
        np.testing.assert_array_equal(order, again)
    np.testing.assert_array_equal(module.canonical_order(DenseRows(np.ones((4, 2)))), np.arange(4))


def test_rows_of_one_length_are_told_apart_by_the_skewness():
    """Mirror images about the mean, which lies nearer to the crowd: those on its side come first."""
    rows = np.array([[4.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-1.0, 3.0], [-1.0, -3.0], [-2.0, 0.0]])
    for shuffle in ([0, 1, 2, 3, 4, 5], [5, 2, 1, 0, 4, 3]):
        some = rows[shuffle]
        order = some[module.canonical_order(DenseRows(some))].tolist()
        assert order.index([-1.0, 0.0]) < order.index([1.0, 0.0])
        assert order[-1] == [4.0, 0.0]


def test_pairs_are_all_of_them_or_touch_every_row_as_often():
    every = module.pair_directions(np.eye(10), 15)  # 45 pairs are three times as many
    assert len(np.unique(every, axis=0)) == len(every) == 45
    assert len(module.pair_directions(np.eye(10), 14)) == 14
    some = module.pair_directions(np.eye(80), 80)
    assert some.shape == (80, 80)
    assert (np.count_nonzero(some, axis=1) == 2).all()
    assert (np.count_nonzero(some, axis=0) == 2).all()
    assert len(module.pair_directions(np.eye(81), 200)) == 200
    assert len(module.pair_directions(np.vstack([np.eye(3), np.eye(3)]), 99)) == 12  # equal rows have none


def test_how_many_directions_and_axes_are_looked_at(monkeypatch):
    """As many pairs as are asked for, up to four times as many of few rows; an axis for every five rows."""
    asked = {}
    for name in ("pair_directions", "moment_directions"):
        inner = getattr(module, name)

        def spy(A, m, *tol, name=name, inner=inner):
            asked.setdefault(name, m)
            return inner(A, m, *tol)

        monkeypatch.setattr(module, name, spy)
    for n, d, pairs, axes in (
        (2000, 3, 20, 3),
        (500, 30, 40, 30),
        (600, 130, 33, 100),
        (50, 30, 80, 10),
        (4, 3, 80, 1),
    ):
        asked.clear()
        order, _ = module.least_outlying(gaussian(n, d, seed=1), n // 2 + 1, 20, 1e-9)
        assert asked == {"pair_directions": pairs, "moment_directions": axes}
        assert len(order) >= n // 2 + 1


def test_moments_are_looked_at_again_while_gaps_are_found(monkeypatch):
    looked = []
    inner = module.moment_directions
    monkeypatch.setattr(module, "moment_directions", lambda A, m: looked.append(len(A)) or inner(A, m))
    A = np.random.default_rng(3).normal(size=(400, 3))
    module.least_outlying(A, 201, 20, 1e-9)
    assert looked == [400]
    A[:60] += [80.0, 0.0, 0.0]
    A[60:100] += [0.0, 400.0, 0.0]
    looked.clear()
    order, _ = module.least_outlying(A, 201, 20, 1e-9)
    assert sorted(order) == list(range(100, 400))
    assert looked[-1] == 300  # the last look finds no more
    assert len(looked) <= 4


def by_the_moments(A, p):
    """Axes of mean |z|^2 z z' and the vector mean |z|^2 z, in p whitened axes, as directions of the rows."""
    A = A - A.mean(axis=0)
    values, axes = np.linalg.eigh(A.T @ A / len(A))
    white = axes[:, ::-1][:, :p] / np.sqrt(values[::-1][:p])
    Z = A @ white
    squares = (Z**2).sum(axis=1)
    found = white @ np.column_stack([np.linalg.eigh((Z.T * squares) @ Z)[1], Z.T @ squares])
    return axes[:, ::-1].T, (found / np.linalg.norm(found, axis=0)).T


@pytest.mark.parametrize("shape", [(200, 6), (40, 60)])
def test_directions_of_extreme_moments(shape):
    A = 4.0 + np.random.default_rng(4).exponential(size=shape) * np.linspace(3, 1, shape[1])
    found = module.moment_directions(A, 6)
    axes, six = by_the_moments(A, 6)
    two = by_the_moments(A, 2)[1]  # the fifth part of six, rounded up
    expected = np.vstack([axes[:6], two, six])
    assert found.shape == expected.shape
    np.testing.assert_allclose(np.abs(np.sum(found * expected, axis=1)), 1.0, atol=1e-6)


def test_of_many_axes_the_extreme_ones_are_taken():
    A = np.random.default_rng(5).normal(size=(300, 40)) * np.linspace(3, 1, 40)
    found = module.moment_directions(A, 30)
    assert len(found) == 20 + (6 + 1) + (20 + 1)
    six, thirty = by_the_moments(A, 6)[1], by_the_moments(A, 30)[1]
    extreme = np.vstack([thirty[:10], thirty[20:31]])
    np.testing.assert_allclose(np.abs(np.sum(found[20:] * np.vstack([six, extreme]), axis=1)), 1.0, atol=1e-6)


def test_axes_without_variance_have_no_moments():
    A = np.random.default_rng(6).normal(size=(50, 2)) @ np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    found = module.moment_directions(A, 3)
    assert len(found) == 3 + (1 + 1) + (2 + 1)
    np.testing.assert_allclose(found[3:, 2], 0.0, atol=1e-9)
    assert np.isfinite(module.moment_directions(np.ones((5, 3)), 1)).all()


def body(n, share=1.0):
    """n values in [-1, 1], most dense about zero."""
    t = np.linspace(-1, 1, n)
    return t * np.abs(t)


def separated(n, far, beyond, between=(), side=1.0, count=None):
    """How many of n values are beyond a gap, if so many lie `far` out and some others in between."""
    t = np.concatenate([body(n - beyond - len(between)), between, np.full(beyond, far)])
    found = module.separated_rows(side * t[None], count or n // 2 + 1)
    assert not found[: n - beyond].any()
    return found.sum()


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_what_is_a_gap(side):
    """Seen from the middle more than 1.6 times as far as the last row before, with 5 % of the rows beyond."""
    assert separated(400, 1.62, 40, side=side) == 40
    assert separated(400, 1.58, 40, side=side) == 0
    assert separated(2000, 1.62, 100, side=side) == 100
    assert separated(400, 9.0, 17, side=side) == 0
    # One of 400 rows may lie in it, two may not.
    assert separated(400, 3.0, 40, (1.7,), side=side) == 40
    assert separated(400, 2.0, 40, (1.3, 1.5), side=side) == 0
    # Gaps before few rows are wider by chance: it is those beyond that count, not all.
    assert separated(100, 4.9, 5, side=side) == 0
    assert separated(100, 5.1, 5, side=side) == 5
    assert separated(100, 2.9, 10, side=side) == 0
    assert separated(100, 3.1, 10, side=side) == 10
    assert separated(60, 3.0, 24, side=side) == 24
    # So many rows are to be left.
    assert separated(400, 5.0, 100, side=side, count=300) == 100
    assert separated(400, 5.0, 100, side=side, count=301) == 0


def test_gaps_of_mostly_other_rows_do_not_count_beside_the_strongest():
    t = np.concatenate([body(300), np.zeros(100)])
    T = np.array([t, t, t])
    T[0, 300:350] = 30.0
    T[1, 345:385] = 3.0  # few of them are beyond the first gap
    T[2, 320:360] = 3.0  # three quarters
    found = module.separated_rows(T, 201)
    assert np.flatnonzero(found).tolist() == list(range(300, 360))


def test_a_gap_before_many_rows_counts_more_than_a_longer_one_before_few():
    t = body(60)
    T = np.array([t, t])
    T[0, :24] = 4.0
    T[1, -5:] = 5.5  # hardly farther than chance has it
    found = module.separated_rows(T, 31)
    assert np.flatnonzero(found).tolist() == list(range(24))


def test_too_few_rows_have_no_gaps():
    assert not module.separated_rows(np.array([[0.0, 9.0]]), 2).any()
    assert not module.separated_rows(np.array([[4.0]]), 1).any()


def test_the_largest_deviation_on_either_side_decides():
    T = np.tile(np.linspace(-1, 1, 101), (2, 1))
    T[1] = np.roll(T[1], 37)
    T[0, 10], T[0, 20], T[1, 30] = 9.0, -11.0, 13.0
    assert module.outlyingness_order(T, 60, 1e-9)[-3:].tolist() == [10, 20, 30]
    # In other units of a direction it is the same.
    assert module.outlyingness_order(T * [[1e-3], [1e3]], 60, 1e-9)[-3:].tolist() == [10, 20, 30]


def test_deviations_where_most_rows_agree_are_infinite_and_counted():
    T = np.zeros((3, 40))
    T[2] = np.linspace(-1, 1, 40)
    T[2, 0] = 100.0
    T[0, 1], T[:2, 2] = 1e-6, 1e-6
    assert module.outlyingness_order(T, 21, 1e-9)[-3:].tolist() == [0, 1, 2]
    assert module.outlyingness_order(T, 21, 1e-3)[-1] == 0  # within the tolerance all agree


def test_some_rows_tell_location_and_scale():
    """At most 500, evenly taken: what the others are like has no say."""
    rng = np.random.default_rng(7)
    told = np.zeros(1000, dtype=bool)
    told[np.linspace(0, 999, 500).astype(int)] = True
    T = rng.normal(size=(2, 1000))
    T[0, ~told] += rng.choice([-50.0, 50.0], size=500)
    T[1, 4] = 12.0
    order = module.outlyingness_order(T, 550, 1e-9)
    assert set(order[-500:]) == set(np.flatnonzero(~told))


def grown(t, count, tail, tol=1e-9):
    """Location and scale of one sample by the words of `grown_halves`."""
    t = np.sort(t)
    length = t[count - 1 :] - t[: len(t) - count + 1]
    half = length.min() / 2
    center = t[np.argmin(length)] + half
    r = half * (1 + 1e-12)
    while (np.abs(t - center) < 1.5 * r).sum() - (np.abs(t - center) < r).sum() >= max(tail * len(t), 1):
        r *= 1.5
    inside = t[np.abs(t - center) <= r]
    return inside.mean(), max(inside.std(), half / 3)


@pytest.mark.parametrize("n", [15, 60, 400])
def test_a_half_grows_while_a_stretch_takes_in_enough(n):
    rng = np.random.default_rng(n)
    T = rng.normal(size=(30, n)) * np.where(rng.uniform(size=(30, n)) < 0.2, 3.0, 1.0) + 5.0
    count = n // 2 + 1
    found = np.array(module.grown_halves(T, count, 1e-9)).T
    plain, fringe = (np.array([grown(t, count, tail) for t in T]) for tail in (0.05, 0.01))
    is_plain, is_fringe = (np.isclose(found, way).all(axis=1) for way in (plain, fringe))
    assert (is_plain | is_fringe).all()
    assert is_plain.mean() > 0.8


def test_about_a_tight_core_the_fringe_is_enough():
    """130 values at zero are more than 0.6 of the half, which reaches beyond them as in no normal sample."""
    core, other = np.linspace(-1e-3, 1e-3, 130), np.linspace(-10, 10, 270)
    t = np.append(core, other)
    found = np.array(module.grown_halves(t[None], 201, 1e-9))[:, 0]
    np.testing.assert_allclose(found, grown(t, 201, 0.01), atol=1e-12)


@pytest.mark.parametrize(("wide", "tail"), [(0.9, 0.05), (1.1, 0.01)])
def test_what_a_tight_core_is(wide, tail):
    """Half and core 1.5 times as far apart as those of a normal sample; six values are 1.5 % of all."""
    p = majority_share(201 / 400)
    h = wide * module.CORE * ndtri(0.5 + 0.5 * p) / ndtri(0.5 + 0.5 * 0.6 * p)
    inner, edge = np.linspace(-1, 1, 120), np.linspace(0.99 * h, h, 41)
    others = np.append(np.full(6, 1.2 * h), np.geomspace(100, 1e9, 193))
    t = np.concatenate([inner, -edge[1:], edge, others])
    found = np.array(module.grown_halves(t[None], 201, 1e-9))[:, 0]
    np.testing.assert_allclose(found, grown(t, 201, tail))
    assert (found[0] > 0.03) == (tail == 0.01)  # six values on one side


def test_a_scale_is_no_less_than_a_third_of_the_half():
    t = np.concatenate([np.zeros(90), [-3.0, 3.0], np.linspace(500, 900, 50)])
    location, scale = module.grown_halves(t[None], 92, 1e-9)
    assert location[0] == 0.0
    assert scale[0] == 1.0


def test_counts_of_rows_of_any_length():
    for n in (1, 2, 7, 8, 9):
        S = np.arange(float(n))[None]
        for x in (-1.0, 0.0, 0.5, n - 1.0, n + 1.0):
            assert module._count_below(S, np.array([x])).tolist() == [np.count_nonzero(x > S)]


@pytest.mark.parametrize("shape", [(50, 6), (6, 50)])
def test_principal_variances_are_those_of_the_rows(shape):
    A = gaussian(*shape, seed=8, decay=0.7)
    values, axes = module._principal(A, 3)
    expected = np.linalg.svd(A)[1][:3] ** 2 / shape[0]
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    along = np.linalg.norm(A @ axes, axis=0) ** 2 / shape[0]
    np.testing.assert_allclose(along, expected, rtol=1e-9)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-9)
