"""The parts of the cellwise fit: small systems at once, the loss, scores of rows, repaired rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from cells import design
from support import subspace_angle
from tl1pca import TL1CellPCA
from tl1pca.solvers import cell_start, cellwise
from tl1pca.solvers.cell_start import (
    Predictor,
    column_modes,
    predict_cells,
    residual_scales,
    singular_shrinkage,
)
from tl1pca.solvers.cellwise import (
    CellLoss,
    CellPlane,
    Cells,
    Loadings,
    assess_cells,
    judge_cells,
    minimize_cell_loss,
    orthonormal,
    principal_axes,
    residual_variances,
    robust_scores,
    solve_scores,
    square_tl1,
    square_tl1_weight,
    standardized,
)


def low_rank(n=80, d=12, k=2, seed=0):
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.normal(size=(d, k)))[0]
    U = rng.normal(size=(n, k)) * np.linspace(10, 6, k)
    return U @ V.T + rng.normal(size=(n, d)), U, V, rng


def test_weight_is_the_slope_in_the_square():
    u2, step = np.linspace(0.0, 20.0, 50), 1e-6
    slope = (square_tl1(u2 + step) - square_tl1(u2)) / step
    np.testing.assert_allclose(square_tl1_weight(u2), slope, atol=1e-5)
    assert (np.diff(square_tl1_weight(u2)) < 0).all()  # concave: weighted squares majorize the loss


def test_all_rows_at_once_are_least_squares_row_by_row():
    Z, _, V, rng = low_rank()
    W = rng.uniform(size=Z.shape)
    want = [np.linalg.lstsq(np.sqrt(w)[:, None] * V, np.sqrt(w) * z, rcond=None)[0] for w, z in zip(W, Z)]
    np.testing.assert_allclose(solve_scores(Z, W, V), want, atol=1e-8)


@pytest.mark.parametrize("kind", ["all", "some left out", "alike"])
def test_variance_of_residuals_is_that_of_the_weighted_fit(kind):
    _, _, V, rng = low_rank()
    W = {
        "all": np.ones((3, len(V))),
        "some left out": (rng.uniform(size=(3, len(V))) < 0.7).astype(float),
        "alike": np.full((3, len(V)), 0.4),
    }[kind]
    for w, found in zip(W, residual_variances(W, V)):
        left = np.eye(len(V)) - V @ np.linalg.inv(V.T * w @ V) @ (V.T * w)
        np.testing.assert_allclose(found, np.diag(left @ left.T), atol=1e-8)


def test_the_loss_of_cells_is_95_percent_efficient():
    """(E psi')^2 / E psi^2 of the residuals of good cells, psi the slope of the loss."""

    def psi(r):
        return r * square_tl1_weight((r / cellwise.CELL_WIDTH) ** 2)

    def mean(function):
        return quad(lambda r: function(r) * norm.pdf(r), -10, 10)[0]

    slope = mean(lambda r: (psi(r + 1e-5) - psi(r - 1e-5)) / 2e-5)
    assert slope**2 / mean(lambda r: psi(r) ** 2) == pytest.approx(0.95, abs=0.003)


def test_the_loss_of_a_row_is_half_of_the_largest_at_twice_the_usual_one():
    loss = CellLoss(row_scale=0.3)
    t2 = np.array([0.6**2, 0.01, 0.2])
    assert loss.value(t2[:1], np.array([8])) == pytest.approx(4.0)
    for i in range(3):  # the weight of a row is the slope of the loss in its square, one at zero
        step = np.eye(3)[i] * 1e-7
        slope = (loss.value(t2 + step, np.ones(3)) - loss.value(t2, np.ones(3))) / 1e-7
        assert loss.row_weights(t2)[i] == pytest.approx(slope * 0.6**2, rel=1e-5)
    assert loss.row_weights(np.zeros(1)) == [1.0]


def test_losses_of_rows_are_means_over_the_cells_seen():
    R = np.array([[cellwise.CELL_WIDTH, 1e9, 0.0], [cellwise.CELL_WIDTH, 0.0, 9.0], [1.0, 1.0, 1.0]])
    mask = np.array([[True, True, True], [True, False, False], [False, False, False]])
    weights = CellLoss.cell_weights(R, mask)
    np.testing.assert_allclose(CellLoss.row_losses(R, mask), [0.5, 0.5, 0.0])
    np.testing.assert_allclose(weights, [[0.25, 0.0, 1.0], [0.25, 0.0, 0.0], [0.0, 0.0, 0.0]], atol=1e-12)


def test_standardized_cells():
    X, mask = np.array([[5.0, 1e300, 3.0]]), np.array([[True, True, False]])
    found = standardized(X, mask, np.array([1.0, 0.0, 1.0]), np.array([2.0, 1e-300, 2.0]))
    np.testing.assert_array_equal(found, [[2.0, cellwise.REACH, 0.0]])
    assert standardized(-X, mask, np.zeros(3), np.full(3, 1e-300))[0, 1] == -cellwise.REACH


@pytest.mark.parametrize(("d", "rows"), [(512, 128), (4096, 64), (300, 218)])
def test_blocks_have_some_65000_cells_and_at_least_64_rows(d, rows):
    n = 2 * rows + 1
    parts = list(Cells(np.empty((n, d)), np.empty((n, d), dtype=bool)).blocks())
    assert parts == [slice(0, rows), slice(rows, 2 * rows), slice(2 * rows, n)]


def test_a_cell_that_decides_its_row_keeps_a_tenth_of_its_noise():
    np.testing.assert_allclose(residual_variances(np.ones((1, 3)), np.eye(3)[:, :1]), [[0.1, 1.0, 1.0]])


def test_a_column_without_weight_keeps_its_loadings():
    Z, U, V, rng = low_rank()
    before = CellPlane(rng.normal(size=12), V, np.ones(2))
    W = rng.uniform(size=Z.shape)
    W[:, 3] = 0.0
    loadings = Loadings(12, 2)
    loadings.add(Z[:30], W[:30], U[:30])
    loadings.add(Z[30:], W[30:], U[30:])
    center, found = loadings.solve(before)
    np.testing.assert_allclose(np.append(center[3], found[3]), np.append(before.center[3], V[3]))
    design = np.column_stack([np.ones(80), U])
    for j in (0, 7):
        w = np.sqrt(W[:, j])
        want = np.linalg.lstsq(w[:, None] * design, w * Z[:, j], rcond=None)[0]
        np.testing.assert_allclose(np.append(center[j], found[j]), want, atol=1e-5)


def test_variances_of_few_rows_and_of_small_scores():
    U = np.array([[0.3], [0.1], [7.0]])
    plane = orthonormal(np.zeros(2), np.eye(2)[:, :1], U, np.array([True, True, False]))[0]
    assert plane.variances == pytest.approx([0.02])
    assert orthonormal(np.zeros(2), np.eye(2)[:, :1], U, np.array([True, False, False]))[0].variances == [0.0]


def test_principal_axes_of_oblique_loadings():
    _, _, V, rng = low_rank(k=3)
    oblique, variances = V @ rng.normal(size=(3, 3)), np.array([4.0, 1.0, 0.25])
    axes, deviations = principal_axes(oblique, variances)
    np.testing.assert_allclose((axes * deviations**2) @ axes.T, (oblique * variances) @ oblique.T, atol=1e-9)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-9)
    small, tiny = principal_axes(1e-9 * oblique, variances)
    np.testing.assert_allclose(np.abs(np.sum(small * axes, axis=0)), 1.0)
    np.testing.assert_allclose(tiny, 1e-9 * deviations)
    axes, deviations = principal_axes(oblique, np.array([4.0, 0.0, 0.25]))
    assert deviations[2] < 1e-9
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(axes @ (axes.T @ V), V, atol=1e-9)  # the plane is as before
    axes, deviations = principal_axes(oblique, np.zeros(3))
    assert not deviations.any()
    np.testing.assert_allclose(axes @ (axes.T @ V), V, atol=1e-9)


