"""Rows of a Dask array, on the workers of a cluster.

A verb is one task for each partition, which asks `DenseRows` there, and one
round trip: what comes back are sums, added up in the order of the partitions,
so that the same data give the same answer wherever the tasks ran. Partitions
and handles are futures. They come from the graph of the user, never from
memory of this process: the scheduler can recompute what a lost worker held.
"""

from __future__ import annotations

import pickle
from asyncio import CancelledError as AsyncCancelledError
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import MapReduce, Rows
from .dense import DenseRows

Array = NDArray[Any]

#: Partial sums that are added up by one task; so many come to this process at most.
FAN_IN = 16
#: Bytes from which directions travel once to each worker, and not with every task.
_PACKET_BYTES = 1 << 16
#: Seconds between looks at the cluster while it works, and how long it may be without any worker.
POLL_SECONDS, PATIENCE_SECONDS = 2.0, 60.0


@dataclass(frozen=True)
class Parts:
    """A handle: one future for each partition. `meta` has no rows, the columns and the precision."""

    futures: Sequence[Any]
    meta: Array

    @property
    def ndim(self) -> int:
        """One for a vector (n,), two for scores (n, B)."""
        return self.meta.ndim


class DaskRows(Rows):
    """Adapter for partitions of any length on the workers of a `distributed` client.

    Parameters
    ----------
    client : distributed.Client
    blocks : Parts
        Arrays of shape (n_i, d).
    lengths : ndarray of int
        The n_i.
    mean : ndarray of shape (d,), optional
        Subtracted from every row, implicitly.
    weights : Parts, optional
        Non-negative row weights.
    mass : float, optional
        Their sum.
    """

    def __init__(
        self,
        client: Any,
        blocks: Parts,
        lengths: Array,
        mean: Array | None = None,
        weights: Parts | None = None,
        mass: float | None = None,
    ):
        self._client, self._blocks, self._lengths, self._mean = client, blocks, lengths, mean
        self._ends = np.cumsum(lengths)
        self.shape = (int(lengths.sum()), blocks.meta.shape[1])
        self.dtype = blocks.meta.dtype
        self.weights = weights
        self._mass = float(self.shape[0]) if mass is None else mass

    @property
    def mass(self) -> float:
        return self._mass

    # ---------------------------------------------------------------- products
    def project(self, W: Array) -> Parts:
        meta = np.empty((0, *W.shape[1:]), dtype=self.dtype)
        return Parts(self._ask("project", W, mean=self._mean), meta)

    def pullback(self, Z: Parts) -> Array:
        return self.asarray(self._sum(self._ask("pullback", handles=(Z,), mean=self._mean)))

    def map_reduce(self, fn: MapReduce, W: Array, *Z: Parts) -> tuple[list[Array], Array]:
        totals, G = self._sum(self._ask("map_reduce", fn, W, handles=Z, mean=self._mean))
        return totals, self.asarray(G)

    def gram(self, weights: Parts | None = None) -> Array:
        handles = () if weights is None else (weights,)
        return self.asarray(self._sum(self._ask("gram", handles=handles, mean=self._mean)))

    def scores_and_distances(self, W: Array) -> tuple[Parts, Parts]:
        pairs = self._ask("scores_and_distances", W, mean=self._mean)
        metas = np.empty((0, W.shape[1]), dtype=self.dtype), np.empty(0, dtype=self.dtype)
        T, r = (Parts(self._map(itemgetter(i), pairs, name="part"), meta) for i, meta in enumerate(metas))
        return T, r

    def norms(self) -> Parts:
        return Parts(self._ask("norms", mean=self._mean), np.empty(0, dtype=self.dtype))

    def mean(self) -> Array:
        ones = Parts(self._map(np.ones, self._lengths.tolist(), name="mean"), np.empty(0))
        return self.asarray(self._sum(self._ask("pullback", handles=(ones,), mean=self._mean)) / self.mass)

    # ---------------------------------------------------------------- handles
    def map(self, fn: Callable[..., Any], *Z: Parts) -> Parts:
        return Parts(self._ask("map", fn, handles=Z), fn(*(z.meta for z in Z)))

    def total(self, fn: Callable[..., Any], *Z: Parts) -> Array:
        return np.asarray(self._sum(self._ask("total", fn, handles=Z)))

    def inner(self, Z: Parts, Y: Parts) -> Array:
        return np.asarray(self._sum(self._ask("inner", handles=(Z, Y))))

    def largest(self, Z: Parts) -> float:
        return float(self._joined(self._ask("largest", handles=(Z,)), np.max))

    def gather_scores(self, Z: Parts, index: Array) -> Array:
        """Some rows of a handle; only the partitions that hold them are asked."""
        index = np.asarray(index)
        home = np.searchsorted(self._ends, index, side="right")
        order = np.argsort(home, kind="stable")
        asked, first = np.unique(home[order], return_index=True)
        places = np.split(order, first[1:])
        inside = [index[at] - (self._ends[i] - self._lengths[i]) for i, at in zip(asked, places)]
        found = self._gather(self._map(_some, [Z.futures[i] for i in asked], inside, name="pick"))
        out = np.empty((len(index), *Z.meta.shape[1:]), dtype=Z.meta.dtype)
        for at, part in zip(places, found):
            out[at] = part
        return out

    def to_user(self, Z: Parts) -> Any:
        """A handle as a Dask array, still on the workers."""
        from dask import array

        lengths = self._lengths.tolist()
        return array.concatenate(
            [
                array.from_delayed(future, (m, *Z.meta.shape[1:]), meta=Z.meta)
                for future, m in zip(Z.futures, lengths)
            ]
        )

    # ---------------------------------------------------------------- rows themselves
    def gather_rows(self, index: Array) -> Array:
        A = self.gather_scores(self._blocks, index)
        return A if self._mean is None else A - self._mean

    def shifted(self, center: Array) -> DaskRows:
        mean = center if self._mean is None else self._mean + center
        return DaskRows(self._client, self._blocks, self._lengths, mean, self.weights, self._mass)

    def scaled(self, factor: float) -> DaskRows:
        by = self.dtype.type(factor)
        blocks = Parts(self._ask("map", lambda A: A * by, handles=(self._blocks,)), self._blocks.meta)
        mean = None if self._mean is None else self._mean * by
        return DaskRows(self._client, blocks, self._lengths, mean, self.weights, self._mass)

    def max_abs(self) -> float:
        return float(self._joined(self._ask("max_abs"), np.max))

    # ---------------------------------------------------------------- the cluster
    def _ask(
        self, verb: str, *given: Any, handles: Sequence[Parts] = (), mean: Array | None = None
    ) -> list[Any]:
        """Futures of what `DenseRows` answers on every partition; nothing is waited for."""
        from cloudpickle import dumps

        # Functions of the solvers are closures; they are packed once, and not for every partition.
        packet: Any = dumps((verb, given, mean))
        n = len(self._lengths)
        weights = [None] * n if self.weights is None else self.weights.futures
        if len(packet) > _PACKET_BYTES:
            (packet,) = self._map(bytes, [packet], name="packet")
        return self._map(
            _answer,
            [packet] * n,
            self._blocks.futures,
            weights,
            *(handle.futures for handle in handles),
            name=verb,
        )

    def _sum(self, futures: list[Any]) -> Any:
        return self._joined(futures, _added)

    def _joined(self, futures: list[Any], join: Callable[[Sequence[Any]], Any]) -> Any:
        """One result from those of the partitions, in their order: on the workers while they are many."""
        while len(futures) > FAN_IN:
            groups = [futures[i : i + FAN_IN] for i in range(0, len(futures), FAN_IN)]
            futures = self._map(join, groups, name="join")
        return join(self._gather(futures))

    def _map(self, fn: Callable[..., Any], *arguments: Sequence[Any], name: str) -> list[Any]:
        return submit(self._client, fn, *arguments, name=name)

    def _gather(self, futures: list[Any]) -> list[Any]:
        return gather(self._client, futures)


