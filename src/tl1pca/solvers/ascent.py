"""The default solver for concave operators: graduated smoothing, then Newton in the sign cell.

Off the kinks t_i = 0 the Riemannian Hessian of f is P X' diag(rho'') X P - mu P
with mu = sum psi(|t|)|t|: negative definite. So every stationary point is a
strict local maximum and there may be one in each cell of constant signs: far
too many. But the kinks can be spread: sum rho(sqrt(t^2 + h^2)) is smooth, and
with h from the size of the scores down to zero the starts flow together and
end higher than ascents that begin at h = 0. A few gradient steps at each width
are enough to follow: many cheap starts end higher than few that follow closely.
Newton then finishes in its cell, and reflections at the rows try the
neighbouring ones.

Directions are rows here: W is (B, d) and scores T are (B, n). An "auto" shape is
settled on one direction and serves all: of several directions the one with the
largest value at the alpha of any of them has the largest alpha.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from .._arrays import to_numpy
from .._progress import tell
from ..geometry import unit
from ..objectives import Dispersion
from ..operators import TL1, Operator
from ..statistics import weighted_median
from .base import SHORT, Solution, Solver

Array = NDArray[Any]

#: Two to three times faster than anything before NumPy 2, and called all the time.
_VECDOT = getattr(np, "vecdot", None)
_TINY = {np.dtype(t): float(np.finfo(t).tiny) for t in (np.float32, np.float64)}

_CHOLESKY: dict[str, tuple[Callable[..., Any], ...]] = {
    "f": (blas.ssyrk, lapack.spotrf, lapack.spotrs),
    "d": (blas.dsyrk, lapack.dpotrf, lapack.dpotrs),
}

#: Starts ascended together, how many are kept once they have flown together, and how many begin
#: again where the kinks are sharp: the smoothing may lead away from a high cell.
BATCH, KEEP, RAW = 12, 5, 3
#: Up to so many rows are compared as starts by all rows, and so many near their kink are tried as mirrors.
SCREEN, NEAR = 250, 32
#: Widths of the kinks in median scores, and the gradient steps at each where rows are few;
#: with more rows the interpreter counts less, and steps go on while they gain.
WIDTHS = ((1.0, 2), (0.4, 2), (0.16, 2), (0.0, 2))
FEW, MOST = 250, 20
#: More rows, and their mirrors no longer pay: the cells are tiny.
HOP = 1000
#: Trial steps along the great circle, in steps of Newton's length: none, and those of a rough
#: ascent; none, Newton's own, and others where Newton finishes.
LENGTHS = {t: np.array([0.0, 0.4, 0.8, 1.6], dtype=t) for t in _TINY}
STEPS = {t: np.array([0.0, 1.0, 1 / 8, 0.5, 2.5], dtype=t) for t in _TINY}
STAY, NATURAL = 0, 1
#: Up to so many columns the Hessian is factored; beyond, conjugate gradients.
DIRECT = 500
#: Factors serve again while a step makes the gradient smaller by this.
REUSE = 0.1


@dataclass(frozen=True)
class _Problem:
    """Dense rows A (n, d) with weights v, the operator as given and as settled, and the width of its kink."""

    A: Array
    v: Array
    given: Operator
    operator: Operator
    width: float = 0.0
    equal: bool = False  # all weights are one
    gram: Array | None = None  # A A' where it is no larger than A: directions are A'c then, given by c

    def weighed(self, x: Array) -> Array:
        return x if self.equal else x * self.v

    def size(self, T: Array) -> Array:
        """|t|, or sqrt(t^2 + h^2)."""
        if self.width == 0.0:
            return np.abs(T)
        s = T * T
        s += self.width**2
        return np.sqrt(s, out=s)

    def at(self, t: Array, width: float = 0.0) -> _Problem:
        """The problem with another width, and with an "auto" shape settled at the scores t."""
        problem = self if width == self.width else replace(self, width=width)
        if not self.given.adaptive:
            return problem
        return replace(problem, operator=self.given.resolve(problem.size(t), self.v))

    def value(self, T: Array) -> Array:
        return np.asarray(self.operator.value(self.size(T)) @ self.v)

    def objective(self, value: float) -> float:
        """What is maximised, where the operator is settled and has this value: f, or alpha itself."""
        adaptive = self.given.adaptive and isinstance(self.operator, TL1)
        return float(self.operator.a) if adaptive else value

    def pull(self, slope: Array) -> tuple[Array, Array]:
        """The gradients A' slope, as directions are given, and their scores."""
        if self.gram is not None:
            return slope, slope @ self.gram
        G = slope @ self.A
        return G, G @ self.A.T

    def inner(self, W: Array, T: Array) -> Array:
        """Inner products of directions with scores T."""
        return np.asarray(W @ (W if self.gram is None else T).T)

    def slopes(self, T: Array) -> tuple[Array, Array]:
        """First derivative of the value in every score, and minus the second."""
        s = self.size(T)
        slope, bend = self.operator.derivatives(s)
        if self.width == 0.0:
            return np.sign(T) * self.weighed(slope), -self.weighed(bend)
        r = T / s
        square = r * r
        bend = slope * (square - 1.0) / s - bend * square
        return self.weighed(r * slope), self.weighed(np.maximum(bend, -1.0 / _TINY[bend.dtype] ** 0.5))


