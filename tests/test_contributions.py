from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, RobustScaler, StandardScaler

from support import COMPOSED, ESTIMATORS, gaussian, name, with_components
from tl1pca import EulerPCA, L1ReconstructionPCA, TL1CellPCA, TL1SubspacePCA
from tl1pca._contributions import RowModel, _limit, suspect_cells
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import contributions, distances, suspects

X = gaussian(120, 6)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, PCA()], ids=name)
def test_they_sum_to_the_squared_distances(estimator):
    pca = with_components(estimator, 2).fit(X)
    found = contributions(pca, X)
    sd, od = distances(pca, X)
    np.testing.assert_allclose(found.score.sum(axis=1), sd**2, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.orthogonal.sum(axis=1), od**2, rtol=1e-10, atol=1e-10)
    assert found.score.shape == found.orthogonal.shape == found.cell.shape == X.shape


@pytest.mark.parametrize(
    "scalers",
    [
        (StandardScaler(),),
        (RobustScaler(), MinMaxScaler()),
        (SimpleImputer(), PowerTransformer()),
        (make_column_transformer((StandardScaler(), ["c", "a"]), (RobustScaler(), ["f", "b", "d", "e"])),),
        (make_column_transformer((StandardScaler(), ["e", "b"]), remainder="passthrough"),),
    ],
    ids=["standard", "two", "imputed", "blocks", "remainder"],
)
def test_pipelines_speak_of_the_columns_that_were_given(scalers):
    units = np.array([1.0, 1e3, 1e-3, 1.0, 5.0, 1.0])
    frame = pd.DataFrame(X * units, columns=list("abcdef"))
    pipe = make_pipeline(*scalers, PCA(2)).fit(frame)
    spoiled = frame.copy()
    spoiled.iloc[3, 1] += 12.0 * units[1]
    found = contributions(pipe, spoiled)
    sd, od = distances(pipe[-1], pipe[:-1].transform(spoiled))
    np.testing.assert_allclose(found.score.sum(axis=1), sd**2, atol=1e-10)
    np.testing.assert_allclose(found.orthogonal.sum(axis=1), od**2, atol=1e-10)
    assert found.feature_names == list("abcdef")
    assert int(np.argmax(np.abs(found.cell[3]))) == 1
    worst = suspects(pipe, spoiled.iloc[[3]])[0]
    assert worst.column == "b"
    assert worst.value == spoiled.iloc[3, 1]
    assert abs(worst.expected - frame.iloc[3, 1]) < 4.0 * units[1]
    assert worst.deviations > 4


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_pipelines_of_every_estimator_have_the_names_and_units_of_the_table(estimator):
    units = np.array([1e-3, 1.0, 1e4, 10.0, 1.0, 0.1])
    frame = pd.DataFrame(X * units + 50.0 * units, columns=["p [bar]", "T (°C)", "1/min", "x 1", "", "f"])
    pipe = make_pipeline(RobustScaler(), with_components(estimator, 2)).fit(frame)
    found = contributions(pipe, frame)
    inner = pipe[:-1].transform(frame)
    sd, od = distances(pipe[-1], inner)
    np.testing.assert_allclose(found.score.sum(axis=1), sd**2, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.orthogonal.sum(axis=1), od**2, rtol=1e-10, atol=1e-10)
    assert found.feature_names == list(frame.columns)
    expected = pipe[:-1].transform(pd.DataFrame(found.expected, columns=frame.columns))
    np.testing.assert_allclose(expected, contributions(pipe[-1], inner).expected, atol=1e-9)


@pytest.mark.parametrize("estimator", [e for e in COMPOSED if not hasattr(type(e), "distances")], ids=name)
def test_what_has_no_components_in_the_columns_says_so(estimator):
    images = type(estimator).__name__ == "ImagePCA"
    fitted = with_components(estimator, 2).fit(X.reshape(-1, 2, 3) if images else X, np.arange(len(X)) % 3)
    for ask in (contributions, suspects):
        with pytest.raises(TypeError, match=f"{type(estimator).__name__} has no components_ and mean_"):
            ask(fitted, X[:1])


def test_steps_that_mix_the_columns_are_refused():
    pipe = make_pipeline(PCA(4), PCA(2)).fit(X)
    with pytest.raises(ValueError, match="make 4 columns of their own out of 6"):
        contributions(pipe, X)


