"""An engine of four verbs, as CONTRIBUTING shows it: methods fit it and predict with it, none knows of it."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import tl1pca
from support import contributed, name
from tl1pca.diagnostics import distances

rng = np.random.default_rng(0)
A = rng.normal(size=(11_000, 4)) * [9.0, 6.0, 4.0, 2.0]
A[::10] += 30.0
B = np.linalg.qr(rng.normal(size=(100, 4)))[0].T
X = A @ B
FITS = [tl1pca.TL1PCA(2), tl1pca.R1PCA(2), tl1pca.TL1SubspacePCA(2, random_state=0)]


@pytest.fixture(scope="module")
def rows():
    return contributed("ProductRows")(A, B)


def test_it_is_short():
    assert len(inspect.getmembers(contributed("ProductRows"), inspect.isfunction)) > 20
    written = [verb for verb in vars(contributed("ProductRows")) if not verb.startswith("_")]
    assert sorted(written) == ["project", "pullback", "scaled", "shifted"]


@pytest.mark.parametrize("estimator", FITS, ids=name)
def test_fit_and_prediction_are_those_of_the_array(rows, estimator, monkeypatch):
    monkeypatch.setattr(type(rows), "array", None)  # all rows at once are not asked for
    fit, whole = clone(estimator).fit(rows), clone(estimator).fit(X)
    np.testing.assert_allclose(fit.components_, whole.components_, atol=1e-7)
    np.testing.assert_allclose(fit.mean_, whole.mean_, atol=1e-6)
    np.testing.assert_allclose(whole.transform(rows), whole.transform(X), atol=1e-10)
    np.testing.assert_allclose(whole.score_samples(rows), whole.score_samples(X), atol=1e-7)
    np.testing.assert_allclose(distances(whole, rows), distances(whole, X), atol=1e-7)


def test_weights_and_rows_without_any(rows):
    v = rng.integers(0, 3, size=len(X))
    fit, whole = (tl1pca.TL1PCA(2, a=2.0).fit(data, sample_weight=v) for data in (rows, X))
    np.testing.assert_allclose(fit.components_, whole.components_, atol=1e-7)
    assert rows.weights is None


def test_a_few_rows_are_loaded_and_methods_that_need_all_of_them_say_so(rows):
    few = contributed("ProductRows")(A[:300], B)
    np.testing.assert_allclose(
        tl1pca.TL1PCA(1).fit(few).components_, tl1pca.TL1PCA(1).fit(X[:300]).components_, atol=1e-9
    )
    with pytest.raises(ValueError, match=r"SparseLpPCA .* in memory only, not an engine of its own"):
        tl1pca.SparseLpPCA(1).fit(rows)
    with pytest.raises(ValueError, match="100 features"):
        tl1pca.TL1PCA(1).fit(X[:50, :3]).transform(rows)
