"""Directions with few non-zero entries: shifted hard threshold, polish on the support, swaps.

Where rho(|t|) + kappa t^2/2 is convex in t, f(w) + beta |w|^2/2 is convex for
beta >= kappa lambda_max(X'VX), and |w| = 1 is constant: the linear maximizer of
G + beta w over any part of the sphere never descends. Over the directions with
k non-zero entries it keeps the k largest entries. For p >= 1 no shift is
needed; else the shift is searched from small to large, as a large one makes
more points fixed. The Tl1 operator has kappa = 2 (a + 1)/a^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import to_numpy
from .._progress import report_iteration
from ..geometry import hard_threshold, unit
from ..objectives import Dispersion
from ..rows import DenseRows
from .ascent import SphereAscent
from .base import Rng, Solution, Solver, Start, State, solution
from .fixed_point import FixedPoint
from .starts import BestSample

Array = NDArray[Any]

#: Rows that are tried as starts, the starts that are ascended, and the features tried for each one dropped.
N_SCREENED, N_ASCENDED, N_ADDED = 250, 6, 8
#: The shift grows by this factor.
GROWTH = 4.0


class SparseAscent(Solver):
    """Monotone ascent of a dispersion over unit directions with `n_nonzero` non-zero entries.

    Several starts (the rows, the direction of the dense problem, the axes),
    each ascended and polished on its support; of the best one single features
    are exchanged for others while that gains.

    Parameters
    ----------
    n_nonzero : int
        Most non-zero entries of a direction.
    tol : float, default=1e-8
        Relative increase below which an ascent ends.
    max_iter : int, default=1000
    """

    extractions = ("greedy",)
    orthogonal = False

    def __init__(self, n_nonzero: int, tol: float = 1e-8, max_iter: int = 1000):
        self.n_nonzero = n_nonzero
        self.tol = tol
        self.max_iter = max_iter

    @property
    def in_memory(self) -> str | None:
        return "exchanges single features of all rows"

    def default_start(self) -> Start:
        return BestSample()

    def solve(
        self, objective: Dispersion, start: Start | None = None, n_directions: int = 1, rng: Rng = None
    ) -> Solution:
        rng = np.random.RandomState(0) if rng is None else rng
        dense = self._dense(objective)
        if self.n_nonzero >= objective.rows.shape[1]:
            if start is not None:
                return dense.solve(objective, start, rng=rng)
            return dense.next_directions(objective, _nothing(objective), 1, rng)[0]
        objective = objective.on(DenseRows(to_numpy(objective.rows.array()), weights=objective.rows.weights))
        if start is None:
            candidates = self._starts(objective, dense, rng)
        else:
            candidates = hard_threshold(start.directions(objective, 1, rng)[:, 0], self.n_nonzero)[:, None]
        paths = [self._climb(objective, w) for w in candidates.T]
        w, path = max(paths, key=lambda found: found[1][-1])
        for _ in range(self.max_iter):
            better = self._swap(objective, w, path[-1])
            if better is None:
                return solution(w[:, None], path, True)
            w, value = better
            path.append(value)
            if report_iteration("components", value):
                break
        return solution(w[:, None], path, False)

    def _dense(self, objective: Dispersion) -> Solver:
        if objective.operator.concave:
            return SphereAscent(tol=self.tol, max_iter=self.max_iter)
        return FixedPoint(tol=self.tol, max_iter=self.max_iter)

    def _starts(self, objective: Dispersion, dense: Solver, rng: np.random.RandomState) -> Array:
        """The best directions among sparse rows, the sparse dense solution and the axes."""
        A, d, k = objective.rows.array(), objective.rows.shape[1], self.n_nonzero
        step = max(1, len(A) // N_SCREENED)
        whole = dense.next_directions(objective, _nothing(objective), 1, rng)[0].W
        axes = np.eye(d, dtype=A.dtype)
        found = [hard_threshold(v, k) for v in (*A[::step], to_numpy(whole)[:, 0])]
        candidates = np.column_stack([*(w for w in found if w.any()), axes])
        order = np.argsort(-objective.value(candidates), kind="stable")
        return candidates[:, order[:N_ASCENDED]]

    def _climb(self, objective: Dispersion, w: Array) -> tuple[Array, list[float]]:
        """Shifted hard thresholds until nothing is gained, then the best direction on that support."""
        path = [_value(objective, w)]
        for _ in range(self.max_iter):
            new, value = self._step(objective, w, path[-1])
            if value - path[-1] <= self.tol * abs(path[-1]):
                break
            w = new
            path.append(value)
        w, value = self._polish(objective, w, path[-1])
        return w, [*path, value]

    def _step(self, objective: Dispersion, w: Array, value: float) -> tuple[Array, float]:
        """One step that does not descend, with the least shift that does not."""
        here = objective.value_and_gradient(w[:, None])
        G = here.gradient[:, 0]
        # Where a shift exceeds the gradient by the precision, the step stays where it is.
        most = float(np.abs(G).max()) / float(np.finfo(G.dtype).eps)
        bound, shift = min(self._bound(objective, here.operator), most), 0.0
        while True:
            new = hard_threshold(G + shift * w, self.n_nonzero)
            if new.any():
                found = _value(objective, new)
                if found >= value:
                    return new, found
            if shift >= bound:
                break
            shift = min(bound, GROWTH * shift or 1e-3 * max(min(bound, float(G @ w)), 1e-300))
        return w, value

    def _bound(self, objective: Dispersion, operator: Any) -> float:
        """The shift from which on no step descends; none for p < 1."""
        if operator.convex:
            return 0.0
        kappa = -float(np.max(operator.curvature(np.zeros(1))))
        if kappa <= 0.0:
            return np.inf
        return kappa * float(objective.rows.total(lambda r: r * r, objective.rows.norms()))

    def _polish(self, objective: Dispersion, w: Array, value: float) -> tuple[Array, float]:
        """The best direction with the features of w that an ascent from w leads to."""
        support = np.flatnonzero(w)
        if len(support) < 2:
            return w, value
        rows = objective.rows
        part = objective.on(DenseRows(np.ascontiguousarray(rows.array()[:, support]), weights=rows.weights))
        found = self._dense(part).solve(part, State(w[support, None])).W
        new = np.zeros_like(w)
        new[support] = unit(to_numpy(found)[:, 0])
        reached = _value(objective, new)
        return (new, reached) if reached > value else (w, value)

    def _swap(self, objective: Dispersion, w: Array, value: float) -> tuple[Array, float] | None:
        """The first exchange of a feature for another that gains, None where none does."""
        G = objective.value_and_gradient(w[:, None]).gradient[:, 0]
        support, others = np.flatnonzero(w), np.flatnonzero(w == 0)
        added = others[np.argsort(-np.abs(G[others]), kind="stable")[:N_ADDED]]
        dropped = support[np.argsort(np.abs(w[support]), kind="stable")]
        if len(support) < self.n_nonzero:
            dropped = np.append(dropped, -1)  # there is room for one more: none is dropped
        for i in dropped:
            for j in added:
                new = w.copy()
                if i >= 0:
                    new[i] = 0.0
                new[j] = np.copysign(np.abs(w[i]) if i >= 0 else 1.0 / len(w), G[j])
                new = unit(new)
                found, reached = self._polish(objective, new, _value(objective, new))
                if reached > value * (1 + 1e-10):
                    return found, reached
        return None


def _value(objective: Dispersion, w: Array) -> float:
    return float(np.asarray(objective.value(w[:, None]))[0])


def _nothing(objective: Dispersion) -> Array:
    """No earlier directions."""
    return np.zeros((objective.rows.shape[1], 0), dtype=objective.rows.dtype)


def sparse_loadings(Y: Array, W: Array, n_nonzero: int, tol: float, max_iter: int) -> tuple[Array, Array]:
    """Unit columns with few entries whose span is near to rows: min |Y - T B'|^2 over T and sparse B.

    By turns the least squares scores T, and each column of B: given T it is the
    least squares one with its largest entries kept, which is the best with so
    many. No turn increases the sum of squares. From the columns of W, and from
    their rotation toward few large entries (quartimax); the better end is kept.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
    W : ndarray of shape (d, k)
        Orthonormal.
    n_nonzero : int
    tol : float
        Decrease, as a share of the sum of squares of Y, that ends it.
    max_iter : int

    Returns
    -------
    B : ndarray of shape (d, k)
    path : ndarray
        Sums of squares.
    """
    ends = [_alternate(Y, start, n_nonzero, tol, max_iter) for start in (W, W @ _quartimax(W))]
    return min(ends, key=lambda end: float(end[1][-1]))


def _alternate(Y: Array, W: Array, n_nonzero: int, tol: float, max_iter: int) -> tuple[Array, Array]:
    B = np.column_stack([hard_threshold(w, n_nonzero) for w in W.T])
    total, path = float((Y * Y).sum()), []
    for _ in range(max_iter):
        T = np.linalg.lstsq(B, Y.T, rcond=None)[0].T
        rest = Y - T @ B.T
        path.append(float((rest * rest).sum()))
        if len(path) > 1 and path[-2] - path[-1] <= tol * total:
            break
        for j, t in enumerate(T.T):
            square = float(t @ t)
            if square <= 1e-30 * total:  # the others span this one: it may stay as it is
                continue
            rest += np.outer(t, B[:, j])
            full = rest.T @ t / square
            keep = np.argsort(-np.abs(full), kind="stable")[:n_nonzero]
            B[:, j] = 0.0
            B[keep, j] = full[keep]
            rest -= np.outer(t, B[:, j])
    return unit(B), np.array(path)


def _quartimax(W: Array) -> Array:
    """A rotation R with a large sum of fourth powers of WR: a convex function, which polar factors ascend."""
    R, last = np.eye(W.shape[1]), 0.0
    for _ in range(100):
        U, s, Vt = np.linalg.svd(W.T @ (W @ R) ** 3)
        R = U @ Vt
        if s.sum() <= last * (1.0 + 1e-9):
            break
        last = float(s.sum())
    return np.asarray(R)
