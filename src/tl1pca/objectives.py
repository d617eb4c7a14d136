"""What is maximized or minimized: an operator summed over rows, as a function of directions.

Every objective answers the same questions, and a solver asks nothing else:
`value(W)`, `value_and_gradient(W)` in one pass over the data, and the same
objective on other rows (`on`) or in the complement of directions (`deflated`).
`sense` says which way is better. An objective of your own (a quotient of two,
one with a mask) needs no new solver; see "Add an objective" in CONTRIBUTING.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ._arrays import asarray_like, columns, dots, namespace, to_numpy
from .operators import TL1, Operator, Smoothed
from .rows import Rows
from .statistics import solve_tl1_scale, tl1_scale, tl1_scale_step

Array = NDArray[Any]

#: Mean loss of the distances that sets their scale.
MEAN_LOSS = 0.2


@dataclass(frozen=True)
class Evaluation:
    """What one pass over the data tells of directions W (d, k).

    Attributes
    ----------
    W : array of shape (d, k)
    values : ndarray of shape (k,), or (1,) for what is no sum over directions
        The objective.
    gradient : array of shape (d, k)
        For the scale form it is the gradient at the operator settled there, a
        positive multiple of the gradient of the scale.
    operator : Operator
        With its "auto" parameter settled, one for each direction.
    """

    W: Array
    values: Array
    gradient: Array
    operator: Operator

    @property
    def value(self) -> float:
        """The objective of all directions together."""
        return float(self.values.sum())


class Objective(Protocol):
    """What a solver may ask of a problem."""

    #: +1 where larger is better, -1 where smaller is.
    sense: ClassVar[float]

    @property
    def rows(self) -> Rows:
        """The rows that directions are arrays for."""

    @property
    def operator(self) -> Operator:
        """By whose traits a solver is chosen."""

    def value(self, W: Array) -> Array:
        """The objective at W, per direction where it is a sum over them."""

    def value_and_gradient(self, W: Array, near: Evaluation | None = None) -> Evaluation:
        """The objective and its gradient; what is known at a nearby point may save a pass."""

    def on(self, rows: Rows) -> Self:
        """The same objective on other rows."""

    def deflated(self, W: Array) -> Self:
        """The same objective on what directions leave of the rows."""


def evaluated(objective: Objective, W: Array, near: Evaluation | None = None) -> Evaluation:
    """Value and gradient at directions in memory, wherever the rows are: only (d, k) numbers travel."""
    there = objective.value_and_gradient(objective.rows.asarray(W), near=near)
    return replace(there, W=W, gradient=to_numpy(there.gradient))


class _OverRows:
    """What objectives over one set of rows share."""

    rows: Rows

    def on(self, rows: Rows) -> Self:
        """The same objective on other rows."""
        return replace(self, rows=rows)  # type: ignore[type-var]

    def deflated(self, W: Array) -> Self:
        """The same objective on what the directions W leave of the rows."""
        return self.on(self.rows.deflated(W))


@dataclass(frozen=True)
class Dispersion(_OverRows):
    """f(w) = sum_i v_i rho(|x_i.w|), to be maximized over unit w.

    With a `width` h the kinks are spread, rho(sqrt(t^2 + h^2)): a number, or
    one for each direction.
    """

    rows: Rows
    operator: Operator
    width: Any = None

    sense: ClassVar[float] = 1.0

    @property
    def term(self) -> Smoothed:
        """What a row contributes, as a function of its score."""
        return Smoothed(self.operator, self.width)

    def value(self, W: Array) -> Array:
        return self.value_of_scores(self.rows.project(W))

    def value_of_scores(self, T: Any) -> Array:
        """The objective at directions with the scores T, per column."""
        return self.rows.total(self.term.value, T)

    def settled_at(self, T: Any) -> Dispersion:
        """The sum that the scores T settle: itself, unless a parameter is "auto"."""
        return self

    def gradient_of_scores(self, T: Any) -> Array:
        """sum_i v_i psi(|t_i|) sign(t_i) x_i; a row with t_i = 0 has no side to pull to."""
        return self.rows.pullback(self.rows.map(self.term.slope, T))

    def value_and_gradient(self, W: Array, near: Evaluation | None = None) -> Evaluation:
        term, degree = self.term, self.operator.degree
        if degree is not None and self.width is None:  # psi(t) t = p rho(t): the gradient holds the value
            _, G = self.rows.map_reduce(lambda T: (term.slope(T),), W)
            return Evaluation(W, to_numpy(dots(W, G)).astype(np.float64) / degree, G, self.operator)
        (values,), G = self.rows.map_reduce(lambda T: term.value_and_slope(T)[::-1], W)
        return Evaluation(W, values, G, self.operator)

    def smoothed(self, width: Any) -> Self:
        """The same objective with its kinks spread."""
        return replace(self, width=width)


@dataclass(frozen=True)
class DispersionScale(Dispersion):
    """The scale alpha(w) of the projections, to be maximized: the root of mean |t|/(alpha + |t|) = 1/2.

    What an "auto" shape of the Tl1 operator means. The gradient of alpha is a
    multiple of the Tl1 gradient at a = alpha, and whatever increases f at that
    a increases alpha, so one ascent serves both.
    """

    operator: TL1

    def value_of_scores(self, T: Any) -> Array:
        mass = self.rows.mass
        count = np.atleast_1d(self.rows.total(lambda t: namespace(t).sign(abs(t)), T))
        mean = np.atleast_1d(self.rows.total(abs, T)) / mass
        alive = count > (0.5 + 1e-12) * mass
        alpha = self.refined(T, mean, alive=alive)
        return alpha if T.ndim > 1 else alpha[0]

    def refined(self, T: Any, alpha: Array, center: Array | float = 0.0, alive: Array | bool = True) -> Array:
        """The scale of every column of the scores less `center`, from a guess; zero where not alive."""
        mass, least = self.rows.mass, float(np.finfo(self.rows.dtype).tiny)

        def moments(alpha: Array) -> tuple[Array, Array]:
            alpha = np.maximum(alpha, least)  # a step may go to zero, where zero scores have no ratio

            def powers(t: Any) -> Any:
                return columns(
                    *_ratios(abs((t if t.ndim > 1 else t[:, None]) - asarray_like(center, t)), alpha)
                )

            first, second = np.split(self.rows.total(powers, T) / mass, 2)
            return first, second

        return solve_tl1_scale(moments, alpha, alive, float(np.finfo(self.rows.dtype).eps) ** 0.5)

    def settled_at(self, T: Any) -> Dispersion:
        alpha = self.value_of_scores(T)
        return Dispersion(self.rows, self.operator.at(alpha, alpha), self.width)

    def value_and_gradient(self, W: Array, near: Evaluation | None = None) -> Evaluation:
        """Objective and gradient; with a nearby evaluation in one pass.

        The gradient is then the one at the scales known there, and the
        objective is one Newton step from them: both become exact as W settles.
        """
        alpha = self.value(W) if near is None else near.values
        operator = self.operator.at(alpha, alpha)
        term = Smoothed(operator, self.width)

        def moments(T: Any) -> tuple[Any, ...]:
            u = term.size(T)
            first, second = _ratios(u, operator.a)
            # psi of the Tl1 operator is (1 + 1/a) (a/(a + u))^2.
            slope = (1.0 + 1.0 / asarray_like(operator.a, T)) * second
            return term.direction(T, u) * slope, first, second

        totals, G = self.rows.map_reduce(moments, W)
        first, second = (total / self.rows.mass for total in totals)
        return Evaluation(W, np.asarray(operator.a) * np.exp(tl1_scale_step(first, second)), G, operator)


def _ratios(u: Any, alpha: Any) -> tuple[Any, Any]:
    """q = alpha/(alpha + u) and its square, whose means tell of the scale."""
    a = asarray_like(alpha, u)
    q = a / (a + u)
    return q, q * q


def dispersion(rows: Rows, operator: Operator) -> Dispersion:
    """The dispersion of the rows: the sum, or its scale form where the operator is "auto"."""
    form: Any = DispersionScale if operator.adaptive and operator.scale_form else Dispersion
    return form(rows, operator)


@dataclass(frozen=True)
class Quotient:
    """above(w) / (below(w) + ridge), to be maximized: two dispersions, of two sets of rows.

    What is supervised: the rows above lie between the groups, those below
    within them. In w it has the gradient (G_above - F G_below) / (below + ridge).
    """

    above: Dispersion
    below: Dispersion
    ridge: float = 0.0

    sense: ClassVar[float] = 1.0

    @property
    def rows(self) -> Rows:
        return self.above.rows

    @property
    def operator(self) -> Operator:
        return self.above.operator

    def value(self, W: Array) -> Array:
        return np.asarray(self.above.value(W) / (self.below.value(W) + self.ridge))

    def value_and_gradient(self, W: Array, near: Evaluation | None = None) -> Evaluation:
        top, bottom = self.above.value_and_gradient(W), self.below.value_and_gradient(W)
        below = bottom.values + self.ridge
        quotient = top.values / below
        return Evaluation(W, quotient, (top.gradient - quotient * bottom.gradient) / below, self.operator)

    def on(self, rows: Rows) -> Quotient:
        """The same with other rows above."""
        return Quotient(self.above.on(rows), self.below, self.ridge)

    def deflated(self, W: Array) -> Quotient:
        """The same on what the directions W leave of both sets."""
        return Quotient(self.above.deflated(W), self.below.deflated(W), self.ridge)


@dataclass(frozen=True)
class BatchDispersion:
    """A dispersion of rows A (n, d) in memory, for many directions at once.

    Directions are rows here: W is (B, d) and scores T are (B, n), so that a
    direction and its scores are contiguous. An "auto" shape is settled on one
    direction and serves all: of several directions the one with the largest
    value at the alpha of any of them has the largest alpha.

    Attributes
    ----------
    A : ndarray of shape (n, d)
    v : ndarray of shape (n,)
        Row weights, all one where `equal`.
    given, operator : Operator
        As given, and as settled.
    width : float or None
    gram : ndarray of shape (n, n), optional
        A A' where it is no larger than A: directions are A'c then, given by c.
    """

    A: Array
    v: Array
    given: Any
    operator: Any
    width: float | None = None
    equal: bool = False
    gram: Array | None = None

    @classmethod
    def of(cls, objective: Dispersion) -> BatchDispersion:
        """The dispersion with its rows in memory on the host."""
        rows, A = objective.rows, to_numpy(objective.rows.array())
        equal = rows.weights is None
        v = np.ones(len(A)) if equal else rows.gather_scores(rows.weights, np.arange(len(A)))
        return cls(A, v.astype(A.dtype), objective.operator, objective.operator, equal=equal)

    @property
    def term(self) -> Smoothed:
        return Smoothed(self.operator, self.width)

    def at(self, t: Array, width: float | None = None) -> BatchDispersion:
        """The same with another width, and with an "auto" shape settled at the scores t (n,)."""
        if not self.given.adaptive:
            return self if width == self.width else replace(self, width=width)
        known = None if self.operator.adaptive else self.operator.a
        size = Smoothed(self.given, width).size(t)
        return replace(self, width=width, operator=self.given.resolve(size, self.v, known))

    def value(self, T: Array) -> Array:
        """sum_i v_i rho(t_i) at the settled operator, for scores (..., n)."""
        return np.asarray(self.term.value(T) @ self.v)

    def objective(self, value: float) -> float:
        """What is maximized, where the settled operator has this value: f, or alpha itself."""
        return float(self.operator.a) if self.given.adaptive else value

    def derivatives(self, T: Array) -> tuple[Array, Array]:
        """First derivative of the value in every score, and minus the second."""
        slope, negative_curvature = self.term.derivatives(T)
        return (slope, negative_curvature) if self.equal else (slope * self.v, negative_curvature * self.v)

    def pullback(self, slope: Array) -> tuple[Array, Array]:
        """The gradients A' slope, as directions are given, and their scores."""
        if self.gram is not None:
            return slope, slope @ self.gram
        G = slope @ self.A
        return G, G @ self.A.T

    def inner(self, W: Array, T: Array) -> Array:
        """Inner products of directions with scores T."""
        return np.asarray(W @ (W if self.gram is None else T).T)


