"""The last least squares of a cellwise fit."""

import numpy as np
import pytest
from scipy.stats import norm, t

from tl1pca.solvers import cell_refit, cellwise
from tl1pca.solvers.cell_refit import EDGES, good_shares, refit_cells
from tl1pca.solvers.cellwise import CellFit, CellLoss, CellPlane, Cells, residual_variances

NORMAL = np.diff(2.0 * norm.cdf(EDGES))
LONG_TAILED = np.diff(2.0 * t.cdf(EDGES, 6, scale=norm.ppf(0.75) / t.ppf(0.75, 6)))


def counted(residuals):
    return np.bincount(np.searchsorted(EDGES, np.abs(residuals), side="right") - 1, minlength=len(EDGES))


def share_at(shares, size):
    return shares[np.searchsorted(EDGES, size, side="right") - 1]


class TestGoodShares:
    def test_nearly_all_cells_of_a_clean_table_are_good(self):
        shares = good_shares(counted(np.random.default_rng(0).normal(size=100_000)))
        assert shares[EDGES < 3.0].min() > 0.9

    def test_far_cells_leave_the_others_alone(self):
        rng = np.random.default_rng(1)
        shares = good_shares(counted(np.concatenate([rng.normal(size=80_000), rng.normal(8, 1, 20_000)])))
        assert shares[EDGES < 2.9].min() > 0.9
        assert share_at(shares, 5.0) < 0.1
        assert shares[-1] == 0.0

    def test_small_errors_take_part_by_their_share(self):
        rng = np.random.default_rng(2)
        good, bad = rng.normal(size=80_000), rng.normal(3.0, 0.5, size=20_000)
        shares = good_shares(counted(np.concatenate([good, bad])))
        for size in (2.05, 2.55, 3.05):
            near = [
                np.mean((np.abs(x) > size - 0.05) & (np.abs(x) < size + 0.05)) * len(x) for x in (good, bad)
            ]
            assert share_at(shares, size) == pytest.approx(near[0] / sum(near), abs=0.1)

    def test_shares_never_rise(self):
        shares = good_shares(counted(np.random.default_rng(3).normal(size=300)))
        assert (np.diff(shares) <= 1e-12).all()

    def test_by_hand(self):
        """A class with as many bad cells as good ones counts by half, where far classes are as full."""
        far = EDGES[:-1] >= 1.15  # good ones are counted within one deviation
        counts = np.where(far, 2.0, 1.0) * NORMAL
        counts[EDGES[:-1] >= 4.45] = 1.0
        want = np.where(far, 0.5, 1.0)
        want[EDGES[:-1] >= 4.45] = NORMAL[EDGES[:-1] >= 4.45]
        shares = good_shares(1e12 * np.append(counts, 300.0))
        np.testing.assert_allclose(shares, np.append(want, 0.0), atol=1e-9)

    def test_a_long_tail_is_good(self):
        shares = good_shares(counted(np.random.default_rng(4).standard_t(10, size=50_000)))
        assert share_at(shares, 3.5) > 0.8
        few = 50_000 * NORMAL[35] / np.sum(counted(np.random.default_rng(4).standard_t(10, size=50_000))[35])
        assert few < 0.3  # what the normal density says of them

    def test_of_a_tail_only_what_bad_cells_may_not_be(self):
        """Bad cells are no more frequent than in far classes, and good ones not more than by Student's t."""
        counts = 1e6 * np.append(LONG_TAILED, 0.0)
        counts[45:60] = np.arange(75.0, 0.0, -5.0)  # from 4.5 deviations on: 40 in a class
        shares = good_shares(counts)
        good = counts[:10].sum() / NORMAL[:10].sum()
        for at in (25, 30, 35):
            expected = (counts[at] - 40.0) / counts[at]
            assert good * NORMAL[at] / counts[at] < expected  # the normal density says less
            assert shares[at] == pytest.approx(expected, rel=1e-3)
        fuller = counts.copy()
        fuller[44] *= 3.0
        most = counts[44] / fuller[44]  # of the class before they begin, by the density
        assert good_shares(fuller)[44] == pytest.approx(most, rel=0.1)

    def test_an_excess_that_no_tail_explains_is_bad(self):
        """With a fifth of the cells about three deviations off a small part of the long tail is granted."""
        counts = counted(np.random.default_rng(5).normal(size=80_000))
        counts[25:35] += 2000
        shares, longer = good_shares(counts), 80_000 * (LONG_TAILED - NORMAL)
        part = np.maximum(longer, 0.0)[10:].sum() / 20_000
        assert part < 0.2
        good = (80_000 * NORMAL + part * longer)[25:35].sum()
        assert (shares * counts)[25:35].sum() == pytest.approx(good, rel=0.1)

    def test_a_single_far_cell_is_hardly_good(self):
        counts = np.append(np.where(EDGES[:-1] < 2.0, 100 * NORMAL, 0.0), 0.0)
        at = np.searchsorted(EDGES, 3.05) - 1
        counts[at] = 1.0
        shares = good_shares(counts)
        scale = NORMAL[:10].sum() / LONG_TAILED[:10].sum()
        assert shares[at] == pytest.approx(min(100 * scale, counts.sum()) * LONG_TAILED[at], rel=1e-6)
        assert shares[at] < 0.25

    def test_good_cells_are_no_more_than_there_are(self):
        """Of 21 cells nearly all within one deviation the normal density has 21, not 29, in all classes."""
        counts = np.append(np.where(EDGES[:-1] < 0.95, 2.0, 0.0), 0.0)
        counts[15] = 1.0
        assert NORMAL[15] > LONG_TAILED[15]
        assert good_shares(counts)[15] == pytest.approx(21 * NORMAL[15])

    def test_nothing_beyond_six_deviations_is_good_and_no_share_is_above_one(self):
        shares = good_shares(counted([0.1] * 3 + [0.25] * 9 + [0.7] * 5 + [5.95]))
        assert (EDGES[-2:] == [5.9, 6.0]).all()
        assert shares[-1] == 0.0
        assert shares.max() <= 1.0


