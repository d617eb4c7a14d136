"""Rows of a stream with missing cells, made complete by the model in use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cellwise import CellPlane, Cells, robust_scores
from .stream_model import Model

__all__ = ["completed"]

Array = NDArray[Any]

#: Least share of every direction of the subspace that the observed cells of a row must hold.
SUFFICIENT = 0.1


def completed(model: Model, rows: Array, k: int) -> Array:
    """The rows with NaN filled in where their observed cells suffice, and without the others.

    The scores are the robust ones of the observed cells, a missing cell is
    what they predict. Residuals of m observed cells of d are stretched by
    ``sqrt((d - k)/(m - k))``: the row lies as far from the subspace as it
    would if it were complete, on average, and the scale does not shrink.

    Parameters
    ----------
    model : Model
    rows : ndarray of shape (n, d)
    k : int
        Number of components.

    Returns
    -------
    ndarray of shape (m, d)
    """
    mask = ~np.isnan(rows)
    short = np.flatnonzero(~mask.all(axis=1))
    if len(short) == 0:
        return rows
    d, W, seen = rows.shape[1], model.axes[:, :k], mask[short]
    held = np.linalg.eigvalsh(np.einsum("nd,dj,dl->njl", seen.astype(np.float64), W, W))[:, 0]
    enough = (held >= SUFFICIENT) & (seen.sum(axis=1) > k)
    lost, short, seen = short[~enough], short[enough], seen[enough]
    largest = float(model.variances[:k].max(initial=0.0))
    unit = np.sqrt(max(model.noise / max(d - k, 1), 1e-16 * largest, np.finfo(np.float64).tiny))
    away = np.where(seen, rows[short] - model.center, 0.0)
    plane = CellPlane(np.zeros(d), W, model.variances[:k] / unit**2)
    fitted = unit * robust_scores(Cells(away / unit, seen), plane) @ W.T
    stretch = np.sqrt((d - k) / np.maximum(seen.sum(axis=1) - k, 1))[:, None]
    rows = rows.copy()
    rows[short] = model.center + fitted + np.where(seen, stretch * (away - fitted), 0.0)
    return np.delete(rows, lost, axis=0)