@dataclass(frozen=True)
class Residual(_OverRows):
    """sum_i v_i rho(r_i), to be minimized; r_i is the distance of x_i to the subspace.

    Distances below `floor` count as `floor` where a weight or a gradient is
    asked for: for l1 a row in the subspace would weigh infinitely much.
    """

    rows: Rows
    operator: Operator
    floor: float = 0.0

    sense: ClassVar[float] = -1.0

    def distances(self, W: Array) -> Any:
        """Distances of the rows to the span of the orthonormal columns of W."""
        return self.rows.scores_and_distances(W)[1]

    def value(self, W: Array) -> Array:
        return np.atleast_1d(self.value_of_distances(self.distances(W)))

    def value_of_distances(self, r: Any) -> float:
        """sum_i v_i rho(r_i)."""
        return float(self.rows.total(self.operator.value, r))

    def weights(self, r: Any) -> Any:
        """psi(r)/r over the largest: weighted squares with these lie above the objective and touch it."""
        operator, floor = self.operator, self.floor
        weight = self.rows.map(lambda r: operator.weight(namespace(r).maximum(r, floor)), r)
        most = self.rows.largest(weight)
        return self.rows.map(lambda w: w / most, weight)

    @cached_property
    def _squares(self) -> Any:
        return self.rows.map(lambda r: r * r, self.rows.norms())

    def value_and_gradient(self, W: Array, near: Evaluation | None = None) -> Evaluation:
        """One pass, by r^2 = |x|^2 - |t|^2: enough for a step, not for a row in the subspace."""
        operator, floor = self.operator, self.floor

        def terms(T: Array, s: Array) -> tuple[Array, Array]:
            xp = namespace(T)
            square = np.einsum("ij,ij->i", T, T) if xp is np else xp.sum(T * T, axis=1)
            r = xp.sqrt(xp.maximum(s - square, floor**2))
            return -T * operator.weight(r)[:, None], operator.value(r)

        (value,), G = self.rows.map_reduce(terms, W, self._squares)
        return Evaluation(W, np.atleast_1d(value), G, operator)


