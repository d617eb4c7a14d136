"""Data that nobody drew for the estimator: kinds of good rows x designs of bad ones, and real tables.

Good rows have scores of some kind in a random plane plus noise; bad rows lie `times` the distance that
one good row in a hundred exceeds. Kinds and designs named in HELD_OUT, and seeds from 6000 on, were not
looked at while the estimator was made.
"""

import os
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import chi2

from robustness.design import classical_pca

KINDS = (
    *("gaussian", "uniform", "groups", "central", "integers", "binary"),
    *("autocorrelated", "heteroscedastic", "powerlaw"),
    *("exponential", "lognormal", "t3", "t5", "counts", "scales", "grades"),
)
#: Spreads of the clusters of a design, in noise deviations, and their shares.
CLUSTERS = {
    "tight": ((0.1, 1.0),),
    "cluster": ((1.0, 1.0),),
    "wide": ((2.0, 1.0),),
    "two": ((1.0, 1 / 3), (1.0, 2 / 3)),
    "three": ((0.1, 1 / 3), (1.0, 1 / 3), (2.0, 1 / 3)),
}
DESIGNS = (*CLUSTERS, "line", "plane", "second", "scattered", "leverage", "units", "stuck")
HELD_KINDS, HELD_DESIGNS = ("laplace", "beta", "unequal"), ("drift", "lines", "shell")
HELD_OUT = (*HELD_KINDS, *HELD_DESIGNS)
#: Long tails: up to 10 % of the good rows may be flagged, 5 % elsewhere.
HEAVY = ("exponential", "lognormal", "t3", "t5", "counts", "laplace")


@dataclass(frozen=True)
class Case:
    """One cell of the study; k is the number of components fitted, r the rank of the data."""

    part: str
    kind: str
    design: str
    n: int
    d: int
    r: int
    k: int
    fraction: float
    times: float

    @property
    def name(self):
        bad = f"{self.design} {100 * self.fraction:.0f} %, {self.times:g} x" if self.fraction else "clean"
        return f"{self.kind}, {bad}, {self.n} x {self.d}, rank {self.r}, k = {self.k}"


def cases(quick):
    sizes = ((60, 10, 2), (200, 20, 3)) if quick else ((60, 10, 2), (200, 20, 3), (1000, 50, 5))
    wide = () if quick else ((100, 200, 3),)
    for (n, d, r), kind in product(sizes, (*KINDS, *HELD_KINDS)):
        part = "held out" if kind in HELD_OUT else "kinds"
        yield Case(part, kind, "cluster", n, d, r, r, 0.0, 3.0)
        yield Case(part, kind, "cluster", n, d, r, r, 0.2, 3.0)
    for (n, d, r), design, fraction in product((*sizes, *wide), (*DESIGNS, *HELD_DESIGNS), (0.1, 0.4)):
        part = "held out" if design in HELD_OUT else "designs"
        yield Case(part, "gaussian", design, n, d, r, r, fraction, 3.0)
    for design, k in product(DESIGNS, (1, 3, 8)):
        yield Case("ranks", "gaussian", design, 200, 20, 5, k, 0.2, 3.0)
    for kind, k, fraction in product(("groups", "exponential", "laplace", "scales"), (1, 3), (0.0, 0.2)):
        yield Case("ranks", kind, "cluster", 200, 20, 5, k, fraction, 3.0)
    for design in DESIGNS:
        yield Case("near", "gaussian", design, 200, 20, 3, 3, 0.2, 1.2)


def scores(kind, n, r, rng):
    """Scores of unit size, (n, r)."""
    if kind == "uniform":
        return rng.uniform(-1, 1, size=(n, r)) * np.sqrt(3)
    if kind == "groups":  # of three sizes
        centers = rng.normal(size=(3, r))
        centers -= centers.mean(axis=0)
        centers *= 2.5 * np.sqrt(r / (centers**2).sum(axis=1).mean())
        return centers[rng.choice(3, size=n, p=[0.5, 0.3, 0.2])] + 0.5 * rng.normal(size=(n, r))
    if kind == "central":  # idle machines
        return rng.normal(size=(n, r)) * np.where(rng.uniform(size=(n, 1)) < 0.4, 0.1, 1.0)
    draws = {
        "exponential": lambda: rng.exponential(size=(n, r)) - 1,
        "lognormal": lambda: (np.exp(0.8 * rng.normal(size=(n, r))) - np.exp(0.32)) / 1.3,
        "t3": lambda: rng.standard_t(3, size=(n, r)) / np.sqrt(3),
        "t5": lambda: rng.standard_t(5, size=(n, r)) / np.sqrt(5 / 3),
        "laplace": lambda: rng.laplace(size=(n, r)) / np.sqrt(2),
        "beta": lambda: (rng.beta(0.5, 0.5, size=(n, r)) - 0.5) * np.sqrt(8),
    }
    return draws.get(kind, lambda: rng.normal(size=(n, r)))()


