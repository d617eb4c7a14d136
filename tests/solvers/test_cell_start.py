"""Where the fit of cells begins: modes of columns, and cells from the others of their row."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, truncnorm
from sklearn.datasets import make_blobs

from tl1pca.solvers import cell_start, cellwise
from tl1pca.solvers.cell_levels import find_levels
from tl1pca.solvers.cell_start import (
    CellStart,
    Predictor,
    RowChoice,
    column_modes,
    predict_cells,
    residual_scales,
    settle_units,
    singular_shrinkage,
    start_cells,
    start_sample,
)
from tl1pca.solvers.cellwise import CELL_CUTOFF, CellPlane, Cells, minimize_cell_loss

RNG = np.random.default_rng(0)


def test_modes_of_columns_with_bad_and_missing_cells():
    A = RNG.normal([0.0, 5.0, -2.0], [1.0, 0.1, 7.0], size=(3000, 3))
    mask = RNG.uniform(size=A.shape) > 0.2
    A[:600] += 300.0
    location, scale = column_modes(A, mask)
    np.testing.assert_allclose((location - [0.0, 5.0, -2.0]) / scale, 0.0, atol=0.1)
    np.testing.assert_allclose(scale, [1.0, 0.1, 7.0], rtol=0.06)
    A[~mask] = 1e9  # what is not observed is not looked at
    np.testing.assert_array_equal(column_modes(A, mask), (location, scale))


def test_the_mode_of_one_group_is_not_that_of_all():
    """A group of three is wild to the mode of most columns; all cells as they are predict each other."""
    X, _ = make_blobs(300, 10, centers=3, random_state=1)
    mask = np.ones(X.shape, dtype=bool)
    location, spread = column_modes(X, mask)
    Z = (X - location) / spread
    assert np.median((np.abs(Z) > cell_start.ASIDE).mean(axis=0)) > 0.3
    predictor = predict_cells(Z, mask, 4)
    assert predictor.repair(Z, mask)[1].mean() < 0.03
    Z[::7, 2] += 40.0  # and bad cells are found all the same
    flags = predict_cells(Z, mask, 4).repair(Z, mask)[1]
    assert flags[::7, 2].all()
    assert flags.mean() < 0.05


def test_the_sample_shows_cells_of_every_column():
    mask = np.ones((5000, 4), dtype=bool)
    mask[:, 1], mask[17:29, 1] = False, True
    mask[:, 3], mask[1000:4000, 3] = False, True
    sample = start_sample(mask, 200, np.arange(5000), np.random.RandomState(0))
    assert mask[sample, 1].sum() == 12
    assert (np.diff(sample) > 0).all()
    assert len(sample) <= 212
    mask[4:, 3] = False
    mask[::50, 3] = True  # a hundred, of which a draw has four
    sample = start_sample(mask, 200, np.arange(5000), np.random.RandomState(0))
    assert mask[sample, 3].sum() >= cell_start.LEAST_CELLS
    assert len(start_sample(mask, 5000, np.arange(5000), np.random.RandomState(0))) == 5000
    assert (start_sample(mask, 5000, np.arange(9, 5000), np.random.RandomState(0)) >= 9).all()


def test_scales_about_zero():
    R = RNG.normal(size=(3000, 2)) * [1.0, 30.0]
    mask = np.ones(R.shape, dtype=bool)
    R[:500] = 1e6
    np.testing.assert_allclose(residual_scales(R, mask), [1.0, 30.0], rtol=0.06)


def test_shrinkage_of_singular_values():
    """Gavish and Donoho: eta(y) = sqrt((y^2 - beta - 1)^2 - 4 beta) / y, here over y once more."""
    n, d = 400, 100
    y = np.array([1.0, 1.4, 1.6, 3.0])
    found = singular_shrinkage(y**2, n, d)
    beta = 0.25
    right = np.sqrt(np.maximum((y**2 - beta - 1) ** 2 - 4 * beta, 0)) / y**2
    np.testing.assert_allclose(found, np.where(y > 1 + np.sqrt(beta), right, 0.0))
    np.testing.assert_allclose(singular_shrinkage(y**2 * 4, d, n), found)


@pytest.mark.parametrize("shape", [(80, 6), (20, 40)])
def test_a_cell_is_predicted_without_itself(shape):
    """To first order: the prediction of a cell does not move with the cell."""
    n, d = shape
    Y = RNG.normal(size=(n, 2)) @ RNG.normal(size=(2, d)) + 0.1 * RNG.normal(size=(n, d))
    model = Predictor.of(Y, 2)
    assert (model.leverage < 0.9).all()
    before = model.predict(Y)
    moved = Y.copy()
    moved[3, 1] += 5.0
    assert model.predict(moved)[3, 1] == pytest.approx(before[3, 1], abs=1e-9)
    assert np.abs(before - Y).mean() < 0.25


# ---------------------------------------------------------------- modes by hand
#: As if four fifths of what the shortest half leaves were foreign: the half is five sixths of the majority.
BEGIN = norm.ppf(0.5 + 0.5 * 5 / 6)


def settled(values, location, scale, window, moving):
    """Mean and deviation of the values within a window, corrected for the truncation, until they stay."""
    correction = 1 / truncnorm.var(-window, window)
    for _ in range(20):
        near = values[np.abs(values - location) <= window * scale]
        location = near.mean() if moving else 0.0
        before, scale = scale, np.sqrt(correction * np.mean((near - location) ** 2))
        if abs(scale - before) <= 1e-3 * before:
            break
    return location, scale


def columns():
    """With bad values, of even and odd lengths, and of few."""
    for n, bad in ((7, 1), (8, 2), (50, 10), (51, 0), (3, 1), (2, 0)):
        x = 3.0 + RNG.normal(size=n)
        x[:bad] += 20.0
        yield x


def longer(x):
    """The half of few values is short by chance: twice as long at forty, four times at most."""
    return min(1 + (40 / len(x)) ** 2, 4.0)


@pytest.mark.parametrize("n", [12, 20, 30, 50])
def test_modes_of_few_values_are_not_their_clumps(n):
    A = np.random.default_rng(n).normal(size=(n, 1000))
    mask = np.ones_like(A, dtype=bool)
    for scale in (column_modes(A, mask)[1], residual_scales(A, mask)):
        assert np.median(scale) == pytest.approx(1.0, abs=0.13)
        assert (scale > 0.4).mean() > 0.93
    A[: n // 5] += 12.0  # slips do not widen them
    assert np.median(column_modes(A, mask)[1]) == pytest.approx(1.0, abs=0.2)


def test_a_mode_begins_at_the_shortest_half():
    for x in columns():
        half = len(x) // 2 + 1
        ordered = np.sort(x)
        first = min(range(len(x) - half + 1), key=lambda i: ordered[i + half - 1] - ordered[i])
        radius = 0.5 * (ordered[first + half - 1] - ordered[first])
        want = settled(x, ordered[first] + radius, radius * longer(x) / BEGIN, cell_start.WINDOW, moving=True)
        A, mask = np.append(x, [-7.0, 1e9])[:, None], np.arange(len(x) + 2)[:, None] < len(x)
        np.testing.assert_allclose(np.ravel(column_modes(A, mask)), want)


def test_a_scale_about_zero_begins_at_the_lower_median():
    for x in columns():
        begin = np.sort(np.abs(x - 3.0))[(len(x) - 1) // 2] * longer(x) / BEGIN
        A, mask = np.append(x - 3.0, [0.0, 1e9])[:, None], np.arange(len(x) + 2)[:, None] < len(x)
        np.testing.assert_allclose(residual_scales(A, mask)[0], settled(x - 3.0, 0.0, begin, 2.5, False)[1])


def test_modes_of_equal_and_of_single_values():
    A = np.array([[4.0, 0.1], [9.0, 0.1], [9.0, 0.1]])
    location, scale = column_modes(A, np.array([[True, True], [False, True], [False, True]]))
    np.testing.assert_allclose(location, [4.0, 0.1])
    np.testing.assert_allclose(scale, 0.0, atol=1e-15)


def test_the_spread_of_columns_where_most_values_are_equal():
    """The mean deviation from the usual value; one where all are equal."""
    X = np.array([[1.0, 0.0, 3.0], [5.0, 0.0, 3.0], [2.0, 8.0, 3.0], [99.0, 0.0, 3.0]])
    mask = np.ones_like(X, dtype=bool)
    mask[3, 0] = False
    found = cell_start._usable(np.array([1.5, 0.0, 0.0]), X, mask, np.array([2.0, 0.0, 3.0]))
    np.testing.assert_allclose(found, [1.5, 2.0, 1.0])
    shifted = cell_start._usable(np.zeros(3), X, mask, np.array([2.0, -1.0, 3.0]))
    np.testing.assert_allclose(shifted, [4 / 3, 3.0, 1.0])


def test_a_row_is_lost_where_more_than_half_of_its_cells_are_repaired():
    mask = np.array([[True] * 4, [True] * 4, [True, True, True, False]])
    flags = np.array([[True, True, False, False], [True, True, True, False], [True, True, False, False]])
    assert cell_start._lost(flags, mask).tolist() == [False, True, True]


# ---------------------------------------------------------------- predictions by hand
@pytest.mark.parametrize("shape", [(60, 9), (12, 30)])
def test_a_predictor_is_shrunken_singular_vectors_in_units_of_the_noise(shape):
    n, d = shape
    unit = RNG.uniform(0.5, 2.0, size=d)
    Y = 5.0 + unit * (4 * RNG.normal(size=(n, 2)) @ RNG.normal(size=(2, d)) + RNG.normal(size=(n, d)))
    found = Predictor.of(Y, 3, unit)
    B = (Y - Y.mean(axis=0)) / unit
    _, s, Vt = np.linalg.svd(B, full_matrices=False)
    noise = (s[3:] ** 2).sum() / n / ((d - 3) * (1 - 3 / n))
    shrinkage = singular_shrinkage(s[:3] ** 2 / n / noise, n, d)
    np.testing.assert_allclose(found.shrinkage, shrinkage, atol=1e-9)
    signal = Vt[:3].T * shrinkage @ Vt[:3]
    np.testing.assert_allclose((found.V * found.shrinkage) @ found.V.T, signal, atol=1e-9)
    np.testing.assert_allclose(found.leverage, np.diag(signal), atol=1e-9)
    shifted = replace(found, shift=np.arange(d) / 10)
    want = Y - unit * (B - B @ signal) / (1 - np.diag(signal)) + np.arange(d) / 10
    np.testing.assert_allclose(shifted.predict(Y), want)


def test_as_many_vectors_as_columns_or_rows_are_no_error():
    for n, d in ((30, 3), (3, 30), (2, 2)):
        found = Predictor.of(RNG.normal(size=(n, d)), min(n, d))
        assert np.isfinite(found.predict(np.ones((1, d)))).all()


def test_a_column_that_is_its_own_vector_is_not_predicted_by_itself_alone():
    Y = RNG.normal(size=(200, 5)) * [1e4, 1.0, 1.0, 1.0, 1.0]
    assert Predictor.of(Y, 1).leverage.max() == 0.99


def constant_predictor(d=4):
    """One that knows the center alone."""
    return Predictor(
        np.zeros(d), np.ones(d), np.eye(d)[:, :1], np.zeros(1), np.zeros(d), np.zeros(d), np.ones(d)
    )


def test_cells_beyond_three_deviations_are_put_aside_and_beyond_two_and_a_half_repaired():
    Z = np.array([[2.4, 2.6, 2.9, 3.1]])
    mask = np.ones_like(Z, dtype=bool)
    predictor = replace(constant_predictor(), scale=np.full(4, 2.0))
    assert predictor.put_aside(2 * Z, mask, 2 * Z)[1].tolist() == [[False, False, False, True]]
    P, flags = predictor.repair(2 * Z, mask)
    assert flags.tolist() == [[False, True, True, True]]
    assert not P.any()
    mask[0, 2] = False
    assert predictor.repair(2 * Z, mask)[1].tolist() == [[False, True, False, True]]


def test_wild_cells_are_cut():
    """The Tl1 weight of cells 1.4 times as large: the largest cut value is that of a cell 1.55 off."""
    Z = np.array([[0.0, 1.0, -2.0, 50.0, 3.0]])
    mask = np.array([[True, True, True, True, False]])
    found = cell_start._cut(Z, mask)
    np.testing.assert_allclose(
        found, np.where(mask, Z / (1 + (1.4 * Z / cellwise.CELL_WIDTH) ** 2) ** 2, 0.0)
    )
    sizes = np.linspace(0.0, 10.0, 1001)[None]
    assert sizes[0, np.argmax(cell_start._cut(sizes, sizes >= 0))] == pytest.approx(1.55, abs=0.01)


def test_repaired_cells_are_predicted_from_the_others_in_full():
    """Not from the cut ones, which are too near the center."""
    V = np.full((10, 1), np.sqrt(0.1))
    predictor = Predictor(
        np.zeros(10), np.ones(10), V, np.ones(1), np.full(10, 0.1), np.zeros(10), np.full(10, 0.2)
    )
    row = np.full((1, 10), 1.0)
    row[0, 3] = 40.0
    P, flags = predictor.repair(row, np.ones_like(row, dtype=bool))
    np.testing.assert_allclose(P, 1.0, atol=0.02)
    assert np.flatnonzero(flags).tolist() == [3]


def standardized_table(n=400, noise=(0.1, 0.2, 0.4, 0.1, 0.2, 0.4), seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 1)) * np.sqrt(1 - np.square(noise)) + noise * rng.normal(size=(n, 6))
    return Z, np.ones((n, 6), dtype=bool), np.array(noise)


def test_predictions_are_made_in_units_of_the_noise():
    Z, mask, noise = standardized_table()
    found = predict_cells(Z, mask, 1)
    np.testing.assert_allclose(found.unit, found.scale, rtol=0.2)
    np.testing.assert_allclose(found.scale, noise, rtol=0.4)


def test_no_prediction_is_worse_than_the_column_or_better_than_allowed():
    noise = np.random.default_rng(0).normal(size=(30, 6))
    noise = (noise - noise.mean(axis=0)) / noise.std(axis=0)
    assert predict_cells(noise, np.ones_like(noise, dtype=bool), 2).scale.max() == 1.0
    Z, mask, _ = standardized_table()
    assert predict_cells(Z, mask, 1, np.full(6, 0.3)).scale.min() == 0.3


def test_predictions_lie_where_the_good_cells_do():
    """Bad cells on one side move the mean of a column; the shift takes it back."""
    Z, mask, noise = standardized_table(1000)
    bad = np.random.default_rng(1).uniform(size=Z.shape) < 0.2
    bad[:, 1:] = False
    Y = np.where(bad, 5.0, Z)
    P, flags = predict_cells(Y, mask, 1).repair(Y, mask)
    good = ~bad.any(axis=1)
    assert abs(np.median((Y - P)[good, 0])) < 0.1 * noise[0]
    assert flags[bad].all()
    assert np.median(np.abs(P - Z)[bad]) < 2.0 * noise[0]


# ---------------------------------------------------------------- the start
def accept_all(Y, given):
    """A rowwise method that trusts every row: principal axes."""
    center = Y.mean(axis=0)
    V = np.linalg.svd(Y - center, full_matrices=False)[2][:2].T
    return RowChoice(center, V, np.ones(len(Y), dtype=bool), lambda rows: np.ones(len(rows), dtype=bool))


def started(X, sample=None, k=2, choose=accept_all):
    mask = ~np.isnan(X)
    X = np.where(mask, X, 0.0)
    sample = np.arange(len(X)) if sample is None else sample
    return start_cells(X, mask, sample, find_levels(X[sample], mask[sample]), k, choose)


def noisy(n=300, d=9, k=2, units=1.0, seed=0):
    rng = np.random.default_rng(seed)
    Z = (rng.normal(size=(n, k)) * np.linspace(6, 4, k)) @ np.linalg.qr(rng.normal(size=(d, k)))[0].T
    return 7.0 + units * (Z + rng.normal(size=(n, d)))


@pytest.mark.parametrize("sample", [None, np.arange(0, 300, 2)], ids=["all", "sample"])
def test_a_start_is_in_units_of_the_noise_and_near_the_rows(sample):
    X = noisy()
    X[RNG.uniform(size=X.shape) < 0.05] = np.nan
    start = started(X, sample)
    np.testing.assert_allclose(start.unit, 1.0, rtol=0.5)
    assert start.rows.mean() > 0.97
    R = (X - start.location) / start.unit - start.plane.center - start.scores @ start.plane.V.T
    assert np.sqrt(np.nanmean(R**2)) == pytest.approx(np.sqrt(7 / 9), rel=0.2)
    np.testing.assert_allclose(np.nanmedian(R, axis=0), 0.0, atol=0.25)


@pytest.mark.parametrize("sample", [None, np.arange(0, 300, 2)], ids=["all", "sample"])
def test_units_of_the_columns_are_no_matter_to_a_start(sample):
    units = np.geomspace(1e-3, 1e3, 9)
    one, other = (started(noisy(units=u), sample) for u in (1.0, units))
    np.testing.assert_allclose(other.unit, units * one.unit, rtol=1e-6)
    np.testing.assert_allclose(other.least, units * one.least, rtol=1e-6)
    np.testing.assert_allclose(np.abs(other.scores), np.abs(one.scores), atol=1e-5)
    turned = other.vectors / units[:, None]
    projector = one.vectors @ np.linalg.pinv(one.vectors)
    np.testing.assert_allclose(projector @ turned, turned, atol=1e-6)
    # They go along with the axes of the table, the same in any units.
    axes = np.linalg.svd(noisy() - 7.0, full_matrices=False)[2][:2].T
    assert np.linalg.svd(np.linalg.qr(one.vectors)[0].T @ axes)[1].min() > 0.95


def test_directions_in_which_cells_go_together_are_in_units_of_the_data():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(9, 2)))[0]
    X = 20 * rng.normal(size=(300, 2)) @ axes.T + np.geomspace(0.2, 5.0, 9) * rng.normal(size=(300, 9))
    assert np.linalg.svd(np.linalg.qr(started(X).vectors)[0].T @ axes)[1].min() > 0.98


def test_rows_beside_the_sample_are_judged_as_those_in_it():
    seen, sample = [], np.arange(0, 300, 2)

    def choose(Y, given):
        seen.append(Y)

        def accepts(rows):
            seen.append(rows)
            return np.arange(len(rows)) % 3 > 0

        return replace(accept_all(Y, given), accepts=accepts)

    found = started(noisy(units=50.0), sample, choose=choose)
    np.testing.assert_allclose(seen[1][sample], seen[0], atol=1e-9)
    assert found.rows.mean() == pytest.approx(2 / 3, abs=0.02)


def test_as_many_components_as_columns():
    """A row needs no more than all of its cells; and one vector less predicts."""
    rng = np.random.default_rng(0)
    assert started(rng.normal(size=(100, 2))).rows.mean() > 0.9

    def nobody(Y, given):
        return replace(accept_all(Y, given), trusted=np.zeros(len(Y), dtype=bool))

    assert started(rng.normal(size=(100, 2)), choose=nobody).rows.all()
    strong = 30 * rng.normal(size=(300, 3)) @ rng.normal(size=(3, 4)) + rng.normal(size=(300, 4))
    assert started(strong, k=4).vectors.shape[1] == 3


def test_slips_are_repaired_before_rows_are_judged():
    X, slips = noisy(), np.zeros((300, 9), dtype=bool)
    slips[::10, 3] = True
    seen = []

    def choose(Y, given):
        seen.append(Y)
        return accept_all(Y, given)

    started(np.where(slips, 500.0, X), choose=choose)
    assert np.abs(seen[0]).max() < 30.0


def test_lost_rows_are_not_trusted():
    X = noisy()
    X[:3, :6] = 1000.0 * np.arange(1, 7)
    for sample in (None, np.arange(100, 300)):
        assert started(X, sample).rows[:3].tolist() == [False] * 3


@pytest.mark.parametrize(
    ("d", "k", "n", "vectors"), [(60, None, 300, 12), (18, None, 300, 8), (18, 3, 300, 5), (18, 9, 6, 5)]
)
def test_how_many_vectors_predict(d, k, n, vectors):
    """Two more than components, for which ten are allowed for, at most a third of the columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 17)) * 30 @ rng.normal(size=(17, d)) + 0.01 * rng.normal(size=(n, d))
    start = started(X, k=k)
    assert start.vectors.shape[1] == pytest.approx(vectors, abs=0 if n > 100 else 1)


