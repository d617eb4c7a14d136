"""What a fit is used for: the same answers wherever the rows are, in any units, whole or in parts."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA

import tl1pca
from support import ESTIMATORS, Sliced, contributed, gaussian, name, with_components
from tl1pca._subspace import Subspace
from tl1pca.diagnostics import distances
from tl1pca.rows import DenseRows

da = pytest.importorskip("dask.array")
X = gaussian(80, 6)
by_name = {"ids": name}
#: The same rows wherever they may be.
FORMS = {
    "sparse": sp.csr_array,
    "blocks": Sliced,
    "dask": lambda A: da.from_array(A, chunks=(30, -1)),
    "engine": lambda A: contributed("ProductRows")(A, np.eye(A.shape[1])),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("tl1pca.rows.sources.BLOCK_BYTES", 17 * 6 * 8)


@pytest.fixture(scope="module", params=ESTIMATORS, ids=name)
def fit(request):
    return with_components(request.param, 2).fit(X)


@pytest.mark.parametrize("form", FORMS)
def test_the_answers_of_an_array(fit, form):
    given, T = FORMS[form](X), fit.transform(X)
    answers = [
        (fit.transform(given), T),
        (fit.inverse_transform(FORMS[form](T)), fit.inverse_transform(T)),
        (fit.score_samples(given), fit.score_samples(X)),
        *zip(distances(fit, given), distances(fit, X)),
    ]
    for found, right in answers:
        assert isinstance(found, da.Array if form == "dask" else np.ndarray)
        assert (found.shape, found.dtype) == (right.shape, right.dtype)
        np.testing.assert_allclose(np.asarray(found), right, atol=1e-9)
    assert fit.score(given) == pytest.approx(fit.score(X))


def test_explicit_arithmetic(fit):
    if isinstance(fit, tl1pca.TL1CellPCA):
        pytest.skip("scores of a robust fit of every row, distances in deviations: see test_cell")
    T, W = fit.transform(X), fit.components_
    np.testing.assert_allclose(T, (X - fit.mean_) @ np.linalg.pinv(W), atol=1e-10)
    np.testing.assert_allclose(fit.inverse_transform(T), T @ W + fit.mean_, atol=1e-12)
    np.testing.assert_allclose(
        -fit.score_samples(X), np.linalg.norm(X - fit.inverse_transform(T), axis=1), atol=1e-9
    )
    assert T.flags.c_contiguous
    assert fit.inverse_transform(T).flags.c_contiguous


@pytest.mark.parametrize("exponent", [-300, -170, 150, 300])
def test_units_beyond_the_squares(exponent):
    """A distance is right where the square of an entry is not a number of its type."""
    scale = 10.0**exponent
    pca = tl1pca.TL1SubspacePCA(2, random_state=0).fit(X)
    far = clone(pca).fit(X * scale)
    np.testing.assert_allclose(far.score_samples(X * scale) / scale, pca.score_samples(X), rtol=1e-6)
    np.testing.assert_allclose(far.transform(X * scale) / scale, pca.transform(X), rtol=1e-6, atol=1e-9)
    if exponent == 150:  # variances of the others are not numbers of the type
        np.testing.assert_array_equal(far.predict(X * scale), pca.predict(X))


def test_a_row_is_answered_for_itself():
    pca = tl1pca.TL1SubspacePCA(2, random_state=0).fit(X)
    wild = X.copy()
    wild[0] *= 1e200
    np.testing.assert_allclose(pca.score_samples(wild)[1:], pca.score_samples(X)[1:], rtol=1e-10)


def test_missing_entries_wherever_the_rows_are():
    pca = tl1pca.L1ReconstructionPCA(2).fit(X)
    holes = X.copy()
    holes[3, 2], holes[40, :5], holes[79, 0] = np.nan, np.nan, np.nan
    T, whole = pca.transform(holes), ~np.isnan(holes).any(axis=1)
    np.testing.assert_allclose(T[whole], pca.transform(X)[whole], atol=1e-12)
    for i in np.flatnonzero(~whole):
        seen = ~np.isnan(holes[i])
        W, x = pca.components_.T[seen], (holes[i] - pca.mean_)[seen]
        np.testing.assert_allclose(T[i], np.linalg.lstsq(W, x, rcond=None)[0], atol=1e-10)
        assert -pca.score_samples(holes)[i] == pytest.approx(np.linalg.norm(x - W @ T[i]), abs=1e-10)
    for form in ("blocks", "dask"):
        np.testing.assert_allclose(np.asarray(pca.transform(FORMS[form](holes))), T, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_distances_to_a_fit_of_scikit_learn(form):
    pca = PCA(2).fit(X)
    for found, right in zip(distances(pca, FORMS[form](X)), distances(pca, X)):
        np.testing.assert_allclose(np.asarray(found), right, atol=1e-9)


@pytest.mark.parametrize("bad", [np.ones(3), np.ones((4, 3)), np.ones((2, 2, 2))], ids=["1d", "3", "3d"])
def test_scores_of_another_shape(bad):
    with pytest.raises(ValueError, match=r"scores of shape \(n_samples, 2\), got an array of shape"):
        tl1pca.TL1PCA(2).fit(X).inverse_transform(bad)


def test_components_that_repeat_themselves():
    """Least squares onto a span of fewer dimensions than components: the shortest coefficients."""
    W = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]])
    plane = Subspace(np.zeros(3), W, np.ones(2))
    A = np.random.default_rng(0).normal(size=(7, 3))
    np.testing.assert_allclose(plane.scores(DenseRows(A)), A @ np.linalg.pinv(W), atol=1e-12)
    rest = A - A @ np.linalg.pinv(W) @ W
    np.testing.assert_allclose(plane.negative_distances(DenseRows(A)), -np.linalg.norm(rest, axis=1))
