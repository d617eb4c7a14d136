"""The cell map of the page."""

import re
from html import unescape

import numpy as np
import pandas as pd

from tl1pca import TL1CellPCA, TL1SubspacePCA
from tl1pca.diagnostics import Flag
from tl1pca.report import render_report
from tl1pca.report._analysis import analyze

HOSTILE = "<script>alert(1)</script>"


def wrong_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(60, 6))
    X[4, 2], X[9, 5] = 77.0, np.nan
    return pd.DataFrame(X, columns=["u", "v", "w", "x", "y", HOSTILE])


def test_bad_and_missing_cells_are_shown():
    X = wrong_table()
    pca = TL1CellPCA(2, random_state=0).fit(X)
    page = render_report(X, estimator=pca)
    section = re.search(r'<section id="cells">.*?</section>', page, re.S).group()
    assert f"{pca.cell_flags_.sum()} of 360 cells" in section
    titles = [unescape(t) for t in re.findall(r"<title>(.*?)</title>", section)]
    expected = pca.impute(X)[4, 2]
    said = f"w: 77, expected {expected:.6g} ({pca.cell_residuals_[4, 2]:+.3g} deviations)"
    assert said in titles
    assert HOSTILE not in section
    assert titles.count(f"{HOSTILE}: missing") in (0, 1)


def test_an_unfitted_estimator_takes_missing_cells():
    assert "Cell map" in render_report(wrong_table(), estimator=TL1CellPCA(2, random_state=0))


def test_no_map_for_a_method_that_judges_rows():
    X = wrong_table().fillna(0.0)
    page = render_report(X, estimator=TL1SubspacePCA(2, random_state=0).fit(X))
    assert '<section id="cells">' not in page


def test_what_to_do_speaks_of_cells_and_not_of_units():
    X = wrong_table() * [1e4, 1.0, 1.0, 1.0, 1.0, 1e-3]
    pca = TL1CellPCA(2, random_state=0).fit(X)
    page = render_report(X, estimator=pca)
    assert f"{pca.cell_flags_.sum()} cells do not fit the rest of their rows" in page
    assert "scale them first" not in page
    complete = X.fillna(0.0)
    assert "scale them first" in render_report(complete, estimator=TL1SubspacePCA(2).fit(complete))


def test_a_missing_cell_is_not_what_makes_a_row_unusual():
    """Its place is filled from the other cells, which are the ones to look at."""
    rng = np.random.default_rng(0)
    axis = np.array([[3.0, 1.0, 1.0, 1.0]])
    X = rng.normal(size=(60, 1)) @ axis + 0.1 * rng.normal(size=(60, 4))
    X[:3] = np.array([[8.0], [9.0], [10.0]]) @ axis
    X[0, 0] = np.nan
    analysis = analyze(X, TL1CellPCA(1, random_state=0))
    assert (analysis.found.flags[:3] == Flag.GOOD_LEVERAGE).all()
    named = analysis.unusual(np.arange(3))
    assert 0 not in named.columns[0][np.isfinite(named.values[0])]
    assert np.isfinite(named.values[0, 0])
    assert named.columns[1, 0] == 0  # where it was measured
