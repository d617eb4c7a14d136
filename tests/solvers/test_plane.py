"""Planes, distances and limits of the robust subspace, against plain formulas."""

import numpy as np
import pytest
from scipy.stats import f as f_law

from support import gaussian
from tl1pca._flags import MOST_TILT
from tl1pca.rows import DenseRows
from tl1pca.solvers import plane as module
from tl1pca.solvers.plane import free_distances, plane_distances, score_cutoff, upper_stretch, weighted_plane

X = gaussian(60, 5, seed=2, decay=0.7)
KEEP = (np.arange(60) % 3 > 0).astype(float)


def test_a_plane_is_pca_of_the_rows_with_weight():
    plane = weighted_plane(DenseRows(X), KEEP, 2)
    some = X[KEEP > 0]
    values, axes = np.linalg.eigh(np.cov(some.T))
    np.testing.assert_allclose(plane.center, some.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(plane.variances, values[::-1][:2], rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(plane.W * axes[:, ::-1][:, :2], axis=0)), 1.0, atol=1e-10)
    assert plane.n_fit == 40
    assert plane.total_variance == pytest.approx(values.sum())


def test_muted_columns_are_axes_without_variance():
    muted = np.array([False, True, False, False, True])
    plane = weighted_plane(DenseRows(X), np.ones(60), 2, muted)
    assert plane.W.shape == (5, 4)
    np.testing.assert_allclose(plane.W.T @ plane.W, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(plane.W[muted, :2], 0.0)
    assert plane.variances[2:].tolist() == [0.0, 0.0]
    assert plane.live.tolist() == [True, True, False, False]
    values = np.linalg.eigvalsh(np.cov(X[:, ~muted].T))[::-1]
    np.testing.assert_allclose(plane.variances[:2], values[:2], rtol=1e-10)
    other = X.copy()
    other[:, muted] += 7.0
    same, moved = (plane_distances(DenseRows(A), plane) for A in (X, other))
    np.testing.assert_allclose(same[1], moved[1], atol=1e-9)
    np.testing.assert_allclose(same[2], moved[2], atol=1e-9)


def test_distances():
    plane = weighted_plane(DenseRows(X), KEEP, 2)
    T, sd, od = plane_distances(DenseRows(X), plane)
    scores = (X - plane.center) @ plane.W
    np.testing.assert_allclose(T, scores, atol=1e-12)
    np.testing.assert_allclose(sd, np.sqrt((scores**2 / plane.variances).sum(axis=1)), rtol=1e-10)
    np.testing.assert_allclose(od, np.linalg.norm(X - plane.center - scores @ plane.W.T, axis=1), rtol=1e-9)


def test_free_distances():
    sd, od, n = np.array([0.0, 3.0, 900.0]), np.array([1.0, 1.0, 1.0]), 50
    tilt = np.array([1 + 1 / 50, 1 + 1 / 50 + 9 / 50, 1 + 1 / 50 + MOST_TILT])
    np.testing.assert_allclose(free_distances(n, sd, od), 1 / np.sqrt(tilt))
    rest = np.array([1 - 1 / 50, 1 - 1 / 50 - 9 / 49, 0.5 / 50])
    np.testing.assert_allclose(free_distances(n, sd, od, np.ones(3)), 1 / np.sqrt(rest))
    mixed = free_distances(n, sd, od, np.array([0, 1, 0]))
    np.testing.assert_allclose(mixed, [1 / np.sqrt(tilt[0]), 1 / np.sqrt(rest[1]), 1 / np.sqrt(tilt[2])])


def test_a_heavy_upper_side_stretches():
    even = np.linspace(-1, 1, 400)
    assert upper_stretch(even) == 1.0
    assert upper_stretch(np.where(even > 0, 1.5 * even, even)) == pytest.approx(1.5 - 1.5 / 20, rel=1e-2)
    assert upper_stretch(np.where(even > 0, 9 * even, even)) == 2.0
    assert upper_stretch(np.ones(1)) == upper_stretch(np.ones(9)) == 1.0


def test_the_score_cutoff_is_f_at_the_size_of_the_scores():
    n, k = 400, 3
    law = f_law(k, n - k)
    sd = np.sqrt(2.5 * law.ppf((np.arange(n) + 0.5) / n))
    assert score_cutoff(sd, k, n) == pytest.approx(np.sqrt(2.5 * law.ppf(module.LEVEL)), rel=1e-2)
    assert score_cutoff(sd, 0, n) == score_cutoff(sd, 3, 4) == score_cutoff(np.empty(0), 3, n) == np.inf


def test_false_alarms_are_as_many_as_the_level_says():
    rng = np.random.default_rng(0)
    rates = []
    for _ in range(10):
        Z = rng.normal(size=(400, 8)) * [5, 4, 1, 1, 1, 1, 1, 1]
        rows = DenseRows(Z)
        plane = weighted_plane(rows, np.ones(400), 2)
        _, sd, od = plane_distances(rows, plane)
        far = free_distances(400, sd, od, np.ones(400))
        limits = module.row_cutoffs(plane, sd, far, np.ones(400, dtype=bool), 300, 1e-9)
        rates.append([(sd > limits.score).mean(), (far > limits.orthogonal).mean()])
        assert (far > module.fit_limit(far, 300, 1e-9)).mean() < 0.03
        assert limits.tilt == 401.0
    np.testing.assert_allclose(np.mean(rates, axis=0), 1 - module.LEVEL, atol=0.006)
