"""TL1CellPCA: bad cells, bad rows and missing cells in one table."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_blobs
from sklearn.decomposition import PCA

import tl1pca
from support import subspace_angle
from tl1pca import TL1CellPCA, TL1SubspacePCA, diagnostics
from tl1pca.estimators import _cell


def table(n=300, d=20, k=3, *, cells=0.1, rows=0.15, missing=0.1, distance=8.0, seed=0):
    """Values, what they were, masks of bad cells and rows, and the true axes."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, k + 1)))[0]
    clean = (rng.normal(size=(n, k)) * np.linspace(6, 3, k)) @ Q[:, :k].T + rng.normal(size=(n, d)) + 5.0
    X, bad = clean.copy(), np.arange(n) < round(rows * n)
    X[bad] = 5.0 + 20.0 * Q[:, k] + rng.normal(size=(bad.sum(), d))
    wrong = rng.uniform(size=X.shape) < cells
    X[wrong] = 5.0 + distance * clean.std(axis=0).mean() * rng.choice([-1, 1], size=wrong.sum())
    gone = rng.uniform(size=X.shape) < missing
    X[gone] = np.nan
    return X, clean, wrong & ~gone, bad, Q[:, :k].T


@pytest.fixture(name="fitted", scope="module")
def mixed():
    X, clean, wrong, bad, axes = table()
    return TL1CellPCA(3, random_state=0).fit(X), X, clean, wrong, bad, axes


def test_all_three_together(fitted):
    pca, X, clean, wrong, bad, axes = fitted
    oracle = subspace_angle(PCA(3).fit(clean[~bad]).components_, axes)
    assert subspace_angle(pca.components_, axes) < 1.5 * oracle + 1
    good = ~bad[:, None] & ~np.isnan(X)
    assert pca.cell_flags_[wrong & ~bad[:, None]].mean() > 0.99
    assert pca.cell_flags_[good & ~wrong].mean() < 0.01
    assert (pca.flags_[bad] > 0).mean() > 0.99
    assert (pca.flags_[~bad] > 0).mean() < 0.06
    assert (pca.weights_[bad] == 0).all()
    filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    assert subspace_angle(TL1SubspacePCA(3, random_state=0).fit(filled).components_, axes) > 45


@pytest.mark.parametrize("rows", [0.0, 0.2])
@pytest.mark.parametrize("shape", [(200, 15), (60, 120)])
def test_columns_that_nearly_determine_each_other(shape, rows):
    """Spectra, say: noise a hundredth of the signal. One bad cell spoils the first predictions of its row."""
    rng = np.random.default_rng(1)
    (n, d), bad = shape, np.arange(shape[0]) < rows * shape[0]
    Q = np.linalg.qr(rng.normal(size=(d, 4)))[0]
    clean = (rng.normal(size=(n, 3)) * [6, 4, 3]) @ Q[:, :3].T * np.sqrt(d / 15) + 0.01 * rng.normal(
        size=(n, d)
    )
    X = clean + 10.0 * bad[:, None] * Q[:, 3] * np.sqrt(d / 15)
    wrong, gone = (rng.uniform(size=X.shape) < share for share in (0.06, 0.05))
    X[wrong] = -99.0
    X[gone] = np.nan
    pca = TL1CellPCA(3).fit(X)
    assert subspace_angle(pca.components_, PCA(3).fit(clean[~bad]).components_) < 0.2
    assert pca.cell_flags_[wrong & ~gone & ~bad[:, None]].all()
    assert (pca.flags_[bad] > 0).all()
    assert (pca.flags_[~bad] > 0).mean() < 0.1
    off = (pca.impute(X) - clean)[~bad]
    assert np.sqrt((off[(wrong | gone)[~bad]] ** 2).mean()) < 0.02


