"""A second choice of rows, repaired by a fit."""

from dataclasses import replace

import numpy as np
import pytest

from tl1pca.solvers.cell_groups import GROUP, choose_again
from tl1pca.solvers.cell_start import CellStart, RowChoice
from tl1pca.solvers.cellwise import CellPlane, Cells

D = 20
AXES = np.linalg.qr(np.random.default_rng(5).normal(size=(D, 3)))[0]
#: Rows beyond it lie along the third axis, outside of the fit.
INSIDE = 150


def table(n=200, seed=0, off=30.0):
    """Rows of which the last ones are a group along an axis off the plane; the start leaves them out."""
    rng = np.random.default_rng(seed)
    outside = np.arange(n) >= INSIDE
    scores = np.column_stack([5.0 * rng.normal(size=(n, 2)), off * outside])
    Z = scores @ AXES.T + rng.normal(size=(n, D))
    plane = CellPlane(np.zeros(D), AXES[:, :2], np.full(2, 25.0))
    start = CellStart(np.zeros(D), np.full(D, 2.0), plane, scores[:, :2], ~outside, 2.0 * AXES, np.zeros(D))
    return Z, np.ones(Z.shape, dtype=bool), start


def trusting(rows, seen=None):
    """A rowwise method that trusts given rows, and all others whose first value is positive."""

    def choose_rows(Y, left):
        if seen is not None:
            seen.append((Y, left))
        return RowChoice(np.zeros(D), AXES[:, :2], rows(len(Y)), lambda Z: Z[:, 0] > 0)

    return choose_rows


def everything(n):
    return np.ones(n, dtype=bool)


def test_a_group_that_is_like_the_others_is_let_in():
    Z, mask, start = table()
    second = choose_again(Cells(Z, mask), start, trusting(everything))
    assert second.rows.mean() > 0.99
    assert second.rate < 0.005
    np.testing.assert_array_equal(second.unit, start.unit)


def test_rows_are_repaired_by_the_fit_and_by_what_the_group_has_in_common():
    Z, mask, start = table()
    wrong = Z.copy()
    wrong[3, 2] += 15.0
    wrong[INSIDE + 3, 4] -= 15.0
    mask[7, 5] = mask[INSIDE + 7, 6] = False
    wrong[~mask] = 0.0
    seen = []
    second = choose_again(Cells(wrong, mask), start, trusting(everything, seen))
    Y, left = seen[0]
    repaired = [(3, 2), (INSIDE + 3, 4), (7, 5), (INSIDE + 7, 6)]
    for i, j in repaired:
        assert not left[i, j]
        assert not second.good[i, j]
        assert abs(Y[i, j] - Z[i, j]) < 4.0
    assert left.mean() > 0.995
    np.testing.assert_array_equal(Y[left], wrong[left])


def test_rows_with_more_bad_cells_than_usual_are_let_in_by_nothing():
    """What is left of them once these are repaired says nothing."""
    Z, mask, start = table()
    rng = np.random.default_rng(1)
    Z[INSIDE:, :7] += 20.0 * rng.choice([-1.0, 1.0], size=(50, 7))
    seen = []
    assert choose_again(Cells(Z, mask), start, trusting(everything, seen)) is None
    assert not seen  # there is nobody to ask about


@pytest.mark.parametrize(("more", "again"), [(0.8 * GROUP, False), (1.2 * GROUP, True)])
def test_a_few_rows_more_are_no_reason_to_start_again(more, again):
    Z, mask, start = table()
    rows = lambda n: np.arange(n) < INSIDE + more * n  # noqa: E731
    assert (choose_again(Cells(Z, mask), start, trusting(rows)) is not None) == again


def test_rows_without_cells_enough_are_never_trusted():
    Z, mask, start = table()
    mask[[5, 190], 2:] = False
    start = replace(start, rows=start.rows & (np.arange(200) != 5))
    second = choose_again(Cells(np.where(mask, Z, 0.0), mask), start, trusting(everything))
    assert not second.rows[[5, 190]].any()
    assert not second.of(Cells(np.where(mask, Z, 0.0), mask))[0][[5, 190]].any()


def test_other_rows_go_the_same_way():
    Z, mask, start = table()
    second = choose_again(Cells(Z, mask), start, trusting(everything))
    Z, mask, _ = table(seed=3)
    Z[0, 4] = 40.0
    rows, good = second.of(Cells(Z, mask))
    usual = (~good).sum(axis=1) <= 4
    np.testing.assert_array_equal(rows, usual & (Z[:, 0] > 0))
    assert not good[0, 4]
    assert good.mean() > 0.99
