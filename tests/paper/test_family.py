"""Golden values of the methods that the paper cites as variants; found by enumeration or closed forms."""

import numpy as np
import pytest

from family import GROUPS, IMAGES, POINTS, ROWS, along
from tl1pca import (
    L1PCA,
    TL1LDA,
    TL1PCA,
    DispersionPCA,
    GeneralizedLpPCA,
    ImagePCA,
    KernelizedPCA,
    Lp,
    LpPCA,
    RegularizedL1PCA,
    SparseLpPCA,
    SparseTL1PCA,
)
from tl1pca.solvers import SphereAscent, TraceLasso


class TestImages:
    def test_2dpca(self):
        pca = ImagePCA(LpPCA(3, p=2, greedy=True)).fit(IMAGES)
        values = [path[-1] for path in pca.objective_path_]
        np.testing.assert_allclose(values, [337.3399913480, 143.7893722535, 29.6706363985], rtol=1e-9)
        along(pca.axes_[0][0], [0.3137166687, -0.6562625202, 0.6862225269])

    def test_2dpca_l1(self):
        pca = ImagePCA(L1PCA(2, greedy=True)).fit(IMAGES)
        np.testing.assert_allclose([p[-1] for p in pca.objective_path_], [56.4581260759, 40.4323732366])
        along(pca.axes_[0][0], [-0.0779338654, 0.7084896857, -0.7014047889])

    @pytest.mark.parametrize(
        ("s", "p", "value"), [(1, 1.5, 50.1574132347), (1.5, 1.5, 108.7233116810), (1, 3, 63.8309439958)]
    )
    def test_generalized_2dpca(self, s, p, value):
        assert ImagePCA(GeneralizedLpPCA(1, s=s, p=p)).fit(IMAGES).objective_ == pytest.approx(
            value, rel=1e-8
        )

    @pytest.mark.parametrize(
        ("a", "first", "second", "w"),
        [
            (1.0, 21.5512489772, 18.6385946744, [0.1628361285, 0.704653311, -0.6906142965]),
            (10.0, 40.9037000996, 32.2620794194, [0.0147580499, 0.7206402533, -0.693152094]),
        ],
    )
    def test_2dpca_tl1(self, a, first, second, w):
        pca = ImagePCA(TL1PCA(2, a=a)).fit(IMAGES)
        np.testing.assert_allclose([p[-1] for p in pca.objective_path_], [first, second], rtol=1e-8)
        along(pca.axes_[0][0], w)

    def test_2dpca_tl1_on_the_left(self):
        # The optimum of 300 random starts; the default solver of TL1PCA ends in a cell 0.2 % below it.
        found = ImagePCA(TL1PCA(1, a=1.0), side="left").fit(IMAGES).objective_
        assert 0.997 * 21.0556049319 < found < 21.0556049320

    def test_both_sides_with_squares(self):
        pca = ImagePCA(LpPCA(1, p=2), side="both", tol=1e-14).fit(IMAGES)
        assert pca.objective_path_[0][0] == pytest.approx(322.2834919461)
        assert pca.objective_ == pytest.approx(323.3833827472)
        left, right = (axes[0] for axes in pca.axes_)
        along(left, [0.6585612062, -0.6312984932, -0.4095843629], 1e-5)
        along(right, [0.3773774679, -0.6398600582, 0.6694515312], 1e-5)
        assert ImagePCA(LpPCA(2, p=2), side="both").fit(IMAGES).objective_ == pytest.approx(468.6103534619)

    def test_both_sides_with_tl1(self):
        pca = ImagePCA(TL1PCA(1, a=1.0), side="both").fit(IMAGES)
        assert pca.objective_ == pytest.approx(8.0915145952, rel=1e-8)
        along(pca.axes_[0][0], [-0.6624349635, -0.0731842303, 0.7455360404], 1e-4)
        along(pca.axes_[1][0], [0.3880903887, 0.6594982078, -0.6437763308], 1e-4)

    def test_tensors_of_order_three(self):
        tensors = np.arange(32).reshape(4, 2, 2, 2) * 7 % 13 - 6
        pca = ImagePCA(LpPCA(1, p=2), side="both", tol=1e-14).fit(tensors)
        assert pca.objective_path_[0][0] == pytest.approx(180.6378945406)
        assert pca.objective_ == pytest.approx(201.5074148683)


