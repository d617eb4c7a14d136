"""The quotient of two dispersions, against brute force in the plane."""

import numpy as np
import pytest

from tl1pca import TL1, Lp
from tl1pca.geometry import sphere_maximizer
from tl1pca.objectives import Dispersion, Quotient
from tl1pca.rows import DenseRows
from tl1pca.solvers import QuotientAscent, State
from tl1pca.solvers import quotient as module

RNG = np.random.default_rng(0)


def sets(d, n=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(5, d)), rng.normal(size=(n, d)) * rng.uniform(0.3, 2.0, size=d)


def quotient(above, below, operator, v=None, u=None):
    return Quotient(
        Dispersion(DenseRows(above, weights=v), operator), Dispersion(DenseRows(below, weights=u), operator)
    )


def brute(above, below, operator, v=1.0, u=1.0, n=200_001):
    angle = np.linspace(0, np.pi, n)
    W = np.stack([np.cos(angle), np.sin(angle)])
    top = (np.broadcast_to(v, len(above))[:, None] * operator.value(np.abs(above @ W))).sum(axis=0)
    return (
        top / (np.broadcast_to(u, len(below))[:, None] * operator.value(np.abs(below @ W))).sum(axis=0)
    ).max()


@pytest.mark.parametrize("operator", [Lp(p=1), TL1(a=1.0), Lp(p=2)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_best_direction_of_the_plane(operator, seed):
    above, below = sets(2, seed=seed)
    v, u = (
        np.random.default_rng(seed).uniform(0.5, 2.0, size=5),
        np.random.default_rng(9).uniform(0.5, 2.0, size=40),
    )
    found = QuotientAscent().solve(quotient(above, below, operator, v, u))
    assert found.path[-1] >= brute(above, below, operator, v, u) * (1 - 1e-4)
    assert found.path[-1] == pytest.approx(float(quotient(above, below, operator, v, u).value(found.W)[0]))
    assert (np.diff(found.path) >= 0).all()
    assert found.converged


def test_the_gradient():
    above, below = sets(3)
    objective = quotient(above, below, TL1(a=1.0))
    w = RNG.normal(size=(3, 1))
    G = objective.value_and_gradient(w)
    up, down = (objective.value(w + step * np.eye(3)) for step in (1e-6, -1e-6))
    numeric = (up - down) / 2e-6
    np.testing.assert_allclose(G.gradient[:, 0], numeric, rtol=1e-5)
    assert G.value == pytest.approx(float(objective.value(w)[0]))


def test_directions_stay_in_the_span_of_the_rows_below():
    above, below = sets(3)
    flat = np.column_stack([below[:, :2], np.zeros(40)])
    W = QuotientAscent().solve(quotient(above, flat, Lp(p=1))).W
    assert abs(float(W[2, 0])) < 1e-12
    with pytest.raises(ValueError, match="below are all zero"):
        QuotientAscent().solve(quotient(above, np.zeros((4, 3)), Lp(p=1)))


@pytest.mark.parametrize("operator", [Lp(p=1), TL1(a=0.3)], ids=str)
def test_a_step_does_not_lower_the_smoothed_quotient(operator):
    above, below = sets(4)
    problem, _ = module._TwoSets.of(quotient(above, below, operator))
    for seed in range(20):
        w = np.random.default_rng(seed).normal(size=4)
        w /= np.linalg.norm(w)
        for h in (1.0, 0.1, 1e-3):
            value = problem.smoothed_quotient(w, h)
            below_part = operator.value(np.sqrt((problem.below @ w) ** 2 + h**2)).sum()
            assert value == pytest.approx(operator.value(np.abs(problem.above @ w)).sum() / below_part)
            new, reached = problem.step(w, value, h)
            assert reached >= value
            assert reached == pytest.approx(problem.smoothed_quotient(new, h))
            assert np.linalg.norm(new) == pytest.approx(1.0)


def test_a_vertex_is_where_rows_below_vanish():
    problem, _ = module._TwoSets.of(quotient(*sets(4), Lp(p=1)))
    w = np.array([1.0, 0.0, 0.0, 0.0])
    corner = problem.vertex(w)
    nearest = np.argsort(np.abs(problem.below @ w))[:3]
    np.testing.assert_allclose(problem.below[nearest] @ corner, 0.0, atol=1e-10)
    assert np.linalg.norm(corner) == pytest.approx(1.0)
    line, _ = module._TwoSets.of(quotient(np.ones((2, 1)), np.ones((3, 1)), Lp(p=1)))
    assert line.vertex(np.ones(1)) == 1.0
    # A row at zero vanishes everywhere, and decides nothing.
    with_zero, _ = module._TwoSets.of(
        quotient(sets(4)[0], np.vstack([np.zeros((3, 4)), sets(4)[1]]), Lp(p=1))
    )
    corner = with_zero.vertex(w @ np.eye(4))
    assert np.count_nonzero(np.abs(with_zero.below[3:] @ corner) < 1e-10) == 3


def test_starts_hold_fishers_directions_and_the_rows_above():
    above, below = sets(3)
    problem, V = module._TwoSets.of(quotient(above, below, Lp(p=1)))
    starts = problem.starts(np.random.RandomState(0))
    np.testing.assert_allclose(np.linalg.norm(starts, axis=0), 1.0)
    scatter, between = below.T @ below, above.T @ above
    values, axes = np.linalg.eig(np.linalg.solve(scatter, between))
    fisher = np.real(axes[:, np.argmax(np.real(values))])
    wanted = np.column_stack([fisher, above.T, np.linalg.solve(scatter, above.T)])
    wanted = V.T @ (wanted / np.linalg.norm(wanted, axis=0))
    assert np.abs(wanted.T @ starts).max(axis=1).min() > 1 - 1e-9
    assert starts.shape[1] == 3 + 5 + 5 + module.N_VERTICES


def test_a_given_start_is_gone_on_from():
    objective = quotient(*sets(3), Lp(p=1))
    best = QuotientAscent().solve(objective)
    again = QuotientAscent().solve(objective, State(best.W))
    assert again.path[0] == pytest.approx(best.path[-1], rel=1e-9)
    assert again.path[-1] >= again.path[0]


def groups(seed):
    """Means of groups about the mean of all, with their sizes, and rows about their means."""
    rng = np.random.default_rng(seed)
    d, n, c = [3, 6, 12][seed % 4], [60, 200][seed % 2], [2, 3, 8][seed % 3]
    label = rng.integers(0, c, n)
    X = rng.normal(size=(c, d))[label] + rng.standard_t(3, size=(n, d))
    mean = np.array([X[label == i].mean(axis=0) for i in range(c)])
    sizes = np.bincount(label, minlength=c).astype(float)
    return [quotient(mean - X.mean(axis=0), X - mean[label], o, sizes) for o in (Lp(p=1), TL1(a=0.5))]


@pytest.fixture(scope="module")
def problems():
    found = [objective for seed in range(12) if seed % 4 < 3 for objective in groups(seed)]
    return found, np.array([QuotientAscent().solve(one).path[-1] for one in found])


@pytest.mark.parametrize(
    ("less", "loss"),
    [
        ({"WIDTHS": (1.0, 0.1, 0.01, 1e-8)}, 1e-3),
        ({"N_STARTS": 2}, 5e-4),
        ({"N_VERTICES": 10}, 1e-3),
        ({"ROUGH_STEPS": 1}, 1e-3),
    ],
    ids=str,
)
@pytest.mark.slow
def test_every_tuned_constant_pays(problems, less, loss, monkeypatch):
    """Groups with heavy tails: the mean quotient falls by more than the loss without the constant."""
    objectives, best = problems
    for constant, value in less.items():
        monkeypatch.setattr(module, constant, value)
    found = np.array([QuotientAscent().solve(one).path[-1] for one in objectives])
    assert (found / best).mean() < 1 - loss


@pytest.mark.slow
def test_the_second_best_of_the_rough_climbs_is_worth_its_time(monkeypatch):
    """It wins in one problem of twenty, by up to a percent; which one that is hangs on the processor.

    The mean gain over six times 72 problems was 0.5e-4 to 3e-4.
    """
    objectives = [objective for seed in range(12, 60) if seed % 4 < 3 for objective in groups(seed)]
    both = [QuotientAscent().solve(one).path[-1] for one in objectives]
    monkeypatch.setattr(module, "N_KEPT", 1)
    best = [QuotientAscent().solve(one).path[-1] for one in objectives]
    assert np.mean(np.divide(best, both)) < 1 - 1e-5


def test_a_problem_holds_the_rows_in_a_basis_of_their_span():
    above, below = sets(4)
    flat = np.column_stack([below[:, :3], np.zeros(40)])
    v, u = RNG.uniform(0.5, 2.0, size=5), RNG.uniform(0.5, 2.0, size=40)
    problem, V = module._TwoSets.of(quotient(above, flat, Lp(p=1), v, u))
    assert V.shape == (4, 3)
    np.testing.assert_allclose(problem.above, above @ V)
    np.testing.assert_allclose(problem.below, flat @ V)
    np.testing.assert_array_equal(problem.v, v)
    np.testing.assert_array_equal(problem.u, u)
    both = Quotient(Dispersion(DenseRows(above), Lp(p=1)), Dispersion(DenseRows(flat), Lp(p=1)), ridge=0.5)
    assert module._TwoSets.of(both)[1].shape == (4, 4)  # a ridge is finite everywhere


@pytest.mark.parametrize("ridge", [0.0, 2.0])
def test_the_quotient_of_several_directions(ridge):
    above, below = sets(3)
    v, u = RNG.uniform(0.5, 2.0, size=5), RNG.uniform(0.5, 2.0, size=40)
    objective = Quotient(
        Dispersion(DenseRows(above, weights=v), TL1(a=1.0)),
        Dispersion(DenseRows(below, weights=u), TL1(a=1.0)),
        ridge,
    )
    problem, V = module._TwoSets.of(objective)
    W = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    np.testing.assert_allclose(problem.quotient(V.T @ W), objective.value(W), rtol=1e-12)
    assert problem.smoothed_quotient(V.T @ W[:, 0], 0.0) == pytest.approx(objective.value(W)[0])
    size = problem.size(V.T @ W[:, 0])
    if ridge:
        assert size == pytest.approx(np.sqrt(u @ (below**2).sum(axis=1) / 3 / u.sum()))
    else:
        t = np.abs(below @ W[:, 0])
        assert u[t < 0.999 * size].sum() <= u.sum() / 2 <= u[t <= 1.001 * size].sum()


def test_a_step_maximizes_its_minorant():
    """(G'w - F/2 w'Sw) for an operator that needs no shift, against many directions."""
    above, below = sets(4)
    v, weights = RNG.uniform(0.5, 2.0, size=5), RNG.uniform(0.5, 2.0, size=40)
    problem, _ = module._TwoSets.of(quotient(above, below, Lp(p=1), v, weights))
    w, h = np.array([0.5, -0.5, 0.5, 0.5]), 0.2
    value = problem.smoothed_quotient(w, h)
    G = problem.above.T @ (v * np.sign(problem.above @ w))
    u = np.sqrt((problem.below @ w) ** 2 + h**2)
    S = (problem.below.T * weights / u) @ problem.below
    others = RNG.normal(size=(4, 4000))
    others /= np.linalg.norm(others, axis=0)
    minorant = lambda W: G @ W - 0.5 * value * np.einsum("ij,ik,kj->j", W, S, W)  # noqa: E731
    new, reached = problem.step(w, value, h)
    assert minorant(new[:, None])[0] >= minorant(others).max() - 1e-12
    assert reached > value


def test_the_shift_that_never_fails_is_a_bound():
    """For an operator that is not convex: from kappa times all squares above on no step descends."""
    operator = TL1(a=0.05)
    problem, _ = module._TwoSets.of(quotient(*sets(4), operator))
    kept = 0
    for seed in range(30):
        w = np.random.default_rng(seed).normal(size=4)
        w /= np.linalg.norm(w)
        value = problem.smoothed_quotient(w, 1e-2)
        new, reached = problem.step(w, value, 1e-2)
        assert reached >= value
        kept += bool((new == w).all())
    assert kept < 3  # and hardly ever stays


def test_climbs_keep_the_best_they_have_seen():
    problem, _ = module._TwoSets.of(quotient(*sets(3), Lp(p=1)))
    w = np.array([1.0, 0.0, 0.0])
    climb = module._Climb(problem, w)
    first = float(problem.quotient(w[:, None])[0])
    assert climb.path == [first]
    climb.at(0.1, 50, 1e-6)
    assert climb.done
    assert climb.path[-1] >= first
    best = climb.best
    climb.to(w)  # lower: the best stays
    assert climb.best is best
    assert climb.path[-1] == climb.path[-2]
    short = module._Climb(problem, w)
    short.at(0.1, 1, 0.0)
    assert not short.done


def test_vertices_are_drawn_while_they_are_cheap():
    def drawn(d, ridge=0.0):
        return module._TwoSets(
            np.ones((1, d)), np.ones((2, d)), np.ones(1), np.ones(2), Lp(p=1), ridge
        )._drawn()

    assert drawn(1) == 0
    assert drawn(2) == drawn(20) == module.N_VERTICES
    assert drawn(50) == module.VERTEX_WORK // 50**3 < module.N_VERTICES
    assert drawn(20, ridge=1.0) == 0


def test_with_a_ridge_fewer_widths_end_as_high():
    above, below = sets(3)
    objective = Quotient(Dispersion(DenseRows(above), Lp(p=1)), Dispersion(DenseRows(below), Lp(p=1)), 5.0)
    found = QuotientAscent().solve(objective)
    others = RNG.normal(size=(3, 20_000))
    others /= np.linalg.norm(others, axis=0)
    assert found.path[-1] >= objective.value(others).max()
    assert len(found.path) == 1 + module.N_RIDGE
    sharp = QuotientAscent().solve(quotient(above, below, Lp(p=1)))
    assert len(sharp.path) == 2 + len(module.WIDTHS)  # and the vertex at the end


def test_without_a_generator_the_draw_is_fixed():
    objective = quotient(*sets(6), Lp(p=1))
    plain, drawn = (
        QuotientAscent().solve(objective),
        QuotientAscent().solve(objective, rng=np.random.RandomState(0)),
    )
    np.testing.assert_array_equal(plain.W, drawn.W)


def test_a_shift_gains_where_the_plain_step_descends():
    """The rows above are not convex in the direction: the maximizer of the tangent may overshoot."""
    operator, gained = TL1(a=0.02), 0
    for seed in range(40):
        problem, _ = module._TwoSets.of(quotient(*sets(4, seed=seed), operator))
        w = np.random.default_rng(seed).normal(size=4)
        w /= np.linalg.norm(w)
        h = 0.3
        value = problem.smoothed_quotient(w, h)
        t = problem.above @ w
        G = problem.above.T @ (np.sign(t) * operator.slope(np.abs(t)))
        u = np.sqrt((problem.below @ w) ** 2 + h**2)
        d, Q = np.linalg.eigh((problem.below.T * (value * operator.slope(u) / u)) @ problem.below)
        plain = Q @ sphere_maximizer(Q.T @ G, d)
        if problem.smoothed_quotient(plain, h) < value:
            gained += problem.step(w, value, h)[1] > value
        else:
            np.testing.assert_allclose(problem.step(w, value, h)[0], plain, atol=1e-9)
    assert gained > 3


def test_fishers_directions_have_the_weights_of_both_sets():
    above, below = sets(3)
    v, u = RNG.uniform(0.1, 5.0, size=5), RNG.uniform(0.1, 5.0, size=40)
    problem, V = module._TwoSets.of(quotient(above, below, Lp(p=1), v, u))
    scatter, between = (below.T * u) @ below, (above.T * v) @ above
    values, axes = np.linalg.eig(np.linalg.solve(scatter, between))
    fisher = np.real(axes[:, np.argmax(np.real(values))])
    starts = V @ problem.starts(np.random.RandomState(0))
    assert np.abs(starts.T @ (fisher / np.linalg.norm(fisher))).max() > 1 - 1e-12
