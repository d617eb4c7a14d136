"""Scree, convergence, operators, images: what is drawn is what the estimator holds."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from support import KINDS, OPERATORS, gaussian, name, with_components
from tl1pca import TL1, TL1PCA, Huber, Lp, TL1SubspacePCA
from tl1pca.displays import ConvergenceDisplay, OperatorDisplay, ReconstructionDisplay, ScreeDisplay

X = gaussian(60, 6)


@pytest.mark.parametrize("estimator", [*KINDS, PCA()], ids=name)
def test_scree(estimator, render):
    pca = with_components(estimator, 3).fit(X)
    drawn = render(ScreeDisplay.from_estimator(pca))
    share = 100 * pca.explained_variance_ratio_
    np.testing.assert_allclose([bar.get_height() for bar in drawn.bars_], share)
    np.testing.assert_allclose(drawn.line_.get_ydata(), np.cumsum(share))
    np.testing.assert_array_equal(drawn.line_.get_xdata(), [1, 2, 3])
    # The axis on the right reads the variances of all bars.
    low, high = drawn.variance_axis_.get_ylim()
    bottom, top = drawn.ax_.get_ylim()
    np.testing.assert_allclose(
        low + (share - bottom) / (top - bottom) * (high - low), pca.explained_variance_
    )


def test_scree_without_variance(render):
    drawn = render(ScreeDisplay(explained_variance=np.zeros(2), explained_variance_ratio=np.zeros(2)).plot())
    assert drawn.variance_axis_ is None
    tiny = render(ScreeDisplay.from_estimator(TL1SubspacePCA(2, random_state=0).fit(1e-200 * X)))
    assert tiny.variance_axis_ is None  # its square is below the smallest number


@pytest.mark.parametrize("estimator", KINDS, ids=name)
@pytest.mark.parametrize("relative", [False, True])
def test_convergence(estimator, relative, render):
    pca = with_components(estimator, 3).fit(X)
    drawn = render(ConvergenceDisplay.from_estimator(pca, relative=relative))
    assert len(drawn.lines_) == len(pca.objective_path_)
    for line, path in zip(drawn.lines_, pca.objective_path_):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(len(path)))
        np.testing.assert_allclose(line.get_ydata(), path / path[-1] if relative else path)
    shown = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
    one_by_one = [f"component {i}" for i in (1, 2, 3)]
    assert shown == (["all 3 components"] if len(drawn.lines_) == 1 else one_by_one)
    assert len({(line.get_color(), line.get_marker()) for line in drawn.lines_}) == len(drawn.lines_)


def test_convergence_of_many_components(render):
    Z = gaussian(60, 12)
    drawn = render(ConvergenceDisplay.from_estimator(TL1PCA(10, a=1.0).fit(Z)))
    assert len(drawn.lines_) == 8
    assert drawn.ax_.get_legend().get_title().get_text() == "the first 8 of 10"


def test_nothing_is_relative_to_zero(plt):
    with pytest.raises(ValueError, match="relative=False"):
        ConvergenceDisplay(paths=[np.array([1.0, 0.0])], names=["a"]).plot(relative=True)
    assert plt.get_fignums() == []


# ------------------------------------------------------------------------------------------ operators
@pytest.mark.parametrize("operator", {type(operator): operator for operator in OPERATORS}.values(), ids=name)
def test_operators(operator, render):
    drawn = render(OperatorDisplay.from_operators([operator], reach=3.0))
    u, value = drawn.value_lines_[0].get_data()
    np.testing.assert_array_equal(value, operator.value(u))
    assert (u[0], u[-1]) == (0.0, 3.0)
    u, slope = drawn.slope_lines_[0].get_data()
    np.testing.assert_array_equal(slope, operator.slope(u))
    assert drawn.axes_[1].get_yscale() == "log"


def test_several_operators_differ_in_color_and_dash(render):
    drawn = render(OperatorDisplay.from_operators({"a": TL1(a=1.0), "b": Lp(p=2), "c": Huber(c=1.0)}))
    for lines in (drawn.value_lines_, drawn.slope_lines_):
        assert (
            len({line.get_color() for line in lines})
            == len({str(line.get_linestyle()) for line in lines})
            == 3
        )
    assert drawn.axes_[0].get_ylim()[1] == pytest.approx(1.08 * 5.0)  # the square leaves the picture


def test_operator_errors(plt):
    with pytest.raises(ValueError, match=r"TL1\(\) has no shape before it has seen data"):
        OperatorDisplay.from_operators([TL1()])
    with pytest.raises(ValueError, match="0 operators were given"):
        OperatorDisplay.from_operators([])
    with pytest.raises(ValueError, match="9 operators"):
        OperatorDisplay.from_operators([TL1(a=float(i)) for i in range(1, 10)])
    with pytest.raises(ValueError, match="reach must be"):
        OperatorDisplay.from_operators([Lp()], reach=0.0)
    with pytest.raises(ValueError, match="a of the Tl1 operator"):
        OperatorDisplay.from_operators([TL1(a=-1.0)])
    assert plt.get_fignums() == []
    with pytest.raises(ValueError, match="subplots only"):
        OperatorDisplay.from_operators([Lp()], ax=plt.figure().add_axes((0, 0, 1, 1)))


# ------------------------------------------------------------------------------------------ images
@pytest.mark.parametrize("estimator", [*KINDS, PCA()], ids=name)
def test_reconstruction(estimator, render):
    pca = with_components(estimator, 2).fit(X)
    drawn = render(ReconstructionDisplay.from_estimator(pca, X, image_shape=(2, 3), rows=[5, 0, -1]))
    chosen = X[[5, 0, -1]]
    fit = pca.inverse_transform(pca.transform(chosen))
    for j in range(3):
        shown = [np.asarray(drawn.pictures_[i, j].get_array()).ravel() for i in range(3)]
        for got, want in zip(shown, (chosen[j], fit[j], chosen[j] - fit[j])):
            np.testing.assert_allclose(got, want, atol=1e-12)
        length = np.linalg.norm(chosen[j] - fit[j])
        assert drawn.axes_[0, j].get_title() == f"{drawn.labels[j]}\noff by {length:.3g}"
    assert drawn.labels == ["row 6", "row 1", "row 60"]
    limits = {picture.get_clim() for picture in drawn.pictures_[:2].flat}
    assert len(limits) == 1
    low, high = drawn.pictures_[2, 0].get_clim()
    assert low == -high


def test_square_images_and_the_first_eight_by_default(render):
    Z = gaussian(30, 9)
    drawn = render(ReconstructionDisplay.from_estimator(TL1SubspacePCA(2, random_state=0).fit(Z), Z))
    assert drawn.images.shape == (8, 3, 3)
    np.testing.assert_array_equal(drawn.images[7].ravel(), Z[7])


@pytest.mark.parametrize("shape", [(2, 2), (6,), (0, 6), (-2, -3), (1, 2, 3)])
def test_wrong_image_shape(shape):
    with pytest.raises(ValueError, match="6 features do not make image_shape"):
        ReconstructionDisplay.from_estimator(PCA(2).fit(X), X, image_shape=shape)


def test_image_errors():
    pca = PCA(2).fit(X)
    with pytest.raises(ValueError, match=r"6 features are not a square; give image_shape=\(height, width\)"):
        ReconstructionDisplay.from_estimator(pca, X)
    for rows, message in (([], "at least one"), ([0.5], "numbers of rows"), ([60], "between 0 and 59")):
        with pytest.raises(ValueError, match=message):
            ReconstructionDisplay.from_estimator(pca, X, image_shape=(2, 3), rows=rows)
