"""What solvers declare, and that they go on from where they were."""

import numpy as np
import pytest

from support import OPERATORS, gaussian, name
from tl1pca import L1PCA, TL1, Cauchy, DispersionPCA, Huber, Lp, ResidualPCA
from tl1pca._progress import reporting_to
from tl1pca.estimators._dispersion import choose_solver
from tl1pca.objectives import Residual, dispersion
from tl1pca.rows import DenseRows
from tl1pca.solvers import (
    FixedPoint,
    PaperAscent,
    SampledAscent,
    Solver,
    SphereAscent,
    State,
    StiefelAscent,
    SubspaceMM,
)
from tl1pca.solvers.base import solution
from tl1pca.solvers.starts import PrincipalAxes

X = gaussian(60, 5, seed=1)
X = X - X.mean(axis=0)


@pytest.mark.parametrize("operator", OPERATORS, ids=name)
@pytest.mark.parametrize("extraction", ["greedy", "joint"])
def test_auto_chooses_a_solver_that_fits_and_never_descends(operator, extraction):
    solver = choose_solver("auto", operator, extraction)
    solver.check(operator, extraction)
    pca = DispersionPCA(2, operator=operator, extraction=extraction, center=None).fit(X)
    for path in pca.objective_path_:
        assert (np.diff(path) >= -1e-12 * abs(path[-1])).all()


@pytest.mark.parametrize("c", [0.1, 0.3, 1.0])
def test_an_operator_that_is_neither_convex_nor_concave_is_ascended(c):
    """A fixed point may descend for it, and was taken once for all that is not concave."""
    Z = np.random.default_rng(0).standard_t(2, size=(80, 6))
    pca = DispersionPCA(2, operator=Cauchy(c=c), center=None).fit(Z)
    assert pca.converged_
    for path in pca.objective_path_:
        assert (np.diff(path) >= 0).all()


@pytest.mark.parametrize(
    ("solver", "operator", "extraction", "message"),
    [
        (
            SphereAscent(),
            Huber(c=1.0),
            "greedy",
            r"SphereAscent needs .* concave in \|t\|, and Huber\(c=1.0\)",
        ),
        (FixedPoint(), TL1(a=1.0), "joint", r"FixedPoint needs .* convex, and TL1\(a=1.0\)"),
        (PaperAscent(), TL1(a=1.0), "joint", r"PaperAscent serves extraction='greedy' only, got 'joint'"),
    ],
)
def test_what_does_not_go_together_is_said_of_both_sides(solver, operator, extraction, message):
    pca = DispersionPCA(1, operator=operator, solver=solver, extraction=extraction)
    with pytest.raises(ValueError, match=message):
        pca.fit(X)


def test_powers_above_two_cannot_be_reweighted():
    with pytest.raises(ValueError, match=r"SubspaceMM needs .* concave in t\^2, and Lp\(p=3\)"):
        ResidualPCA(1, operator=Lp(p=3)).fit(X)


def test_the_published_rule_takes_any_operator():
    assert FixedPoint(step_tol=1e-2).needs == ()
    FixedPoint(step_tol=1e-2).check(Lp(p=0.5), "joint")


class OwnSolver(Solver):
    """The classical axes, as a solver of a user."""

    def default_start(self):
        return PrincipalAxes()

    def solve(self, objective, start=None, n_directions=1, rng=None):
        W = (start or self.default_start()).directions(objective, n_directions, rng)
        return solution(W, [float(objective.value(W).sum())], True)


def test_a_solver_of_a_user_works_on_what_its_declarations_allow():
    from scipy import sparse

    many = sparse.random_array((6000, 60), density=0.2, rng=np.random.default_rng(0), format="csr")
    pca = DispersionPCA(2, operator=Lp(p=1), solver=OwnSolver(), center="mean").fit(many)
    whole = DispersionPCA(2, operator=Lp(p=1), solver=OwnSolver(), center="mean").fit(many.toarray())
    np.testing.assert_allclose(np.abs(pca.components_), np.abs(whole.components_), atol=1e-8)


def test_a_part_that_needs_all_rows_is_seen_through():
    assert SphereAscent().in_memory is None
    assert SphereAscent(warm=PaperAscent()).in_memory == "compares all rows with each other"
    assert SampledAscent(warm=PaperAscent()).in_memory
    assert StiefelAscent(warm=FixedPoint()).in_memory is None
    assert L1PCA()._needs_memory() is None


def objective_of(solver):
    if isinstance(solver, SubspaceMM):
        return Residual(DenseRows(X), Lp(p=1))
    return dispersion(DenseRows(X), Lp(p=1.5) if isinstance(solver, FixedPoint) else TL1(a=0.5))


@pytest.mark.parametrize("n_directions", [1, 2])
@pytest.mark.parametrize(
    "solver", [PaperAscent(), FixedPoint(), StiefelAscent(), SubspaceMM(), SphereAscent()], ids=name
)
def test_a_state_goes_on_where_the_solver_was(solver, n_directions):
    if n_directions > 1 and "joint" not in solver.extractions:
        pytest.skip("one direction at a time")
    objective = objective_of(solver)
    whole = solver.solve(objective, n_directions=n_directions, rng=np.random.RandomState(0))
    first = type(solver)(max_iter=2).solve(objective, n_directions=n_directions, rng=np.random.RandomState(0))
    rest = solver.solve(objective, first.state)
    assert rest.path[0] == pytest.approx(first.path[-1], rel=1e-12)
    assert rest.path[-1] == pytest.approx(whole.path[-1], rel=1e-6)
    assert len(rest.path) <= len(whole.path)


@pytest.mark.parametrize("solver", [PaperAscent(), FixedPoint(), StiefelAscent(), SubspaceMM()], ids=name)
def test_listeners_hear_of_every_iteration_and_may_stop(solver):
    objective, heard = objective_of(solver), []
    with reporting_to(lambda task, value: bool(heard.append(value))):
        whole = solver.solve(objective, State(np.eye(5)[:, :1]))
    assert heard == pytest.approx([*whole.path[-len(heard) :]])
    if len(heard) > 1:
        with reporting_to(lambda task, value: True):
            short = solver.solve(objective, State(np.eye(5)[:, :1]))
        assert not short.converged
        assert len(short.path) < len(whole.path)
