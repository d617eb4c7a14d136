"""A fitted plane of cells as a value, and the limits of its rows."""

import numpy as np
import pytest
from scipy.stats import chi2

from tl1pca.solvers import cell_fit, cellwise
from tl1pca.solvers.cell_fit import CellModel
from tl1pca.solvers.cell_rows import Common, row_cutoffs
from tl1pca.solvers.cell_start import RowChoice
from tl1pca.solvers.cellwise import CELL_CUTOFF, CellPlane
from tl1pca.solvers.plane import LEVEL

RNG = np.random.default_rng(0)
V = np.linalg.qr(RNG.normal(size=(6, 2)))[0]
MODEL = CellModel(
    np.arange(6.0),
    np.full(6, 2.0),
    CellPlane(np.zeros(6), V, np.array([9.0, 4.0])),
    0.02,
    0.0,
    Common(np.zeros((6, 0)), np.zeros(0)),
    np.zeros((2, 6)),
)


def rows(n=50):
    scores = RNG.normal(size=(n, 2)) * [3.0, 2.0]
    return MODEL.location + MODEL.unit * (scores @ V.T + 0.1 * RNG.normal(size=(n, 6))), scores


def test_cells_are_in_units_of_their_columns():
    X, _ = rows(4)
    X[1, 2] = np.nan
    cells = MODEL.cells(X)
    assert not cells.mask[1, 2]
    assert cells.mask.sum() == 23
    np.testing.assert_allclose(cells.values[0], (X[0] - np.arange(6.0)) / 2.0)


def test_scores_flags_and_what_cells_should_be():
    X, scores = rows()
    bad = X.copy()
    bad[3, 1] += 2.0 * 9.0
    cells = MODEL.cells(bad)
    found = MODEL.assess(cells)
    np.testing.assert_allclose(found.scores, scores, atol=0.8)
    assert found.flags[3, 1]
    assert found.flags.mean() < 0.02
    assert (np.abs(found.residuals[found.flags]) > CELL_CUTOFF).all()
    np.testing.assert_allclose(MODEL.fitted(found)[3, 1], X[3, 1], atol=2.0)
    sd, od = MODEL.distances(cells, found)
    np.testing.assert_allclose(sd, np.sqrt((found.scores**2 / [9.0, 4.0]).sum(axis=1)), rtol=1e-9)
    assert (od >= 0).all()


def test_limits_of_rows():
    at = (np.arange(1000) + 0.5) / 1000
    od, sd = np.sqrt(chi2.ppf(at, 10)), np.sqrt(chi2.ppf(at[::-1], 3))
    rows = np.arange(1300) < 1000
    limits = row_cutoffs(sd, od, rows[:1000], 3)
    assert limits.score == pytest.approx(np.sqrt(chi2.ppf(LEVEL, 3)), rel=0.03)
    assert limits.orthogonal == pytest.approx(np.sqrt(chi2.ppf(LEVEL, 10)), rel=0.03)
    with_bad = np.append(od, np.full(300, 40.0))
    found = row_cutoffs(np.append(sd, np.full(300, 90.0)), with_bad, rows, 3)
    assert found == limits
    assert row_cutoffs(2.0 * sd, od, rows[:1000], 3).score == pytest.approx(2.0 * limits.score)
    nothing = np.zeros(20)
    assert row_cutoffs(nothing, nothing, np.ones(20, dtype=bool), 2).orthogonal == 1e-9


