"""Dask: the fit of a cluster is the local one, whatever the partitions, and whoever is killed."""

import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.base import clone

import tl1pca
from tl1pca import TL1PCA, DispersionPCA, Lp, TL1SubspacePCA
from tl1pca.rows import dask as adapter
from tl1pca.rows.dask import open_rows
from tl1pca.solvers import StiefelAscent

da = pytest.importorskip("dask.array", reason="Dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")

N, D, K = 36_000, 30, 3
#: Unequal lengths, an empty partition at the start, inside and at the end.
LENGTHS = 0, 9_000, 500, 0, 16_500, 10_000, 0


@pytest.fixture(autouse=True)
def _client(request):
    """Processes where a test asks for them; elsewhere threads, with the same graphs and the same answers."""
    name = "dask_client" if "dask_client" in request.fixturenames else "threaded_client"
    with request.getfixturevalue(name).as_current():
        yield


def data(lengths=LENGTHS, d=D):
    """Gaussian rows with a decaying spectrum, some of them far away; made on the workers."""
    rng = da.random.default_rng(0)
    far = da.where(rng.random(size=sum(lengths), chunks=(lengths,)) < 0.05, 8.0, 1.0)
    good = rng.normal(size=(sum(lengths), d), chunks=(lengths, (d,))) * 0.7 ** np.arange(d) + 3.0
    return good * far[:, None]


@pytest.fixture(name="X", scope="module")
def in_memory():
    """The same rows in memory."""
    return data().compute(scheduler="sync")


def from_memory(A, lengths=LENGTHS):
    return da.from_array(A, chunks=(lengths, *((s,) for s in A.shape[1:])))


def unknown():
    """The same rows in chunks of lengths that only computing tells."""
    frame = pytest.importorskip("dask.dataframe")
    return frame.from_dask_array(data()).to_dask_array()


@pytest.fixture
def trips(monkeypatch):
    """What is called at every round trip of a fit, to be filled by the test; their number is its length."""
    calls, seen, real = [], [], adapter.gather

    def gather(client, futures):
        seen.append(len(futures))
        for call in calls:
            call(len(seen))
        return real(client, futures)

    monkeypatch.setattr(adapter, "gather", gather)
    return calls, seen


@pytest.fixture(scope="module")
def local(X):
    return {
        "TL1PCA": TL1PCA(K).fit(X),
        "TL1SubspacePCA": TL1SubspacePCA(K, random_state=0).fit(X),
    }


def assert_same(fit, expected, tol=1e-7):
    np.testing.assert_allclose(fit.components_, expected.components_, atol=tol)
    np.testing.assert_allclose(fit.mean_, expected.mean_, atol=tol)
    np.testing.assert_allclose(fit.explained_variance_, expected.explained_variance_, rtol=1e-6)
    assert fit.objective_ == pytest.approx(expected.objective_, rel=1e-10)


# ---------------------------------------------------------------- the same as local
@pytest.mark.slow
@pytest.mark.usefixtures("dask_client")
@pytest.mark.parametrize("make", [data, unknown])
def test_components_and_objective_are_the_local_ones(make, local):
    assert_same(TL1PCA(K).fit(make()), local["TL1PCA"])
    fit = TL1SubspacePCA(K, random_state=0).fit(make())
    expected = local["TL1SubspacePCA"]
    assert_same(fit, expected)
    for name in ("flags_", "weights_", "score_distances_", "orthogonal_distances_"):
        found = getattr(fit, name)
        assert isinstance(found, da.Array)
        assert found.shape == (N,)
        assert found.dtype == getattr(expected, name).dtype
        np.testing.assert_allclose(found.compute(), getattr(expected, name), atol=1e-9)


def test_columns_in_several_chunks_and_single_precision(X):
    pca = TL1SubspacePCA(K, random_state=0)
    expected = pca.fit(X.astype(np.float32)).components_
    lazy = unknown().compute_chunk_sizes().rechunk((5_000, 7)).astype(np.float32)
    found = pca.fit(lazy).components_
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_data_of_extreme_size(X):
    fit = TL1SubspacePCA(K, random_state=0).fit(data() * 1e200)
    expected = TL1SubspacePCA(K, random_state=0).fit(X * 1e200)
    np.testing.assert_allclose(fit.components_, expected.components_, atol=1e-9)
    np.testing.assert_allclose(fit.mean_, expected.mean_, rtol=1e-9)


def test_joint_extraction_and_the_mean(X):
    pca = DispersionPCA(
        2, operator=tl1pca.TL1(a=5.0), extraction="joint", center="mean", solver=StiefelAscent(tol=1e-3)
    )
    expected = clone(pca).fit(X)
    assert_same(pca.fit(data()), expected)