def test_a_row_without_cells_is_at_the_center():
    _, _, V, _ = low_rank()
    assert not solve_scores(np.ones((1, len(V))), np.zeros((1, len(V))), V).any()


def test_orthonormal_keeps_the_fit():
    _, U, V, rng = low_rank()
    turned, center = V @ rng.normal(size=(2, 2)), rng.normal(size=len(V))
    rows = rng.uniform(size=len(U)) < 0.7
    plane, scores = orthonormal(center, turned, U, rows)
    np.testing.assert_allclose(plane.center + scores @ plane.V.T, center + U @ turned.T, atol=1e-9)
    np.testing.assert_allclose(plane.V.T @ plane.V, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(scores[rows].mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.cov(scores[rows].T), np.diag(plane.variances), atol=1e-8)


def explicit_loss(cells, plane, U, rows, scale):
    R = cells.values - plane.center - U @ plane.V.T
    h = np.where(cells.mask, (R / cellwise.CELL_WIDTH) ** 2 / (1 + (R / cellwise.CELL_WIDTH) ** 2), 0)
    m = cells.mask.sum(axis=1)
    t2 = h.sum(axis=1) / np.maximum(m, 1)
    u2 = t2 / (cellwise.ROW_WIDTH * scale) ** 2
    return float((m * u2 / (1 + u2))[rows].sum())


def test_the_loss_never_rises_and_is_what_is_written():
    Z, U, V, rng = low_rank(seed=1)
    Z[rng.uniform(size=Z.shape) < 0.1] = 15.0
    mask = rng.uniform(size=Z.shape) > 0.1
    cells, rows = Cells(np.where(mask, Z, 0.0), mask), np.arange(len(Z)) < 70
    Q = np.linalg.qr(V + 0.2 * rng.normal(size=V.shape))[0]
    plane = CellPlane(np.zeros(len(V)), Q, np.ones(2))
    scale = cellwise._row_scale(cells, plane, U, rows)
    fit = minimize_cell_loss(cells, plane, U, rows, max_iter=60, tol=0.0)
    assert len(fit.path) > 10
    assert (np.diff(fit.path) <= 0).all()
    assert fit.path[0] == pytest.approx(explicit_loss(cells, plane, U, rows, scale))
    assert fit.path[-1] == pytest.approx(explicit_loss(cells, fit.plane, fit.scores, rows, scale))


def test_one_iteration_by_hand():
    """Scores by the weights of the cells, then loadings by these and those of the rows."""
    Z, U, V, rng = low_rank(n=30, d=6, seed=3)
    Z += 2.0
    Z[0] += 9.0
    mask, rows = rng.uniform(size=Z.shape) > 0.1, np.arange(30) < 25
    cells, plane = Cells(np.where(mask, Z, 0.0), mask), CellPlane(np.full(6, 2.0), V, np.ones(2))
    R = np.where(mask, Z - 2.0 - U @ V.T, 0.0)
    u2 = (R / cellwise.CELL_WIDTH) ** 2
    t2 = (u2 / (1 + u2)).sum(axis=1) / mask.sum(axis=1)
    scale = np.sqrt(np.median(t2[rows]))
    assert cellwise._row_scale(cells, plane, U, rows) == pytest.approx(scale)
    W = np.where(mask, 1 / (1 + u2) ** 2, 0.0)
    new = np.array([
        np.linalg.lstsq(np.sqrt(w)[:, None] * V, np.sqrt(w) * (z - 2.0), rcond=None)[0]
        for w, z in zip(W, cells.values)
    ])  # fmt: skip
    W *= (rows / (1 + t2 / (cellwise.ROW_WIDTH * scale) ** 2) ** 2)[:, None]
    design = np.column_stack([np.ones(30), new])
    B = np.array([
        np.linalg.lstsq(np.sqrt(w)[:, None] * design, np.sqrt(w) * z, rcond=None)[0]
        for w, z in zip(W.T, cells.values.T)
    ])  # fmt: skip
    fit = minimize_cell_loss(cells, plane, U, rows, max_iter=1, tol=-np.inf)
    np.testing.assert_allclose(fit.plane.center + fit.scores @ fit.plane.V.T, design @ B.T, atol=1e-5)


def test_when_it_stops():
    Z, U, V, rng = low_rank(seed=1)
    Z[rng.uniform(size=Z.shape) < 0.1] = 15.0
    cells, rows = Cells(Z, np.ones_like(Z, dtype=bool)), np.ones(len(Z), dtype=bool)
    plane = CellPlane(np.zeros(len(V)), np.linalg.qr(V + 0.2 * rng.normal(size=V.shape))[0], np.ones(2))
    fit = minimize_cell_loss(cells, plane, U, rows, max_iter=3, tol=0.0)
    assert (len(fit.path), fit.converged) == (4, False)
    fit = minimize_cell_loss(cells, plane, U, rows, max_iter=100, tol=1e-4)
    gains = -np.diff(fit.path) / fit.path[1:]
    assert fit.converged
    assert gains[-1] <= 1e-4 < gains[:-1].min()
    assert len(minimize_cell_loss(cells, plane, U, rows, max_iter=100, tol=1e9).path) == 2


def test_rows_outside_do_not_shape_the_plane():
    Z, U, V, _ = low_rank()
    rows = np.arange(len(Z)) < 60
    mask, plane = np.ones_like(Z, dtype=bool), CellPlane(np.zeros(len(V)), V, np.ones(2))
    first = minimize_cell_loss(Cells(Z, mask), plane, U, rows, max_iter=5, tol=0.0)
    Y = Z.copy()
    Y[60:] += 3.0
    second = minimize_cell_loss(Cells(Y, mask), plane, U, rows, max_iter=5, tol=0.0)
    np.testing.assert_allclose(first.plane.V @ first.plane.V.T, second.plane.V @ second.plane.V.T, atol=1e-9)


def test_blocks_are_the_whole(monkeypatch):
    Z, U, V, _ = low_rank(n=300)
    cells, plane = Cells(Z, np.ones_like(Z, dtype=bool)), CellPlane(np.zeros(len(V)), V, np.ones(2))
    rows = np.ones(len(Z), dtype=bool)
    whole = minimize_cell_loss(cells, plane, U, rows, max_iter=3, tol=0.0)
    monkeypatch.setattr(cellwise, "BLOCK", 64 * len(V))
    parts = minimize_cell_loss(cells, plane, U, rows, max_iter=3, tol=0.0)
    np.testing.assert_allclose(whole.plane.V, parts.plane.V, atol=1e-9)


@pytest.mark.parametrize("share", [0.2, 0.4])
def test_scores_survive_bad_cells_in_a_row(share):
    rng = np.random.default_rng(0)
    d, k = 30, 3
    V = np.linalg.qr(rng.normal(size=(d, k)))[0]
    U = rng.normal(size=(200, k)) * 8.0
    Z = U @ V.T + rng.normal(size=(200, d))
    for row in Z:
        row[rng.permutation(d)[: round(share * d)]] = 12.0  # on one side, the worst case
    cells = Cells(Z, np.ones_like(Z, dtype=bool))
    found = robust_scores(cells, CellPlane(np.zeros(d), V, np.full(k, 64.0)))
    off = np.abs(found - U).max(axis=1)
    assert np.mean(off < 5.0) > (0.99 if share < 0.3 else 0.9)
    squares = np.abs(Z @ V - U).max(axis=1)
    assert np.mean(squares < 5.0) < 0.5  # least squares does not


def test_scores_are_held_by_their_variances_where_cells_are_few():
    rng = np.random.default_rng(1)
    V = np.linalg.qr(rng.normal(size=(10, 3)))[0]
    U = rng.normal(size=(400, 3)) * 4.0
    Z = U @ V.T + 0.5 * rng.normal(size=(400, 10))
    for row in Z:
        row[rng.permutation(10)[:3]] = rng.choice([-15.0, 15.0], size=3)
    cells = Cells(Z, np.ones_like(Z, dtype=bool))
    held, free = (
        np.abs(robust_scores(cells, CellPlane(np.zeros(10), V, variances)) - U).max(axis=1)
        for variances in (np.full(3, 16.0), np.full(3, 1e9))
    )
    assert np.mean(held > 5) < 0.6 * np.mean(free > 5)


def test_scores_of_rows_far_out_survive_bad_cells():
    """The convex problem first: weights that fall to nothing would start from cells with small loadings."""
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(30, 3)))[0]
    U = rng.normal(size=(200, 3)) * 80.0
    Z = U @ V.T + rng.normal(size=(200, 30))
    for row in Z:
        row[rng.permutation(30)[:6]] += rng.choice([-30.0, 30.0], size=6)
    cells = Cells(Z, np.ones_like(Z, dtype=bool))
    off = np.abs(robust_scores(cells, CellPlane(np.zeros(30), V, np.full(3, 64.0))) - U).max(axis=1)
    assert np.mean(off < 5.0) > 0.9


