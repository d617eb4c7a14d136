"""Quasi-Newton steps on frames, against dense formulas."""

import numpy as np
import pytest

from support import subspace_angle
from tl1pca.objectives import Evaluation
from tl1pca.operators import Lp
from tl1pca.solvers import quasi_newton as module
from tl1pca.solvers.quasi_newton import MEMORY, elliptical, quasi_newton, span_curvature, uniform

RNG = np.random.default_rng(0)
C = np.diag([9.0, 7.0, 4.0, 2.0, 1.0, 0.5])


def trace(W):
    """tr(W'CW)/2: the maximum is any frame of the leading axes."""
    return Evaluation(W, 0.5 * np.einsum("ij,ik,kj->j", W, C, W), C @ W, Lp(p=2))


def frame(k, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(6, k)))[0]


def test_the_leading_axes_are_found_without_descending():
    found = quasi_newton(trace, frame(2), uniform, 1e-14, 200)
    assert found.converged
    assert (np.diff(found.path) >= 0).all()
    assert found.path[-1] == pytest.approx(8.0, rel=1e-10)
    assert subspace_angle(found.end.W.T, np.eye(6)[:2]) < 1e-3


def test_few_steps_are_enough_and_the_limit_is_kept():
    published = [trace(frame(2)).value]
    W = frame(2)
    while published[-1] < 8.0 * (1 - 1e-10):
        W = np.linalg.qr(C @ W)[0]
        published.append(trace(W).value)
    ours = quasi_newton(trace, frame(2), elliptical(np.diag(C)[::-1], np.eye(6)[:, ::-1]), 1e-12, 200)
    assert ours.path[-1] == pytest.approx(8.0, rel=1e-9)
    assert len(ours.path) < 0.7 * len(published)
    short = quasi_newton(trace, frame(2), uniform, 0.0, 3)
    assert len(short.path) == 4
    assert not short.converged


def test_the_window_asks_for_several_small_gains():
    one, two = (quasi_newton(trace, frame(2), uniform, 3e-2, 200, window=w) for w in (1, 2))
    gains = np.diff(one.path)
    assert gains[-1] <= 3e-2 * one.path[-1]
    assert (gains[:-1] > 3e-2 * np.array(one.path[1:-1])).all()
    assert two.path[-1] - two.path[-3] <= 2 * 3e-2 * two.path[-1]


def test_the_direction_is_that_of_dense_bfgs():
    """The two loops against the updated inverse matrix, H <- (I - s y'/sy) H (I - y s'/sy) + s s'/sy."""
    d, m = 6, 4
    B = RNG.normal(size=(d, d))
    B = B @ B.T + np.eye(d)
    S = RNG.normal(size=(m, d))
    Y = S @ B
    H = 2.0 * np.eye(d)
    for s, y in zip(S, Y):
        E = np.eye(d) - np.outer(s, y) / (s @ y)
        H = E @ H @ E.T + np.outer(s, s) / (s @ y)
    g = RNG.normal(size=(d, 1))
    pairs = np.stack([S, Y])[..., None]
    found = module._direction(g, pairs, None, lambda here, Q, pairs: 2.0 * Q)
    np.testing.assert_allclose(found, H @ g, rtol=1e-10)
    # A step along which the objective is not concave says nothing.
    bad = np.concatenate([pairs, np.stack([S[:1], -Y[:1]])[..., None]], axis=1)
    np.testing.assert_allclose(module._direction(g, bad, None, lambda h, Q, p: 2.0 * Q), H @ g, rtol=1e-10)


def test_tangents_and_curvature():
    W, Q = frame(2), RNG.normal(size=(6, 2))
    T = module._tangent(W, Q)
    np.testing.assert_allclose(W.T @ T, -(W.T @ T).T, atol=1e-12)
    np.testing.assert_allclose(module._tangent(W, T), T, atol=1e-12)
    A = W.T @ C @ W
    np.testing.assert_allclose(span_curvature(trace(W)), 0.5 * (A + A.T), atol=1e-12)


