"""ImagePCA: the method of the estimator on stacked rows, and both sides by turns."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import tl1pca
from family import IMAGES
from tl1pca import L1PCA, R1PCA, TL1PCA, GeneralizedLpPCA, ImagePCA, LpPCA, SparseLpPCA

D = IMAGES - IMAGES.mean(axis=0)
RNG = np.random.default_rng(0)
MORE = RNG.normal(size=(30, 5, 4)) * [3.0, 2.0, 1.0, 0.5] + RNG.normal(size=(5, 4))
METHODS = [
    LpPCA(2, p=2),
    L1PCA(2),
    TL1PCA(2, a=1.0),
    GeneralizedLpPCA(2, s=1, p=1.5),
    SparseLpPCA(2, n_nonzero=2),
]


@pytest.mark.parametrize("estimator", [*METHODS, R1PCA(2)], ids=lambda e: type(e).__name__)
def test_is_the_method_on_stacked_rows_less_the_mean_image(estimator):
    centered = MORE - MORE.mean(axis=0)
    plain = type(estimator)(**{**estimator.get_params(deep=False), "center": None})
    for side, rows in (("right", centered), ("left", centered.transpose(0, 2, 1))):
        want = plain.fit(rows.reshape(-1, rows.shape[2]))
        pca = ImagePCA(estimator, side=side).fit(MORE)
        np.testing.assert_array_equal(pca.axes_[0], want.components_)
        assert pca.objective_ == want.objective_
        scores = want.transform(rows.reshape(-1, rows.shape[2])).reshape(30, -1, 2)
        scores = scores if side == "right" else scores.transpose(0, 2, 1)
        np.testing.assert_allclose(pca.transform(MORE), scores.reshape(30, -1), atol=1e-12)


def test_the_mean_image_is_not_the_mean_row():
    wrong = LpPCA(3, p=2, center="mean").fit(IMAGES.reshape(-1, 3)).objective_
    assert wrong == pytest.approx(412.61 + 171.63 + 30.69, rel=1e-4)
    assert ImagePCA(LpPCA(3, p=2)).fit(IMAGES).objective_ == pytest.approx((D**2).sum())


def test_images_of_one_row_are_rows():
    rows = MORE.reshape(30, -1)
    pca, plain = ImagePCA(TL1PCA(3)).fit(rows), TL1PCA(3, center="mean").fit(rows)
    np.testing.assert_allclose(pca.transform(rows), plain.transform(rows), atol=1e-10)
    np.testing.assert_allclose(pca.score_samples(rows), plain.score_samples(rows), atol=1e-10)


def test_flat_rows_and_arrays_of_images_are_the_same():
    flat = MORE.reshape(30, -1)
    a, b = ImagePCA(TL1PCA(2)).fit(MORE), ImagePCA(TL1PCA(2), image_shape=(5, 4)).fit(flat)
    np.testing.assert_array_equal(a.transform(MORE), b.transform(flat))
    np.testing.assert_array_equal(a.transform(flat), b.transform(MORE))
    assert a.inverse_transform(a.transform(MORE)).shape == (30, 5, 4)
    assert b.inverse_transform(b.transform(flat)).shape == (30, 20)


@pytest.mark.parametrize("side", ["right", "left", "both"])
@pytest.mark.parametrize("estimator", METHODS[:3] + METHODS[4:], ids=lambda e: type(e).__name__)
def test_reconstruction_is_a_projection(estimator, side):
    pca = ImagePCA(estimator, side=side).fit(MORE)
    back = pca.inverse_transform(pca.transform(MORE))
    np.testing.assert_allclose(pca.transform(back), pca.transform(MORE), atol=1e-9)
    np.testing.assert_allclose(
        pca.score_samples(MORE), -np.linalg.norm((MORE - back).reshape(30, -1), axis=1), atol=1e-9
    )
    full = type(estimator)(**{**estimator.get_params(deep=False), "n_components": None})
    whole = ImagePCA(full, side=side).fit(MORE)
    np.testing.assert_allclose(whole.inverse_transform(whole.transform(MORE)), MORE, atol=1e-9)


@pytest.mark.parametrize("estimator", METHODS[:3] + METHODS[4:], ids=lambda e: type(e).__name__)
def test_turns_never_descend(estimator):
    pca = ImagePCA(estimator, side="both", n_components=(3, 2)).fit(MORE)
    assert [axes.shape for axes in pca.axes_] == [(3, 5), (2, 4)]
    assert (np.diff(pca.objective_path_[0]) >= 0).all()
    assert pca.transform(MORE).shape == (30, 6)


@pytest.mark.parametrize("seed", range(5))
def test_of_equally_good_axes_units_do_not_choose(seed):
    """A side of which all is kept may be turned: its axes are those that the estimator found last."""
    images = np.random.default_rng(seed).normal(size=(60, 2, 2, 2)) * [[[3.0]], [[1.0]]]
    pca = ImagePCA(LpPCA(p=2), side="both", n_components=(1, 2, 1))
    near, far = (pca.fit(c * images).transform(c * images) / c for c in (1.0, 1 / 3))
    np.testing.assert_allclose(far, near, atol=1e-6)


def test_order_two_of_tensors_is_both_sides():
    images = ImagePCA(LpPCA(2, p=2), side="both").fit(MORE)
    tensors = ImagePCA(LpPCA(2, p=2), side="both", n_components=(2, 2, 1)).fit(MORE[..., None])
    assert images.objective_ == pytest.approx(tensors.objective_)


def test_weights_are_repetitions():
    v = RNG.integers(0, 3, size=30)
    for side in ("right", "both"):
        weighted = ImagePCA(LpPCA(2, p=2), side=side).fit(MORE, sample_weight=v)
        repeated = ImagePCA(LpPCA(2, p=2), side=side).fit(np.repeat(MORE, v, axis=0))
        assert weighted.objective_ == pytest.approx(repeated.objective_)
        np.testing.assert_allclose(weighted.axes_[0], repeated.axes_[0], atol=1e-5)


def test_in_a_pipeline():
    y = np.arange(30) % 2
    shifted = MORE.reshape(30, -1) + 3.0 * y[:, None]
    pipe = make_pipeline(ImagePCA(TL1PCA(2), image_shape=(5, 4)), LogisticRegression()).fit(shifted, y)
    assert pipe.score(shifted, y) == 1.0
    assert len(pipe[0].get_feature_names_out()) == 10


def test_squares_of_huge_images_do_not_overflow():
    pca = ImagePCA(LpPCA(2, p=2), side="both").fit(1e200 * MORE)
    for axes, want in zip(pca.axes_, ImagePCA(LpPCA(2, p=2), side="both").fit(MORE).axes_):
        np.testing.assert_allclose(axes, want, atol=1e-6)


@pytest.mark.parametrize("side", ["right", "both"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_model_files(side, dtype, tmp_path):
    pca = ImagePCA(TL1PCA(2, a=1.0), side=side).fit(MORE.astype(dtype))
    tl1pca.save(pca, tmp_path / "model.npz")
    back = tl1pca.load(tmp_path / "model.npz")
    assert vars(back).keys() == vars(pca).keys()
    new = MORE.astype(dtype)
    assert pca.transform(new).dtype == dtype
    np.testing.assert_array_equal(back.transform(new), pca.transform(new))


@pytest.mark.parametrize(
    ("pca", "data", "message"),
    [
        (
            ImagePCA(image_shape=(3, 3)),
            MORE.reshape(30, -1),
            r"image_shape=\(3, 3\) has 9 entries and does not fit",
        ),
        (ImagePCA(image_shape=(4, 5)), MORE, r"does not fit X, which holds images of shape \(5, 4\)"),
        (ImagePCA(image_shape=(20,)), MORE.reshape(30, -1), "two or more positive integers"),
        (ImagePCA(image_shape="5x4"), MORE.reshape(30, -1), "two or more positive integers"),
        (ImagePCA(), np.ones((4, 3, 3)), "All images are equal"),
        (ImagePCA(side="top"), MORE, "side must be one of 'right', 'left', 'both'"),
        (ImagePCA(side="both"), MORE, "settles its shape on each"),
        (ImagePCA(R1PCA(2), side="both"), MORE, "R1PCA has none of its own"),
        (ImagePCA(tl1pca.TL1SubspacePCA(2)), MORE, "has a center of its own"),
        (ImagePCA(n_components=(2, 2)), MORE, "one number for each of the 1 reduced sides"),
        (ImagePCA(n_components=0.5), MORE, "n_components of ImagePCA"),
        (ImagePCA(TL1PCA(5)), MORE, "n_components=5"),
        (ImagePCA(), np.where(MORE > 2, np.nan, MORE), "NaN"),
    ],
)
def test_bad_input(pca, data, message):
    with pytest.raises(ValueError, match=message):
        pca.fit(data)


def test_images_of_another_shape():
    pca = ImagePCA(TL1PCA(2)).fit(MORE)
    with pytest.raises(ValueError, match=r"shape \(4, 5\), ImagePCA was fitted to images of shape \(5, 4\)"):
        pca.transform(MORE.transpose(0, 2, 1))
    with pytest.raises(ValueError, match=r"\(n_samples, 10\)"):
        pca.inverse_transform(MORE.reshape(30, -1))
    with pytest.raises(TypeError, match="PCA of tl1pca"):
        ImagePCA(LogisticRegression()).fit(MORE)
