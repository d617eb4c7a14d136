"""Low-rank fits of single cells: a Tl1 loss of cells inside a Tl1 loss of rows, missing cells left out.

Everything here is in units where the noise of every column is about one. The
least squares problems of all rows, and of all columns, are solved at once:
with weights W (n x d) the matrices V' W_i V of all rows are one product of W
with the pairwise products of the columns of V (d x k(k+1)/2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._progress import report_iteration

Array = NDArray[Any]

#: Residual of a cell, in deviations, at which its loss is half of the largest: 95 % efficiency.
CELL_WIDTH = 3.75
#: The same for the loss of a row, in medians of all rows.
ROW_WIDTH = 2.0
#: Entries of a block of rows, so that its temporaries stay in cache.
BLOCK = 1 << 16
#: Deviations beyond which a cell is bad: one good cell in a thousand.
CELL_CUTOFF = float(ndtri(0.9995))
#: Deviations beyond which a cell is as far as anything can be: its square is still a number.
REACH = 1e100
#: Number of scores up to which the small systems of all rows are solved step by step at once.
FEW = 24
#: Keeps the scores of a row that says nothing about some direction at zero there.
RIDGE = 1e-10
#: Change of the scores of a row, relative to their size, at which they are settled.
SETTLED = 1e-6
#: Share of its noise that is left of the residual of a cell that decides the fit of its row, at least.
LEAST_VARIANCE = 0.1


def standardized(X: Array, mask: Array, location: Array, unit: Array) -> Array:
    """Observed cells as (x - location) / unit, within `REACH`; zero where they are missing."""
    with np.errstate(over="ignore"):
        return np.where(mask, np.clip((X - location) / unit, -REACH, REACH), 0.0)


def usual_scale(scale: Array) -> float:
    """Median of the scales of columns that vary; one where none does."""
    moves = scale > 1e-6
    return float(np.median(scale[moves])) if moves.any() else 1.0


def square_tl1(u2: Array) -> Array:
    """h(u) = u^2 / (1 + u^2), the Tl1 operator of the square: bounded, and concave in the square."""
    return u2 / (1.0 + u2)


def square_tl1_weight(u2: Array) -> Array:
    """Slope of h in the square, 1 / (1 + u^2)^2: the weight in the least squares that majorize it."""
    w = 1.0 / (1.0 + u2)
    return w * w


@dataclass(frozen=True)
class CellLoss:
    r"""Loss of the residuals of cells inside rows.

    .. math:: \sum_i m_i\, h\big(t_i / (b S)\big),\qquad
              t_i^2 = \frac{1}{m_i} \sum_j m_{ij}\, h(r_{ij}/c)

    over the rows in the fit, with m the observed cells, c `CELL_WIDTH` and b
    `ROW_WIDTH`. Both are concave in the squares of the residuals, so least
    squares with the weights below never increase the loss.

    Attributes
    ----------
    row_scale : float
        S, fixed while the loss is minimized.
    """

    row_scale: float

    def value(self, row_losses: Array, observed: Array) -> float:
        """The loss, from t_i^2 and the numbers of observed cells of the rows in the fit."""
        return float(np.sum(observed * square_tl1(row_losses / (ROW_WIDTH * self.row_scale) ** 2)))

    def row_weights(self, row_losses: Array) -> Array:
        """Weights of the rows in the least squares for the loadings."""
        return square_tl1_weight(row_losses / (ROW_WIDTH * self.row_scale) ** 2)

    @staticmethod
    def cell_weights(residuals: Array, mask: Array, width: float = CELL_WIDTH) -> Array:
        """Weights of the cells inside their rows."""
        u = residuals / width
        u *= u
        return np.where(mask, square_tl1_weight(u), 0.0)

    @staticmethod
    def row_losses(residuals: Array, mask: Array) -> Array:
        """t_i^2 of every row."""
        losses = np.where(mask, square_tl1((residuals / CELL_WIDTH) ** 2), 0.0).sum(axis=1)
        return np.asarray(losses / np.maximum(mask.sum(axis=1), 1))


@dataclass(frozen=True)
class Cells:
    """Values (n, d) with zeros where a cell is missing, and the mask of observed ones."""

    values: Array
    mask: Array

    def blocks(self) -> Iterator[slice]:
        """Slices of rows whose temporaries stay in cache."""
        n, d = self.values.shape
        step = max(64, BLOCK // max(d, 1))
        return (slice(i, min(i + step, n)) for i in range(0, n, step))

    def take(self, index: Array | slice) -> Cells:
        """Some of the rows."""
        return Cells(self.values[index], self.mask[index])


@dataclass(frozen=True)
class CellPlane:
    """center + span(V), V (d, k) orthonormal, and the variances of the scores."""

    center: Array
    V: Array
    variances: Array


@dataclass(frozen=True)
class CellFit:
    """The plane, the scores of all rows and the path of the loss."""

    plane: CellPlane
    scores: Array
    path: tuple[float, ...]
    converged: bool


# ---------------------------------------------------------------- all small least squares at once
@lru_cache
def _upper(k: int) -> tuple[Array, Array]:
    """Rows and columns of the upper triangle, in the order of rows."""
    return np.triu_indices(k)


def _pairs(V: Array) -> Array:
    i, j = _upper(V.shape[1])
    return V[:, i] * V[:, j]


def _symmetric(flat: Array, k: int) -> Array:
    """Matrices (n, k, k) from their upper triangles (n, k(k+1)/2)."""
    i, j = _upper(k)
    A = np.empty((len(flat), k, k))
    A[:, i, j] = flat
    A[:, j, i] = flat
    return A


def solve_scores(deviations: Array, weights: Array, V: Array, prior: Array | float = RIDGE) -> Array:
    """Weighted least squares scores of every row, (n, k), `prior` added to the diagonals."""
    k, right = V.shape[1], V.T @ (weights * deviations).T
    if k > FEW:
        A = _symmetric(weights @ _pairs(V), k)
        A[:, range(k), range(k)] += prior
        return np.linalg.solve(A, right.T[..., None])[..., 0]
    flat, first = _pairs(V).T @ weights.T, np.flatnonzero(np.equal(*_upper(k)))
    flat[first] += np.atleast_2d(prior).T  # of all scores alike, of each, or of each of each row
    _eliminate([flat[i : i + k - r] for r, i in enumerate(first)], right)
    return right.T


def _eliminate(upper: list[Array], right: Array) -> None:
    """Solve n positive definite systems of k unknowns at once, in place.

    Each step is one on vectors of length n: for few unknowns several times as fast as a solver that
    takes one small system after the other.

    Parameters
    ----------
    upper : list of k ndarray of shape (k, n), (k - 1, n), ..., (1, n)
        Rows of the matrices from the diagonal on.
    right : ndarray of shape (k, n)
        Right sides; the solutions take their place.
    """
    k = len(upper)
    for r, row in enumerate(upper):
        factors = row[1:] / row[0]
        for i in range(r + 1, k):
            upper[i] -= factors[i - r - 1] * row[i - r :]
        right[r + 1 :] -= factors * right[r]
    for r in reversed(range(k)):
        right[r] -= (upper[r][1:] * right[r + 1 :]).sum(axis=0)
        right[r] /= upper[r][0]


def _inverted(A: Array) -> Array:
    """The inverses of n positive definite matrices (k, k, n), in their place: step by step, all at once."""
    for r in range(len(A)):
        pivot = 1.0 / A[r, r]
        row, column = A[r] * pivot, A[:, r].copy()
        A -= column[:, None] * row
        A[r], A[:, r] = row, -column * pivot
        A[r, r] = pivot
    return A


def residual_variances(weights: Array, V: Array, prior: Array | float = RIDGE) -> Array:
    """Variance of the residual of every cell, where that of its noise is one.

    A cell in the fit of its row draws the fit toward itself; one left out meets the error of the fit on top
    of its own noise. Between the two, with h = v' (V'WV)^-1 v, it is 1 - 2wh + h sum(w^2)/sum(w), nearly.
    """
    k = V.shape[1]
    i, j = _upper(k)
    A = np.empty((k, k, len(weights)))
    A[i, j] = A[j, i] = _pairs(V).T @ weights.T
    A[range(k), range(k)] += np.atleast_2d(prior).T
    inverse = (_inverted(A)[i, j] * np.where(i == j, 1.0, 2.0)[:, None]).T
    usual = (weights * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), RIDGE)
    return np.maximum(1.0 + (usual[:, None] - 2.0 * weights) * (inverse @ _pairs(V).T), LEAST_VARIANCE)


class Loadings:
    """Normal equations of all columns on [1, scores], gathered block by block."""

    def __init__(self, d: int, k: int):
        self._k = k + 1
        self._A = np.zeros((d, self._k * (self._k + 1) // 2))
        self._b = np.zeros((d, self._k))

    def add(self, values: Array, weights: Array, U: Array) -> None:
        Z = np.column_stack([np.ones(len(U)), U])
        self._A += weights.T @ _pairs(Z)
        self._b += (weights * values).T @ Z

    def solve(self, before: CellPlane) -> tuple[Array, Array]:
        """Center and loadings; as before where a column has next to no weight."""
        A, old = _symmetric(self._A, self._k), np.column_stack([before.center, before.V])
        size = np.trace(A, axis1=1, axis2=2)[:, None]
        ridge = 1e-9 * size + 1e-12
        A[:, range(self._k), range(self._k)] += ridge
        B = np.linalg.solve(A, (self._b + ridge * old)[..., None])[..., 0]
        return B[:, 0], B[:, 1:]


def orthonormal(center: Array, V: Array, U: Array, rows: Array) -> tuple[CellPlane, Array]:
    """The same fit with orthonormal V, and scores that are centered and uncorrelated over the rows."""
    inside = U[rows]
    middle = inside.mean(axis=0)
    Q, R = np.linalg.qr(V)
    T = (inside - middle) @ R.T
    variances, E = np.linalg.eigh(T.T @ T / max(len(T) - 1, 1))
    E = E[:, ::-1]
    plane = CellPlane(center + V @ middle, Q @ E, np.maximum(variances[::-1], 0.0))
    return plane, (U - middle) @ (R.T @ E)


def principal_axes(loadings: Array, variances: Array) -> tuple[Array, Array]:
    """Orthonormal axes (d, k) of scores with given variances, and the deviations along them."""
    axes, sizes, _ = np.linalg.svd(loadings * np.sqrt(variances), full_matrices=False)
    live = sizes > 1e-12 * max(sizes[0], 1e-300)
    if not live.all():  # scores without variance leave their axes open: any others that complete the plane
        axes = axes[:, live]
        rest = np.linalg.svd(loadings - axes @ (axes.T @ loadings), full_matrices=False)[0]
        axes = np.linalg.qr(np.column_stack([axes, rest[:, : len(sizes) - axes.shape[1]]]))[0]
    return axes, sizes


# ---------------------------------------------------------------- the iteration
def minimize_cell_loss(
    cells: Cells, plane: CellPlane, U: Array, rows: Array, *, max_iter: int, tol: float
) -> CellFit:
    """Iteratively reweighted least squares for the cells of the given rows.

    The rows and all scales are fixed, so the loss never increases.

    Parameters
    ----------
    cells : Cells
        In units of the noise of each column.
    plane : CellPlane
        Start.
    U : ndarray of shape (n, k)
        Scores to start from, of all rows.
    rows : ndarray of bool of shape (n,)
        Rows that shape the plane; the others only get scores.
    max_iter : int
    tol : float
        Relative decrease of the loss at which to stop.

    Returns
    -------
    CellFit
    """
    m = cells.mask.sum(axis=1)
    loss = CellLoss(row_scale=_row_scale(cells, plane, U, rows))
    path: list[float] = []
    best = plane, U
    for _ in range(max_iter + 1):
        new, t2 = np.empty_like(U), np.empty(len(U))
        loadings = Loadings(*plane.V.shape)
        for part in cells.blocks():
            some = cells.take(part)
            deviations = some.values - plane.center
            R = deviations - U[part] @ plane.V.T
            W, t2[part] = loss.cell_weights(R, some.mask), loss.row_losses(R, some.mask)
            new[part] = solve_scores(deviations, W, plane.V)
            W *= (rows[part] * loss.row_weights(t2[part]))[:, None]
            loadings.add(some.values, W, new[part])
        value = loss.value(t2[rows], m[rows])
        if path and value > path[-1]:  # by rounding alone
            break
        best = plane, U
        path.append(value)
        if report_iteration("cells", value) or (len(path) > 1 and path[-2] - value <= tol * value):
            break
        plane, U = orthonormal(*loadings.solve(plane), new, rows)
    return CellFit(*best, tuple(path), len(path) <= max_iter)


def _row_scale(cells: Cells, plane: CellPlane, U: Array, rows: Array) -> float:
    """Median of the losses t_i of the rows in the fit."""
    t2 = np.empty(len(U))
    for part in cells.blocks():
        some = cells.take(part)
        t2[part] = CellLoss.row_losses(some.values - plane.center - U[part] @ plane.V.T, some.mask)
    return max(float(np.sqrt(np.median(t2[rows]))), 1e-8)


# ---------------------------------------------------------------- rows for a plane that is given
def held_scores(mask: Array, variances: Array, held: int = 0) -> Array:
    """What holds the scores of each row in the end: the inverse of their variances, or next to nothing.

    The last `held` scores are always held. So are all scores of a row with gaps, which may hardly say
    anything of some direction: a single bad cell would decide it, and what is missing would be anywhere.
    """
    prior = np.clip(1.0 / np.maximum(variances, 1e-12), RIDGE, 1e6)
    gaps, k = mask.sum(axis=1) < mask.shape[1], len(variances) - held
    return np.where(gaps[:, None] | (np.arange(len(variances)) >= k), prior, RIDGE)


def first_scores(cells: Cells, plane: CellPlane) -> Array:
    """Scores to start from for rows with bad and missing cells.

    Least squares with Huber weights first, a convex problem, so that cells far
    off have little to say; then the Tl1 loss from a width of three times the
    final one down to it, so that 40 % of bad cells in a row cannot win. Up to
    there the scores are held by their variances, or few cells could explain
    a bad one by scores that no row has.
    """
    deviations, mask = cells.values - plane.center, cells.mask
    prior = np.clip(1.0 / np.maximum(plane.variances, 1e-12), RIDGE, 1e6)
    U = np.zeros((len(mask), len(prior)))
    for _ in range(6):
        R = np.abs(deviations - U @ plane.V.T)
        U = solve_scores(deviations, mask / np.maximum(R, 1.0), plane.V, prior)
    for width in (3.0, 2.0, 1.4, 1.0):
        W = CellLoss.cell_weights(deviations - U @ plane.V.T, mask, width * CELL_WIDTH)
        U = solve_scores(deviations, W, plane.V, prior)
    return U


def robust_scores(cells: Cells, plane: CellPlane, held: int = 0, first: Array | None = None) -> Array:
    """Scores of rows with bad and missing cells, for a given plane: least Tl1 loss near the first ones."""
    U = first_scores(cells, plane) if first is None else first[:, : len(plane.variances)].copy()
    deviations, mask = cells.values - plane.center, cells.mask
    moving, prior = np.arange(len(U)), held_scores(mask, plane.variances, held)
    for _ in range(300):  # few rows need more than ten
        W = CellLoss.cell_weights(deviations - U[moving] @ plane.V.T, mask)
        new = solve_scores(deviations, W, plane.V, prior)
        change = np.abs(new - U[moving]).max(axis=1, initial=0.0)
        U[moving] = new
        still = change > SETTLED * (1.0 + np.abs(new).max(axis=1, initial=0.0))
        if not still.any():
            break
        moving, deviations, mask, prior = moving[still], deviations[still], mask[still], prior[still]
    return U


def judge_cells(cells: Cells, plane: CellPlane, held: int = 0, first: Array | None = None) -> CellAssessment:
    """Robust scores of rows, and what these say of their cells.

    Parameters
    ----------
    cells : Cells
    plane : CellPlane
    held : int
        Number of scores, the last ones, that are always held.
    first : ndarray of shape (n, k + e), optional
        `first_scores` of a plane with further directions: rows that lie along these are not to begin with
        scores that make up for them.
    """
    prior = held_scores(cells.mask, plane.variances, held)
    return assess_cells(cells, plane, robust_scores(cells, plane, held, first), CELL_CUTOFF, prior)


@dataclass(frozen=True)
class CellAssessment:
    """What a plane says of rows and their cells.

    Attributes
    ----------
    scores : ndarray of shape (n, k)
    residuals : ndarray of shape (n, d)
        In deviations, corrected for the leverage of the cell; zero where it is missing.
    weights : ndarray of shape (n, d)
        Weights of the cells inside their rows.
    flags : ndarray of bool of shape (n, d)
    """

    scores: Array
    residuals: Array
    weights: Array
    flags: Array

    def rows(self, index: Array | slice) -> CellAssessment:
        """Some of the rows."""
        return CellAssessment(
            self.scores[index], self.residuals[index], self.weights[index], self.flags[index]
        )

    def within(self, tails: Array) -> CellAssessment:
        """Residuals as the normal values that tails of such shapes are made of, and their flags, in place."""
        for j in np.flatnonzero(tails.any(axis=0)):
            R = self.residuals[:, j]
            shape = tails[(R > 0).astype(int), j]
            safe = np.where(shape > 0, shape, 1.0)
            R[:] = np.where(shape > 0, np.copysign(np.log1p(safe * np.abs(R)) / safe, R), R)
            self.flags[:, j] = np.abs(R) > CELL_CUTOFF
        return self


def assess_cells(
    cells: Cells, plane: CellPlane, U: Array, cutoff: float, prior: Array | float = RIDGE
) -> CellAssessment:
    """Residuals, weights and flags of the cells of rows with the given scores, which `prior` held.

    The few cells that a bad row may have on the plane do not tell where the others should be, and would
    excuse any residual: where most cells disagree with the fit, all are taken as a part of it.
    """
    R = cells.values - plane.center - U @ plane.V.T
    W = CellLoss.cell_weights(R, cells.mask)
    agree = 2 * (cells.mask & (np.abs(R) <= CELL_WIDTH)).sum(axis=1) >= cells.mask.sum(axis=1)
    fitted = np.where(agree[:, None], W, cells.mask)
    R = np.where(cells.mask, R / np.sqrt(residual_variances(fitted, plane.V, prior)), 0.0)
    return CellAssessment(U, R, W, np.abs(R) > cutoff)
