"""Limits at other levels than that of the fit."""

import numpy as np

from tl1pca import TL1SubspacePCA
from tl1pca.datasets import make_contaminated
from tl1pca.report._analysis import analyze
from tl1pca.report._levels import at_level, levels


def test_rows_judged_at_another_level_are_counted_as_the_slider_counts_them():
    X = make_contaminated(300, 8, 2, fraction=0.1, random_state=0)[0]
    analysis = analyze(X, TL1SubspacePCA(2, random_state=0))
    assert at_level(analysis, 0.99) is analysis
    for offered in levels(analysis)["at"]:
        moved = at_level(analysis, offered["level"])
        assert np.bincount(moved.found.flags, minlength=4).tolist() == offered["counts"]
        assert moved.level == offered["level"]
        assert len(moved.flagged) == sum(offered["counts"][1:])
        assert (np.diff(moved.excess[moved.flagged]) <= 0).all()
    counts = [sum(offered["counts"][1:]) for offered in levels(analysis)["at"]]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]
