"""Axes of the rows against dense decompositions."""

import numpy as np
import pytest

from support import gaussian, subspace_angle
from tl1pca._threads import is_limited
from tl1pca.rows import DenseRows
from tl1pca.solvers import axes as module
from tl1pca.solvers import principal_axes, scatter_axes, span, spherical_axes
from tl1pca.solvers.axes import _subspace_iteration, port_axes, row_axes, symmetric_axes

X = gaussian(60, 5, seed=2)
V = np.random.default_rng(0).uniform(0.2, 3.0, size=60)


def eigenvectors(C, k):
    return np.linalg.eigh(C)[1][:, ::-1][:, :k]


def same_axes(ours, other, atol=1e-8):
    np.testing.assert_allclose(np.abs(np.sum(ours * other, axis=0)), 1.0, atol=atol)


@pytest.mark.parametrize("weights", [None, V])
@pytest.mark.parametrize("again", [None, V[::-1]])
def test_principal_axes(weights, again):
    w = np.ones(60) * (1 if weights is None else weights) * (1 if again is None else again)
    same_axes(
        principal_axes(DenseRows(X, weights=weights), 3, again), eigenvectors(X.T @ (w[:, None] * X), 3)
    )


@pytest.mark.parametrize("again", [None, V[:6]])
def test_principal_axes_of_wide_rows(again):
    wide, v = np.random.default_rng(1).normal(size=(6, 40)) * np.arange(1, 7)[:, None], V[6:12]
    w = v if again is None else v * again
    axes = principal_axes(DenseRows(wide, weights=v), 2, again)
    same_axes(axes, eigenvectors(wide.T @ (w[:, None] * wide), 2))


@pytest.mark.parametrize("shape", [(300, 6), (20, 30), (400, 130)])
def test_spherical_axes(shape):
    rows = gaussian(*shape, seed=3, decay=0.8)
    rows[0] = 0.0  # points nowhere
    U = rows[1:] / np.linalg.norm(rows[1:], axis=1, keepdims=True)
    expected = eigenvectors(U.T @ U, 2)
    # More than 88 columns are iterated four times from some of the rows: a start, not a decomposition.
    assert subspace_angle(spherical_axes(DenseRows(rows), 2).T, expected.T) < (
        1e-5 if shape[1] < 100 else 5.0
    )


@pytest.mark.parametrize("d", [10, 120, 500])
def test_scatter_axes(d):
    A = np.random.default_rng(4).normal(size=(200, d)) * 0.9 ** np.arange(d)
    C = A.T @ A
    values, axes = scatter_axes(C, 3)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(C)[::-1][:3], rtol=1e-9)
    same_axes(axes, eigenvectors(C, 3))


def test_axes_that_an_iteration_cannot_tell_are_decomposed():
    C = np.eye(500)  # no gap at all
    values, axes = scatter_axes(C, 3)
    np.testing.assert_allclose(values, 1.0)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-10)


@pytest.mark.parametrize("rank", [0, 1, 3])
@pytest.mark.parametrize("shape", [(40, 5), (5, 40), (200_000, 6)])
def test_span(rank, shape):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    assert span(DenseRows(rows)) == rank


def test_the_error_of_a_subspace_iteration_is_its_residual():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(200, 200))
    C = A @ A.T
    values, Q, error = _subspace_iteration(lambda Q: C @ Q, A[:, :25], 5, 4)
    residual = np.linalg.norm(C @ Q[:, :5] - Q[:, :5] * values[:5], axis=0).max()
    assert error == pytest.approx(residual, rel=1e-9)
    assert error > 1e-6 * values[0]
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(Q.T @ Q, np.eye(25), atol=1e-10)


def multiplications(values, n_axes, most=200):
    """How many it takes to find the first axes of a diagonal matrix, which must be right."""
    D, done = np.diag(values), []

    def apply(Q):
        done.append(1)
        return D @ Q

    start = np.random.default_rng(1).normal(size=(len(values), n_axes + 20))
    found, _, error = _subspace_iteration(apply, start, n_axes, most)
    assert error <= 1e-11 * values[0]
    np.testing.assert_allclose(found[:n_axes], values[:n_axes], rtol=1e-8)
    return len(done)