def test_what_columns_add_to_the_distances_of_rows():
    X, _ = rows(6)
    X[0, 3] += 2.0 * 30.0  # a bad cell is repaired: it adds nothing
    X[1, 2] = np.nan
    X[2] = MODEL.location  # a row at the center: nothing to divide, evenly
    cells = MODEL.cells(X)
    found = MODEL.assess(cells)
    sd, od = MODEL.distances(cells, found)
    inside, off, residuals, fitted = MODEL.explained(cells, found)
    fit = found.scores @ V.T
    precision = V @ np.diag([1 / 9, 1 / 4]) @ V.T
    np.testing.assert_allclose(inside, fit * (fit @ precision), atol=1e-12)
    np.testing.assert_allclose(inside.sum(axis=1), sd**2, atol=1e-12)
    np.testing.assert_allclose(off.sum(axis=1), od**2, atol=1e-12)
    assert found.flags[0, 3]
    assert off[0, 3] == off[1, 2] == 0.0
    np.testing.assert_allclose(off[2], off[2, 0])
    squares = np.where(found.flags | ~cells.mask, 0.0, found.residuals) ** 2
    others = np.delete(np.arange(6), 2)
    shares = squares[others] / squares[others].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(off[others], od[others, None] ** 2 * shares)
    np.testing.assert_array_equal(np.isnan(residuals), ~cells.mask)
    np.testing.assert_allclose(residuals[cells.mask], found.residuals[cells.mask])
    np.testing.assert_allclose(fitted, MODEL.location + 2.0 * fit)


def test_a_component_without_variance_adds_nothing():
    plane = CellPlane(np.ones(6), V, np.array([9e-12, 0.0]))
    model = CellModel(np.arange(6.0), np.full(6, 2.0), plane, 0.02, 0.0, MODEL.common, MODEL.tails)
    cells = model.cells(rows(5)[0])
    found = model.assess(cells)
    first = np.outer(found.scores[:, 0], V[:, 0])
    inside, _, _, fitted = model.explained(cells, found)
    np.testing.assert_allclose(inside, (found.scores @ V.T) * first / 9e-12)
    np.testing.assert_allclose(fitted, np.arange(6.0) + 2.0 * (1.0 + found.scores @ V.T))


def test_variances_put_the_median_row_at_its_usual_distance():
    scores = np.random.default_rng(1).normal(size=(401, 3)) * [5.0, 3.0, 2.0]
    for factor in (1.0, 100.0):
        plane = cell_fit._with_usual_variances(
            CellPlane(np.zeros(6), np.eye(6)[:, :3], factor * np.array([25.0, 9.0, 4.0])), scores
        )
        assert np.median((scores**2 / plane.variances).sum(axis=1)) == pytest.approx(chi2.median(3))
        np.testing.assert_allclose(plane.variances / plane.variances[2], np.array([25.0, 9.0, 4.0]) / 4.0)
    still = CellPlane(np.zeros(6), np.eye(6)[:, :3], np.ones(3))
    np.testing.assert_array_equal(
        cell_fit._with_usual_variances(still, np.zeros((5, 3))).variances, still.variances
    )
    near = cell_fit._with_usual_variances(still, np.full((5, 3), 0.5))  # less than one is no zero
    np.testing.assert_allclose(near.variances, 0.75 / chi2.median(3))


