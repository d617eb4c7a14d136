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
    copies = 1 if analysis.user_values is None else 2
    kept = rows[: max(MIN_ROWS, MAX_NUMBERS // (copies * d))]
    centered = analysis.data[kept].astype(np.float64) - mean
    parts = [centered] if analysis.user_values is None else [centered, analysis.user_values[kept]]
    largest = max(float(np.nanmax(np.abs(part), initial=0.0)) for part in parts)
    if not 1e-30 < largest < 1e37:
        return None
    return {
        "rows": len(kept),
        "mean": mean.tolist(),
        "spread": spread.tolist(),
        "precision": np.divide(1.0, variances, out=np.zeros_like(variances), where=live).tolist(),
        "components": packed(W),
        "dual": packed(np.linalg.pinv(W).T),
        "centered": packed(centered),
        "given": None if analysis.user_values is None else packed(analysis.user_values[kept]),
    }


def packed(x: Array) -> str:
    """Numbers as base64 of little-endian single precision, which a browser reads at once.

    Examples
    --------
    >>> packed(np.array([1.0]))
    'AACAPw=='
    """
    return base64.b64encode(np.ascontiguousarray(x, dtype="<f4").tobytes()).decode()
