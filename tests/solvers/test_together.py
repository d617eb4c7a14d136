"""All directions at once, for more rows than are taken one direction after the other."""

from dataclasses import replace

import numpy as np
import pytest

from support import array_api_strict, gaussian
from tl1pca import TL1, TL1PCA, Lp
from tl1pca.objectives import dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers import SphereAscent, ascent, together
from tl1pca.solvers.together import ascend_together, smooth_ascent

N = ascent.ONE_BY_ONE + 300
OPERATORS = [TL1(a=1.0), TL1(), Lp(p=1), Lp(p=0.7)]


def ascended(X, operator, count, weights=None, **options):
    options = {"tol": 1e-8, "max_iter": 1000, "n_starts": 1} | options
    objective = dispersion(DenseRows(X, weights=weights), operator)
    return objective, ascend_together(objective, np.zeros((X.shape[1], 0)), count, **options)


def stacked(found):
    return np.column_stack([one.W for one in found])


@pytest.mark.parametrize("operator", OPERATORS, ids=repr)
def test_orthonormal_directions_whose_paths_end_at_their_objective(operator):
    objective, found = ascended(gaussian(N, 8), operator, 3)
    W = stacked(found)
    np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-12)
    for one in found:
        assert (np.diff(one.path) >= 0).all()
        assert one.converged
    np.testing.assert_allclose(objective.value(W).sum(), sum(one.path[-1] for one in found), rtol=1e-4)


@pytest.mark.parametrize("operator", OPERATORS, ids=repr)
def test_as_high_as_one_by_one(monkeypatch, operator):
    X = gaussian(N, 10)
    together = sum(one.path[-1] for one in ascended(X, operator, 3)[1])
    monkeypatch.setattr(ascent, "ONE_BY_ONE", 5000)
    objective, total = dispersion(DenseRows(X), operator), 0.0
    for _ in range(3):
        alone = SphereAscent().solve(objective)
        objective, total = objective.deflated(alone.W), total + alone.path[-1]
    assert together >= 0.995 * total


def test_every_direction_is_a_maximum_in_the_complement_of_those_before_it():
    X = gaussian(4000, 6)
    objective, found = ascended(X, TL1(a=1.0), 3)
    W = stacked(found)
    for j in range(3):
        best = float(objective.value(W[:, j]))
        inside = W[:, j:]
        for turn in np.linspace(-0.3, 0.3, 7):
            for other in range(1, inside.shape[1]):
                w = np.cos(turn) * inside[:, 0] + np.sin(turn) * inside[:, other]
                assert float(objective.value(w)) <= best * (1 + 2e-3)


def test_weights_are_repeated_rows():
    X = gaussian(N, 5)
    v = np.random.default_rng(0).integers(1, 3, N).astype(float)
    _, weighted = ascended(X, TL1(), 2, weights=v)
    _, repeated = ascended(np.repeat(X, v.astype(int), axis=0), TL1(), 2)
    assert sum(w.path[-1] for w in weighted) == pytest.approx(sum(r.path[-1] for r in repeated), rel=2e-3)


def test_earlier_directions_are_left_alone():
    X = gaussian(N, 6)
    rows = DenseRows(X)
    earlier = np.eye(6)[:, :2]
    objective = dispersion(rows.deflated(earlier), TL1())
    W = stacked(ascend_together(objective, earlier, 2, tol=1e-8, max_iter=50, n_starts=1))
    np.testing.assert_allclose(earlier.T @ W, 0.0, atol=1e-12)


def test_the_directions_end_with_the_span_of_the_rows():
    X = gaussian(N, 2) @ np.random.default_rng(0).normal(size=(2, 7))
    assert len(ascended(X, TL1(), 5)[1]) == 2
    pca = TL1PCA(a=1.0).fit(X)
    assert pca.n_components_ == pca.rank_ == 2


def test_max_iter_ends_the_steps_with_sharp_kinks():
    found = ascended(gaussian(N, 6), TL1(a=0.1), 2, max_iter=1, tol=0.0)[1]
    assert all(len(one.path) <= 2 and not one.converged for one in found)


def test_more_starts_compete_for_the_first_places():
    data = [np.random.default_rng(seed).standard_t(2.2, size=(N + 300, 8)) for seed in range(4)]
    one, several = ([TL1PCA(1, a=1.0, n_starts=n).fit(X).objective_ for X in data] for n in (1, 8))
    assert np.mean(several) > np.mean(one)


