import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.stats import chi2, norm
from sklearn.decomposition import PCA

from support import ESTIMATORS, gaussian, name, with_components
from tl1pca import SparseLpPCA, TL1CellPCA, TL1SubspacePCA
from tl1pca._flags import labels
from tl1pca._subspace import Subspace, row_lengths, score_distances
from tl1pca.diagnostics import (
    Cutoffs,
    Flag,
    _noise_dimension,
    _training,
    cutoffs,
    diagnose,
    distances,
    excess,
    flags,
    limits,
    monitor,
    orthogonal_limit,
    principal_angles,
    rows_behind,
    rows_for_flags,
)
from tl1pca.rows import DenseRows
from tl1pca.statistics import effective_dimension

X = gaussian(300, 6)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, PCA()], ids=name)
def test_the_same_diagnostics_for_every_estimator(estimator):
    pca = with_components(estimator, 2).fit(X)
    found = diagnose(pca, X)
    assert (found.flags > 0).mean() < 0.15
    if len(getattr(pca, "judging_components_", pca.components_)) > 2:
        return  # judged by another subspace, see the tests of that estimator
    rest = X - pca.inverse_transform(pca.transform(X))
    if isinstance(pca, TL1CellPCA):  # its distances are those of repaired rows, in units of the columns
        np.testing.assert_allclose(found.orthogonal_distances, pca.orthogonal_distances_)
        rest = found.orthogonal_distances[:, None]
    np.testing.assert_allclose(found.orthogonal_distances, np.linalg.norm(rest, axis=1), atol=1e-9)
    want = np.sqrt((pca.transform(X) ** 2 / pca.explained_variance_).sum(axis=1))
    np.testing.assert_allclose(found.score_distances, want, rtol=1e-6)


def test_oblique_components():
    pca = SparseLpPCA(2, n_nonzero=2).fit(X)
    sd, od = distances(pca, X)
    rest = X - pca.inverse_transform(pca.transform(X))
    np.testing.assert_allclose(od, np.linalg.norm(rest, axis=1))
    assert np.isfinite(sd).all()


def test_cutoffs_hold_their_level_on_normal_data():
    Z = np.random.default_rng(0).normal(size=(20_000, 8)) * [5, 4, 1, 1, 1, 1, 1, 1]
    found = diagnose(PCA(2).fit(Z), Z)
    assert found.cutoffs.score == pytest.approx(np.sqrt(chi2.ppf(0.975, 2)))
    assert (found.score_distances > found.cutoffs.score).mean() == pytest.approx(0.025, abs=0.005)
    assert (found.orthogonal_distances > found.cutoffs.orthogonal).mean() == pytest.approx(0.025, abs=0.005)
    assert cutoffs(found.orthogonal_distances, 2, level=0.99).orthogonal > found.cutoffs.orthogonal


def test_four_regions():
    sd, od = np.array([0.0, 9.0, 0.0, 9.0]), np.array([0.0, 0.0, 9.0, 99.0])
    limits = Cutoffs(3.0, 3.0)
    assert flags(sd, od, limits).tolist() == list(Flag)
    np.testing.assert_array_equal(excess(sd, od, limits) > 1, [False, True, True, True])


def test_principal_angles_against_scipy_and_for_tiny_angles():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(3, 7)), rng.normal(size=(2, 7))
    np.testing.assert_allclose(principal_angles(A, B), np.degrees(subspace_angles(A.T, B.T)))
    np.testing.assert_allclose(principal_angles(B, A), principal_angles(A, B))
    tilted = np.array([[1.0, 1e-12, 0.0]])
    assert principal_angles([[1.0, 0.0, 0.0]], tilted)[0] == pytest.approx(np.degrees(1e-12), rel=1e-6)
    assert principal_angles(PCA(2).fit(X), PCA(2).fit(X))[0] < 1e-12


def test_blocks_of_rows_do_not_matter():
    wide = np.random.default_rng(1).normal(size=(700, 900))
    pca = PCA(3).fit(wide)
    sd, od = distances(pca, wide)
    again = [np.concatenate(part) for part in zip(*(distances(pca, wide[i::7]) for i in range(7)))]
    order = np.concatenate([np.arange(700)[i::7] for i in range(7)])
    np.testing.assert_allclose(sd[order], again[0])
    np.testing.assert_allclose(od[order], again[1])


def test_no_rows_have_no_lengths():
    """Blocks of a cluster may be empty."""
    assert row_lengths(np.empty((0, 3))).shape == (0,)
    assert score_distances(np.empty((0, 2)), np.ones(2)).shape == (0,)


