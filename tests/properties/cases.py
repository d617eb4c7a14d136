"""Hard cases for every estimator, and what must hold for each of them.

A `Case` is a few plain choices, so that a failure can be written down and
drawn again. `cases()` is the strategy for hypothesis, `random_case` draws
from the same choices without it, for the many cases of ``make torture``.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import tl1pca
from support import ESTIMATORS, name
from tl1pca.diagnostics import diagnose

#: The largest shapes that take a fraction of a second; linear programs and entrywise fits are dearer.
MOST = {tl1pca.L1BestFitPCA: (60, 5), tl1pca.L1ReconstructionPCA: (80, 30)}


# ---------------------------------------------------------------- data
def _some(rng, d):
    """A few columns, at least one."""
    return rng.permutation(d)[: rng.integers(1, d + 1)]


def _gaussian(rng, n, d):
    return rng.normal(size=(n, d)) * rng.uniform(0.3, 3.0, size=d) + rng.normal(size=d)


def _constant(rng, n, d):
    X = _gaussian(rng, n, d)
    X[:, _some(rng, d)] = rng.normal()
    return X


def _twin_columns(rng, n, d):
    X = _gaussian(rng, n, d)
    return X[:, rng.integers(0, d, size=d)]


def _twin_rows(rng, n, d):
    X = _gaussian(rng, n, d)
    return X[rng.integers(0, max(1, n // 3), size=n)]


def _collinear(rng, n, d):
    rank = int(rng.integers(1, min(n, d) + 1))
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) + rng.normal(size=d)


def _denormal(rng, n, d):
    X = _gaussian(rng, n, d)
    X[:, _some(rng, d)] *= 1e-310
    return X


def _cauchy(rng, n, d):
    return rng.standard_cauchy(size=(n, d))


def _mixed(rng, n, d):
    return _gaussian(rng, n, d) * 10.0 ** rng.uniform(-12, 12, size=d)


def _lattice(rng, n, d):
    return rng.integers(-2, 3, size=(n, d)).astype(float)


def _zeros(rng, n, d):
    return _gaussian(rng, n, d) * (rng.uniform(size=(n, d)) < 0.2)


def _far_row(rng, n, d):
    X = _gaussian(rng, n, d)
    X[rng.integers(n)] *= 10.0 ** rng.uniform(3, 12)
    return X


def _far_center(rng, n, d):
    return _gaussian(rng, n, d) + 1e6 * rng.normal(size=d)


def _clusters(rng, n, d):
    return _gaussian(rng, n, d) + 50.0 * (rng.uniform(size=(n, 1)) < 0.4) * rng.normal(size=d)


def _equal(rng, n, d):
    return np.tile(rng.normal(size=d), (n, 1))


#: Ways to make n x d data of about unit size.
KINDS = {
    "gaussian": _gaussian,
    "constant columns": _constant,
    "duplicated columns": _twin_columns,
    "duplicated rows": _twin_rows,
    "collinear": _collinear,
    "denormal columns": _denormal,
    "Cauchy": _cauchy,
    "mixed units": _mixed,
    "lattice": _lattice,
    "mostly zero": _zeros,
    "one far row": _far_row,
    "far from the origin": _far_center,
    "clusters": _clusters,
    "all rows equal": _equal,
}


@dataclass(frozen=True)
class Case:
    """One fit: which estimator on which data."""

    estimator: int
    kind: str
    n: int
    d: int
    dtype: str
    exponent: float
    n_components: int | float | None
    seed: int

    def __str__(self):
        shape = f"{self.n}x{self.d} {self.dtype} 1e{self.exponent:g}"
        return f"{name(self.build())} on {self.kind} {shape}: {self!r}"

    def build(self):
        k = self.n_components
        k = min(k, self.n, self.d) if isinstance(k, int) else k
        return clone(ESTIMATORS[self.estimator]).set_params(n_components=k)

    def data(self):
        rng = np.random.default_rng(self.seed)
        X = KINDS[self.kind](rng, self.n, self.d) * 10.0**self.exponent
        most = np.finfo(self.dtype).max ** 0.98  # heavy tails stay inside the type
        return np.clip(X, -most, most).astype(self.dtype)


def _limited(estimator, n, d):
    most = MOST.get(type(ESTIMATORS[estimator]), (300, 300))
    return min(n, most[0]), min(d, most[1])


def _case(estimator, kind, n, d, dtype, exponent, n_components, seed):
    n, d = _limited(estimator, n, d)
    most = 300 if dtype == "float64" else 37
    return Case(estimator, kind, n, d, dtype, float(round(exponent * most, 1)), n_components, seed)


def cases(kinds=tuple(KINDS), most=25):
    """Strategy for cases of moderate shapes."""
    return st.builds(
        _case,
        st.integers(0, len(ESTIMATORS) - 1),
        st.sampled_from(kinds),
        st.integers(2, most),
        st.integers(1, most),
        st.sampled_from(["float64", "float32"]),
        st.one_of(st.just(0.0), st.floats(-1, 1)),
        st.one_of(st.integers(1, 4), st.none(), st.sampled_from([0.5, 0.9])),
        st.integers(0, 2**32 - 1),
    )


def random_case(seed):
    """The case of a number: mostly small, now and then up to 300 x 300."""
    rng = np.random.default_rng([7, seed])
    most = int(rng.choice([6, 25, 80, 300], p=[0.3, 0.45, 0.22, 0.03]))
    k = (1, 2, 3, 5, None, 0.5, 0.9)[rng.integers(7)]
    return _case(
        int(rng.integers(len(ESTIMATORS))),
        str(rng.choice(list(KINDS))),
        int(rng.integers(2, most + 1)),
        int(rng.integers(1, most + 1)),
        str(rng.choice(["float64", "float64", "float32"])),
        float(rng.choice([0.0, rng.uniform(-1, 1)])),
        2 if most == 300 else k,  # all components of a large shape take long
        seed,
    )


# ---------------------------------------------------------------- what must hold
def fit(case, X):
    """A fit that may say that it did not converge or that the rows span less, and nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="The centered rows span")
        return case.build().fit(X)