def clean_table(seed, n=300, d=12, k=2, noise=None):
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.normal(size=(d, k)))[0]
    U = rng.normal(size=(n, k)) * [6.0, 4.0]
    values = U @ V.T + (np.ones(d) if noise is None else noise) * rng.normal(size=(n, d))
    return values, V


def angle(A, B):
    Q = np.linalg.qr(A)[0]
    return np.degrees(np.arcsin(np.linalg.norm(B - Q @ (Q.T @ B), 2)))


def start_at(V, values):
    U = values @ V  # fitted ones: their residuals are what the variances of residuals are for
    return CellFit(CellPlane(np.zeros(len(V)), V, U.var(axis=0)), U, (1.0,), True)


def test_on_a_clean_table_it_is_pca():
    """Weights that fall with the residual are several percent off."""
    ratios = []
    for seed in range(10):
        values, V = clean_table(seed)
        n, d = values.shape
        rows = np.ones(n, dtype=bool)
        found = refit_cells(
            Cells(values.copy(), np.ones((n, d), dtype=bool)), start_at(V, values), rows, np.zeros(d)
        )
        plane, scores, unit = found
        np.testing.assert_allclose(unit, 1.0, atol=0.2)
        np.testing.assert_allclose(scores.mean(axis=0), 0.0, atol=1e-9)
        pca = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)[2][:2].T
        ratios.append(angle(unit[:, None] * plane.V, V) / angle(pca, V))
    assert np.median(ratios) < 1.05


def test_units_follow_the_noise_and_values_are_turned_to_them():
    noise = np.linspace(0.85, 1.2, 12)  # as near as the fit before leaves them
    values, V = clean_table(0, n=2000, noise=noise)
    cells = Cells(values.copy(), np.ones(values.shape, dtype=bool))
    unit = refit_cells(cells, start_at(V, values), np.ones(2000, dtype=bool), np.zeros(12))[2]
    np.testing.assert_allclose(unit, noise, rtol=0.1)
    np.testing.assert_allclose(cells.values * unit, values)


def test_no_unit_is_below_the_least_one():
    values, V = clean_table(1)
    least = np.full(12, 1.5)
    cells = Cells(values, np.ones(values.shape, dtype=bool))
    unit = refit_cells(cells, start_at(V, values), np.ones(300, dtype=bool), least)[2]
    assert (unit >= 1.5).all()


def test_bad_cells_and_rows_outside_say_nothing():
    values, V = clean_table(2)
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=300) < 0.8
    bad = rng.uniform(size=values.shape) < 0.1
    start, other = start_at(V, values), values.copy()
    values[bad], other[bad] = 50.0, -500.0
    values[~rows], other[~rows] = 7.0, -7.0
    mask = np.ones(values.shape, dtype=bool)
    planes = [refit_cells(Cells(x, mask), start, rows, np.zeros(12))[0] for x in (values, other)]
    assert angle(planes[0].V, planes[1].V) < 1e-6
    assert angle(planes[0].V, V) < 8.0


