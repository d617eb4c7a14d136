"""Verdicts on rows with bad cells: what is repaired, and what bad rows have in common."""

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm
from scipy.stats import t as t_law

from cells import design
from tl1pca import TL1CellPCA
from tl1pca._flags import flags
from tl1pca.solvers import cell_rows
from tl1pca.solvers.cell_rows import Common, common_directions, row_cutoffs, row_evidence
from tl1pca.solvers.cellwise import CellPlane, Cells, first_scores, judge_cells
from tl1pca.statistics import main_mode

NOTHING = Common(np.zeros((20, 0)), np.zeros(0))
NORMAL = np.zeros((2, 20))


def plane_of(d=20, k=2):
    V = np.linalg.qr(np.random.default_rng(5).normal(size=(d, k + 1)))[0]
    return CellPlane(np.zeros(d), V[:, :k], np.full(k, 25.0)), V[:, k:]


def rows_on(plane, n=400, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, plane.V.shape[1])) * 5.0
    return scores @ plane.V.T + rng.normal(size=(n, len(plane.V))), rng


def distances(Z, plane, common=NOTHING, rate=0.0, mask=None):
    cells = Cells(Z, np.ones_like(Z, dtype=bool) if mask is None else mask)
    found = judge_cells(cells, plane)
    first = first_scores(cells, common.added_to(plane))
    return row_evidence(cells, plane, found, common, NORMAL, first).distances(rate, 0.0, 18)


def test_complete_good_rows_are_at_their_euclidean_distance():
    plane, _ = plane_of()
    Z, _ = rows_on(plane)
    off = np.linalg.norm(Z - Z @ plane.V @ plane.V.T, axis=1)
    usual = (np.abs(Z - Z @ plane.V @ plane.V.T) < 2.5).all(axis=1)
    np.testing.assert_allclose(distances(Z, plane)[usual], off[usual], rtol=0.1)


def test_bad_cells_are_repaired_and_missing_ones_do_not_shorten():
    plane, _ = plane_of()
    Z, rng = rows_on(plane)
    limit = np.sqrt(chi2.ppf(0.99, 18))
    assert np.mean(distances(Z, plane) > limit) < 0.03
    Z[:, 3] = 30.0
    assert np.mean(distances(Z, plane) > limit) < 0.03
    mask = rng.uniform(size=Z.shape) > 0.3
    far = distances(np.where(mask, Z, 0.0), plane, mask=mask)
    assert np.mean(far > limit) < 0.05
    assert np.median(far) == pytest.approx(np.sqrt(18), rel=0.1)
    assert not distances(np.zeros((1, 20)), plane, mask=np.zeros((1, 20), dtype=bool)).any()


def test_more_bad_cells_than_usual_speak_against_a_row():
    plane, _ = plane_of()
    Z, _ = rows_on(plane)
    Z[:, ::3] = 30.0  # seven of twenty
    limit = np.sqrt(chi2.ppf(0.99, 18))
    assert np.mean(distances(Z, plane, rate=0.0) > limit) > 0.9
    assert np.mean(distances(Z, plane, rate=0.35) > limit) < 0.1


def test_a_row_of_which_most_is_bad_is_not_repaired():
    plane, _ = plane_of()
    Z, _ = rows_on(plane, n=3)
    Z[:, :12] = np.arange(12) * 100.0
    assert (distances(Z, plane, rate=0.4) > 500).all()


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_surprise_is_the_normal_score_of_the_count(rate):
    bad = np.arange(4, 20)
    want = norm.isf(binom.sf(bad - 1, 30, rate))
    got = cell_rows.surprise(bad, np.full(len(bad), 30), rate)
    np.testing.assert_allclose(got[want > 1.0], want[want > 1.0], rtol=0.15)
    assert not got[bad < 30 * rate].any()


def test_normal_scores_and_back():
    squares = np.array([5.0, 18.0, 40.0, 1e6])
    score = cell_rows._normal_score(squares, 18)
    np.testing.assert_allclose(score[:3], norm.ppf(chi2.cdf(squares[:3], 18)), atol=0.05)
    np.testing.assert_allclose(cell_rows._square_of(score, 18), squares)


