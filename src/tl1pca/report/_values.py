"""What the page needs to show the values of a row and what each column adds to its distances."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ._analysis import Analysis, Array

#: Numbers of rows in the file, four bytes each; the rows furthest out come first.
MAX_NUMBERS = 60_000
#: But those of so many rows are always there.
MIN_ROWS = 50


def model(analysis: Analysis, rows: Array, spread: Array) -> dict[str, Any] | None:
    """The model, and the first rows of the page in single precision; None where that cannot hold them.

    Rows are kept less the center: what a column adds depends on their
    difference, which would drown in the digits of large values.
    """
    pca, d = analysis.estimator, len(analysis.names)
    W, mean = (np.asarray(part, dtype=np.float64) for part in (pca.components_, pca.mean_))
    variances = np.asarray(pca.explained_variance_, dtype=np.float64)
    live = variances > 1e-20 * variances.max(initial=0.0)
    units, raw = _units(analysis), None
    if units is None or analysis.given is not None:  # what the model sees does not say what was measured
        raw = analysis.given if analysis.user_values is None else analysis.user_values
    arrays = {
        "centered": analysis.data,
        "raw": raw,
        "cells": analysis.cell_residuals,
    }
    present = {name: array for name, array in arrays.items() if array is not None}
    kept = rows[: max(MIN_ROWS, MAX_NUMBERS // (len(present) * d))]
    parts = {name: np.asarray(array[kept], dtype=np.float64) for name, array in present.items()}
    parts["centered"] -= mean
    largest = max(float(np.nanmax(np.abs(part), initial=0.0)) for part in parts.values())
    if not 1e-30 < largest < 1e37:
        return None
    return {
        "rows": len(kept),
        "mean": mean.tolist(),
        "spread": spread.tolist(),
        "precision": np.divide(1.0, variances, out=np.zeros_like(variances), where=live).tolist(),
        "components": packed(W),
        "dual": packed(np.linalg.pinv(W).T),
        "shift": None if units is None else units[0].tolist(),
        "factor": None if units is None else units[1].tolist(),
        "cutoff": None if analysis.given is None else float(pca.cell_cutoff),
        **{name: packed(parts[name]) if name in parts else None for name in arrays},
    }


def _units(analysis: Analysis) -> tuple[Array, Array] | None:
    """Shift and factor of each column from the model back to the user; None where that is not all there is.

    Scalers are undone in this way; a logarithm, say, is not.
    """
    d = len(analysis.names)
    if analysis.user_values is None:
        return np.zeros(d), np.ones(d)
    inside = (analysis.data if analysis.given is None else analysis.given)[:200]
    probe = np.vstack([np.zeros(d), np.ones(d), inside])
    try:
        back = np.asarray(analysis.steps.inverse_transform(probe), dtype=np.float64)
    except (AttributeError, TypeError, ValueError):  # a step that cannot be undone
        return None
    shift, factor = back[0], back[1] - back[0]
    seen = analysis.user_values[:200]
    if not np.allclose(shift + factor * inside, seen, rtol=1e-6, atol=1e-9 * np.abs(factor), equal_nan=True):
        return None
    return shift, factor


def packed(x: Array) -> str:
    """Numbers as base64 of little-endian single precision, which a browser reads at once.

    Examples
    --------
    >>> packed(np.array([1.0]))
    'AACAPw=='
    """
    return base64.b64encode(np.ascontiguousarray(x, dtype="<f4").tobytes()).decode()