def _answer(packet: bytes, X: Array, weights: Array | None, *handles: Array) -> Any:
    verb, given, mean = pickle.loads(packet)
    return getattr(DenseRows(X, mean, weights), verb)(*given, *handles)


def _some(A: Array, index: Array) -> Array:
    return A[index]


def _added(parts: Sequence[Any]) -> Any:
    """Sum of numbers and arrays, or of lists of them entry by entry, in double precision and in order."""
    if isinstance(parts[0], list | tuple):
        return [_added(entries) for entries in zip(*parts)]
    return np.sum(np.asarray(parts, dtype=np.float64), axis=0)


# ---------------------------------------------------------------- opening
def open_rows(X: Any, weights: Any = None) -> DaskRows:
    """The port to the rows of a Dask array, put into the memory of the workers of the current client.

    Parameters
    ----------
    X : dask.array.Array of shape (n, d)
        Floating numbers, all columns in one chunk; chunks of rows of any length, known or not.
    weights : dask.array.Array or array-like of shape (n,), or float, optional
        Rows of weight zero are left out.

    Returns
    -------
    DaskRows
    """
    client = find_client()
    if client is None:
        raise RuntimeError(
            "fitting a Dask collection of this size needs a client, and there is none: "
            "from dask.distributed import Client; client = Client()."
        )
    X = known_length(X)
    blocks = Parts(_computed(client, X), np.empty((0, X.shape[1]), dtype=X.dtype))
    shapes = gather(client, submit(client, np.shape, blocks.futures, name="shape"))
    for declared, shape in zip(X.chunks[0], shapes):
        if len(shape) != 2 or shape[1] != X.shape[1] or not (np.isnan(declared) or declared == shape[0]):
            raise ValueError(
                f"a block of the Dask array has shape {shape} and declares {(declared, X.shape[1])}: whoever "
                "made it said otherwise, map_blocks without chunks= for instance."
            )
    lengths = np.array([shape[0] for shape in shapes], dtype=np.int64)
    if weights is None:
        return DaskRows(client, blocks, lengths)
    return _weighted(client, blocks, lengths, weights)