class TestKernels:
    def test_l1_norm_kernel_pca(self):
        """Kim and Klabjan's optimum, by all signs c: the largest c'Kc."""
        estimator = DispersionPCA(2, operator=Lp(p=1), solver=SphereAscent(), center=None)
        pca = KernelizedPCA(estimator, gamma=0.1).fit(ROWS)
        values = [path[-1] for path in pca.estimator_.objective_path_]
        np.testing.assert_allclose(values, [3.4299661610, 2.8251668252], rtol=1e-9)
        t = pca.transform(ROWS)[:, 0]
        along(t[:2], [0.4475902292, -0.2848098422])
        assert (np.sign(t) * np.sign(t[0])).tolist() == [1, -1, 1, -1, 1, -1, -1, 1]
        assert abs(pca.transform([[1, 1, 1, 1]])[0, 0]) == pytest.approx(0.1558024318)

    def test_the_published_iteration_ends_at_a_fixed_point(self):
        """C <- sign(Kc) changes nothing where the sign fixed point of L1PCA ends, which may be local."""
        pca = KernelizedPCA(L1PCA(1, greedy=True, center=None), gamma=0.1).fit(ROWS)
        K = np.exp(-0.1 * ((ROWS[:, None] - ROWS) ** 2).sum(axis=2))
        H = np.eye(8) - 1 / 8
        c = np.where(pca.transform(ROWS)[:, 0] < 0, -1.0, 1.0)
        assert (np.where(H @ K @ H @ c < 0, -1.0, 1.0) == c).all()
        assert pca.estimator_.objective_ == pytest.approx(np.sqrt(c @ H @ K @ H @ c))
        assert pca.estimator_.objective_ <= 3.4299661610

    def test_spectrum_of_the_coordinates(self):
        pca = KernelizedPCA(LpPCA(3, p=2, greedy=True, center=None), gamma=0.1).fit(ROWS)
        values = [path[-1] for path in pca.estimator_.objective_path_]
        np.testing.assert_allclose(values, [1.6658373733, 1.154426415, 0.9483243085], rtol=1e-8)
        assert len(pca.factor_) == 7

    def test_tl1_in_feature_space(self):
        pca = KernelizedPCA(TL1PCA(1, a=0.5, center=None), gamma=0.1).fit(ROWS)
        assert pca.estimator_.objective_ == pytest.approx(5.4890093057)

    def test_linear_kernel(self):
        l1 = DispersionPCA(1, operator=Lp(p=1), solver=SphereAscent(), center=None)
        assert KernelizedPCA(l1, kernel="linear").fit(ROWS).estimator_.objective_ == pytest.approx(
            21.4679994410
        )
        tl1 = TL1PCA(1, a=1.0, center=None)
        assert KernelizedPCA(tl1, kernel="linear").fit(ROWS).estimator_.objective_ == pytest.approx(
            10.9349182900
        )


#: Optima over all supports: features and value.
SPARSE = [
    (1.0, 1, [0], 28 / 3),
    (1.0, 2, [0, 1], 10.0747155489),
    (1.0, 3, [0, 2, 3], 10.6535949122),
    (5.0, 1, [0], 12.9285714286),
    (5.0, 2, [0, 3], 13.8179956590),
    (5.0, 3, [0, 2, 3], 14.4957925845),
    (None, 1, [0], 17.0),
    (None, 2, [0, 3], 19.2093727123),
    (None, 3, [0, 1, 2], 20.0499376558),
]


@pytest.mark.parametrize(("a", "k", "support", "value"), SPARSE)
def test_sparse_optima_over_all_supports(a, k, support, value):
    if a is None:
        pca = SparseLpPCA(1, p=1, n_nonzero=k, center=None).fit(ROWS)
    else:
        pca = SparseTL1PCA(1, a=a, n_nonzero=k, center=None).fit(ROWS)
    assert np.flatnonzero(pca.components_[0]).tolist() == support
    assert pca.objective_ == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(("k", "value"), [(1, 15.0), (2, 19.1026595586), (3, 19.7142233529)])
def test_where_the_published_sparse_rule_stops(k, value):
    pca = SparseLpPCA(1, p=1, n_nonzero=k, center=None, solver="paper").fit(ROWS)
    assert pca.objective_ == pytest.approx(value, rel=1e-6)


