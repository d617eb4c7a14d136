"""Outlier map, scores, biplot: the points are those of the estimator, labels stay apart."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.text import Text
from sklearn.decomposition import PCA

from support import ESTIMATORS, KINDS, gaussian, name, with_components
from tl1pca import TL1SubspacePCA
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import Cutoffs, Flag, diagnose, excess, orthogonal_limit
from tl1pca.displays import BiplotDisplay, OutlierMapDisplay, ScoreDisplay
from tl1pca.displays.style import DENSE

X, BAD, _ = make_contaminated(200, 8, 2, kind="cluster", fraction=0.15, random_state=0)
ROBUST = TL1SubspacePCA(2, random_state=0).fit(X)


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def far_rows(n=60, size=1e4):
    """Gaussian rows of which three are far away."""
    Z = gaussian(n, 5)
    Z[:3] += size * np.random.default_rng(0).normal(size=(3, 5))
    return Z


# ------------------------------------------------------------------------------------------ outlier map
@pytest.mark.parametrize("estimator", [*ESTIMATORS, PCA()], ids=name)
def test_map_shows_the_diagnostics(estimator, render):
    pca = with_components(estimator, 2).fit(X)
    drawn = render(OutlierMapDisplay.from_estimator(pca, X))
    found = diagnose(pca, X)
    kinds = [flag for flag in Flag if (found.flags == flag).any()]
    assert len(drawn.points_) == len(kinds)
    for flag, points in zip(kinds, drawn.points_):
        rows = found.flags == flag
        want = np.column_stack([found.score_distances, found.orthogonal_distances])[rows]
        np.testing.assert_allclose(points.get_offsets(), want)
        assert f"{Flag(flag).label} ({rows.sum()})" in legend(drawn)
    assert drawn.score_line_.get_xdata() == [found.cutoffs.score] * 2
    x, y = drawn.orthogonal_line_.get_data()
    np.testing.assert_array_equal(y, orthogonal_limit(x, found.cutoffs))
    assert drawn.ax_.get_title() == type(pca).__name__


def test_map_bends_with_the_tilt_and_separates_the_flags():
    drawn = OutlierMapDisplay.from_estimator(ROBUST, X)
    assert np.isfinite(ROBUST.cutoffs_.tilt)
    x, y = drawn.orthogonal_line_.get_data()
    assert y[-1] > y[0] == ROBUST.cutoffs_.orthogonal
    above = drawn.orthogonal_distances > np.interp(drawn.score_distances, x, y)
    assert (above == (ROBUST.flags_ >= Flag.ORTHOGONAL_OUTLIER)).mean() > 0.99


def test_all_is_inside_the_axes():
    for Z in (X, far_rows()):
        drawn = OutlierMapDisplay.from_estimator(TL1SubspacePCA(2, random_state=0).fit(Z), Z)
        (left, right), (low, high) = drawn.ax_.get_xlim(), drawn.ax_.get_ylim()
        points = np.concatenate([one.get_offsets() for one in drawn.points_])
        assert len(points) == len(Z)
        assert (points >= [left, low]).all()
        assert (points <= [right, high]).all()
        assert low <= drawn.cutoffs.orthogonal <= high
        assert left <= drawn.cutoffs.score <= right


def test_axes_are_logarithmic_when_distances_span_decades(render):
    near = OutlierMapDisplay.from_estimator(PCA(2).fit(gaussian(60, 5)), gaussian(60, 5))
    assert (near.ax_.get_xscale(), near.ax_.get_yscale()) == ("linear", "linear")
    Z = far_rows()
    far = render(OutlierMapDisplay.from_estimator(TL1SubspacePCA(2, random_state=0).fit(Z), Z))
    assert (far.ax_.get_xscale(), far.ax_.get_yscale()) == ("log", "log")
    assert {text.get_text() for text in far.labels_[:3]} == {"row 1", "row 2", "row 3"}


@pytest.mark.parametrize("size", [1e-200, 1e150])
@pytest.mark.parametrize("display", [OutlierMapDisplay, ScoreDisplay, BiplotDisplay])
def test_data_of_any_size(display, size, render):
    Z = size * gaussian(40, 5)
    render(display.from_estimator(TL1SubspacePCA(2, random_state=0).fit(Z), Z))


def test_zero_distances_stay_in_a_logarithmic_map(render):
    od = np.array([0.0, 1.0, 2.0, 1e5])
    drawn = render(
        OutlierMapDisplay(
            score_distances=np.array([0.0, 1.0, 1.0, 1e4]),
            orthogonal_distances=od,
            cutoffs=Cutoffs(2.0, 3.0),
            flags=np.array([0, 0, 0, 3]),
            n_components=2,
            labels=list("abcd"),
        ).plot()
    )
    points = np.asarray(drawn.points_[0].get_offsets())
    np.testing.assert_allclose(points[0], [2e-3, 3e-3])
    np.testing.assert_allclose(points[1:, 1], od[1:3])


def test_exact_fit(render):
    """As many components as features: every orthogonal distance is rounding, or zero."""
    Z = gaussian(30, 2)
    render(OutlierMapDisplay.from_estimator(PCA(2).fit(Z), Z))
    drawn = render(
        OutlierMapDisplay(
            score_distances=np.ones(4),
            orthogonal_distances=np.zeros(4),
            cutoffs=Cutoffs(2.0, 0.0),
            flags=np.zeros(4, dtype=int),
            n_components=2,
            labels=list("abcd"),
        ).plot()
    )
    assert drawn.ax_.get_ylim() == (0.0, 1.0)


def test_labels_are_the_most_extreme_outliers(render):
    names = [f"row {i}" for i in range(len(X))]
    drawn = render(OutlierMapDisplay.from_estimator(ROBUST, X, labels=names, n_labels=7))
    beyond = excess(ROBUST.score_distances_, ROBUST.orthogonal_distances_, ROBUST.cutoffs_)
    want = np.argsort(-beyond)[:7]
    assert [text.get_text() for text in drawn.labels_] == [names[i] for i in want]
    for text, i in zip(drawn.labels_, want):
        assert text.xy == pytest.approx((ROBUST.score_distances_[i], ROBUST.orthogonal_distances_[i]))
    few = OutlierMapDisplay.from_estimator(ROBUST, X, n_labels=500)
    assert len(few.labels_) == (ROBUST.flags_ > 0).sum()
    assert OutlierMapDisplay.from_estimator(ROBUST, X, n_labels=0).labels_ == []
    frame = pd.DataFrame(X, index=[f"i{i}" for i in range(len(X))])
    frame.columns = [f"f{j}" for j in range(8)]
    pca = TL1SubspacePCA(2, random_state=0).fit(frame)
    drawn = OutlierMapDisplay.from_estimator(pca, frame, n_labels=1)
    assert drawn.labels_[0].get_text() == f"i{want[0]}"


@pytest.mark.parametrize("constrained", [True, False])
def test_labels_of_a_tight_cluster_do_not_cover_each_other(constrained, plt, render):
    _, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained" if constrained else None)
    names = [f"sample {i}" for i in range(len(X))]
    drawn = render(OutlierMapDisplay.from_estimator(ROBUST, X, labels=names, n_labels=12, ax=ax))
    boxes = [Text.get_window_extent(text) for text in drawn.labels_]  # without the leader lines
    boxes.append(ax.get_legend().get_window_extent())
    spots = ax.transData.transform(np.concatenate([one.get_offsets() for one in drawn.points_]))
    assert not any(boxes[-1].contains(*spot) for spot in spots)  # a corner is free for the legend
    overlaps = sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert len(boxes) == 13
    assert overlaps == 0
    inside = ax.get_window_extent()
    assert all(inside.x0 - 1 <= box.x0 and box.x1 <= inside.x1 + 1 for box in boxes)


def test_markers_differ_and_not_only_colors():
    drawn = OutlierMapDisplay.from_estimator(ROBUST, X, groups=np.where(BAD, "bad", "good"))
    assert sorted(legend(drawn)) == [f"bad ({BAD.sum()})", f"good ({(~BAD).sum()})"]
    shapes = {points.get_paths()[0].vertices.tobytes() for points in drawn.points_}
    colors = {points.get_facecolor().tobytes() for points in drawn.points_}
    assert len(shapes) == len(colors) == 2


def test_groups_and_labels_are_checked():
    with pytest.raises(ValueError, match="groups has shape"):
        OutlierMapDisplay.from_estimator(ROBUST, X, groups=["a", "b"])
    with pytest.raises(ValueError, match="9 different names, 8 can be told apart"):
        OutlierMapDisplay.from_estimator(ROBUST, X, groups=np.arange(len(X)) % 9)
    with pytest.raises(ValueError, match="labels has 2 entries for 200 rows"):
        OutlierMapDisplay.from_estimator(ROBUST, X, labels=["a", "b"])


@pytest.mark.parametrize("display", [OutlierMapDisplay, ScoreDisplay, BiplotDisplay])
@pytest.mark.parametrize("grouped", [False, True])
def test_many_rows_make_a_small_file_that_says_so(display, grouped, tmp_path):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(100_000, 4)) * [4, 2, 1, 1]
    Z[:200] += 8 * rng.normal(size=(200, 4))
    pca = PCA(2).fit(Z)
    drawn = display.from_estimator(pca, Z, groups=np.arange(len(Z)) % 2 if grouped else None)
    drawn.figure_.savefig(tmp_path / "map.pdf")
    assert (tmp_path / "map.pdf").stat().st_size < 300_000
    points = drawn.score_display.points_ if display is BiplotDisplay else drawn.points_
    if grouped:
        assert all(one.get_rasterized() for one in points)
        return
    n = int((diagnose(pca, Z).flags == 0).sum())
    assert isinstance(points[0], PolyCollection)
    assert points[0].get_array().sum() == n  # every regular row is in a hexagon
    assert all(one.get_rasterized() for one in points[1:])
    assert f"regular ({n}), darker: more rows" in legend(drawn)


def test_the_threshold():
    Z = gaussian(DENSE, 3)
    assert not ScoreDisplay.from_estimator(PCA(2).fit(Z), Z).points_[0].get_rasterized()


# ------------------------------------------------------------------------------------------ scores
@pytest.mark.parametrize("estimator", [*KINDS, PCA(), PCA(whiten=True)], ids=name)
def test_scores_are_those_of_transform(estimator, render):
    pca = with_components(estimator, 3).fit(X)
    drawn = render(ScoreDisplay.from_estimator(pca, X, components=(2, 0)))
    flags = diagnose(pca, X).flags
    kinds = [flag for flag in Flag if (flags == flag).any()]
    for flag, points in zip(kinds, drawn.points_, strict=True):
        np.testing.assert_array_equal(points.get_offsets(), pca.transform(X)[flags == flag][:, [2, 0]])
    assert drawn.ax_.get_xlabel() == "score of component 3"
    assert drawn.ax_.get_ylabel() == "score of component 1"


def test_one_component_is_a_strip(render):
    pca = TL1SubspacePCA(1, random_state=0).fit(X)
    drawn = render(ScoreDisplay.from_estimator(pca, X, n_labels=3))
    points = np.concatenate([one.get_offsets() for one in drawn.points_])
    np.testing.assert_array_equal(np.sort(points[:, 0]), np.sort(pca.transform(X)[:, 0]))
    assert np.ptp(points[:, 1]) <= 1.0
    assert drawn.ax_.get_yticks().size == 0
    assert drawn.ax_.get_ylabel() == ""
    assert len(drawn.labels_) == 3
    with pytest.raises(ValueError, match="needs two components, TL1SubspacePCA has one"):
        BiplotDisplay.from_estimator(pca, X)


@pytest.mark.parametrize("components", [(0, 2), (0,), (0, 1, 1), (-1, 0), (0.5, 1)])
def test_components_are_checked(components):
    with pytest.raises(
        ValueError, match=re.escape(f"components={components!r} must be two numbers from 0 to 1")
    ):
        ScoreDisplay.from_estimator(ROBUST, X, components=components)


# ------------------------------------------------------------------------------------------ biplot
@pytest.mark.parametrize("estimator", [*KINDS, PCA()], ids=name)
def test_arrows_are_the_loadings(estimator, render):
    pca = with_components(estimator, 2).fit(X)
    drawn = render(BiplotDisplay.from_estimator(pca, X, n_features=5))
    lengths = np.linalg.norm(pca.components_, axis=0)
    order = np.argsort(-lengths, kind="stable")[:5]
    assert [text.get_text() for text in drawn.names_] == [f"x{i}" for i in order]
    tips = np.column_stack([drawn.arrows_.U, drawn.arrows_.V])
    np.testing.assert_allclose(tips, drawn.scale_ * pca.components_.T[order], atol=1e-12)
    farthest = np.linalg.norm(pca.transform(X), axis=1).max()
    assert np.linalg.norm(tips, axis=1).max() == pytest.approx(0.7 * farthest)
    (left, right), (low, high) = drawn.ax_.get_xlim(), drawn.ax_.get_ylim()
    assert ((tips > [left, low]) & (tips < [right, high])).all()
    assert legend(drawn)[-1] == f"loadings × {drawn.scale_:.3g}, 5 longest of 8"
    assert legend(BiplotDisplay.from_estimator(pca, X))[-1] == f"loadings × {drawn.scale_:.3g}"
    with pytest.raises(ValueError, match="n_features=0"):
        drawn.plot(n_features=0)


# ------------------------------------------------------------------------------------------ rows far out
def slipped(k=2):
    """Rows with one value a thousand times too large, and their fit."""
    Z = X.copy()
    Z[7, 3] = 1000.0 * np.abs(Z[:, 3]).max()
    return Z, TL1SubspacePCA(k, random_state=0).fit(Z)


@pytest.mark.parametrize("display", [ScoreDisplay, BiplotDisplay])
@pytest.mark.parametrize("size", [1.0, 1e-150, 1e140])
def test_a_row_far_out_is_an_arrow_at_the_edge(display, size, render):
    Z, pca = slipped()
    pca = TL1SubspacePCA(2, random_state=0).fit(size * Z)
    drawn = render(display.from_estimator(pca, size * Z))
    shown = drawn if display is ScoreDisplay else drawn.score_display
    assert np.flatnonzero(shown.far_).tolist() == [7]
    ax = drawn.ax_
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    near = shown.scores[~shown.far_]
    assert ((near > [left, low]) & (near < [right, high])).all()
    regular = shown.scores[shown.flags == 0]
    assert np.ptp(regular[:, 0]) > 0.05 * (right - left)
    arrow = next(
        one for one in ax.collections if isinstance(one, PolyCollection) and len(one.get_offsets()) == 1
    )
    tip = (np.asarray(arrow.get_offsets())[0] - [left, low]) / [right - left, high - low]
    assert np.abs(tip - 0.5).max() == pytest.approx(0.5)  # on the edge
    way = (shown.scores[7] - [0.5 * (left + right), 0.5 * (low + high)]) / [right - left, high - low]
    np.testing.assert_allclose((tip - 0.5) / np.abs(tip - 0.5).max(), way / np.abs(way).max(), atol=1e-9)
    assert "at the edge: 1 far out" in legend(drawn)
    assert sum(len(points.get_offsets()) for points in shown.points_) == len(Z) - 1


def test_names_of_rows_far_out_stand_at_the_edge(render):
    Z, pca = slipped()
    drawn = render(ScoreDisplay.from_estimator(pca, Z, n_labels=1))
    (label,) = drawn.labels_
    assert label.get_text() == "row 8"
    (left, right), (low, high) = drawn.ax_.get_xlim(), drawn.ax_.get_ylim()
    assert left <= label.xy[0] <= right
    assert low <= label.xy[1] <= high


def test_a_strip_has_an_edge_as_well(render):
    Z, pca = slipped(1)
    drawn = render(ScoreDisplay.from_estimator(pca, Z))
    assert np.flatnonzero(drawn.far_).tolist() == [7]
    assert drawn.ax_.get_ylim() == (-1.0, 2.0)
    assert np.ptp(drawn.scores[drawn.flags == 0]) > 0.05 * np.ptp(drawn.ax_.get_xlim())


def test_without_rows_far_out_all_are_drawn():
    drawn = ScoreDisplay.from_estimator(ROBUST, X)
    assert not drawn.far_.any()
    assert not any("edge" in entry for entry in legend(drawn))
    unknown = ScoreDisplay(
        scores=np.array([[0.0, 0], [1, 1], [1e6, 0]]), components=(0, 1), labels=list("abc")
    )
    assert not unknown.plot().far_.any()  # which rows are regular is not known
