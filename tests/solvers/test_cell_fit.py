"""A fitted plane of cells as a value, and the limits of its rows."""

import numpy as np
import pytest
from scipy.stats import chi2

from tl1pca.solvers.cell_fit import CellModel
from tl1pca.solvers.cell_rows import ROW_LEVEL, Common, row_cutoffs
from tl1pca.solvers.cellwise import CELL_CUTOFF, CellPlane

RNG = np.random.default_rng(0)
V = np.linalg.qr(RNG.normal(size=(6, 2)))[0]
MODEL = CellModel(
    np.arange(6.0),
    np.full(6, 2.0),
    CellPlane(np.zeros(6), V, np.array([9.0, 4.0])),
    0.02,
    Common(np.zeros((6, 0)), np.zeros(0)),
)


def rows(n=50):
    scores = RNG.normal(size=(n, 2)) * [3.0, 2.0]
    return MODEL.location + MODEL.unit * (scores @ V.T + 0.1 * RNG.normal(size=(n, 6))), scores


def test_cells_are_in_units_of_their_columns():
    X, _ = rows(4)
    X[1, 2] = np.nan
    cells = MODEL.cells(X)
    assert not cells.mask[1, 2]
    assert cells.mask.sum() == 23
    np.testing.assert_allclose(cells.values[0], (X[0] - np.arange(6.0)) / 2.0)


def test_scores_flags_and_what_cells_should_be():
    X, scores = rows()
    bad = X.copy()
    bad[3, 1] += 2.0 * 9.0
    cells = MODEL.cells(bad)
    found = MODEL.assess(cells)
    np.testing.assert_allclose(found.scores, scores, atol=0.8)
    assert found.flags[3, 1]
    assert found.flags.mean() < 0.02
    assert (np.abs(found.residuals[found.flags]) > CELL_CUTOFF).all()
    np.testing.assert_allclose(MODEL.fitted(found)[3, 1], X[3, 1], atol=2.0)
    sd, od = MODEL.distances(cells, found)
    np.testing.assert_allclose(sd, np.sqrt((found.scores**2 / [9.0, 4.0]).sum(axis=1)), rtol=1e-9)
    assert (od >= 0).all()


def test_limits_of_rows():
    od = np.sqrt(chi2.ppf((np.arange(1000) + 0.5) / 1000, 10))
    rows = np.arange(1300) < 1000
    limits = row_cutoffs(od, rows[:1000], 3)
    assert limits.score == pytest.approx(np.sqrt(chi2.ppf(ROW_LEVEL, 3)))
    assert limits.orthogonal == pytest.approx(np.sqrt(chi2.ppf(ROW_LEVEL, 10)), rel=0.03)
    with_bad = np.append(od, np.full(300, 40.0))
    assert row_cutoffs(with_bad, rows, 3).orthogonal == pytest.approx(limits.orthogonal)
    assert row_cutoffs(np.zeros(20), np.ones(20, dtype=bool), 2).orthogonal == 1e-9
