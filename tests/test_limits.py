import numpy as np
import pytest
from scipy.stats import beta, f
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tl1pca
from tl1pca import TL1PCA, TL1SubspacePCA
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import diagnose, distances, limits, monitor, orthogonal_limit


def draw(n, d, seed, k=3, unequal=False, **options):
    noise = 0.0 if unequal else 1.0
    X, bad, axes = make_contaminated(n, d, k, fraction=0.2, noise=noise, random_state=seed, **options)
    rng = np.random.default_rng(seed)
    spread = np.sqrt(rng.uniform(0.25, 1.75, size=d)) if unequal else 1.0
    if unequal:
        X = X + spread * rng.normal(size=X.shape)
    new = (rng.normal(size=(1000, k)) * np.linspace(6, 3, k)) @ axes.T + spread * rng.normal(size=(1000, d))
    return X, bad, new


@pytest.mark.parametrize(
    ("n", "d", "unequal"),
    [(50, 10, False), (100, 50, False), (100, 200, False), (50, 200, False), (50, 200, True)],
)
def test_new_clean_rows_exceed_the_limits_as_often_as_they_say(n, d, unequal):
    shares = []
    for seed in range(30):
        X, _, new = draw(n, d, seed, unequal=unequal)
        pca = TL1SubspacePCA(3, random_state=0).fit(X)
        bounds = limits(pca, 0.99)
        sd, od = distances(new, pca)
        shares.append(((sd > bounds.score).mean(), (od > orthogonal_limit(sd, bounds)).mean()))
    score, orthogonal = 100 * np.mean(shares, axis=0)
    assert 0.4 < score < 1.6
    assert 0.5 < orthogonal < 1.5


def test_the_directions_of_the_noise_are_kept_or_counted_from_the_rows():
    X, bad, _ = draw(300, 40, 0, unequal=True)
    pca = TL1SubspacePCA(3, random_state=0).fit(X)
    variances = np.random.default_rng(0).uniform(0.25, 1.75, size=40)
    want = (variances.sum() ** 2 / (variances**2).sum()) * 37 / 40
    assert pca.noise_dimension_ == pytest.approx(want, rel=0.05)
    assert limits(PCA(3).fit(X[~bad]), X=X[~bad]).orthogonal == pytest.approx(
        limits(pca).orthogonal, rel=0.03
    )


def test_training_rows_have_limits_of_their_own():
    shares = []
    for seed in range(20):
        X, bad, _ = draw(150, 10, seed)
        pca = TL1SubspacePCA(3, random_state=0).fit(X)
        bounds = limits(pca, 0.95, "training")
        assert bounds.orthogonal < limits(pca, 0.95).orthogonal
        sd, od = pca.score_distances_[~bad], pca.orthogonal_distances_[~bad]
        shares.append(((sd > bounds.score).mean(), (od > bounds.orthogonal).mean()))
    assert np.mean(shares, axis=0) == pytest.approx(0.05, abs=0.012)


def test_the_laws_behind_the_score_limits():
    X = np.random.default_rng(0).normal(size=(4000, 6)) * [9, 7, 0.1, 0.1, 0.1, 0.1]
    pca = TL1SubspacePCA(2, random_state=0).fit(X)
    n = int((pca.weights_ > 0).sum())
    want = np.sqrt((n - 1) ** 2 / n * beta.ppf(0.99, 1, (n - 3) / 2))
    assert limits(pca, 0.99, "training").score == pytest.approx(want)
    want = np.sqrt(2 * (n**2 - 1) / (n * (n - 2)) * f.ppf(0.99, 2, n - 2))
    assert limits(pca, 0.99).score == pytest.approx(want, rel=1e-3)


def test_dirty_training_rows_do_not_widen_the_limits():
    X, bad, _ = draw(200, 10, 0)
    dirty = limits(TL1SubspacePCA(3, random_state=0).fit(X))
    clean = limits(TL1SubspacePCA(3, random_state=0).fit(X[~bad]))
    assert dirty.orthogonal == pytest.approx(clean.orthogonal, rel=0.05)
    classical = PCA(3).fit(X)
    assert limits(classical, X=X).orthogonal > 1.3 * clean.orthogonal


def test_other_estimators_need_the_training_rows():
    X = make_contaminated(200, 8, 2, kind="clean", random_state=0)[0]
    for pca in (TL1PCA(2, a=1.0).fit(X), PCA(2).fit(X)):
        with pytest.raises(ValueError, match=f"{type(pca).__name__} keeps no distances"):
            limits(pca)
        sd, od = distances(X, pca)
        bounds = limits(pca, 0.975, X=X)
        assert (sd > bounds.score).mean() < 0.06
        assert 0.0 < (od > bounds.orthogonal).mean() < 0.06


def test_a_pipeline_and_a_model_file_have_the_same_limits(tmp_path):
    X = make_contaminated(200, 8, 2, random_state=0)[0]
    pipe = make_pipeline(StandardScaler(), TL1SubspacePCA(2, random_state=0)).fit(X)
    assert limits(pipe) == limits(pipe[-1])
    tl1pca.save(pipe[-1], tmp_path / "m.npz")
    assert limits(tl1pca.load(tmp_path / "m.npz")) == limits(pipe[-1])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"level": 0.3}, "level must be"), ({"level": 1.0}, "level must be"), ({"kind": "old"}, "kind must be")],
)
def test_errors(options, message):
    pca = TL1SubspacePCA(2, random_state=0).fit(np.random.default_rng(0).normal(size=(40, 5)))
    with pytest.raises(ValueError, match=message):
        limits(pca, **options)


def test_too_few_rows():
    pca = TL1SubspacePCA(3, random_state=0).fit(np.random.default_rng(0).normal(size=(5, 6)))
    with pytest.raises(ValueError, match="too few for limits"):
        limits(pca)


def test_exact_planes_have_a_limit_of_zero():
    X = np.random.default_rng(0).normal(size=(40, 2)) @ np.eye(2, 4)
    assert limits(TL1SubspacePCA(2, random_state=0).fit(X)).orthogonal < 1e-6


def test_units_do_not_matter():
    X = make_contaminated(100, 8, 2, random_state=0)[0]
    one, large = (limits(TL1SubspacePCA(2, random_state=0).fit(scale * X)) for scale in (1.0, 1e6))
    assert large.orthogonal == pytest.approx(1e6 * one.orthogonal, rel=1e-6)
    assert large.score == pytest.approx(one.score, rel=1e-6)


# ---------------------------------------------------------------- monitoring
def test_monitor_flags_bad_rows_and_sees_runs():
    X, _, new = draw(200, 10, 0)
    pca = TL1SubspacePCA(3, random_state=0).fit(X)
    new = new[:60]
    new[20] += 20.0
    away = np.linalg.svd(pca.components_)[2][-1]
    new[40:50] += 3.2 * away
    found = monitor(pca, new)
    assert found.flags[20] > 0
    assert found.runs[41:50].any()
    assert found.warnings.orthogonal < found.limits.orthogonal
    np.testing.assert_array_equal(found.flags, diagnose_with(pca, new, found.limits))
    # By the definition, row by row.
    near = found.orthogonal_distances > orthogonal_limit(found.score_distances, found.warnings)
    far = found.score_distances > found.warnings.score
    for i in range(60):
        want = any(chart[i] and chart[max(i - 2, 0) : i].any() for chart in (near, far))
        assert found.runs[i] == want


def diagnose_with(pca, X, bounds):
    from tl1pca.diagnostics import flags

    found = diagnose(pca, X)
    return flags(found.score_distances, found.orthogonal_distances, bounds)
