"""Every operator keeps its promises; Property 1 of the paper."""

import numpy as np
import pytest
from sklearn.base import clone

from support import OPERATORS, name
from tl1pca import TL1, Cauchy, Huber, Lp
from tl1pca.operators import Smoothed

U = np.geomspace(1e-3, 1e3, 61)


@pytest.mark.parametrize("operator", OPERATORS, ids=name)
class TestEveryOperator:
    def test_zero_at_zero_and_increasing(self, operator):
        assert operator.value(np.zeros(1))[0] == 0
        assert (np.diff(operator.value(U)) > 0).all()

    def test_slope_and_curvature_against_differences(self, operator):
        h = 1e-5 * U
        off = np.abs(U - 1.0) > 1e-2  # Huber bends at c = 1
        slope = (operator.value(U + h) - operator.value(U - h)) / (2 * h)
        np.testing.assert_allclose(operator.slope(U)[off], slope[off], rtol=1e-5)
        bend = (operator.slope(U + h) - operator.slope(U - h)) / (2 * h)
        np.testing.assert_allclose(operator.curvature(U)[off], bend[off], rtol=1e-4, atol=1e-9)

    def test_both_derivatives_at_once(self, operator):
        slope, bend = operator.derivatives(U)
        np.testing.assert_array_equal(slope, operator.slope(U))
        np.testing.assert_array_equal(bend, operator.curvature(U))

    def test_weight_is_slope_over_u(self, operator):
        np.testing.assert_allclose(operator.weight(U), operator.slope(U) / U, rtol=1e-12)
        assert np.isfinite(operator.weight(np.zeros(3))).all()

    def test_traits(self, operator):
        bend, rho = operator.curvature(U), operator.value(U)
        assert operator.concave == bool((bend <= 0).all())
        assert operator.convex == bool((bend >= 0).all())
        # Concave in the square: the slope in u^2, psi(u)/(2u), does not increase.
        assert operator.concave_in_square == bool((np.diff(operator.weight(U)) <= 1e-12).all())
        homogeneous = operator.value(2 * U) / rho
        assert (operator.degree is not None) == bool(np.ptp(homogeneous) < 1e-9)
        if operator.degree is not None:
            np.testing.assert_allclose(operator.slope(U) * U, operator.degree * rho, rtol=1e-12)
        assert (operator.value(U) <= operator.bound).all()
        assert (operator.slope(U) <= operator.lipschitz * (1 + 1e-12)).all()

    def test_data_in_other_units(self, operator):
        c = 2.0**7
        same = operator.rescaled(c).value(c * U) * operator.value_scale(c)
        np.testing.assert_allclose(same, operator.value(U), rtol=1e-12)

    def test_parameter_object(self, operator):
        assert clone(operator).get_params() == operator.get_params()

    def test_precision_is_kept(self, operator):
        u = U.astype(np.float32)
        assert operator.value(u).dtype == operator.slope(u).dtype == np.float32


class TestPropertyOne:
    """Lipschitz constant 1 + 1/a, bound a + 1, limits l0 and l1."""

    @pytest.mark.parametrize("a", [0.01, 1.0, 100.0])
    def test_lipschitz_constant_is_attained_at_zero(self, a):
        rho = TL1(a=a)
        assert rho.lipschitz == pytest.approx(1 + 1 / a)
        assert rho.slope(np.zeros(1))[0] == pytest.approx(rho.lipschitz)

    @pytest.mark.parametrize("a", [0.01, 1.0, 100.0])
    def test_bound_is_approached_and_not_passed(self, a):
        rho = TL1(a=a)
        assert rho.bound == a + 1
        far = rho.value(np.array([1e12]))[0]
        assert far == pytest.approx(a + 1)
        assert rho.value(np.array([1e6 * a]))[0] < a + 1

    def test_limits(self):
        x = np.array([0.0, 0.3, -2.0, 5.0])
        assert TL1(a=1e-12).value(np.abs(x)).sum() == pytest.approx(np.count_nonzero(x))
        assert TL1(a=1e12).value(np.abs(x)).sum() == pytest.approx(np.abs(x).sum())

    def test_triangle_inequality_but_not_homogeneous(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(2, 1000, 5)) * 10.0 ** rng.uniform(-3, 3, size=(2, 1000, 1))
        norm = lambda z: TL1(a=0.7).value(np.abs(z)).sum(axis=1)  # noqa: E731
        assert (norm(x + y) <= norm(x) + norm(y) + 1e-12).all()
        assert not np.allclose(norm(2 * x), 2 * norm(x))

    @pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
    def test_lp_is_neither_lipschitz_nor_bounded(self, p):
        mu = Lp(p=p)
        assert mu.lipschitz == mu.bound == np.inf
        assert mu.slope(np.array([1e-300]))[0] > mu.slope(np.array([1e-200]))[0] * 1e5


@pytest.mark.parametrize("a", [1e-300, 1e-150, 1.0, 1e150, 1e300])
@pytest.mark.parametrize("u", [0.0, 1e-300, 1.0, 1e300])
def test_tl1_is_finite_over_the_whole_floating_range(a, u):
    rho = TL1(a=a)
    x = np.array([u])
    with np.errstate(under="ignore"):
        assert np.isfinite([rho.value(x), rho.slope(x)]).all()


def test_auto_is_settled_on_the_data():
    u = np.abs(np.random.default_rng(0).normal(size=500))
    alpha = TL1().resolve(u).a
    assert np.mean(u / (alpha + u)) == pytest.approx(0.5, abs=1e-12)
    assert Huber().resolve(u).c == pytest.approx(np.median(u))
    assert Cauchy().resolve(7 * u).c == pytest.approx(7 * np.median(u))
    assert TL1(a=3.0).resolve(u).a == 3.0