def test_as_many_components_as_the_rows_span():
    few = data()[:, :3]
    assert TL1PCA().fit(da.concatenate([few] * 10, axis=1)).n_components_ == 3


@pytest.mark.parametrize("lazily", [True, False])
def test_weights_repeat_rows_and_zero_leaves_them_out(lazily, X):
    v = np.random.default_rng(1).integers(0, 3, size=N).astype(float)
    weights = da.from_array(v, chunks=5_000) if lazily else v
    expected = TL1PCA(K).fit(X, sample_weight=v)
    assert_same(TL1PCA(K).fit(data(), sample_weight=weights), expected)


def test_weights_of_unknown_chunks(X):
    v = np.linspace(1.0, 2.0, N)
    frame = pytest.importorskip("dask.dataframe")
    column = frame.from_dask_array(da.from_array(v, chunks=7_000))
    rows = open_rows(unknown(), column)
    assert rows.mass == pytest.approx(v.sum())
    index = np.array([35_999, 0, 8_000, 8_000])
    np.testing.assert_array_equal(rows.gather_rows(index), X[index])
    np.testing.assert_array_equal(rows.subset(index).weights, v[index])


@pytest.mark.parametrize(
    ("bad", "message"),
    [(np.ones(5), "one entry per row"), (np.r_[-1.0, np.ones(N - 1)], "negative"), (np.zeros(N), "two rows")],
)
def test_weights_that_make_no_sense(bad, message):
    with pytest.raises(ValueError, match=message):
        TL1PCA(1).fit(data(), sample_weight=bad)


@pytest.mark.parametrize("shape", [(400, 6), (40, 60)])
def test_small_data_are_fitted_as_local_ones_to_the_last_bit(shape):
    frames = pytest.importorskip("dask.dataframe")
    A = np.random.default_rng(0).normal(size=shape) * 0.7 ** np.arange(shape[1])
    for pca in (TL1PCA(2), TL1SubspacePCA(2, random_state=0)):
        expected = pca.fit(A).components_
        np.testing.assert_array_equal(pca.fit(da.from_array(A, chunks=(90, 4))).components_, expected)
        names = [f"x{j}" for j in range(shape[1])]
        frame = frames.from_dask_array(da.from_array(A, chunks=(90, -1)), columns=names)
        # A data frame has another order in memory.
        np.testing.assert_allclose(pca.fit(frame).components_, expected, atol=1e-10)
        assert list(pca.feature_names_in_) == names


def test_same_data_same_answer_to_the_last_bit():
    first, second = (TL1PCA(K).fit(data()) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)


# ---------------------------------------------------------------- data frames
@pytest.fixture
def frame():
    frames = pytest.importorskip("dask.dataframe")
    return frames.from_dask_array(data(), columns=[f"x{j}" for j in range(D)])