def test_copies_of_columns_do_not_rule():
    """A copy predicts its column exactly; in units of that error it would outweigh all other columns."""
    rng = np.random.default_rng(1)
    scores, Q = rng.normal(size=(200, 3)) * [6, 4, 3], np.linalg.qr(rng.normal(size=(15, 3)))[0]
    clean = scores @ Q.T + 0.7 * rng.normal(size=(200, 15))
    clean = np.column_stack([clean, clean[:, :3], 2 * clean[:, :1] + 1])
    wrong, gone = (rng.uniform(size=clean.shape) < share for share in (0.07, 0.05))
    X = np.where(gone, np.nan, np.where(wrong, -999.0, clean))
    off = (TL1CellPCA(3).fit(X).impute(X) - clean)[wrong | gone]
    assert np.sqrt((off**2).mean()) < 2.0


def test_fitted_attributes_fit_together(fitted):
    pca, X, *_ = fitted
    n, d = X.shape
    for name in ("cell_flags_", "cell_residuals_", "cell_weights_"):
        assert getattr(pca, name).shape == (n, d)
    missing = np.isnan(X)
    np.testing.assert_array_equal(np.isnan(pca.cell_residuals_), missing)
    assert not pca.cell_weights_[missing].any()
    assert not pca.cell_flags_[missing].any()
    np.testing.assert_array_equal(
        pca.cell_flags_, np.nan_to_num(np.abs(pca.cell_residuals_)) > pca.cell_cutoff
    )
    np.testing.assert_allclose(pca.cell_scales_, 1.0, rtol=0.35)
    assert pca.cell_rate_ == pytest.approx(0.1, abs=0.02)
    assert pca.explained_variance_ == pytest.approx([36, 20, 9], rel=0.5)


def test_training_rows_are_judged_like_new_ones(fitted):
    pca, X, *_ = fitted
    np.testing.assert_allclose(pca.cell_residuals(X), pca.cell_residuals_, atol=1e-6)
    sd, od = pca.distances(X)
    np.testing.assert_allclose(sd, pca.score_distances_, rtol=1e-5)
    np.testing.assert_allclose(od, pca.orthogonal_distances_, rtol=1e-5)
    np.testing.assert_array_equal(pca.predict(X), np.where(pca.flags_ > 0, -1, 1))
    np.testing.assert_array_equal(pca.decision_function(X) < 0, pca.flags_ > 0)
    np.testing.assert_allclose(pca.score_samples(X), -od)


@pytest.mark.parametrize("seed", range(3))
def test_a_cluster_among_repaired_rows(seed):
    """More than a third of the cells are predicted, and not by what the bad rows have in common."""
    X, _, _, bad, axes = table(200, cells=0.2, rows=0.2, missing=0.2, distance=20.0, seed=seed)
    pca = TL1CellPCA(3, random_state=0).fit(X)
    assert subspace_angle(pca.components_, axes) < 20
    assert (pca.weights_[bad] == 0).mean() > 0.97


def test_explicit_arithmetic(fitted):
    """Scores solve the least squares with the weights of their own residuals, held where there are gaps."""
    pca, X, *_ = fitted
    W, scales, seen = pca.components_, pca.cell_scales_, ~np.isnan(X)
    T = pca.transform(X)
    R = np.where(seen, (X - pca.inverse_transform(T)) / scales, 0.0)
    weights = np.where(seen, 1.0 / (1.0 + (R / 3.75) ** 2) ** 2, 0.0)
    np.testing.assert_allclose(weights, pca.cell_weights_, atol=1e-6)
    V = pca.cell_components_
    held = (T @ (W / scales)) @ V.T / pca.cell_variance_ * ~seen.all(axis=1)[:, None]
    np.testing.assert_allclose((weights * R) @ V.T, held, atol=1e-6 * np.abs(weights * R).sum(axis=1).max())
    sd, _ = diagnostics.distances(pca, X)
    np.testing.assert_allclose(sd, np.sqrt((T**2 / pca.explained_variance_).sum(axis=1)))
    np.testing.assert_array_equal(diagnostics.diagnose(pca, X).flags, pca.flags_)


def test_a_bad_cell_alone_makes_no_bad_row(fitted):
    pca, _, clean, _, bad, _ = fitted
    rows = clean[~bad][:50].copy()
    before = pca.predict(rows)
    rows[:, 4] = 1000.0
    assert (pca.predict(rows) == before).mean() > 0.95
    assert (np.abs(pca.cell_residuals(rows)[:, 4]) > pca.cell_cutoff).all()