def test_multiplications_of_a_subspace_iteration():
    assert multiplications(0.3 ** np.arange(200.0), 5) <= 3
    # Powers would need log(1e-11)/log(175/195) or some 230 of them.
    assert multiplications(np.arange(200.0, 0.0, -1.0), 5) <= 60
    # A first axis far above the others must not drown them.
    assert multiplications(np.append(1e8, np.arange(199.0, 0.0, -1.0)), 5) <= 60


@pytest.mark.parametrize("shape", [(500, 400), (400, 500)])
def test_axes_that_are_nearly_known_are_polished(shape, monkeypatch):
    """In a few multiplications instead of a decomposition."""
    rng = np.random.default_rng(3)
    A = rng.normal(size=shape) * np.append([30.0, 25.0, 20.0], np.ones(shape[1] - 3))
    near = eigenvectors(A.T @ A, 3) + 1e-4 * rng.normal(size=(shape[1], 3))
    done = []
    iterate = module._subspace_iteration

    def counted(apply, *others):
        return iterate(lambda Q: done.append(1) or apply(Q), *others)

    monkeypatch.setattr(module, "_subspace_iteration", counted)
    same_axes(row_axes(A, 3)[1], eigenvectors(A.T @ A, 3))
    assert not done  # so few columns are decomposed
    values, axes = row_axes(A, 3, near)
    same_axes(axes, eigenvectors(A.T @ A, 3))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A.T @ A)[::-1][:3], rtol=1e-9)
    assert 0 < len(done) <= 6


@pytest.mark.parametrize("shape", [(300, 200), (200, 300), (1000, 950)])
def test_axes_of_rows_and_of_the_port_are_those_of_the_scatter(shape):
    rng = np.random.default_rng(6)
    A = rng.normal(size=shape) * 0.95 ** np.arange(shape[1])
    w = rng.uniform(0.5, 2.0, size=shape[0])
    expected = np.linalg.eigvalsh(A.T @ A)[::-1][:3]
    values, axes = row_axes(A, 3)
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    same_axes(axes, eigenvectors(A.T @ A, 3))
    values, axes = port_axes(DenseRows(A), w, 3)
    same_axes(axes, eigenvectors((A.T * w) @ A, 3))
    np.testing.assert_allclose(values, np.linalg.eigvalsh((A.T * w) @ A)[::-1][:3], rtol=1e-9)


