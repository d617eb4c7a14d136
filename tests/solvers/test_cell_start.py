"""Where the fit of cells begins: modes of columns, and cells from the others of their row."""

import numpy as np
import pytest

from tl1pca.solvers.cell_start import Predictor, column_modes, residual_scales, singular_shrinkage

RNG = np.random.default_rng(0)


def test_modes_of_columns_with_bad_and_missing_cells():
    A = RNG.normal([0.0, 5.0, -2.0], [1.0, 0.1, 7.0], size=(3000, 3))
    mask = RNG.uniform(size=A.shape) > 0.2
    A[:600] += 300.0
    location, scale = column_modes(A, mask)
    np.testing.assert_allclose((location - [0.0, 5.0, -2.0]) / scale, 0.0, atol=0.1)
    np.testing.assert_allclose(scale, [1.0, 0.1, 7.0], rtol=0.06)
    A[~mask] = 1e9  # what is not observed is not looked at
    np.testing.assert_array_equal(column_modes(A, mask), (location, scale))


def test_scales_about_zero():
    R = RNG.normal(size=(3000, 2)) * [1.0, 30.0]
    mask = np.ones(R.shape, dtype=bool)
    R[:500] = 1e6
    np.testing.assert_allclose(residual_scales(R, mask), [1.0, 30.0], rtol=0.06)


def test_shrinkage_of_singular_values():
    """Gavish and Donoho: eta(y) = sqrt((y^2 - beta - 1)^2 - 4 beta) / y, here over y once more."""
    n, d = 400, 100
    y = np.array([1.0, 1.4, 1.6, 3.0])
    found = singular_shrinkage(y**2, n, d)
    beta = 0.25
    right = np.sqrt(np.maximum((y**2 - beta - 1) ** 2 - 4 * beta, 0)) / y**2
    np.testing.assert_allclose(found, np.where(y > 1 + np.sqrt(beta), right, 0.0))
    np.testing.assert_allclose(singular_shrinkage(y**2 * 4, d, n), found)


@pytest.mark.parametrize("shape", [(80, 6), (20, 40)])
def test_a_cell_is_predicted_without_itself(shape):
    """To first order: the prediction of a cell does not move with the cell."""
    n, d = shape
    Y = RNG.normal(size=(n, 2)) @ RNG.normal(size=(2, d)) + 0.1 * RNG.normal(size=(n, d))
    model = Predictor.of(Y, 2)
    assert (model.leverage < 0.9).all()
    before = model.predict(Y)
    moved = Y.copy()
    moved[3, 1] += 5.0
    assert model.predict(moved)[3, 1] == pytest.approx(before[3, 1], abs=1e-9)
    assert np.abs(before - Y).mean() < 0.25
