"""What the page's figures and tables get: rows that are drawn or listed, in few digits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._unusual import Unusual
from ..diagnostics import Flag, orthogonal_limit
from ._analysis import Analysis, Array
from ._levels import levels, near_limits
from ._values import model

#: Points of a figure: a browser draws so many without a pause.
MAX_REGULAR, MAX_FLAGGED = 2000, 2000
#: Regular rows nearest to the limits, which a lower level flags.
MAX_NEAR = 2000
#: Rows of the table and of the exported file; more would make the page too large to open.
MAX_LISTED = 100_000
#: Variables of the figure of the loadings.
MAX_VARIABLES = 5000
#: An axis is logarithmic when a distance is more than so many times its limit.
FAR = 20.0


@dataclass(frozen=True)
class Drawn:
    """Rows of the page: the `n_listed` of the table, then regular ones for figures and lower levels.

    Attributes
    ----------
    rows : ndarray of int of shape (m,)
        Positions of the rows; flagged ones come first, the furthest out at the top.
    n_listed : int
    points : ndarray of int
        Positions in `rows` of those that are drawn.
    details : Unusual
        Of the flagged rows that are listed.
    """

    rows: Array
    n_listed: int
    points: Array
    details: Unusual


def draw(analysis: Analysis) -> Drawn:
    """Choose rows: all where there are few, the furthest out and a random sample where there are many."""
    rng = np.random.default_rng(0)
    listed = analysis.flagged[:MAX_LISTED]
    points = np.arange(len(listed))
    if len(points) > MAX_FLAGGED:
        half = MAX_FLAGGED // 2
        points = np.concatenate([points[:half], half + _sample(rng, len(points) - half, half)])
    regular = np.flatnonzero(analysis.found.flags == Flag.REGULAR)
    regular = regular[_sample(rng, len(regular), MAX_REGULAR)]
    mapped = np.setdiff1d(analysis.rows_with_bad_cells, listed)  # a bad cell makes no bad row
    regular = np.concatenate([mapped, np.setdiff1d(regular, mapped)])
    near = np.setdiff1d(near_limits(analysis, MAX_NEAR), regular)
    rows = np.concatenate([listed, regular, near])
    points = np.concatenate([points, np.arange(len(listed), len(listed) + len(regular))])
    return Drawn(rows, len(listed), points, analysis.unusual(rows))


def _sample(rng: np.random.Generator, n: int, most: int) -> Array:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def embedded(analysis: Analysis, drawn: Drawn) -> str:
    """The data of the page as JSON that can stand in a script element."""
    data = content(analysis, drawn)
    data["model"] = None
    if len(analysis.names) <= MAX_VARIABLES:
        data["model"] = model(analysis, drawn.rows, drawn.details.spread)
    written = json.dumps(data, separators=(",", ":"), allow_nan=False)
    # No tag, comment or entity can begin in the element, whatever the names of the data are.
    return written.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def content(analysis: Analysis, drawn: Drawn) -> dict[str, Any]:
    """The data of the figures."""
    rows, points, found, details = drawn.rows, drawn.rows[drawn.points], analysis.found, drawn.details
    classical = analysis.classical
    data: dict[str, Any] = {
        "names": analysis.names,
        "flags": [flag.label for flag in Flag],
        "shares": digits(analysis.estimator.explained_variance_ratio_),
        "loadings": _loadings(analysis),
        "listed": drawn.n_listed,
        "points": drawn.points.tolist(),
        "row": analysis.numbers[rows].tolist(),
        "label": None if analysis.labels is None else [analysis.labels[i] for i in rows.tolist()],
        "flag": found.flags[rows].tolist(),
        "fitted": found.flags[rows].tolist(),
        "levels": levels(analysis),
        "time": _times(analysis, rows),
        "sd": digits(found.score_distances[rows]),
        "od": digits(found.orthogonal_distances[rows]),
        "times": digits(np.minimum(analysis.excess[rows], 1e9), 4),
        "byScore": details.by_score.astype(int).tolist(),
        "variables": details.columns.tolist(),
        "values": [digits(row, 3) for row in details.values.T],
        "scores": [digits(score) for score in analysis.scores(points).T],
        "map": map_axes(
            found.score_distances[points],
            found.orthogonal_distances[points],
            analysis.found.cutoffs,
        ),
        "classical": None,
    }
    if classical is not None:
        sd, od = classical.found.score_distances[points], classical.found.orthogonal_distances[points]
        data["alsoClassical"] = (classical.found.flags[rows] != Flag.REGULAR).astype(int).tolist()
        data["classical"] = {
            "shares": digits(classical.shares),
            "sd": digits(sd),
            "od": digits(od),
            "map": map_axes(sd, od, classical.found.cutoffs),
        }
    return data


def _times(analysis: Analysis, rows: Array) -> list[Any] | None:
    """When some rows were measured, as Plotly reads it."""
    if analysis.time is None:
        return None
    times = analysis.time[rows]
    if times.dtype.kind != "M":
        return digits(times, 12)
    written = np.datetime_as_string(times.astype("datetime64[ms]"), timezone="naive").tolist()
    return [None if text == "NaT" else text for text in written]


def digits(x: Any, n: int = 6) -> list[Any]:
    """Numbers rounded to n significant digits; None for what is not finite.

    Examples
    --------
    >>> digits([1234.5678, -0.000123456, 0.0, float("inf")], 3)
    [1230.0, -0.000123, 0.0, None]
    """
    values = np.asarray(x, dtype=np.float64)
    finite = np.isfinite(values)
    safe = np.where(finite & (values != 0), np.abs(values), 1.0)
    places = n - 1 - np.floor(np.log10(safe)).astype(int)
    return [
        round(v, p) if ok else None for v, p, ok in zip(values.tolist(), places.tolist(), finite.tolist())
    ]


def _loadings(analysis: Analysis) -> dict[str, Any]:
    """Loadings in the order of the columns; of very many columns those with the largest."""
    W = np.asarray(analysis.estimator.components_, dtype=np.float64)
    chosen = np.arange(W.shape[1])
    if len(chosen) > MAX_VARIABLES:
        chosen = np.sort(np.argsort(-np.abs(W).max(axis=0), kind="stable")[:MAX_VARIABLES])
    return {"variables": chosen.tolist(), "components": [digits(row, 4) for row in W[:, chosen]]}


def map_axes(sd: Array, od: Array, limits: Any) -> dict[str, Any]:
    """Limits of an outlier map, and whether an axis spans so much that it has to be logarithmic."""
    longest = float(sd.max(initial=limits.score if np.isfinite(limits.score) else 1.0))
    # On a linear axis with a row that is so far out, all others would be one spot.
    log_x = longest > FAR * limits.score
    log_y = float(od.max(initial=0.0)) > FAR * limits.orthogonal > 0
    x = np.geomspace(0.01 * limits.score, 1.1 * longest, 60) if log_x else np.linspace(0, 1.1 * longest, 60)
    return {
        "scoreLimit": digits([limits.score])[0],
        "limitX": digits(x),
        "limitY": digits(orthogonal_limit(x, limits)),
        "logX": bool(log_x),
        "logY": bool(log_y),
    }