class TestDiscriminants:
    """The optimum sits on a kink: the far point's row within its class is orthogonal to it."""

    @pytest.mark.parametrize(("a", "value"), [(1.0, 2.2907035849), (5.0, 3.2266245538)])
    def test_points(self, a, value):
        lda = TL1LDA(1, a=a).fit(POINTS, GROUPS)
        assert lda.objective_path_[0][-1] == pytest.approx(value, rel=1e-9)
        along(lda.components_[0], [-0.5214500095, 0.8532818337], 1e-8)

    def test_great_shape_is_lda_l1(self):
        lda = TL1LDA(1, a=1e9).fit(POINTS, GROUPS)
        assert lda.objective_path_[0][-1] == pytest.approx(3.9549929677, rel=1e-7)

    def test_small_shape_counts_rows_that_vanish(self):
        lda = TL1LDA(1, a=0.01).fit(POINTS, GROUPS)
        assert lda.objective_path_[0][-1] == pytest.approx(1.3369407477, rel=1e-9)
        along(lda.components_[0], np.array([2.0, 1.0]) / np.sqrt(5.0), 1e-8)

    @pytest.mark.parametrize(
        ("a", "value", "w"),
        [
            (1.0, 1.5203280214, [0.4843877345, 0.8431934637, 0.233223724]),
            (10.0, 1.1707659067, [0.6366187, 0.7665408837, 0.0844494194]),
        ],
    )
    def test_images(self, a, value, w):
        lda = TL1LDA(1, a=a, image_shape=(3, 3)).fit(IMAGES.reshape(5, 9), [0, 0, 1, 1, 1])
        assert lda.objective_path_[0][-1] == pytest.approx(value, rel=1e-9)
        along(lda.components_[0], w, 1e-8)


@pytest.mark.parametrize(
    ("penalty", "value", "w"),
    [
        (0.0, 20.9284495365, [0.8122914204, -0.3822547861, 0.3344729378, 0.2866910895]),
        (0.2, 18.6953102681, [0.8340004176, -0.3666430606, 0.3022218647, 0.2804961926]),
        (0.5, 15.4281980885, [0.8722203045, -0.3313516746, 0.2403926563, 0.2676736428]),
    ],
)
def test_adaptive_regularization(penalty, value, w):
    pca = RegularizedL1PCA(1, penalty=penalty, center=None, tol=1e-13).fit(ROWS)
    assert pca.objective_ == pytest.approx(value, rel=1e-8)
    along(pca.components_[0], w, 1e-4)


def test_trace_lasso_between_the_norms():
    """Of orthonormal columns it is the l1 norm, of equal unit columns the Euclidean one."""
    w = np.array([0.1, -0.7, 0.5, 0.5])
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 4)))[0]
    norm = lambda columns: TraceLasso(None, columns, 1.0, np.eye(4)).norm(w)  # noqa: E731
    assert norm(Q) == pytest.approx(1.8)
    assert norm(np.outer(Q[:, 0], np.ones(4))) == pytest.approx(1.0)


#: Directions of the same optima, entry by entry.
DIRECTIONS = [
    (SparseTL1PCA(1, a=1.0, n_nonzero=2, center=None), [0.9105094808, -0.4134881924, 0, 0]),
    (SparseTL1PCA(1, a=1.0, n_nonzero=3, center=None), [0.6256787506, 0, -0.3792888348, 0.6816641995]),
    (SparseTL1PCA(1, a=5.0, n_nonzero=2, center=None), [0.7090541723, 0, 0, 0.7051540121]),
    (SparseLpPCA(1, p=1, n_nonzero=2, center=None), [0.7808688094, 0, 0, 0.6246950476]),
]


@pytest.mark.parametrize(("estimator", "want"), DIRECTIONS)
def test_directions_of_the_sparse_optima(estimator, want):
    along(estimator.fit(ROWS).components_[0], want)


def test_direction_of_generalized_2dpca():
    generalized = ImagePCA(GeneralizedLpPCA(1, s=1, p=1.5)).fit(IMAGES)
    along(generalized.axes_[0][0], [-0.007695469, 0.6359891718, -0.6233329873])
