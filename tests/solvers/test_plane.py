"""Planes, distances and limits of the robust subspace, against plain formulas."""

import numpy as np
import pytest
from scipy.stats import f as f_law
from scipy.stats import t as t_law

from support import blocks, gaussian
from tl1pca._flags import MOST_TILT
from tl1pca.rows import DenseRows
from tl1pca.solvers import plane as module
from tl1pca.solvers.plane import (
    Plane,
    free_distances,
    plane_distances,
    score_cutoff,
    upper_stretch,
    weighted_plane,
)
from tl1pca.statistics import main_mode

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


def by_the_formula(A, w, k, muted=()):
    """Mean, the k largest variances off the muted columns, and the total of rows A with weights w."""
    n, mean = np.count_nonzero(w), w @ A / w.sum()
    C = ((A - mean).T * w) @ (A - mean) / w.sum() * n / max(n - 1, 1)
    others = [j for j in range(A.shape[1]) if j not in muted]
    return mean, np.linalg.eigvalsh(C[np.ix_(others, others)])[::-1][:k], np.trace(C), C


@pytest.mark.parametrize("muted", [None, (1, 4)])
@pytest.mark.parametrize("shape", [(60, 5), (12, 30), (2, 6), (1, 4)])
@pytest.mark.parametrize("port", ["dense", "blocks"])
def test_planes_of_rows_of_any_shape_anywhere(port, shape, muted):
    A = 3.0 + gaussian(*shape, seed=4, decay=0.8)
    w = np.linspace(0.2, 1.0, shape[0])
    w[2::3] = 0.0
    rows = DenseRows(A) if port == "dense" else blocks(A, None)
    mask = None if muted is None else np.isin(np.arange(shape[1]), [j for j in muted if j < shape[1]])
    k = min(2, shape[0])
    plane = weighted_plane(rows, rows.asarray(w), k, mask)
    mean, variances, total, C = by_the_formula(A, w, k, muted or ())
    np.testing.assert_allclose(plane.center, mean, rtol=1e-10)
    np.testing.assert_allclose(plane.variances[:k], variances, atol=1e-9 * max(total, 1.0))
    assert plane.variances[k:].tolist() == [0.0] * (0 if mask is None else mask.sum())
    assert plane.n_fit == np.count_nonzero(w)
    assert plane.total_variance == pytest.approx(total, rel=1e-9, abs=1e-12)
    along = np.diag(plane.W[:, :k].T @ C @ plane.W[:, :k])
    np.testing.assert_allclose(along, variances, atol=1e-8 * max(total, 1.0))
    np.testing.assert_allclose(plane.W.T @ plane.W, np.eye(plane.W.shape[1]), atol=1e-8)


def test_repeated_rows_are_rows_with_a_weight():
    times = np.array([1.0, 3.0, 2.0] * 20)
    plane = weighted_plane(DenseRows(X, weights=times), KEEP, 2)
    again = weighted_plane(
        DenseRows(np.repeat(X, times.astype(int), axis=0)), np.repeat(KEEP, times.astype(int)), 2
    )
    np.testing.assert_allclose(plane.center, again.center)
    np.testing.assert_allclose(plane.variances, again.variances)
    assert plane.n_fit == again.n_fit == (times * KEEP).sum()


def test_more_axes_are_asked_for_than_columns_are_judged():
    muted = np.array([True, True, False, True, True])
    plane = weighted_plane(DenseRows(X), np.ones(60), 2, muted)
    assert plane.live.tolist() == [True, False, False, False, False]
    assert abs(plane.W[2, 0]) == 1.0


def test_an_axis_is_live_by_the_share_that_it_has_of_the_largest():
    def live(*variances):
        return Plane(np.zeros(9), np.eye(9)[:, : len(variances)], np.array(variances), 9, 1.0).live.tolist()

    assert live(1e30, 1e5) == [True, False]
    assert live(1e-30, 1e-45, 0.0) == [True, True, False]
    assert live(0.0) == [False]
    assert live() == []


def test_free_distances_of_planes_of_one_and_of_two_rows():
    """A row of so few lies on the plane all but by force, and no leverage reaches one."""
    np.testing.assert_allclose(
        free_distances(2, np.array([0.0, 0.3, 5.0]), np.ones(3), np.ones(3)),
        1 / np.sqrt([1 - 1 / 2, 1 - 1 / 2 - 0.09, 0.25]),
    )
    np.testing.assert_allclose(free_distances(1, np.zeros(1), np.ones(1), np.ones(1)), np.sqrt(2.0))


def test_the_quantile_of_an_uncertain_mode():
    assert module.mode_quantile(0.99, 400) == pytest.approx(t_law.ppf(0.99, 100))
    assert module.mode_quantile(0.99, 2) == module.mode_quantile(0.99, 4) == pytest.approx(t_law.ppf(0.99, 1))


def test_limits_by_their_formulas():
    """Powers of 2/3 of the distances are nearly normal; the upper side of the fitted ones may be longer."""
    far = 0.05 + 0.05 * np.random.default_rng(3).exponential(size=60)
    far[50:] = 9.0  # bad rows
    fitted = np.arange(60) < 50
    location, scale = main_mode(far ** (2 / 3), 40)
    limit = (location + t_law.ppf(module.FIT_LEVEL, 60 / 4) * scale) ** 1.5
    assert module.fit_limit(far, 40, 1e-9) == pytest.approx(limit)
    assert module.fit_limit(far, 40, 2.0) == 2.0
    n, sd = 24, np.linspace(0.1, 3.0, 60)
    sd[50:] = 50.0
    plane = Plane(np.zeros(6), np.eye(6)[:, :3], np.array([4.0, 1.0, 0.0]), n, 9.0)
    stretch = upper_stretch(far[fitted] ** (2 / 3))
    assert stretch > 1
    orthogonal = (location + t_law.ppf(module.LEVEL, n / 4) * stretch * scale) ** 1.5
    found = module.row_cutoffs(plane, sd, far, fitted, 40, 1e-9)
    assert found.orthogonal == pytest.approx(orthogonal * np.sqrt(1 + 1 / n))
    assert found.score == score_cutoff(sd[fitted & (far <= orthogonal)], 2, n)  # of the two axes that live
    assert found.tilt == n + 1
    assert module.row_cutoffs(plane, sd, np.zeros(60), fitted, 40, 0.5).orthogonal == 0.5 * np.sqrt(1 + 1 / n)


def test_three_values_have_an_upper_side():
    assert upper_stretch(np.array([0.0, 1.0, 10.0])) == 2.0


def test_the_least_rows_of_a_score_cutoff():
    sd = np.array([0.5, 1.0, 1.5])
    size = np.quantile(sd**2, module.SCORE_QUANTILE) / f_law.ppf(module.SCORE_QUANTILE, 3, 2)
    assert score_cutoff(sd, 3, 5) == pytest.approx(np.sqrt(size * f_law.ppf(module.LEVEL, 3, 2)))
    assert score_cutoff(np.zeros(3), 3, 5) == np.inf