class SphereAscent(Solver):
    """Deterministic ascent of a concave dispersion on the sphere.

    The recorded path begins where the smoothing has ended; it never descends.

    Parameters
    ----------
    tol : float, default=1e-8
        Relative tangent gradient |g|/mu at which a direction is a maximum.
    max_iter : int, default=1000
    n_starts : int, default=1
        Multiplies the number of starts that are ascended (12 by default).
    hops : int, default=10
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
        hops: int = 10,
        warm: Solver | None = None,
    ):
        self.tol = tol
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.hops = hops
        self.warm = warm

    def maximize(self, dispersion: Dispersion, rng: np.random.RandomState) -> Solution:
        rows = dispersion.rows
        A = to_numpy(rows.array())
        v = np.ones(len(A), dtype=A.dtype)
        if rows.weights is not None:
            v = rows.pick(rows.weights, np.arange(len(A))).astype(A.dtype)
        problem = _Problem(A, v, dispersion.operator, dispersion.operator, equal=rows.weights is None)
        length = np.sqrt(_dots(A, A))
        live = np.flatnonzero(length > SHORT * length.max())
        if len(live) > SCREEN:  # some rows tell which of all are worth a look by all
            some = slice(None, None, -(-len(A) // SCREEN))
            part = replace(problem, A=A[some], v=v[some])
            live = live[_screen(part, A[live] @ part.A.T / length[live, None], SCREEN // 2 * self.n_starts)]
        gram = A @ A.T if len(live) == len(A) else None
        scores = (A[live] @ A.T if gram is None else gram) / length[live, None]
        best = _screen(problem, scores, BATCH * self.n_starts)
        T, sizes = scores[best], np.abs(scores[best[0]])
        off = sizes > 0
        scale = float(weighted_median(sizes[off], None if rows.weights is None else v[off]))
        if gram is not None and len(A) <= A.shape[1]:
            C = np.zeros((len(best), len(A)), dtype=A.dtype)
            C[np.arange(len(best)), best] = 1.0 / length[best]
            w = _graduate(replace(problem, gram=gram), C, T, scale, KEEP * self.n_starts) @ A
        else:
            W = A[live[best]] / length[live[best], None]
            w = _graduate(problem, W, T, scale, KEEP * self.n_starts)
        if self.warm is not None:
            warm = self.warm.maximize(dispersion, rng).W[:, 0]
            w = max(unit(w), warm, key=lambda w: float(dispersion.measure(rows.project(w))))
        goal = max(self.tol, 16 * float(np.finfo(A.dtype).eps))
        hops, path = self.hops if len(A) <= HOP else 0, list[float]()
        for hop in range(1 + hops):
            w, t, gradient, more = _finish(problem, w, self.max_iter, goal)
            path += more
            if tell("component", path[-1]) or hop == hops:
                break
            other = _reflect(problem.at(t), w, t, length, gram)
            if other is None:
                break
            w = other
        converged = gradient <= max(self.tol, 1e-6) or len(path) <= self.max_iter
        return Solution(w[:, None], tuple(np.maximum.accumulate(path).tolist()), converged)


def rough_directions(A: Array, v: Array, operator: Operator, n_directions: int) -> Array:
    """Greedy directions of a few rows, smoothed and far from converged: starts for all rows.

    Parameters
    ----------
    A : ndarray of shape (n, d)
    v : ndarray of shape (n,)
        Row weights.
    operator : Operator
    n_directions : int

    Returns
    -------
    ndarray of shape (d, n_directions), or less where the rows span less
        Orthonormal to rounding.
    """
    found, longest = [], 0.0
    for _ in range(n_directions):
        problem = _Problem(A, v, operator, operator)
        length = np.sqrt(_dots(A, A))
        longest = longest or float(length.max())
        if length.max() <= 1e-10 * longest:
            break
        live = np.flatnonzero(length > SHORT * length.max())[:64]
        scores = A[live] @ A.T / length[live, None]
        best = _screen(problem, scores, 3)
        scale = float(np.median(np.abs(scores[best[0]])))
        W, T = A[live[best]] / length[live[best], None], scores[best]
        for width, steps in ((1.0, 4), (0.5, 4), (0.25, 4)):
            W, T, values = _climb(problem.at(T[0], width * scale), W, T, steps, gain=1e-2)
        w = unit(W[int(np.argmax(values))])
        found.append(w)
        A = A - np.outer(A @ w, w)
    return np.column_stack(found)


def _screen(problem: _Problem, scores: Array, count: int) -> Array:
    """The paper's start: candidates (rows of scores) with the largest objective, best first."""
    if problem.given.adaptive:
        best = int(np.argmax(np.abs(scores) @ problem.v))
        for _ in range(8):  # two or three rounds find the largest alpha without a root for each
            values = problem.at(scores[best]).value(scores)
            if int(np.argmax(values)) == best:
                break
            best = int(np.argmax(values))
    else:
        values = problem.value(scores)
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    # A repeated row, or its mirror image, is no second start.
    fresh = np.concatenate([[True], ranked[:-1] - ranked[1:] > 1e-12 * ranked[0]])
    return np.asarray(order[fresh][:count])