class TestCommon:
    def bad(self, share=0.2, distance=9.0):
        plane, off = plane_of()
        Z, rng = rows_on(plane)
        bad = np.arange(len(Z)) < share * len(Z)
        Z[bad] += distance * off[:, 0]
        Z[rng.uniform(size=Z.shape) < 0.15] = 40.0
        return plane, off, Z, bad

    def test_a_direction_of_bad_rows_is_found_and_tells_them_from_rows_with_bad_cells(self):
        plane, off, Z, bad = self.bad()
        cells = Cells(Z, np.ones_like(Z, dtype=bool))
        vectors = np.column_stack([plane.V, off + 0.1])
        common = common_directions(cells, plane, vectors, ~bad)
        assert common.axes.shape == (20, 1)
        assert abs(common.axes[:, 0] @ off[:, 0]) > 0.9
        np.testing.assert_allclose(common.axes.T @ plane.V, 0, atol=1e-10)
        limit = np.sqrt(chi2.ppf(0.99, 18))
        with_it, without = (distances(Z, plane, c, 0.15) > limit for c in (common, NOTHING))
        assert with_it[bad].mean() > 0.97
        assert without[bad].mean() < 0.97
        assert with_it[~bad].mean() < 0.05

    def test_few_bad_rows_have_nothing_in_common(self):
        plane, off, Z, bad = self.bad(share=0.005, distance=1e6)
        cells = Cells(Z, np.ones_like(Z, dtype=bool))
        assert not len(common_directions(cells, plane, np.column_stack([plane.V, off]), ~bad).variances)

    def test_vectors_inside_the_plane_say_nothing(self):
        plane, _, Z, bad = self.bad()
        cells = Cells(Z, np.ones_like(Z, dtype=bool))
        assert not len(common_directions(cells, plane, plane.V, ~bad).variances)


def test_cutoffs_are_those_of_the_rows_of_the_fit():
    rng = np.random.default_rng(0)
    far, rows = np.sqrt(rng.chisquare(18, size=5000)), np.arange(5000) < 3000
    far[~rows] *= 1.5  # near enough to blow up what is estimated from all rows
    limits = row_cutoffs(np.sqrt(rng.chisquare(2, size=5000)), far, rows, 2)
    assert limits.orthogonal == pytest.approx(np.sqrt(chi2.ppf(0.99, 18)), rel=0.03)
    assert limits.score == pytest.approx(np.sqrt(chi2.ppf(0.99, 2)), rel=0.03)
    assert limits.tilt == 3001


@pytest.mark.parametrize("row_kind", ["cluster", "line", "scattered"])
def test_bad_rows_are_found_where_cells_are_bad_and_missing(row_kind):
    """200 rows of 20 cells, a fifth of cells, of rows and of cells once more bad, bad and missing."""
    found, false = [], []
    for seed in (31, 32, 33):
        data = design.draw(design.Cell("small", "signed 8", 0.2, row_kind, 0.2, 0.2), seed)
        pca = TL1CellPCA(3, random_state=0).fit(data.X)
        bad = pca.flags_ > 0
        np.testing.assert_array_equal(
            pca.flags_, flags(pca.score_distances_, pca.orthogonal_distances_, pca.cutoffs_)
        )
        np.testing.assert_array_equal(pca.predict(data.X) == -1, bad)
        found.append(bad[data.far_rows].mean())
        false.append(bad[~data.bad_rows].mean())
    assert np.mean(found) > {"cluster": 0.99, "line": 0.9, "scattered": 0.97}[row_kind]
    assert np.mean(false) < 0.05


# ---------------------------------------------------------------- by hand
def evidence(residual=-3.0, bad=0, seen=20):
    return cell_rows.RowEvidence(np.array([residual]), np.array([bad]), np.array([seen]))


def test_one_cell_in_twenty_is_bad_in_any_table():
    some = evidence(0.0, bad=4)
    assert some.distances(0.0, 0.0, 18) == some.distances(0.05, 0.0, 18) > some.distances(0.1, 0.0, 18)


def test_usual_residuals_are_those_of_the_table():
    """Units of grades are larger than their noise: residuals of all rows are small, bad cells or not."""
    few, none = evidence(-4.0, bad=4), evidence(-4.0)
    assert few.distances(0.0, -4.0, 18) < few.distances(0.0, 0.0, 18)
    assert few.distances(0.0, -4.0, 18) > none.distances(0.0, -4.0, 18)


def test_small_residuals_do_not_speak_for_a_row_with_more_bad_cells_than_chance_makes():
    def back(distance):
        return cell_rows._normal_score(distance**2, 18.0)

    few, more = (cell_rows.surprise(np.array([n]), np.array([40]), 0.05)[0] for n in (3, 5))
    assert 0.0 < few < 1.0 < more < 2.0
    assert back(evidence(bad=3, seen=40).distances(0.0, 0.0, 18)) == pytest.approx(-3.0 + few)
    assert back(evidence(bad=5, seen=40).distances(0.0, 0.0, 18)) == pytest.approx(more)
    assert back(evidence(2.0, bad=5, seen=40).distances(0.0, 0.0, 18)) == pytest.approx(2.0 + more)


def test_rows_with_a_single_cell_and_planes_that_leave_nothing():
    assert evidence(1.0, seen=1).distances(0.0, 0.0, 18) > 0.0
    assert evidence(1.0, seen=0).distances(0.0, 0.0, 18) == 0.0
    assert evidence(0.0).distances(0.0, 0.0, 0) == evidence(0.0).distances(0.0, 0.0, 1) > 0.0