@pytest.mark.parametrize(
    ("operator", "error"),
    [
        (TL1(a=0.0), ValueError),
        (TL1(a=-1), ValueError),
        (TL1(a=np.inf), ValueError),
        (TL1(a="big"), TypeError),
        (TL1(a=None), TypeError),
        (TL1(a=True), TypeError),
        (Lp(p=0), ValueError),
        (Lp(p="1"), TypeError),
        (Huber(c=-2), ValueError),
        (Cauchy(c="x"), TypeError),
    ],
    ids=name,
)
def test_bad_parameters_get_a_readable_error(operator, error):
    with pytest.raises(error, match="must be a positive"):
        operator.check()


T = np.linspace(-3.0, 3.0, 41)


@pytest.mark.parametrize("operator", OPERATORS, ids=name)
def test_spread_kinks_against_differences(operator):
    term, h = Smoothed(operator, 0.3), 1e-5
    u = np.sqrt(T**2 + 0.09)
    np.testing.assert_allclose(term.value(T), operator.value(u), rtol=1e-12)
    numeric = (term.value(T + h) - term.value(T - h)) / (2 * h)
    off = np.abs(u - 1.0) > 1e-3  # Huber bends at c = 1
    for slope in (term.slope(T), term.derivatives(T)[0], term.value_and_slope(T)[1]):
        np.testing.assert_allclose(slope[off], numeric[off], rtol=1e-5, atol=1e-7)
    bend = (term.slope(T + h) - term.slope(T - h)) / (2 * h)
    np.testing.assert_allclose(term.derivatives(T)[1][off], -bend[off], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("operator", OPERATORS, ids=name)
def test_sharp_kinks(operator):
    term, off = Smoothed(operator), T[T != 0]
    np.testing.assert_array_equal(term.value(T), operator.value(np.abs(T)))
    np.testing.assert_allclose(term.slope(off), np.sign(off) * operator.slope(np.abs(off)), rtol=1e-12)
    np.testing.assert_allclose(term.derivatives(off)[1], -operator.curvature(np.abs(off)), rtol=1e-12)
    assert term.value_and_slope(np.zeros(1))[1] == 0.0  # no side to pull to


def test_one_width_and_one_shape_for_each_column():
    columns, width, a = np.column_stack([T, T]), np.array([0.1, 0.7]), np.array([0.5, 2.0])
    both = Smoothed(TL1(a=a), width)
    for j in range(2):
        alone = Smoothed(TL1(a=float(a[j])), float(width[j]))
        np.testing.assert_allclose(both.value(columns)[:, j], alone.value(T), rtol=1e-12)
        for ours, other in zip(both.derivatives(columns), alone.derivatives(T)):
            np.testing.assert_allclose(ours[:, j], other, rtol=1e-10)


@pytest.mark.parametrize("a", [1e-10, 1e-8, 1e-3])
def test_the_curvature_of_a_small_shape(a):
    u = np.geomspace(1e-3, 1e3, 9)
    np.testing.assert_allclose(TL1(a=a).curvature(u), -2 * a * (a + 1) / (a + u) ** 3, rtol=1e-9)


def test_a_shape_for_scores_of_which_half_are_zero():
    """Any small one ranks the directions alike; one where there is nothing at all."""
    assert TL1().resolve(np.array([0.0, 0.0, 5.0])).a == pytest.approx(5e-3)
    assert TL1().resolve(np.zeros(3)).a == 1.0
    assert TL1().at(np.array([0.0, 2.0, 0.0]), np.array([4.0, 9.0, 0.0])).a.tolist() == [4e-3, 2.0, 1.0]
    for operator in (Huber(), Cauchy()):
        assert operator.resolve(np.array([0.0, 0.0, 5.0])).c == pytest.approx(5e-3)
        assert operator.resolve(np.zeros(3)).c == 1.0
        assert operator.resolve(np.array([1.0, 2.0, 9.0]), np.array([1.0, 1.0, 5.0])).c == 9.0
        assert type(operator)(c=2.0).resolve(np.ones(3)).c == 2.0


def test_auto_has_no_units_to_change():
    for operator in (TL1(), Huber(), Cauchy()):
        assert operator.adaptive
        assert operator.rescaled(8.0) is operator
    assert not TL1(a=1.0).adaptive
    assert TL1(a=1.0).scale_form
    assert not Huber().scale_form


@pytest.mark.parametrize("operator", [Lp(p=2), Lp(p=0.5), Huber(c=1.0)], ids=name)
def test_units_at_the_end_of_the_range(operator):
    assert 0.0 < operator.value_scale(1e250) < 1.0 < operator.value_scale(1e-250) < np.inf


def test_constants_of_lipschitz_and_weights_at_zero():
    assert Lp(p=1).lipschitz == 1.0
    assert Lp(p=1.5).lipschitz == np.inf
    assert (Huber(c=3.0).lipschitz, Cauchy(c=3.0).lipschitz) == (3.0, 1.5)
    zero = np.zeros(1)
    assert Huber(c=3.0).weight(zero) == Cauchy(c=3.0).weight(zero) == 1.0
    assert Lp(p=2).weight(zero) == 0.0
    assert Lp(p=1).weight(zero) > 1e70
    assert (Lp(p=0.5).slope(zero), Lp(p=0.5).curvature(zero)) == (0.0, 0.0)
    assert TL1(a=2).value(np.array([2.0])) == 1.5  # an integer for a shape


def test_a_good_parameter_is_no_error():
    for operator in (TL1(), TL1(a=1e-9), Lp(p=0.1), Huber(), Huber(c=1), Cauchy(c=2.5)):
        operator.check()
