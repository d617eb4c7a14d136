import numpy as np
import pytest
from scipy.special import digamma

from tl1pca._predicted import (
    N_FOLDS,
    CrossValidation,
    TrustedRows,
    cross_validation,
    folds_of,
    predicted_cell_errors,
    principal_axes,
    validated,
)
from tl1pca.dimension import (
    NULL_DEVIATIONS,
    Count,
    _overlooked,
    bulk_variance,
    choose_dimension,
    columns_of_their_own,
    common,
    dimension_of_trusted,
    largest_count,
    needed,
    parallel_analysis,
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


def test_what_trusted_rows_have_is_asked_for_at_once():
    """From a given number on; whether the fit with one more would trust more rows is nobody's question."""
    by_k, asked = {2: low_rank(200, 12, 4)}, []
    fits = lambda k: asked.append(k) or TrustedRows(by_k.get(k, low_rank(200, 12, 3)))  # noqa: E731
    assert dimension_of_trusted(fits, 2, 11) == 4
    assert asked == [2, 4]
    asked.clear()
    assert dimension_of_trusted(fits, 3, 11) == 3
    assert asked == [3]


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


# ---------------------------------------------------------------- the parts, where their answer changes
def exact_rows(variances, n=400, seed=0):
    """Rows with exactly these variances along the columns, about a mean of their own."""
    A = np.random.default_rng(seed).normal(size=(n, len(variances)))
    Q = np.linalg.qr(A - A.mean(axis=0))[0]
    return 7.0 + Q * np.sqrt((n - 1) * np.asarray(variances))


def test_the_largest_count():
    assert [largest_count(*shape) for shape in ((10, 100), (100, 5), (9, 4), (2, 2), (1, 1))] == [
        3,
        4,
        3,
        1,
        1,
    ]


@pytest.mark.parametrize("shape", [(30, 8), (8, 30), (8, 8)])
@pytest.mark.parametrize("most", [None, 1, 3])
def test_principal_axes(shape, most):
    A = np.random.default_rng(1).normal(size=shape)
    A -= A.mean(axis=0)
    values, axes = principal_axes(A, most)
    rank = min(most or 99, 8, shape[0] - 1 if shape[1] > shape[0] else 8)
    np.testing.assert_allclose(values, np.linalg.svd(A)[1][:rank] ** 2 / (shape[0] - 1), atol=1e-9)
    np.testing.assert_allclose(axes.T @ axes, np.eye(rank), atol=1e-9)
    np.testing.assert_allclose((A @ axes).var(axis=0, ddof=1), values, atol=1e-9)


def test_components_that_hold_a_share():
    rows = TrustedRows(exact_rows([60.0, 30.0, 9.5, 0.5]))
    assert [needed(rows, share) for share in (0.5, 0.6, 0.61, 0.9, 0.91)] == [1, 1, 2, 2, 3]
    assert needed(rows) == 3
    assert needed(TrustedRows(exact_rows([60.0, 30.0, 8.5, 1.5]))) == 4


@pytest.mark.parametrize(
    ("variances", "more"),
    [
        ([90.0, 9.5, 0.4, 0.05, 0.04], 1),
        ([90.0, 9.5, 0.3, 0.1, 0.1, 0.1], 0),
        ([90.0, 9.5, 0.6, 0.2, 0.1], 3),
    ],
)
def test_beyond_the_share_a_component_counts_that_exceeds_all_that_follow(variances, more):
    noise = np.full(8 - len(variances), 0.01)
    rows = TrustedRows(exact_rows([*variances, *noise]))
    assert needed(rows) == 2
    assert needed(rows, beyond=True) == 2 + more


def test_a_component_of_most_rows_is_wider_than_noise_can_be():
    """In the place of the last of two components, noise would have no more than (1 + sqrt(d/n))^2."""
    n, d = 2000, 40
    edge = (1 + np.sqrt((d - 2) / (n - 3))) ** 2
    for width, wanted in ((1.15, 2), (0.87, 1)):
        X = exact_rows([50.0, width * edge] + [1.0] * (d - 2), n)
        assert common(TrustedRows(X), 2) == wanted
        assert common(TrustedRows(1e3 * X), 2) == wanted
    few = exact_rows([500.0] + [1.0] * (d - 1), n)
    few[:100, 5] += 30.0  # a line of few rows
    assert common(TrustedRows(few), 2) == 1
    assert common(TrustedRows(np.random.default_rng(0).normal(size=(4, 2))), 9) <= 2


@pytest.mark.parametrize("seed", range(4))
def test_a_component_with_long_tails_is_not_one_of_few_rows(seed):
    """With more columns than rows, noise that had a part in a component is as wide as the bulk of a tail."""
    rng = np.random.default_rng(seed)
    n, d = 150, 200
    Q = np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    T, noise = rng.standard_t(3, size=(n, 2)) / np.sqrt(3) * [6.0, 3.0], rng.normal(size=(n, d))
    assert common(TrustedRows(T @ Q + noise), 2) == 2
    T[:, 1] = np.where(np.arange(n) < n // 8, 40.0 * rng.normal(size=n), 0.0)
    assert common(TrustedRows(T @ Q + noise), 2) == 1


def test_a_quarter_of_the_rows_in_a_line_is_no_component_of_most():
    """They make the others look more spread than noise in a long table could be, though not by much."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(20, 2)))[0].T
    T, noise = rng.normal(size=(1000, 2)) * [6.0, 0.8], rng.normal(size=(1000, 20))
    assert common(TrustedRows(T @ Q + noise), 2) == 2  # a weak one that all rows have
    # Those near the others alone, as a fit has trusted them.
    T[:, 1] = np.where(np.arange(1000) < 250, 5.0 * rng.normal(size=1000), 0.0)
    X = T @ Q + noise
    assert bulk_variance(X @ Q[1]) > (1 + np.sqrt(18 / 997)) ** 2
    assert common(TrustedRows(X), 2) == 1


def test_the_variance_of_the_bulk():
    rng = np.random.default_rng(0)
    values = 3.0 * rng.normal(size=20000)
    assert bulk_variance(values + 7.0) == pytest.approx(9.0, rel=0.03)
    values[:2000] += 1e3
    assert bulk_variance(values) == pytest.approx(9.0, rel=0.12)
    assert bulk_variance(np.ones(9)) == 0.0


def test_a_direction_of_noisy_columns_is_not_shared():
    """It is held against the noise of these columns, not against that of all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60)) * np.where(np.arange(60) < 6, 2.0, 0.5)
    X[:, 59] += 8.0 * rng.normal(size=300)
    others = X.copy()
    others[:50, :6] += 12.0 * rng.normal(size=(50, 1))
    assert not shared_direction(TrustedRows(X), TrustedRows(others), 1)
    X[:, :6] += 1.5 * rng.normal(size=(300, 1))
    assert shared_direction(TrustedRows(X), TrustedRows(others), 1)