def test_cells_are_conditional_residuals_of_the_normal_model():
    pca = PCA(2).fit(X)
    model = RowModel.of(pca)
    C, noise = pca.components_, pca.noise_variance_
    assert model.noise == pytest.approx(noise)
    covariance = C.T @ np.diag(pca.explained_variance_) @ C + noise * (np.eye(6) - C.T @ C)
    np.testing.assert_allclose(model.precision_columns(np.arange(6)), np.linalg.inv(covariance), atol=1e-8)
    a, removed = X[5] - pca.mean_, [1, 4]
    z, prediction = model.without(a, removed)
    for c in (0, 2, 3, 5):
        others = [j for j in range(6) if j not in (c, *removed)]
        weights = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, c])
        variance = covariance[c, c] - weights @ covariance[others, c]
        assert prediction[c] == pytest.approx(pca.mean_[c] + weights @ a[others])
        assert z[c] == pytest.approx((a[c] - weights @ a[others]) / np.sqrt(variance))


def test_a_repaired_cell_adds_nothing_and_is_smeared_over_no_other():
    X, _, axes = make_contaminated(200, 8, 2, kind="clean", random_state=0)
    column = int(np.argmax((axes**2).sum(axis=1)))
    X[3, column] += 30.0
    X[5, 1] = np.nan
    repaired = TL1CellPCA(2).fit(X)
    found = contributions(repaired, X)
    sd, od = distances(repaired, X)
    np.testing.assert_allclose(found.score.sum(axis=1), sd**2, rtol=1e-10)
    np.testing.assert_allclose(found.orthogonal.sum(axis=1), od**2, rtol=1e-10)
    np.testing.assert_allclose(found.cell, repaired.cell_residuals(X))
    assert found.orthogonal[3, column] == 0.0
    assert found.orthogonal[3].max() < 3.3**2
    (suspect,) = suspects(repaired, X[[3]])
    assert suspect.column == f"x{column}"
    assert abs(X[3, column] - 30.0 - suspect.expected) < 4.0
    assert np.isnan(found.cell[5, 1])
    assert found.orthogonal[5, 1] == 0.0
    assert suspects(repaired, X[[5]]) == []
    plain = np.delete(X, 5, axis=0)
    smeared = contributions(PCA(2).fit(plain), plain).orthogonal[3]
    assert np.delete(smeared, column).max() > 20


def test_missing_cells_are_those_of_the_fit():
    X = make_contaminated(120, 6, 2, kind="clean", random_state=0)[0]
    X[4, 2] = np.nan
    pca = L1ReconstructionPCA(2).fit(X)
    found = contributions(pca, X)
    np.testing.assert_allclose(found.orthogonal.sum(axis=1), distances(pca, X)[1] ** 2, atol=1e-10)
    assert found.orthogonal[4, 2] == pytest.approx(0.0, abs=1e-20)


def test_two_bad_cells_do_not_hide_each_other():
    X, _, axes = make_contaminated(300, 12, 2, kind="clean", random_state=0)
    pca = TL1SubspacePCA(2, random_state=0).fit(X)
    strong = np.argsort(-np.abs(axes[:, 0]))[:2]
    row = X[:1].copy()
    row[0, strong] += 12.0 * np.sign(axes[strong, 0])
    found = suspects(pca, row)
    assert {cell.column for cell in found} == {f"x{c}" for c in strong}
    for cell in found:
        assert cell.expected == pytest.approx(X[0, int(cell.column[1:])], abs=4.0)


def test_a_faulty_sensor_is_named_first():
    hits = []
    for seed in range(20):
        X, _, axes = make_contaminated(100, 50, 3, fraction=0.2, random_state=seed)
        rng = np.random.default_rng(seed)
        new = (rng.normal(size=(20, 3)) * [6, 4.5, 3]) @ axes.T + rng.normal(size=(20, 50))
        column = rng.integers(50, size=20)
        new[np.arange(20), column] += 5.0 * rng.choice([-1, 1], size=20)
        found = contributions(TL1SubspacePCA(3, random_state=0).fit(X), new)
        hits.append((np.argmax(np.abs(found.cell), axis=1) == column).mean())
    assert np.mean(hits) > 0.95


def test_regular_rows_have_no_suspects():
    X = make_contaminated(400, 10, 2, kind="clean", random_state=0)[0]
    pca = TL1SubspacePCA(2, random_state=0).fit(X[:300])
    assert sum(bool(suspects(pca, X[[i]])) for i in range(300, 400)) <= 2