def test_lengths_whatever_their_size():
    A = np.array([[3.0, 4.0], [0.0, 0.0]])
    for factor in (1.0, 1e-200, 1e200):
        np.testing.assert_allclose(row_lengths(factor * A), [5.0 * factor, 0.0], rtol=1e-12)
    single = (A * 1e30).astype(np.float32)
    np.testing.assert_allclose(row_lengths(single), [5e30, 0.0], rtol=1e-5)


def test_limits_in_the_tilted_subspace():
    limits = Cutoffs(3.0, 2.0, tilt=100.0)
    sd = np.array([0.0, 3.0, 10.0, 1e200])
    right = 2.0 * np.sqrt([1.0, 1.09, 2.0, 4.0])
    np.testing.assert_allclose(orthogonal_limit(sd, limits), right)
    np.testing.assert_allclose(excess(sd[:3], right[:3], limits), [1.0, 1.0, 10.0 / 3.0])
    np.testing.assert_array_equal(flags(sd, np.append(right[:3], 9.0), limits), [0, 0, 1, 3])
    huge = excess(np.zeros(1), np.array([1e308]), Cutoffs(3.0, 1e-5))
    assert np.isfinite(huge).all()
    assert huge[0] > 1e290


def test_cutoffs_by_their_formula():
    """Wilson and Hilferty: od^(2/3) is nearly normal, its middle and spread are robust."""
    od = np.random.default_rng(0).chisquare(5, size=101) ** 0.5
    z = od ** (2 / 3)
    spread = 1.4826 * np.median(np.abs(z - np.median(z)))
    found = cutoffs(od, 3, level=0.9)
    assert found.orthogonal == pytest.approx((np.median(z) + spread * norm.ppf(0.9)) ** 1.5)
    assert found.score == pytest.approx(np.sqrt(chi2.ppf(0.9, 3)))
    assert found.tilt == np.inf
    assert cutoffs(np.zeros(5), 1).orthogonal == 0.0
    assert np.isfinite(cutoffs(np.full(5, 1e308), 1).orthogonal)


def test_labels_are_those_of_the_flags():
    sd, od = np.array([0.0, 9.0, 0.0, 2.9]), np.array([0.0, 0.0, 9.0, 2.9])
    assert labels(sd, od, Cutoffs(3.0, 3.0)).tolist() == [1, -1, -1, 1]


def test_the_rows_behind_a_limit():
    assert [rows_for_flags(k) for k in (1, 2, 5)] == [10, 12, 24]
    own = TL1SubspacePCA(2, random_state=0).fit(X[:50])
    assert rows_behind(own, 7) == 50
    assert rows_behind(PCA(2).fit(X), 7) == 7


def test_scores_without_variance_do_not_count():
    T = np.array([[3.0, 4.0, 1e-12], [0.0, 2.0, 5.0]])
    np.testing.assert_allclose(score_distances(T, np.array([1.0, 4.0, 0.0])), [np.sqrt(13.0), 1.0])
    assert score_distances(T, np.zeros(3)).tolist() == [0.0, 0.0]


def test_a_subspace_with_oblique_components():
    """Coefficients and distances are those of least squares, in any basis of the span."""
    rng = np.random.default_rng(0)
    C = rng.normal(size=(2, 6))
    subspace = Subspace(np.ones(6), C, np.array([2.0, 3.0]))
    rows = DenseRows(X)
    T = np.linalg.lstsq(C.T, (X - 1.0).T, rcond=None)[0].T
    np.testing.assert_allclose(subspace.scores(rows), T, atol=1e-10)
    rest = np.linalg.norm(X - 1.0 - T @ C, axis=1)
    sd, od = subspace.distances(rows)
    np.testing.assert_allclose(od, rest, atol=1e-10)
    np.testing.assert_allclose(sd, np.sqrt((T**2 / [4.0, 9.0]).sum(axis=1)))
    np.testing.assert_allclose(subspace.negative_distances(rows), -rest, atol=1e-10)
    np.testing.assert_allclose(subspace.rows(DenseRows(T)), 1.0 + T @ C)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_distances_of_rows_of_any_size(size):
    pca = PCA(2).fit(X)
    at = Subspace(size * pca.mean_, pca.components_, np.sqrt(pca.explained_variance_))
    plain = Subspace.of(pca).distances(DenseRows(X))
    np.testing.assert_allclose(at.distances(DenseRows(size * X))[1] / size, plain[1], rtol=1e-9)
    np.testing.assert_allclose(at.distances(DenseRows(size * X))[0] / size, plain[0], rtol=1e-9)