def holes(seed=0, n=40, d=6):
    """A table off the origin with missing cells, rows outside the fit, and a fit of it."""
    values, V = clean_table(seed, n, d)
    rng = np.random.default_rng(seed)
    values += 3.0
    mask, rows = rng.uniform(size=(n, d)) > 0.15, np.arange(n) < n - 5
    U = (values - 3.0) @ V
    fit = CellFit(CellPlane(np.full(d, 3.0), V, U.var(axis=0)), U, (1.0,), True)
    return Cells(np.where(mask, values, 0.0), mask), fit, rows


def weights_of(cells, fit, rows):
    W = np.zeros(cells.mask.shape)
    for index, _, some in cell_refit._Trusted.of(cells, fit, rows):
        W[index] = some
    return W


def test_a_cell_counts_by_its_residual_over_its_own_deviation():
    cells, fit, rows = holes()
    R = cells.values - 3.0 - fit.scores @ fit.plane.V.T
    R /= np.sqrt(residual_variances(CellLoss.cell_weights(R, cells.mask), fit.plane.V))
    seen = (cells.mask & rows[:, None]).sum(axis=0)
    R *= np.sqrt(seen / (seen - 3))  # two loadings and the center are fitted to each column
    used = cells.mask & rows[:, None]
    shares = good_shares(counted(R[used]))
    np.testing.assert_allclose(
        weights_of(cells, fit, rows), np.where(used, share_at(shares, np.abs(R)), 0.0), atol=1e-12
    )


@pytest.mark.parametrize(("seen", "want"), [(10, 10 / 7), (4, 4.0), (3, 3.0), (1, 1.0), (0, 1.0)])
def test_numbers_fitted_to_a_column_are_counted(seen, want):
    mask = np.arange(12)[:, None] < seen
    found = cell_refit._freedom(mask, np.arange(12) < 10, 2)
    assert found[0] == pytest.approx(np.sqrt(want))


def test_noise_is_the_root_mean_square_over_what_the_fit_leaves():
    cells, fit, rows = holes()
    V, center = fit.plane.V, fit.plane.center
    W = weights_of(cells, fit, rows)
    squares, count = np.zeros(6), W.sum(axis=0)
    for z, w, v in zip(cells.values, W, residual_variances(W, V)):
        if w.any():
            u = np.linalg.lstsq(np.sqrt(w)[:, None] * V, np.sqrt(w) * (z - center), rcond=None)[0]
            squares += w * (z - center - V @ u) ** 2 / v
    seen = (cells.mask & rows[:, None]).sum(axis=0)
    found = cell_refit._noise(cell_refit._Trusted.of(cells, fit, rows), fit.plane)
    np.testing.assert_allclose(found, np.sqrt(squares / count * seen / (seen - 3)), rtol=1e-6)


def test_a_column_without_cells_has_no_noise_and_does_not_disturb():
    cells, fit, rows = holes()
    cells.mask[:, 2] = False
    cells.mask[0, 2] = True
    one = cell_refit._noise(cell_refit._Trusted.of(cells, fit, rows), fit.plane)
    assert one[2] > 0
    cells.mask[0, 2] = False
    assert cell_refit._noise(cell_refit._Trusted.of(cells, fit, rows), fit.plane)[2] == 0.0


def test_it_is_one_step_of_weighted_least_squares_in_the_new_units(monkeypatch):
    """Scores of every row by the plane there is, then center and loadings of every column by these."""
    monkeypatch.setattr(cellwise, "BLOCK", 1)  # blocks of 64 rows
    cells, fit, rows = holes(n=150)
    W = weights_of(cells, fit, rows)
    before = cells.values.copy()
    plane, scores, unit = refit_cells(cells, fit, rows, np.full(6, 0.95))
    np.testing.assert_allclose(cells.values, before / unit)
    assert unit.min() == 0.95
    assert unit.max() > 0.95
    V, Z = fit.plane.V / unit[:, None], before / unit - 3.0 / unit
    U = np.zeros((150, 2))
    for i in np.flatnonzero(rows):
        w = np.sqrt(W[i])
        U[i] = np.linalg.lstsq(w[:, None] * V, w * Z[i], rcond=None)[0]
    design = np.column_stack([np.ones(150), U])
    B = np.array([
        np.linalg.lstsq(np.sqrt(w)[:, None] * design, np.sqrt(w) * z, rcond=None)[0]
        for w, z in zip((W * rows[:, None]).T, (before / unit).T)
    ])  # fmt: skip
    fitted = plane.center + scores @ plane.V.T
    np.testing.assert_allclose(fitted[rows], (design @ B.T)[rows], atol=1e-5)
    assert not scores[~rows].any()