def test_uniform_curvature():
    here, Q = trace(frame(2)), RNG.normal(size=(6, 2))
    none = np.zeros((2, 0, 6, 2))
    np.testing.assert_allclose(uniform(here, Q, none), Q * 6 / np.trace(span_curvature(here)))
    s, y = RNG.normal(size=(2, 6, 2))
    pairs = np.stack([s, y])[:, None]
    np.testing.assert_allclose(uniform(here, Q, pairs), Q * np.vdot(s, y) / np.vdot(y, y))


def test_elliptical_curvature_solves_its_equation():
    """D S - h C D = Q off the span, and Q over the mean curvature inside."""
    W = np.eye(6)[:, :2]
    here = trace(W)
    Q = RNG.normal(size=(6, 2))
    D = elliptical(np.diag(C)[::-1], np.eye(6)[:, ::-1])(here, Q, None)
    S = span_curvature(here)
    h = np.trace(S) / 16.0
    off = D - W @ (W.T @ D)
    left = off @ S - h * (C @ off)
    np.testing.assert_allclose(left[2:], Q[2:], rtol=1e-10)
    np.testing.assert_allclose(W.T @ D, W.T @ Q / np.mean(np.diag(S)), rtol=1e-10)


def test_the_gap_keeps_a_step_finite():
    flat = np.ones(6)
    here = Evaluation(np.eye(6)[:, :2], np.ones(2), np.eye(6)[:, :2], Lp(p=2))
    Q = RNG.normal(size=(6, 2))
    D = elliptical(flat, np.eye(6))(here, Q, None)
    np.testing.assert_allclose(D[2:], Q[2:] / module.GAP, rtol=1e-10)


def test_the_first_step_that_ascends_is_taken():
    W = frame(2)
    here, D = trace(W), 0.3 * module._tangent(W, C @ W) / 9.0
    tried = []

    def evaluate(W):
        tried.append(W)
        return trace(W)

    up = module._first_higher(evaluate, here, D)
    assert len(tried) == 1
    assert up.value > here.value
    tried.clear()
    module._first_higher(evaluate, here, -D)
    assert len(tried) == 3  # both lengths descend, the published step does not
    for target, found in zip((W - D, W - 0.25 * D, C @ W), tried):
        U, _, Vt = np.linalg.svd(target, full_matrices=False)
        np.testing.assert_allclose(found, U @ Vt, atol=1e-12)
    assert module._first_higher(trace, trace(np.eye(6)[:, :2]), np.zeros((6, 2))) is None


def test_a_long_step_is_cut():
    moved = quasi_newton(trace, frame(2), lambda here, Q, pairs: 1e6 * Q, 0.0, 1).end.W - frame(2)
    assert 0.1 < np.linalg.norm(moved) < 1.5


def test_the_memory_is_bounded(monkeypatch):
    target, seen = RNG.normal(size=(6, 2)), []

    def linear(W):
        return Evaluation(W, (W * target).sum(axis=0), target, Lp(p=1))

    def short(here, Q, pairs):
        seen.append(pairs.shape[1])
        return 0.05 * Q

    quasi_newton(linear, frame(2), short, 1e-15, 40)
    assert 2 < max(seen) <= MEMORY
    seen.clear()
    monkeypatch.setattr(module, "MEMORY", 2)
    quasi_newton(linear, frame(2), short, 1e-15, 40)
    assert max(seen) == 2


def test_what_lies_in_the_span_is_left_to_the_mean_curvature():
    """At any frame: inside the span Q over the mean curvature, whatever the scatter does to the rest."""
    W, Q = frame(2, seed=4), RNG.normal(size=(6, 2))
    here = trace(W)
    D = elliptical(np.diag(C)[::-1], np.eye(6)[:, ::-1])(here, Q, None)
    np.testing.assert_allclose(W.T @ D, W.T @ Q / (np.trace(span_curvature(here)) / 2), rtol=1e-9)