def test_wide_rows_are_not_turned_into_their_span():
    wide = gaussian(N, 40) @ np.random.default_rng(0).normal(size=(40, N + 100))
    rows = DenseRows(wide)
    assert not SphereAscent().gains_by_turning(rows, 3)
    assert SphereAscent().gains_by_turning(rows, N // 2)
    pca = TL1PCA(3, a=100.0).fit(wide)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(3), atol=1e-10)
    turned, lift = rows.shifted(pca.mean_).to_row_space()
    W = lift(smooth_ascent(dispersion(turned, TL1(a=100.0)), np.zeros((turned.shape[1], 0)), 1, 1).W)
    assert pca.objective_path_[0][-1] >= 0.99 * float(
        dispersion(rows.shifted(pca.mean_), TL1(a=100.0)).value(W)[0]
    )


A = gaussian(80, 6, seed=5)
V = np.random.default_rng(0).uniform(0.5, 2.0, size=80)


def frame(k, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(6, k)))[0]


def flag_of(operator, W, fixed=None, ordered=True, weights=None):
    objective = dispersion(DenseRows(A, weights=weights), operator)
    return objective, together._flag(objective, W, np.zeros((6, 0)) if fixed is None else fixed, ordered)


def test_tangents_of_a_flag():
    """Column j loses what is fixed and the directions up to j; without an order, itself alone."""
    Q, all_of_them = np.random.default_rng(1).normal(size=(6, 3)), frame(4)
    fixed, W = all_of_them[:, :1], all_of_them[:, 1:]
    for ordered in (True, False):
        found = flag_of(Lp(p=1), W, fixed, ordered)[1].tangent(Q)
        for j in range(3):
            taken = np.column_stack([fixed, W[:, : j + 1] if ordered else W[:, j : j + 1]])
            np.testing.assert_allclose(found[:, j], Q[:, j] - taken @ (taken.T @ Q[:, j]), atol=1e-12)


@pytest.mark.parametrize("weights", [None, V], ids=["equal", "weighted"])
def test_the_scale_of_a_flag_is_nearly_the_root(weights):
    objective, flag = flag_of(TL1(), frame(3), weights=weights)
    exact = objective.value(flag.W)
    np.testing.assert_allclose(flag.alpha, exact, rtol=1e-4)
    closer = together._better_scale(objective, flag, None)
    assert np.abs(closer - exact).max() < 1e-3 * np.abs(flag.alpha - exact).max() + 1e-9
    from_afar = replace(flag, alpha=np.full(3, 1e9))
    np.testing.assert_allclose(
        together._better_scale(objective, from_afar, None), 1e9 * np.exp(-3.0), rtol=1e-6
    )
    # One step by the formula, with the kinks spread.
    u = np.sqrt(flag.T**2 + 0.25)
    q = flag.alpha / (flag.alpha + u)
    v = np.full(80, 1 / 80) if weights is None else weights / weights.sum()
    step = (0.5 - v @ q) / (v @ q - v @ q**2)
    np.testing.assert_allclose(
        together._better_scale(objective, flag, 0.5), flag.alpha * np.exp(step), rtol=1e-9
    )


def test_what_tells_which_direction_is_higher():
    for operator in (TL1(), TL1(a=0.7), Lp(p=0.5)):
        objective, flag = flag_of(operator, frame(3), weights=V)
        np.testing.assert_allclose(together._values(objective, flag), objective.value(flag.W), rtol=1e-4)


def test_median_scores():
    T = np.random.default_rng(2).normal(size=(81, 2)) * [1.0, 5.0]
    np.testing.assert_allclose(together._median_scores(T), np.median(np.abs(T), axis=0))
    assert (together._median_scores(np.zeros((9, 2))) > 0).all()
    many = np.random.default_rng(3).normal(size=(5000, 1))
    assert together._median_scores(many)[0] == pytest.approx(np.median(np.abs(many[::10])), rel=1e-2)


