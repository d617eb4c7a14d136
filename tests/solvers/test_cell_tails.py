"""Long tails of good cells, and bad cells that are no tail."""

import numpy as np
import pytest
from scipy.special import ndtri

from tl1pca.solvers import cell_tails
from tl1pca.solvers.cell_tails import tail_shapes
from tl1pca.solvers.cellwise import CELL_CUTOFF, CellAssessment


def spread_evenly(n):
    return ndtri((np.arange(n) + 0.5) / n)


def long_above(z, g):
    """The upper side as long as that of a lognormal; the lower one normal."""
    return np.where(z > 0, np.expm1(g * z) / g, z)


def tails(R, mask, rows):
    return tail_shapes(R, mask, rows, np.ones(R.shape[1], dtype=bool))


def shapes(columns, rows=None):
    R = np.column_stack(columns)
    return tails(R, np.ones_like(R, dtype=bool), np.ones(len(R), dtype=bool) if rows is None else rows)


@pytest.mark.parametrize("n", [50, 400, 4000])
def test_normal_residuals_have_no_tails(n):
    rng = np.random.default_rng(n)
    assert (shapes(rng.normal(size=(20, n))) < 0.05).all()
    assert not shapes([spread_evenly(n)] * 3).any()


@pytest.mark.parametrize("g", [0.4, 0.8, 1.2])
def test_a_long_side_has_its_own_shape(g):
    z = spread_evenly(600)
    found = shapes([long_above(z, g), -long_above(z, g), z, z])
    assert found[1, 0] == pytest.approx(g, abs=0.07)
    assert found[0, 1] == pytest.approx(found[1, 0])
    assert found[0, 0] == found[1, 1] == 0.0
    assert not found[:, 2:].any()


def test_a_tail_stays_where_a_tenth_of_the_cells_lie_far_beyond():
    z = spread_evenly(600)
    x = long_above(z, 0.8)
    before = shapes([x, z])[1, 0]
    x[::10] = 30.0
    assert shapes([x, z])[1, 0] == pytest.approx(before, abs=0.15)


def with_bad(kind, seed, n=400, share=0.2):
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(n, 10))
    bad = rng.uniform(size=R.shape) < share
    where = {"together": (9.0, 9.0), "even": (4.0, 30.0), "far": (35.0, 35.0), "both sides": (4.0, 20.0)}[
        kind
    ]
    R[bad] += rng.uniform(*where, size=bad.sum()) * (
        rng.choice([-1, 1], size=bad.sum()) if kind == "both sides" else 1.0
    )
    return R, bad


@pytest.mark.parametrize("kind", ["together", "even", "far", "both sides"])
def test_bad_cells_are_no_tail(kind):
    for seed in range(3):
        R, bad = with_bad(kind, seed)
        below, above = shapes(R.T)
        limit = [
            np.where(g > 0, np.expm1(g * CELL_CUTOFF) / np.maximum(g, 1e-9), CELL_CUTOFF)
            for g in (below, above)
        ]
        missed = np.abs(R) <= np.where(R > 0, limit[1], limit[0])
        assert missed[bad].mean() < missed[bad & (np.abs(R) < CELL_CUTOFF)].sum() / bad.sum() + 0.03
        assert np.median([below, above]) == 0.0


def test_a_stray_among_bad_cells_that_lie_together_makes_no_tail():
    rng = np.random.default_rng(5)
    R = rng.normal(size=(160, 12))
    R[:27] = rng.normal(31.0, 1.5, size=(27, 12))
    R[27:30, 3] = 14.0, 3.3, 3.8
    assert (shapes(R.T) < 0.05).all()


def test_sides_learn_from_each_other():
    """Fifteen cells say little of a tail, unless those of other columns say the same."""
    rng = np.random.default_rng(3)
    column = long_above(spread_evenly(30), 0.9)
    others = [long_above(rng.normal(size=30), 0.9) for _ in range(30)]
    alone = shapes([column, *rng.normal(size=(30, 30))])[1, 0]
    assert shapes([column, *others])[1, 0] > alone + 0.2


def test_rows_and_cells_that_do_not_count():
    z = spread_evenly(500)
    R = np.column_stack([long_above(z, 1.0), z])
    mask, rows = np.ones_like(R, dtype=bool), np.arange(500) >= 100
    want = tails(R[100:], mask[100:], rows[100:])
    R[:100] = 2.0
    np.testing.assert_array_equal(tails(R, mask, rows), want)
    mask[100:200] = False
    want = tails(R[200:], mask[200:], rows[200:])
    np.testing.assert_array_equal(tails(R, mask, rows), want)
    assert (tails(R, mask & False, rows) == 0.0).all()
    assert (tails(np.full_like(R, 1e90), mask, rows) == 0.0).all()


def test_columns_that_are_not_asked_for_have_none():
    x = long_above(spread_evenly(500), 1.0)
    R, every = np.column_stack([x, x]), np.ones((500, 2), dtype=bool)
    found = tail_shapes(R, every, every[:, 0], np.array([True, False]))
    assert found[1, 0] > 0.8
    assert not found[:, 1].any()


def test_some_rows_tell_enough(monkeypatch):
    x = long_above(np.random.default_rng(0).normal(size=3000), 0.8)
    before = shapes([x])
    monkeypatch.setattr(cell_tails, "TAIL_ROWS", 1000)
    after = shapes([x])
    assert after[1, 0] == pytest.approx(before[1, 0], abs=0.1)
    np.testing.assert_array_equal(after, shapes([x[::3]]))


def test_residuals_are_the_normal_values_behind_a_tail():
    z = np.array([[-4.0, 3.2, 4.0], [3.2, -3.5, 0.0], [0.1, -0.1, 1.0]])
    tails = np.array([[0.0, 0.0, 0.0], [0.8, 1.2, 0.0]])
    g = np.where(z > 0, tails[1], tails[0])
    R = np.where(g > 0, np.expm1(g * z) / np.maximum(g, 1e-9), z)
    found = CellAssessment(np.zeros((3, 1)), R, np.ones((3, 3)), np.abs(R) > CELL_CUTOFF)
    assert found.flags.sum() == 5
    within = found.within(tails)
    np.testing.assert_allclose(within.residuals, z)
    np.testing.assert_array_equal(within.flags, np.abs(z) > CELL_CUTOFF)
