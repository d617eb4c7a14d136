"""How the fits grow with rows and with partitions, and what that says of a large cluster; ``make scaling``.

A fit is passes over the data and round trips to whoever holds them. Both are
counted, their unit costs measured, and the sum is the prediction. The tables
go to benchmarks/results/scaling.md.
"""

import argparse
import logging
import os
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from measure import interleaved, machine
from speed import table
from tl1pca import TL1PCA, TL1SubspacePCA
from tl1pca.rows import dask as adapter

#: Verbs of the port that read all of the data.
PASSES = ("map_reduce", "project", "scores_and_distances", "norms", "pullback", "gram", "max_abs")
#: The fit to predict: rows, columns, components, workers, bytes of a partition.
TARGET = {"n": 10**9, "d": 10**3, "k": 10, "workers": 64, "partition": 10**9}


def estimators(k):
    return {"TL1PCA": TL1PCA(k), "TL1SubspacePCA": TL1SubspacePCA(k, random_state=0)}


# ---------------------------------------------------------------- in memory
def growth(largest, d=20, k=5):
    """Seconds of a fit for n = 10,000, 20,000, ... up to `largest` rows."""
    sizes, rows, n = [], [], 10_000
    fits = {"PCA": PCA(k), **estimators(k)}
    rng = np.random.default_rng(0)
    X = rng.normal(size=(largest, d))
    X *= 0.8 ** np.arange(d)
    X[rng.random(largest) < 0.05] *= 8.0
    while n <= largest:
        seconds = interleaved({name: lambda fit=fit, m=n: fit.fit(X[:m]) for name, fit in fits.items()})
        sizes.append(n)
        rows.append([float(np.median(seconds[name])) for name in fits])
        n *= 2
    half = len(sizes) // 2
    slopes = [np.polyfit(np.log(sizes[half:]), np.log(column[half:]), 1)[0] for column in np.array(rows).T]
    cells = [
        [f"{n:,}", *(f"{s:.3f}" for s in line), *(f"{s / line[0]:.1f}" for s in line[1:])]
        for n, line in zip(sizes, rows)
    ]
    cells.append([f"slope from {sizes[half]:,} on", *(f"{slope:.2f}" for slope in slopes), "", ""])
    header = ["rows", *(f"{name}, s" for name in fits), *(f"{name} / PCA" for name in list(fits)[1:])]
    return table(header, cells)


# ---------------------------------------------------------------- on a cluster
@contextmanager
def counted():
    """Passes over the data, round trips and tasks of all that happens inside."""
    count, submit, gather = Counter(), adapter.submit, adapter.gather

    def counting_submit(client, fn, *arguments, name):
        futures = submit(client, fn, *arguments, name=name)
        count["tasks"] += len(futures)
        count[name] += name in PASSES
        return futures

    def counting_gather(client, futures):
        count["trips"] += 1
        return gather(client, futures)

    adapter.submit, adapter.gather = counting_submit, counting_gather
    try:
        yield count
    finally:
        adapter.submit, adapter.gather = submit, gather