def test_the_next_of_conjugate_directions():
    """Polak and Ribiere, in the tangent space; back to the gradient where that leads down."""
    _, flag = flag_of(Lp(p=1), frame(2), ordered=False)
    G = flag.tangent(np.random.default_rng(1).normal(size=(6, 2)))
    first, last = together._conjugate(flag, G)
    np.testing.assert_array_equal(first, G)
    flag = replace(flag, last=last)
    H = flag.tangent(np.random.default_rng(2).normal(size=(6, 2)))
    found, (before, D, square) = together._conjugate(flag, H)
    for j in range(2):
        share = max(H[:, j] @ H[:, j] - H[:, j] @ G[:, j], 0.0) / (G[:, j] @ G[:, j])
        right = H[:, j] + share * G[:, j]
        right = right if right @ H[:, j] > 0.1 * H[:, j] @ H[:, j] else H[:, j]
        np.testing.assert_allclose(found[:, j], right, atol=1e-12)
        assert square[j] == pytest.approx(H[:, j] @ H[:, j])
    np.testing.assert_array_equal(before, H)
    np.testing.assert_array_equal(D, found)
    down = replace(flag, last=(-H, -5.0 * H, np.sum(H * H, axis=0)))
    np.testing.assert_array_equal(together._conjugate(down, H)[0], H)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("operator", [TL1(a=0.5), TL1(), Lp(p=0.7)], ids=repr)
def test_sharp_steps_never_descend_and_keep_the_scores(operator, ordered):
    objective, flag = flag_of(operator, frame(1), ordered=ordered, weights=V)
    before = float(objective.value(flag.W)[0])
    for _ in range(6):
        flag = together.follow(objective, flag, None, 1)
        np.testing.assert_allclose(flag.T, A @ flag.W, atol=1e-10)
        np.testing.assert_allclose(np.linalg.norm(flag.W, axis=0), 1.0, atol=1e-12)
        value = float(objective.value(flag.W)[0])
        assert value >= before * (1 - 1e-6)
        before = value
    assert before > 1.01 * float(objective.value(frame(1))[0])


def test_smoothed_steps_end_at_a_maximum_of_the_smoothed_sum():
    objective, flag = flag_of(TL1(a=0.5), frame(1), weights=V)
    smooth = objective.smoothed(0.5)
    width = 0.5 / float(together._median_scores(flag.T)[0])
    begin = float(smooth.value(flag.W)[0])
    flag = together.follow(objective, flag, width, 40)
    G = smooth.value_and_gradient(flag.W).gradient[:, 0]
    w = flag.W[:, 0]
    assert float(smooth.value(flag.W)[0]) > begin
    assert np.linalg.norm(G - (G @ w) * w) < 1e-6 * (G @ w)