@pytest.mark.parametrize("shape", [(40, 6), (6, 40), (30_000, 40)])
def test_the_span_of_rows(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
    assert span(DenseRows(X)) == 3
    assert span(DenseRows(np.zeros(shape))) == 0


@pytest.mark.parametrize("shape", [(40, 6), (6, 40), (30, 30)])
def test_axes_of_few_rows_or_columns(shape):
    A = gaussian(*shape, seed=7, decay=0.8)
    for n_axes in (1, 3, 5):
        values, axes = row_axes(A, n_axes)
        np.testing.assert_allclose(values, np.linalg.svd(A)[1][:n_axes] ** 2, rtol=1e-9)
        np.testing.assert_allclose(axes.T @ axes, np.eye(n_axes), atol=1e-10)
        np.testing.assert_allclose(np.linalg.norm(A @ axes, axis=0) ** 2, values, rtol=1e-9)


def test_all_axes_of_a_scatter_ascend():
    C = X.T @ X
    values, axes = symmetric_axes(C)
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose((axes * values) @ axes.T, C, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_spherical_axes_of_up_to_88_columns_are_exact_in_any_units(unit):
    rows = gaussian(200, 80, seed=3, decay=0.97)
    U = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    same_axes(spherical_axes(DenseRows(unit * rows), 2), eigenvectors(U.T @ U, 2))


def test_a_direction_that_squares_would_hide_counts_in_the_span_of_few_rows():
    rows = gaussian(40, 5, seed=8)
    rows[:, 4] *= 1e-9
    assert span(DenseRows(rows)) == span(DenseRows(rows.T)) == 5


def test_an_iteration_is_bounded():
    """A flat spectrum does not converge; the bound holds up to the degree of the last polynomial."""
    done = []

    def apply(Q):
        done.append(1)
        return np.linspace(1.0, 2.0, 300)[:, None] * Q

    start = np.random.default_rng(0).normal(size=(300, 25))
    _, Q, error = _subspace_iteration(apply, start, 5, 12)
    assert 12 <= len(done) <= 12 + 10
    assert error > 1e-9
    np.testing.assert_allclose(Q.T @ Q, np.eye(25), atol=1e-10)


@pytest.mark.parametrize("unit", [1e-10, 1e10])
def test_the_span_has_no_units(unit):
    rng = np.random.default_rng(9)
    rows = unit * rng.normal(size=(30_000, 3)) @ rng.normal(size=(3, 40))
    assert span(DenseRows(rows)) == 3


def test_the_smaller_scatter_is_decomposed_and_none_for_few_axes(monkeypatch):
    sizes, inner = [], module.scatter_axes
    monkeypatch.setattr(module, "scatter_axes", lambda C, *more: sizes.append(C.shape) or inner(C, *more))
    rng = np.random.default_rng(10)
    for shape, n_axes, formed in (
        ((6, 40), 2, [(6, 6)]),
        ((40, 6), 2, [(6, 6)]),
        ((200, 300), 3, [(200, 200)]),
        ((930, 960), 3, []),
    ):
        sizes.clear()
        row_axes(rng.normal(size=shape) * 0.9 ** np.arange(shape[1]), n_axes)
        assert sizes == formed


@pytest.fixture
def decompositions(monkeypatch):
    """Sizes of the matrices that are decomposed."""
    done, inner = [], module.leading_eigenpairs
    monkeypatch.setattr(module, "leading_eigenpairs", lambda C, k: done.append(len(C)) or inner(C, k))
    return done


@pytest.mark.parametrize(("d", "n_axes", "decomposed"), [(459, 3, True), (460, 3, False), (460, 4, True)])
def test_few_axes_of_a_large_scatter_need_no_decomposition(d, n_axes, decomposed, decompositions):
    """From twenty multiplications by the block on, which take as long."""
    for spectrum in (0.9 ** np.arange(d), 0.95 ** np.arange(d), 1.0 / np.arange(1, d + 1) ** 2):
        decompositions.clear()
        scatter_axes(np.diag(spectrum), n_axes)
        assert decompositions == [d] * decomposed


def test_a_decomposition_that_threads_do_not_hasten_has_one(monkeypatch):
    threads, inner = [], module.leading_eigenpairs
    monkeypatch.setattr(
        module, "leading_eigenpairs", lambda C, k: threads.append(is_limited()) or inner(C, k)
    )
    for d in (500, 501):
        scatter_axes(np.diag(np.arange(d, 0.0, -1.0)), 60)
    assert threads == [True, False]


@pytest.mark.parametrize(("d", "on_host"), [(256, True), (257, False), (400, False)])
def test_a_scatter_of_many_columns_is_decomposed_on_its_device(d, on_host, decompositions):
    C = pytest.importorskip("array_api_strict").asarray(np.diag(np.arange(d, 0.0, -1.0)))
    values, axes = scatter_axes(C, 3)
    assert decompositions == [d] * on_host
    np.testing.assert_allclose(values, [d, d - 1, d - 2])
    same_axes(axes, np.eye(d)[:, :3])


def test_the_block_of_an_iteration():
    """Twenty columns more than axes are wanted, with a length of about one."""
    block = module._block(50, 3, None)
    assert block.shape == (50, 23)
    np.testing.assert_allclose(np.linalg.norm(block, axis=0), 1.0, atol=0.4)


def test_the_first_axis_may_outgrow_the_others_by_half_of_their_digits():
    """With less every polynomial is a short one; with all digits a spectrum that has a gap overshoots."""
    far = np.append(1e4, np.arange(299.0, 0.0, -1.0))
    assert multiplications(far, 5) <= 80  # 144 with an eighth of the digits
    assert multiplications(np.append([30.0, 20.0, 15.0, 10.0, 9.0], np.linspace(3, 1, 295)), 5) <= 17
    assert multiplications(np.append([300.0, 200.0, 100.0, 50.0, 20.0], np.linspace(3, 1, 295)), 5) <= 12


def test_the_columns_beyond_the_axes_pay(monkeypatch):
    """A flat spectrum takes twice as many multiplications with a quarter of them."""
    flat = np.arange(400.0, 0.0, -1.0)
    done = []
    for extra in (module.OVERSAMPLED, 5):
        done.append([])
        start = np.random.default_rng(1).normal(size=(400, 5 + extra))
        _subspace_iteration(lambda Q: done[-1].append(1) or flat[:, None] * Q, start, 5, 300)
    assert 1.7 * len(done[0]) < len(done[1])