def test_impute(fitted):
    pca, X, clean, wrong, bad, _ = fitted
    Y = pca.impute(X)
    kept = ~pca.cell_flags_ & ~np.isnan(X)
    np.testing.assert_array_equal(Y[kept], X[kept])
    filled = (np.isnan(X) | wrong) & ~bad[:, None]
    assert np.sqrt(np.mean((Y - clean)[filled] ** 2)) < 1.6
    fit = pca.inverse_transform(pca.transform(X))
    np.testing.assert_allclose(Y[~kept], fit[~kept])


def test_units_of_a_column_do_not_matter(fitted):
    pca, X, *_ = fitted
    factors = np.geomspace(1e-12, 1e12, X.shape[1])  # turnovers beside rates
    other = TL1CellPCA(3, random_state=0).fit(X * factors)
    np.testing.assert_allclose(other.cell_residuals_, pca.cell_residuals_, atol=1e-6)
    np.testing.assert_array_equal(other.flags_, pca.flags_)
    np.testing.assert_allclose(other.mean_, pca.mean_ * factors, rtol=1e-6)
    np.testing.assert_allclose(other.impute(X * factors), pca.impute(X) * factors, rtol=1e-5)


@pytest.mark.parametrize(("n_groups", "k"), [(3, 1), (3, 2), (3, None), (5, None)])
def test_groups_that_are_alike(n_groups, k):
    """Rows are regular, cells too where the components hold all groups, and None takes as many."""
    X, _ = make_blobs(300, 10, centers=n_groups, random_state=2)
    pca = TL1CellPCA(k).fit(X)
    assert (pca.flags_ > 0).mean() <= 0.05
    assert (pca.cell_flags_ != 0).mean() <= (0.05 if k == 1 else 0.005)
    assert pca.n_components_ == (k or n_groups - 1)


@pytest.mark.parametrize(("seed", "n", "share"), [(903, 300, 0.0), (3004, 300, 0.02), (3011, 3000, 0.02)])
def test_a_group_is_not_left_out_for_what_was_repaired_at_first(seed, n, share):
    """Slips may lie where other groups are; rows that the start did not look at go with their group."""
    X, _ = make_blobs(n, 10, centers=3, random_state=seed)
    rng = np.random.default_rng(seed)
    slips = rng.uniform(size=X.shape) < share
    X = np.where(slips, X + rng.choice([-1, 1], X.shape) * rng.uniform(10, 40, X.shape), X)
    pca = TL1CellPCA(2).fit(X)
    assert (pca.flags_ > 0).mean() <= 0.05
    assert pca.cell_flags_[~slips].mean() <= 0.005
    assert not share or pca.cell_flags_[slips].mean() >= 0.97


def test_a_small_component_that_little_noise_leaves_visible_counts():
    """Peaks that overlap: the last of four components has less than a hundredth of the variance."""
    rng = np.random.default_rng(0)
    at = np.linspace(0, 1, 150)
    peaks = np.exp(-0.5 * ((at - np.array([[0.3], [0.42], [0.55], [0.7]])) / 0.12) ** 2)
    clean = (1 + 0.4 * rng.normal(size=(80, 4))) @ peaks
    X = clean + 0.005 * rng.normal(size=clean.shape)
    bad = rng.uniform(size=X.shape) < 0.01
    X[bad] += 1.0
    pca = TL1CellPCA().fit(X)
    assert pca.n_components_ == 4
    assert (pca.flags_ > 0).mean() < 0.05
    assert np.sqrt(np.mean((pca.impute(X) - clean)[bad] ** 2)) < 0.007


def test_clean_data_cost_little():
    X, _, _, _, axes = table(600, cells=0.0, rows=0.0, missing=0.0)
    ours = subspace_angle(TL1CellPCA(3, random_state=0).fit(X).components_, axes)
    assert ours < 1.2 * subspace_angle(PCA(3).fit(X).components_, axes)