def test_tables_of_two_columns_are_predicted_by_one_vector():
    assert started(noisy(d=2, k=1), k=1).vectors.shape[1] <= 1


def test_common_values_are_within_the_cutoff_of_cells():
    rng = np.random.default_rng(0)
    X = np.column_stack([noisy(), rng.uniform(size=300) < 0.03])
    start = started(X)
    reach = find_levels(X, np.ones_like(X, dtype=bool)).reach(start.location)[9]
    assert reach > 0.9
    assert start.least[9] == pytest.approx(reach / (0.9 * CELL_CUTOFF))
    assert (start.unit >= start.least).all()


def test_a_column_that_vectors_follow_keeps_seven_tenths_of_its_deviations():
    """In a table of noise, cells are not predicted, so that all of their deviation is noise."""
    X = np.random.default_rng(0).normal(size=(400, 6)) * 3.0
    start = started(X, k=4)
    np.testing.assert_allclose(start.least, 0.7 * 3.0, rtol=0.15)
    np.testing.assert_allclose(start.unit, 3.0, rtol=0.35)


def test_rows_need_more_cells_than_there_are_components():
    X = noisy()
    X[0, 2:], X[1, 3:] = np.nan, np.nan
    start = started(X)
    assert start.rows[:2].tolist() == [False, True]


