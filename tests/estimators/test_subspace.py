"""TL1SubspacePCA: at the oracle whatever the outliers do."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from support import subspace_angle
from tl1pca import TL1SubspacePCA
from tl1pca.datasets import load_lfw_subset, load_table, make_contaminated, make_toy
from tl1pca.diagnostics import Flag, diagnose, principal_angles
from tl1pca.preprocessing import MADScaler
from tl1pca.solvers.outlyingness import pair_directions

KINDS = ["clean", "cluster", "line", "scattered", "leverage"]


def oracle(X, bad, k):
    return PCA(k).fit(X[~bad]).components_


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fraction", [0.2, 0.4])
@pytest.mark.parametrize("noise", [0.3, 1.0])
@pytest.mark.parametrize("seed", [100, 101])
def test_at_the_oracle(kind, fraction, noise, seed):
    X, bad, axes = make_contaminated(
        1000, 50, 5, kind=kind, fraction=fraction, noise=noise, random_state=seed
    )
    pca = TL1SubspacePCA(5, random_state=seed).fit(X)
    best = subspace_angle(axes.T, oracle(X, bad, 5))
    assert subspace_angle(axes.T, pca.components_) <= 1.2 * best + 0.2
    assert (pca.flags_[~bad] > 0).mean() <= 0.06
    if kind in ("cluster", "scattered", "leverage"):
        assert (pca.flags_[bad] > 0).mean() >= 0.99
        assert (pca.predict(X[bad]) == -1).mean() >= 0.99
    if kind == "leverage":
        assert (pca.flags_[bad] == Flag.GOOD_LEVERAGE).mean() > 0.9
        np.testing.assert_allclose(pca.mean_, X[~bad].mean(axis=0), atol=0.5)


@pytest.mark.parametrize("kind", ["cluster", "scattered"])
def test_wide_data_at_the_oracle(kind):
    X, bad, axes = make_contaminated(200, 1024, 30, kind=kind, fraction=0.3, noise=0.2, random_state=7)
    pca = TL1SubspacePCA(30, random_state=0).fit(X)
    best = subspace_angle(axes.T, oracle(X, bad, 30))
    assert subspace_angle(axes.T, pca.components_) <= 1.1 * best + 0.2
    assert (pca.flags_[bad] > 0).all()
    assert (pca.flags_[~bad] > 0).mean() <= 0.05


def test_many_rows():
    X, bad, axes = make_contaminated(20_000, 30, 3, kind="cluster", fraction=0.4, random_state=3)
    pca = TL1SubspacePCA(3, random_state=0).fit(X)
    assert subspace_angle(axes.T, pca.components_) <= 1.1 * subspace_angle(axes.T, oracle(X, bad, 3)) + 0.2
    assert (pca.flags_[bad] > 0).all()
    assert (pca.flags_[~bad] > 0).mean() <= 0.05


@pytest.mark.parametrize(
    ("name", "columns", "k", "rows", "exactly"),
    [
        ("octane.csv.gz", None, 2, [3, 7, 25, 26, 36, 37, 38, 39], True),
        ("hbk.csv", 3, 2, list(range(1, 15)), True),
        ("starsCYG.csv", 2, 1, [11, 20, 30, 34], False),
        ("wood.csv", 5, 3, [4, 6, 8, 19], True),
    ],
)
def test_real_data(data_home, name, columns, k, rows, exactly):
    table, header = load_table(name, data_home)
    if columns is None:
        X = table[:, [i for i, column in enumerate(header) if column not in ("y", "outlier")]]
    else:
        X = table[:, :columns]
    flagged = (np.flatnonzero(TL1SubspacePCA(k).fit(X).flags_) + 1).tolist()
    assert flagged == rows if exactly else set(rows) <= set(flagged)


@pytest.mark.parametrize("draw", range(3))
def test_pictures_that_are_not_faces(draw):
    feature = pytest.importorskip("skimage.feature", reason="scikit-image brings the pictures")
    pixels, label = load_lfw_subset()
    X = np.stack(
        [feature.hog(p.reshape(25, 25), 8, pixels_per_cell=(5, 5), cells_per_block=(2, 2)) for p in pixels]
    )
    faces, others = X[label == 1], X[label == 0]
    mixed = np.vstack([faces, others[np.random.RandomState(draw).permutation(len(others))[:20]]])
    robust, classical = TL1SubspacePCA(10, random_state=0).fit(mixed), PCA(10).fit(mixed)

    def off(pca):
        return np.linalg.norm(faces - pca.inverse_transform(pca.transform(faces)), axis=1).mean()

    assert (robust.flags_[100:] > 0).mean() >= 0.95
    assert (robust.flags_[:100] > 0).mean() <= 0.05
    assert off(robust) < 0.96 * off(classical)


class TestEquivariance:
    X, bad, axes = make_contaminated(150, 8, 2, fraction=0.3, random_state=5)
    pca = TL1SubspacePCA(2, random_state=0).fit(X)

    @pytest.mark.parametrize("unit", [1e-6, 37.0, 1e8])
    def test_scale(self, unit):
        other = TL1SubspacePCA(2, random_state=0).fit(unit * self.X)
        assert subspace_angle(other.components_, self.pca.components_) < 1e-6
        np.testing.assert_allclose(other.mean_, unit * self.pca.mean_, rtol=1e-6, atol=unit * 1e-9)
        np.testing.assert_array_equal(other.flags_, self.pca.flags_)
        assert other.scale_ == pytest.approx(unit * self.pca.scale_, rel=1e-8)

    def test_translation(self):
        other = TL1SubspacePCA(2, random_state=0).fit(self.X + np.arange(8.0))
        assert subspace_angle(other.components_, self.pca.components_) < 1e-6
        np.testing.assert_allclose(other.mean_ - self.pca.mean_, np.arange(8.0), atol=1e-8)

    def test_rotation(self):
        Q = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]
        other = TL1SubspacePCA(2, random_state=0).fit(self.X @ Q)
        assert subspace_angle(other.components_ @ Q.T, self.pca.components_) < 1e-6
        np.testing.assert_array_equal(other.flags_, self.pca.flags_)


def test_a_group_far_out_inside_the_plane_stays_in_the_fit():
    """A third of iris is a group beyond a gap; it lies in the plane of the others."""
    X = load_iris().data
    pca = TL1SubspacePCA(2).fit(X)
    assert principal_angles(PCA(2).fit(X), pca).max() < 3.0
    assert (pca.flags_ > 0).mean() < 0.1


@pytest.mark.parametrize("shape", [(80, 150), (80, 40)])
def test_three_in_ten_rows_that_are_all_zero_are_found(shape):
    """Failed reads. The rows are the same, but in coordinates of their span they differ by rounding."""
    rng = np.random.default_rng(0)
    X = 5.0 + rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1])) + rng.normal(size=shape)
    bad = np.isin(np.arange(80), rng.permutation(80)[:24])
    X[bad] = 0.0
    pca = TL1SubspacePCA(3).fit(X)
    assert (pca.flags_[bad] > 0).all()
    assert (pca.flags_[~bad] > 0).mean() < 0.1
    assert principal_angles(PCA(3).fit(X[~bad]), pca).max() < 5.0


def test_pairs_of_rows():
    X = np.random.default_rng(0).normal(size=(200, 5))
    assert len(pair_directions(X[:30], 250)) == 30 * 29 // 2  # all of them
    some = pair_directions(X, 250)
    assert len(np.unique(some.round(12), axis=0)) == 250
    assert np.linalg.matrix_rank(some) == 5


def test_no_seed_changes_the_result_of_not_too_many_rows():
    X = make_contaminated(200, 10, 2, fraction=0.4, noise=2.0, distance=12.0, random_state=3)[0]
    first = TL1SubspacePCA(2).fit(X)
    for seed in (1, 2, None):
        other = TL1SubspacePCA(2, random_state=seed).fit(X)
        np.testing.assert_array_equal(other.components_, first.components_)
        np.testing.assert_array_equal(other.flags_, first.flags_)


@pytest.mark.parametrize("n", [1500, 20_000])
def test_another_draw_of_rows_or_pairs_finds_the_same(n, monkeypatch):
    X, bad, _ = make_contaminated(n, 20, 3, fraction=0.4, random_state=0)
    first = TL1SubspacePCA(3).fit(X)
    for seed in (1, 2, 3):
        monkeypatch.setattr("tl1pca.solvers.outlyingness.DRAW", seed)
        other = TL1SubspacePCA(3, random_state=seed).fit(X)
        assert subspace_angle(first.components_, other.components_) <= 0.15
        assert np.array_equal(other.predict(X[bad]), first.predict(X[bad]))


@pytest.mark.parametrize(("k", "share"), [(1, 0.6), (2, 0.55), (3, 0.7)])
def test_exact_fit(k, share):
    rng = np.random.default_rng(k)
    n, d = 80, 6
    basis = np.linalg.qr(rng.normal(size=(d, k)))[0]
    X = rng.normal(size=(n, k)) @ basis.T + 3.0
    wild = rng.permutation(n)[: int((1 - share) * n)]
    X[wild] = 50 * rng.normal(size=(len(wild), d)) + 20
    pca = TL1SubspacePCA(k, random_state=0).fit(X)
    assert subspace_angle(basis.T, pca.components_) < 1e-5
    assert pca.scale_ == pytest.approx(0.0, abs=1e-8)
    assert (pca.flags_[wild] > 0).all()


class TestDimension:
    X = make_contaminated(400, 12, 3, fraction=0.3, noise=0.1, random_state=1)[0]

    def test_none_takes_what_80_percent_needs(self):
        pca = TL1SubspacePCA(random_state=0).fit(self.X)
        assert pca.n_components_ in (2, 3)

    def test_share(self):
        assert TL1SubspacePCA(0.5, random_state=0).fit(self.X).n_components_ < 3
        assert TL1SubspacePCA(0.98, random_state=0).fit(self.X).n_components_ == 3


class TestDetector:
    X, bad, axes = make_contaminated(300, 10, 2, fraction=0.2, random_state=2)
    pca = TL1SubspacePCA(2, random_state=0).fit(X)

    def test_predict_is_the_sign_of_the_decision_and_the_flags(self):
        decision = self.pca.decision_function(self.X)
        np.testing.assert_array_equal(self.pca.predict(self.X), np.where(decision < 0, -1, 1))
        np.testing.assert_array_equal(self.pca.predict(self.X) == -1, self.pca.flags_ > 0)

    def test_distances_of_the_training_rows(self):
        sd, od = self.pca.distances(self.X)
        np.testing.assert_allclose(sd, self.pca.score_distances_)
        np.testing.assert_allclose(od, self.pca.orthogonal_distances_, atol=1e-10)
        found = diagnose(self.pca, self.X)
        np.testing.assert_array_equal(found.flags, self.pca.flags_)

    def test_bad_rows_have_no_weight(self):
        assert not self.pca.weights_[self.bad].any()
        assert self.pca.weights_[~self.bad].mean() > 0.95

    def test_without_reweighting(self):
        soft = TL1SubspacePCA(2, reweight=False, random_state=0).fit(self.X)
        assert principal_angles(soft, self.pca)[0] < 3
        assert len(np.unique(soft.weights_)) > 10

    def test_path_of_the_scale_goes_down(self):
        path = self.pca.objective_path_[0]
        assert (np.diff(path) <= 0).all()
        assert self.pca.scale_ == path[-1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"breakdown": 0.0}, "breakdown"),
        ({"breakdown": 0.7}, "breakdown"),
        ({"n_directions": 0}, "n_directions"),
        ({"reweight": "yes"}, "reweight"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        TL1SubspacePCA(**parameters).fit(np.eye(4))


def test_fit_predict_is_fit_and_predict():
    X, bad, _ = make_contaminated(200, 10, 2, fraction=0.2)
    pca = TL1SubspacePCA(2)
    labels = pca.fit_predict(X)
    np.testing.assert_array_equal(labels, np.where(pca.flags_ > 0, -1, 1))
    assert (labels[bad] == -1).all()
    pipeline = make_pipeline(MADScaler(), TL1SubspacePCA(2))
    np.testing.assert_array_equal(pipeline.fit_predict(X), pipeline.fit(X).predict(X))


def test_flags_of_wine_do_not_change_from_call_to_call():
    X = load_wine().data
    flags = [TL1SubspacePCA().fit(X).flags_ for _ in range(5)]
    assert all((other == flags[0]).all() for other in flags)
    assert (make_contaminated(50, 4, 2)[0] == make_contaminated(50, 4, 2)[0]).all()
    assert (make_toy()[0] == make_toy()[0]).all()


@pytest.mark.parametrize("unit", [1e-25, 1e19, 1e24])
def test_rows_in_single_precision_are_judged_in_any_units(unit):
    """Densities per cubic meter: their variances are beyond the numbers of single precision."""
    X, bad, _ = make_contaminated(200, 8, 2, kind="leverage", fraction=0.2, random_state=0)
    rows = (X * unit).astype(np.float32)
    pca = TL1SubspacePCA(2).fit(rows)
    np.testing.assert_array_equal(pca.predict(rows) == -1, pca.flags_ > 0)
    assert (pca.flags_[bad] > 0).all()
