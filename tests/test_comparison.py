import builtins

import numpy as np
import pytest
from sklearn.decomposition import PCA

import tl1pca
from tl1pca import L1PCA, TL1PCA, L1ReconstructionPCA, TL1CellPCA, TL1SubspacePCA, compare
from tl1pca.datasets import make_contaminated

X, BAD, AXES = make_contaminated(200, 8, 2, fraction=0.25, random_state=0)


def test_defaults_tell_the_story():
    table = compare(X, n_components=2)
    assert list(table.index) == ["PCA", "L1PCA", "R1PCA", "TL1PCA", "TL1SubspacePCA"]
    assert {"objective", "n_components", "outliers", "time", "n_iter", "converged"} <= set(table.columns)
    angles = table[[f"angle to {method}" for method in table.index]].to_numpy()
    np.testing.assert_allclose(angles, angles.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(angles), 0, atol=1e-6)
    assert table.loc["TL1SubspacePCA", "angle to PCA"] > 45
    assert table.loc["TL1SubspacePCA", "outliers"] >= BAD.sum()
    assert (table["time"] > 0).all()


def test_names_and_estimators_are_kept():
    mine = TL1PCA(a=1.0)
    table = compare(X, {"small a": mine, "robust": TL1SubspacePCA(random_state=0)}, n_components=1)
    assert list(table.index) == ["small a", "robust"]
    assert mine.n_components is None
    assert not hasattr(mine, "components_")
    twice = compare(X, [PCA(1), L1PCA(1), L1PCA(1, greedy=True)])
    assert list(twice.index) == ["PCA", "L1PCA", "L1PCA 2"]


def test_without_pandas_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"tl1pca\[cli\]"):
        compare(X)


def test_public_names():
    for module in (tl1pca, tl1pca.diagnostics, tl1pca.operators, tl1pca.datasets):
        assert sorted(module.__all__) == sorted(set(module.__all__))
        for public in module.__all__:
            assert hasattr(module, public)


def test_missing_values_are_met_with_advice_that_helps_here():
    X = np.random.default_rng(0).normal(size=(60, 5))
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="PCA takes complete rows") as error:
        compare(X)
    assert "Boosting" not in str(error.value)
    assert compare(X, [TL1CellPCA(2), L1ReconstructionPCA(2)]).shape[0] == 2