def test_errors_and_rows_without_noise():
    pca = PCA(2).fit(X)
    with pytest.raises(ValueError, match="one row, got 2"):
        suspects(pca, X[:2])
    with pytest.raises(ValueError, match=r"one row x is x.reshape\(1, -1\)"):
        contributions(pca, X[0])
    with pytest.raises(TypeError, match="EulerPCA has no components_"):
        contributions(EulerPCA(2).fit(X), X)
    plane = np.random.default_rng(0).normal(size=(40, 2)) @ np.random.default_rng(1).normal(size=(2, 5))
    found = contributions(PCA(2).fit(plane), plane)
    assert np.isfinite(found.cell).all()
    assert np.isfinite(contributions(PCA(3).fit(plane), plane).cell).all()


def normal_model():
    pca = PCA(2).fit(X)
    C, noise = pca.components_, pca.noise_variance_
    covariance = C.T @ np.diag(pca.explained_variance_) @ C + noise * (np.eye(6) - C.T @ C)
    return pca, RowModel.of(pca), covariance


def test_every_cell_is_predicted_by_the_others():
    """For rows that are not far out in the plane, the regression of the normal model."""
    pca, model, covariance = normal_model()
    A = X - pca.mean_
    near = (((A @ pca.components_.T) ** 2) / pca.explained_variance_).sum(axis=1) < 5
    z, prediction = model.predicted(A)
    for c in range(6):
        others = [j for j in range(6) if j != c]
        weights = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, c])
        deviation = np.sqrt(covariance[c, c] - weights @ covariance[others, c])
        right = A[:, others] @ weights
        np.testing.assert_allclose(prediction[near, c], (pca.mean_[c] + right)[near], atol=1e-8)
        np.testing.assert_allclose(z[near, c], ((A[:, c] - right) / deviation)[near], atol=1e-8)


def test_rows_far_out_in_the_plane_are_not_drawn_to_the_middle():
    pca, model, _ = normal_model()
    usual = chi2.ppf(0.999, 2)
    A = np.array([[0.5], [2.0], [10.0], [50.0]]) * np.sqrt(pca.explained_variance_[0]) * pca.components_[0]
    np.testing.assert_allclose(model.tempered(A), [1.0, 1.0, usual / 100.0, usual / 2500.0])
    np.testing.assert_allclose(model.predicted(A)[1][3], pca.mean_ + A[3], rtol=0.2)
    inside = (pca.components_.T**2 / pca.explained_variance_).sum(axis=1)
    off = 1 - (pca.components_**2).sum(axis=0)
    right = model.tempered(A)[:, None] * inside + off / pca.noise_variance_
    np.testing.assert_allclose(model.diagonals(A), right)
    M = model.precision_columns(np.arange(6), float(model.tempered(A)[2]))
    np.testing.assert_allclose(model.weighed(A)[2], A[2] @ M, atol=1e-10)
    np.testing.assert_allclose(np.diag(M), right[2])


def test_removed_cells_are_judged_without_each_other():
    _, model, _ = normal_model()
    a = X[3] - model.mean
    a[[1, 4]] += 5.0
    z, prediction = model.repaired(a, [1, 4])
    for c, other in ((1, 4), (4, 1)):
        alone = model.without(a, [other])
        assert (z[c], prediction[c]) == (alone[0][c], alone[1][c])
    rest = model.without(a, [1, 4])
    np.testing.assert_array_equal(z[[0, 2, 3, 5]], rest[0][[0, 2, 3, 5]])
    assert not rest[0][[1, 4]].any()


def test_suspects_end_at_the_limit_and_at_their_number():
    _, model, _ = normal_model()
    row = X[3] + 40.0 * np.array([1.0, -1.0, 1.0, 0.0, 0.0, 1.0])
    found = suspect_cells(model, row, 3.0, 3)
    assert len(found) == 3
    z = np.abs(model.without(row - model.mean, [])[0])
    assert found[0] == int(np.argmax(z))
    assert suspect_cells(model, row, 1.01 * z.max(), 3) == []
    assert len(suspect_cells(model, row, 0.0, 99)) == 5  # one cell is left to tell of the others
    pca = PCA(2).fit(X)
    assert len(suspects(pca, row[None], most=1)) == 1
    assert len(suspects(pca, row[None])) >= len(suspects(pca, row[None], level=1 - 1e-12))


