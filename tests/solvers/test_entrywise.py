"""Entrywise L1: recovery, monotone paths, masks, weights, and brute-force certificates."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tl1pca.solvers import entrywise
from tl1pca.solvers.entrywise import (
    fit_l1_best_hyperplane,
    fit_l1_low_rank,
    fit_l1_star,
)

SOLVERS = ["median", "lp"]


def low_rank(seed, n=100, d=30, k=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)) @ rng.normal(size=(k, d)), rng


def noisy(seed, n=40, d=12, k=2):
    L, rng = low_rank(seed, n, d, k)
    return L + 0.3 * rng.standard_t(2, size=L.shape)


def fitted(result):
    return result.scores @ result.loadings.T


def svd_fit(X, k):
    W = np.linalg.svd(X, full_matrices=False)[2][:k]
    return X @ W.T @ W


def relative(estimate, truth):
    return np.linalg.norm(estimate - truth) / np.linalg.norm(truth)


def gap(A):
    return np.abs(A @ A.T - np.eye(len(A))).max(initial=0.0)


# Recovery -------------------------------------------------------------------------------------------------


def gross(kind, rng, shape):
    if kind == "symmetric":
        return rng.uniform(-10, 10, shape)
    if kind == "large":
        return rng.uniform(-100, 100, shape)
    return 50 + 5 * rng.random(shape)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["symmetric", "large", "one-sided"])
@pytest.mark.parametrize("seed", range(4))
def test_recovers_exact_low_rank_from_gross_errors(solver, kind, seed):
    L, rng = low_rank(seed)
    X = np.where(rng.random(L.shape) < 0.1, L + gross(kind, rng, L.shape), L)
    result = fit_l1_low_rank(X, 3, solver=solver)
    assert result.converged
    assert relative(fitted(result), L) < 1e-8
    assert relative(svd_fit(X, 3), L) > 0.1


@pytest.mark.parametrize("solver", SOLVERS)
def test_recovers_with_gross_errors_and_missing_entries(solver):
    L, rng = low_rank(5)
    X = np.where(rng.random(L.shape) < 0.1, L + rng.uniform(-10, 10, L.shape), L)
    observed = rng.random(L.shape) > 0.15
    result = fit_l1_low_rank(np.where(observed, X, np.nan), 3, observed=observed, solver=solver)
    assert relative(fitted(result), L) < 1e-8


def test_published_medians_from_an_svd_start_can_stay_stuck():
    """The reason for our start; if this ever fails, the start is no longer needed."""
    L, rng = low_rank(0)
    X = np.where(rng.random(L.shape) < 0.1, L + 50, L)
    svd = np.linalg.svd(X, full_matrices=False)[2][:3].T
    plain, ours = fit_l1_low_rank(X, 3, start=svd), fit_l1_low_rank(X, 3)
    assert plain.path[-1] > 1.05 * ours.path[-1]


def contaminated(seed, one_sided):
    """A fifth of the entries are far off, all in one direction or symmetrically."""
    rng = np.random.default_rng(seed)
    n, d, k = [(60, 15, 2), (40, 40, 2), (80, 12, 4)][seed % 3]
    L = rng.normal(size=(n, k)) @ rng.normal(size=(k, d))
    bad, noise = rng.random(L.shape) < 0.2, rng.normal(size=L.shape)
    if one_sided:
        return L, np.where(bad, 50 + 5 * rng.random(L.shape), L + 0.2 * noise), k
    return L, np.where(bad, L + rng.uniform(-100, 100, L.shape), L + 0.1 * noise), k


def test_the_start_goes_down_slowly_enough_and_no_slower(monkeypatch):
    """With a quarter of the levels, or from a quarter of the scale, the medians have to do the rest."""
    squares, inner = [], entrywise.weighted_least_squares
    monkeypatch.setattr(entrywise, "weighted_least_squares", lambda *a: squares.append(1) or inner(*a))
    results = [fit_l1_low_rank(X, k) for _, X, k in (contaminated(s, False) for s in range(24))]
    assert sum(result.n_iter for result in results) <= 120
    assert len(squares) <= 24 * 250


def test_large_entries_are_pulled_in_before_the_start_but_not_to_nothing():
    """Four times the limit, or smoothing over four times the scale, lets gross errors in.

    A quarter of the limit leaves a higher error.
    """
    near = []
    for L, X, k in (contaminated(seed, False) for seed in range(24)):
        near.append(np.median(np.abs(fitted(fit_l1_low_rank(X, k)) - L)) < 0.1)
    assert np.mean(near) >= 0.5
    shares = []
    for L, X, k in (contaminated(seed, True) for seed in range(0, 60, 3)):
        shares.append(fit_l1_low_rank(X, k).path[-1] / np.abs(X - L).sum())
    assert np.mean(shares) < 0.955


def test_regressions_share_a_linear_program_as_far_as_memory_allows(monkeypatch):
    calls, inner = [], entrywise.linprog
    monkeypatch.setattr(entrywise, "linprog", lambda c, **how: calls.append(len(c)) or inner(c, **how))
    rng = np.random.default_rng(0)
    targets, design = rng.standard_t(2, size=(7, 20)), rng.normal(size=(20, 2))
    whole = entrywise._lad(targets, design, np.ones((7, 20)))
    assert calls == [140]
    monkeypatch.setattr(entrywise, "LP_VARIABLES", 65)
    np.testing.assert_allclose(entrywise._lad(targets, design, np.ones((7, 20))), whole, atol=1e-9)
    assert calls[1:] == [60, 60, 20]


# Path and solvers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("from_svd", [False, True])
@pytest.mark.parametrize("k", [1, 3])
def test_path_is_monotone_and_ends_at_the_error(solver, from_svd, k):
    X = noisy(k)
    start = np.linalg.svd(X)[2][:k].T if from_svd else None
    result = fit_l1_low_rank(X, k, solver=solver, start=start)
    assert np.all(np.diff(result.path) <= 0)
    assert len(result.path) == result.n_iter + 1
    assert np.abs(X - fitted(result)).sum() == pytest.approx(result.path[-1], rel=1e-12)
    assert gap(result.loadings.T) < 1e-10
    assert np.all(np.diff(np.sum(result.scores**2, axis=0)) <= 0)


@pytest.mark.parametrize("seed", range(4))
def test_lp_improves_on_medians_and_the_two_agree_closely(seed):
    X = noisy(seed)
    median, lp = (fit_l1_low_rank(X, 2, solver=solver) for solver in SOLVERS)
    polished = fit_l1_low_rank(X, 2, solver="lp", start=median.loadings)
    assert polished.path[-1] <= median.path[-1] * (1 + 1e-12)
    assert lp.path[-1] == pytest.approx(median.path[-1], rel=1e-2)
    assert median.path[-1] < np.abs(X - svd_fit(X, 2)).sum()


@pytest.mark.parametrize("solver", SOLVERS)
def test_scores_are_optimal_given_the_loadings(solver):
    """No data point is better served by any coefficient that interpolates k of its entries."""
    X = noisy(3, n=12, d=7)
    result = fit_l1_low_rank(X, 2, solver=solver, tol=0.0)
    rows = np.abs(X - fitted(result)).sum(axis=1)
    best = rows.copy()
    for pair in combinations(range(7), 2):
        U = np.linalg.solve(result.loadings[list(pair)], X[:, pair].T).T
        best = np.minimum(best, np.abs(X - U @ result.loadings.T).sum(axis=1))
    slack = 1e-7 if solver == "lp" else 0.02
    assert rows.sum() <= best.sum() * (1 + slack)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), p=st.integers(1, 9), zeros=st.booleans())
def test_one_component_one_row_is_the_exact_median(seed, p, zeros):
    """For n rows and fixed one-dimensional V a sweep cannot lose to any ratio x_j / v_j."""
    rng = np.random.default_rng(seed)
    x, v = rng.normal(size=p), rng.normal(size=p)
    if zeros:
        v[0] = 0.0
    result = fit_l1_low_rank(x[None], 1, start=v[:, None], max_iter=1, tol=0.0)
    candidates = [x[j] / v[j] for j in range(p) if v[j]] or [0.0]
    assert result.path[-1] <= min(np.abs(x - u * v).sum() for u in candidates) + 1e-10


@pytest.mark.parametrize("solver", SOLVERS)
def test_scale_equivariance(solver):
    X = noisy(2)
    one, big = (fit_l1_low_rank(c * X, 2, solver=solver) for c in (1.0, 2.0**30))
    assert big.path[-1] == pytest.approx(2.0**30 * one.path[-1], rel=1e-9)
    assert np.allclose(fitted(big), 2.0**30 * fitted(one), rtol=0, atol=2.0**30 * 1e-6)


# Masks and weights ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_masked_values_are_never_used(solver):
    X = noisy(4)
    observed = np.random.default_rng(0).random(X.shape) > 0.2
    fits = [
        fit_l1_low_rank(np.where(observed, X, fill), 2, observed=observed, solver=solver)
        for fill in (np.nan, 0.0, 1e9)
    ]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].scores, other.scores)
        np.testing.assert_array_equal(fits[0].loadings, other.loadings)
    error = np.abs(np.where(observed, X - fitted(fits[0]), 0.0)).sum()
    assert error == pytest.approx(fits[0].path[-1], rel=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_unobserved_rows_and_columns_are_zero(solver):
    X = noisy(6)
    observed = np.ones(X.shape, dtype=bool)
    observed[3], observed[:, 5] = False, False
    X[~observed] = np.nan
    result = fit_l1_low_rank(X, 2, observed=observed, solver=solver)
    assert not result.scores[3].any()
    assert not result.loadings[5].any()
    assert np.isfinite(fitted(result)).all()
    smaller = fit_l1_low_rank(np.delete(np.delete(X, 3, 0), 5, 1), 2, solver=solver)
    assert smaller.path[-1] == pytest.approx(result.path[-1], rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_integer_weights_equal_repeated_rows(solver):
    X = noisy(7, n=25)
    weights = np.random.default_rng(1).integers(0, 4, size=25)
    weighted = fit_l1_low_rank(X, 2, weights=weights, solver=solver)
    repeated = fit_l1_low_rank(np.repeat(X, weights, axis=0), 2, solver=solver)
    assert weighted.path[-1] == pytest.approx(repeated.path[-1], rel=1e-8)
    assert np.allclose(np.repeat(fitted(weighted), weights, axis=0), fitted(repeated), atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((5, 4)),
        np.eye(4),
        np.random.default_rng(0).normal(size=(4, 7)),
        np.random.default_rng(0).normal(size=(9, 4)),
        np.repeat([[1.0, -2.0, 0.0, 3.0]], 6, axis=0),
    ],
    ids=["zero", "identity", "wide", "tall", "duplicates"],
)
def test_full_rank_fit_is_exact_and_valid(solver, X):
    result = fit_l1_low_rank(X, min(X.shape), solver=solver)
    assert result.converged
    assert np.allclose(fitted(result), X, atol=1e-10)
    assert gap(result.loadings.T) < 1e-10


def test_nothing_observed():
    result = fit_l1_low_rank(np.full((4, 3), np.nan), 2, observed=np.zeros((4, 3)))
    assert not result.scores.any()
    assert gap(result.loadings.T) < 1e-10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_components": 0}, "from 1 to"),
        ({"n_components": 13}, "from 1 to"),
        ({"weights": -np.ones(40)}, "row weights"),
        ({"weights": np.ones(3)}, "row weights"),
        ({"observed": np.ones((2, 2))}, "that of X"),
        ({"X": np.full((40, 12), np.nan)}, "observed"),
        ({"X": np.ones(3)}, "matrix"),
        ({"solver": "simplex"}, "'median' or 'lp'"),
        ({"start": np.ones((3, 2))}, "loadings of shape"),
    ],
)
def test_errors_say_what_to_do(change, message):
    with pytest.raises(ValueError, match=message):
        fit_l1_low_rank(**({"X": noisy(0), "n_components": 2} | change))


def test_inputs_are_not_changed():
    X, observed, weights, start = noisy(9), np.ones((40, 12), bool), np.ones(40), np.eye(12)[:, :2]
    copies = [a.copy() for a in (X, observed, weights, start)]
    fit_l1_low_rank(X, 2, observed=observed, weights=weights, start=start)
    fit_l1_star(X, 2, weights)
    for a, b in zip((X, observed, weights, start), copies):
        np.testing.assert_array_equal(a, b)


# L1-PCA* --------------------------------------------------------------------------------------------------


def brute_force(X, weights):
    """Some best hyperplane passes through d - 1 of the points."""
    best = np.inf
    for subset in combinations(range(len(X)), X.shape[1] - 1):
        normal = np.linalg.svd(X[list(subset)])[2][-1]
        best = min(best, weights @ np.abs(X @ normal) / np.abs(normal).max())
    return best


@pytest.mark.parametrize(("n", "d"), [(8, 2), (10, 2), (9, 3), (10, 3), (9, 4)])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_hyperplane_is_certified_by_brute_force(n, d, seed, weighted):
    rng = np.random.default_rng(seed)
    X, weights = rng.standard_t(2, size=(n, d)), rng.uniform(0.1, 3, n) if weighted else np.ones(n)
    normal, coordinate, objective = fit_l1_best_hyperplane(X, weights)
    assert objective == pytest.approx(brute_force(X, weights), rel=1e-8)
    assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-12)
    assert coordinate == np.argmax(np.abs(normal))
    assert weights @ np.abs(X @ normal) / normal[coordinate] == pytest.approx(objective, rel=1e-10)


@settings(max_examples=30, deadline=None)
@given(data=st.data(), n=st.integers(3, 7), d=st.integers(2, 3))
def test_hyperplane_on_degenerate_grids(data, n, d):
    """Small integers: ties, zero and duplicate rows and columns; no direction does better."""
    X = np.array(data.draw(st.lists(st.integers(-2, 2), min_size=n * d, max_size=n * d)), float).reshape(n, d)
    plane = fit_l1_best_hyperplane(X)
    candidates = np.vstack([np.eye(d), np.random.default_rng(0).normal(size=(200, d))])
    errors = np.abs(X @ candidates.T).sum(axis=0) / np.abs(candidates).max(axis=1)
    assert plane.objective <= errors.min() + 1e-8
    assert plane.objective <= brute_force(X, np.ones(n)) + 1e-8
    result = fit_l1_star(X, min(n, d))
    assert gap(result.components) < 1e-10


@pytest.mark.parametrize("shape", [(30, 6), (6, 6), (5, 9), (1, 4), (4, 1)])
def test_star_is_orthonormal_and_nested(shape):
    X = np.random.default_rng(3).normal(size=shape)
    k = min(shape)
    result = fit_l1_star(X, k)
    assert gap(result.components) < 1e-10
    assert result.objectives.shape == (k - 1,)
    assert result.reduced == (shape[1] > shape[0])
    if k > 1:
        np.testing.assert_array_equal(fit_l1_star(X, k - 1).components, result.components[:-1])


def test_star_last_component_is_the_normal_of_the_best_hyperplane():
    X = np.random.default_rng(4).normal(size=(20, 4))
    result, plane = fit_l1_star(X, 4), fit_l1_best_hyperplane(X)
    np.testing.assert_allclose(result.components[-1], plane.normal, atol=1e-12)
    assert result.objectives[0] == plane.objective


@pytest.mark.parametrize("name", ["zero", "zero column", "duplicates", "collinear", "graded"])
def test_star_on_degenerate_data(name):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12, 5))
    if name == "zero":
        X[:] = 0
    elif name == "zero column":
        X[:, 2] = 0
    elif name == "duplicates":
        X = np.repeat(X[:2], 6, axis=0)
    elif name == "collinear":
        X[:, 4] = X[:, 0] + X[:, 1]
    else:
        X *= 10.0 ** (-2 * np.arange(5))
    result = fit_l1_star(X, 5)
    assert gap(result.components) < 1e-10
    assert result.rank == np.linalg.matrix_rank(X)
    assert np.all(result.objectives[: 5 - max(result.rank, 1)] == 0)
    span = result.components[: result.rank]
    assert np.allclose(X @ span.T @ span, X, atol=1e-10)


@pytest.mark.parametrize("shape", [(15, 4), (5, 8)])
def test_star_integer_weights_equal_repeated_rows(shape):
    rng = np.random.default_rng(6)
    X, weights = rng.normal(size=shape), rng.integers(1, 4, size=shape[0])
    k = min(shape)
    weighted = fit_l1_star(X, k, weights)
    repeated = fit_l1_star(np.repeat(X, weights, axis=0), k)
    cosines = np.abs(np.sum(weighted.components * repeated.components, axis=1))
    np.testing.assert_allclose(cosines, 1, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_star_resists_unbalanced_contamination(seed):
    """A one-sided cluster along a noise axis turns PCA, not L1-PCA*."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 6)) * np.array([5, 4, 0.3, 0.3, 0.3, 0.3])
    X[:6, 2] += 20  # L1 mass 120 < 190 of the second axis, but squares 2400 > 960
    svd = np.linalg.svd(X, full_matrices=False)[2][:2]
    star = fit_l1_star(X, 2).components
    captured = [np.sum(W[:, :2] ** 2) / 2 for W in (star, svd)]
    assert captured[0] > 0.99
    assert captured[1] < 0.6


