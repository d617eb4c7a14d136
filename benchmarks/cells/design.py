"""What the study of bad cells draws: sizes x bad cells x bad rows x missing cells x seeds, and two
designs without a gap in the spectrum.

Seeds below 100 were used while the method was made; 100 and above were not looked at before the end.
"""

from dataclasses import asdict, dataclass
from itertools import product

import numpy as np


@dataclass(frozen=True)
class Size:
    n: int
    d: int
    k: int


SIZES = {"tall": Size(1000, 50, 5), "small": Size(200, 20, 3), "wide": Size(100, 200, 3)}
#: Bad cells lie this many deviations of their column off, on one side or on both.
CELLS = {"one-sided 20": (20.0, 20.0, False), "signed 8": (8.0, 8.0, True), "spread 3-20": (3.0, 20.0, True)}
#: Small ones, which overlap the noise: reported apart.
SMALL_CELLS = {"one-sided 5": (5.0, 5.0, False), "one-sided 3": (3.0, 3.0, False)}
ROWS = ("cluster", "line", "scattered")
SEEDS = (0, 1, 2, 3, 4, 5, 6)
UNTOUCHED = (900, 901, 902)


@dataclass(frozen=True)
class Cell:
    """One combination; the study says "combination", as a cell is an entry of a table here."""

    size: str
    kind: str
    cells: float
    row_kind: str
    rows: float
    missing: float

    @property
    def key(self):
        return "/".join(str(value) for value in asdict(self).values())


def combinations(quick=False, full=False):
    """Combinations up to 20 % of cells and 20 % of rows (30 % where no cells), 20 % missing."""
    shares = (0.0, 0.05, 0.1, 0.2) if full else (0.0, 0.2) if quick else (0.0, 0.1, 0.2)
    missing = (0.0, 0.1, 0.2) if full else (0.0, 0.2)
    row_shares = (0.0, 0.1, 0.2) if full else (0.0, 0.2)
    kinds = {**CELLS, **SMALL_CELLS}
    for size, cells, gone, rows in product(SIZES, shares, missing, row_shares):
        for kind, row_kind in product(kinds if cells else ["none"], ROWS if rows else ["none"]):
            few = quick or (cells == 0.1 and not full)
            if (few and kind not in ("none", "spread 3-20")) or (
                quick and row_kind not in ("none", "cluster")
            ):
                continue
            yield Cell(size, kind, cells, row_kind, rows, gone)
    if not quick:
        for size, row_kind, gone in product(SIZES, ROWS, missing):
            yield Cell(size, "none", 0.0, row_kind, 0.3, gone)


@dataclass(frozen=True)
class Data:
    X: np.ndarray
    clean: np.ndarray
    bad_rows: np.ndarray
    far_rows: np.ndarray
    bad_cells: np.ndarray  # observed ones
    far_cells: np.ndarray  # of these, five deviations of their column off and more
    missing: np.ndarray
    axes: np.ndarray | None
    k: int

    @property
    def usable(self):
        """Cells that the masked oracle has."""
        return ~self.bad_cells & ~self.missing & ~self.bad_rows[:, None]


def draw(cell, seed):
    size = SIZES[cell.size]
    n, d, k = size.n, size.d, size.k
    rng = np.random.default_rng([seed, 77])
    Q = np.linalg.qr(rng.normal(size=(d, k + 1)))[0]
    axes, off, spread = Q[:, :k], Q[:, k], np.linspace(6.0, 3.0, k)
    clean = (rng.normal(size=(n, k)) * spread) @ axes.T + rng.normal(size=(n, d))
    X, bad = clean.copy(), np.zeros(n, dtype=bool)
    m = round(cell.rows * n)
    bad[rng.permutation(n)[:m]] = True
    if cell.row_kind == "cluster":
        X[bad] = 20.0 * off + rng.normal(size=(m, d))
    elif cell.row_kind == "line":
        X[bad] += rng.normal(0.0, 20.0, size=(m, 1)) * off
    elif cell.row_kind == "scattered":
        X[bad] = 10.0 * rng.normal(size=(m, d))
    orthogonal = np.linalg.norm(X - X @ axes @ axes.T, axis=1)
    far = bad & (orthogonal > 1.25 * np.sqrt(d - k + 3.1 * np.sqrt(2.0 * (d - k))))
    deviation = np.sqrt((axes**2) @ spread**2 + 1.0)
    low, high, signed = {"none": (0.0, 0.0, False), **CELLS, **SMALL_CELLS}[cell.kind]
    bad_cells = rng.uniform(size=(n, d)) < cell.cells
    shift = rng.uniform(low, high, size=(n, d))
    if signed:
        shift *= rng.choice([-1.0, 1.0], size=(n, d))
    X[bad_cells] = (shift * deviation + 0.3 * rng.normal(size=(n, d)))[bad_cells]
    missing = rng.uniform(size=(n, d)) < cell.missing
    X[missing] = np.nan
    bad_cells &= ~missing
    # Off the fit of their row, in deviations of their column: a cell may by chance lie where it belongs.
    far_cells = bad_cells & (np.abs(X - clean) >= 5.0 * deviation)
    return Data(X, clean, bad, far, bad_cells, far_cells, missing, axes, k)


# ---------------------------------------------------------------- designs without a gap
GAMMAS = (3.0, 5.0, 10.0, 20.0)
MIXES = {"cells": (0.2, 0.0), "rows": (0.0, 0.2), "both": (0.1, 0.1)}


def correlation(name, d, rng):
    """A09: (-.9)^|i-j|; ALYZ: a random correlation matrix with condition number 100."""
    if name == "A09":
        return (-0.9) ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    values = np.sort(np.append(rng.uniform(1.0, 100.0, size=d - 2), [1.0, 100.0]))
    E = np.linalg.qr(rng.normal(size=(d, d)))[0]
    for _ in range(100):
        S = (E * values) @ E.T
        scale = np.sqrt(np.diag(S))
        R = S / scale / scale[:, None]
        values, E = np.linalg.eigh(R)
        if abs(values[-1] / values[0] - 100.0) < 0.1:
            break
        values[-1] = 100.0 * values[0]
    return R


def draw_correlated(name, mix, gamma, missing, seed, n=100, d=200, k=6):
    rng = np.random.default_rng([seed, 99])
    R = correlation(name, d, rng)
    values, E = np.linalg.eigh(R)
    root = (E * np.sqrt(np.maximum(values, 0.0))) @ E.T
    clean = rng.normal(size=(n, d)) @ root
    cells, rows = MIXES[mix]
    X, bad = clean.copy(), np.zeros(n, dtype=bool)
    bad[: round(rows * n)] = True
    X[bad] = gamma * np.sqrt(d) / 2 * E[:, -k - 1] + clean[bad] / np.sqrt(1.5)
    bad_cells = rng.uniform(size=(n, d)) < cells
    X[bad_cells] = gamma
    gone = rng.uniform(size=(n, d)) < missing
    X[gone] = np.nan
    bad_cells &= ~gone
    return Data(X, clean, bad, bad, bad_cells, bad_cells, gone, None, k)