def test_data_frames_keep_their_names(frame, local):
    fit = TL1SubspacePCA(K, random_state=0).fit(frame)
    assert list(fit.feature_names_in_) == list(frame.columns)
    assert_same(fit, local["TL1SubspacePCA"])
    scores = fit.transform(frame)
    assert isinstance(scores, da.Array)
    np.testing.assert_allclose(scores.compute(), fit.transform(frame.compute()), atol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        fit.transform(frame.rename(columns={"x0": "other"}))


def test_partitions_that_a_filter_has_emptied(frame, X):
    kept = frame.map_partitions(lambda part: part[part.index >= 8_000])
    np.testing.assert_allclose(
        TL1SubspacePCA(K, random_state=0).fit(kept).components_,
        TL1SubspacePCA(K, random_state=0).fit(X[8_000:]).components_,
        atol=1e-9,
    )


def test_columns_that_are_not_numbers_are_named(frame):
    with pytest.raises(ValueError, match="'color', 'day' are not"):
        TL1PCA(1).fit(frame.assign(color="red", day=np.datetime64("2020-01-01")))


# ---------------------------------------------------------------- nothing is computed too early
def explode(block):
    raise AssertionError("computed")


@pytest.mark.parametrize(
    "method", ["transform", "score_samples", "predict", "decision_function", "distances", "inverse_transform"]
)
def test_answers_stay_lazy_and_are_the_local_ones(method, local, X):
    fit = local["TL1SubspacePCA"]
    A = data()[:, :K] if method == "inverse_transform" else data()
    expected = getattr(fit, method)(X[:, : A.shape[1]])
    lazy = getattr(fit, method)(A)
    bomb = A.map_blocks(explode, dtype=float, meta=np.empty((0, 0)))
    getattr(fit, method)(bomb)
    if not isinstance(expected, tuple):
        lazy, expected = (lazy,), (expected,)
    for found, right in zip(lazy, expected):
        assert isinstance(found, da.Array)
        assert (found.shape, found.dtype) == (right.shape, right.dtype)
        np.testing.assert_allclose(found.compute(), right, atol=1e-12)


def test_lazy_answers_carry_nothing_of_the_training_rows(local):
    graph = local["TL1SubspacePCA"].predict(da.ones((10, D), chunks=5)).__dask_graph__()
    assert len(pickle.dumps(dict(graph))) < 50_000


def test_lazy_answers_raise_at_once_for_another_number_of_columns(local, X):
    with pytest.raises(ValueError, match="31 features"):
        local["TL1PCA"].transform(da.ones((10, D + 1)))
    assert local["TL1PCA"].score(data()) == pytest.approx(local["TL1PCA"].score(X))


# ---------------------------------------------------------------- economy
def released(client, most=0, seconds=10.0):
    """Whether no more than so many futures are left; they are released by a thread of the client."""
    end = time.monotonic() + seconds
    while len(client.futures) > most and time.monotonic() < end:
        time.sleep(0.05)
    return len(client.futures) <= most


@pytest.mark.slow
def test_no_future_outlives_the_fit(dask_client):
    assert released(dask_client)
    TL1PCA(K).fit(data())
    assert released(dask_client)
    fit = TL1SubspacePCA(K, random_state=0).fit(data())
    assert released(dask_client, 4 * len(LENGTHS))
    del fit
    assert released(dask_client)


@pytest.fixture
def packets(monkeypatch):
    """Sizes of the packets with functions and directions that are sent."""
    sizes, real = [], adapter.submit

    def submit(client, fn, *arguments, name):
        sizes.extend(len(part) for part in arguments[0][:1] if isinstance(part, bytes))
        return real(client, fn, *arguments, name=name)

    monkeypatch.setattr(adapter, "submit", submit)
    return sizes


def test_round_trips_do_not_grow_with_partitions_nor_packets_with_rows(trips, packets, local, X):
    _, seen = trips
    counts = []
    for lengths in (LENGTHS, (1_000,) * 36):
        seen.clear()
        assert_same(TL1PCA(K).fit(from_memory(X, lengths)), local["TL1PCA"])
        counts.append(len(seen))
    assert max(counts) < 40
    assert max(counts) - min(counts) <= 4  # rounding may decide on one step more
    assert max(packets) < 20_000


def test_large_packets_travel_by_themselves(packets, local, monkeypatch):
    monkeypatch.setattr(adapter, "_PACKET_BYTES", 100)
    assert_same(TL1SubspacePCA(K, random_state=0).fit(data()), local["TL1SubspacePCA"])
    assert 100 < max(packets) < 20_000


# ---------------------------------------------------------------- what can go wrong
def pids(client):
    return sorted(client.run(os.getpid).values())


@pytest.mark.slow
def test_a_worker_killed_in_mid_fit_changes_nothing(dask_client, trips):
    calls, seen = trips
    expected = TL1PCA(K).fit(data()).components_
    middle, before = len(seen) // 2, pids(dask_client)
    seen.clear()

    def kill(trip):
        if trip == middle:  # tasks are under way: they were submitted just before
            os.kill(before[0], signal.SIGKILL)

    calls.append(kill)
    found = TL1PCA(K).fit(data()).components_
    np.testing.assert_array_equal(found, expected)
    dask_client.wait_for_workers(2, timeout=30)
    assert len(seen) > middle
    assert before[0] not in pids(dask_client)


@pytest.fixture
def fragile_cluster(tmp_path):
    """A scheduler and a worker, each a process of its own; gives the client and the scheduler."""
    address = tmp_path / "scheduler.json"
    log = (tmp_path / "log").open("w")

    def start(command, *options):
        line = [sys.executable, "-m", f"distributed.cli.{command}", "--scheduler-file", str(address)]
        return subprocess.Popen(
            [*line, "--no-dashboard", "--host", "127.0.0.1", *options], stdout=log, stderr=log, cwd=tmp_path
        )

    scheduler = start("dask_scheduler", "--port", "0")
    worker = start("dask_worker", "--no-nanny", "--nthreads", "1")
    client = distributed.Client(scheduler_file=str(address), timeout=3, set_as_default=False)
    client.wait_for_workers(1, timeout=30)
    yield client, scheduler
    client.close(timeout=2)
    for process in (worker, scheduler):
        process.kill()
        process.wait()
    log.close()


@pytest.mark.slow
def test_a_lost_scheduler_is_a_clear_error(fragile_cluster, trips):
    client, scheduler = fragile_cluster
    calls, _ = trips
    calls.append(lambda trip: scheduler.kill() if trip == 5 else None)
    begin = time.monotonic()
    with client.as_current(), pytest.raises(RuntimeError, match=r"cluster was lost .* fit again"):
        TL1PCA(K).fit(data())
    assert time.monotonic() - begin < 60


def test_a_cluster_without_workers_is_a_clear_error(monkeypatch):
    monkeypatch.setattr(adapter, "POLL_SECONDS", 0.2)
    monkeypatch.setattr(adapter, "PATIENCE_SECONDS", 1.0)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        distributed.Client(empty, set_as_default=False) as client,
        client.as_current(),
        pytest.raises(RuntimeError, match="no worker for 1 seconds"),
    ):
        TL1PCA(K).fit(da.ones((N, D), chunks=9_000))