def test_where_nothing_can_be_trusted_all_that_can_be_used_is():
    def nobody(Y, given):
        found = accept_all(Y, given)
        return replace(found, trusted=np.zeros(len(Y), dtype=bool))

    X = noisy()
    X[0, 2:] = np.nan
    assert started(X, choose=nobody).rows.tolist() == [False] + [True] * 299

    def three(Y, given):
        return replace(accept_all(Y, given), trusted=np.arange(len(Y)) < 4)

    assert started(X, choose=three).rows.sum() == 3


def test_settled_units_are_the_scales_of_residuals():
    rng = np.random.default_rng(0)
    X = noisy(n=200) - 7.0
    mask = rng.uniform(size=X.shape) > 0.1
    rows = np.arange(200) < 180
    V = np.linalg.svd(X, full_matrices=False)[2][:2].T
    plane, least = CellPlane(np.full(9, 0.1), V, np.ones(2)), np.full(9, 0.2)
    least[4] = 6.0
    nothing = np.zeros((9, 0))
    start = CellStart(np.zeros(9), np.full(9, 2.0), plane, X @ V, rows, nothing, least)
    values = np.where(mask, X, 0.0)
    fit = minimize_cell_loss(Cells(values, mask), plane, X @ V, rows, max_iter=4, tol=1e-6)
    R = values - fit.plane.center - fit.scores @ fit.plane.V.T
    W = np.where(mask, 1 / (1 + (R / cellwise.CELL_WIDTH) ** 2) ** 2, 0.0)
    R /= np.sqrt(cellwise.residual_variances(W, fit.plane.V))
    seen = mask[rows].sum(axis=0)
    factor = residual_scales(R[rows], mask[rows]) * np.sqrt(seen / (seen - 3))
    assert (np.delete(factor, 4) > 0.1).all()
    factor[4] = 3.0
    cells = Cells(values.copy(), mask)
    found = settle_units(cells, start, 1e-6)
    np.testing.assert_allclose(found.unit, 2.0 * factor)
    np.testing.assert_allclose(cells.values, values / factor)
    np.testing.assert_allclose(
        found.plane.center + found.scores @ found.plane.V.T,
        (fit.plane.center + fit.scores @ fit.plane.V.T) / factor,
        atol=1e-9,
    )


@pytest.mark.parametrize("seed", range(10))
def test_the_mode_of_counts_hangs_on_no_rounding(seed):
    """Many halves of whole numbers are as short as each other."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.uniform(0.3, 6, 10), size=(80, 10)).astype(float)
    mask = np.ones(X.shape, dtype=bool)
    location, scale = column_modes(X, mask)
    other, wider = column_modes(X * 1.7 + 3.0, mask)
    np.testing.assert_allclose(other, location * 1.7 + 3.0, atol=1e-9)
    np.testing.assert_allclose(wider, scale * 1.7, atol=1e-9)
