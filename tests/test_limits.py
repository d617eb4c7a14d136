from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta, chi2, f
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tl1pca
from tl1pca import TL1PCA, TL1CellPCA, TL1SubspacePCA
from tl1pca import _limits as parts
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
        sd, od = distances(pca, new)
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
        sd, od = distances(pca, X)
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


# ---------------------------------------------------------------- the parts of the model
N, D = 40, 25


def training(variances, sd=None, od=None, fitted=None, n_features=D, noise_dimension=20.0):
    zeros = np.zeros(N)
    return parts.Training(
        zeros if sd is None else sd,
        zeros if od is None else od,
        np.ones(N, dtype=bool) if fitted is None else fitted,
        np.asarray(variances, dtype=float),
        n_features,
        noise_dimension,
    )


def spiked(e, s, k):
    """Fitted variances and squared cosines of signals e in noise s (Paul, 2007)."""
    g = (D - k) / (N - 1)
    return (e + s) * (1 + g * s / e), (1 - g * (s / e) ** 2) / (1 + g * s / e)


@pytest.mark.parametrize("s", [0.01, 1.0, 3.0])
def test_signals_are_found_behind_the_variances_that_noise_makes_of_them(s):
    e = np.array([50.0, 8.0, 4.0])
    fitted, cosines = spiked(e, s, 3)
    found = parts.spikes_of(training(fitted), s * (D - 3))
    np.testing.assert_allclose(found.signal, e)
    np.testing.assert_allclose(found.cosines, cosines)
    np.testing.assert_allclose(found.variances, e * cosines + s)
    assert (found.noise, found.n_off, found.n_rows) == (pytest.approx(s), D - 3, N)
    assert found.seen == pytest.approx(((e * cosines + s) / fitted).sum())
    assert found.tilt == pytest.approx((e * (1 - cosines)).sum() / (s * (D - 3)))
    assert found.absorbed == pytest.approx((1 + s / e).sum() / (N - 1))


def test_components_of_noise_have_no_direction():
    g = (D - 1) / (N - 1)
    edge = (1 + np.sqrt(g)) ** 2  # the largest variance of noise alone
    below, above = (parts.spikes_of(training([x * edge]), D - 1.0) for x in (0.99, 1.01))
    assert below.cosines.tolist() == [0.0]
    np.testing.assert_allclose(below.signal, np.sqrt(g))
    assert 0 < above.cosines[0] < 0.3
    assert above.signal[0] > np.sqrt(g)


def test_planes_without_noise_or_without_room_for_it():
    for fit, mean in ((training([4.0, 1.0, 0.0]), 0.0), (training([4.0, 1.0], n_features=2), 3.0)):
        found = parts.spikes_of(fit, mean)
        assert found.signal.tolist() == found.fitted.tolist() == [4.0, 1.0]
        assert (found.cosines.tolist(), found.noise) == ([1.0, 1.0], 0.0)
        assert found.tilt == found.absorbed == 0.0
        assert found.seen == 2.0
    assert parts.spikes_of(training([4.0, 1.0, 0.0]), 0.0).n_off == D - 3


def test_no_more_than_half_of_the_noise_is_absorbed():
    found = parts.Spikes(np.ones(1), np.array([0.01]), np.zeros(1), 1.0, 5, 10)
    assert found.absorbed == 0.5


def test_rows_that_are_drawn_have_the_moments_of_the_model():
    e = np.array([50.0, 8.0])
    spikes = parts.spikes_of(training(spiked(e, 1.0, 2)[0]), D - 2.0)
    spread = spikes.spreads(4000)
    # One over chi-square(n - q)/(n - 1), the mean of which is (n - 1)/(n - q - 2).
    assert spread.mean() == pytest.approx((N - 1) / (N - 2 - 2), rel=1e-2)
    assert (1 / spread).mean() == pytest.approx((N - 2) / (N - 1), rel=1e-3)
    squares, off = spikes.new_rows(4000)
    signal = e * spread.mean()
    assert squares.mean() == pytest.approx(((signal * spikes.cosines + 1.0) / spikes.fitted).sum(), rel=0.05)
    assert off.mean() == pytest.approx((signal * (1 - spikes.cosines)).sum() / (D - 2), rel=0.05)
    assert len(spikes.new_rows()[0]) == 512


def test_stretches_of_rows_in_the_fit_and_of_others():
    sd = np.linspace(0.0, 4.0, N)
    fitted = np.arange(N) % 4 > 0
    fit = training([60.0, 10.0], sd=sd, fitted=fitted)
    spikes = parts.spikes_of(fit, D - 2.0)
    n = fitted.sum()
    leverage = 1 / n + sd**2 * spikes.absorbed / (sd[fitted] ** 2).mean()
    lengthened = 1 + 1 / n + sd**2 * spikes.tilt / spikes.seen
    np.testing.assert_allclose(parts.stretches(fit, spikes), np.where(fitted, 1 - leverage, lengthened))
    # A row of all the leverage there is, and scores without any length.
    far = parts.stretches(training([60.0, 10.0], sd=np.append(1e3, np.full(N - 1, 0.1))), spikes)
    assert far[0] == pytest.approx(0.5 / N)
    np.testing.assert_allclose(parts.stretches(training([60.0, 10.0]), spikes), 1 - 1 / N)


