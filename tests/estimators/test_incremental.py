"""Streams: bad rows, changes, cuts, files, and what is refused."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

import tl1pca
from support import Sliced, subspace_angle
from tl1pca import IncrementalTL1PCA, TL1CellPCA, TL1SubspacePCA
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import limits

D, K = 30, 3


def basis(seed=0):
    """Axes of a stream, as many others, and a direction off both."""
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(D, 2 * K + 1)))[0]
    return Q[:, :K], Q[:, K : 2 * K], Q[:, -1]


def rows(rng, n, axes, center=0.0):
    return (rng.normal(size=(n, K)) * [6.0, 5.0, 4.0]) @ axes.T + rng.normal(size=(n, D)) + center


def junk(rng, n, off):
    return 20.0 * off + rng.normal(size=(n, D))


def error(pca, axes):
    return subspace_angle(pca.components_, axes.T)


def in_batches(pca, X, size):
    for start in range(0, len(X), size):
        pca.partial_fit(X[start : start + size])
    return pca


def arranged(X, bad, where):
    """Bad rows anywhere, in bursts of 200, or first."""
    wrong, right = np.flatnonzero(bad), np.flatnonzero(~bad)
    order = np.arange(len(X))
    if where == "start":
        order = np.r_[wrong, right]
    elif where == "bursts":
        parts = [part[i : i + 200] for part in (wrong, right) for i in range(0, len(part), 200)]
        order = np.concatenate([parts[i] for i in np.random.default_rng(0).permutation(len(parts))])
    return X[order], bad[order]


@pytest.mark.parametrize("kind", ["clean", "cluster", "line", "scattered"])
@pytest.mark.parametrize("fraction", [0.2, 0.4])
@pytest.mark.parametrize("where", ["spread", "bursts", "start"])
def test_as_good_as_the_batch_fit(kind, fraction, where):
    X, bad, axes = make_contaminated(4000, D, K, kind=kind, fraction=fraction, random_state=1)
    X, bad = arranged(X, bad, where)
    pca = in_batches(IncrementalTL1PCA(K), X, 250)
    whole = TL1SubspacePCA(K).fit(X)
    assert error(pca, axes) <= 1.1 * error(whole, axes) + 0.2
    flagged = pca.predict(X) == -1
    assert flagged[~bad].mean() <= 0.05
    if kind == "line":  # rows of a line that happen to be near its middle are regular ones
        assert flagged[bad].mean() >= (whole.predict(X[bad]) == -1).mean() - 0.02
    elif bad.any():
        assert flagged[bad].mean() >= 0.99
    if bad.any() and kind != "line" and where == "spread":
        assert pca.n_rejected_ >= 0.95 * bad.sum()


def test_a_start_of_bad_rows_alone_is_outvoted():
    rng, (axes, _, off) = np.random.default_rng(0), basis()
    pca = IncrementalTL1PCA(K).partial_fit(junk(rng, 600, off))
    assert error(pca, axes) > 60
    in_batches(pca, rows(rng, 2000, axes), 100)
    assert error(pca, axes) < 4


def test_a_model_so_wide_that_good_rows_fit_in_is_found_out():
    """Rows along a line off the subspace come first: good ones lie within their limits."""
    rng, (axes, _, off) = np.random.default_rng(0), basis()
    line = rows(rng, 500, axes) + np.outer(rng.normal(0, 20, size=500), off)
    pca = in_batches(IncrementalTL1PCA(K), np.vstack([line, rows(rng, 3000, axes)]), 250)
    assert error(pca, axes) < 4
    assert error(PCA(K).fit(np.vstack([line, rows(rng, 3000, axes)])), axes) > 60


class TestChange:
    FORGET = 0.999
    MEMORY = 1000

    def after(self, axes, center=0.0, seed=1):
        """Error of PCA with the same forgetting of good rows alone."""
        X = rows(np.random.default_rng(seed), 6 * self.MEMORY, axes, center)
        w = self.FORGET ** np.arange(len(X) - 1, -1, -1.0)
        w /= w.sum()
        return subspace_angle(
            np.linalg.svd((X - w @ X) * np.sqrt(w)[:, None], full_matrices=False)[2][:K], axes.T
        )

    @pytest.fixture
    def stream(self):
        rng, (axes, others, off) = np.random.default_rng(2), basis()
        X = rows(rng, 3 * self.MEMORY, axes)
        X[::5] = junk(rng, len(X[::5]), off)
        return rng, axes, others, off, in_batches(IncrementalTL1PCA(K, forget=self.FORGET), X, 100)

    @pytest.mark.parametrize("inside", [False, True])
    def test_shift(self, stream, inside):
        rng, axes, others, off, pca = stream
        center = 40 * axes[:, 0] if inside else 15 * others[:, 0]
        X = rows(rng, 2 * self.MEMORY + 300 + 100, axes, center)
        X[::5] = junk(rng, len(X[::5]), off)
        in_batches(pca, X, 100)
        np.testing.assert_allclose(pca.mean_, center, atol=1.0)
        assert error(pca, axes) <= 1.5 * self.after(axes, center)

    def test_rotation(self, stream):
        rng, axes, others, _, pca = stream
        turned = np.cos(np.pi / 6) * axes + np.sin(np.pi / 6) * others
        best = self.after(turned)
        in_batches(pca, rows(rng, int(self.MEMORY * np.log(60 / best)) + 100, turned), 100)
        assert error(pca, turned) <= 1.5 * best

    def test_a_slow_drift_is_followed(self, stream):
        rng, axes, others, _, pca = stream
        for degrees in np.arange(0, 10, 0.1):  # a tenth of a degree every fiftieth of the memory
            angle = np.radians(degrees)
            now = np.column_stack([np.cos(angle) * axes[:, 0] + np.sin(angle) * others[:, 0], axes[:, 1:]])
            pca.partial_fit(rows(rng, self.MEMORY // 50, now))
        assert error(pca, now) < 5 + self.after(now)  # five degrees in a memory

    def test_a_burst_is_not(self, stream):
        rng, axes, _, off, pca = stream
        before = error(pca, axes)
        X = rows(rng, int(0.8 * self.MEMORY), axes)
        X[::2] = junk(rng, len(X[::2]), off)
        for start in range(0, len(X), 100):
            pca.partial_fit(X[start : start + 100])
            assert error(pca, axes) < before + 2

    def test_the_scale_does_not_shrink(self):
        axes = basis()[0]
        X = rows(np.random.default_rng(0), 20_000, axes)
        pca = IncrementalTL1PCA(K, forget=0.998).fit(X)
        whole = TL1SubspacePCA(K).fit(X)
        np.testing.assert_allclose(pca.explained_variance_, whole.explained_variance_, rtol=0.2)
        assert pca.cutoffs_.orthogonal == pytest.approx(whole.cutoffs_.orthogonal, rel=0.03)
        assert 0.01 < (pca.predict(X) == -1).mean() < 0.04
        assert pca.n_rejected_ < 0.03 * len(X)


@pytest.mark.parametrize("forget", [1.0, 0.999])
def test_what_is_kept_does_not_grow(forget):
    def size(pca):
        return sum(value.nbytes for value in vars(pca).values() if hasattr(value, "nbytes"))

    X = make_contaminated(12_000, D, K, fraction=0.3, random_state=0)[0]
    pca = in_batches(IncrementalTL1PCA(K, forget=forget), X[:2000], 250)
    early = size(pca)
    assert size(in_batches(pca, X[2000:], 250)) == early


class TestCuts:
    X = make_contaminated(1700, D, K, fraction=0.3, random_state=0)[0]

    def test_how_a_stream_is_cut_makes_no_difference(self):
        whole = IncrementalTL1PCA(K).partial_fit(self.X)
        for size in (1, 37, 400):
            pca = in_batches(IncrementalTL1PCA(K), self.X, size)
            np.testing.assert_array_equal(pca.components_, whole.components_)
            np.testing.assert_array_equal(pca.models_counts_, whole.models_counts_)
            assert pca.n_samples_seen_ + pca.n_pending_ == len(self.X)

    @pytest.mark.parametrize(("forget", "block"), [(1.0, 150), (0.999, 100), (0.9995, 150)])
    def test_blocks_end_at_multiples_of_their_size(self, forget, block):
        pca = IncrementalTL1PCA(K, forget=forget, warm_up=240)
        for start in range(0, 1500, block):
            pca.partial_fit(self.X[start : start + block])
            if start >= 240:
                assert (pca.n_pending_, pca.n_samples_seen_) == (0, start + block)

    def test_sizes_of_blocks_hardly_do(self):
        first, second = (IncrementalTL1PCA(K, batch_size=b).fit(self.X) for b in (50, 500))
        assert subspace_angle(first.components_, second.components_) < 1.0

    def test_few_rows_are_the_batch_fit(self):
        pca, whole = IncrementalTL1PCA(K).fit(self.X[:200]), TL1SubspacePCA(K).fit(self.X[:200])
        np.testing.assert_array_equal(pca.components_, whole.components_)
        np.testing.assert_array_equal(pca.explained_variance_, whole.explained_variance_)

    @pytest.mark.parametrize("waiting", [0, 60])
    def test_a_stop_in_between_gives_the_same_bits(self, waiting, tmp_path):
        pca = in_batches(IncrementalTL1PCA(K, forget=0.999), self.X[: 900 + waiting], 100)
        tl1pca.save(pca, tmp_path / "stream.npz")
        back = tl1pca.load(tmp_path / "stream.npz")
        for each in (pca, back):
            in_batches(each, self.X[900 + waiting :], 70)
        for name in ("components_", "mean_", "models_axes_", "models_counts_", "reserve_", "sample_"):
            assert getattr(pca, name).tobytes() == getattr(back, name).tobytes()
        assert (pca.n_rejected_, pca.cutoffs_) == (back.n_rejected_, back.cutoffs_)

    def test_sources(self, tmp_path):
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        da = pytest.importorskip("dask.array")
        X = np.vstack([self.X] * 4)
        want = IncrementalTL1PCA(K).fit(X)
        np.save(tmp_path / "x.npy", X)
        pq.write_table(pa.table({f"v{j}": X[:, j] for j in range(D)}), tmp_path / "x.parquet")
        for given in (
            np.load(tmp_path / "x.npy", mmap_mode="r"),
            pq.ParquetFile(tmp_path / "x.parquet"),
            da.from_array(X, chunks=(999, -1)),
            Sliced(X),
            (X[i : i + 123] for i in range(0, len(X), 123)),
        ):
            np.testing.assert_allclose(
                IncrementalTL1PCA(K).fit(given).components_, want.components_, atol=1e-9
            )

    def test_axes_stay_orthonormal(self):
        pca = IncrementalTL1PCA(K, batch_size=10, forget=0.99).fit(self.X)
        np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(K), atol=1e-13)


@pytest.mark.parametrize(
    "X",
    [
        np.ones((1500, D)),
        rows(np.random.default_rng(0), 1500, basis()[0])[:, :K],
        np.random.default_rng(0).normal(size=(1500, K)) @ basis()[0].T,
    ],
    ids=["equal", "as many components as features", "in a subspace"],
)
def test_rows_without_noise_are_learned_from(X):
    pca = IncrementalTL1PCA(K).fit(X)
    assert np.isfinite(pca.components_).all()
    assert pca.n_rejected_ < 0.05 * len(X)


def test_a_row_beyond_all_others_is_rejected():
    X = TestCuts.X.copy()
    X[1000:1005] = 1e200
    pca = IncrementalTL1PCA(K).fit(X)
    assert np.abs(pca.mean_).max() < 10
    assert (pca.predict(X[1000:1005]) == -1).all()


class TestMissing:
    """Rows with NaN are used where their observed cells suffice."""

    def stream(self, share, seed=1):
        X, bad, axes = make_contaminated(3000, D, K, fraction=0.2, random_state=0)
        X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
        return X, bad, axes

    @pytest.mark.parametrize("share", [0.05, 0.3])
    def test_nearly_as_good_as_complete(self, share):
        (X, bad, axes), whole = self.stream(share), self.stream(0.0)[0]
        pca, complete = (in_batches(IncrementalTL1PCA(K), rows, 200) for rows in (X, whole))
        assert error(pca, axes) < (1 + 2.5 * share) * error(complete, axes)  # less is known
        np.testing.assert_allclose(pca.explained_variance_, complete.explained_variance_, rtol=0.1)
        assert pca.cutoffs_.orthogonal == pytest.approx(complete.cutoffs_.orthogonal, rel=0.1)
        assert pca.n_rejected_ == pytest.approx(complete.n_rejected_, abs=0.02 * len(X))
        flagged = pca.predict(X) == -1
        assert flagged[bad].mean() >= 0.99
        assert flagged[~bad].mean() <= 0.05

    def test_rows_with_too_few_cells_are_counted_and_not_learned_from(self):
        X = self.stream(0.0)[0]
        pca = IncrementalTL1PCA(K, batch_size=100).partial_fit(X[:1100])
        seen, components = pca.n_samples_seen_, pca.components_
        short = X[1100:1300].copy()
        short[:, K:] = np.nan
        pca.partial_fit(short)
        assert (pca.n_incomplete_, pca.n_samples_seen_) == (200, seen)
        np.testing.assert_allclose(pca.components_, components, atol=1e-9)

    def test_a_bad_cell_in_an_incomplete_row_is_rejected_with_it(self):
        X = self.stream(0.1)[0]
        X[2000:2100, 3] = 1e6
        pca = in_batches(IncrementalTL1PCA(K), X, 200)
        assert np.abs(pca.mean_).max() < 10
        assert error(pca, self.stream(0.0)[2]) < 5

    @pytest.mark.parametrize("breakdown", [0.5, 0.2])
    def test_the_gaps_of_the_warm_up_are_filled_by_a_fit_with_the_same_breakdown(self, breakdown):
        X = make_contaminated(300, D, K, fraction=0.35, random_state=3)[0]
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
        pca = IncrementalTL1PCA(K, breakdown=breakdown).fit(X)
        full = np.where(np.isnan(X), TL1CellPCA(K, breakdown=breakdown).fit(X).impute(X), X)
        assert pca.n_incomplete_ == 0
        first = TL1SubspacePCA(K, breakdown=breakdown).fit(full)
        np.testing.assert_allclose(pca.components_, first.components_, atol=1e-12)

    def test_gaps_wait_and_are_saved(self, tmp_path):
        X = self.stream(0.2)[0]
        pca = in_batches(IncrementalTL1PCA(K), X[:1160], 100)
        assert np.isnan(pca.pending_).any()
        tl1pca.save(pca, tmp_path / "stream.npz")
        back = tl1pca.load(tmp_path / "stream.npz")
        for each in (pca, back):
            each.partial_fit(X[1160:])
        assert pca.components_.tobytes() == back.components_.tobytes()


def test_a_sample_is_remembered_and_limits_rest_on_it():
    X = make_contaminated(3000, D, K, fraction=0.2, random_state=0)[0]
    pca = IncrementalTL1PCA(K).fit(X)
    sample = pca.remembered()
    assert sample.shape == (1200, D)
    assert (sample[:, None, 0] == X[:, 0]).any(axis=1).all()
    found, batch = limits(pca), limits(TL1SubspacePCA(K).fit(X))
    assert found.orthogonal == pytest.approx(batch.orthogonal, rel=0.05)
    assert found.score == pytest.approx(batch.score, rel=0.05)


class TestRefusals:
    def test_before_the_warm_up(self):
        pca = IncrementalTL1PCA(K).partial_fit(np.ones((1, D)))
        assert pca.n_pending_ == 1
        with pytest.raises(NotFittedError, match="rows of its warm-up"):
            pca.predict(np.ones((1, D)))

    def test_not_finite(self):
        X = TestCuts.X.copy()
        pca = IncrementalTL1PCA(K).fit(X)
        before = pca.n_pending_, pca.components_
        X[5, 2] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            pca.partial_fit(X[:10])
        assert (pca.n_pending_, pca.components_) == before

    @pytest.mark.parametrize(
        ("parameter", "value"),
        [("warm_up", 1), ("warm_up", 2.5), ("forget", 0.5), ("forget", 1.1), ("batch_size", 0)],
    )
    def test_parameters(self, parameter, value):
        with pytest.raises(ValueError, match=parameter):
            IncrementalTL1PCA(K, **{parameter: value}).fit(TestCuts.X)

    def test_forged_files(self):
        pca = IncrementalTL1PCA(K).fit(TestCuts.X)
        pca._check_fitted()
        pca.models_axes_ = 0.5 * pca.models_axes_
        with pytest.raises(ValueError, match="not orthonormal"):
            pca._check_fitted()


def test_complete_rows_of_the_warm_up_are_enough_for_as_many_components_as_columns():
    X = np.random.default_rng(0).normal(size=(40, 2))
    X[::4, 0] = np.nan
    pca = IncrementalTL1PCA(2).fit(X)
    assert (pca.n_components_, pca.n_incomplete_) == (2, 10)


@pytest.mark.parametrize("unit", [1e-25, 1e19, 1e24])
def test_rows_in_single_precision_are_judged_in_any_units(unit):
    """Their variances are beyond the numbers of single precision."""
    X, bad, _ = make_contaminated(200, 8, 2, kind="leverage", fraction=0.2, random_state=0)
    flags = [
        IncrementalTL1PCA(2).fit(rows).predict(rows) == -1
        for rows in (X.astype(np.float32), (X * unit).astype(np.float32))
    ]
    np.testing.assert_array_equal(*flags)
    assert flags[0][bad].all()


@pytest.mark.parametrize("n_rows", [100, 700])
def test_rows_are_judged_by_the_variances_that_are_reported(n_rows):
    """In the warm-up, whose variances are those of its fit, and beyond it."""
    X, _, _ = make_contaminated(n_rows, 8, 2, fraction=0.2, random_state=0)
    pca = IncrementalTL1PCA(2).fit(X)
    np.testing.assert_allclose(pca.judging_scale_**2, pca.explained_variance_)