def test_a_huge_row_beside_usual_ones():
    pca = PCA(2).fit(X)
    both = np.vstack([X[:5], 1e300 * X[:1]])
    sd, od = Subspace.of(pca).distances(DenseRows(both))
    alone = Subspace.of(pca).distances(DenseRows(X[:5]))
    np.testing.assert_allclose(sd[:5], alone[0])
    np.testing.assert_allclose(od[:5], alone[1])
    assert np.isfinite([sd[5], od[5]]).all()
    assert od[5] > 1e295
    huge = Subspace.of(pca).rows(DenseRows(np.array([[1e308, 1e308]])))
    assert np.isfinite(huge).all()


def test_angles_need_the_same_columns():
    with pytest.raises(ValueError, match="have 3 and 2 columns"):
        principal_angles(np.eye(3)[:2], np.eye(2)[:1])


def test_angles_of_every_size():
    for degrees in (1e-9, 1.0, 30.0, 60.0, 89.0, 90.0):
        t = np.radians(degrees)
        assert principal_angles([[1.0, 0.0]], [[np.cos(t), np.sin(t)]])[0] == pytest.approx(degrees)
    mixed = principal_angles(np.eye(4)[:2], [[1.0, 0.0, 1e-3, 0.0], [0.0, 0.1, 0.0, 1.0]])
    np.testing.assert_allclose(mixed, np.degrees([np.arctan(10.0), np.arctan(1e-3)]), rtol=1e-9)


def test_the_level_of_a_monitor_and_its_warnings():
    rows = np.random.default_rng(0).normal(size=(80, 5)) * [5, 4, 1, 1, 1]
    pca = TL1SubspacePCA(2, random_state=0).fit(rows)
    found = monitor(pca, rows, 0.98)
    assert found.limits == limits(pca, 0.98)
    warned = limits(pca, 0.9)
    assert (found.warnings.score, found.warnings.orthogonal) == pytest.approx(
        (warned.score, warned.orthogonal)
    )
    assert found.limits.tilt == (pca.weights_ > 0).sum() + 1
    assert limits(pca, 0.98, "training").tilt == np.inf
    assert limits(pca, 0.5).score < limits(pca, 0.999).score


def test_a_row_beyond_the_largest_number_is_the_largest():
    subspace = Subspace(np.array([1.0, -1.0]), np.array([[0.6, 0.8]]), np.ones(1))
    found = subspace.rows(DenseRows(np.array([[2.0], [1.7e308], [-1.7e308]])))
    np.testing.assert_allclose(found[0], [2.2, 0.6])
    np.testing.assert_allclose(found[1:], [[1.02e308, 1.36e308], [-1.02e308, -1.36e308]])
    steep = Subspace(np.zeros(1), np.array([[4.0]]), np.ones(1)).rows(DenseRows(np.array([[1e308]])))
    assert steep[0, 0] == np.finfo(float).max


def test_a_known_subspace_has_one_limit_however_far_a_row_lies():
    assert orthogonal_limit(np.array([0.0, 1e154, 1e300]), Cutoffs(3.0, 2.0)).tolist() == [2.0] * 3
    assert orthogonal_limit(np.array([1e300]), Cutoffs(3.0, 2.0, tilt=50.0))[0] == pytest.approx(4.0)


def test_labels_change_at_the_limit():
    assert labels(np.array([3.0, 3.1]), np.zeros(2), Cutoffs(3.0, 3.0)).tolist() == [1, -1]
    assert labels(np.zeros(2), np.array([3.0, 3.1]), Cutoffs(3.0, 3.0)).tolist() == [1, -1]


def test_lengths_near_the_ends_of_the_range():
    np.testing.assert_allclose(row_lengths(np.full((1, 4), 1.2e154)), 2.4e154)
    small = np.array([[2e-154, 0.0], [3e-160, 4e-160]])
    np.testing.assert_allclose(row_lengths(small), [2e-154, 5e-160], rtol=1e-12)


def test_score_distances_in_any_units():
    np.testing.assert_allclose(score_distances(np.array([[3e-15, 8e-15]]), np.array([1e-30, 4e-30])), 5.0)
    np.testing.assert_allclose(score_distances(np.array([[3e15, 8e15]]), np.array([1e30, 4e30])), 5.0)


