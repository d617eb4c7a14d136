"""Rows and columns by the hundreds: the plane is sought in a span, and found in all columns."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from support import gaussian, subspace_angle
from tl1pca import TL1SubspacePCA
from tl1pca.rows import DenseRows
from tl1pca.solvers.axes import spherical_span
from tl1pca.solvers.leading_span import has_leading_span, leading_span, noise_variance


def low_rank(seed, n, d, r=3):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    X = (rng.normal(size=(n, r)) * np.linspace(6, 3, r)) @ Q[:, :r].T + rng.normal(size=(n, d))
    return X, Q, rng


def test_the_span_holds_the_plane_and_distances_stay():
    X, Q, _ = low_rank(0, 450, 420)
    X[:180] += 80.0 * Q[:, 10]  # bad rows have one say each, and an axis beside those of the plane
    span = leading_span(DenseRows(X), np.zeros(420, dtype=bool), 3)
    assert span.rows.shape == (450, 100)
    assert span.rows.dimension == 420
    held = np.linalg.norm(span.axes.T @ Q[:, :3], axis=0)
    assert (held > 0.9).all()
    W, c = np.eye(100)[:, :2], np.linspace(0, 1, 100)
    found = span.rows.shifted(c).scores_and_distances(W)[1]
    exact = DenseRows(X - span.point(c)).scores_and_distances(span.directions(W))[1]
    np.testing.assert_allclose(found, exact, rtol=1e-10)


def test_who_has_a_span():
    assert has_leading_span(400, 3)
    assert not has_leading_span(399, 3)
    assert has_leading_span(800, 50)
    assert not has_leading_span(799, 50)
    assert not has_leading_span(10_000, 0.9)  # a share of the variance needs all directions
    X = gaussian(50, 6, seed=0)
    span = leading_span(DenseRows(X), np.zeros(6, dtype=bool), 2)
    np.testing.assert_array_equal(span.rows.array(), X)
    np.testing.assert_array_equal(span.directions(np.eye(6)), np.eye(6))
    np.testing.assert_array_equal(span.point(np.ones(6)), np.ones(6))


@pytest.mark.parametrize("shape", [(400, 40), (200, 200), (100, 400)])
def test_noise_variance(shape):
    rng = np.random.default_rng(0)
    n, d = shape
    X = 3.0 + 2.0 * rng.normal(size=shape) + 30.0 * np.outer(rng.normal(size=n), np.eye(d)[0])
    assert noise_variance(X, 1) == pytest.approx(4.0, rel=0.1)
    assert noise_variance(np.outer(np.arange(9.0), np.ones(4)), 1) < 1e-9


def test_noise_variance_is_the_median_of_what_is_left():
    """Over the median of the law of Marchenko and Pastur: about 1 - r/3, or r - 1/3 of wide rows, r = d/m."""
    rng = np.random.default_rng(1)
    for m, d, k in ((7, 3, 1), (7, 4, 1), (9, 9, 2), (5, 8, 1), (5, 12, 1), (6, 20, 0)):
        A = rng.normal(size=(m, d))
        left = np.linalg.svd(A - A.mean(axis=0))[1][: min(d, m - 1)][k:] ** 2 / (m - 1)
        ratio = d / m
        factor = 1 - ratio / 3 if ratio <= 1 else ratio - 1 / 3
        assert noise_variance(A, k) == pytest.approx(np.median(left) / factor)
        assert noise_variance(A + 50.0, k) == pytest.approx(np.median(left) / factor)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_rows_on_a_plane_have_the_noise_of_rounding(unit):
    A = unit * np.outer(np.arange(9.0), np.ones(4))
    first = np.cov(A.T).trace()
    assert 1e-15 * first < noise_variance(A, 1) < 1e-13 * first


class Counted(DenseRows):
    """Rows that note how they are used."""

    def __init__(self, X, mean=None, notes=None):
        super().__init__(X, mean)
        self.notes = [] if notes is None else notes

    def shifted(self, center):
        return Counted(self._X, center, self.notes)

    def gather_rows(self, index):
        self.notes.append(("gathered", len(index)))
        return super().gather_rows(index)

    def pullback(self, Z):
        self.notes.append(("pulled back", Z.shape[1]))
        return super().pullback(Z)


def test_what_a_span_costs():
    """300 rows for its center, one row for each axis, and two products with all of them."""
    X = low_rank(0, 620, 400)[0]
    rows = Counted(X + 9.0)
    span = leading_span(rows, np.zeros(400, dtype=bool), 3)
    assert rows.notes == [("gathered", 300), ("gathered", 100), ("pulled back", 100), ("pulled back", 100)]
    # A median of 300 standard normal values is off by 1.25/sqrt(300).
    assert (
        np.abs(span.center - np.median(X + 9.0, axis=0)).max() < 5 * 1.25 / np.sqrt(300) * X.std(axis=0).max()
    )


def test_muted_columns_have_no_say_in_a_span():
    X = low_rank(1, 400, 400)[0]
    muted = np.arange(400) % 100 == 7
    other = X.copy()
    other[:, muted] *= 1e3
    one, two = (leading_span(DenseRows(A), muted, 3) for A in (X, other))
    np.testing.assert_array_equal(one.axes, two.axes)
    np.testing.assert_array_equal(one.rows.outside, two.rows.outside)
    np.testing.assert_allclose(one.axes[muted], 0.0, atol=1e-12)
    assert not one.muted.any()
    assert leading_span(DenseRows(X[:40, :40]), muted[:40], 3).muted.sum() == 1  # without a span they stay


class TestFits:
    @staticmethod
    def draw(seed, n=420, d=500, line=False):
        X, Q, rng = low_rank(seed, n, d)
        bad = np.arange(n) < 0.4 * n
        side = rng.uniform(0.5, 1.5, size=bad.sum()) * (rng.choice((-1, 1), bad.sum()) if line else 1.0)
        X[bad] += 60.0 * side[:, None] * Q[:, 5]
        return X, bad

    @pytest.mark.parametrize("line", [False, True])
    @pytest.mark.parametrize("seed", range(2))
    def test_as_good_as_in_all_columns(self, seed, line, monkeypatch):
        X, bad = self.draw(seed, line=line)
        span = TL1SubspacePCA(3).fit(X)
        assert subspace_angle(span.components_, PCA(3).fit(X[~bad]).components_) < 5.0
        assert (span.flags_[bad] > 1).all()
        assert (span.flags_[~bad] > 1).mean() <= 0.05
        for module in ("tl1pca.solvers.leading_span.", "tl1pca.estimators._subspace."):
            monkeypatch.setattr(module + "has_leading_span", lambda size, n_components: False)
        every = TL1SubspacePCA(3).fit(X)
        assert subspace_angle(span.components_, every.components_) < 2.0
        assert (span.flags_ > 0)[~bad].mean() == pytest.approx((every.flags_ > 0)[~bad].mean(), abs=0.02)

    def test_the_order_of_the_rows_has_no_say(self):
        X, _ = self.draw(2)
        order = np.random.default_rng(0).permutation(len(X))
        one, other = TL1SubspacePCA(3).fit(X), TL1SubspacePCA(3).fit(X[order])
        np.testing.assert_array_equal(one.flags_[order], other.flags_)
        assert subspace_angle(one.components_, other.components_) < 1e-6

    def test_columns_of_few_values_judge_nobody(self):
        X, _, rng = low_rank(3, 420, 500)
        X[:, :5] = rng.uniform(size=(420, 5)) < 0.1
        X[:, :5] *= 1000.0
        pca = TL1SubspacePCA(3).fit(X)
        assert (pca.flags_ > 1).mean() <= 0.05

    def test_what_needs_all_directions_has_them(self, monkeypatch):
        X, bad = self.draw(4)
        spans = []

        def counted(*arguments, **options):
            spans.append(1)
            return spherical_span(*arguments, **options)

        monkeypatch.setattr("tl1pca.solvers.leading_span.spherical_span", counted)
        for pca in (TL1SubspacePCA(0.1), TL1SubspacePCA(3, reweight=False)):
            kept = pca.fit(X).weights_ > 0
            assert not kept[bad].any()
        assert not spans
        TL1SubspacePCA(3).fit(X)
        assert len(spans) == 1