@pytest.mark.parametrize("shape", [(60, 8), (40, 90)])
def test_folds_have_the_axes_of_the_other_rows(shape):
    """Also where a row that is held out is so far away that nothing else is left of sums of squares."""
    X = np.random.default_rng(0).normal(size=shape) * np.geomspace(5.0, 1.0, shape[1]) + 100.0
    X[3] += 1e7
    division = np.arange(len(X)) % N_FOLDS
    for f, fold in enumerate(folds_of(X, division, 4)):
        np.testing.assert_array_equal(fold.held, division == f)
        rest = X[division != f]
        np.testing.assert_allclose(fold.rows, X[division == f] - rest.mean(axis=0), rtol=1e-9, atol=1e-6)
        axes = principal_axes(rest - rest.mean(axis=0), 4)[1]
        tol = 1e-9 if f == 3 else 1e-3  # beside the far row no other has all its digits
        np.testing.assert_allclose(np.abs((fold.axes * axes).sum(axis=0)), 1.0, atol=tol)


def test_one_division_of_the_rows_is_enough_where_it_is_clear():
    X = low_rank(200, 12, 4)
    whole = cross_validation(TrustedRows(X), 8)
    for enough, sooner in ((3, True), (4, False)):
        found, folds = validated(TrustedRows(X), 8, 0, enough)
        assert (found.errors.tolist() != whole.errors.tolist()) == sooner
        assert found.count == whole.count == 4
        assert sum(len(fold.rows) for fold in folds) == 200
    weak = np.random.default_rng(1).normal(size=(60, 10))
    weak[:, :5] += np.random.default_rng(2).normal(size=(60, 1))
    whole = cross_validation(TrustedRows(weak), 5)
    assert whole.count == 1
    assert 0 < whole.errors[0] - whole.errors[1] < 3 * whole.spread[0]
    assert validated(TrustedRows(weak), 5, 0, 0)[0].errors.tolist() == whole.errors.tolist()


def own_columns(scale, others, unit=1.0, ends=False):
    """Components of single columns of a given variance, of which cross-validation sees none, turned three."""
    d, n = 14, 3000
    X = exact_rows([scale] * 3 + [1.0] * 11, n)
    if others:  # a component that most columns share
        X[:, 3:] += np.sqrt(others) * np.random.default_rng(5).normal(size=(n, 1))
    turned = np.ones(4 if ends else d)
    first = 1 if others else 0
    turned[3 + first if not ends else 3] = 0.5
    errors = np.ones(d)
    errors[first] = 0.5
    return columns_of_their_own(TrustedRows(unit * X), CrossValidation(errors, errors, turned))


def test_what_a_column_needs_to_be_a_component():
    for unit in (1e-3, 1.0, 1e3):
        assert own_columns(4.3, 0, unit) == 3
        assert own_columns(3.7, 0, unit) == 0  # four times the variance of the noise
    assert own_columns(4.3, 0, ends=True) == 0  # no noise is left that all columns share
    assert own_columns(8.0, 9.0) == 0  # a column as columns mostly are
    assert own_columns(12.0, 9.0) == 3


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_direction_is_shared_with_as_much_signal_as_noise(unit):
    for width, wanted in ((2.4, True), (1.65, False)):
        X = unit * exact_rows([50.0, 40.0, width] + [1.0] * 9, 2000)
        others = X.copy()
        others[:300, 2] += 30.0 * unit
        assert shared_direction(TrustedRows(X), TrustedRows(others), 2) == wanted


