"""The default solver against brute force in the plane, and its two forms of a Newton step."""

import numpy as np
import pytest

from support import gaussian, name, plane_optimum
from tl1pca import TL1, TL1PCA, Lp
from tl1pca.objectives import BatchDispersion, dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers import PaperAscent, SphereAscent, State, ascent

X = gaussian(60, 4, seed=1)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("a", [0.05, 0.5, 5.0])
def test_global_optimum_of_the_plane(seed, a):
    data = np.random.default_rng(seed).standard_t(2, size=(20, 2))
    best = plane_optimum(data, TL1(a=a))
    found = TL1PCA(1, a=a, center=None, n_starts=4).fit(data)
    assert found.objective_ == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_default_is_on_average_no_lower_than_the_paper(seed):
    data = np.random.default_rng(seed).standard_t(3, size=(50, 6))
    a = [0.05, 0.3, 1.0, 5.0][seed % 4]
    ours = TL1PCA(1, a=a).fit(data).objective_
    paper = [TL1PCA(1, a=a, solver="paper", random_state=i).fit(data).objective_ for i in range(10)]
    assert ours >= np.mean(paper) * (1 - 1e-9)


@pytest.mark.parametrize("operator", [TL1(a=1.0), TL1(), Lp(p=0.5)], ids=name)
def test_factored_and_iterated_newton_steps_end_alike(operator, monkeypatch):
    objective = dispersion(DenseRows(X), operator)
    factored = SphereAscent().solve(objective)
    monkeypatch.setattr(ascent, "FACTORED_COLUMNS", 0)
    iterated = SphereAscent().solve(objective)
    np.testing.assert_allclose(np.abs(factored.W.T @ iterated.W), 1.0, atol=1e-12)


def test_more_starts_look_at_more_rows():
    """With the smoothing and the n_reflections a few starts suffice here; more must not end lower."""
    Z = gaussian(700, 20, seed=3)
    few, many = (TL1PCA(1, a=1.0, center=None, n_starts=s).fit(Z).objective_ for s in (1, 8))
    assert many >= few * (1 - 1e-9)


def test_rows_of_zeros_are_no_mirrors():
    Z = np.zeros((200, 4))
    Z[:20] = X[:20]
    alone, among = (TL1PCA(1, a=1.0, center=None).fit(rows).components_ for rows in (Z[:20], Z))
    np.testing.assert_allclose(np.abs(alone @ among.T), 1.0, atol=1e-7)


A = gaussian(40, 5, seed=7)


def batch_of(operator, rows=A, weights=None):
    return BatchDispersion.of(dispersion(DenseRows(rows, weights=weights), operator))


def direction(seed, d=5):
    w = np.random.default_rng(seed).normal(size=d)
    return w / np.linalg.norm(w)


@pytest.mark.parametrize("columns", [0, 500], ids=["iterated", "factored"])
def test_a_newton_step_solves_the_tangent_system(columns, monkeypatch):
    monkeypatch.setattr(ascent, "FACTORED_COLUMNS", columns)
    w, c, mu = direction(0), np.random.default_rng(1).uniform(0.1, 2.0, size=40), 3.0
    g = direction(2)
    g -= (g @ w) * w
    P = np.eye(5) - np.outer(w, w)
    x = ascent._newton_solver(A, c, w, mu)(g, 1e-12)
    assert abs(x @ w) < 1e-8
    np.testing.assert_allclose(P @ (mu * x + (A.T * c) @ A @ x), g, atol=1e-7)


def test_a_matrix_that_is_not_definite_leaves_the_gradient():
    w, g = direction(0), direction(2)
    np.testing.assert_array_equal(ascent._newton_solver(A, np.ones(40), w, -1e6)(g, 1e-3), g / -1e6)


def test_values_along_a_great_circle():
    batch, w, x = batch_of(TL1(a=1.0)), direction(0), direction(1)
    x -= (x @ w) * w
    steps = np.array([0.0, 0.7, 2.0])
    cos, scores, values = ascent._along(batch, A @ w, A @ x, steps[:, None], x @ x)
    for i, step in enumerate(steps):
        there = w + step * x
        assert float(cos[i, 0]) == pytest.approx(1 / np.linalg.norm(there))
        there /= np.linalg.norm(there)
        np.testing.assert_allclose(scores[i], A @ there, atol=1e-12)
        assert values[i] == pytest.approx(TL1(a=1.0).value(np.abs(A @ there)).sum())


