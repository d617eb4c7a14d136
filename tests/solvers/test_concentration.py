"""The rows nearest to a plane of their own."""

from itertools import pairwise

import numpy as np

from support import low_rank
from tl1pca.rows import DenseRows
from tl1pca.solvers.concentration import concentrate, nearest_majority
from tl1pca.solvers.plane import free_distances, weighted_plane

NEAR = "tl1pca.solvers.concentration."


def test_sets_of_rows_that_take_turns_end_the_concentration(monkeypatch):
    X, _, _ = low_rank(0, n=300, d=290, r=10)
    planes = []

    def counted(*arguments):
        planes.append(1)
        return weighted_plane(*arguments)

    monkeypatch.setattr(NEAR + "weighted_plane", counted)
    concentrate(DenseRows(X), np.arange(300), np.arange(150), 10, 151, np.zeros(290, dtype=bool), 0.0)
    assert len(planes) <= 8


def test_concentration_ends_once_the_nearest_rows_come_hardly_nearer(monkeypatch):
    """By half a percent of their squares, without the rounds that the last few would take."""
    nearest = []

    def seen(n, sd, od, fitted):
        far = free_distances(n, sd, od, fitted)
        nearest.append(np.sort(far)[:501] @ np.sort(far)[:501])
        return far

    monkeypatch.setattr(NEAR + "free_distances", seen)
    gains = []
    for seed in range(12):
        nearest.clear()
        X = np.random.default_rng(seed).normal(size=(1000, 10)) * np.linspace(2, 1, 10)
        concentrate(DenseRows(X), np.arange(1000), np.arange(501), 3, 501, np.zeros(10, dtype=bool), 0.0)
        gains.append([before / now - 1 for before, now in pairwise(nearest)])
    last, others = np.array([g[-1] for g in gains]), np.concatenate([g[:-1] for g in gains])
    assert 0.0025 < last.max() <= 0.005 < others.min() < 0.01


def test_concentration_keeps_the_number():
    X, Q, rng = low_rank(0)
    bad = np.arange(200) < 60
    X[bad] = 9 * Q[:, 3] + rng.normal(size=(60, 20))
    rows = DenseRows(X)
    muted = np.zeros(20, dtype=bool)
    order = np.append(np.flatnonzero(~bad), np.flatnonzero(bad))
    keep = np.asarray(concentrate(rows, order, order[:60], 3, 101, muted, 0.0)[0])
    assert keep.sum() == 101
    assert not keep[bad].any()
    order = order[order != 190]  # as if a gap separated it
    assert not np.asarray(concentrate(rows, order, order[:60], 3, 101, muted, 0.0)[0])[190]


def test_with_few_rows_for_an_axis_the_limit_decides():
    """31 rows are fewer than five for each of eight axes: good rows stay, however many."""
    X, Q, _ = low_rank(0, n=60, d=30, r=8)
    X[:6] += 40 * Q[:, 9]
    order, muted = np.append(np.arange(6, 60), np.arange(6)), np.zeros(30, dtype=bool)
    keep = np.asarray(concentrate(DenseRows(X), order, order[:31], 8, 31, muted, 0.0)[0])
    assert keep.sum() > 45
    assert not keep[:6].any()
    assert np.asarray(concentrate(DenseRows(X), order, order[:31], 6, 31, muted, 0.0)[0]).sum() == 31


def test_heavy_tails_do_not_leave_too_few():
    """Where most rows are asked for, the main mode of the distances may hold fewer."""
    muted = np.zeros(12, dtype=bool)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 12)) * np.exp(2 * rng.normal(size=(60, 1)))
        keep = concentrate(DenseRows(X), np.arange(60), np.arange(54), 11, 54, muted, 0.0)[0]
        assert np.asarray(keep).sum() >= 54


def nearest(X, order, q=3):
    return np.asarray(nearest_majority(DenseRows(X), order, q, 101, np.zeros(20, dtype=bool), 0.0)) > 0


def test_a_majority_of_the_rows_without_a_gap_is_nearest_to_their_plane():
    """More than half of the rows left are good, and fewer than the number to trust."""
    X, Q, _ = low_rank(0)
    X[:40] += 15 * Q[:, 4]
    X[120:] += 40 * Q[:, 0]  # another group, which a gap separates
    keep = nearest(X, np.append(np.arange(40, 120), np.arange(40)))
    assert keep.sum() == 101
    assert not keep[:40].any()
    assert keep[120:].any()


def test_beyond_a_gap_nothing_is_kept_while_enough_rows_are_near():
    """However near to the plane, and all within the limit that no gap separates."""
    X, Q, _ = low_rank(0)
    X[:60] += 40 * Q[:, 0]
    keep = nearest(X, np.arange(60, 200))
    assert not keep[:60].any()
    assert keep.sum() > 130