def test_rows_that_a_fold_holds_out_have_no_part_in_the_direction():
    """Few rows in many columns: their noise would be a direction that they share."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 200))
    assert not shared_direction(TrustedRows(X), TrustedRows(X), 1)


def test_how_many_components_are_validated():
    def length(n, d, most=99):
        return len(cross_validation(TrustedRows(np.random.default_rng(0).normal(size=(n, d))), most).errors)

    assert length(40, 6) == 6  # none, and up to d - 1
    assert length(40, 6, 3) == 4
    assert length(8, 100) == 7  # without a row and its mean six are left
    assert length(12, 100) == 10  # without two rows


def test_errors_of_noise_are_its_deviation_in_any_coordinates():
    """The geometric mean over rows of a chi of d degrees of freedom."""
    X = 2.0 * np.random.default_rng(4).normal(size=(300, 50)) + 9.0
    found = cross_validation(TrustedRows(X), 3)
    right = 2.0 * np.sqrt(np.exp(digamma(25.0)) / 25.0)
    np.testing.assert_allclose([found.errors[0], found.turned[0]], right, rtol=0.01)
    assert found.turned == pytest.approx(found.errors, rel=0.02)


def test_the_spread_of_an_error_is_that_of_its_difference_to_the_smallest():
    spreads, differences = [], []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        X = 6.0 * rng.normal(size=(40, 1)) * np.ones(8) / np.sqrt(8) + rng.normal(size=(40, 8))
        found = cross_validation(TrustedRows(X), 2)
        assert found.spread[found.count] == 0.0
        spreads.append(found.spread[0] / found.errors[0])
        differences.append(np.log(found.errors[0] / found.errors.min()))
    assert np.mean(spreads) == pytest.approx(np.std(differences), rel=0.4)


def test_cells_of_a_constant_table_have_no_error():
    found = cross_validation(TrustedRows(np.full((30, 4), 3.0)), 2)
    assert np.isfinite(found.errors).all()
    assert found.count == 0


def test_a_column_that_a_component_consists_of_is_predicted_by_its_mean():
    A = np.random.default_rng(0).normal(size=(5, 4))
    *_, last = predicted_cell_errors(A, np.eye(4)[:, :1])
    np.testing.assert_array_equal(last, A)


def test_how_many_eigenvalues_are_compared():
    def shapes(n, d, most=99, first=0):
        rows = TrustedRows(np.random.default_rng(0).normal(size=(n, d)))
        found = parallel_analysis(rows, most, first=first, n_flips=3)
        return [len(part) for part in (found.eigenvalues, found.spread, found.null, found.null_limit)]

    assert shapes(30, 6) == [5] * 4
    assert shapes(5, 40) == [3] * 4
    assert shapes(30, 6, 3) == [3] * 4
    assert shapes(30, 6, 4, first=2) == [2] * 4


@pytest.mark.parametrize(("n", "d"), [(25, 12), (12, 25)])
def test_the_null_after_components_is_that_of_noise(n, d):
    """Two components take degrees of freedom of few rows and columns, which the null makes good."""
    ratios, limits = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = (rng.normal(size=(n, 2)) * 100.0) @ np.linalg.qr(rng.normal(size=(d, 2)))[0].T
        found = parallel_analysis(TrustedRows(X + rng.normal(size=(n, d))), 3, first=2, seed=seed)
        ratios.append(found.eigenvalues[0] / found.null[0])
        limits.append((found.null_limit[0] - found.null[0]) / found.null[0])
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.1)
    assert np.mean(limits) == pytest.approx(NULL_DEVIATIONS * np.std(ratios), rel=0.3)


def test_the_spread_of_an_eigenvalue_of_normal_scores():
    X = np.random.default_rng(0).normal(size=(4000, 3)) * [5.0, 2.0, 0.5]
    found = parallel_analysis(TrustedRows(X), 2, n_flips=2)
    np.testing.assert_allclose(found.spread, found.eigenvalues * np.sqrt(2 / 4000), rtol=0.1)


def test_what_a_fit_may_have_overlooked():
    """2 % more rows of the next fit, with more components, in a direction that all share."""
    X = exact_rows([50.0, 40.0, 20.0] + [1.0] * 9, 1000)

    def overlooked(more, count):
        here = Count(TrustedRows(X[more:], index=np.arange(more, 1000)), 2, 2)
        return _overlooked(here, Count(TrustedRows(X), count, count), 2)

    assert overlooked(30, 3)
    assert not overlooked(30, 2)
    assert not overlooked(15, 3)


def test_small_errors_about_a_large_mean():
    X = 1e9 + 1e-3 * np.random.default_rng(0).normal(size=(100, 10))
    assert cross_validation(TrustedRows(X), 1).errors[0] == pytest.approx(1e-3, rel=0.1)
