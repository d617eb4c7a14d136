"""Arrays of other libraries: the answer of NumPy, in the library and on the device of the question."""

import os
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone

from support import ESTIMATORS, gaussian, name, with_components
from tl1pca import L1PCA, R1PCA, TL1PCA, LpPCA, ResidualPCA, TL1SubspacePCA
from tl1pca._arrays import to_numpy
from tl1pca.datasets import make_contaminated
from tl1pca.estimators import _input
from tl1pca.rows import ArrayRows
from tl1pca.solvers import together

pytestmark = pytest.mark.skipif(
    os.environ.get("SCIPY_ARRAY_API") != "1", reason="scikit-learn dispatches only with SCIPY_ARRAY_API=1"
)
FEW = gaussian(60, 6)
MANY = make_contaminated(12_000, 20, 3, fraction=0.2, random_state=0)[0]


@pytest.fixture(params=["array_api_strict", "torch"])
def library(request, monkeypatch):
    """A library whose arrays stay where they are however few entries they have."""
    monkeypatch.setattr(_input, "HOST_ENTRIES", 0)
    with sklearn.config_context(array_api_dispatch=True):
        yield pytest.importorskip(request.param)


def fitted(estimator, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return clone(estimator).fit(X)


def same(actual, expected, tol):
    np.testing.assert_allclose(to_numpy(actual), expected, rtol=tol, atol=tol)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_every_estimator_answers_in_kind(library, estimator):
    X = library.asarray(FEW)
    here, there = (fitted(with_components(estimator, 2), data) for data in (FEW, X))
    kind = type(X)
    for attribute in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_"):
        assert type(getattr(there, attribute)) is kind
        same(getattr(there, attribute), getattr(here, attribute), 1e-8)
    scores = there.transform(X)
    assert type(scores) is kind
    same(scores, here.transform(FEW), 1e-8)
    same(there.inverse_transform(scores), here.inverse_transform(here.transform(FEW)), 1e-8)
    same(there.score_samples(X), here.score_samples(FEW), 1e-8)


@pytest.mark.parametrize(
    "estimator",
    [
        TL1PCA(3),
        TL1PCA(3, a=2.0, center="mean"),
        TL1PCA(2, center="median"),
        TL1SubspacePCA(3, random_state=0),
        L1PCA(2),
        R1PCA(2),
    ],
    ids=name,
)
def test_many_rows(library, estimator):
    X = library.asarray(MANY)
    here, there = fitted(estimator, MANY), fitted(estimator, X)
    tol = 3e-4 if isinstance(here, L1PCA) else 1e-7  # its frame is turned in single precision
    same(there.components_, here.components_, tol)
    same(there.explained_variance_, here.explained_variance_, tol)
    if isinstance(here, TL1SubspacePCA):
        for attribute in ("flags_", "weights_", "score_distances_", "orthogonal_distances_"):
            assert type(getattr(there, attribute)) is type(X)
            same(getattr(there, attribute), getattr(here, attribute), 1e-7)
        same(there.predict(X), here.predict(MANY), 0)
        same(there.decision_function(X), here.decision_function(MANY), 1e-7)


def test_single_precision_agrees_with_double(library):
    data = gaussian(12_000, 20)  # of separate directions: equal ones are not defined to any precision
    X = library.asarray(data.astype(np.float32))
    for estimator in (TL1PCA(3, a=1.0), TL1SubspacePCA(3, random_state=0)):
        there = fitted(estimator, X)
        assert there.components_.dtype == library.float32
        same(there.components_, fitted(estimator, data).components_, 1e-3)


def test_more_columns_than_rows_and_weights(library):
    wide = FEW.T[:, :40]
    same(fitted(TL1PCA(2), library.asarray(wide)).components_, fitted(TL1PCA(2), wide).components_, 1e-8)
    weights = np.random.default_rng(0).integers(0, 3, size=60).astype(float)
    here = TL1PCA(2).fit(FEW, sample_weight=weights)
    there = TL1PCA(2).fit(library.asarray(FEW), sample_weight=library.asarray(weights))
    same(there.components_, here.components_, 1e-8)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(library, bad):
    X = FEW.copy()
    X[3, 2] = bad
    for estimator in (TL1PCA(2), TL1SubspacePCA(2)):
        with pytest.raises(ValueError, match="Input X contains"):
            estimator.fit(library.asarray(X))
        with pytest.raises(ValueError, match="Input X contains"):
            estimator.fit(library.asarray(FEW)).transform(library.asarray(X))


def test_new_rows_come_from_where_the_training_rows_did(library):
    pca = TL1SubspacePCA(2, random_state=0).fit(FEW)
    for method in ("transform", "predict", "decision_function", "distances", "score_samples"):
        with pytest.raises(ValueError, match=rf"TL1SubspacePCA\.{method}\(\) must use the same namespace"):
            getattr(pca, method)(library.asarray(FEW))


@pytest.mark.parametrize("estimator", [TL1PCA(2), TL1SubspacePCA(2), LpPCA(2, p=1.5), R1PCA(2)], ids=name)
def test_few_entries_are_fitted_on_the_host(library, monkeypatch, estimator):
    """And answered in kind, to the last bit of what NumPy's array gets; one entry more stays."""
    X = library.asarray(FEW)
    opened, as_rows = [], _input.as_rows

    def seen(*data):
        opened.append(as_rows(*data))
        return opened[-1]

    monkeypatch.setattr(_input, "as_rows", seen)
    monkeypatch.setattr(_input, "HOST_ENTRIES", FEW.size)
    here, there = fitted(estimator, FEW), fitted(estimator, X)
    assert not any(isinstance(rows, ArrayRows) for rows in opened)
    for attribute in ("components_", "mean_", "explained_variance_"):
        assert type(getattr(there, attribute)) is type(X)
        np.testing.assert_array_equal(to_numpy(getattr(there, attribute)), getattr(here, attribute))
    monkeypatch.setattr(_input, "HOST_ENTRIES", FEW.size - 1)
    fitted(estimator, X)
    assert isinstance(opened[-1], ArrayRows)


def test_without_dispatch_an_array_becomes_numpy():
    torch = pytest.importorskip("torch")
    assert isinstance(TL1PCA(2).fit(torch.asarray(FEW)).components_, np.ndarray)


def test_cuda_stays_on_its_device():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    with sklearn.config_context(array_api_dispatch=True):
        X = torch.asarray(MANY, device="cuda")
        for estimator in (TL1PCA(3), TL1SubspacePCA(3, random_state=0), L1PCA(2)):
            pca = estimator.fit(X)
            assert pca.components_.device == X.device
            assert pca.transform(X).device == X.device


@pytest.mark.parametrize(
    "estimator",
    [TL1PCA(3), TL1PCA(3, a=2.0), L1PCA(3), LpPCA(3, p=1.5), LpPCA(2, p=0.5), R1PCA(3), ResidualPCA(3)],
    ids=name,
)
@pytest.mark.parametrize("shape", [(40_000, 80), (1500, 300), (1200, 1300)], ids=str)
def test_the_rows_stay_where_they_are(monkeypatch, estimator, shape):
    """What comes to the host, by the only way a tensor has: nothing larger than a sixteenth of the data."""
    torch = pytest.importorskip("torch")
    scores = np.random.default_rng(0).normal(size=(shape[0], 5)) * [9, 7, 5, 3, 2]
    X = scores @ np.random.default_rng(1).normal(size=(5, shape[1]))
    X = torch.asarray(X + np.random.default_rng(2).normal(size=shape))
    for module in (_input, together):
        monkeypatch.setattr(module, "HOST_ENTRIES", X.numel() // 16 - 1)
    copied, numpy = [], torch.Tensor.numpy

    def counted(tensor, *args, **options):
        copied.append(tensor.numel())
        return numpy(tensor, *args, **options)

    monkeypatch.setattr(torch.Tensor, "numpy", counted)
    with sklearn.config_context(array_api_dispatch=True):
        fitted(clone(estimator).set_params(max_iter=10), X)  # later iterations copy what the first ones do
    assert copied, "the monitor sees nothing"
    assert max(copied) < X.numel() / 16, sorted(copied)[-5:]