def good_rows(kind, n, d, r, rng):
    """Good rows (n, d) and the axes (d, r) of their plane."""
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    axes = Q[:, :r]
    if kind == "powerlaw":
        return (rng.normal(size=(n, d)) * (6.0 / np.arange(1, d + 1))) @ Q.T, axes
    signal = (scores(kind, n, r, rng) * np.linspace(6.0, 3.0, r)) @ axes.T
    noise = rng.standard_t(3, size=(n, d)) / np.sqrt(3) if kind == "t3" else rng.normal(size=(n, d))
    if kind == "autocorrelated":
        for j in range(1, d):
            noise[:, j] = 0.7 * noise[:, j - 1] + np.sqrt(0.51) * noise[:, j]
    if kind == "heteroscedastic":  # by columns
        noise *= rng.uniform(0.4, 1.6, size=d)
    if kind == "unequal":  # by rows
        noise *= rng.uniform(0.5, 1.5, size=(n, 1))
    X = signal + noise
    if kind == "scales":  # columns in units of their own, as they come
        unit = 10 ** rng.uniform(-0.5, 0.5, size=d)
        return X * unit, np.linalg.qr(axes * unit[:, None])[0]
    if kind == "grades":  # one to five
        return 1.0 + (X[:, :, None] > X.std(axis=0)[:, None] * np.sort(rng.normal(size=(d, 4)))).sum(
            axis=2
        ), axes
    if kind == "integers":
        return np.round(X), axes
    if kind == "counts":
        return rng.poisson(np.exp(np.clip(3 + 0.12 * signal * np.sqrt(d / 20), -5, 8))).astype(float), axes
    if kind == "binary":  # a quarter of the columns, after which all are standardized
        for j in rng.choice(d, max(1, d // 4), replace=False):
            X[:, j] = X[:, j] > np.quantile(X[:, j], rng.uniform(0.6, 0.8))
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, axes


def contaminate(X, axes, design, fraction, times, rng):
    """A share of the rows replaced or moved; X is changed. Returns the mask of the bad rows."""
    (n, d), r = X.shape, axes.shape[1]
    bad = np.zeros(n, dtype=bool)
    bad[rng.permutation(n)[: round(fraction * n)]] = True
    if not bad.any():
        return bad
    rows, m = np.flatnonzero(bad), int(bad.sum())
    mean = X[~bad].mean(axis=0)
    A = X[~bad] - mean
    deviation = np.sqrt(((A @ axes) ** 2).mean(axis=0))
    lengths = np.linalg.norm(A - (A @ axes) @ axes.T, axis=1)
    noise = np.sqrt((lengths**2).mean() / max(d - r, 1))
    distance = times * np.quantile(lengths, 0.99)

    def off(count=1):
        """Random orthonormal directions off the plane, (d, count)."""
        W = rng.normal(size=(d, count))
        return np.linalg.qr(W - axes @ (axes.T @ W))[0]

    def lengths_of(T):
        return T * (distance * rng.uniform(1, 1.5, size=m) / np.linalg.norm(T, axis=1))[:, None]

    def steps():
        t = rng.uniform(-1, 1, size=(m, 1))
        return np.sign(t) * (0.5 + np.abs(t)) * distance

    if design in CLUSTERS:
        ends = np.cumsum([round(share * m) for _, share in CLUSTERS[design]])[:-1]
        for part, (spread, _) in zip(np.split(rows, ends), CLUSTERS[design]):
            X[part] = mean + distance * off()[:, 0] + spread * noise * rng.normal(size=(len(part), d))
    elif design == "line":
        X[rows] += steps() * off()[:, 0]
    elif design == "lines":
        X[rows] += steps() * off(2).T[rng.integers(2, size=m)]
    elif design == "plane":  # parallel
        X[rows] += distance * off()[:, 0]
    elif design == "second":  # another subspace through the same mean
        B = off(min(r, d - r))
        X[rows] = mean + lengths_of(rng.normal(size=(m, B.shape[1]))) @ B.T + noise * rng.normal(size=(m, d))
    elif design in ("scattered", "shell"):
        T = rng.normal(size=(m, d))
        T -= (T @ axes) @ axes.T
        X[rows] = lengths_of(T) + (X[rows] if design == "scattered" else mean)
    elif design == "drift":  # away from the plane, farther and farther
        X[rows] += np.linspace(1.0, 2.0, m)[:, None] * distance * off()[:, 0]
    elif design == "leverage":
        u = rng.normal(size=r)
        u *= times * np.sqrt(chi2.ppf(0.99, r)) / np.linalg.norm(u)
        X[rows] = mean + (deviation * u) @ axes.T + noise * rng.normal(size=(m, d))
    elif design == "units":  # a tenth of the columns off by a constant
        columns = rng.choice(d, max(1, d // 10), replace=False)
        X[np.ix_(rows, columns)] += rng.choice((-1, 1), len(columns)) * distance / np.sqrt(len(columns))
    elif design == "stuck":  # half of the columns stay at one value
        columns = rng.choice(d, max(1, d // 2), replace=False)
        stuck = mean[columns] + rng.choice((-1, 1), len(columns)) * distance / np.sqrt(len(columns))
        X[np.ix_(rows, columns)] = stuck
    return bad


def draw(case, seed):
    """X, the mask of bad rows and the axes (d, r)."""
    kinds, designs = (*KINDS, *HELD_KINDS), (*DESIGNS, *HELD_DESIGNS)
    key = [seed, case.n, case.d, case.r, round(100 * case.fraction), round(10 * case.times)]
    rng = np.random.default_rng([*key, kinds.index(case.kind), designs.index(case.design)])
    X, axes = good_rows(case.kind, case.n, case.d, case.r, rng)
    return X, contaminate(X, axes, case.design, case.fraction, case.times, rng), axes


def angle(axes, components):
    """Degrees between two subspaces, the smaller one into the larger; 90 if there are none."""
    if components is None or not np.isfinite(components).all():
        return 90.0
    A, W = axes, np.linalg.qr(components.T)[0]
    if W.shape[1] > A.shape[1]:
        A, W = W, A
    return float(np.degrees(np.arcsin(min(1.0, np.linalg.norm(W - A @ (A.T @ W), 2)))))


def oracle(X, bad, axes, k):
    return angle(axes, classical_pca(X[~bad], k))


DIGIT_PAIRS = ((3, 8), (0, 6), (1, 7), (5, 9), (4, 2), (2, 7), (6, 5), (9, 4))


def digit_pairs(pairs=DIGIT_PAIRS):
    """(name, rows, mask of the foreign digit): one digit with a tenth of another."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    for a, b in pairs:
        own, other = digits.data[digits.target == a], digits.data[digits.target == b]
        some = np.random.default_rng(10 * a + b).permutation(len(other))[: len(own) // 9]
        yield f"{a} with {b}", np.vstack([own, other[some]]), np.arange(len(own) + len(some)) >= len(own)


def clean_tables():
    """(name, rows, k) of tables without known outliers, standardized where units differ."""
    from sklearn import datasets
    from sklearn.preprocessing import scale

    iris = datasets.load_iris().data
    yield "iris", iris, 2
    yield "iris setosa", iris[:50], 3
    yield "wine", scale(datasets.load_wine().data), 3
    yield "breast cancer", scale(datasets.load_breast_cancer().data), 4
    yield "diabetes", scale(datasets.load_diabetes().data), 3
    digits = datasets.load_digits()
    yield "digits 0", digits.data[digits.target == 0], 5
    rng = np.random.default_rng(0)
    five = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 5)) + 0.3 * rng.normal(size=(400, 5))
    yield "five columns and a 0/1 one", scale(np.column_stack([five, rng.uniform(size=400) < 0.3])), 3
    folder = os.environ.get("TL1PCA_DATA")
    for name in ("bus", "milk") if folder else ():
        table = np.genfromtxt(f"{folder}/{name}.csv", delimiter=",", skip_header=1)
        yield name, scale(table[:, ~np.isnan(table).any(axis=0)]), 3