def _graduate(problem: _Problem, W: Array, T: Array, scale: float, keep: int) -> Array:
    """The direction that ends highest when all follow their maxima while the kinks become sharp."""
    few, first = len(problem.A) <= FEW, (W[:RAW], T[:RAW])
    for i, (width, steps) in enumerate(WIDTHS):
        if width == 0.0:
            W, T = np.concatenate([W, first[0]]), np.concatenate([T, first[1]])
        smooth = problem.at(T[0], width * scale)
        W, T, values = _climb(smooth, W, T, steps if few else MOST, gain=1e-4)
        if i == 0:
            index = _distinct(problem.inner(W, T), values, keep)
            W, T = W[index], T[index]
    return np.asarray(W[int(np.argmax(values))])


def _distinct(inner: Array, values: Array, count: int) -> Array:
    """Indices of the directions with the largest values, best first, near-duplicates left out."""
    order = np.argsort(-values, kind="stable")
    twin = np.tril(np.abs(inner[order][:, order]) > 0.999, -1).any(axis=1)
    return np.asarray(order[~twin][:count])


@np.errstate(over="ignore")  # a kink too narrow for single precision
def _climb(problem: _Problem, W: Array, T: Array, steps: int, *, gain: float) -> tuple[Array, Array, Array]:
    """Ascend every direction by gradient steps of Newton's length until none gains.

    Returns directions, unit to a few roundings, scores and values.
    """
    each, tiny = np.arange(len(W)), _TINY[T.dtype]
    for _ in range(steps):
        slope, bend = problem.slopes(T)
        G, S = problem.pull(slope)
        # The gradient is A' slope, so its inner products are those of slopes and scores.
        mu = np.maximum(_dots(slope, T), tiny)[:, None]
        square = np.maximum(_dots(slope, S)[:, None] - mu * mu, tiny)
        S -= mu * T
        curvature = mu * square + _dots(S * S, bend)[:, None]
        # Smoothed kinks bend the other way: where the curvature is about to vanish, mu has to do.
        bent = curvature > 0.02 * mu * square
        step = np.where(bent, square, 1.0) / np.where(bent, curvature, mu)
        trials = LENGTHS[T.dtype][:, None, None] * step
        cos, scores, values = _along(problem, T, S, trials, square)
        best = np.argmax(values, axis=0)
        T, value, cos, step = (x[best, each] for x in (scores, values, cos, trials))
        W = cos * (1.0 - mu * step) * W + cos * step * G
        if (value - values[STAY] <= gain * value).all():
            break
    return W, T, value