@pytest.mark.parametrize("operator", [TL1(a=0.5), TL1(), Lp(p=0.5)], ids=name)
def test_candidates_are_ranked_by_the_objective_and_each_once(operator):
    objective = dispersion(DenseRows(A), operator)
    W = A / np.linalg.norm(A, axis=1)[:, None]
    doubled = np.vstack([W, -W[::-1]]) @ A.T
    found = ascent._rank(batch_of(operator), doubled, 12)
    right = np.argsort(-objective.value(W.T), kind="stable")
    assert found[0] % 79 in (right[0], 79 - right[0])
    ranked = [i if i < 40 else 79 - i for i in found]
    assert len(set(ranked)) == 12
    if operator.adaptive:  # ranked at the shape of the best: the same first, about the same others
        assert ranked[0] == right[0]
    else:
        assert ranked == right[:12].tolist()


def test_near_duplicates_are_left_out():
    w = np.column_stack([direction(0), direction(1)])
    twin = w[:, 0] + 1e-3 * w[:, 1]
    W = np.vstack([w.T, -twin / np.linalg.norm(twin), direction(2)])
    values = np.array([3.0, 1.0, 4.0, 2.0])
    assert ascent._distinct(W @ W.T, values, 4).tolist() == [2, 3, 1]
    assert ascent._distinct(W @ W.T, values, 2).tolist() == [2, 3]