# ---------------------------------------------------------------- the whole
def drawn(n=200, seed=0):
    """Two components of eight columns of their own units, with slips, missing cells and bad rows."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(8, 3)))[0]
    Z = (rng.normal(size=(n, 2)) * [6.0, 4.0]) @ axes[:, :2].T + rng.normal(size=(n, 8))
    Z[: n // 10] += 15.0 * axes[:, 2]
    slips = rng.uniform(size=Z.shape) < 0.05
    Z[slips] += 40.0
    mask = rng.uniform(size=Z.shape) > 0.05
    return Z, mask, slips & mask, axes[:, :2]


def choice(accepted):
    """A rowwise method that knows the plane of the table and which rows are good."""

    def choose(Y, given):
        axes = np.linalg.svd(Y[accepted] - Y[accepted].mean(axis=0), full_matrices=False)[2][:2].T
        center = Y[accepted].mean(axis=0)

        def accepts(rows):
            away = rows - center
            return np.linalg.norm(away - away @ axes @ axes.T, axis=1) < 8.0

        return RowChoice(center, axes, accepted, accepts)

    return choose


def fitted_table(sample=None, n=200, units=1.0, **options):
    Z, mask, slips, axes = drawn(n)
    sample = np.arange(n) if sample is None else sample
    good = np.arange(n) >= n // 10
    X = np.where(mask, 7.0 + units * Z, 0.0)
    options = {"max_iter": 100, "tol": 1e-8} | options
    solution = cell_fit.fit_cells(X, mask, sample, 2, choice(good[sample]), **options)
    return solution, 7.0 + units * Z, mask, slips, good, axes


def angle(solution, axes, units=1.0):
    found = np.linalg.qr((solution.model.unit / units)[:, None] * solution.model.plane.V)[0]
    return np.degrees(np.arcsin(np.linalg.norm(axes - found @ (found.T @ axes), 2)))


@pytest.mark.parametrize("sample", [None, np.arange(0, 200, 2)], ids=["all", "sample"])
def test_a_fit_says_of_its_rows_what_its_model_says_of_them(sample):
    solution, X, mask, slips, good, axes = fitted_table(sample)
    assert angle(solution, axes) < 5.0
    np.testing.assert_allclose(solution.model.unit, 1.0, rtol=0.5)
    assert (solution.rows != good).mean() < 0.1
    cells = solution.model.cells(np.where(mask, X, np.nan))
    found = solution.model.assess(cells)
    for name in ("scores", "residuals", "weights"):
        np.testing.assert_allclose(getattr(solution.found, name), getattr(found, name), atol=1e-6)
    np.testing.assert_array_equal(solution.found.flags, found.flags)
    inside, off = solution.model.distances(cells, found)
    np.testing.assert_allclose(solution.score_distances, inside, rtol=1e-6)
    np.testing.assert_allclose(solution.orthogonal_distances, off, rtol=1e-6)
    assert solution.model.rate == found.flags[solution.rows].sum() / mask[solution.rows].sum()
    assert found.flags[slips & good[:, None]].mean() > 0.97
    assert solution.converged
    assert (np.diff(solution.path) <= 0).all()


def test_bad_rows_have_something_in_common():
    solution, *_, good, _ = fitted_table()
    assert len(solution.model.common.variances) == 1
    assert np.median(solution.orthogonal_distances[~good]) > 3.0 * np.sqrt(6)
    assert np.median(solution.orthogonal_distances[good]) == pytest.approx(np.sqrt(6), rel=0.15)


@pytest.mark.parametrize("sample", [None, np.arange(0, 200, 2)], ids=["all", "sample"])
def test_blocks_of_rows_and_units_of_columns_are_no_matter(sample, monkeypatch):
    solution, *_ = fitted_table(sample)
    units = np.geomspace(1e-3, 1e3, 8)
    other, *_ = fitted_table(sample, units=units)
    np.testing.assert_allclose(other.model.unit, units * solution.model.unit, rtol=1e-6)
    np.testing.assert_allclose(other.found.residuals, solution.found.residuals, atol=1e-5)
    np.testing.assert_allclose(other.orthogonal_distances, solution.orthogonal_distances, rtol=1e-5)
    monkeypatch.setattr(cellwise, "BLOCK", 1)  # blocks of 64 rows
    parts, *_ = fitted_table(sample)
    np.testing.assert_allclose(parts.found.residuals, solution.found.residuals, atol=1e-6)
    np.testing.assert_allclose(parts.orthogonal_distances, solution.orthogonal_distances, rtol=1e-6)


def test_a_start_from_a_sample_is_near_the_fit_of_all_rows():
    """One step of the iteration, so that what it starts from shows."""
    sample = np.arange(0, 600, 3)
    begun = fitted_table(sample, n=600, max_iter=1, tol=0.0)[0]
    whole, *_, axes = fitted_table(sample, n=600)
    assert begun.path[0] < 1.02 * whole.path[-1]
    assert angle(whole, axes) < 3.0


def test_values_that_were_blurred_are_taken_as_they_are_in_the_end():
    Z, mask, *_ = drawn()
    Z = np.column_stack([Z, np.random.default_rng(3).integers(0, 3, size=200)])
    mask = np.column_stack([mask, np.ones(200, dtype=bool)])
    good = np.arange(200) >= 20
    X = np.where(mask, 7.0 + Z, 0.0)
    solution = cell_fit.fit_cells(X.copy(), mask, np.arange(200), 2, choice(good), max_iter=100, tol=1e-8)
    model = solution.model
    cells = model.cells(np.where(mask, X, np.nan))
    np.testing.assert_allclose(solution.found.residuals, model.assess(cells).residuals, atol=1e-6)
    assert not solution.found.flags[good, 8].any()