def test_the_limit_of_a_row_is_shared_by_its_cells():
    """One row in a thousand has a cell beyond it."""
    assert _limit(1) == pytest.approx(norm.ppf(1 - 0.0005))
    assert _limit(10, 0.95) == pytest.approx(norm.ppf(1 - 0.0025))


def test_components_without_variance_and_planes_without_noise():
    class Flat:
        mean_, components_ = np.zeros(3), np.eye(3)[:2]
        explained_variance_, explained_variance_ratio_ = np.array([4.0, 0.0]), np.array([1.0, 0.0])

    model = RowModel.of(Flat())
    np.testing.assert_array_equal(model.precisions, [0.25, 0.0])
    assert 0 < model.noise.min() <= model.noise.max() < 1e-11
    np.testing.assert_allclose(model.score_parts(np.array([[2.0, 5.0, 1.0]])), [[1.0, 0.0, 0.0]])
    np.testing.assert_allclose(model.residuals(np.array([[2.0, 5.0, 1.0]])), [[0.0, 0.0, 1.0]])
    Flat.explained_variance_, Flat.explained_variance_ratio_ = np.array([4.0, 2.0]), np.array([0.4, 0.2])
    assert RowModel.of(Flat()).noise == pytest.approx(4.0)  # what is left of ten


def unequal_noise(n, d, seed, n_new=400):
    """Contaminated training rows, clean new rows, and the deviations of the noise of each column."""
    X, _, axes = make_contaminated(n, d, 3, fraction=0.2, noise=0.0, random_state=seed)
    rng = np.random.default_rng(seed)
    spread = np.sqrt(rng.uniform(0.25, 1.75, size=d))
    new = (rng.normal(size=(n_new, 3)) * [6, 4.5, 3]) @ axes.T
    return X + spread * rng.normal(size=X.shape), new + spread * rng.normal(size=new.shape), spread, rng


def test_a_faulty_sensor_is_named_first_where_the_noise_of_the_columns_differs():
    hits = []
    for seed in range(15):
        X, new, spread, rng = unequal_noise(300, 100, seed, 40)
        column = rng.integers(100, size=40)
        new[np.arange(40), column] += 5.0 * spread[column] * rng.choice([-1, 1], size=40)
        found = contributions(TL1SubspacePCA(3, random_state=0).fit(X), new)
        hits.append((np.argmax(np.abs(found.cell), axis=1) == column).mean())
    assert np.mean(hits) > 0.95  # 0.86 with the same noise for all columns


@pytest.mark.parametrize("n", [60, 400])
def test_cells_of_new_rows_have_unit_deviations_in_every_column(n):
    squares = []
    for seed in range(15):
        X, new, *_ = unequal_noise(n, 20, seed)
        model = RowModel.of(TL1SubspacePCA(3, random_state=0).fit(X))
        squares.append((model.predicted(new - model.mean)[0] ** 2).mean(axis=0))
    assert np.mean(squares) == pytest.approx(1.0, abs=0.1)
    # Column by column in each draw; a common noise is off by 0.4.
    assert np.std(np.sqrt(squares)) < (0.17 if n == 60 else 0.08)


def test_cells_are_conditional_residuals_where_the_noise_differs():
    X, new, *_ = unequal_noise(200, 8, 0)
    pca = TL1SubspacePCA(3, random_state=0).fit(X)
    model, C = RowModel.of(pca), pca.judging_components_
    assert model.noise.max() > 2 * model.noise.min()
    signal = np.diag(pca.judging_scale_**2) - (C * model.noise) @ C.T
    covariance = C.T @ signal @ C + np.diag(model.noise)
    np.testing.assert_allclose(C @ covariance @ C.T, np.diag(pca.judging_scale_**2), atol=1e-8)
    np.testing.assert_allclose(model.precision_columns(np.arange(8)), np.linalg.inv(covariance), atol=1e-7)
    M = model.precision_columns(np.arange(8))
    near = new[model.tempered(new - model.mean) == 1.0] - model.mean
    np.testing.assert_allclose(model.weighed(near), near @ M, atol=1e-8)
    np.testing.assert_allclose(model.diagonals(near[:1])[0], np.diag(M))