def test_many_rows_join_after_a_sample(monkeypatch):
    X, _, wrong, bad, axes = table(1500)
    whole = TL1CellPCA(3, random_state=0).fit(X)
    monkeypatch.setattr(_cell, "START_ROWS", 600)
    pca = TL1CellPCA(3, random_state=0).fit(X)
    assert subspace_angle(pca.components_, axes) < 1.3 * subspace_angle(whole.components_, axes) + 0.5
    assert (pca.weights_[bad] == 0).mean() > 0.99
    assert pca.cell_flags_[wrong & ~bad[:, None]].mean() > 0.99
    assert (np.diff(pca.objective_path_[0]) <= 0).all()


@pytest.mark.filterwarnings("ignore:Fewer than half")
@pytest.mark.parametrize("seen", [1, 20])
def test_a_column_that_few_of_many_rows_have(seen, monkeypatch):
    """A draw of the rows may hold none of its cells; the fit is to know where they lie all the same."""
    X, *_ = table(1500, cells=0.0, rows=0.0, missing=0.0)
    given = X[:seen, 7].copy()
    X[:, 7] = np.nan
    X[:seen, 7] = 900.0 + given
    monkeypatch.setattr(_cell, "START_ROWS", 100)
    pca = TL1CellPCA(3, random_state=0).fit(X)
    assert abs(pca.mean_[7] - 900.0 - np.median(given)) < 1.5 * np.ptp(given) + 1e-6
    assert not pca.cell_flags_[:seen, 7].all()


def test_wide():
    X, _, wrong, bad, axes = table(80, 150, cells=0.1, rows=0.1, missing=0.1)
    pca = TL1CellPCA(3, random_state=0).fit(X)
    assert subspace_angle(pca.components_, axes) < 60
    assert pca.cell_flags_[wrong & ~bad[:, None]].mean() > 0.97


def test_single_precision():
    X, *_ = table(cells=0.05)
    single, double = (TL1CellPCA(3, random_state=0).fit(X.astype(t)) for t in (np.float32, np.float64))
    assert single.cell_residuals_.dtype == single.impute(X.astype(np.float32)).dtype == np.float32
    assert (single.cell_flags_ == double.cell_flags_).mean() > 0.999


def test_names_in_a_frame_and_in_a_warning():
    X, *_ = table()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(20)])
    frame.loc[20:, "c7"] = np.nan
    with pytest.warns(UserWarning, match="half of the cells of 1 columns .*'c7'"):
        pca = TL1CellPCA(3, random_state=0).fit(frame)
    assert pca.feature_names_in_[7] == "c7"
    assert np.isfinite(pca.impute(frame)).all()


def test_rows_with_too_few_cells_are_said_and_take_no_part():
    X, *_ = table()
    X[299, 3:] = np.nan
    X[298] = np.nan
    with pytest.warns(UserWarning, match="2 of 300 rows, with fewer than n_components"):
        pca = TL1CellPCA(3, random_state=0).fit(X)
    assert not pca.weights_[298:].any()
    np.testing.assert_allclose(pca.transform(X)[298], 0, atol=1e-12)
    np.testing.assert_allclose(pca.impute(X)[298], pca.mean_)


def test_an_empty_column_is_an_error():
    X, *_ = table()
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match=r"\[2\] have no observed value"):
        TL1CellPCA(3).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"breakdown": 0.7}, "breakdown"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
    ],
)
def test_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        TL1CellPCA(2, **parameters).fit(np.eye(5))


def test_number_of_components_is_chosen_in_units_of_the_columns():
    X, *_ = table(500, cells=0.05, rows=0.0, missing=0.0)
    assert TL1CellPCA(0.5, random_state=0).fit(X).n_components_ <= 3
    k = TL1CellPCA(0.7, random_state=0).fit(X).n_components_
    assert k >= 3
    assert TL1CellPCA(0.7, random_state=0).fit(X * np.geomspace(1, 1e5, 20)).n_components_ == k


def test_model_file(tmp_path, fitted):
    pca, X, *_ = fitted
    tl1pca.save(pca, tmp_path / "model.npz")
    again = tl1pca.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.cell_residuals_, pca.cell_residuals_)
    np.testing.assert_array_equal(again.impute(X), pca.impute(X))
    np.testing.assert_array_equal(again.predict(X), pca.predict(X))


def test_stopping_early_is_said():
    X, *_ = table(60, 6, 2, cells=0.2, missing=0.0)
    with pytest.warns(Warning, match="did not converge in 1 iterations"):
        assert not TL1CellPCA(2, max_iter=1, tol=0.0, random_state=0).fit(X).converged_