@pytest.mark.parametrize("held", [0, 1])
def test_scores_are_settled(held):
    """The slope of the loss is zero; for those held, that of their squares over the variance."""
    Z, _, V, rng = low_rank(n=60, d=12, k=3)
    Z[rng.uniform(size=Z.shape) < 0.15] += 12.0
    mask = rng.uniform(size=Z.shape) > 0.1
    mask[::2] = True
    variances = np.array([90.0, 40.0, 2.0])
    plane = CellPlane(np.full(12, 5.0), V, variances)
    cells = Cells(np.where(mask, Z + 5.0, 0.0), mask)
    U = robust_scores(cells, plane, held)
    R = cells.values - 5.0 - U @ V.T
    W = np.where(mask, 1 / (1 + (R / cellwise.CELL_WIDTH) ** 2) ** 2, 0.0)
    slope = (W * R) @ V
    drawn = U / variances * ((np.arange(3) >= 3 - held) | ~mask.all(axis=1)[:, None])
    np.testing.assert_allclose(slope, drawn, atol=1e-3)


@pytest.mark.parametrize("k", [1, 2, 7, cellwise.FEW, cellwise.FEW + 1])
@pytest.mark.parametrize("prior", ["one", "each", "rows"])
def test_scores_of_all_rows_solve_their_own_systems(k, prior):
    rng = np.random.default_rng(k)
    V, W = np.linalg.qr(rng.normal(size=(40, k)))[0], rng.uniform(size=(30, 40))
    W[0], W[1, 1:] = 0.0, 0.0  # rows that say nothing, or next to nothing
    Y = rng.normal(size=(30, 40))
    held = {"one": 1e-10, "each": rng.uniform(size=k), "rows": rng.uniform(size=(30, k))}[prior]
    before = W.copy(), Y.copy()
    found = solve_scores(Y, W, V, held)
    np.testing.assert_array_equal((W, Y), before)
    for u, w, y, more in zip(found, W, Y, np.broadcast_to(held, (30, k))):
        A = (V.T * w) @ V + np.diag(more)
        np.testing.assert_allclose(A @ u, V.T @ (w * y), atol=1e-9)