def check(case):
    """All promises that hold for any data."""
    X = case.data()
    pca = fit(case, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_finite(pca, X)
        check_orthonormal(pca)
        check_monotone(pca)
        again = fit(case, X)
        assert np.array_equal(again.components_, pca.components_), "another result the second time"
        check_units(case, pca, X)
        check_motion(case, pca, X)


def check_finite(pca, X):
    for attribute, value in vars(pca).items():
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            if isinstance(part, float | np.ndarray) and np.asarray(part).dtype.kind == "f":
                assert np.isfinite(part).all(), f"{attribute} is not finite"
    scores = pca.transform(X)
    assert np.isfinite(scores).all(), "scores are not finite"
    assert np.isfinite(pca.inverse_transform(scores)).all(), "reconstruction is not finite"
    assert np.isfinite(pca.score_samples(X)).all(), "distances to the subspace are not finite"
    assert (pca.explained_variance_ >= 0).all(), "a variance is negative"
    assert 0 <= pca.explained_variance_ratio_.sum() <= 1 + 1e-5, "shares exceed one"
    found = diagnose(pca, X)
    assert np.isfinite(found.score_distances).all(), "score distances are not finite"
    assert np.isfinite(found.orthogonal_distances).all(), "orthogonal distances are not finite"


def check_orthonormal(pca):
    W = pca.components_.astype(np.float64)
    tolerance = 1e-10 if pca.components_.dtype == np.float64 else 1e-5
    if pca._oblique:
        assert np.abs(W).max(axis=1).min() > 0, "a component is zero"
        return
    gap = np.abs(W @ W.T - np.eye(len(W))).max()
    assert gap <= tolerance, f"orthonormal only to {gap:.1e}"


def check_monotone(pca):
    sign = -1.0 if pca._minimizes else 1.0
    slack = 1e-9 if pca.components_.dtype == np.float64 else 1e-4
    # What is left after the first component is known to the rounding of what was there before.
    size = max(np.abs(path).max() for path in pca.objective_path_)
    worst = -min((sign * np.diff(path)).min(initial=0.0) for path in pca.objective_path_)
    assert worst <= slack * size, f"the objective goes back by {worst:.1e} of {size:.1e}"


def degree(pca):
    """Power of the units in the objective; None where a parameter is in the units of the data."""
    if isinstance(pca, tl1pca.LpPCA | tl1pca.SparseLpPCA):
        return pca.p
    if isinstance(pca, tl1pca.GeneralizedLpPCA):
        return pca.s
    if isinstance(pca, tl1pca.ResidualPCA | tl1pca.R1PCA):
        return 1 if getattr(pca, "weights", "") == "l1" else 2
    if isinstance(pca, tl1pca.TL1CellPCA):
        return 0  # in deviations of the columns
    shapes = [getattr(part, "a", "auto") for part in (pca, getattr(pca, "operator", None))]
    return 1 if shapes == ["auto", "auto"] else None


def check_units(case, pca, X):
    """A power of two is exact, so data in other units have the same optimum."""
    power, info, size = degree(pca), np.finfo(X.dtype), np.abs(X[X != 0])
    # Single precision, and axes that the rows do not determine, leave the choice of an optimum to rounding.
    if power is None or len(size) == 0 or X.dtype != np.float64 or pca.rank_ < pca.n_components_:
        return
    if size.min() < 2.0**12 * info.smallest_normal or size.max() > 2.0**-12 * info.max:
        return  # would round
    other = fit(case, X * 2.0**8)
    # A share may be reached by a hair.
    assert abs(other.n_components_ - pca.n_components_) <= isinstance(case.n_components, float)
    if other.n_components_ == pca.n_components_:
        check_objective(pca, other, X, 2.0 ** (-8.0 * power), power, "units")


def check_motion(case, pca, X):
    """A shift and a rotation move the fit along; on data without ties, where they are promised."""
    if case.kind != "gaussian" or X.dtype != np.float64 or case.n <= case.d + 1 or case.exponent:
        return
    rng = np.random.default_rng(case.seed + 1)
    shift = rng.normal(size=case.d)
    other = fit(case, X + shift)
    if isinstance(pca, tl1pca.TL1CellPCA) and pca.objective_ < 1e-6:
        return  # an exact fit of a few rows, whose columns have no scale
    if other.n_components_ == pca.n_components_:
        check_objective(pca, other, X, 1.0, 1, "a shift")
        assert np.allclose(other.mean_ - shift, pca.mean_, atol=1e-5), "the center does not move along"
    if not pca._rotates:
        return
    Q = np.linalg.qr(rng.normal(size=(case.d, case.d)))[0]
    other = fit(case, X @ Q)
    if other.n_components_ == pca.n_components_:
        check_objective(pca, other, X, 1.0, 1, "a rotation")
        assert np.allclose(other.mean_ @ Q.T, pca.mean_, atol=1e-5), "the center does not turn along"


def check_objective(pca, other, X, factor, power, what):
    first, second = (float(p.objective_path_[0][-1]) for p in (pca, other))
    # What rounding leaves of exact fits is small beside the data, and the largest number is no result.
    with np.errstate(over="ignore", under="ignore"):
        size = max(abs(first), 1e-3 * float(np.sum(np.abs(X - pca.mean_) ** power)))
        gap = abs(first - second * factor) / max(size, 1e-300)
    if max(abs(first), abs(second), size) < 1e300:
        assert gap <= 1e-6, f"{what} moves the objective by {gap:.1e}"