def _finish(
    problem: _Problem, w: Array, max_iter: int, goal: float
) -> tuple[Array, Array, float, list[float]]:
    """Newton steps of a single direction until its gradient is small or nothing is gained.

    Returns the direction, its scores, its relative gradient |g|/mu and the objectives on the way.
    """
    A, w, tiny = problem.A, unit(w), _TINY[w.dtype]
    t = A @ w
    problem = problem.at(t)
    value = float(problem.value(t))
    path, relative = [problem.objective(value)], np.inf
    for _ in range(max_iter):
        slope, bend = problem.slopes(t)
        G = slope @ A
        mu = max(float(G @ w), tiny)
        g = G - mu * w
        last, relative = relative, float(np.sqrt(g @ g)) / mu
        if relative <= goal:
            break
        steps = STEPS[w.dtype][NATURAL : NATURAL + 1]
        if relative > REUSE * last or last == np.inf:
            solve, steps = _newton(A, bend, w, mu), STEPS[w.dtype]
        x = solve(g, relative)
        # A huge gradient along w leaves rounding in the tangent plane: take it out again.
        x -= (x @ w) * w
        _, trial, values = _along(problem, t, A @ x, steps[:, None], x @ x)
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
        problem = problem.at(t)
        value = float(problem.value(t) if problem.given.adaptive else values[best])
        path.append(problem.objective(value))
        if gain <= 1e-15 * value and relative > 0.5 * last:
            break
    return w, t, relative, path


def _along(problem: _Problem, T: Array, S: Array, steps: Array, square: Array) -> tuple[Array, Array, Array]:
    """Cosines, scores and values of the unit vectors along w + step x.

    T and S are the scores of w and of the tangent x, whose squared length is `square`.
    """
    cos = 1.0 / np.sqrt(1.0 + steps * steps * square)
    trial = steps * S
    trial += T
    trial *= cos
    return cos, trial, problem.value(trial)


def _newton(A: Array, bend: Array, w: Array, mu: float) -> Callable[[Array, float], Array]:
    """Solver of P (mu + A' diag(bend) A) P x = g for tangent g, to a relative accuracy where it iterates."""
    if A.shape[1] > DIRECT:
        return lambda g, accuracy: _conjugate_gradients(A, bend, w, mu, g, accuracy)
    syrk, potrf, potrs = _CHOLESKY[A.dtype.char]
    H = syrk(1.0, (A * np.sqrt(bend)[:, None]).T, lower=1)
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


def _conjugate_gradients(A: Array, bend: Array, w: Array, mu: float, g: Array, accuracy: float) -> Array:
    x, r, p = np.zeros_like(g), g, g
    rr = r @ r
    stop = min(0.3, max(accuracy, 1e-9)) ** 2 * rr
    for _ in range(50):
        q = (A @ p * bend) @ A + mu * p
        q -= (q @ w) * w
        step = rr / (p @ q)
        x += step * p
        r = r - step * q
        new = r @ r
        if new <= stop:
            break
        p = r + new / rr * p
        rr = new
    return x


def _reflect(problem: _Problem, w: Array, t: Array, length: Array, gram: Array | None) -> Array | None:
    """The best reflection w - 2 t_i x_i/|x_i|^2 at a row, if it is higher.

    Only the rows nearest to their kink are tried: the others lead far away, and down.
    """
    near = np.flatnonzero(length > SHORT * length.max())
    if len(near) > NEAR:
        near = near[np.argpartition(np.abs(t[near]) / length[near], NEAR)[:NEAR]]
    inner = problem.A[near] @ problem.A.T if gram is None else gram[near]
    pull = 2.0 * t[near] / length[near] ** 2
    values = problem.value(t - pull[:, None] * inner)
    i = int(np.argmax(values))
    if values[i] <= float(problem.value(t)) * (1 + 1e-12):
        return None
    w = w - pull[i] * problem.A[near[i]]
    return np.asarray(w / np.sqrt(w @ w))


def _dots(x: Array, y: Array) -> Array:
    """Inner products of corresponding rows."""
    return np.asarray(np.einsum("ij,ij->i", x, y) if _VECDOT is None else _VECDOT(x, y))