def test_narrow_tables_without_a_number_of_components():
    """The start allows for more vectors than components, but not for as many as there are columns."""
    X = load_wine().data
    X[4, 4] *= 10
    pca = TL1CellPCA(random_state=0).fit(X)
    given = TL1CellPCA(pca.n_components_, random_state=0).fit(X)
    assert pca.cell_flags_[4, 4]
    assert pca.cell_flags_.mean() < 1.3 * given.cell_flags_.mean()
    np.testing.assert_allclose(pca.cell_scales_, given.cell_scales_, rtol=0.4)


@pytest.mark.parametrize("seen", [1, 3, 4])
def test_rows_of_few_cells_are_imputed_by_usual_rows(seen):
    """As many cells as components would be fitted exactly, by scores of any size."""
    rng = np.random.default_rng(31)
    X = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 10)) + 0.3 * rng.normal(size=(400, 10))
    pca = TL1CellPCA(3, random_state=0).fit(X[:300])
    mask = np.argsort(rng.uniform(size=(100, 10)), axis=1) < seen
    off = (pca.impute(np.where(mask, X[300:], np.nan)) - X[300:]) / X.std(axis=0)
    assert np.sqrt((off[~mask] ** 2).mean()) < {1: 1.0, 3: 0.6, 4: 0.5}[seen]
    assert not off[mask & (pca.cell_residuals(np.where(mask, X[300:], np.nan)) ** 2 < 9)].any()
    assert (pca.predict(np.where(mask, X[300:], np.nan)) == 1).mean() > 0.95


def test_a_table_of_yes_and_no_has_no_bad_cells_but_codes():
    rng = np.random.default_rng(21)
    X = (rng.normal(size=(300, 2)) @ rng.normal(size=(2, 10)) + 0.3 * rng.normal(size=(300, 10)) > 0) * 1.0
    X[4, 4] = 77.0
    pca = TL1CellPCA(2, random_state=0).fit(X)
    np.testing.assert_array_equal(np.argwhere(pca.cell_flags_), [[4, 4]])
    assert (pca.flags_ > 0).mean() < 0.05


