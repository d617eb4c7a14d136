"""The last least squares of a cellwise fit."""

import numpy as np
import pytest

from tl1pca.solvers.cell_refit import EDGES, good_shares, refit_cells
from tl1pca.solvers.cellwise import CellFit, CellPlane, Cells


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
        assert share_at(shares, 5.0) < 0.01
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
    """Weights that fall with the residual are several per cent off."""
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
