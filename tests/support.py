"""What the tests share: the lists that cover a new part, oracles, strategies."""

import functools
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import strategies as st
from sklearn.base import clone

import tl1pca
from tl1pca.rows import ArrayRows, BlockRows, DenseRows, SparseRows
from tl1pca.rows.dask import open_rows
from tl1pca.rows.sources import SliceSource

#: Every estimator of the package; a new class is covered by adding it here.
ESTIMATORS = [
    tl1pca.TL1PCA(),
    tl1pca.TL1PCA(a=2.0),
    tl1pca.DispersionPCA(),
    tl1pca.DispersionPCA(operator=tl1pca.TL1(a=1.0), extraction="joint"),
    tl1pca.L1PCA(),
    tl1pca.L1PCA(greedy=True),
    tl1pca.LpPCA(),
    tl1pca.LpPCA(p=1.5),
    tl1pca.SparseLpPCA(),
    tl1pca.SparseTL1PCA(),
    tl1pca.GeneralizedLpPCA(),
    tl1pca.R1PCA(),
    tl1pca.R1PCA(weights="l1"),
    tl1pca.R1PCA(weights="cauchy"),
    tl1pca.ResidualPCA(),
    tl1pca.RegularizedL1PCA(),
    tl1pca.L1ReconstructionPCA(),
    tl1pca.L1BestFitPCA(),
    tl1pca.IncrementalTL1PCA(),
    tl1pca.TL1SubspacePCA(random_state=0),
    tl1pca.SparseTL1SubspacePCA(),
    tl1pca.TL1CellPCA(random_state=0),
]

#: Those that fit another estimator or to another space, with tests of their own and scikit-learn's checks.
COMPOSED = [
    tl1pca.SparseTL1SubspacePCA(n_nonzero=2),
    tl1pca.EulerPCA(),
    tl1pca.ImagePCA(),
    tl1pca.KernelizedPCA(),
    tl1pca.TL1LDA(),
]

#: One of each kind that a picture can tell apart: components one by one, jointly, oblique, of few columns,
#: minimized, of cells. What every estimator shows is held by the outlier map, drawn for all of them. Also for
#: what a common base does, and takes a while to see.
KINDS = [
    tl1pca.TL1PCA(),
    tl1pca.TL1SubspacePCA(random_state=0),
    tl1pca.GeneralizedLpPCA(),
    tl1pca.SparseLpPCA(n_nonzero=3),
    tl1pca.L1BestFitPCA(),
    tl1pca.TL1CellPCA(random_state=0),
]

#: Those that fit about a given center; the others estimate their own.
CENTERED = [estimator for estimator in ESTIMATORS if "center" in estimator.get_params()]

#: Operators with settled parameters.
OPERATORS = [
    tl1pca.TL1(a=0.01),
    tl1pca.TL1(a=1.0),
    tl1pca.TL1(a=100.0),
    tl1pca.Lp(p=0.5),
    tl1pca.Lp(p=1),
    tl1pca.Lp(p=1.5),
    tl1pca.Lp(p=2),
    tl1pca.Lp(p=3),
    tl1pca.Huber(c=1.0),
    tl1pca.Cauchy(c=1.0),
]


def dense(X, weights):
    return DenseRows(X, weights=weights)


def array_api_strict(X, weights):
    return _array("array_api_strict", X, weights)


def torch(X, weights):
    return _array("torch", X, weights)


def _array(library, X, weights):
    xp = pytest.importorskip(library)
    return ArrayRows(xp.asarray(X), weights=None if weights is None else xp.asarray(weights))


def dask(X, weights):
    """Partitions of unequal length, one of them empty; needs a client, as the fixture `adapter` has one."""
    array = pytest.importorskip("dask.array")
    n = len(X)
    lengths = n // 3, 0, n // 2, n - n // 3 - n // 2
    return open_rows(array.from_array(X, chunks=(lengths, X.shape[1])), weights)


class Sliced:
    """An object of which only shape, dtype and row slicing are known, like an array in a file."""

    def __init__(self, X, chunks=None):
        self._X, self.shape, self.dtype, self.chunks = X, X.shape, X.dtype, chunks
        self.read = 0

    def __getitem__(self, rows):
        self.read += len(self._X[rows])
        return self._X[rows]


def blocks(X, weights):
    return BlockRows(SliceSource(Sliced(X)), weights=weights)


def sparse(X, weights):
    return SparseRows(scipy.sparse.csr_array(X), weights=weights)


@functools.cache
def contributed(class_name):
    """The class of that name in an example of CONTRIBUTING."""
    page = Path(__file__).parents[1] / "CONTRIBUTING.md"
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", page.read_text(), re.S) if class_name in b)
    scope = {"np": np}
    exec(block, scope)
    return scope[class_name]


def engine(X, weights):
    """Four verbs, and all others as they are derived from these."""
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(X.shape[1], X.shape[1])))[0]
    return contributed("ProductRows")(X @ Q.T, Q, weights=weights)


#: How each adapter of the port is made from an array and its row weights.
ADAPTERS = [dense, array_api_strict, torch, blocks, sparse, dask, engine]


def name(thing):
    """Readable test ids."""
    return repr(thing).replace("\n", "").replace(" ", "")


def with_components(estimator, k):
    return clone(estimator).set_params(n_components=k)


def gaussian(n, d, seed=0, decay=0.7):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * decay ** np.arange(d) + rng.normal(size=d)


def subspace_angle(A, B):
    """Largest principal angle between the row spaces of A and B, in degrees."""
    Qa, Qb = (np.linalg.qr(np.asarray(M, dtype=float).T)[0] for M in (A, B))
    rest = Qb - Qa @ (Qa.T @ Qb)
    return float(np.degrees(np.arcsin(min(1.0, np.linalg.norm(rest, 2)))))


def plane_optimum(X, operator, n_grid=200):
    """Global maximum of sum rho(|x.w|) over directions of the plane, by its arcs.

    Between consecutive zeros of the projections f is concave in the angle, so
    a golden section in each arc finds its only maximum.
    """
    f = lambda phi: operator.value(np.abs(X @ np.array([np.cos(phi), np.sin(phi)]))).sum()  # noqa: E731
    kinks = np.sort((np.arctan2(X[:, 1], X[:, 0]) + np.pi / 2) % np.pi)
    edges = np.append(kinks, kinks[0] + np.pi)
    best = -np.inf
    golden = (np.sqrt(5) - 1) / 2
    for low, high in itertools.pairwise(edges):
        a, b = low, high
        for _ in range(90):
            c, d = b - golden * (b - a), a + golden * (b - a)
            if f(c) < f(d):
                a = c
            else:
                b = d
        best = max(best, f(0.5 * (a + b)))
    return best


def matrices(min_rows=4, max_rows=25, min_columns=1, max_columns=6):
    """Strategy: generic Gaussian matrices of all small shapes, with a few wild rows."""

    def build(seed, n, d, wild):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d)) * rng.uniform(0.3, 3.0, size=d)
        X[: min(wild, n // 4)] *= 30.0
        return X

    return st.builds(
        build,
        st.integers(0, 2**32 - 1),
        st.integers(min_rows, max_rows),
        st.integers(min_columns, max_columns),
        st.integers(0, 3),
    )


def low_rank(seed, n=200, d=20, r=3, scores=None):
    """Rows with scores of size 6 to 3 in a random plane, noise 1; and the axes (d, d), the plane first."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    T = rng.normal(size=(n, r)) if scores is None else scores(rng, n, r)
    return (T * np.linspace(6, 3, r)) @ Q[:, :r].T + rng.normal(size=(n, d)), Q, rng