@dataclass(frozen=True)
class ResidualScale(_OverRows):
    """The Tl1 scale s of the distances to a subspace, to be minimized: mean h(r/s) = 1/5.

    h(u) = u^2/(1 + u^2) is the Tl1 operator of the square, so s is the root of
    the Tl1 scale of r^2. It is about twice the median distance: these rows are
    trusted, and a scale that half of them might leave follows those next to
    the subspace, wherever these happen to be many. h(sqrt(.)) is concave: a PCA with weights h'(u)/u
    never increases s. Distances up to `floor` are rounding and count as none.
    """

    rows: Rows
    floor: float = 0.0

    sense: ClassVar[float] = -1.0

    def value_of_distances(self, r: Any) -> float:
        """The scale, for few rows in memory."""
        r = self.rows.gather_scores(r, np.arange(self.rows.shape[0]))
        squares, v = np.where(r <= self.floor, 0.0, r) ** 2, self.rows.gather_weights()
        return float(np.sqrt(tl1_scale(squares, v, share=MEAN_LOSS)))

    def weights(self, r: Any) -> Any:
        """h'(u)/u at u = r/s, one at u = 0."""
        s = self.value_of_distances(r)
        return self.rows.map(lambda r: 1.0 / (1.0 + (r / s) ** 2) ** 2, r)