def test_scores_of_rows_with_gaps_are_held():
    """And the last scores of all rows."""
    mask = np.ones((4, 6), dtype=bool)
    mask[1, 5:], mask[2, 3:], mask[3] = False, False, False
    free, held = cellwise.RIDGE, [0.5, 0.25]
    np.testing.assert_allclose(
        cellwise.held_scores(mask, np.array([2.0, 4.0])), [[free] * 2, held, held, held]
    )
    last = cellwise.held_scores(mask, np.array([2.0, 4.0]), 1)
    np.testing.assert_allclose(last, [[free, 0.25]] + [held] * 3)


def test_a_bad_cell_does_not_decide_what_no_other_cell_of_its_row_tells():
    """Two groups of columns: of the second one a single cell is seen, and it is far off."""
    rng = np.random.default_rng(0)
    V = np.repeat(np.eye(2), 4, axis=0) / 2.0
    U = rng.normal(size=(500, 2)) * 8.0
    Z = U @ V.T + rng.normal(size=(500, 8))
    mask = np.ones(Z.shape, dtype=bool)
    mask[:, 5:] = False
    Z[:, 4] += 150.0
    plane = CellPlane(np.zeros(8), V, np.full(2, 64.0))
    found = judge_cells(Cells(np.where(mask, Z, 0.0), mask), plane)
    assert found.flags[:, 4].mean() > 0.99
    assert np.abs(found.scores[:, 1]).max() < 8.0
    assert found.flags[:, :4].mean() < 0.01