def missing_file(block):
    raise FileNotFoundError("part-3.parquet")


def test_an_error_of_the_users_graph_is_told_as_it_is():
    with pytest.raises(FileNotFoundError, match="part-3"):
        TL1PCA(1).fit(da.ones((N, D), chunks=9_000).map_blocks(missing_file, dtype=float))


@pytest.mark.parametrize(("bad", "message"), [(np.nan, "contains NaN"), (np.inf, "contains infinity")])
def test_entries_that_are_not_finite(bad, message):
    A = data()
    A[20_000, 3] = bad
    with pytest.raises(ValueError, match=message):
        TL1PCA(1).fit(A)


@pytest.mark.parametrize(
    "estimator",
    [tl1pca.L1PCA(2), tl1pca.LpPCA(2, p=1.5), tl1pca.R1PCA(2), DispersionPCA(2, operator=Lp(p=2))],
)
def test_other_methods_agree_with_memory(estimator):
    D = data()
    there, here = clone(estimator).fit(D).components_, clone(estimator).fit(D.compute()).components_
    np.testing.assert_allclose(there, here, atol=1e-7)


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (tl1pca.L1BestFitPCA(1, center="mean"), "linear programs"),
        (tl1pca.L1ReconstructionPCA(1, center="mean"), "all entries"),
        (tl1pca.SparseLpPCA(1), "all rows at once"),
        (tl1pca.GeneralizedLpPCA(1), "all rows at once"),
        (TL1PCA(1, center="median"), "center='median'"),
        (TL1PCA(1, solver="paper"), "solver='paper'"),
        (DispersionPCA(1, solver="paper"), "solver='paper'"),
    ],
)
def test_methods_that_need_all_rows_in_memory_say_so(estimator, reason):
    name = type(estimator).__name__
    with pytest.raises(ValueError, match=rf"{name} .*{reason}.*in memory only, not a Dask.*X\.compute\(\)"):
        estimator.fit(data())


def test_more_columns_than_rows_must_be_in_memory():
    with pytest.raises(ValueError, match=r"more features than samples.*\(5001, 5002\).*in memory"):
        TL1PCA(1).fit(da.ones((5_001, 5_002), chunks=(1_000, 5_002)))


def test_other_collections_and_dtypes():
    with pytest.raises(ValueError, match="shape"):
        TL1PCA(1).fit(da.ones(10))
    with pytest.raises(ValueError, match="real numbers"):
        TL1PCA(1).fit(da.ones((10, 3), dtype=complex))


def test_a_large_fit_without_a_client_says_how_to_get_one():
    code = (
        "import dask.array as da, tl1pca\n"
        "small = tl1pca.TL1PCA(1).fit(da.random.default_rng(0).normal(size=(100, 3)))\n"
        "try: tl1pca.TL1PCA(1).fit(da.ones((400_000, 3)))\n"
        "except RuntimeError as error: print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "client = Client()" in out


@pytest.mark.parametrize("made", [(3, 4), (5, 4), (4, 3)], ids=["narrow", "wide", "short"])
def test_blocks_that_are_not_what_they_declare(made):
    """A block is (6000, 4) by its declaration, and something else when it is computed."""
    rows, columns = 6000 * made[1] // 4, made[0] if made[1] == 4 else 4
    array = pytest.importorskip("dask.array")
    X = array.zeros((60_000, 4), chunks=(6000, 4))
    lying = X.map_blocks(lambda block: np.ones((rows, columns)), dtype=np.float64, meta=np.empty((0, 4)))
    with pytest.raises(ValueError, match="declares"):
        open_rows(lying)