@pytest.mark.parametrize("dof", [1.0, 5.0, 40.0])
def test_the_truncated_law(dof):
    edge = chi2.ppf(0.995, dof) / dof
    mean, square = (chi2.expect(lambda x, p=p: (x / dof) ** p, (dof,), ub=edge * dof) / 0.995 for p in (1, 2))
    assert parts._truncated(dof) == pytest.approx((edge, mean, square / mean**2 - 1), rel=1e-6)


def test_degrees_of_freedom_of_a_variance():
    def log_ratio(dof):
        return np.log(parts._truncated(dof)[2] / parts._truncated(20.0)[2])

    usual, n = parts._truncated(20.0)[2], 50
    assert parts._dof_of_variance(0.5 * usual, 20.0, n) == 20.0
    assert parts._dof_of_variance(usual * np.exp(0.99 * np.sqrt(2 / n)), 20.0, n) == 20.0
    assert parts._dof_of_variance(usual * np.exp(1.01 * np.sqrt(2 / n)), 20.0, n) < 20.0
    # What chance adds to the logarithm is taken off its square.
    assert log_ratio(parts._dof_of_variance(usual * np.exp(0.8), 20.0, n)) == pytest.approx(
        0.8 - 2 / (n * 0.8)
    )
    assert parts._dof_of_variance(parts._truncated(7.0)[2], 20.0, 10**9) == pytest.approx(7.0)
    assert parts._dof_of_variance(100.0, 20.0, n) == 1.0


def test_noise_of_rows_on_the_plane():
    od = np.zeros(N)
    assert parts.noise_of(training([4.0], od=od)) == parts.Noise(0.0, 20.0)
    od[:2] = 1.0
    assert parts.noise_of(training([4.0], od=od)).mean == 0.0
    od[2] = 1.0
    assert parts.noise_of(training([4.0], od=od)).mean > 0.0


def test_the_size_of_the_noise_is_that_of_the_law():
    """Distances at the quantiles of their law, of a plane with a signal so strong that it is known."""
    h, mean = 20.0, 7.0
    squares = mean * chi2.ppf((np.arange(N) + 0.5) / N, h) / h
    fit = training([1e9], sd=np.ones(N), od=np.sqrt(squares * (1 - 1 / N - 1 / (N - 1))))
    found = parts.noise_of(fit)
    assert found.dof == h
    assert found.mean == pytest.approx(mean, rel=0.02)
    beyond = training([1e9], sd=np.ones(N), od=np.append(fit.orthogonal_distances[1:], 50.0))
    assert parts.noise_of(beyond).mean == pytest.approx(mean, rel=0.05)  # no row of the model


def test_limits_of_planes_that_are_all_but_known():
    """Of noise so small or of a signal so strong that nothing is tilted, the laws are plain."""
    fit = training([1e12, 1e12], sd=np.ones(N))
    noise = parts.Noise(0.5, 20.0)
    squares = np.sqrt(2 * (N**2 - 1) / (N * (N - 2)) * f.ppf(0.95, 2, N - 2))
    assert parts.score_limit(fit, noise, 0.95, True) == pytest.approx(squares, rel=1e-2)
    beta_limit = np.sqrt((N - 1) ** 2 / N * beta.ppf(0.95, 1, (N - 3) / 2))
    assert parts.score_limit(fit, noise, 0.95, False) == pytest.approx(beta_limit)
    for size in (1e-9, 1.0, 1e9):
        other = replace(fit, variances=size**2 * fit.variances)
        limit = parts.orthogonal_limit(other, parts.Noise(0.5 * size**2, 20.0), 0.95, True)
        assert limit == pytest.approx(size * parts.orthogonal_limit(fit, noise, 0.95, True), rel=1e-6)
    # Rows of the fit have lost one degree of freedom to the mean and two to the plane.
    inside = parts.orthogonal_limit(fit, noise, 0.95, False)
    assert inside**2 == pytest.approx(0.5 * chi2.ppf(0.95, 20) / 20 * (1 - 3 / N), rel=0.01)
    outside = parts.orthogonal_limit(fit, noise, 0.95, True)
    assert outside**2 == pytest.approx(0.5 * f.ppf(0.95, 20, 20 * N) * (1 + 1 / N), rel=0.01)
    assert parts.orthogonal_limit(fit, parts.Noise(0.0, 20.0), 0.95, True) == 0.0


def test_components_with_next_to_no_variance_beside_the_noise_have_limits():
    """A table in single precision that has one direction, fitted with as many components as columns."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        pca = TL1CellPCA(8).fit((rng.normal(size=(12, 1)) @ rng.normal(size=(1, 8))).astype(np.float32))
        for kind in ("new", "training"):
            found = limits(pca, 0.99, kind)
            assert 0 < found.score < np.inf
            assert 0 < found.orthogonal < np.inf


@pytest.mark.parametrize("place", [1e-30, 3.0, 1e12, 1e30])
def test_where_a_function_falls_through_zero(place):
    assert parts._crossing(lambda c: 1.0 - c / place, 1e-3, 1e4) == pytest.approx(place)


def test_scores_of_too_few_rows_or_of_no_variance_have_no_limit():
    few = np.arange(N) < 4
    assert (
        parts.score_limit(training([3.0, 2.0, 1.0], fitted=few), parts.Noise(1.0, 9.0), 0.9, True) == np.inf
    )
    assert parts.score_limit(training([3.0, 2.0], fitted=few), parts.Noise(1.0, 9.0), 0.9, True) < np.inf
    assert parts.score_limit(training([0.0]), parts.Noise(1.0, 9.0), 0.9, True) == np.inf