def test_surprise_of_a_row_with_a_single_cell():
    """Half a cell of one is bad: the root of 2 (0.5 log(0.5/r) + 0.5 log(0.5/(1-r)))."""
    found = cell_rows.surprise(np.array([1]), np.array([1]), 0.2)
    assert found[0] == pytest.approx(np.sqrt(np.log(0.25 / (0.2 * 0.8))))


@pytest.mark.parametrize("wide", [False, True])
def test_what_is_left_of_a_repaired_row(wide):
    """Squared residuals over their freedom, and the scores along what bad rows have in common."""
    plane, off = plane_of()
    Z, rng = rows_on(plane, n=6)
    Z[0, :3] = 40.0
    mask = rng.uniform(size=Z.shape) > 0.2
    mask[1] = np.arange(20) < 1
    Z[2] += 30.0 * off[:, 0]
    cells = Cells(np.where(mask, Z, 0.0), mask)
    common = Common(off, np.array([50.0])) if wide else NOTHING
    both, e = (common.added_to(plane), 1) if wide else (plane, 0)
    found = judge_cells(cells, both, held=e)
    first = first_scores(cells, both)
    said = row_evidence(cells, plane, judge_cells(cells, plane), common, NORMAL, first)
    for i in range(6):
        few = found.flags[i].sum() <= 0.5 * mask[i].sum()
        left = mask[i] & ~(found.flags[i] & few)
        free = max(left.sum() - 2 - e, 1)
        squares = (found.residuals[i, left] ** 2).mean() * free
        squares += left.sum() / 20 * (found.scores[i, 2:] ** 2).sum()
        assert said.residual[i] == pytest.approx(cell_rows._normal_score(squares, free + e))
        assert (said.bad[i], said.seen[i]) == (found.flags[i].sum(), mask[i].sum())


@pytest.mark.parametrize(("distance", "directions"), [(4.0, 1), (2.5, 0)])
def test_bad_rows_have_in_common_what_is_more_than_the_noise(distance, directions):
    """A tenth of the rows at a distance have the variance distance^2 / 10 over all rows."""
    plane, off = plane_of()
    Z, _ = rows_on(plane)
    bad = np.arange(len(Z)) < 40
    Z[bad] += distance * off[:, 0]
    found = common_directions(
        Cells(Z, np.ones_like(Z, dtype=bool)), plane, np.column_stack([plane.V, off]), ~bad
    )
    assert found.axes.shape == (20, directions)
    np.testing.assert_allclose(found.variances, [0.1 * (distance**2 + 1)] * directions, rtol=0.2)


@pytest.mark.parametrize(("angle", "directions"), [(40.0, 0), (50.0, 1)])
def test_a_direction_turns_away_from_the_plane_rather_than_toward_it(angle, directions):
    """One of less than 45 degrees is an error of the plane, whatever the bad rows do off it."""
    plane, off = plane_of()
    Z, _ = rows_on(plane)
    bad = np.arange(len(Z)) < 80
    Z[bad] += 9.0 * off[:, 0]
    vector = np.cos(np.deg2rad(angle)) * plane.V[:, :1] + np.sin(np.deg2rad(angle)) * off
    found = common_directions(Cells(Z, np.ones_like(Z, dtype=bool)), plane, vector, ~bad)
    assert found.axes.shape == (20, directions)


def test_without_rows_outside_nothing_is_in_common():
    plane, off = plane_of()
    Z, _ = rows_on(plane)
    cells = Cells(Z, np.ones_like(Z, dtype=bool))
    found = common_directions(cells, plane, np.column_stack([plane.V, off]), np.ones(len(Z), dtype=bool))
    assert found.axes.shape == (20, 0)
    assert found.variances.shape == (0,)


@pytest.mark.parametrize("n", [30, 31])
def test_the_cutoff_is_a_quantile_of_the_main_mode(n):
    """That of most rows of the fit; and t, as the mode of few rows is uncertain."""
    far = 0.01 * np.sqrt(np.random.default_rng(n).chisquare(5, size=n))
    location, scale = main_mode(far ** (2 / 3), int(0.8 * n) + 1)
    found = row_cutoffs(np.ones(n), far, np.ones(n, dtype=bool), 2)
    assert found.orthogonal == pytest.approx((location + t_law.ppf(0.99, n / 4) * scale) ** 1.5)


@pytest.mark.parametrize(("n", "d", "k"), [(40, 5, 1), (60, 10, 1), (80, 6, 2), (80, 6, 3), (120, 20, 4)])
def test_few_good_rows_of_small_tables_are_flagged(n, d, k):
    rates = []
    for seed in range(6):
        rng = np.random.default_rng([seed, n, d])
        Q = np.linalg.qr(rng.normal(size=(d, k)))[0]
        X = (rng.normal(size=(n, k)) * np.linspace(6, 3, k)) @ Q.T + rng.normal(size=(n, d))
        rates.append((TL1CellPCA(k).fit(X).flags_ > 0).mean())
    assert np.mean(rates) < 0.04
    assert max(rates) < 0.12
