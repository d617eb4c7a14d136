"""EulerPCA: the complex method, its golden values and limits."""

import numpy as np
import pytest

import tl1pca
from family import ROWS
from support import gaussian
from tl1pca import EulerPCA

X = gaussian(30, 5)


def test_golden_values():
    pca = EulerPCA().fit(ROWS)
    want = [11.0065859537, 2.9659665705, 1.5804606463, 0.4469868294]
    np.testing.assert_allclose(8 * pca.explained_variance_, want, rtol=1e-9)
    two = EulerPCA(2).fit(ROWS)
    back = (two.inverse_transform(two.transform(ROWS))[0] + 6.0) / 13.0
    np.testing.assert_allclose(back, [0.5926081604, 0.543320782, 0.453253034, 0.5623035657], atol=1e-9)
    Z = two._on_circle(ROWS)
    V = two._components
    assert (np.abs(Z - Z @ V.conj().T @ V) ** 2).sum() == pytest.approx(2.0274474758)
    assert (np.abs(Z[0] - Z[1]) ** 2).sum() == pytest.approx(1.1185924708)


def test_a_real_map_is_another_method():
    Z = EulerPCA().fit(ROWS)._on_circle(ROWS)
    real = np.linalg.svd(np.hstack([Z.real, Z.imag]), compute_uv=False)[:3] ** 2
    np.testing.assert_allclose(real, [9.5531988093, 3.3660427206, 1.3702110903], rtol=1e-9)


def test_all_components_give_the_rows_back():
    pca = EulerPCA().fit(X)
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)), X, atol=1e-9)


def test_a_common_shift_is_a_phase():
    np.testing.assert_allclose(
        EulerPCA().fit(X + 9.0).explained_variance_, EulerPCA().fit(X).explained_variance_, rtol=1e-9
    )


def test_small_angles_are_pca_of_the_rows():
    alpha = 1e-4
    pca = EulerPCA(alpha=alpha).fit(ROWS)
    Z = pca._on_circle(ROWS)
    ours = np.linalg.svd(Z - Z.mean(axis=0), compute_uv=False) ** 2 * 2 / (alpha * np.pi) ** 2
    share = (ROWS + 6.0) / 13.0
    theirs = np.linalg.svd(share - share.mean(axis=0), compute_uv=False) ** 2
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_components_are_orthonormal_with_a_definite_phase():
    V = EulerPCA(3).fit(X)._components
    np.testing.assert_allclose(V @ V.conj().T, np.eye(3), atol=1e-12)
    largest = V[np.arange(3), np.abs(V).argmax(axis=1)]
    np.testing.assert_allclose(largest.imag, 0.0, atol=1e-12)
    assert (largest.real > 0).all()


def test_far_entries_are_no_further_than_the_ends():
    pca = EulerPCA(2).fit(X)
    np.testing.assert_array_equal(pca.transform(X + 1e9), pca.transform(X + 1e6))


def test_model_files(tmp_path):
    pca = EulerPCA(2).fit(X)
    tl1pca.save(pca, tmp_path / "model.npz")
    np.testing.assert_array_equal(tl1pca.load(tmp_path / "model.npz").transform(X), pca.transform(X))


@pytest.mark.parametrize(
    ("pca", "data", "message"),
    [
        (EulerPCA(alpha=2.0), X, r"alpha must be in \(0, 2\)"),
        (EulerPCA(alpha="1"), X, r"alpha must be in \(0, 2\)"),
        (EulerPCA(6), X, "n_components=6"),
        (EulerPCA(0), X, "n_components"),
        (EulerPCA(), np.ones((5, 3)), "All entries of X are equal"),
    ],
)
def test_bad_input(pca, data, message):
    with pytest.raises(ValueError, match=message):
        pca.fit(data)
    with pytest.raises(ValueError, match=r"\(n_samples, 4\)"):
        EulerPCA(2).fit(X).inverse_transform(X)