@pytest.mark.parametrize("seen", [2, 3, 4, 6])
def test_few_cells_are_not_fitted_by_scores_that_no_row_has(seen):
    """They are expected values, given the cells; the residuals have the variance that leaves them."""
    Z, U, V, rng = low_rank(n=2000, d=8, k=2)
    mask = np.argsort(rng.uniform(size=Z.shape), axis=1) < seen
    mask[::2] = True  # of which none is held
    plane = CellPlane(np.zeros(8), V, U.var(axis=0))
    found = judge_cells(Cells(np.where(mask, Z, 0.0), mask), plane)
    fitted, want = found.scores @ V.T, np.empty_like(Z)
    for i, given in enumerate(mask):
        A = V[given].T @ V[given] + np.diag(1.0 / plane.variances)
        want[i] = V @ np.linalg.solve(A, V[given].T @ Z[i, given])
    off, best = (np.sqrt(((F - Z)[~mask] ** 2).mean()) for F in (fitted, want))
    assert off < 1.1 * best
    assert np.sqrt((found.residuals[mask] ** 2).mean()) == pytest.approx(1.0, abs=0.15)


def test_residuals_are_in_deviations_of_their_own():
    Z, _, V, rng = low_rank(n=20, d=6)
    mask = rng.uniform(size=Z.shape) > 0.2
    plane = CellPlane(np.full(6, 1.0), V, np.ones(2))
    U = rng.normal(size=(20, 2))
    found = assess_cells(Cells(np.where(mask, Z, 0.0), mask), plane, U, 2.0)
    R = np.where(mask, Z - 1.0 - U @ V.T, 0.0)
    W = np.where(mask, 1 / (1 + (R / cellwise.CELL_WIDTH) ** 2) ** 2, 0.0)
    np.testing.assert_allclose(found.weights, W)
    # Where most cells of a row disagree with the fit, the few that agree do not excuse the others.
    agree = 2 * (mask & (np.abs(R) <= cellwise.CELL_WIDTH)).sum(axis=1) >= mask.sum(axis=1)
    assert 0 < agree.sum() < 20
    variances = np.where(agree[:, None], residual_variances(W, V), residual_variances(1.0 * mask, V))
    np.testing.assert_allclose(found.residuals, R / np.sqrt(variances))
    np.testing.assert_array_equal(found.flags, np.abs(found.residuals) > 2.0)
    np.testing.assert_array_equal(found.rows(slice(3, 5)).residuals, found.residuals[3:5])