def test_directions_beyond_the_rank_complete_a_basis():
    X = np.random.default_rng(0).normal(size=(12, 2)) @ np.random.default_rng(1).normal(size=(2, 6))
    found = fit_l1_star(X, 6)
    assert found.rank == 2
    assert found.reduced
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(X @ found.components[2:].T, 0.0, atol=1e-9)
    axes = np.linalg.svd(X, full_matrices=False)[2]
    np.testing.assert_allclose(found.components[2:], axes[2:], atol=1e-9)
    assert found.objectives.shape == (5,)


def test_a_sweep_of_medians_is_best_in_every_score_and_loading():
    """Two terms, each in turn: its scores given the rest, then its loadings."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(2, size=(15, 5))
    start = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    found = fit_l1_low_rank(X, 2, solver="median", start=start, max_iter=100)
    assert found.path[1] < found.path[0]
    assert found.path[-1] < 0.9 * found.path[0]
    once = fit_l1_low_rank(X, 2, solver="median", start=start, max_iter=1)
    U = X @ start
    V = start.copy()
    for c in range(2):
        rest = X - np.outer(U[:, 1 - c], V[:, 1 - c])
        U[:, c] = [best_slope(row, V[:, c]) for row in rest]
        V[:, c] = [best_slope(column, U[:, c]) for column in rest.T]
    assert once.path[1] == pytest.approx(np.abs(X - U @ V.T).sum(), rel=1e-9)


def best_slope(y, x):
    """The slope with the least sum of |y - slope x|: one of the ratios, the lower of two."""
    ratios = np.sort(y / x)
    return ratios[np.argmin(np.round([np.abs(y - r * x).sum() for r in ratios], 12))]
