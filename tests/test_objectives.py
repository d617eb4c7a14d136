"""Objectives: values and gradients against finite differences, and the forms against each other."""

import numpy as np
import pytest

from support import OPERATORS, array_api_strict, gaussian, name, torch
from tl1pca import TL1, Huber, Lp
from tl1pca.objectives import (
    BatchDispersion,
    Dispersion,
    DispersionScale,
    Quotient,
    Residual,
    ResidualScale,
    dispersion,
    evaluated,
)
from tl1pca.rows import DenseRows

X = gaussian(60, 4, seed=1) - gaussian(60, 4, seed=1).mean(axis=0)
V = np.random.default_rng(3).uniform(0.5, 2.0, size=60)
SMOOTH = [operator for operator in OPERATORS if operator.degree is None or operator.degree >= 1]


def orthonormal(k, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(4, k)))[0]


def differences(value, W, h=1e-6):
    """Central differences of a function of W (d, k)."""
    G = np.zeros_like(W)
    for i in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[i] = h
        G[i] = (value(W + step) - value(W - step)) / (2 * h)
    return G


@pytest.mark.parametrize("width", [None, 0.7])
@pytest.mark.parametrize("operator", OPERATORS, ids=name)
def test_dispersion(operator, width):
    objective = Dispersion(DenseRows(X, weights=V), operator, width)
    W = orthonormal(2)
    here = objective.value_and_gradient(W)
    size = np.abs(X @ W) if width is None else np.sqrt((X @ W) ** 2 + width**2)
    np.testing.assert_allclose(here.values, V @ operator.value(size), rtol=1e-10)
    np.testing.assert_allclose(here.values, objective.value(W), rtol=1e-10)
    assert here.value == pytest.approx(objective.value(W).sum())
    np.testing.assert_allclose(
        here.gradient, differences(lambda W: objective.value(W).sum(), W), rtol=2e-5, atol=1e-6
    )
    np.testing.assert_allclose(objective.gradient_of_scores(X @ W), here.gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("operator", OPERATORS, ids=name)
def test_the_batch_is_the_same_objective(operator):
    objective = Dispersion(DenseRows(X, weights=V), operator)
    batch = BatchDispersion.of(objective)
    W = orthonormal(3)
    T = (X @ W).T
    np.testing.assert_allclose(batch.value(T), objective.value(W), rtol=1e-12)
    slope, negative_curvature = batch.derivatives(T)
    np.testing.assert_allclose(
        batch.pullback(slope)[0].T, objective.value_and_gradient(W).gradient, rtol=1e-9
    )
    np.testing.assert_allclose(negative_curvature, -V * operator.curvature(np.abs(T)), rtol=1e-12)
    smooth = batch.at(T[0], 0.4)
    h = 1e-5
    numeric = (smooth.derivatives(T + h)[0] - smooth.derivatives(T - h)[0]) / (2 * h)
    np.testing.assert_allclose(smooth.derivatives(T)[1], -numeric, rtol=1e-4, atol=1e-6)


def test_gram_form_of_wide_rows():
    wide = np.random.default_rng(0).normal(size=(5, 12))
    batch = BatchDispersion.of(Dispersion(DenseRows(wide), TL1(a=1.0)))
    C = np.random.default_rng(1).normal(size=(3, 5))
    gram = BatchDispersion(wide, batch.v, batch.given, batch.operator, equal=True, gram=wide @ wide.T)
    T = C @ wide @ wide.T
    G, S = batch.pullback(T)
    c, s = gram.pullback(T)
    np.testing.assert_allclose(c @ wide, G, rtol=1e-10)
    np.testing.assert_allclose(s, S, rtol=1e-10)
    np.testing.assert_allclose(gram.inner(C, T), C @ wide @ (C @ wide).T, rtol=1e-10)


class TestScaleForm:
    objective = DispersionScale(DenseRows(X, weights=V), TL1())

    def test_auto_means_the_scale(self):
        assert type(dispersion(DenseRows(X), TL1())) is DispersionScale
        assert type(dispersion(DenseRows(X), TL1(a=1.0))) is Dispersion
        assert type(dispersion(DenseRows(X), Huber())) is Dispersion  # settled once, by `resolve`

    def test_value_is_the_root(self):
        W = orthonormal(2)
        alpha = self.objective.value(W)
        np.testing.assert_allclose(V @ (np.abs(X @ W) / (alpha + np.abs(X @ W))), V.sum() / 2, rtol=1e-7)

    def test_gradient_points_along_that_of_the_scale(self):
        W = orthonormal(2)
        G = self.objective.value_and_gradient(W).gradient
        numeric = differences(lambda W: self.objective.value(W).sum(), W)
        for ours, other in zip(G.T, numeric.T):
            assert ours @ other == pytest.approx(np.linalg.norm(ours) * np.linalg.norm(other), rel=1e-6)

    def test_one_pass_from_nearby(self):
        W = orthonormal(2)
        near = self.objective.value_and_gradient(W)
        close = np.linalg.qr(W + 1e-3 * orthonormal(2, seed=5))[0]
        exact, quick = self.objective.value(close), self.objective.value_and_gradient(close, near=near)
        np.testing.assert_allclose(quick.values, exact, rtol=1e-5)
        assert np.abs(quick.values - exact).max() < 0.1 * np.abs(near.values - exact).max()

    def test_half_of_the_scores_zero(self):
        rows = DenseRows(np.vstack([np.zeros((3, 2)), np.eye(2), [[1.0, 0.0]]]))
        assert DispersionScale(rows, TL1()).value(np.eye(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("operator", [Huber(c=1.0), Lp(p=1), Lp(p=0.5), TL1(a=1.0)], ids=name)
def test_residual(operator):
    objective = Residual(DenseRows(X, weights=V), operator)
    W = orthonormal(2)
    r = np.linalg.norm(X - X @ W @ W.T, axis=1)
    here = objective.value_and_gradient(W)
    assert here.value == pytest.approx(float(V @ operator.value(r)), rel=1e-12)
    assert objective.value(W)[0] == pytest.approx(here.value, rel=1e-12)

    def along_the_manifold(W):
        Q = np.linalg.qr(W)[0]
        return objective.value(Q)[0]

    tangent = here.gradient - W @ (W.T @ here.gradient)
    numeric = differences(along_the_manifold, W)
    np.testing.assert_allclose(tangent, numeric - W @ (W.T @ numeric), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("operator", [o for o in OPERATORS if o.concave_in_square], ids=name)
def test_weighted_squares_lie_above_the_residual(operator):
    """What majorize-minimize rests on, and what the trait promises."""
    rng = np.random.default_rng(0)
    r, s = rng.uniform(0.01, 5.0, size=(2, 200))
    above = operator.value(r) + 0.5 * operator.weight(r) * (s**2 - r**2)
    assert (above >= operator.value(s) - 1e-10).all()


def test_the_floor_keeps_a_row_in_the_subspace_finite():
    rows = DenseRows(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]]))
    weights = Residual(rows, Lp(p=1), floor=1e-10).weights(np.array([0.0, 0.0, 3.0]))
    assert np.isfinite(weights).all()
    assert weights.max() == 1.0


def test_other_rows_and_deflated_rows():
    objective = Dispersion(DenseRows(X, weights=V), TL1(a=1.0))
    w = orthonormal(1)
    left = objective.deflated(w)
    np.testing.assert_allclose(left.rows.gather_rows(np.arange(60)), X - X @ w @ w.T, atol=1e-12)
    assert left.operator is objective.operator
    assert objective.on(DenseRows(X[:5])).value(w)[0] == pytest.approx(
        TL1(a=1.0).value(np.abs(X[:5] @ w)).sum()
    )


def test_the_gradient_of_the_scale_form_is_that_of_the_settled_sum():
    objective, W = TestScaleForm.objective, orthonormal(2)
    settled = objective.settled_at(X @ W)
    found = objective.value_and_gradient(W)
    np.testing.assert_allclose(found.gradient, settled.gradient_of_scores(X @ W), rtol=1e-6)
    np.testing.assert_allclose(found.operator.a, objective.value(W), rtol=1e-9)


def test_a_batch_is_settled_at_scores_only_where_it_is_auto():
    given = BatchDispersion.of(Dispersion(DenseRows(X), TL1(a=0.7)))
    assert given.at(X[:, 0]) is given
    wider = given.at(X[:, 0], 0.3)
    assert (wider.width, wider.operator.a) == (0.3, 0.7)
    assert given.objective(5.0) == 5.0
    auto = BatchDispersion.of(DispersionScale(DenseRows(X), TL1())).at(X[:, 0])
    alpha = float(DispersionScale(DenseRows(X), TL1()).value(np.eye(4)[:, :1])[0])
    assert auto.operator.a == pytest.approx(alpha, rel=1e-7)
    assert auto.objective(5.0) == pytest.approx(alpha, rel=1e-7)


def test_distances_below_the_floor_weigh_as_the_floor():
    rows = DenseRows(np.array([[3.0, 1e-3], [2.0, 0.5]]))
    objective = Residual(rows, Lp(p=1), floor=0.1)
    W = np.array([[1.0], [0.0]])
    here = objective.value_and_gradient(W)
    # -sum_i x_i t_i / max(r_i, floor)
    np.testing.assert_allclose(here.gradient[:, 0], [-(9 / 0.1 + 4 / 0.5), -(3e-3 / 0.1 + 1.0 / 0.5)])
    assert here.value == pytest.approx(0.1 + 0.5)
    np.testing.assert_allclose(objective.weights(np.array([1e-3, 0.5])), [1.0, 0.2])


def test_the_scale_of_residuals():
    """mean h(r/s) = 1/5 with h(u) = u^2/(1 + u^2), weights h'(u)/(2u)."""
    r = np.abs(np.random.default_rng(0).standard_t(2, size=60))
    objective = ResidualScale(DenseRows(X, weights=V))
    s = objective.value_of_distances(r)
    assert V @ ((r / s) ** 2 / (1 + (r / s) ** 2)) == pytest.approx(0.2 * V.sum(), rel=1e-9)
    h = 1e-6
    rho = lambda u: u**2 / (1 + u**2)  # noqa: E731
    u = r / s
    np.testing.assert_allclose(objective.weights(r), (rho(u + h) - rho(u - h)) / (2 * h) / (2 * u), rtol=1e-6)
    floored = ResidualScale(DenseRows(X), floor=float(np.quantile(r, 0.8)) * 1.001)
    assert floored.value_of_distances(r) == 0.0  # four fifths of the rows are in the subspace


def test_the_scale_of_scores_less_a_center():
    objective = DispersionScale(DenseRows(X, weights=V), TL1())
    T, center = X @ orthonormal(2), np.array([0.5, -0.3])
    for guess in (0.2, 5.0):
        alpha = objective.refined(T, np.full(2, guess), center)
        u = np.abs(T - center)
        np.testing.assert_allclose(V @ (u / (alpha + u)), V.sum() / 2, rtol=1e-7)
    assert objective.refined(T, np.ones(2), center, np.array([True, False]))[1] == 0.0
    one = objective.value_of_scores(T[:, 0])
    assert np.ndim(one) == 0
    assert one == pytest.approx(objective.value(orthonormal(2))[0])


def test_a_smoothed_scale():
    """With spread kinks the gradient is that of the smoothed sum at the scale."""
    W = orthonormal(2)
    objective = DispersionScale(DenseRows(X, weights=V), TL1(), width=0.4)
    here = objective.value_and_gradient(W)
    settled = objective.settled_at(X @ W)
    assert settled.width == 0.4
    np.testing.assert_allclose(here.gradient, settled.gradient_of_scores(X @ W), rtol=1e-6)
    assert objective.smoothed(0.7).width == 0.7


def test_a_quotient_of_two():
    top, bottom = (Dispersion(DenseRows(A, weights=v), TL1(a=1.0)) for A, v in ((X[:20], V[:20]), (X, V)))
    objective, W = Quotient(top, bottom, ridge=3.0), orthonormal(2)
    right = top.value(W) / (bottom.value(W) + 3.0)
    np.testing.assert_allclose(objective.value(W), right, rtol=1e-12)
    here = objective.value_and_gradient(W)
    np.testing.assert_allclose(here.values, right, rtol=1e-12)
    numeric = differences(lambda W: objective.value(W).sum(), W)
    np.testing.assert_allclose(here.gradient, numeric, rtol=1e-5, atol=1e-8)
    left = objective.deflated(W[:, :1])
    assert left.ridge == 3.0
    np.testing.assert_allclose(left.value(W)[0], 0.0, atol=1e-12)
    assert left.value(W)[1] == pytest.approx(right[1])
    other = objective.on(DenseRows(X[20:]))
    assert other.value(W)[0] == pytest.approx(
        top.on(DenseRows(X[20:])).value(W)[0] / (bottom.value(W)[0] + 3.0)
    )
    assert other.rows is other.above.rows
    assert other.operator is top.operator


def test_weights_reach_the_batch():
    weighted = BatchDispersion.of(Dispersion(DenseRows(X, weights=V), TL1(a=1.0)))
    assert not weighted.equal
    np.testing.assert_array_equal(weighted.v, V)
    plain = BatchDispersion.of(Dispersion(DenseRows(X), TL1(a=1.0)))
    assert plain.equal
    T = X[:3] @ X.T
    ones = BatchDispersion.of(Dispersion(DenseRows(X, weights=np.ones(60)), TL1(a=1.0)))
    for ours, other in zip(plain.derivatives(T), ones.derivatives(T)):
        np.testing.assert_array_equal(ours, other)
    W = X[:3]
    np.testing.assert_allclose(plain.inner(W, T), W @ W.T)
    wider = BatchDispersion.of(DispersionScale(DenseRows(X), TL1())).at(T[0], 0.5)
    u = np.sqrt(T[0] ** 2 + 0.25)
    assert np.mean(u / (wider.operator.a + u)) == pytest.approx(0.5, abs=1e-9)
    again = wider.at(T[1])  # from what is known of another direction
    u = np.abs(T[1])
    assert np.mean(u / (again.operator.a + u)) == pytest.approx(0.5, abs=1e-9)


def test_which_way_is_better():
    assert Dispersion.sense == DispersionScale.sense == Quotient.sense == 1.0
    assert Residual.sense == ResidualScale.sense == -1.0


@pytest.mark.parametrize("adapter", [array_api_strict, torch], ids=["array_api_strict", "torch"])
def test_the_same_on_arrays_of_other_libraries(adapter):
    W = orthonormal(2)
    there = adapter(X, V)
    for objective in (
        Residual(DenseRows(X, weights=V), Huber(c=1.0), floor=1e-3),
        DispersionScale(DenseRows(X, weights=V), TL1()),
        Dispersion(DenseRows(X, weights=V), TL1(a=1.0), 0.3),
    ):
        here, other = (evaluated(one, W) for one in (objective, objective.on(there)))
        np.testing.assert_allclose(other.values, here.values, rtol=1e-9)
        np.testing.assert_allclose(other.gradient, here.gradient, rtol=1e-9)