def with_column(x, seed=0, n=600):
    """Five columns of two factors, a column x(rng, factors) beside them, and a slip in one of each."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(n, 2))
    X = np.column_stack([U @ rng.normal(size=(2, 5)) + 0.5 * rng.normal(size=(n, 5)), x(rng, U)])
    X[3, 1], X[7, 5] = 60.0, 99.0
    return X


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "column",
    [
        lambda rng, U: U[:, 0] + rng.normal(size=len(U)) > 0.9,
        lambda rng, U: rng.uniform(size=len(U)) < 0.5,
        lambda rng, U: rng.uniform(size=len(U)) < 0.03,
        lambda rng, U: rng.integers(1, 6, size=len(U)),
        lambda rng, U: rng.poisson(0.7, size=len(U)),
    ],
    ids=["yes related", "yes half", "yes rare", "grades", "counts"],
)
def test_common_values_of_a_column_are_no_bad_cells(column, seed):
    X = with_column(column, seed)
    pca = TL1CellPCA(2, random_state=0).fit(X)
    assert pca.cell_flags_[3, 1]
    assert pca.cell_flags_[7, 5]
    assert pca.cell_flags_[:, 5].sum() <= 10
    assert pca.cell_flags_[:, :5].sum() <= 30
    assert (pca.flags_ > 0).mean() < 0.05


def test_amounts_that_are_mostly_zero():
    def amounts(rng, U):
        return np.where(rng.uniform(size=len(U)) < 0.7, 0.0, rng.lognormal(2.0, 0.6, size=len(U)))

    X = with_column(amounts)
    X[7, 5] = -999.0
    pca = TL1CellPCA(2, random_state=0).fit(X)
    assert pca.cell_flags_[7, 5]
    assert pca.cell_flags_[:, 5].mean() < 0.01


def test_codes_in_a_column_that_is_mostly_zero():
    """No bad cells for not being zero; and slips among them do not hide each other."""

    def codes(rng, U):
        return rng.choice([0.0, 1.0, 5.0, 20.0], p=[0.85, 0.05, 0.05, 0.05], size=len(U))

    X = with_column(codes)
    X[20:32, 5] = 1e4 + np.arange(12)
    pca = TL1CellPCA(2, random_state=0).fit(X)
    assert pca.cell_flags_[20:32, 5].all()
    X[20:32, 5] = 0.0
    assert TL1CellPCA(2, random_state=0).fit(X).cell_flags_[:, 5].mean() < 0.01


def test_the_rarer_of_two_values_is_no_tail():
    """It lies at the limit of its column by itself, which is no tail that would excuse slips."""
    rng = np.random.default_rng(2)
    X = with_column(lambda rng, U: rng.uniform(size=len(U)) < 0.1)
    slips = rng.uniform(size=len(X)) < 0.05
    X[slips, 5] = rng.uniform(5, 9, size=slips.sum())
    pca = TL1CellPCA(2, random_state=0).fit(X)
    assert pca.cell_flags_[slips, 5].all()
    assert not pca.cell_tails_[:, 5].any()


@pytest.mark.parametrize(("k", "seed"), [(1, 0), (2, 0), (4, 0), (4, 3)])
def test_neither_the_order_of_columns_nor_what_they_are_counted_from_is_a_matter(k, seed):
    """As little as degrees of Celsius or Fahrenheit: rounded values are blurred alike in either."""
    X = load_wine().data
    pca = TL1CellPCA(k).fit(X)
    order = np.random.default_rng(seed).permutation(13)
    other = TL1CellPCA(k).fit(X[:, order] * 1.8 + 32.0)
    np.testing.assert_array_equal(other.cell_flags_, pca.cell_flags_[:, order])
    np.testing.assert_array_equal(other.flags_, pca.flags_)
    np.testing.assert_allclose(np.abs(other.components_), np.abs(pca.components_[:, order]), atol=1e-6)
    np.testing.assert_array_equal(TL1CellPCA(k).fit(X.astype(np.float32)).cell_flags_, pca.cell_flags_)


@pytest.mark.parametrize(("load", "k"), [(load_wine, 3), (load_wine, 4), (load_iris, 2)])
def test_which_way_a_column_is_counted_is_no_matter(load, k):
    """What is written as a loss or as a gain: rounded values are blurred in mirror image."""
    X = load().data
    sign = np.where(np.arange(X.shape[1]) % 3, 1.0, -1.0)
    pca, other = TL1CellPCA(k).fit(X), TL1CellPCA(k).fit(sign * X)
    np.testing.assert_array_equal(other.cell_flags_, pca.cell_flags_)
    np.testing.assert_array_equal(other.flags_, pca.flags_)
    np.testing.assert_allclose(np.abs(other.components_), np.abs(pca.components_), atol=1e-6)


def test_the_order_of_rows_is_no_matter():
    X = load_wine().data
    pca = TL1CellPCA(4).fit(X)
    order = np.random.default_rng(4).permutation(len(X))
    other = TL1CellPCA(4).fit(X[order])
    np.testing.assert_array_equal(other.cell_flags_, pca.cell_flags_[order])
    np.testing.assert_allclose(other.orthogonal_distances_, pca.orthogonal_distances_[order], atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_table_of_grades(seed):
    """Rows that share grades lie in subspaces of their own, which are no better than others."""
    X = with_column(lambda rng, U: rng.normal(size=len(U)), seed)[:, :5]
    X = np.clip(np.round(3 + 0.7 * X), 1, 5)
    X[3, 1], X[7, 4] = 33.0, 55.0
    pca = TL1CellPCA(2, random_state=0).fit(X)
    assert pca.cell_flags_[3, 1]
    assert pca.cell_flags_[7, 4]
    assert pca.cell_flags_.sum() < 12
    assert (pca.flags_ > 0).mean() < 0.05
    order = np.random.default_rng(0).permutation(len(X))
    again = TL1CellPCA(2, random_state=0).fit(X[order])
    np.testing.assert_array_equal(again.cell_flags_, pca.cell_flags_[order])
    again = TL1CellPCA(2, random_state=0).fit(X * [1.0, 10.0, 0.3, 7.0, 1e5])
    np.testing.assert_array_equal(again.cell_flags_, pca.cell_flags_)


@pytest.mark.parametrize("seed", range(2))
def test_rows_of_whole_numbers_with_two_slips_are_no_bad_rows(seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(15, 3)))[0]
    X = np.round(0.9 * (rng.normal(size=(300, 3)) * [6.0, 4.5, 3.0]) @ Q.T + rng.normal(size=(300, 15)))
    wrong = rng.uniform(size=X.shape) < 0.05
    X[wrong] = -999.0
    pca = TL1CellPCA(3).fit(X)
    assert pca.cell_flags_[wrong].all()
    assert pca.usual_residual_ < -1.0
    assert (pca.flags_ > 0).mean() < 0.035
    np.testing.assert_array_equal(pca.predict(X), np.where(pca.flags_ > 0, -1, 1))


def test_a_column_that_goes_its_own_way_is_not_taken_for_noiseless():
    for seed in range(4):
        X = with_column(lambda rng, U: rng.normal(size=len(U)), seed)
        scales = TL1CellPCA(2, random_state=0).fit(X).cell_scales_
        assert scales[:5].min() > 0.3  # of 0.5
        assert scales[5] > 0.5  # of 1


@pytest.mark.parametrize("seed", range(3))
def test_clean_rows_with_little_noise_are_trusted(seed):
    """Cells far out in their column belong to rows with large scores, and one column is all noise."""
    rng = np.random.default_rng(seed)
    B = 3 * rng.normal(size=(2, 8))
    B[:, 2] = 0.0
    X = rng.normal(size=(400, 2)) @ B + 0.3 * rng.normal(size=(400, 8))
    pca = TL1CellPCA(2, random_state=0).fit(X)
    assert pca.weights_.mean() > 0.97
    assert pca.cell_flags_.mean() < 0.01
    assert (pca.flags_ > 0).mean() < 0.05
    np.testing.assert_allclose(pca.cell_scales_, 0.3, rtol=0.5)


@pytest.mark.parametrize("constant", [1, 5])
def test_constant_columns_say_nothing(constant):
    rng = np.random.default_rng(0)
    X = 3 * rng.normal(size=(100, 2)) @ rng.normal(size=(2, 8)) + 0.3 * rng.normal(size=(100, 8))
    X[:, 8 - constant :] = 7.0
    X[4, 7] = 99.0
    pca = TL1CellPCA(2, random_state=0).fit(X)
    assert pca.cell_flags_[4, 7]
    assert pca.impute(X)[4, 7] == pytest.approx(7.0)
    assert pca.cell_flags_.mean() < 0.02


def test_few_good_cells_are_flagged():
    """One in a thousand by the cut-off; residuals of cells left out are larger than those of cells inside."""
    tables = [table(1000, 50, 5, cells=0.0, rows=0.0, missing=0.0, seed=seed)[0] for seed in range(3)]
    flagged = np.mean([TL1CellPCA(5, random_state=0).fit(X).cell_flags_.mean() for X in tables])
    assert 0.0005 < flagged < 0.0015


@pytest.mark.parametrize("n", [15, 25, 40])
def test_few_good_cells_of_few_rows_are_flagged(n):
    """The scale of few values is not that of a clump among them; and slips are found all the same."""
    false, found = [], []
    for seed in range(4):
        X, _, wrong, *_ = table(n, 10, 2, cells=0.06, rows=0.0, missing=0.0, seed=seed)
        flags = TL1CellPCA(2, random_state=0).fit(X).cell_flags_
        false.append(flags[~wrong].mean())
        found.append(flags[wrong].mean())
    assert np.mean(false) < 0.03
    assert np.mean(found) > 0.95


@pytest.mark.parametrize(("load", "k", "false_alarms"), [(load_wine, 3, 0.03), (load_breast_cancer, 5, 0.06)])
def test_slips_in_tables_that_nobody_drew(load, k, false_alarms):
    """Units, sentinels and dropped decimal points; the columns are skewed and have long tails."""
    X = load().data
    rng = np.random.default_rng(17)
    index = rng.permutation(X.size)[: X.size // 50]
    kinds = np.array_split(index, 4)
    Y, bad = X.copy(), np.zeros(X.shape, dtype=bool)
    Y.flat[kinds[0]] *= 1000.0
    Y.flat[kinds[1]] = -999.0
    Y.flat[kinds[2]] *= 10.0
    Y.flat[kinds[3]] = np.nan
    bad.flat[np.concatenate(kinds[:3])] = True
    far = bad & (np.abs(Y - X) > 5.0 * X.std(axis=0))
    pca = TL1CellPCA(k, random_state=0).fit(Y)
    assert far.sum() > 30
    assert pca.cell_flags_[far].mean() >= 0.99
    assert pca.cell_flags_[~bad].mean() < false_alarms


@pytest.mark.parametrize("seed", range(3))
def test_limits_follow_the_tails_of_skewed_columns(seed, tmp_path):
    """Exponentials of low-rank data beside columns that are not skewed; slips are still found."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 2)) @ rng.normal(size=(2, 10)) + 0.5 * rng.normal(size=(400, 10))
    X[:, ::2] = np.exp(0.7 * X[:, ::2])
    Y, wrong = X.copy(), rng.uniform(size=X.shape) < 0.03
    Y[wrong] = (X.mean(axis=0) + 25.0 * X.std(axis=0))[np.nonzero(wrong)[1]]
    pca = TL1CellPCA(2).fit(Y)
    assert pca.cell_flags_[wrong].mean() > 0.98
    assert pca.cell_flags_[~wrong].mean() < 0.02
    assert (pca.cell_tails_[1, ::2] > 0.3).sum() >= 3
    assert pca.cell_tails_[:, 1::2].max() < 0.3
    assert np.median(pca.cell_tails_[0]) == 0.0
    np.testing.assert_array_equal(
        pca.cell_flags_, np.nan_to_num(np.abs(pca.cell_residuals_)) > pca.cell_cutoff
    )
    np.testing.assert_allclose(pca.cell_residuals(Y), pca.cell_residuals_, atol=1e-6)
    np.testing.assert_allclose(pca.distances(Y)[1], pca.orthogonal_distances_, rtol=1e-5)
    tl1pca.save(pca, tmp_path / "model.npz")
    again = tl1pca.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.cell_tails_, pca.cell_tails_)
    np.testing.assert_array_equal(again.cell_residuals(Y), pca.cell_residuals(Y))


