import numpy as np
import pytest

from tl1pca.dimension import (
    TrustedRows,
    choose_dimension,
    cross_validation,
    largest_count,
    needed,
    parallel_analysis,
    predicted_cell_errors,
    shared_direction,
)

RNG = np.random.default_rng(0)


def low_rank(n, d, k, unequal=False, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, k)))[0]
    spread = np.sqrt(rng.uniform(0.25, 1.75, size=d)) if unequal else np.ones(d)
    return (rng.normal(size=(n, k)) * np.linspace(6, 3, k)) @ Q.T + spread * rng.normal(size=(n, d))


def test_predicted_cells_are_those_of_a_fit_without_the_cell():
    A = RNG.normal(size=(5, 6))
    V = np.linalg.qr(RNG.normal(size=(6, 2)))[0]
    *_, errors = predicted_cell_errors(A, V)
    for i in range(5):
        for c in range(6):
            others = np.arange(6) != c
            scores = np.linalg.lstsq(V[others], A[i, others], rcond=None)[0]
            assert errors[i, c] == pytest.approx(A[i, c] - V[c] @ scores)


@pytest.mark.parametrize("method", ["cross-validation", "parallel"])
@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize(("n", "d", "k"), [(200, 20, 1), (200, 20, 5), (60, 120, 3)])
def test_the_true_number(method, unequal, n, d, k):
    for seed in range(4):
        rows = TrustedRows(low_rank(n, d, k, unequal, seed))
        assert choose_dimension(lambda _, rows=rows: rows, 15, method=method) == k


def test_parallel_analysis_takes_no_further_components_for_noise():
    """Whether most rows have a component is judged by the noise beyond the last one, not beyond the next."""
    rng = np.random.default_rng(5)
    Q = np.linalg.qr(rng.normal(size=(20, 10)))[0]
    scores = rng.standard_t(3, size=(140, 10)) / np.sqrt(3)
    rows = TrustedRows((scores * np.linspace(6, 3, 10)) @ Q.T + rng.normal(size=(140, 20)))
    assert choose_dimension(lambda _: rows, 15, method="parallel") == 10


def test_components_of_one_column_are_seen():
    X = RNG.normal(size=(150, 3)) @ (5.0 * np.eye(3, 12)) + RNG.normal(size=(150, 12))
    assert choose_dimension(lambda _: TrustedRows(X), 11) == 3


@pytest.mark.parametrize("seed", range(2))
def test_noisy_columns_of_scaled_data_are_no_components(seed):
    """Columns with small loadings are mostly noise once all are scaled alike."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 5)) @ rng.normal(size=(5, 300)) + 0.5 * rng.normal(size=(400, 300))
    assert choose_dimension(lambda _: TrustedRows(X / X.std(axis=0)), 15) == 5


def test_noise_alone_has_one_component_and_smooth_curves_few():
    assert choose_dimension(lambda _: TrustedRows(RNG.normal(size=(100, 10))), 9) == 1
    place = np.linspace(0, 1, 80)
    curves = np.array([np.exp(-((place - c) ** 2) / w) for c, w in RNG.uniform(0.3, 0.6, size=(40, 2))])
    rows = TrustedRows(curves)
    assert choose_dimension(lambda _: rows, largest_count(40, 80)) <= needed(rows) <= 6


def test_the_rows_of_each_fit_decide():
    """Upwards: the first k that is enough for the rows its own fit trusts; the next fit is asked as well."""
    by_k = {1: low_rank(200, 12, 4), 2: low_rank(200, 12, 4)}
    asked = []
    found = choose_dimension(lambda k: asked.append(k) or TrustedRows(by_k.get(k, low_rank(200, 12, 3))), 11)
    assert (found, asked) == (3, [1, 2, 3, 4])


def one_fit_too_few(more):
    """Rows with three components; the fit with two has distrusted those with the most of the third.

    `more` are the sizes of the third component in all rows: signal, or a line of a few bad ones.
    """
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(30, 3)))[0]
    T = np.column_stack([rng.normal(size=(200, 2)) * [6.0, 5.0], more(rng)])
    X = T @ Q.T + rng.normal(size=(200, 30))
    near = np.flatnonzero(np.abs(T[:, 2]) < 3.0)
    return X, near


def test_a_fit_with_too_few_components_does_not_end_the_search():
    """It distrusts the rows that have most of the next one, without which the others do not show it."""
    X, near = one_fit_too_few(lambda rng: rng.normal(size=200) * 3.0)
    by_k = {2: TrustedRows(X[near], index=near)}
    assert cross_validation(by_k[2], 8).count <= 3
    assert shared_direction(by_k[2], TrustedRows(X), 2)
    assert choose_dimension(lambda k: by_k.get(k, TrustedRows(X)), 12) == 3


def test_a_line_that_the_next_fit_would_take_in_is_no_component():
    X, near = one_fit_too_few(lambda rng: np.where(np.arange(200) < 50, rng.normal(size=200) * 20.0, 0.0))
    assert not shared_direction(TrustedRows(X[near], index=near), TrustedRows(X), 2)
    by_k = {2: TrustedRows(X[near], index=near)}
    assert choose_dimension(lambda k: by_k.get(k, TrustedRows(X)), 12) == 2


def test_two_columns_that_are_nearly_one_do_not_ask_for_a_component():
    """Each predicts the other, in these coordinates and in no others."""
    from sklearn.datasets import load_iris

    X = load_iris().data
    found = cross_validation(TrustedRows((X - X.mean(axis=0)) / X.std(axis=0)), 3)
    assert (found.count, found.turned_count) == (3, 2)


def test_cells_that_are_not_judged_do_not_count():
    X = low_rank(200, 12, 2)
    bad = RNG.uniform(size=X.shape) < 0.02
    spoiled = np.where(bad, 1e3, X)
    clean, masked = cross_validation(TrustedRows(X), 5), cross_validation(TrustedRows(X, ~bad), 5)
    assert masked.errors == pytest.approx(clean.errors, rel=0.02)
    assert cross_validation(TrustedRows(spoiled), 5).errors[2] > 2 * clean.errors[2]


def test_null_of_parallel_analysis_is_that_of_noise():
    """At the level of the limit noise exceeds it once in two hundred; here never in twenty."""
    tops = [
        parallel_analysis(TrustedRows(np.random.default_rng(s).normal(size=(80, 15))), 1) for s in range(20)
    ]
    assert all(found.eigenvalues[0] < found.null_limit[0] for found in tops)
    ratio = np.mean([found.eigenvalues[0] / found.null[0] for found in tops])
    assert ratio == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("shape", [(6, 2), (7, 3), (10, 100)])
def test_tiny_tables(shape):
    rows = TrustedRows(RNG.normal(size=shape))
    most = largest_count(*shape)
    assert 1 <= choose_dimension(lambda _: rows, most) <= most
    constant = TrustedRows(np.ones(shape))
    assert choose_dimension(lambda _: constant, most) == 1
