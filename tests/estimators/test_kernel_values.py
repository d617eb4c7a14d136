"""Kernel values against their formulas, of rows of any size."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from tl1pca.estimators._kernel_values import kernel_values

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
GIVEN = {"gamma": 0.3, "degree": 2, "coef0": 1.0}
MOST = np.finfo(np.float64).max


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "cosine", "sigmoid"])
def test_values_are_those_of_scikit_learn(kernel):
    wanted = pairwise_kernels(X, Y, metric=kernel, filter_params=True, **GIVEN)
    np.testing.assert_allclose(kernel_values(X, Y, kernel, GIVEN), wanted, atol=1e-14)


def test_a_function_of_two_rows():
    found = kernel_values(X, Y, lambda x, y, power: float(x @ y) ** power, {"power": 2})
    np.testing.assert_allclose(found, (X @ Y.T) ** 2)


@pytest.mark.parametrize(("kernel", "power"), [("rbf", 2), ("laplacian", 1), ("cosine", 0)])
@pytest.mark.parametrize("size", [2.0**-400, 2.0**500, 2.0**1020])
def test_the_units_of_gamma(kernel, power, size):
    """Rows in other units, with gamma in these, have the same values."""
    if power == 2 and size > 2.0**510:
        pytest.skip("there is no such gamma")
    gamma = 0.3 / size**power
    found = kernel_values(X * size, Y * size, kernel, {"gamma": gamma})
    np.testing.assert_allclose(found, kernel_values(X, Y, kernel, {"gamma": 0.3}), atol=1e-12)


def test_far_rows_beside_near_ones():
    rows = np.vstack([X, np.full((1, 3), MOST), np.full((1, 3), -MOST)])
    found = kernel_values(rows, Y, "rbf", GIVEN)
    np.testing.assert_allclose(found[:6], kernel_values(X, Y, "rbf", GIVEN), atol=1e-14)
    np.testing.assert_array_equal(found[6:], 0.0)
    np.testing.assert_array_equal(np.diagonal(kernel_values(rows, rows, "rbf", GIVEN)), 1.0)


def test_the_origin_does_not_matter_to_differences():
    found = kernel_values(X + 1e8, Y + 1e8, "rbf", GIVEN)
    np.testing.assert_allclose(found, kernel_values(X, Y, "rbf", GIVEN), atol=1e-6)


def test_a_polynomial_of_huge_rows_has_no_value():
    with pytest.raises(ValueError, match="not finite"):
        kernel_values(X * 1e200, Y, "poly", GIVEN | {"degree": 3})