def test_orthonormal_components_are_their_own_basis():
    C = np.linalg.qr(np.random.default_rng(2).normal(size=(5, 2)))[0].T
    np.testing.assert_array_equal(Subspace(np.zeros(5), C, np.ones(2))._basis, C.T)
    bent = np.array([C[0], C[1] + 0.01 * C[0]])
    basis = Subspace(np.zeros(5), bent, np.ones(2))._basis
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_components_that_depend_on_each_other_span_a_smaller_subspace(unit):
    rng = np.random.default_rng(3)
    two = rng.normal(size=(2, 6))
    C = unit * np.vstack([two, two[0] + two[1]])
    rest = (X - 1.0) - (X - 1.0) @ np.linalg.pinv(two) @ two
    found = Subspace(np.ones(6), C, np.ones(3)).distances(DenseRows(X))[1]
    np.testing.assert_allclose(found, np.linalg.norm(rest, axis=1), rtol=1e-9)


def test_scores_of_rows_with_missing_entries_are_those_of_the_others():
    C = np.linalg.qr(np.random.default_rng(4).normal(size=(6, 2)))[0].T
    subspace = Subspace(np.ones(6), C, np.ones(2), missing=True)
    holes = X[:20].copy()
    holes[np.arange(20), np.arange(20) % 6] = np.nan
    found, (_, od) = subspace.scores(DenseRows(holes)), subspace.distances(DenseRows(holes))
    for i, row in enumerate(holes):
        there = ~np.isnan(row)
        t = np.linalg.lstsq(C.T[there], row[there] - 1.0, rcond=None)[0]
        np.testing.assert_allclose(found[i], t, atol=1e-8)
        left = np.linalg.norm(row[there] - 1.0 - t @ C[:, there])
        assert od[i] == pytest.approx(left)
    with pytest.raises(ValueError, match="NaN"):
        Subspace(np.ones(6), C, np.ones(2)).scores(DenseRows(holes))


def test_angles_near_the_ends_of_their_range_and_of_unequal_subspaces():
    t = np.radians(1e-7)
    right = principal_angles([[1.0, 0.0]], [[np.sin(t), np.cos(t)]])[0]
    assert 90.0 - right == pytest.approx(1e-7, rel=1e-6)
    large, small = np.eye(5)[:3], np.array([[1.0, 0.0, 0.0, 1e-3, 0.0]])
    for pair in ((large, small), (small, large)):
        assert principal_angles(*pair) == pytest.approx([np.degrees(np.arctan(1e-3))], rel=1e-9)


class Kept:
    """What `limits` needs of an estimator that keeps its training rows."""

    def __init__(self, n, k, d, in_fit, noise_dimension=None):
        self.components_, self.mean_ = np.eye(k, d), np.zeros(d)
        self.explained_variance_ = np.ones(k)
        self.score_distances_, self.orthogonal_distances_ = np.ones(n), np.linspace(1, 2, n)
        self.weights_ = (np.arange(n) < in_fit) * 0.5
        if noise_dimension is not None:
            self.noise_dimension_ = noise_dimension


def test_the_least_rows_of_a_limit():
    assert _training(Kept(20, 2, 6, 5), None).n_rows == 5
    with pytest.raises(ValueError, match="4 rows in the fit are too few"):
        _training(Kept(20, 2, 6, 4), None)


def test_the_noise_has_no_more_directions_than_are_left():
    assert _training(Kept(20, 2, 6, 20, 2.5), None).noise_dimension == 2.5
    assert _training(Kept(20, 2, 6, 20, 9.0), None).noise_dimension == 4.0
    assert _training(Kept(20, 2, 6, 20), None).noise_dimension == 4.0  # not told
    assert _training(Kept(20, 2, 2, 20), None).noise_dimension == 1.0


def test_directions_of_the_noise_of_given_rows():
    rows = 5.0 + gaussian(30, 6) * [4.0, 3.0, 1.0, 1.0, 0.5, 0.2]
    pca = PCA(2).fit(rows)
    fitted = np.arange(30) < 25
    rest = rows[fitted] - pca.inverse_transform(pca.transform(rows[fitted]))
    assert _noise_dimension(pca, rows, fitted, 1.0) == pytest.approx(effective_dimension(rest, 3 / 25))
    regular = diagnose(pca, rows).flags == 0
    found = _training(pca, rows)
    assert found.noise_dimension == pytest.approx(_noise_dimension(pca, rows, regular, 1.0))
    np.testing.assert_array_equal(found.fitted, regular)
    cells = TL1CellPCA(2).fit(rows)
    assert np.isnan(_noise_dimension(cells, rows, fitted, 1.0))  # its distances are no lengths


def test_limits_without_rows_of_their_own_are_those_of_the_rows_at_hand():
    class Limits:
        cutoffs_ = Cutoffs(1.0, 1.0)

    assert rows_behind(Limits(), 7) == 7
