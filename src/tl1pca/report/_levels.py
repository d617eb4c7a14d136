"""Limits at other levels than that of the fit, for the slider of the page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import chdtri, ndtri

from .._flags import MOST_TILT
from ..diagnostics import Cutoffs, Diagnostics, Flag, excess, flags
from ._analysis import Analysis, Array, furthest

#: Levels that can be chosen, beside that of the fit.
LEVELS = (0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9999, 0.99999)


def levels(analysis: Analysis) -> dict[str, Any] | None:
    """Both limits and the number of rows of each kind at every level; None where there are too few rows."""
    if analysis.too_few:
        return None
    offered = sorted({*LEVELS, analysis.level})
    found = analysis.found
    at = []
    for level in offered:
        limits = limits_at(analysis, level)
        kinds = found.flags
        if level != analysis.level:
            kinds = flags(found.score_distances, found.orthogonal_distances, limits)
        at.append(
            {
                "level": level,
                "score": limits.score if np.isfinite(limits.score) else None,
                "orthogonal": limits.orthogonal,
                "counts": np.bincount(np.asarray(kinds, dtype=np.int64), minlength=len(Flag)).tolist(),
            }
        )
    tilt = float(found.cutoffs.tilt)
    return {
        "at": at,
        "chosen": offered.index(analysis.level),
        "tilt": tilt if np.isfinite(tilt) else None,
        "mostTilt": MOST_TILT,
    }


def limits_at(analysis: Analysis, level: float) -> Cutoffs:
    """The limits of the fit, moved to another level.

    Squared score distances of clean rows follow chi squared, orthogonal
    distances to the power 2/3 are nearly normal (Hubert et al. 2005). Their
    middle is that of the rows; the spread is the one for which the limit at the
    level of the fit is the limit of the fit.
    """
    limits, k = analysis.found.cutoffs, len(analysis.estimator.components_)
    if level == analysis.level:
        return limits
    score = limits.score * float(np.sqrt(chdtri(k, 1.0 - level) / chdtri(k, 1.0 - analysis.level)))
    middle = min(
        float(np.median(np.cbrt(analysis.found.orthogonal_distances) ** 2)), limits.orthogonal ** (2 / 3)
    )
    spread = (limits.orthogonal ** (2 / 3) - middle) / float(ndtri(analysis.level))
    return Cutoffs(score, max(middle + spread * float(ndtri(level)), 0.0) ** 1.5, limits.tilt)


def at_level(analysis: Analysis, level: float) -> Analysis:
    """The same rows, judged by the limits at another level."""
    if analysis.too_few or level == analysis.level:
        return analysis
    sd, od, limits = (
        analysis.found.score_distances,
        analysis.found.orthogonal_distances,
        limits_at(analysis, level),
    )
    found = Diagnostics(sd, od, limits, flags(sd, od, limits))
    beyond, flagged = furthest(found)
    return replace(analysis, found=found, excess=beyond, flagged=flagged, moved_to=level)


def near_limits(analysis: Analysis, most: int) -> Array:
    """Positions of regular rows that a lower level flags, those nearest to the limits; in order."""
    regular = np.flatnonzero(analysis.found.flags == Flag.REGULAR)
    if analysis.too_few:
        return regular[:0]
    found = analysis.found
    lowest = limits_at(analysis, min(LEVELS))
    beyond = excess(found.score_distances[regular], found.orthogonal_distances[regular], lowest)
    order = np.argsort(-beyond, kind="stable")[:most]
    return np.sort(regular[order[beyond[order] > 1.0]])
