"""Every operator keeps its promises; Property 1 of the paper."""

import numpy as np
import pytest
from sklearn.base import clone

from support import OPERATORS, name
from tl1pca import TL1, Cauchy, Huber, Lp

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