def test_a_flag_stays_orthonormal_and_its_first_directions_alone_decide():
    objective, flag = flag_of(TL1(a=0.5), frame(4)[:, :3], frame(4)[:, 3:])
    moved = together.follow(objective, flag, 0.4, 3)
    np.testing.assert_allclose(moved.W.T @ moved.W, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(frame(4)[:, 3] @ moved.W, 0.0, atol=1e-12)
    np.testing.assert_allclose(moved.T, A @ moved.W, atol=1e-10)
    alone = together.follow(objective, flag_of(TL1(a=0.5), frame(4)[:, :1], frame(4)[:, 3:])[1], 0.4, 3)
    np.testing.assert_allclose(moved.W[:, 0], alone.W[:, 0], atol=1e-10)


def test_the_best_rows_are_the_highest_of_some():
    objective = dispersion(DenseRows(A), TL1(a=0.5))
    W = (A / np.linalg.norm(A, axis=1)[:, None]).T
    found = together._best_rows(objective, np.zeros((6, 0)), 5)
    right = np.argsort(-objective.value(W), kind="stable")[:5]
    np.testing.assert_allclose(found, W[:, right], atol=1e-12)
    assert together._best_rows(objective, np.zeros((6, 0)), 70).shape == (6, 70)
    beside = together._best_rows(objective, np.eye(6)[:, :2], 3)
    np.testing.assert_allclose(beside[:2], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(beside, axis=0), 1.0)


def test_a_contest_has_as_many_winners_as_places_or_starts():
    objective = dispersion(DenseRows(A), TL1(a=0.5))
    nothing = np.zeros((6, 0))
    for count in (1, 2, 3):
        won = together._contest(objective, frame(4), nothing, count)
        np.testing.assert_allclose(won.T @ won, np.eye(count), atol=1e-12)
    assert together._contest(objective, frame(2), nothing, 5).shape == (6, 2)
    assert together._contest(objective, frame(1), nothing, 5).shape == (6, 1)
    # The first place is that of the start that leads highest.
    pool = together._flag(objective, frame(4), nothing, ordered=False)
    for width, steps in together.CONTEST_WIDTHS:
        pool = together.follow(objective, pool, width, steps)
    best = pool.W[:, int(np.argmax(objective.value(pool.W)))]
    assert abs(float(best @ together._contest(objective, frame(4), nothing, 1)[:, 0])) > 1 - 1e-9


def test_a_flag_ends_before_the_first_direction_without_scores():
    W, flat = np.eye(6), A.copy()
    flat[:, 2] = 1e-14
    objective = dispersion(DenseRows(flat), TL1())
    flag = together._flag(objective, W[:, :5], np.zeros((6, 0)))
    ended = together._spanned(flag)
    assert (ended.W.shape, ended.T.shape, ended.alpha.shape) == ((6, 2), (80, 2), (2,))
    full = together._flag(objective, W[:, :2], np.zeros((6, 0)))
    assert together._spanned(full) is full
    first = together._flag(objective, W[:, 2:4], np.zeros((6, 0)))
    assert together._spanned(first).W.shape == (6, 1)  # one direction is always given


def test_no_more_directions_than_the_complement_has():
    rows = DenseRows(gaussian(N, 6))
    earlier = np.eye(6)[:, :4]
    objective = dispersion(rows.deflated(earlier), Lp(p=0.7))
    assert len(ascend_together(objective, earlier, 5, tol=1e-8, max_iter=50, n_starts=1)) == 2


def study(seed):
    """Heavy tails, or a fifth of the rows far away: several maxima for each place."""
    rng = np.random.default_rng(seed)
    n, d, k = [(1000, 8, 3), (1500, 20, 4), (2500, 12, 2)][seed % 3]
    rows = rng.standard_t(2.2, size=(n, d))
    if seed % 2 == 0:
        rows = rng.normal(size=(n, d)) * 0.8 ** np.arange(d)
        rows[: n // 5] = 8 * rng.normal(size=d) + rng.normal(size=(n // 5, d))
    return rows - np.median(rows, axis=0), [TL1(a=0.1), TL1(), Lp(p=0.5), TL1(a=1.0)][seed // 6 % 4], k


PROBLEMS = [study(seed) for seed in range(36, 72)]


def totals():
    return np.array([sum(one.path[-1] for one in ascended(*problem)[1]) for problem in PROBLEMS])


@pytest.fixture(scope="module")
def best():
    return totals()


@pytest.mark.parametrize(
    ("constant", "less", "loss"),
    [
        ("N_AXES", 1, 5e-4),
        ("N_CONTESTED", 1, 8e-4),
        ("CONTEST_WIDTHS", (), 6e-4),
        ("AGAIN", (0.4, 0), 6e-4),
        ("TRIALS", (1.6, 3.2, 6.4), 1e-3),
    ],
)
@pytest.mark.slow
def test_every_tuned_constant_pays(best, constant, less, loss, monkeypatch):
    """The mean objective falls by more than the loss without the constant."""
    monkeypatch.setattr(together, constant, less)
    assert (totals() / best).mean() < 1 - loss


def test_the_tolerance_is_a_share_of_the_sum():
    rough = ascended(gaussian(N, 6), TL1(a=0.1), 2, tol=0.1)[1]
    assert all(len(one.path) <= 3 and one.converged for one in rough)  # two steps that gain little
    assert len(ascended(gaussian(N, 6), TL1(a=0.1), 2, tol=1e-9)[1][0].path) > 4


def test_few_entries_of_a_device_come_to_the_host(monkeypatch):
    rows = array_api_strict(A, V)
    objective, earlier = dispersion(rows, TL1()), rows.asarray(frame(1))
    here, moved = together.at_hand(objective, earlier)
    assert type(moved) is np.ndarray
    assert type(here.rows) is DenseRows
    np.testing.assert_allclose(
        here.value(frame(2)), dispersion(DenseRows(A, weights=V), TL1()).value(frame(2))
    )
    monkeypatch.setattr(together, "HOST_ENTRIES", A.size - 1)
    assert together.at_hand(objective, earlier) == (objective, earlier)
    at_home = dispersion(DenseRows(A), TL1()), frame(1)
    assert together.at_hand(*at_home)[0] is at_home[0]
