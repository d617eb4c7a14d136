"""Maps, files and sparse matrices: the fit of the array in memory, or a clear refusal."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import zarr
from sklearn.base import clone

import tl1pca
from support import ESTIMATORS, Sliced, gaussian, name, with_components
from tl1pca.rows import BlockRows, SparseRows
from tl1pca.solvers import PaperAscent

N, D = 12_000, 90
NAMES = [f"v{j}" for j in range(D)]
FITS = [tl1pca.TL1PCA(3), tl1pca.TL1PCA(3, a=2.0), tl1pca.TL1SubspacePCA(3, random_state=1)]
OTHERS = [
    tl1pca.L1PCA(2, greedy=True),
    tl1pca.LpPCA(2, p=1.5),
    tl1pca.R1PCA(2),
    tl1pca.ResidualPCA(2, operator=tl1pca.TL1()),
    tl1pca.DispersionPCA(2, operator=tl1pca.TL1(a=3.0)),
]
#: Estimators whose solvers ask the port alone, and those that need all entries.
LAZY = [e for e in ESTIMATORS if e._needs_memory() is None]
MEMORY = [e for e in ESTIMATORS if e._needs_memory() is not None]

by_name = {"ids": name}


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """A dozen blocks, the last of them not full."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tl1pca.rows.sources.BLOCK_BYTES", 1024 * D * 8)
        yield


