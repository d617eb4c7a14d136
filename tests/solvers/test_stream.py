"""How two models of a stream share its rows, and when there is another rival."""

from dataclasses import replace

import numpy as np
import pytest

from tl1pca.solvers import stream as module
from tl1pca.solvers.stream_model import new_model

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