def known_length(X: Any) -> Any:
    """A Dask array whose number of rows is known, computed once on the workers where there are some."""
    if not np.isnan(X.shape[0]):
        return X
    X = X.copy() if find_client() is None else X.persist()
    return X.compute_chunk_sizes()


def _weighted(client: Any, blocks: Parts, lengths: Array, weights: Any) -> DaskRows:
    """Rows with their weights, in the same partitions."""
    parts = _aligned(client, weights, lengths, blocks.meta.dtype)
    summary = np.array(gather(client, submit(client, _summary, parts, name="weights")))
    least, (mass, used, left) = summary[:, 0].min(), summary[:, 1:].sum(axis=0)
    if not (least >= 0 and np.isfinite(mass)):
        raise ValueError("sample_weight must be finite and not negative.")
    if used < 2:
        raise ValueError("sample_weight must be positive for at least two rows.")
    if left:
        blocks = Parts(submit(client, _positive, blocks.futures, parts, name="positive"), blocks.meta)
        parts = submit(client, _positive, parts, parts, name="positive")
        lengths = summary[:, 2].astype(np.int64)
    return DaskRows(client, blocks, lengths, None, Parts(parts, np.empty(0, blocks.meta.dtype)), float(mass))


def _aligned(client: Any, weights: Any, lengths: Array, dtype: np.dtype[Any]) -> list[Any]:
    """Weights in partitions of the given lengths."""
    from dask import array

    n, full = int(lengths.sum()), [m for m in lengths.tolist() if m]
    if hasattr(weights, "to_dask_array"):  # a column of a data frame
        weights = weights.to_dask_array()
    if not isinstance(weights, array.Array):
        weights = np.asarray(weights, dtype=dtype)
        weights = array.full(n, weights, dtype=dtype) if weights.ndim == 0 else array.from_array(weights)
    if np.isnan(weights.shape).any():
        weights = weights.persist().compute_chunk_sizes()
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have one entry per row, shape ({n},), got {weights.shape}.")
    # Rechunking makes no chunks of length zero; they are put back after it.
    parts = iter(_computed(client, weights.astype(dtype).rechunk((tuple(full),))))
    (none,) = submit(client, np.zeros, [0], name="weights")
    return [next(parts) if m else none for m in lengths]


def _summary(v: Array) -> tuple[float, float, int, int]:
    """Least weight (NaN if one is), sum of the weights, how many are positive and how many are not."""
    used = int(np.count_nonzero(v > 0))
    return float(np.min(v, initial=0.0)), float(v.sum(dtype=np.float64)), used, len(v) - used


def _positive(A: Array, v: Array) -> Array:
    return A[v > 0]


def _computed(client: Any, X: Any) -> list[Any]:
    """A future for each chunk along the rows, in order."""
    with _lost_cluster():
        return list(client.compute(list(X.to_delayed().ravel())))


# ---------------------------------------------------------------- the cluster
def submit(client: Any, fn: Callable[..., Any], *arguments: Sequence[Any], name: str) -> list[Any]:
    """Futures of fn, one for each tuple of arguments; nothing is waited for."""
    with _lost_cluster():
        # Not pure: a key that depends on the arguments would have to be computed from them.
        return list(client.map(fn, *arguments, key=f"tl1pca-{name}", pure=False))


def gather(client: Any, futures: list[Any]) -> list[Any]:
    """Results of the futures: one round trip. Waits no longer than there is hope for an answer."""
    from distributed import KilledWorker, wait

    idle, failed = 0.0, None
    with _lost_cluster():
        while True:
            try:
                wait(futures, timeout=POLL_SECONDS)
                break
            except TimeoutError:
                idle = 0.0 if client.nthreads() else idle + POLL_SECONDS
                if idle >= PATIENCE_SECONDS:
                    raise CancelledError(f"there was no worker for {PATIENCE_SECONDS:.0f} seconds") from None
        failed = next((future for future in futures if future.status == "error"), None)
        error = None if failed is None else failed.exception()
        if isinstance(error, KilledWorker):
            raise CancelledError(str(error))
        if error is None:
            return list(client.gather(futures))
    raise error  # of the user's own graph: it says itself what is wrong


@contextmanager
def _lost_cluster() -> Iterator[None]:
    """One readable error for all that distributed may say when the cluster is gone."""
    from distributed.client import ClosedClientError

    try:
        yield
    except (CancelledError, AsyncCancelledError, ClosedClientError, OSError) as error:
        what = str(error).partition("\n")[0].rstrip(":.") or type(error).__name__
        raise RuntimeError(
            f"the Dask cluster was lost during the fit ({what}). Nothing was fitted; connect to a running "
            "cluster with client = Client(...) and fit again."
        ) from error


def find_client() -> Any:
    """The current client, None if there is none."""
    try:
        from distributed import get_client
    except ModuleNotFoundError:
        raise ImportError("fitting Dask collections needs distributed: pip install 'tl1pca[dask]'.") from None
    try:
        return get_client()
    except ValueError:
        return None