@pytest.fixture(scope="module")
def dense():
    """Rows with four directions of their own and a tenth of bad ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * np.r_[9.0, 6.0, 4.0, 2.5, np.ones(D - 4)] + rng.normal(size=D)
    X[::10] += 30 * rng.normal(size=D)
    return X


@pytest.fixture(scope="module")
def mostly_zero():
    """Three features are there half of the time and matter, the others seldom."""
    rng = np.random.default_rng(1)
    there = rng.random((N, D)) < np.r_[0.95, 0.9, 0.85, np.full(D - 3, 0.02)]
    return np.where(there, rng.normal(size=(N, D)) * np.r_[9.0, 6.0, 4.0, np.ones(D - 3)], 0.0)


@pytest.fixture(scope="module")
def opened(dense, tmp_path_factory):
    """The same numbers wherever they may be."""
    folder = tmp_path_factory.mktemp("lazy")
    np.save(folder / "x.npy", dense)
    stored = zarr.create_array(folder / "x.zarr", shape=dense.shape, dtype=dense.dtype, chunks=(700, D))
    stored[:] = dense
    pq.write_table(pa.table(dict(zip(NAMES, dense.T))), folder / "x.parquet", row_group_size=5000)
    return {
        "memmap": np.load(folder / "x.npy", mmap_mode="r"),
        "zarr": stored,
        "parquet": pq.ParquetFile(folder / "x.parquet"),
        "dataset": ds.dataset(folder / "x.parquet"),
        "sliced": Sliced(dense),
    }


def same(lazy, whole, atol=1e-10):
    np.testing.assert_allclose(lazy.components_, whole.components_, atol=atol)
    np.testing.assert_allclose(lazy.mean_, whole.mean_, atol=atol)
    np.testing.assert_allclose(lazy.explained_variance_, whole.explained_variance_, rtol=1e-8)
    assert lazy.objective_ == pytest.approx(whole.objective_, rel=1e-9)


@pytest.fixture
def adapters(monkeypatch):
    """The adapters that are made, so that a test cannot pass by loading the data."""
    made = []
    for adapter in (BlockRows, SparseRows):
        first = adapter.__init__

        def spy(self, *args, first=first, **kwargs):
            made.append(type(self))
            first(self, *args, **kwargs)

        monkeypatch.setattr(adapter, "__init__", spy)
    return made


class TestBlocks:
    @pytest.mark.parametrize("kind", ["memmap", "zarr", "parquet", "dataset"])
    @pytest.mark.parametrize("estimator", FITS, **by_name)
    def test_the_fit_in_memory(self, opened, dense, adapters, estimator, kind):
        same(clone(estimator).fit(opened[kind]), clone(estimator).fit(dense))
        assert BlockRows in adapters

    @pytest.mark.parametrize("estimator", OTHERS, **by_name)
    def test_other_methods(self, opened, dense, adapters, estimator):
        same(clone(estimator).fit(opened["memmap"]), clone(estimator).fit(dense), atol=1e-8)
        assert BlockRows in adapters

    @pytest.mark.parametrize("dtype", [np.float32, np.int16])
    def test_other_precisions(self, dense, dtype):
        data = (10 * dense).astype(dtype)
        lazy, whole = (tl1pca.TL1SubspacePCA(3, random_state=0).fit(x) for x in (Sliced(data), data))
        assert lazy.components_.dtype == whole.components_.dtype
        np.testing.assert_allclose(
            lazy.components_, whole.components_, atol=1e-10 if dtype == np.int16 else 1e-4
        )

    def test_extreme_units(self, dense):
        lazy, whole = (
            tl1pca.TL1SubspacePCA(2, random_state=0).fit(x) for x in (Sliced(1e200 * dense), dense)
        )
        np.testing.assert_allclose(lazy.components_, whole.components_, atol=1e-10)

    def test_rows_without_weight_are_left_out(self, opened, dense):
        v = np.random.default_rng(0).integers(0, 3, size=N)
        lazy, whole = (tl1pca.TL1PCA(2, a=2.0).fit(x, sample_weight=v) for x in (opened["parquet"], dense))
        same(lazy, whole)

    @pytest.mark.filterwarnings("ignore:X has feature names")
    def test_what_a_fit_is_used_for(self, opened, dense):
        pca = tl1pca.TL1SubspacePCA(3, random_state=1).fit(dense)
        for X in opened.values():
            np.testing.assert_allclose(clone(pca).fit_transform(X), pca.transform(dense), atol=1e-8)
            np.testing.assert_allclose(pca.score_samples(X), pca.score_samples(dense), atol=1e-10)
            np.testing.assert_allclose(pca.distances(X), pca.distances(dense), atol=1e-10)
            np.testing.assert_array_equal(pca.predict(X), pca.predict(dense))
            assert pca.score(X) == pytest.approx(pca.score(dense))

    def test_names_of_columns(self, opened, dense):
        pca = tl1pca.TL1SubspacePCA(2, random_state=1).fit(opened["parquet"])
        assert pca.feature_names_in_.tolist() == NAMES
        np.testing.assert_allclose(
            pca.transform(pd.DataFrame(dense, columns=NAMES))[:2], pca.transform(opened["dataset"])[:2]
        )
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            pca.transform(opened["memmap"])
        with pytest.raises(ValueError, match="feature names should match"):
            pca.transform(pd.DataFrame(dense, columns=NAMES[::-1]))

    @pytest.mark.parametrize("estimator", ESTIMATORS, **by_name)
    def test_little_data_are_loaded_and_give_the_same_bits(self, tmp_path, estimator):
        X = gaussian(40, 5)
        pq.write_table(pa.table({f"v{j}": X[:, j] for j in range(5)}), tmp_path / "x.parquet")
        lazy = with_components(estimator, 2).fit(pq.ParquetFile(tmp_path / "x.parquet"))
        np.testing.assert_array_equal(lazy.components_, with_components(estimator, 2).fit(X).components_)
        assert lazy.feature_names_in_.tolist() == [f"v{j}" for j in range(5)]


class TestSparse:
    @pytest.mark.parametrize(
        ("estimator", "form"),
        [(e, sp.csr_array) for e in FITS + OTHERS] + [(e, sp.csc_matrix) for e in FITS],
        **by_name,
    )
    def test_the_fit_of_the_dense_array(self, mostly_zero, adapters, estimator, form):
        lazy, whole = clone(estimator).fit(form(mostly_zero)), clone(estimator).fit(mostly_zero)
        same(lazy, whole, atol=1e-8)
        assert SparseRows in adapters

    def test_what_a_fit_is_used_for(self, mostly_zero):
        X = sp.csr_array(mostly_zero)
        pca = tl1pca.TL1SubspacePCA(3, random_state=1).fit(mostly_zero)
        np.testing.assert_allclose(pca.transform(X), pca.transform(mostly_zero), atol=1e-12)
        np.testing.assert_allclose(pca.score_samples(X), pca.score_samples(mostly_zero), atol=1e-12)
        np.testing.assert_allclose(pca.distances(X), pca.distances(mostly_zero), atol=1e-12)
        np.testing.assert_array_equal(pca.predict(X), pca.predict(mostly_zero))

    def test_rows_without_weight_are_left_out(self, mostly_zero):
        v = np.random.default_rng(0).integers(0, 3, size=N)
        lazy, whole = (
            tl1pca.TL1PCA(2, a=2.0).fit(x, sample_weight=v) for x in (sp.csr_array(mostly_zero), mostly_zero)
        )
        same(lazy, whole, atol=1e-8)


class TestRefusals:
    @pytest.mark.parametrize("estimator", MEMORY, **by_name)
    def test_methods_for_data_in_memory(self, estimator):
        large = Sliced(np.broadcast_to(np.float64(1), (10**6, 40)))
        who = type(estimator).__name__
        with pytest.raises(ValueError, match=f"{who} .* takes dense data in memory only.*use TL1SubspacePCA"):
            clone(estimator).fit(large)
        assert large.read == 0
        with pytest.raises(TypeError, match=f"{who} .* not sparse X.*X.toarray"):
            clone(estimator).fit(sp.csr_array(gaussian(40, 5)))

    def test_which_they_are(self):
        kinds = (
            tl1pca.SparseLpPCA,
            tl1pca.SparseTL1PCA,
            tl1pca.SparseTL1SubspacePCA,
            tl1pca.RegularizedL1PCA,
            tl1pca.GeneralizedLpPCA,
            tl1pca.L1ReconstructionPCA,
            tl1pca.L1BestFitPCA,
            tl1pca.TL1CellPCA,
        )
        assert {type(e) for e in MEMORY} == set(kinds)

    @pytest.mark.parametrize(
        ("estimator", "why"),
        [
            (tl1pca.TL1PCA(2, center="median"), "sorts whole columns"),
            (tl1pca.TL1PCA(2, solver="paper"), "solver='paper' compares all rows"),
            (tl1pca.DispersionPCA(2, solver=PaperAscent()), "compares all rows"),
        ],
        **by_name,
    )
    def test_parameters_that_need_all_rows(self, estimator, why):
        with pytest.raises(ValueError, match=why):
            estimator.fit(Sliced(np.broadcast_to(np.float64(1), (10**6, 40))))

    @pytest.mark.parametrize("estimator", LAZY, **by_name)
    def test_long_rows(self, estimator):
        few = np.broadcast_to(np.float64(1), (3000, 10**5))
        for X in (Sliced(few), sp.csr_array((3000, 10**5))):
            with pytest.raises(ValueError, match=r"2\.2 GiB"):
                clone(estimator).fit(X)
        wide = np.broadcast_to(np.float64(1), (6000, 7000))
        for X in (Sliced(wide), sp.csr_array((6000, 7000))):
            with pytest.raises(ValueError, match="more features than samples"):
                clone(estimator).fit(X)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_what_is_not_finite(self, dense, mostly_zero, bad):
        pca = tl1pca.TL1SubspacePCA(2, random_state=0).fit(dense)
        for data, form in ((dense, Sliced), (mostly_zero, sp.csr_array)):
            broken = data.copy()
            broken[N - 7, 0] = bad
            for act in (clone(pca).fit, pca.transform, pca.score_samples):
                with pytest.raises(ValueError, match=r"NaN|infinity"):
                    act(form(broken))

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (np.ones(4), "Expected 2D"),
            (np.ones((2, 2, 2)), "dim 3"),
            (np.ones((1, 3)), "minimum of 2"),
            (np.ones((4, 0)), "0 feature"),
            (np.ones((4, 2)) * 1j, "[Cc]omplex"),
            (np.array([["a", "b"], ["c", "d"]]), "numbers only"),
        ],
        ids=["1d", "3d", "one", "no-feature", "complex", "strings"],
    )
    def test_shapes_and_types(self, data, message):
        with pytest.raises(ValueError, match=message):
            tl1pca.TL1PCA().fit(Sliced(data))

    def test_wrong_features(self, dense):
        pca = tl1pca.TL1SubspacePCA(2, random_state=0).fit(dense)
        for X in (Sliced(dense[:, :3]), sp.csr_array(dense[:, :3])):
            with pytest.raises(ValueError, match="3 features"):
                pca.transform(X)
