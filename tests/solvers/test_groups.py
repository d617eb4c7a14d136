"""Groups that are alike: what is one, and what is a cluster of bad rows."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

from tl1pca import TL1SubspacePCA
from tl1pca.diagnostics import principal_angles
from tl1pca.solvers import groups as module
from tl1pca.solvers.outlyingness import _gap_directions

TRIANGLE = np.array([[6.0, 0.0], [-3.0, 5.2], [-3.0, -5.2]])


def directions(X):
    return _gap_directions(X, 0.0)


def drawn(centers, sizes, width=0.5, d=8, seed=0):
    """Rows about centers, which are in the first columns; and the rows of each group."""
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(len(centers)), sizes)
    X = np.asarray(width * rng.normal(size=(len(label), d)))
    X[:, : np.shape(centers)[1]] += np.asarray(centers, dtype=float)[label]
    return X, [np.flatnonzero(label == g) for g in range(len(centers))]


def alike(X, kept, aside):
    count = len(X) // 2 + 1
    found = module.groups_alike(X, np.concatenate(kept), list(aside), count, directions, 1e-9)
    return sorted(tuple(group.tolist()) for group in found)


def as_tuples(groups):
    return sorted(tuple(group.tolist()) for group in groups)


def test_of_three_groups_none_is_bad():
    X, groups = drawn(TRIANGLE, [60, 60, 60])
    assert alike(X, groups[:2], groups[2:]) == as_tuples(groups)


@pytest.mark.parametrize(
    ("centers", "sizes", "is_one"),
    [
        ([[6, 0], [-6, 0], [0, 20]], [60, 60, 60], True),  # 20.9 off where the others are 12 apart
        ([[6, 0], [-6, 0], [0, 25]], [60, 60, 60], False),  # 25.7
        ([[6, 0], [-6, 0], [0, 20]], [70, 70, 40], True),
        ([[6, 0], [-6, 0], [0, 20]], [80, 80, 30], False),
        ([[6, 0], [-6, 0], [0, 20]], [80, 50, 30], True),  # half as large as the smaller of the others
        ([[6, 0], [-6, 0], [0, 20]], [120, 50, 50], False),  # most rows are one group
    ],
)
def test_how_far_and_how_small_a_group_may_be(centers, sizes, is_one):
    X, groups = drawn(centers, sizes)
    assert alike(X, groups[:2], groups[2:]) == (as_tuples(groups) if is_one else [])


@pytest.mark.parametrize(("times", "is_one"), [(0.4, False), (0.6, True), (1.7, True), (2.4, False)])
def test_how_wide_a_group_may_be(times, is_one):
    X, groups = drawn(TRIANGLE, [60, 60, 60])
    center = X[groups[2]].mean(axis=0)
    X[groups[2]] = center + times * (X[groups[2]] - center)
    assert alike(X, groups[:2], groups[2:]) == (as_tuples(groups) if is_one else [])


def test_groups_in_one_plane_say_nothing_of_a_cluster_off_it():
    """Rows vary in the plane about their own group; the cluster is as far off it as the groups are apart."""
    rng = np.random.default_rng(1)
    X, groups = drawn(np.c_[TRIANGLE, np.zeros(3)], [60, 60, 60])
    cluster = np.arange(180, 230)
    X = np.vstack([X, 0.5 * rng.normal(size=(50, 8)) + 9.0 * np.eye(8)[2]])
    assert alike(X, groups, [cluster]) == as_tuples([*groups, cluster])  # of groups as tight it is another
    X[:, :2] += 0.8 * rng.normal(size=(230, 2)) * (np.arange(230) < 180)[:, None]
    assert alike(X, groups, [cluster]) == []
    assert alike(X, [groups[0], cluster, groups[1]], [groups[2]]) == as_tuples(groups)


@pytest.mark.parametrize(("spread", "is_one"), [(1.5, True), (0.9, True), (0.3, False), (4.0, False)])
@pytest.mark.parametrize("first", [True, False])
def test_rows_of_a_group_vary_where_those_of_others_do(spread, is_one, first):
    """Among many columns of noise the groups are of nearly the same width, whether they do or not."""
    X, groups = drawn([*np.c_[TRIANGLE, np.zeros(3)], [0, 0, 5]], [60, 60, 60, 50], d=40)
    scale = np.where(np.arange(230) < 180, 1.5, spread)[:, None]
    X[:, 3:5] += scale * np.random.default_rng(1).normal(size=(230, 2))
    kept = [*groups[:2], groups[3]] if first else groups[:3]
    found = alike(X, kept, groups[2:3] if first else groups[3:])
    assert found == (as_tuples(groups) if is_one else as_tuples(groups[:3]) if first else [])


@pytest.mark.parametrize(("off", "is_one"), [(0.1, True), (1.0, True), (1.5, False)])
def test_groups_in_one_plane_are_near_each_other_but_for_noise(off, is_one):
    """Off the plane two groups hardly differ by chance, and the third may differ by as much as the noise."""
    X, groups = drawn(TRIANGLE, [600] * 3)
    X[:, :2] += 0.8 * np.random.default_rng(1).normal(size=(1800, 2))
    for group, height in zip(groups, (0.0, 0.01, off)):
        X[group, 2:] -= X[group, 2:].mean(axis=0) - height * np.eye(6)[0]
    assert alike(X, groups[:2], groups[2:]) == (as_tuples(groups) if is_one else [])


def test_a_line_of_bad_rows_lends_no_axis():
    """Else the line would lie along the plane of all groups, and be one of them."""
    rng = np.random.default_rng(2)
    X, groups = drawn([[6, 0, 0], [-6, 0, 0]], [70, 70])
    X[:, :2] += 1.2 * rng.normal(size=(140, 2))
    line = 0.5 * rng.normal(size=(60, 8)) + np.linspace(9, 18, 60)[:, None] * np.eye(8)[2]
    X = np.vstack([X, line])
    parts = [*groups, np.arange(140, 200)]
    axes, noise = module._axes_within(module.own_centers(X, parts), parts)
    assert axes.shape[1] == 2
    np.testing.assert_allclose((axes[:2] ** 2).sum(), 2.0, atol=0.1)
    assert noise == pytest.approx(0.25, rel=0.3)


@pytest.mark.parametrize("unit", [2.0**-10, 2.0**10])
def test_units_are_no_matter_to_groups(unit):
    """Nor to the axes of rows about their group, off which groups are far from each other."""
    rng = np.random.default_rng(1)
    X, groups = drawn(np.c_[TRIANGLE, np.zeros(3)], [60, 60, 60])
    X[:, :2] += 0.8 * rng.normal(size=(180, 2))
    np.testing.assert_array_equal(*(module._axes_within(A, groups)[0] for A in (X, unit * X)))
    assert module._axes_within(unit * X, groups)[0].shape[1] == 2


def test_parts_are_as_large_as_the_least_group():
    X, groups = drawn([[9, 0], [-9, 0]], [110, 110])
    every = np.arange(220)
    assert as_tuples(module.parted(X, every, directions, 110, 1e-9)) == as_tuples(groups)
    assert as_tuples(module.parted(X, every, directions, 111, 1e-9)) == as_tuples([every])
    assert module.parted(X, every, directions, 221, 1e-9) == []


def test_the_distances_of_a_majority_count():
    far = np.abs(np.subtract.outer([0.0, 1.0, 3.0, 7.0], [0.0, 1.0, 3.0, 7.0]))
    sizes = np.array([10, 10, 10, 10])
    assert module._linked_majority(far, sizes, np.arange(4), 20) == ([0, 1], 1.0)
    found, link = module._linked_majority(far, sizes, np.arange(4), 30)
    assert (sorted(found), link) == ([0, 1, 2], 2.0)
    assert module._linked_majority(far, sizes, np.array([1, 3]), 20) == ([1, 3], 6.0)
    assert module._linked_majority(far, sizes, np.array([1, 3]), 30) == ([], 0.0)


class TestSplit:
    def test_both_sides_see_a_gap(self):
        t = np.r_[np.linspace(-1, 1, 200), 4 + np.linspace(-1, 1, 200)]
        np.testing.assert_array_equal(module.split(t[None]), t < 2)
        nearer = t - 1.5 * (t > 2)  # 0.5 apart, beside parts that reach 1 from their middle
        assert module.split(nearer[None]) is None
        wide = np.r_[np.linspace(-1, 1, 200), 6 + np.linspace(-4, 4, 200)]
        assert module.split(wide[None]) is None  # the second has no gap before it

    def test_the_few_in_a_gap_are_with_the_nearer_side(self):
        t = np.r_[np.linspace(-1, 1, 300), [1.5], 6 + np.linspace(-1, 1, 300), [4.0]]
        np.testing.assert_array_equal(module.split(t[None]), t < 3)

    def test_of_few_rows_gaps_are_chance(self):
        t = np.r_[np.linspace(-1, 1, 20), 5 + np.linspace(-1, 1, 20)]
        assert module.split(t[None]) is None
        assert module.split(np.r_[t, t, t, t, t][None]) is not None
        assert module.split(np.array([[1.0]])) is None

    def test_a_few_rows_in_a_gap_do_not_close_it(self):
        sides = np.r_[np.linspace(-1, 1, 500), 3 + np.linspace(-1, 1, 500)]
        for few, is_one in ((4, True), (8, False)):  # less than 0.5 % of the rows, or more
            t = np.r_[sides, np.full(few, 1.5)]
            assert (module.split(t[None]) is not None) == is_one

    def test_a_gap_is_seen_from_the_medians_of_its_sides(self):
        """From the quartiles, which are farther off, it is none."""
        u = np.linspace(0, 1, 500)
        for left, right in ((4, 4), (0.4, 4), (4, 0.4)):
            t = np.r_[-left * u**2, 1 + right * u**2]
            np.testing.assert_array_equal(module.split(t[None]), t <= 0)
        near = np.r_[-4 * u**2, 0.5 + 4 * u**2]
        assert module.split(near[None]) is None

    def test_rounding_has_no_gaps(self):
        t = np.r_[np.zeros(200), np.full(200, 1e-12)]
        assert module.split(t[None], 1e-9) is None
        assert module.split(t[None]) is not None


def test_axes_that_hold_the_centers():
    X, groups = drawn(np.diag([9.0, 8.0, 7.0, 6.0]), [50] * 4, d=9)
    kept = np.arange(200)
    assert [module.dimension_of_groups(X, kept, groups, k) for k in (1, 2, 3, 5)] == [3, 3, 3, 5]
    nearly, groups = drawn([[5, 0], [-5, 0], [0, 0.5]], [60] * 3, d=9)  # the third is hardly off their line
    assert module.dimension_of_groups(nearly, np.arange(180), groups, 1) == 1


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("n_groups", "d"), [(3, 5), (3, 20), (5, 10)])
def test_blobs_are_no_outliers(n_groups, d, k):
    X, _ = make_blobs(300, d, centers=n_groups, random_state=0)
    pca = TL1SubspacePCA(k).fit(X)
    assert (pca.flags_ > 0).mean() <= 0.06
    between = min(k, n_groups - 1)  # further axes are those of noise
    assert principal_angles(pca.components_[:between], PCA(between).fit(X)).max() < 3


def test_a_far_cluster_beside_blobs_is_found():
    X, _ = make_blobs(300, 10, centers=3, random_state=1)
    rng = np.random.default_rng(0)
    X[:45] = 200 * np.eye(10)[0] + rng.normal(size=(45, 10))
    pca = TL1SubspacePCA(2).fit(X)
    assert (pca.predict(X[:45]) == -1).all()
    assert (pca.predict(X[45:]) == -1).mean() <= 0.05
