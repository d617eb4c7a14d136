"""By what rows are judged: the widest axis of noise, columns without a scale, room beyond the components."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.fft import dct
from scipy.stats import chi2
from sklearn.decomposition import PCA

from support import low_rank, subspace_angle
from tl1pca import TL1SubspacePCA
from tl1pca.datasets import make_contaminated
from tl1pca.rows import DenseRows
from tl1pca.solvers.judging import (
    MARGIN,
    columns_without_scale,
    judging_dimension,
    largest_noise,
    others_share_an_axis,
    room_beyond,
)
from tl1pca.solvers.plane import Plane

JUDGING = "tl1pca.solvers.judging."


class TestColumnsWithoutScale:
    def test_yes_and_no(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(100, 6))
        X[:, 0] = rng.uniform(size=100) < 0.3
        X[:, 1] = 1.0  # constant: nothing to judge
        X[:, 2] = rng.integers(0, 4, size=100)  # no value of most rows
        assert columns_without_scale(DenseRows(X)).tolist() == [True, False, False, False, False, False]
        assert not columns_without_scale(
            DenseRows((X[:, :1] > 0) * np.ones(4))
        ).any()  # nothing else to judge by

    def test_amounts_are_like_classes_and_bad_rows_do_not_hide_them(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 4))
        X[:, 0] = rng.uniform(size=200) < 0.25
        X[:, 1] = np.where(rng.uniform(size=200) < 0.25, rng.gamma(2, size=200), 0.0)  # of rain
        X[160:] = 5 * rng.normal(size=(40, 4))
        assert columns_without_scale(DenseRows(X)).tolist() == [True, True, False, False]

    def test_the_shares_of_a_value(self):
        X = (np.arange(100)[:, None] + [0, 50, 50, 30]) % 100 < [49, 50, 5, 4]  # zeros: 51, 50, 95, 96 of 100
        others = np.random.default_rng(0).normal(size=(100, 4))
        found = columns_without_scale(DenseRows(np.hstack([X, others])))
        assert found.tolist() == [True, False, True, False] + [False] * 4
        # At most half of the columns, as one value hides nothing then.
        assert columns_without_scale(DenseRows(np.hstack([X[:, [0, 2]], others[:, :2]]))).sum() == 2
        assert columns_without_scale(DenseRows(np.hstack([X[:, [0, 2]], others[:, :1]]))).sum() == 0

    def test_rows_off_in_most_dead_channels_are_no_amounts(self):
        """Where six channels are zero, ten rows with readings in all of them are what is looked for."""
        rng = np.random.default_rng(0)
        X = np.hstack([rng.normal(size=(100, 8)), np.zeros((100, 6))])
        assert not columns_without_scale(DenseRows(X)).any()
        X[:10, 8:] = rng.normal(size=(10, 6))
        assert not columns_without_scale(DenseRows(X)).any()
        X[:, 8:] = np.where(rng.uniform(size=(100, 6)) < 0.2, rng.gamma(2.0, size=(100, 6)), X[:, 8:])
        assert columns_without_scale(DenseRows(X)).tolist() == [False] * 8 + [True] * 6

    def test_the_first_rows_may_hold_many_values(self):
        """Half of all rows share a value; of the first ones few do, where most others occur once."""
        x = np.zeros(1000)
        x[:36], x[36:50], x[50:400], x[-100:] = np.arange(36), -1.0, np.arange(1000.0, 1350.0), -1.0
        assert columns_without_scale(DenseRows(np.column_stack([x, np.arange(1000.0)]))).tolist() == [
            True,
            False,
        ]

    def test_columns_that_hardly_repeat_a_value_cost_a_look_at_the_first_rows(self):
        class Counted(DenseRows):
            seen = 0

            def gather_rows(self, index):
                self.seen += len(index)
                return super().gather_rows(index)

        rng = np.random.default_rng(0)
        rows = Counted(rng.normal(size=(1000, 4)))
        rows.array()[3, 0] = rows.array()[2, 0]
        assert not columns_without_scale(rows).any()
        assert rows.seen == 50


class TestBeyondTheComponents:
    """Axes that rows are judged by beyond the components excuse no row that lies far off these."""

    def test_room_is_that_of_the_last_component(self):
        rng = np.random.default_rng(0)
        T = rng.normal(size=(5000, 3)) * [5.0, 3.0, 1.0]
        plane = Plane(np.zeros(6), np.eye(6, 3), np.array([25.0, 9.0, 1.0]), 5000, 40.0)
        one = 9.0 * (1 + 2 * (chi2.ppf(0.9975, 1) - 1))
        assert room_beyond(plane, 2, T) == pytest.approx(one, rel=0.1)
        assert room_beyond(plane, 3, T) == np.inf
        # Two axes as wide as the component before them.
        flat = replace(plane, variances=np.array([9.0, 9.0, 9.0]))
        two = 9.0 * (2 + 2 * (chi2.ppf(0.9975, 2) - 2))
        assert room_beyond(flat, 1, 3.0 * rng.normal(size=(5000, 3))) == pytest.approx(two, rel=0.1)
        # A plane of idle rows does not tell how far others may lie: their scores do.
        assert room_beyond(replace(plane, variances=plane.variances / 100), 2, T) == pytest.approx(
            one, rel=0.1
        )

    @pytest.mark.parametrize(("share", "size"), [(0.5, 0.01), (0.15, 100.0)])
    def test_neither_idle_rows_nor_far_ones_tell_the_room(self, share, size):
        """Half of the rows next to the center, or a seventh far out: about the room of the others."""
        rng = np.random.default_rng(0)
        T = rng.normal(size=(5000, 2)) * np.where(rng.uniform(size=(5000, 1)) < share, size, 1.0)
        plane = Plane(np.zeros(6), np.eye(6, 2), np.array([1e-4, 1e-5]), 5000, 1.0)
        alone = 1 + 2 * (chi2.ppf(0.9975, 1) - 1)
        assert alone / 3 < room_beyond(plane, 1, T) < 3 * alone

    def test_columns_of_other_units_excuse_nobody(self):
        """Loud columns lend axes to the rows; a tenth of them is off in some of these columns."""
        right = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            unit = 10 ** rng.uniform(-1, 1, size=30)
            X = (
                rng.normal(size=(400, 4)) @ rng.normal(size=(4, 30)) + 0.5 * rng.normal(size=(400, 30))
            ) * unit
            start = rng.integers(24)
            X[:40, start : start + 6] += 4 * X[40:].std(axis=0)[start : start + 6]
            pca, oracle = TL1SubspacePCA(4).fit(X), PCA(4).fit(X[40:])
            off = X - oracle.mean_ - oracle.transform(X) @ oracle.components_
            length = np.linalg.norm(off, axis=1)
            told = length[:40] > 1.5 * np.quantile(length[40:], 0.99)
            right.append((pca.flags_[:40][told] > 0).all() and (pca.flags_[40:] > 0).mean() < 0.05)
        assert all(right)


class TestJudging:
    def test_judging_dimension(self):
        X, Q, _ = low_rank(0, r=5)
        start = np.arange(60, 200)
        assert judging_dimension(X, start, 2, 101) == 5
        assert judging_dimension(X, start, 7, 101) == 7
        # A minority lends no axis, even if a row of it is in the start.
        X[:60] += 20 * Q[:, 6]
        assert judging_dimension(X, np.arange(59, 200), 5, 101) == 5

    @staticmethod
    def rows(variances, m=2000, seed=0):
        """m rows of exactly these variances along axes that all columns share."""
        A = np.random.default_rng(seed).normal(size=(m, len(variances)))
        Q = np.linalg.qr(A - A.mean(axis=0))[0]
        return (Q * np.sqrt((m - 1) * np.asarray(variances))) @ dct(np.eye(len(variances)), norm="ortho")

    def dimension(self, variances, k, m=2000, count=None, unit=1.0):
        X = unit * self.rows(variances, m)
        return judging_dimension(X, np.arange(m), k, count or m // 2 + 1)

    @pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
    def test_an_axis_is_wider_than_noise_would_make_it(self, unit):
        d, m = 12, 2000
        noise = 1.0 / (1 - d / m / 3)
        edge = MARGIN * largest_noise(m, d - 2) * noise
        for width, wanted in ((1.05, 3), (0.95, 2)):
            assert self.dimension([50.0, 40.0, width * edge] + [1.0] * 9, 2, unit=unit) == wanted

    @pytest.mark.parametrize(("m", "p"), [(30, 9), (100, 20), (100, 150)])
    def test_the_widest_axis_of_noise(self, m, p):
        rng = np.random.default_rng(0)
        samples = (rng.normal(size=(m, p)) for _ in range(400))
        beyond = [np.linalg.norm(A - A.mean(axis=0), 2) ** 2 / (m - 1) > largest_noise(m, p) for A in samples]
        assert 0.002 <= np.mean(beyond) <= 0.025

    def test_bad_rows_among_those_kept_lend_no_axis(self, monkeypatch):
        """Of a foreign line those rows are kept that lie near the plane, and they widen the noise."""
        X, _, axes = make_contaminated(1000, 50, 5, kind="line", fraction=0.3, noise=1.0, random_state=1043)
        assert subspace_angle(axes.T, TL1SubspacePCA(5).fit(X).components_) < 6
        monkeypatch.setattr(JUDGING + "MARGIN", 1.0)
        assert subspace_angle(axes.T, TL1SubspacePCA(5).fit(X).components_) > 60

    def test_the_most_axes(self):
        strong = [1000.0] * 25 + [1.0] * 40
        assert self.dimension(strong, 1, 400) == 20
        assert self.dimension([1000.0] * 10 + [1.0] * 24, 1, 35) == 7  # five rows for each
        assert self.dimension([1000.0, 900.0, 1.0, 1.0], 1, 200) == 2  # two columns are left to judge by

    def test_columns_of_more_noise_are_no_axes(self):
        """They are wide, and have nothing in common; what all columns share does count."""
        for loud in (1, 2, 5):
            one, two = [], []
            for seed in range(20):
                rng = np.random.default_rng(seed)
                T, loadings = rng.normal(size=(400, 2)), rng.normal(size=(2, 20))
                noise = rng.normal(size=(400, 20)) * np.where(np.arange(20) < loud, 4.0, 1.0)
                for strengths, found in (([6.0, 0.0], one), ([6.0, 5.0], two)):
                    X = (T * strengths) @ loadings + noise + 30.0
                    found.append(judging_dimension(X, np.arange(400), 1, 201))
            assert np.mean(np.equal(one, 1)) >= 0.5
            assert min(two) >= 2

    def test_only_columns_that_are_not_muted_tell_of_the_noise(self):
        """Few values in half of the columns: what is left of them in a span is no noise at all."""
        rng = np.random.default_rng(2)
        X = rng.normal(size=(150, 2)) @ rng.normal(size=(2, 12)) + 0.4 * rng.normal(size=(150, 12))
        X[:, :6] = X[:, :6] > np.quantile(X[:, :6], 0.7, axis=0)
        X[:15, 6:] += 8.0 * rng.choice((-1.0, 1.0), size=6)
        pca = TL1SubspacePCA(2).fit(X)
        assert np.count_nonzero(pca.judging_scale_) == 2
        assert (pca.flags_[:15] > 0).all()

    def test_a_tight_cluster_beside_the_rows_kept_hides_no_axis(self):
        """At the center of the scores it is the main mode of all rows, on every axis."""
        X = np.vstack([self.rows([50.0, 40.0, 30.0] + [1.0] * 9, 160), 0.1 * self.rows([1.0] * 12, 120)])
        assert judging_dimension(X, np.arange(160), 1, 141) == 3

    def test_rows_with_long_tails_show_their_axes(self):
        """Most lie near the center of a weak axis, and those nearest to a plane without it nearer still."""
        flagged = []
        for seed in range(8):
            rng = np.random.default_rng(seed)
            Q = np.linalg.qr(rng.normal(size=(20, 5)))[0]
            X = (rng.exponential(size=(200, 5)) - 1) * np.linspace(6, 3, 5) @ Q.T + rng.normal(size=(200, 20))
            flagged.append((TL1SubspacePCA(3).fit(X).flags_ > 1).mean())
        assert np.mean(flagged) < 0.03

    @pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
    def test_a_minority_lends_no_axis_in_any_units(self, unit):
        X, Q, _ = low_rank(0, r=5)
        X[:60] += 20 * Q[:, 6]
        X *= unit
        assert judging_dimension(X, np.arange(59, 200), 5, 101) == 5


class TestOthersShareAnAxis:
    def shares(self, rng, noise=1.0, weak=1.0, off=5, m=120, bad=0):
        """Two axes and one weaker, some of the rows near their plane bad, and rows off it in a direction."""
        X = noise * rng.normal(size=(m + 30, 20))
        X[:, :2] *= 6.0
        X[:, 2] *= weak
        X[m:, off] += 15.0
        X[:bad, off] += 5.0
        if np.isscalar(noise):
            X = X @ np.linalg.qr(rng.normal(size=(20, 20)))[0]
        return others_share_an_axis(X[:m], X[m:], 2, 1e-9)

    def test_other_rows_point_at_an_axis(self):
        assert np.mean([self.shares(np.random.default_rng(s), weak=2.2, off=2) for s in range(40)]) >= 0.9
        assert not any(self.shares(np.random.default_rng(s), weak=2.2, off=5) for s in range(40))

    @pytest.mark.parametrize("kind", ["even", "columns", "directions"])
    def test_foreign_rows_show_none(self, kind):
        """However unequal the noise is, by columns or along directions of its own."""
        found = 0
        for seed in range(300):
            rng = np.random.default_rng(seed)
            noise = rng.uniform(0.4, 1.6, size=20) if kind == "columns" else 1.0
            if kind == "directions":
                Q = np.linalg.qr(rng.normal(size=(20, 20)))[0]
                X = rng.normal(size=(150, 20)) * np.r_[6, 6, np.linspace(0.4, 1.6, 18)] @ Q.T
                X[120:] += 15 * np.linalg.qr(np.column_stack([Q[:, :2], rng.normal(size=20)]))[0][:, 2]
                found += others_share_an_axis(X[:120], X[120:], 2, 1e-9)
            else:
                found += self.shares(rng, noise)
        assert found <= 3

    def test_a_few_bad_rows_near_the_plane_show_none(self):
        assert sum(self.shares(np.random.default_rng(s), bad=8) for s in range(40)) <= 1

    def test_a_foreign_line_shows_none(self):
        """Some of its rows are near the plane."""
        lost = 0
        for seed in (9000, 9002, 9006):
            X, _, axes = make_contaminated(1000, 50, 5, kind="line", fraction=0.4, random_state=seed)
            lost += subspace_angle(axes.T, TL1SubspacePCA(5).fit(X).components_) > 10
        assert lost == 0

    def test_a_loud_column_is_no_axis(self):
        noise = np.ones(20)
        noise[5] = 1.8
        assert sum(self.shares(np.random.default_rng(s), noise) for s in range(40)) <= 1

    def test_without_noise_or_others_there_is_none(self):
        rng = np.random.default_rng(0)
        X = 1e-13 * rng.normal(size=(160, 20)) * np.r_[1, 1, 2, np.ones(17)]
        X[:, :2] += rng.normal(size=(160, 2))
        X[120:, 2] += 5.0
        X = X @ np.linalg.qr(rng.normal(size=(20, 20)))[0]
        assert others_share_an_axis(X[:120], X[120:], 2, 0.0)
        assert not others_share_an_axis(X[:120], X[120:], 2, 1e-9)  # rounding
        assert not others_share_an_axis(X[:120], X[:0], 2, 0.0)
        assert not others_share_an_axis(X[:3], X[120:], 2, 0.0)
