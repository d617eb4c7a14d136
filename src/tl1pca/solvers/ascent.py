"""The default solver for concave operators: graduated smoothing, then Newton in the sign cell.

Off the kinks t_i = 0 the Riemannian Hessian of f is P X' diag(rho'') X P - mu P
with mu = sum psi(|t|)|t|: negative definite. So every stationary point is a
strict local maximum and there may be one in each cell of constant signs: far
too many. But the kinks can be spread: sum rho(sqrt(t^2 + h^2)) is smooth, and
with h from the size of the scores down to zero the starts flow together and
end higher than ascents that begin at h = 0. A few gradient steps at each width
are enough to follow: many cheap starts end higher than few that follow closely.
Newton then finishes in its cell, and reflections at the rows try the
neighboring ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from .._arrays import tiny
from .._progress import report_iteration
from ..geometry import unit
from ..linear import conjugate_gradients
from ..objectives import BatchDispersion, Dispersion
from ..rows import MANY_ROWS, Rows
from ..statistics import weighted_median
from .base import Rng, Solution, Solver, Start, solution
from .sampled import SampledAscent
from .starts import SHORTEST_DIRECTION, BestSample, ResultOf
from .together import ascend_together

Array = NDArray[Any]

#: Two to three times faster than anything before NumPy 2, and called all the time.
_VECDOT = getattr(np, "vecdot", None)
_CHOLESKY: dict[str, tuple[Callable[..., Any], ...]] = {
    "f": (blas.ssyrk, lapack.spotrf, lapack.spotrs),
    "d": (blas.dsyrk, lapack.dpotrf, lapack.dpotrs),
}

#: With more rows directions are found together; with fewer, one by one, for then more starts are worth more.
ONE_BY_ONE = 900
#: Starts ascended together, how many are kept once they have flown together, and how many begin
#: again where the kinks are sharp: the smoothing may lead away from a high cell.
N_STARTS, N_KEPT, N_UNSMOOTHED = 12, 5, 3
#: Up to so many rows are compared as starts by all rows.
N_SCREENED = 250
#: Widths of the kinks in median scores, and the gradient steps at each where rows are few;
#: with more rows the interpreter counts less, and steps go on while they gain.
WIDTHS = ((1.0, 2), (0.4, 2), (0.16, 2), (None, 2))
FEW_ROWS, MAX_GRADIENT_STEPS = 250, 20
#: Rows nearest to their kink are tried as mirrors; with more rows in all, the cells are too tiny to pay.
N_MIRRORS, REFLECT_BELOW = 32, 1000
#: Trial steps along the great circle, in steps of Newton's length: none, and those of a rough
#: ascent; Newton's own, and a longer one where Newton finishes.
GRADIENT_STEPS: dict[Any, Array] = {
    t: np.array([0.0, 0.4, 0.8, 1.6], dtype=t) for t in (np.dtype("f"), np.dtype("d"))
}
NEWTON_STEPS: dict[Any, Array] = {t: np.array([1.0, 2.5], dtype=t) for t in (np.dtype("f"), np.dtype("d"))}
STAY, NATURAL = 0, 0
#: Up to so many columns the Hessian is factored; beyond, conjugate gradients.
FACTORED_COLUMNS = 500
#: Factors serve again while a step makes the gradient smaller by this.
REUSE = 0.1


class SphereAscent(Solver):
    """Deterministic ascent of a concave dispersion on the sphere, from the best of the rows.

    With more than 900 rows all directions are found together, and with more than
    5000 by `SampledAscent`, with the same options.

    The recorded path begins where the smoothing has ended; it never descends.

    Parameters
    ----------
    tol : float, default=1e-8
        Relative tangent gradient |g|/mu at which a direction is a maximum.
    max_iter : int, default=1000
    n_starts : int, default=1
        Multiplies the number of starts that are ascended (12 by default).
    n_reflections : int, default=10
        Most reflections of the winner at rows, each to a better cell.
    warm : Solver or None, default=None
        Another solver whose result is one more start, so that the objective
        is never below that solver's.
    """

    def __init__(
        self,
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_starts: int = 1,
        n_reflections: int = 10,
        warm: Solver | None = None,
    ):
        self.tol = tol
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.n_reflections = n_reflections
        self.warm = warm

    extractions = ("greedy",)
    supports_array_api = True

    @property
    def needs(self) -> tuple[str, ...]:
        return ("concave",)

    @property
    def in_memory(self) -> str | None:
        return None if self.warm is None else self.warm.in_memory

    def default_start(self) -> Start:
        return BestSample()

    def gains_by_turning(self, rows: Rows, count: int) -> bool:
        """Steps of all directions together are cheaper than a decomposition, unless there are many."""
        return not self._all_at_once(rows) or 4 * count > rows.shape[0]

    def _all_at_once(self, rows: Rows) -> bool:
        return self.warm is None and rows.shape[0] > ONE_BY_ONE

    def next_directions(
        self, objective: Dispersion, earlier: Array, count: int, rng: np.random.RandomState
    ) -> list[Solution]:
        rows = objective.rows
        options: Any = {"tol": self.tol, "max_iter": self.max_iter, "n_starts": self.n_starts}
        if rows.shape[0] > MANY_ROWS:
            return SampledAscent(warm=self.warm, **options).next_directions(objective, earlier, count, rng)
        if self._all_at_once(rows):
            return ascend_together(objective, earlier, count, **options)
        return super().next_directions(objective, earlier, count, rng)

    def solve(
        self, objective: Dispersion, start: Start | None = None, n_directions: int = 1, rng: Rng = None
    ) -> Solution:
        batch = BatchDispersion.of(objective)
        length = np.sqrt(_dots(batch.A, batch.A))
        gram: Array | None = None
        if start is not None:
            w = start.directions(objective, 1, rng)[:, 0]
        else:
            w, gram = _best_of_continuation(batch, length, self.n_starts)
            if self.warm is not None:
                warm = ResultOf(self.warm).directions(objective, 1, rng)[:, 0]
                w = max(unit(w), warm, key=lambda w: float(objective.value(w)))
        goal = max(self.tol, 16 * float(np.finfo(batch.A.dtype).eps))
        reflections, path = self.n_reflections if len(batch.A) <= REFLECT_BELOW else 0, list[float]()
        for reflection in range(1 + reflections):
            w, t, gradient, more = _newton_ascent(batch, w, self.max_iter, goal)
            path += more
            if report_iteration("component", path[-1]) or reflection == reflections:
                break
            other = _best_reflection(batch.at(t), w, t, length, gram)
            if other is None:
                break
            w = other
        converged = gradient <= max(self.tol, 1e-6) or len(path) <= self.max_iter
        return solution(w[:, None], np.maximum.accumulate(path).tolist(), converged)


def _best_of_continuation(batch: BatchDispersion, length: Array, n_starts: int) -> tuple[Array, Array | None]:
    """Where the best rows lead while the kinks are sharpened, and A A' where it was needed for that."""
    A, v = batch.A, batch.v
    live = np.flatnonzero(length > SHORTEST_DIRECTION * length.max())
    if len(live) > N_SCREENED:  # some rows tell which of all are worth a look by all
        some = slice(None, None, -(-len(A) // N_SCREENED))
        part = replace(batch, A=A[some], v=v[some])
        live = live[_rank(part, A[live] @ part.A.T / length[live, None], N_SCREENED // 2 * n_starts)]
    gram = A @ A.T if len(live) == len(A) else None
    scores = (A[live] @ A.T if gram is None else gram) / length[live, None]
    best = _rank(batch, scores, N_STARTS * n_starts)
    T, sizes = scores[best], np.abs(scores[best[0]])
    off = sizes > 0
    scale = float(weighted_median(sizes[off], None if batch.equal else v[off]))
    if gram is not None and len(A) <= A.shape[1]:
        C = np.zeros((len(best), len(A)), dtype=A.dtype)
        C[np.arange(len(best)), best] = 1.0 / length[best]
        return _continuation(replace(batch, gram=gram), C, T, scale, N_KEPT * n_starts) @ A, gram
    W = A[live[best]] / length[live[best], None]
    return _continuation(batch, W, T, scale, N_KEPT * n_starts), gram


def _rank(batch: BatchDispersion, scores: Array, count: int) -> Array:
    """The paper's start: candidates (rows of scores) with the largest objective, best first."""
    if batch.given.adaptive:
        best = int(np.argmax(np.abs(scores) @ batch.v))
        for _ in range(8):  # two or three rounds find the largest alpha without a root for each
            values = batch.at(scores[best]).value(scores)
            if int(np.argmax(values)) == best:
                break
            best = int(np.argmax(values))
    else:
        values = batch.value(scores)
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    # A repeated row, or its mirror image, is no second start.
    fresh = np.concatenate([[True], ranked[:-1] - ranked[1:] > 1e-12 * ranked[0]])
    return np.asarray(order[fresh][:count])


def _continuation(batch: BatchDispersion, W: Array, T: Array, scale: float, keep: int) -> Array:
    """The direction that ends highest when all follow their maxima while the kinks become sharp."""
    few, first = len(batch.A) <= FEW_ROWS, (W[:N_UNSMOOTHED], T[:N_UNSMOOTHED])
    for i, (width, steps) in enumerate(WIDTHS):
        if width is None:
            W, T = np.concatenate([W, first[0]]), np.concatenate([T, first[1]])
        smooth = batch.at(T[0], None if width is None else width * scale)
        W, T, values = _gradient_ascent(smooth, W, T, steps if few else MAX_GRADIENT_STEPS, gain=1e-4)
        if i == 0:
            index = _distinct(batch.inner(W, T), values, keep)
            W, T = W[index], T[index]
    return np.asarray(W[int(np.argmax(values))])


def _distinct(inner: Array, values: Array, count: int) -> Array:
    """Indices of the directions with the largest values, best first, near-duplicates left out."""
    order = np.argsort(-values, kind="stable")
    twin = np.tril(np.abs(inner[order][:, order]) > 0.999, -1).any(axis=1)
    return np.asarray(order[~twin][:count])


@np.errstate(over="ignore")  # a kink too narrow for single precision
def _gradient_ascent(
    batch: BatchDispersion, W: Array, T: Array, steps: int, *, gain: float
) -> tuple[Array, Array, Array]:
    """Ascend every direction by gradient steps of Newton's length until none gains.

    Returns directions, unit to a few roundings, scores and values.
    """
    each, least = np.arange(len(W)), tiny(T)
    for _ in range(steps):
        slope, negative_curvature = batch.derivatives(T)
        G, S = batch.pullback(slope)
        # The gradient is A' slope, so its inner products are those of slopes and scores.
        mu = np.maximum(_dots(slope, T), least)[:, None]
        square = np.maximum(_dots(slope, S)[:, None] - mu * mu, least)
        S -= mu * T
        curvature = mu * square + _dots(S * S, negative_curvature)[:, None]
        # Smoothed kinks bend the other way: where the curvature is about to vanish, mu has to do.
        bent = curvature > 0.02 * mu * square
        step = np.where(bent, square, 1.0) / np.where(bent, curvature, mu)
        trials = GRADIENT_STEPS[T.dtype][:, None, None] * step
        cos, scores, values = _along(batch, T, S, trials, square)
        best = np.argmax(values, axis=0)
        T, value, cos, step = (x[best, each] for x in (scores, values, cos, trials))
        W = cos * (1.0 - mu * step) * W + cos * step * G
        if (value - values[STAY] <= gain * value).all():
            break
    return W, T, value


def _newton_ascent(
    batch: BatchDispersion, w: Array, max_iter: int, goal: float
) -> tuple[Array, Array, float, list[float]]:
    """Newton steps of a single direction until its gradient is small or nothing is gained.

    Returns the direction, its scores, its relative gradient |g|/mu and the objectives on the way.
    """
    A, w, least = batch.A, unit(w), tiny(w)
    t = A @ w
    batch = batch.at(t)
    value = float(batch.value(t))
    path, relative = [batch.objective(value)], np.inf
    for _ in range(max_iter):
        slope, negative_curvature = batch.derivatives(t)
        G = slope @ A
        mu = max(float(G @ w), least)
        g = G - mu * w
        last, relative = relative, float(np.sqrt(g @ g)) / mu
        if relative <= goal:
            break
        steps = NEWTON_STEPS[w.dtype][: NATURAL + 1]
        if relative > REUSE * last or last == np.inf:
            solve, steps = _newton_solver(A, negative_curvature, w, mu), NEWTON_STEPS[w.dtype]
        x = solve(g, relative)
        # A huge gradient along w leaves rounding in the tangent plane: take it out again.
        x -= (x @ w) * w
        _, trial, values = _along(batch, t, A @ x, steps[:, None], x @ x)
        best = int(np.argmax(values))
        if len(steps) > 1 and values[NATURAL] >= values[best] * (1 - 4e-16):
            best = NATURAL  # at convergence all trials are equal to rounding
        gain = float(values[best]) - value
        if gain < -1e-15 * value:
            if len(steps) > 1:
                break
            relative = np.inf  # the old factors lead down: new ones are needed
            continue
        # A step that gains nothing is taken: where f is flat to rounding, it still sharpens the direction.
        w = w + steps[best] * x
        w /= np.sqrt(w @ w)
        t = trial[best]
        batch = batch.at(t)
        value = float(batch.value(t) if batch.given.adaptive else values[best])
        path.append(batch.objective(value))
        if gain <= 1e-15 * value and relative > 0.5 * last:
            break
    return w, t, relative, path


def _along(
    batch: BatchDispersion, T: Array, S: Array, steps: Array, square: Array
) -> tuple[Array, Array, Array]:
    """Cosines, scores and values of the unit vectors along w + step x.

    T and S are the scores of w and of the tangent x, whose squared length is `square`.
    """
    cos = 1.0 / np.sqrt(1.0 + steps * steps * square)
    trial = steps * S
    trial += T
    trial *= cos
    return cos, trial, batch.value(trial)


def _newton_solver(
    A: Array, negative_curvature: Array, w: Array, mu: float
) -> Callable[[Array, float], Array]:
    """Solver of P (mu + A' diag(c) A) P x = g for tangent g, to a relative accuracy where it iterates."""
    if A.shape[1] > FACTORED_COLUMNS:

        def product(p: Array) -> Array:
            q = ((A @ p).T * negative_curvature @ A).T + mu * p
            return q - w[:, None] * (w @ q)

        def iterate(g: Array, accuracy: float) -> Array:
            tol = min(0.3, max(accuracy, 1e-9))
            return conjugate_gradients(product, g[:, None], tol=tol, max_iter=50)[:, 0]

        return iterate
    syrk, potrf, potrs = _CHOLESKY[A.dtype.char]
    H = syrk(1.0, (A * np.sqrt(negative_curvature)[:, None]).T, lower=1)
    H.ravel(order="K")[:: len(H) + 1] += mu
    factor, failed = potrf(H, lower=1, overwrite_a=1, clean=0)
    if failed:  # a curvature beyond the floating range
        return lambda g, accuracy: g / mu
    y = potrs(factor, w, lower=1)[0]
    y /= w @ y

    def solve(g: Array, accuracy: float) -> Array:
        x = potrs(factor, g, lower=1)[0]
        return np.asarray(x - (w @ x) * y)

    return solve


def _best_reflection(
    batch: BatchDispersion, w: Array, t: Array, length: Array, gram: Array | None
) -> Array | None:
    """The best reflection w - 2 t_i x_i/|x_i|^2 at a row, if it is higher.

    Only the rows nearest to their kink are tried: the others lead far away, and down.
    """
    near = np.flatnonzero(length > SHORTEST_DIRECTION * length.max())
    if not len(near):  # rows of columns that are nothing beside the others
        return None
    if len(near) > N_MIRRORS:
        near = near[np.argpartition(np.abs(t[near]) / length[near], N_MIRRORS)[:N_MIRRORS]]
    inner = batch.A[near] @ batch.A.T if gram is None else gram[near]
    pull = 2.0 * t[near] / length[near] ** 2
    values = batch.value(t - pull[:, None] * inner)
    i = int(np.argmax(values))
    if values[i] <= float(batch.value(t)) * (1 + 1e-12):
        return None
    w = w - pull[i] * batch.A[near[i]]
    return np.asarray(w / np.sqrt(w @ w))


def _dots(x: Array, y: Array) -> Array:
    """Inner products of corresponding rows."""
    return np.asarray(np.einsum("ij,ij->i", x, y) if _VECDOT is None else _VECDOT(x, y))
