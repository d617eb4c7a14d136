"""Newton steps of several components together on all rows."""

import numpy as np
import pytest

from support import subspace_angle
from tl1pca import TL1
from tl1pca.objectives import dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers.refine import refine

N = 6000


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(N, 6)) * [6.0, 4.0, 2.5, 1.0, 1.0, 1.0]
    return DenseRows(X)


def start(angle, k=2):
    """The true axes, each turned by an angle in degrees toward a column of noise."""
    W = np.eye(6)[:, :k].copy()
    W[3 : 3 + k] += np.tan(np.radians(angle)) * np.eye(k)
    return np.linalg.qr(W)[0]


def run(rows, a=1.0, angle=15.0, tol=1e-8, max_iter=50, fixed=None, **options):
    objective = dispersion(rows, TL1(a=a))
    fixed = np.zeros((6, 0)) if fixed is None else fixed
    sample = rows.subset(np.arange(0, N, 4))
    return objective, refine(objective, start(angle), fixed, sample, tol=tol, max_iter=max_iter, **options)


@pytest.mark.parametrize("a", [1.0, "auto"])
def test_ends_higher_and_at_the_axes(rows, a):
    objective, found = run(rows, a)
    W = np.column_stack([one.W for one in found])
    np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-12)
    assert subspace_angle(W.T, np.eye(6)[:2]) < 3.0
    before = objective.value(start(15.0))
    for j, one in enumerate(found):
        assert one.converged
        assert one.path[-1] > before[j]
        assert (np.diff(one.path) >= 0).all()
        assert one.path[-1] == pytest.approx(float(objective.value(one.W)[0]), rel=1e-5)


def test_newton_needs_few_passes(rows):
    _, found = run(rows, a="auto", angle=10.0)
    assert max(len(one.path) for one in found) <= 12


def test_stays_in_the_complement_of_what_is_fixed(rows):
    fixed = np.eye(6)[:, 2:3]
    _, found = run(rows, fixed=fixed)
    for one in found:
        assert abs(float(fixed[:, 0] @ one.W[:, 0])) < 1e-12


def test_a_path_has_no_more_steps_than_allowed_and_says_so(rows):
    _, found = run(rows, angle=40.0, tol=0.0, max_iter=1)
    assert all(len(one.path) <= 2 for one in found)
    assert not any(one.converged for one in found)


def test_smoothing_leads_out_of_a_bad_cell(rows):
    _, sharp = run(rows, a=0.05, angle=60.0)
    _, smooth = run(rows, a=0.05, angle=60.0, widths=(0.5, 0.4, 0.3))
    assert sum(one.path[-1] for one in smooth) >= sum(one.path[-1] for one in sharp) * (1 - 1e-3)


def test_weights_count_as_repeated_rows():
    X = np.random.default_rng(1).normal(size=(N // 2, 6)) * [6.0, 4.0, 2.5, 1.0, 1.0, 1.0]
    twice, weighted = DenseRows(np.vstack([X, X])), DenseRows(X, weights=np.full(len(X), 2.0))
    ends = []
    for rows in (twice, weighted):
        objective = dispersion(rows, TL1(a=1.0))
        sample = rows.subset(np.arange(len(X)))
        found = refine(objective, start(10.0), np.zeros((6, 0)), sample, tol=1e-8, max_iter=50)
        ends.append(np.column_stack([one.W for one in found]))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)
