"""Where solvers begin."""

import numpy as np
import pytest

from support import gaussian, name
from tl1pca import TL1, Lp
from tl1pca.objectives import DispersionScale, dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers import (
    BallFixedPoint,
    BestSample,
    FixedPoint,
    LongestRow,
    PaperAscent,
    PrincipalAxes,
    ResultOf,
    SparseAscent,
    SparseFixedPoint,
    SphereAscent,
    State,
    StiefelAscent,
    best_sample,
    starts,
)
from tl1pca.solvers.gram import GramFixedPoint

X = gaussian(60, 4, seed=1)


def test_best_sample_ignores_rows_too_short_to_point_anywhere():
    data = np.vstack([np.zeros((3, 4)), X, 1e-12 * X[:2]])
    start = best_sample(dispersion(DenseRows(data), TL1(a=1.0)))
    assert start.index == 3 + best_sample(dispersion(DenseRows(X), TL1(a=1.0))).index
    assert best_sample(dispersion(DenseRows(np.zeros((4, 2))), TL1(a=1.0))).index == -1


def test_best_sample_by_alpha():
    objective = DispersionScale(DenseRows(X), TL1())
    values = [float(objective.value(x / np.linalg.norm(x))) for x in X]
    start = best_sample(objective)
    assert start.index == int(np.argmax(values))
    assert start.value == pytest.approx(max(values))
    np.testing.assert_array_equal(BestSample().directions(objective, 1)[:, 0], start.w)


def test_starts_are_what_their_names_say():
    objective = dispersion(DenseRows(X), Lp(p=1))
    axes = np.linalg.svd(X, full_matrices=False)[2][:2].T
    np.testing.assert_allclose(np.abs(PrincipalAxes().directions(objective, 2)), np.abs(axes), atol=1e-10)
    longest = X[np.argmax(np.linalg.norm(X, axis=1))]
    np.testing.assert_allclose(LongestRow().directions(objective, 1)[:, 0], longest / np.linalg.norm(longest))
    np.testing.assert_array_equal(State(axes).directions(objective, 2), axes)
    found = FixedPoint().solve(objective, n_directions=2).W
    np.testing.assert_array_equal(ResultOf(FixedPoint()).directions(objective, 2), found)


def test_a_given_start_is_where_a_solver_begins():
    objective = dispersion(DenseRows(X), Lp(p=1))
    end = FixedPoint().solve(objective, n_directions=2)
    again = FixedPoint().solve(objective, State(end.W), 2)
    assert len(again.path) == 1


def test_rows_of_zeros_point_nowhere():
    found = best_sample(dispersion(DenseRows(np.zeros((4, 3))), TL1(a=1.0)))
    assert (found.index, found.value) == (-1, 0.0)
    assert not found.w.any()
    X = np.array([[1e-9, 0.0], [0.0, 2.0], [0.0, -2.0], [3.0, 0.0]])
    rows = DenseRows(X, weights=np.array([9.0, 1.0, 1.0, 1.0]))
    found = best_sample(dispersion(rows, TL1(a=1.0)))
    right = [TL1(a=1.0).value(np.abs(X @ w)) @ rows.weights for w in np.eye(2)]
    assert found.value == pytest.approx(max(right))
    assert found.index == (3 if right[0] > right[1] else 1)


class Asked(State):
    """A start that notes how many directions it is asked for."""

    def directions(self, objective, n_directions, rng=None):
        noted.append(n_directions)
        return super().directions(objective, n_directions, rng)


noted = []


@pytest.mark.parametrize(
    "solver",
    [
        BallFixedPoint(norm=2.0),
        FixedPoint(),
        GramFixedPoint(),
        PaperAscent(),
        SparseAscent(2),
        SparseFixedPoint(2),
        SphereAscent(),
        StiefelAscent(),
    ],
    ids=name,
)
def test_a_start_is_asked_for_one_direction(solver):
    noted.clear()
    solver.solve(dispersion(DenseRows(X), Lp(p=1)), Asked(np.eye(4)[:, :1]))
    assert noted == [1]


def test_samples_are_compared_in_blocks(monkeypatch):
    whole = best_sample(dispersion(DenseRows(X), TL1(a=1.0)))
    monkeypatch.setattr(starts, "BLOCK_ENTRIES", 7 * len(X))
    parts = best_sample(dispersion(DenseRows(X), TL1(a=1.0)))
    assert (parts.index, parts.value) == (whole.index, pytest.approx(whole.value))


def test_the_best_sample_does_not_depend_on_units():
    for operator in (TL1(), Lp(p=1)):
        plain, small = (best_sample(dispersion(DenseRows(size * X), operator)) for size in (1.0, 1e-8))
        assert plain.index == small.index >= 0
