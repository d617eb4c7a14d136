"""With many rows the shorter way to a fixed point ends where the published iteration does, or higher."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from support import gaussian, name, subspace_angle
from tl1pca import L1PCA, R1PCA, Huber, Lp, LpPCA
from tl1pca.objectives import Dispersion, Residual
from tl1pca.rows import MANY_ROWS, DenseRows
from tl1pca.solvers import FixedPoint, State, SubspaceMM, frame, mm, principal_axes, quasi_newton

N = MANY_ROWS + 1000
CONVEX = [Lp(p=1), Lp(p=1.5), Lp(p=3), Huber(c=1.0)]


def sources(seed=0):
    """Two-valued scores in a random basis with noise: the l1 maximum is a definite frame."""
    rng = np.random.default_rng(seed)
    scores = rng.choice([-1.0, 1.0], size=(N, 3)) * [3.0, 2.8, 2.6] + 0.3 * rng.normal(size=(N, 3))
    noise = 0.5 * rng.normal(size=(N, 9))
    return np.hstack([scores, noise]) @ np.linalg.qr(rng.normal(size=(12, 12)))[0]


def outliers(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3)) * [4, 3, 2] @ rng.normal(size=(3, 10)) + 0.5 * rng.normal(size=(N, 10))
    X[: N // 10] = 8 * rng.normal(size=(N // 10, 10))
    return X


def published(X, operator, k):
    """Objective of the iteration over all rows from the principal axes."""
    rows = DenseRows(X)
    return FixedPoint().solve(Dispersion(rows, operator), State(principal_axes(rows, k))).path[-1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("operator", CONVEX, ids=name)
def test_frames_never_descend(operator, weighted):
    X = gaussian(N, 8, decay=0.8)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=N) if weighted else None
    dispersion = Dispersion(DenseRows(X, X.mean(axis=0), weights), operator)
    assert FixedPoint().uses_quasi_newton(dispersion)
    solution = FixedPoint().solve(dispersion, n_directions=3)
    assert solution.converged
    assert (np.diff(solution.path) >= 0).all()
    np.testing.assert_allclose(solution.W.T @ solution.W, np.eye(3), atol=1e-12)
    value = float(dispersion.value(solution.W).sum())
    assert solution.path[-1] == pytest.approx(value, rel=1e-12)
    assert solution.path[-1] >= dispersion.value(np.eye(8)[:, :3]).sum()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("p", [1, 1.3])
def test_a_definite_frame_is_found(p, seed):
    X = sources(seed)
    found = LpPCA(3, p=p, center=None).fit(X).objective_
    assert found >= published(X, Lp(p=p), 3) * (1 - 1e-6)


def test_where_maxima_are_many_no_lower_on_average():
    gains = []
    for p in (1, 1.5):
        for seed in range(4):
            X = gaussian(N, 20, seed=seed, decay=0.9)
            X -= X.mean(axis=0)
            gains.append(LpPCA(5, p=p, center=None).fit(X).objective_ / published(X, Lp(p=p), 5) - 1.0)
    assert np.mean(gains) >= 0.0
    assert min(gains) >= -3e-3  # maxima of noise: the same data, another frame


@pytest.mark.parametrize("seed", range(3))
def test_one_direction_after_the_other(seed):
    X = gaussian(N, 6, seed=seed)
    pca = L1PCA(2, greedy=True, center="mean").fit(X)
    centered = X - X.mean(axis=0)
    assert pca.objective_path_[0][-1] >= published(centered, Lp(p=1), 1) * (1 - 1e-6)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(2), atol=1e-12)


def test_p_two_keeps_the_principal_axes():
    X = gaussian(N, 6)
    reference = PCA(3).fit(X).components_
    inner = np.sum(LpPCA(3, p=2, center="mean").fit(X).components_ * reference, axis=1)
    np.testing.assert_allclose(np.abs(inner), 1.0, atol=1e-8)


def test_the_published_stopping_rule_is_not_replaced():
    dispersion = Dispersion(DenseRows(gaussian(N, 3)), Lp(p=1))
    assert not FixedPoint(step_tol=1e-2).uses_quasi_newton(dispersion)
    assert not FixedPoint().uses_quasi_newton(Dispersion(DenseRows(gaussian(N, 3)), Lp(p=0.5)))
    assert not FixedPoint().uses_quasi_newton(Dispersion(DenseRows(gaussian(MANY_ROWS, 3)), Lp(p=1)))


@pytest.mark.parametrize("data", [np.zeros((N, 3)), np.outer(np.arange(-N / 2, N / 2), [1.0, 2.0, 0.0])])
def test_rows_that_span_little(data):
    for pca in (L1PCA(2, center=None), R1PCA(2, center=None)):
        with pytest.warns(UserWarning, match="span"):
            W = pca.fit(data).components_
        np.testing.assert_allclose(W @ W.T, np.eye(2), atol=1e-12)
        assert np.isfinite(pca.objective_)


def test_the_result_does_not_depend_on_the_number_of_threads(monkeypatch):
    big = np.tile(gaussian(N, 12, decay=0.9), (20, 1))
    for pca in (L1PCA(9), LpPCA(9, p=1.5), R1PCA(2)):
        results = []
        for threads in ("1", "2"):
            monkeypatch.setenv("OMP_NUM_THREADS", threads)
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
            results.append(pca.fit(big).components_)
        np.testing.assert_allclose(*results, atol=1e-8)


@pytest.mark.parametrize("factor", [1e-60, 1e60])
def test_units_do_not_matter(factor):
    X = outliers()
    for pca in (L1PCA(2), R1PCA(2)):
        assert subspace_angle(pca.fit(X).components_, pca.fit(factor * X).components_) < 0.1


def test_single_precision():
    X = outliers().astype(np.float32)
    for pca in (L1PCA(3, center=None), R1PCA(3, center=None)):
        single = pca.fit(X)
        assert single.components_.dtype == np.float32
        assert single.converged_
        value = single.objective_
        assert value == pytest.approx(pca.fit(X.astype(np.float64)).objective_, rel=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_rotation_is_higher_than_the_axes_and_stays_where_they_are_best(weighted):
    """Gaussian scores: principal axes are a saddle for l1, and any frame will do for p = 2."""
    X = gaussian(N, 6, decay=0.7)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=N) if weighted else None
    rows = DenseRows(X, X.mean(axis=0), weights)
    axes = principal_axes(rows, 3)
    l1, squares = (Dispersion(rows, Lp(p=p)) for p in (1, 2))
    R = frame._rotation(l1, axes, 2e-6, 1000)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-5)
    assert l1.value(axes @ R).sum() > 1.01 * l1.value(axes).sum()
    np.testing.assert_array_equal(frame._rotation(squares, axes, 2e-6, 1000), np.eye(3))


def test_a_sum_in_parts_is_the_whole():
    X, W = gaussian(60, 4), np.eye(4)[:, :2]
    whole = Dispersion(DenseRows(X), Lp(p=1.5))
    found = frame._in_parts([whole.on(DenseRows(X[:25])), whole.on(DenseRows(X[25:]))])(W)
    np.testing.assert_allclose(found.values, whole.value(W), rtol=1e-12)
    np.testing.assert_allclose(found.gradient, whole.value_and_gradient(W).gradient, rtol=1e-10)


def test_rows_of_zeros_have_any_frame():
    found = frame.frame_ascent(Dispersion(DenseRows(np.zeros((8, 3))), Lp(p=1)), 2, 1e-6, 10)
    assert found.path == (0.0,)
    assert found.converged
    np.testing.assert_allclose(found.W.T @ found.W, np.eye(2), atol=1e-12)


def test_tolerance_and_steps_are_honored():
    objective = Dispersion(DenseRows(sources()), Lp(p=1))
    short, long = (frame.frame_ascent(objective, 3, 1e-12, n) for n in (1, 200))
    assert len(short.path) == 2
    assert not short.converged
    assert long.converged
    gains = np.diff(long.path) / long.path[-1]
    assert (gains[:-1] > 1e-12).all()
    assert FixedPoint(tol=1e-3).solve(objective, n_directions=3).path[-1] < long.path[-1]


@pytest.mark.parametrize("k", [1, 2])
def test_small_rows_are_no_zeros_and_two_columns_are_turned(k):
    X = 1e-3 * gaussian(300, 5, decay=0.8)
    rows = DenseRows(X)
    objective = Dispersion(rows, Lp(p=1))
    found = frame.frame_ascent(objective, k, 1e-8, 200)
    axes = float(objective.value(principal_axes(rows, k)).sum())
    assert found.path[-1] >= axes > 0
    if k == 2:
        assert found.path[0] > 1.02 * axes  # the axes are a saddle


@pytest.mark.parametrize("along", [[3.0, 4.0, 0.0], [0.0, 5.0, 0.0]])
def test_rows_on_a_line_have_a_frame(along):
    line = np.outer(np.random.default_rng(0).normal(size=50), along)
    objective = Dispersion(DenseRows(line), Lp(p=1))
    found = frame.frame_ascent(objective, 1, 1e-8, 50)
    np.testing.assert_allclose(np.abs(found.W[:, 0]), np.array(along) / 5, atol=1e-7)
    assert found.path[-1] == pytest.approx(np.linalg.norm(line, axis=1).sum())


def unturned(objective, axes, tol, max_iter):
    return np.eye(axes.shape[1])


@pytest.mark.parametrize(
    ("module", "part", "instead", "more"),
    [(quasi_newton, "GAP", 2.0, 1.15), (frame, "_rotation", unturned, 1.4)],
)
def test_every_part_saves_passes(module, part, instead, more, monkeypatch):
    """Elliptical rows, every other with a tenth of them far away: more passes without the part."""
    monkeypatch.setattr(mm, "MANY_ROWS", 500)

    def passes():
        count = 0
        for seed in range(18):
            rng = np.random.default_rng(seed)
            d, k = [(8, 2), (12, 3), (20, 5)][seed % 3]
            X = rng.normal(size=(1200, d)) * 0.85 ** np.arange(d)
            if seed % 2:
                X[:120] = 8 * rng.normal(size=(120, d))
            rows, operator = DenseRows(X), [Lp(p=1), Lp(p=1.5), Huber(c=0.5)][seed // 3 % 3]
            if module is frame:
                count += len(frame.frame_ascent(Dispersion(rows, operator), k, 2e-6, 1000).path)
            else:
                count += len(SubspaceMM().solve(Residual(rows, operator), n_directions=k).path)
        return count

    ours = passes()
    monkeypatch.setattr(module, part, instead)
    assert passes() > more * ours


def test_scores_of_all_rows_save_passes_and_take_no_more_memory_than_said(monkeypatch):
    """From a share of the scores the rotation is one of their noise; those of all rows would be no bound."""
    gathered, inner = [], DenseRows.gather_scores
    monkeypatch.setattr(
        DenseRows, "gather_scores", lambda self, Z, i: gathered.append(len(i)) or inner(self, Z, i)
    )
    problems = []
    for seed in range(4):
        X = np.random.default_rng(seed).normal(size=(100_000, 5)) * 0.85 ** np.arange(5)
        X[:10_000] *= 1.0 + 3.0 * (seed % 2)
        problems.append((Dispersion(DenseRows(X), Lp(p=1.0 + 0.5 * (seed // 2))), 3))

    def passes():
        gathered.clear()
        return sum(len(frame.frame_ascent(one, k, 2e-6, 1000).path) for one, k in problems)

    ours = passes()
    assert gathered == [100_000] * 4
    monkeypatch.setattr(frame, "ROTATION_SCORES", 3 * 2000)
    assert passes() > 1.3 * ours
    assert gathered == [2000] * 4