def test_columns_without_noise_and_columns_that_do_not_vary():
    X, new, *_ = unequal_noise(200, 12, 0)
    X[:, 4], new[:, 4] = 7.0, 7.0
    for dtype in (np.float64, np.float32):
        pca = TL1SubspacePCA(3, random_state=0).fit(X.astype(dtype))
        assert pca.noise_ratio_.dtype == dtype
        assert (pca.noise_ratio_ > 0).all()
        assert np.abs(contributions(pca, new.astype(dtype)).cell[:, 4]).max() < 1e-2
    wide = TL1SubspacePCA(3, random_state=0).fit(X[:10])
    assert np.isfinite(contributions(wide, new).cell).all()


@pytest.mark.parametrize("n", [12, 40, 300])
def test_where_nothing_but_rounding_is_left_all_columns_have_the_same_noise(n):
    rng = np.random.default_rng(n)
    plane = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 6))
    for X, k in ((rng.normal(size=(n, 1)), 1), (rng.normal(size=(n, 3)), 3), (plane, 2)):
        pca = TL1SubspacePCA(k).fit(X)
        np.testing.assert_array_equal(pca.noise_ratio_, 1.0)
        found = contributions(pca, X)
        assert np.isfinite(found.cell).all()
        assert np.isfinite(found.expected).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_tables_of_rare_ones(share):
    """Columns judge nobody, rows lie on planes exactly, and components are single columns."""
    for seed in range(8):
        X = (np.random.default_rng(seed).random((40, 6)) < share) * 1.0
        for k in (1, 2, 3):
            pca = TL1SubspacePCA(k).fit(X)
            found = contributions(pca, X)
            assert np.isfinite(found.cell).all()
            assert np.isfinite(found.expected).all()
            for row in X[:8]:
                assert len(suspects(pca, row[None])) <= 5


def test_a_column_that_judges_nobody_is_as_expected():
    """And says nothing of the others: a 0/1 column among measured ones, whatever it holds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(200, 6))
    X[:, 2] = rng.random(200) < 0.3
    pca = TL1SubspacePCA(2).fit(X)
    odd = X[:5].copy()
    odd[:, 2] = [0.0, 1.0, 0.5, -7.0, 1e6]
    odd[3, 4] += 5.0
    found = contributions(pca, odd)
    np.testing.assert_array_equal(found.cell[:, 2], 0.0)
    np.testing.assert_allclose(found.expected[:, 2], odd[:, 2])
    assert [suspect.column for suspect in suspects(pca, odd[3:4])] == ["x4"]
    before = contributions(pca, X[:3]).cell
    np.testing.assert_allclose(found.cell[:3, 3:], before[:, 3:], atol=1e-8)


@pytest.mark.parametrize(("variance", "deviations"), [(0.0, 0.0), (4e18, 0.5)])
def test_a_column_that_is_a_component_is_told_by_its_variance_alone(variance, deviations):
    """What a turn by rounding leaves of it off the plane is no noise."""
    C = np.array([[1.0, 1e-6, 0.0]])
    pca = PCA(1).fit(np.random.default_rng(0).normal(size=(20, 3)))
    pca.mean_, pca.components_, pca.explained_variance_ = np.zeros(3), C, np.array([variance])
    pca.explained_variance_ratio_ = np.array([variance / (variance + 2.0)])
    model = replace(RowModel.of(pca), noise=np.ones(3))
    deviation, expected = model.predicted(np.array([[1e9, 0.0, 0.0]]))
    assert deviation[0, 0] == pytest.approx(deviations, abs=1e-6)
    assert expected[0, 0] == pytest.approx(0.0 if variance else 1e9, abs=1e-3)


def test_noise_that_is_small_beside_the_plane_is_seen_all_the_same():
    """A part in 10^7: the variance off the plane is rounding in the difference of the others."""
    rng = np.random.default_rng(0)
    plane, noise = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 6)), rng.normal(size=(300, 6))
    noise *= [1, 1, 1, 3, 3, 3]
    much, little = (TL1SubspacePCA(2).fit(plane + size * noise).noise_ratio_ for size in (1e-3, 1e-7))
    np.testing.assert_allclose(little, much, rtol=0.01)


def test_a_row_has_at_most_five_suspects():
    """With more of them it is the row that is bad."""
    wide = np.random.default_rng(1).normal(size=(200, 20))
    pca, row = PCA(2).fit(wide), wide[:1].copy()
    row[0, :8] += 50.0 * np.array([1, -1, 1, 1, -1, -1, 1, -1])
    assert len(suspects(pca, row)) == 5
    assert len(suspects(pca, row, most=8)) == 8
