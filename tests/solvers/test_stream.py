"""How two models of a stream share its rows, and when there is another rival."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from tl1pca.solvers import stream as module
from tl1pca.solvers.stream_model import Measured, measure, new_model, surprise

D, K = 20, 2
GOOD, WIDE = np.r_[5.0, 4.0, np.ones(D - 2)], np.r_[5.0, 1.0, 15.0, np.ones(D - 3)]


def drawn(n, deviations, center=0.0, seed=0):
    return np.random.default_rng(seed).normal(size=(n, D)) * deviations + center


def model_of(rows):
    center = np.median(rows, axis=0)
    axes = np.linalg.svd(rows - center, full_matrices=False)[2][:K]
    return new_model(rows, center, axes, np.ones(len(rows), dtype=bool), 8)


def stream(rows, blocks, forget=1.0, start=model_of):
    """The state after a warm-up of 200 rows and some blocks."""
    state = module.new_state(start(rows), rows, 200)
    for block in blocks:
        state = module.update(state, block, K, forget, start)
    return state


def off(model):
    """Angle to the axes of the good rows."""
    return np.degrees(np.arccos(np.linalg.svd(model.axes[:2, :K])[1].min()))


def test_a_row_is_that_of_the_model_that_makes_it_more_likely():
    good, wide = model_of(drawn(400, GOOD)), model_of(drawn(400, WIDE))
    rows = np.vstack([drawn(300, GOOD, seed=1), drawn(300, WIDE, seed=2)])
    _, (first, second), own = module._shared_out((wide, good), rows, K)
    assert first.inside[:300].mean() > 0.7  # most good rows lie within the limits of the wide model
    assert own[1][:300].mean() > 0.9
    assert own[0][300:].mean() > 0.8
    assert not (own[0] & own[1]).any()
    assert not (own[0] & ~first.inside).any()
    assert not (own[1] & ~second.inside).any()


def test_without_a_rival_all_rows_inside_are_own():
    good = model_of(drawn(400, GOOD))
    bounds, seen, own = module._shared_out((good, module._none(good)), drawn(300, GOOD, seed=1), K)
    assert len(bounds) == len(seen) == 1
    np.testing.assert_array_equal(own[0], seen[0].inside)
    assert not own[1].any()


def test_a_rival_with_less_than_one_vote_is_there():
    rival = replace(model_of(drawn(400, GOOD, 30.0)), votes=0.5)
    rows = drawn(50, GOOD, 30.0, seed=1)
    good = model_of(drawn(200, GOOD))
    assert module._shared_out((good, rival), rows, K)[2][1].mean() > 0.9
    state = replace(module.new_state(good, drawn(200, GOOD), 200), rival=rival)
    assert module.update(state, rows, K, 1.0, model_of).rival.votes > 45


def test_what_is_rejected_learns_and_wins_by_numbers():
    there = drawn(200, GOOD, 30.0)
    blocks = [drawn(100, GOOD, 30.0, seed) for seed in range(1, 4)]
    state = stream(there, blocks)
    assert state.rival.votes == 0
    blocks += [drawn(100, GOOD, seed=seed) for seed in range(4, 7)]
    state = stream(there, blocks)
    assert 200 < state.rival.votes < state.model.votes
    assert np.abs(state.rival.center[5:]).max() < 1 < state.model.center[5:].min()
    blocks += [drawn(100, GOOD, seed=seed) for seed in range(7, 10)]
    state = stream(there, blocks)
    assert np.abs(state.model.center[5:]).max() < 1
    assert (state.n_seen, state.n_rejected) == (1100, pytest.approx(600, abs=40))


def test_a_model_that_is_too_wide_is_found_out_in_a_block():
    blocks = [drawn(100, WIDE, seed=seed) for seed in range(1, 5)]
    assert stream(drawn(200, WIDE), blocks).rival.votes == 0
    state = stream(drawn(200, WIDE), [*blocks, drawn(100, GOOD, seed=5)])
    assert off(state.model) > 60
    assert off(state.rival) < 20
    assert state.rival.votes > 95  # and what the sample says of the past
    assert state.rival.votes + state.model.votes == pytest.approx(700, rel=0.06)


def test_a_good_model_is_not_replaced_by_what_is_less_precise():
    good = model_of(drawn(2000, GOOD))
    assert module._better(good, drawn(200, GOOD, seed=1), K, model_of) is None
    assert module._better(model_of(drawn(2000, WIDE)), drawn(200, GOOD, seed=1), K, model_of) is not None


def test_doubts_in_vain_become_rare():
    """Heavy tails look narrow again and again: fits of blocks must not become the rule."""
    fits = []

    def start(rows):
        fits.append(len(rows))
        return model_of(rows)

    rng = np.random.default_rng(0)

    def tails(n):
        rows = drawn(n, np.ones(D), seed=rng.integers(1000))
        rows[:, :2] += 5 * rng.standard_t(1.5, size=(n, 2))
        return rows

    state = stream(tails(200), [tails(200) for _ in range(60)], start=start)
    assert state.vain <= np.log2(state.n_seen / 200) + 1
    assert len(fits) < 25


def test_while_all_rows_are_there_they_are_fitted_again():
    fits = []

    def start(rows):
        fits.append(len(rows))
        return model_of(rows)

    stream(drawn(200, GOOD), [drawn(150, GOOD, seed=seed) for seed in range(1, 9)], start=start)
    assert fits == [200, 800]  # the last block edge at which a sample of 4 x 200 rows holds all
    fits.clear()
    stream(drawn(200, GOOD), [drawn(150, GOOD, seed=seed) for seed in range(1, 9)], 0.998, start)
    assert fits == [200]  # rows that fade do not count alike


@pytest.mark.parametrize(("n", "again"), [(21, True), (19, False)])
def test_two_models_are_fitted_again_where_each_has_ten_rows_for_a_component(n, again):
    rows = np.vstack([drawn(100, GOOD), drawn(n, GOOD, 60.0, seed=1)])
    state = module.new_state(model_of(rows[:100]), rows[:100], 200)
    state = replace(state, rival=model_of(drawn(100, GOOD, 60.0, seed=2)), n_seen=100 + n)
    state.sample[: 100 + n] = rows
    fits = []

    def start(some):
        fits.append(some)
        return model_of(some)

    own = module._shared_out((state.model, state.rival), rows, K)[2]
    assert np.count_nonzero(own[1]) == n
    module._fitted_again(state, K, start)
    assert [len(some) for some in fits] == ([100, n] if again else [])


def test_the_reserve_is_not_a_rival_of_a_model_that_has_come_to_know_it():
    rows = drawn(200, GOOD)
    state = module.new_state(model_of(rows), rows, 200)
    known = replace(state, reserve=drawn(200, GOOD, seed=1), n_reserve=200, reserve_votes=200.0)
    after = module.update(known, drawn(100, GOOD, seed=2), K, 1.0, model_of)
    assert after.rival.votes == 0
    assert after.n_reserve == 0


def test_votes_of_a_new_rival_are_counted_in_the_sample():
    good, wide = model_of(drawn(400, GOOD)), model_of(drawn(400, WIDE))
    past = np.vstack([drawn(600, WIDE, seed=1), drawn(200, GOOD, seed=2)])
    block = drawn(100, GOOD, seed=3)
    weights = np.r_[np.full(800, 2.0), np.ones(100)]
    model, rival = module._challenged(wide, module._none(wide), good, (past, block), weights, K)
    own = module._shared_out((wide, good), np.vstack([past, block]), K)[2]
    assert (model.votes, rival.votes) == (weights @ own[0], weights @ own[1])
    assert rival.weight > 400 + 180  # it learned the rows of the past that it took
    stronger = replace(good, votes=5000.0)
    assert module._challenged(wide, stronger, good, (past, block), weights, K)[1] is stronger


def test_the_reserve_is_a_ring():
    ring = np.zeros((4, 1))
    ring, count = module._put_back(ring, 0, np.array([[1.0], [2.0], [3.0]]))
    ring, count = module._put_back(ring, count, np.array([[4.0], [5.0]]))
    assert (ring[:, 0].tolist(), count) == ([5.0, 2.0, 3.0, 4.0], 5)
    ring, count = module._put_back(ring, count, np.arange(10.0, 16.0)[:, None])
    assert sorted(ring[:, 0].tolist()) == [12.0, 13.0, 14.0, 15.0]
    assert count == 11


# ---------------------------------------------------------------- by hand
def test_a_new_state_has_its_rows_and_nothing_else():
    rows = drawn(60, GOOD)
    model = replace(model_of(rows), votes=55.0)
    state = module.new_state(model, rows, 20)
    assert (state.n_seen, state.n_rejected, state.n_reserve) == (60, 5, 0)
    assert (state.reserve_votes, state.vain) == (0.0, 0.0)
    assert (state.rival.votes, state.rival.weight, state.rival.counts.sum()) == (0.0, 0.0, 0.0)
    assert state.sample.shape == (80, D)
    np.testing.assert_array_equal(state.sample[:60], rows)
    assert not state.sample[60:].any()
    assert state.reserve.shape == (20, D)


def test_rows_fill_the_sample_and_then_replace_others():
    block = np.arange(1.0, 6.0)[:, None]
    filled = module._sampled(np.zeros((8, 1)), 5, block, np.inf)
    assert filled[:, 0].tolist() == [0, 0, 0, 0, 0, 1, 2, 3]
    full = np.zeros((1000, 1))
    block = np.arange(1.0, 1001.0)[:, None]
    assert module._sampled(full, 1000, block, np.inf) is not full
    assert not module._sampled(full, 5000, block, np.inf).any()
    half = np.count_nonzero(module._sampled(full, 5000, block, 2000.0))  # one in two is put anywhere
    assert half == pytest.approx(1000 * (1 - np.exp(-0.5)), abs=45)
    late = module._sampled(np.zeros((1000, 1)), 900, block, 1000.0)  # those that filled it are not put again
    assert np.unique(late).size == pytest.approx(1 + 1000 * (1 - np.exp(-0.9)), abs=45)
    assert (np.unique(late[:900]) <= 0).sum() == 1
    assert np.setdiff1d(late[:900], 0.0).min() > 100


def test_what_is_no_row_is_not_put_back_and_one_is():
    ring = np.zeros((4, 1))
    assert module._put_back(ring, 3, np.zeros((0, 1))) == (ring, 3)
    found, count = module._put_back(ring, 3, np.ones((1, 1)))
    assert (found[:, 0].tolist(), count) == ([0.0, 0.0, 0.0, 1.0], 4)
    assert not ring.any()


def normal_block(n, deviations, k):
    """Rows whose scores have just these deviations, by quantiles, and no residuals."""
    q = norm.ppf((np.arange(n) + 0.5) / n)
    rows = np.zeros((n, D))
    rows[:, :k] = np.random.default_rng(0).permuted(np.tile(q[:, None], k), axis=0) * deviations
    return rows


def doubted(n, ratio, k=2, size=1.0, noise=1.0, away=0.0):
    """Whether rows with a ratio of the variance in one direction, and of the noise, are a doubt."""
    model = replace(model_of(drawn(100, GOOD)), center=np.full(D, 3.0), axes=np.eye(D)[:, :8])
    model = replace(model, variances=np.full(8, 4.0), noise=10.0)
    bounds = replace(module.limits(model, k), size=size)
    deviations = np.full(k, 2.0 * np.sqrt(size))
    deviations[-1] *= np.sqrt(ratio)
    block = 3.0 + away + normal_block(n, deviations, k)
    seen = Measured(np.ones(n), np.ones(n), np.full(n, 10.0 * noise), np.ones(n, dtype=bool))
    return module._doubtful(model, bounds, seen, block, np.ones(n, dtype=bool), k)


def test_a_model_is_doubted_where_rows_have_half_of_its_variance():
    for size in (1.0, 3.0):
        assert not doubted(1000, 0.55, size=size)
        assert doubted(1000, 0.45, size=size)
        assert doubted(1000, 0.45, size=size, away=9.0)  # where they lie is no matter
    assert not doubted(1000, 1.0, noise=0.55)
    assert doubted(1000, 1.0, noise=0.45)


def test_of_few_rows_three_standard_errors_are_needed():
    """2.33 over the root of n is that of a robust variance: 0.3 of the variance at 100 rows."""
    limit = 1 - 3 * 2.33 / 10
    assert not doubted(100, limit + 0.05)
    assert doubted(100, limit - 0.05)
    assert not doubted(100, 1.0, noise=limit + 0.05)
    assert doubted(100, 1.0, noise=limit - 0.05)


def test_ten_rows_for_each_component_are_needed_for_a_doubt():
    assert doubted(61, 0.0, k=6)
    assert not doubted(59, 0.0, k=6)


def test_surprise_is_that_of_the_half_that_suits_best():
    good = model_of(drawn(400, GOOD))
    bounds = module.limits(good, K)
    for n in (7, 8):
        rows = drawn(n, GOOD, seed=1)
        each = surprise(good, bounds, measure(good, bounds, rows, K), K)
        np.testing.assert_allclose(module._surprise(good, rows, K), np.sort(each)[:4])


def test_a_better_fit_is_clearly_better_on_the_other_half_of_the_rows():
    """Three standard errors of the difference decide; what wins is the fit of all rows."""
    own, fits = drawn(100, GOOD, seed=1), []

    def start(rows):
        fits.append(rows)
        return model_of(rows)

    decided = []
    for shift in np.linspace(0.0, 3.0, 25):
        old = replace(model_of(drawn(400, GOOD)), center=np.full(D, shift))
        fits.clear()
        found = module._better(old, own, K, start)
        first, second = (module._surprise(each, own[1::2], K) for each in (old, model_of(own[::2])))
        error = np.sqrt((first.var() + second.var()) / 25)
        clear = first.mean() - second.mean() > 3 * error
        decided.append(clear)
        assert (found is not None) == clear
        np.testing.assert_array_equal(fits[0], own[::2])
        assert len(fits) == (2 if clear else 1)
        if clear:
            assert fits[1] is own
    assert any(decided)
    assert not all(decided)


def with_reserve(votes=450.0, far=200):
    """1500 votes for a model, and a full reserve of which some rows are far from it."""
    rows = drawn(200, GOOD)
    state = module.new_state(replace(model_of(rows), votes=1500.0), rows, 200)
    reserve = drawn(200, GOOD, seed=1)
    reserve[:far] += 40.0
    return replace(state, reserve=reserve, n_reserve=200, reserve_votes=votes)


def test_a_rival_starts_from_a_fifth_of_the_votes():
    block = drawn(20, GOOD, seed=2)
    none = module.update(with_reserve(250.0), block, K, 1.0, model_of)
    assert none.rival.votes == 0.0
    assert none.n_reserve >= 200
    new = replace(with_reserve(450.0), sample=with_reserve().sample + np.linspace(0, 40, 800)[:, None])
    seen = []

    def start(rows):
        seen.append(rows)
        return model_of(rows)

    after = module.update(new, np.vstack([block, drawn(20, GOOD, 40.0, seed=3)]), K, 1.0, start)
    assert after.rival.votes > 0.0
    assert (after.n_reserve, after.reserve_votes) == (0, 0.0)
    assert not after.reserve.any()
    assert seen[0][:, 5:].min() > 30.0


def test_more_than_half_of_the_reserve_must_still_be_nobodys():
    block = np.vstack([drawn(20, GOOD, seed=2), drawn(20, GOOD, 40.0, seed=3)])
    assert module.update(with_reserve(far=90), block, K, 1.0, model_of).rival.votes == 0.0
    assert module.update(with_reserve(far=120), block, K, 1.0, model_of).rival.votes > 0.0


def test_what_fades_in_an_update():
    state = replace(with_reserve(100.0), vain=1.0)
    block = np.vstack([drawn(30, GOOD, seed=2), drawn(10, GOOD, 40.0, seed=3)])
    after = module.update(state, block, K, 0.99, model_of)
    fade = 0.99 ** np.arange(39, -1, -1)
    _, _, own = module._shared_out((state.model, state.rival), block, K)
    assert after.reserve_votes == pytest.approx(100.0 * 0.99**40 + fade[~own[0]].sum())
    assert after.vain == pytest.approx(0.99**40)
    assert after.model.votes == pytest.approx(1500.0 * 0.99**40 + fade[own[0]].sum())
    assert after.n_rejected == state.n_rejected + np.count_nonzero(~own[0])
    assert after.n_seen == 240


def test_doubts_in_vain_are_as_many_as_doublings_of_the_rows():
    """Rows too near the model, of which no fit is better: in vain while 2^vain <= memory / reserve."""
    wide = model_of(np.vstack([drawn(100, GOOD), drawn(100, GOOD, seed=7)]))
    doubtful = replace(wide, noise=5.0 * wide.noise)
    state = replace(module.new_state(doubtful, drawn(200, GOOD), 200), n_seen=900)
    block, fits = drawn(100, GOOD, seed=3), []

    def no_better(rows):
        fits.append(rows)
        return replace(doubtful, center=np.full(D, 500.0))

    assert module.update(state, block, K, 1.0, no_better).vain == 1.0  # memory / reserve is five
    assert len(fits) == 1
    assert module.update(replace(state, vain=2.0), block, K, 1.0, no_better).vain == 3.0
    assert len(fits) == 2
    assert module.update(replace(state, vain=2.5), block, K, 1.0, no_better).vain == 2.5
    assert len(fits) == 2