@pytest.mark.parametrize("width", [None, 0.5])
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 40)], ids=["equal", "weighted"])
@pytest.mark.parametrize("operator", [TL1(a=0.5), Lp(p=0.5), Lp(p=1)], ids=name)
def test_gradient_steps_ascend_and_keep_the_scores(operator, weights, width):
    batch = batch_of(operator, weights=weights).at(A @ direction(0), width)
    W = np.array([direction(seed) for seed in range(6)])
    before = batch.value(W @ A.T)
    for steps in (1, 8):
        end, T, values = ascent._gradient_ascent(batch, W, W @ A.T, steps, gain=0.0)
        np.testing.assert_allclose(np.linalg.norm(end, axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(T, end @ A.T, atol=1e-10)
        np.testing.assert_allclose(values, batch.value(T), rtol=1e-12)
        assert (values >= before).all()
        before = values
    assert (values > 1.02 * batch.value(W @ A.T)).any()


def test_gradient_steps_end_when_all_gain_little():
    batch, W = batch_of(TL1(a=0.5)), np.array([direction(seed) for seed in range(3)])
    once = ascent._gradient_ascent(batch, W, W @ A.T, 1, gain=0.0)[2]
    np.testing.assert_array_equal(ascent._gradient_ascent(batch, W, W @ A.T, 30, gain=1.0)[2], once)
    least = float(((once - batch.value(W @ A.T)) / once).max())
    assert (ascent._gradient_ascent(batch, W, W @ A.T, 30, gain=0.99 * least)[2] > once).any()


@pytest.mark.parametrize("operator", [TL1(a=0.3), TL1(), Lp(p=0.7)], ids=name)
def test_newton_ends_where_the_gradient_vanishes(operator):
    """Never down, and in a few steps: each cell has one maximum."""
    batch, objective = batch_of(operator), dispersion(DenseRows(A), operator)
    for seed in range(12):
        w, t, relative, path = ascent._newton_ascent(batch, 2.0 * direction(seed), 100, 1e-12)
        assert (np.diff(path) >= -1e-14 * path[-1]).all()
        assert len(path) < 25
        assert np.linalg.norm(w) == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(t, A @ w, atol=1e-10)
        assert path[-1] == pytest.approx(float(objective.value(w)), rel=1e-9)
        G = objective.value_and_gradient(w[:, None]).gradient[:, 0]
        tangent = np.linalg.norm(G - (G @ w) * w) / (G @ w)
        assert tangent < 1e-9
        assert relative < 1e-9


def test_the_limit_of_steps_is_kept():
    objective = dispersion(DenseRows(A), TL1(a=0.05))
    begin = State(direction(3)[:, None])
    short = SphereAscent(max_iter=1, n_reflections=0).solve(objective, begin)
    assert len(short.path) == 2
    assert not short.converged
    full = SphereAscent(n_reflections=0).solve(objective, begin)
    assert full.converged
    assert full.path[0] == pytest.approx(float(objective.value(begin.W)[0]))
    assert full.path[-1] > short.path[-1]


@pytest.mark.parametrize("with_gram", [False, True])
def test_the_best_mirror_image(with_gram):
    """w - 2 t_i x_i/|x_i|^2 for every row, against all of them."""
    operator, length = TL1(a=0.3), np.linalg.norm(A, axis=1)
    batch, moved = batch_of(operator), 0
    for seed in range(10):
        w = direction(seed)
        t = A @ w
        near = np.argsort(np.abs(t) / length)[: ascent.N_MIRRORS]
        images = np.array([w - 2 * t[i] * A[i] / length[i] ** 2 for i in near])
        values = batch.value(images @ A.T)
        found = ascent._best_reflection(batch, w, t, length, A @ A.T if with_gram else None)
        if values.max() <= batch.value(t):
            assert found is None
        else:
            moved += 1
            np.testing.assert_allclose(found, images[np.argmax(values)], atol=1e-12)
    assert moved > 0


def test_more_reflections_end_no_lower():
    def total(n):
        found = [
            SphereAscent(n_reflections=n).solve(
                dispersion(DenseRows(gaussian(40, 5, seed=seed)), TL1(a=0.1)), State(direction(seed)[:, None])
            )
            for seed in range(10)
        ]
        assert all((np.diff(one.path) >= 0).all() for one in found)
        return sum(one.path[-1] for one in found)

    assert total(0) < total(1) < total(10)


def test_who_finds_the_next_directions():
    solver = SphereAscent()
    few, more = (DenseRows(np.zeros((n, 2))) for n in (ascent.ONE_BY_ONE, ascent.ONE_BY_ONE + 1))
    assert not solver._all_at_once(few)
    assert solver._all_at_once(more)
    assert not SphereAscent(warm=PaperAscent())._all_at_once(more)
    assert SphereAscent(warm=PaperAscent()).in_memory == PaperAscent().in_memory
    assert solver.in_memory is None
    assert solver.gains_by_turning(few, 1)
    assert not solver.gains_by_turning(more, ascent.ONE_BY_ONE // 4)
    assert solver.gains_by_turning(more, ascent.ONE_BY_ONE // 4 + 1)


def tails(shapes, seeds, operators):
    """Problems with heavy tails: many maxima, and a start that matters."""
    found = []
    for seed in range(seeds):
        n, d = shapes[seed % len(shapes)]
        rows = np.random.default_rng(seed).standard_t(3, size=(n, d))
        found.append(dispersion(DenseRows(rows), operators[seed // len(shapes) % len(operators)]))
    return found


STUDIES = {
    "small": tails([(40, 5), (80, 8), (150, 15)], 120, [TL1(a=0.1), TL1(), Lp(p=0.5), TL1(a=1.0)]),
    "sharp": tails([(15, 3), (25, 4), (40, 5)], 240, [TL1(a=0.02), Lp(p=0.3), TL1(a=0.05)]),
    "medium": tails([(400, 10), (800, 20)], 16, [TL1(a=0.1), TL1(), Lp(p=0.5), TL1(a=1.0)]),
}


def reached(study, **options):
    return np.array([SphereAscent(**options).solve(objective).path[-1] for objective in STUDIES[study]])


@pytest.fixture(scope="module")
def best():
    return {study: reached(study) for study in STUDIES}


def steps(*values):
    return {t: np.array(values, dtype=t) for t in (np.dtype("f"), np.dtype("d"))}


@pytest.mark.parametrize(
    ("study", "less", "loss"),
    [
        ("small", {"N_STARTS": 3}, 2e-3),
        ("small", {"N_KEPT": 1}, 1e-3),
        ("small", {"WIDTHS": ((1.0, 2), (None, 2))}, 1e-3),
        ("small", {"WIDTHS": ((1.0, 1), (0.4, 1), (0.16, 1), (None, 1))}, 1e-3),
        ("small", {"GRADIENT_STEPS": steps(0.0, 0.8)}, 2e-4),
        ("small", {"REFLECT_BELOW": 0}, 1e-3),
        ("sharp", {"N_UNSMOOTHED": 0}, 1e-4),
        ("small", {"N_MIRRORS": 4}, 1e-4),
        ("medium", {"FEW_ROWS": 1000}, 2e-3),
        ("medium", {"REFLECT_BELOW": 250}, 4e-4),
    ],
    ids=lambda value: next(iter(value)) if type(value) is dict else str(value),
)
def test_every_tuned_constant_pays(best, study, less, loss, monkeypatch):
    """The mean objective falls by more than the loss without the constant."""
    for constant, value in less.items():
        monkeypatch.setattr(ascent, constant, value)
    assert (reached(study) / best[study]).mean() < 1 - loss


def test_a_longer_step_pays_where_newton_begins_far_away(monkeypatch):
    def totals():
        begin = {d: State(np.full((d, 1), d**-0.5)) for d in (5, 8, 15)}
        return np.array(
            [
                SphereAscent(n_reflections=0).solve(one, begin[one.rows.shape[1]]).path[-1]
                for one in STUDIES["small"]
            ]
        )

    ours = totals()
    monkeypatch.setattr(ascent, "NEWTON_STEPS", steps(1.0))
    assert (totals() / ours).mean() < 1 - 5e-3


def test_factors_serve_again(best, monkeypatch):
    """A third of the factorizations is saved, and nothing lost."""
    made, solver = [], ascent._newton_solver
    monkeypatch.setattr(ascent, "_newton_solver", lambda *args: made.append(1) or solver(*args))
    np.testing.assert_allclose(reached("small"), best["small"], rtol=1e-12)
    ours = len(made)
    made.clear()
    monkeypatch.setattr(ascent, "REUSE", 0.0)
    np.testing.assert_allclose(reached("small"), best["small"], rtol=1e-9)
    assert ours < 0.67 * len(made)


def test_more_rows_than_are_screened_take_less_than_all_products(monkeypatch):
    """Some rows tell which of all are worth a look by all."""
    looked, rank = [], ascent._rank

    def counted(batch, scores, count):
        looked.append(scores.size)
        return rank(batch, scores, count)

    monkeypatch.setattr(ascent, "_rank", counted)
    objective = STUDIES["medium"][1]
    found = SphereAscent().solve(objective)
    assert looked[0] == 800 * 200  # all rows, judged by every fourth
    assert sum(looked) < 0.5 * 800**2
    monkeypatch.setattr(ascent, "N_SCREENED", 800)
    assert found.path[-1] > 0.98 * SphereAscent().solve(objective).path[-1]


@pytest.mark.parametrize("size", [1e-5, 1e5])
def test_steps_do_not_depend_on_units(size):
    W = np.array([direction(seed) for seed in range(6)])
    plain = ascent._gradient_ascent(batch_of(TL1(a=0.5)).at(A @ W[0], 0.3), W, W @ A.T, 4, gain=0.0)
    other = batch_of(TL1(a=0.5 * size), size * A).at(size * A @ W[0], 0.3 * size)
    scaled = ascent._gradient_ascent(other, W, size * W @ A.T, 4, gain=0.0)
    np.testing.assert_allclose(scaled[0], plain[0], atol=1e-9)


def test_the_largest_scale_is_ranked_first_without_a_root_for_each():
    other = 0
    for seed in range(20):
        rows = np.random.default_rng(seed).standard_t(1, size=(30, 4))
        W = rows / np.linalg.norm(rows, axis=1)[:, None]
        alpha = dispersion(DenseRows(rows), TL1()).value(W.T)
        assert alpha[ascent._rank(batch_of(TL1(), rows), W @ rows.T, 1)[0]] == pytest.approx(
            alpha.max(), rel=1e-9
        )
        other += int(np.argmax(alpha)) != int(np.argmax(np.abs(W @ rows.T).sum(axis=1)))
    assert other > 3  # the largest mean does not tell