def cluster_rows(n, d, k, n_partitions):
    from dask import array

    rng = array.random.default_rng(0)
    size = -(-n // n_partitions)
    far = array.where(rng.random(size=n, chunks=size) < 0.05, 8.0, 1.0)
    X = (rng.normal(size=(n, d), chunks=(size, d)) * 0.8 ** np.arange(d) * far[:, None]).persist()
    X.sum().compute()
    for name, estimator in estimators(k).items():
        estimator.fit(X)
        with counted() as count:
            begin = time.perf_counter()
            estimator.fit(X)
            seconds = time.perf_counter() - begin
        yield name, n_partitions, count, seconds


def costs(client, d, k):
    """Seconds of a verb for a byte on one core, of a round trip, and of a task in it."""
    from dask import array

    n = 40_000_000 // d
    X = array.random.default_rng(0).normal(size=(n, d), chunks=(n, d)).persist()
    rows = adapter.open_rows(X)
    W = np.linalg.qr(np.random.default_rng(0).normal(size=(d, k)))[0]
    scores = rows.project(W)
    one = rows.map(lambda t: t[:, 0], scores)
    adapter.gather(client, one.futures)
    verbs = {
        "map_reduce": lambda: rows.map_reduce(
            lambda T: (np.sign(T) / (1 + abs(T)) ** 2, abs(T) / (1 + abs(T))), W
        ),
        "project": lambda: adapter.gather(client, rows.map(lambda t: t[:1], rows.project(W)).futures),
        "scores_and_distances": lambda: adapter.gather(
            client, rows.map(lambda r: r[:1], rows.scores_and_distances(W)[1]).futures
        ),
        "norms": lambda: adapter.gather(client, rows.map(lambda r: r[:1], rows.norms()).futures),
        "pullback": lambda: rows.pullback(one),
        "gram": rows.gram,
        "max_abs": rows.max_abs,
    }

    def trip(n_tasks):
        adapter.gather(client, adapter.submit(client, abs, list(range(n_tasks)), name="empty"))

    few, many = 1, 257
    runs = interleaved({**verbs, few: lambda: trip(few), many: lambda: trip(many)})
    seconds = {name: float(np.median(values)) for name, values in runs.items()}
    per_task = max(seconds[many] - seconds[few], 0.0) / (many - few)
    latency = seconds[few]
    per_byte = {verb: max(seconds[verb] - latency, 0.0) / (8.0 * n * d) for verb in verbs}
    return per_byte, latency, per_task


def predict(count, per_byte, latency, per_task):
    """Seconds of passes, trips and tasks for `TARGET` with the counts of a small fit."""
    size = 8.0 * TARGET["n"] * TARGET["d"]
    n_partitions = size / TARGET["partition"]
    passes = sum(count[verb] * per_byte[verb] for verb in PASSES) * size / TARGET["workers"]
    trips = count["trips"] * latency
    tasks = count["tasks"] / count["partitions"] * n_partitions * per_task
    return passes, trips, tasks


def cluster(quick):
    from distributed import Client, LocalCluster

    n, d, k = (200_000, 20, 5) if quick else (4_000_000, 50, 10)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
        ) as local,
        Client(local) as client,
    ):
        found = [row for m in (1, 2, 4, 8, 16) for row in cluster_rows(n, d, k, m)]
        per_byte, latency, per_task = costs(client, TARGET["d"] if not quick else 100, TARGET["k"])
    lines = [
        (
            name,
            m,
            sum(count[verb] for verb in PASSES),
            count["trips"],
            count["tasks"],
            f"{seconds:.2f}",
            f"{seconds / count['trips'] * 1e3:.0f}",
        )
        for name, m, count, seconds in found
    ]
    header = ("estimator", "partitions", "passes", "round trips", "tasks", "seconds", "ms per trip")
    yield (
        f"{n:,} x {d}, {k} components, two workers of one thread on this machine. Each number of partitions "
        "draws rows of its own, so the steps differ a little.\n"
    )
    yield table(header, lines) + "\n"
    yield "### Unit costs\n"
    yield (
        "Of a pass, in nanoseconds for a byte on one core, by verb: "
        + ", ".join(f"{verb} {cost * 1e9:.3f}" for verb, cost in per_byte.items())
        + f". Of a round trip: {latency * 1e3:.1f} ms, and {per_task * 1e3:.2f} ms for each task in it.\n"
    )
    yield "### Prediction\n"
    yield (
        "seconds = sum over verbs (passes x cost per byte) x bytes / workers + round trips x latency + "
        "tasks x cost of a task\n"
    )
    size, parts = 8 * TARGET["n"] * TARGET["d"], 8 * TARGET["n"] * TARGET["d"] // TARGET["partition"]
    yield (
        f"For 10^9 x 10^3 in double precision ({size / 1e12:.0f} TB), {TARGET['k']} components, "
        f"{TARGET['workers']} workers of one core like this one, {parts:,} partitions of 1 GB, all of "
        f"it in the memory of the workers ({size / TARGET['workers'] / 1e9:.0f} GB each):\n"
    )
    lines = []
    for name, m, count, _ in found:
        if m == 16:
            parts = predict(count | Counter(partitions=m), per_byte, latency, per_task)
            lines.append((name, *(f"{s:,.0f}" for s in parts), f"{sum(parts) / 60:,.0f}"))
    yield table(("estimator", "passes, s", "round trips, s", "tasks, s", "together, minutes"), lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, to see that it runs")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "scaling.md")
    options = parser.parse_args()
    note = " A quick run on small data: the numbers say that it runs, no more." if options.quick else ""
    load = os.getloadavg()[0]
    parts = [
        "### Growth with the rows, in memory\n",
        f"{machine()[-1]}; load {load:.1f} at the start. Written by `make scaling`.{note}\n",
        growth(80_000 if options.quick else 10_240_000) + "\n",
        "### Growth with the partitions, on a cluster\n",
        *cluster(options.quick),
    ]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("\n".join(parts), encoding="utf-8")
    print(f"written to {options.out}")


if __name__ == "__main__":
    main()