@pytest.mark.parametrize("rows", [0.0, 0.15])
def test_memory(rows):
    """At most four times that of the table, what is kept of the fit included; with bad rows as well."""
    X, *_ = table(20000, 50, 5, cells=0.05, rows=rows, missing=0.0)
    tracemalloc.start()
    try:
        pca = TL1CellPCA(5, random_state=0).fit(X)
        assert tracemalloc.get_traced_memory()[1] < 4 * X.nbytes
    finally:
        tracemalloc.stop()
    assert pca.common_variance_.any() == (rows > 0)
    np.testing.assert_allclose(pca.distances(X[:500])[1], pca.orthogonal_distances_[:500], rtol=1e-5)


@pytest.mark.parametrize("k", [1, None, 0.8])
def test_rows_without_cells_are_no_majority(k):
    """Half of the rows are empty, and would all be predicted to be the same one."""
    X = np.random.default_rng(0).normal(size=(200, 6)) * [9.0, 3.0, 1.0, 1.0, 1.0, 1.0]
    holes = np.insert(X, np.arange(200), np.nan, axis=0)
    with pytest.warns(UserWarning, match="200 of 400 rows"):
        pca = TL1CellPCA(k).fit(holes)
    alone = TL1CellPCA(k).fit(X)
    assert subspace_angle(pca.components_, alone.components_) < 3
    assert (pca.flags_ > 0).mean() < 0.03


@pytest.mark.parametrize("k", [3, 4])
def test_too_few_rows_with_cells_enough_are_said(k):
    X = np.random.default_rng(0).normal(size=(40, 4))
    X[np.arange(40), np.arange(40) % 4] = np.nan
    with pytest.raises(ValueError, match="0 of 40 rows have more than 3 observed cells"):
        TL1CellPCA(k).fit(X)