class TestStart:
    def test_modes_are_those_of_the_majority(self):
        rng = np.random.default_rng(0)
        A = rng.normal(size=(2000, 3)) * [1.0, 5.0, 0.1] + [0.0, 10.0, -1.0]
        A[:500] = [4.0, 30.0, -0.6]  # a quarter, four deviations on one side
        location, scale = column_modes(A, np.ones_like(A, dtype=bool))
        np.testing.assert_allclose(location, [0.0, 10.0, -1.0], atol=0.5)
        np.testing.assert_allclose(scale, [1.0, 5.0, 0.1], rtol=0.1)
        spread = 1.4826 * np.median(np.abs(A - np.median(A, axis=0)), axis=0)
        assert (spread > 1.3 * scale).all()  # what a median absolute deviation makes of it

    def test_scales_of_residuals_start_below(self):
        rng = np.random.default_rng(0)
        R = rng.normal(size=(1000, 2))
        R[:250] = 4.0
        np.testing.assert_allclose(residual_scales(R, np.ones_like(R, dtype=bool)), 1.0, rtol=0.1)

    def test_missing_values_do_not_count(self):
        rng = np.random.default_rng(0)
        A, mask = rng.normal(size=(400, 2)), rng.uniform(size=(400, 2)) < 0.5
        hidden = np.where(mask, A, 1e6)
        np.testing.assert_allclose(column_modes(hidden, mask)[1], 1.0, rtol=0.2)

    def test_noise_predicts_nothing(self):
        noise = np.random.default_rng(0).normal(size=(100, 200))
        top = np.linalg.svd(noise - noise.mean(axis=0), compute_uv=False)[:5] ** 2 / 100
        assert top[0] > 4
        assert not singular_shrinkage(top, 100, 200)[1:].any()
        assert singular_shrinkage(np.array([1e6]), 100, 200)[0] == pytest.approx(1.0, abs=1e-3)

    def test_a_prediction_does_not_use_the_cell_itself(self):
        Z, *_ = low_rank()
        predictor = Predictor.of(Z, 2)
        Y = Z.copy()
        Y[3, 4] += 100.0
        assert predictor.predict(Y)[3, 4] == pytest.approx(predictor.predict(Z)[3, 4], abs=1e-8)
        assert predictor.predict(Y)[3, 5] != pytest.approx(predictor.predict(Z)[3, 5], abs=1e-3)

    def test_each_part_of_the_start_is_needed(self, monkeypatch):
        """Without it a cluster of bad rows is repaired and trusted, or bad cells decide."""

        data = design.draw(design.Cell("small", "one-sided 20", 0.2, "cluster", 0.2, 0.2), 2)

        def off():
            return subspace_angle(TL1CellPCA(3, random_state=0).fit(data.X).components_, data.axes.T)

        assert off() < 15
        for part, without in (("EXTRA", 0), ("REPAIR", np.inf)):
            with monkeypatch.context() as patch:
                patch.setattr(cell_start, part, without)
                assert off() > 30

    def test_a_row_with_large_scores_is_not_put_aside(self):
        """Its cells are far out together; cut one by one they would not predict each other."""
        Z, _, V, _ = low_rank(n=300, d=12)
        Z /= 5.0
        predictor = replace(Predictor.of(Z, 2), scale=np.full(12, 0.2))
        far = (V @ [12.0, 8.0])[None]
        mask = np.ones_like(far, dtype=bool)
        cut = cell_start._cut(far, mask)
        assert (np.abs(far - predictor.predict(cut)) > cell_start.ASIDE * 0.2).sum() > 5
        assert not predictor.put_aside(far, mask, cut)[1].any()

    def test_a_column_of_noise_does_not_predict_itself(self):
        Z, *_ = low_rank(n=1000, d=8)
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
        Z[:, 3] = np.random.default_rng(1).normal(size=1000)
        predictor = predict_cells(Z, np.ones_like(Z, dtype=bool), 4)
        assert predictor.scale[3] > 0.9
        assert np.delete(predictor.scale, 3).max() < 0.8
