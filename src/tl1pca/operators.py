"""Component operators: what one projection or one residual contributes.

An operator is an even function rho with rho(0) = 0, written for magnitudes
``u = |t| >= 0``. It declares its traits (convex, concave, concave in the
square, homogeneous, bounded, Lipschitz), by which solvers are chosen, and
knows its slope psi = rho' and its curvature rho''. No data here, and nothing
but arithmetic, so that it acts on the arrays of any library.

Operators are scikit-learn parameter objects: they can be cloned, printed and
set from outside, e.g. ``pca.set_params(operator__a=2)``, and searched.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ._arrays import asarray_like, namespace, tiny
from .statistics import tl1_scale, weighted_median

__all__ = ["TL1", "Cauchy", "Huber", "Lp", "Operator"]

Array = NDArray[Any]


class Operator(BaseEstimator, ABC):
    """Base of all operators; see "Add an operator" in CONTRIBUTING.md."""

    @property
    def convex(self) -> bool:
        """Whether rho is convex: it lies above its tangents, so a fixed point never descends."""
        return False

    @property
    def concave(self) -> bool:
        """Whether rho is concave in |t|: every maximum then lies off the kinks."""
        return False

    @property
    def concave_in_square(self) -> bool:
        """Whether rho is concave in t^2: it lies below its parabolas, so reweighting never climbs."""
        return False

    @property
    def degree(self) -> float | None:
        """p where rho(ct) = c^p rho(t), so that psi(t) t = p rho(t); None where rho is not homogeneous."""
        return None

    @property
    def bound(self) -> float:
        """Supremum of rho."""
        return np.inf

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant of rho, infinite where there is none."""
        return np.inf

    @property
    def adaptive(self) -> bool:
        """Whether a parameter is "auto", to be settled on the data by `resolve`."""
        return False

    @property
    def scale_form(self) -> bool:
        """Whether "auto" means that a scale is maximized, and not that it is settled once."""
        return False

    @abstractmethod
    def check(self) -> None:
        """Raise a readable error for parameters that make no sense."""

    @abstractmethod
    def value(self, u: Array) -> Array:
        """rho(u)."""

    @abstractmethod
    def slope(self, u: Array) -> Array:
        """psi(u) = rho'(u)."""

    @abstractmethod
    def curvature(self, u: Array) -> Array:
        """rho''(u)."""

    def derivatives(self, u: Array) -> tuple[Array, Array]:
        """psi(u) and rho''(u), where both are needed."""
        return self.slope(u), self.curvature(u)

    def weight(self, u: Array) -> Array:
        """psi(u)/u, the weight of a row in a majorize-minimize step, finite at zero."""
        return self.slope(u) / namespace(u).maximum(u, float(np.finfo(np.float64).tiny) ** 0.25)

    def resolve(self, u: Array, weights: Array | None = None, near: float | None = None) -> Self:
        """Settle parameters that are "auto" on the magnitudes u, (n,) or (n, B), `near` a known value."""
        return self

    def rescaled(self, factor: float) -> Self:
        """Operator for data multiplied by `factor` with the same maximizer."""
        return self

    def value_scale(self, factor: float) -> float:
        """Quotient of ``value(u)`` and ``rescaled(factor).value(factor * u)``."""
        return 1.0


@dataclass(frozen=True)
class Smoothed:
    """rho(sqrt(t^2 + h^2)) of signed scores t: the operator with its kink spread over the width h.

    What every dispersion sums, and what every solver differentiates. The
    width is a number or one per direction, and zero leaves the kink sharp.
    """

    operator: Operator
    width: Any = None

    def size(self, T: Array) -> Array:
        """|t|, or sqrt(t^2 + h^2)."""
        if self.width is None:
            return abs(T)
        width = self.width if isinstance(self.width, float) else asarray_like(self.width, T)
        return namespace(T).sqrt(T * T + width * width)

    def value(self, T: Array) -> Array:
        """rho in every score."""
        return self.operator.value(self.size(T))

    def value_and_slope(self, T: Array) -> tuple[Array, Array]:
        """rho and its derivative in every score; a score of zero has no side to pull to."""
        size = self.size(T)
        return self.operator.value(size), self.direction(T, size) * self.operator.slope(size)

    def slope(self, T: Array) -> Array:
        """Derivative in every score."""
        size = self.size(T)
        return self.direction(T, size) * self.operator.slope(size)

    def derivatives(self, T: Array) -> tuple[Array, Array]:
        """First derivative in every score, and minus the second."""
        size = self.size(T)
        slope, curvature = self.operator.derivatives(size)
        direction = self.direction(T, size)
        if self.width is None:
            return direction * slope, -curvature
        square = direction * direction
        bent = slope * (square - 1.0) / size - curvature * square
        # A kink too narrow for the precision is as sharp as it can be told.
        return direction * slope, namespace(T).maximum(bent, -(tiny(T) ** -0.5))

    def direction(self, T: Array, size: Array) -> Array:
        """t/|t|; a quotient is several times faster than a sign."""
        return T / (size + tiny(T)) if self.width is None else T / size


def check_positive(name: str, value: object, owner: str, hint: str, allow_auto: bool = False) -> None:
    """Readable error for a parameter that is no positive number."""
    if allow_auto and isinstance(value, str) and value == "auto":
        return
    auto = " or 'auto'" if allow_auto else ""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} of {owner} must be a positive number{auto}, got {value!r}. {hint}")
    if not (np.isfinite(float(value)) and float(value) > 0):
        raise ValueError(f"{name} of {owner} must be a positive finite number{auto}, got {value!r}. {hint}")


def _power(base: float, exponent: float) -> float:
    """base^exponent, kept inside the floating range."""
    return float(np.exp2(np.clip(exponent * np.log2(base), -1022.0, 1023.0)))


class TL1(Operator):
    """Transformed l1 operator, rho_a(t) = (a + 1)|t| / (a + |t|).

    Bounded by a + 1 and Lipschitz with constant 1 + 1/a (Property 1 of the
    paper); tends to the indicator of t != 0 as a -> 0 and to |t| as a -> inf.

    Parameters
    ----------
    a : float or "auto", default="auto"
        Shape, in the units of the data. "auto" takes the scale alpha of the
        projections themselves, the root of mean |t|/(alpha + |t|) = 1/2, so
        that the result does not depend on the units.

    Examples
    --------
    >>> TL1(a=1.0).value(np.array([0.0, 1.0, 1e9])).round(6).tolist()
    [0.0, 1.0, 2.0]
    """

    def __init__(self, a: float | str | Array = "auto"):
        self.a = a

    concave = True
    concave_in_square = True
    scale_form = True

    @property
    def adaptive(self) -> bool:
        return isinstance(self.a, str)

    @property
    def bound(self) -> float:
        return float(self.a) + 1.0

    @property
    def lipschitz(self) -> float:
        return 1.0 + 1.0 / float(self.a)

    def check(self) -> None:
        hint = (
            "It is in the units of the data; 1 to 10 times the median absolute projection is a usable range."
        )
        check_positive("a", self.a, "the Tl1 operator", hint, allow_auto=True)

    # The factors are ordered so that no a and u in the floating range over- or underflows.
    def value(self, u: Array) -> Array:
        a = self._shape(u)
        return (a + 1.0) * (u / (a + u))

    def slope(self, u: Array) -> Array:
        a = self._shape(u)
        return (a + 1.0) * (a / (a + u)) / (a + u)

    def curvature(self, u: Array) -> Array:
        return self.derivatives(u)[1]

    def derivatives(self, u: Array) -> tuple[Array, Array]:
        a = self._shape(u)
        s = a + u
        slope = (a + 1.0) * (a / s) / s
        if isinstance(a, float) and a > 1e-9:
            return slope, -2.0 * slope / s
        least = namespace(u).maximum(s, tiny(u) ** 0.25)  # so that its square is not zero
        return slope, -2.0 * (a + 1.0) * (a / s) / least / least

    def _shape(self, u: Array) -> Any:
        """A, in a form that keeps the precision of u: a plain number, or one per column."""
        if type(self.a) is float:  # asked for all the time
            return self.a
        return float(self.a) if np.ndim(self.a) == 0 else asarray_like(self.a, u)

    def resolve(self, u: Array, weights: Array | None = None, near: float | None = None) -> Self:
        return self.at(tl1_scale(u, weights, near), u.max(initial=0.0)) if self.adaptive else self

    def at(self, alpha: Array | float, largest: Array | float) -> Self:
        """The operator with a = alpha, one for each direction.

        Where alpha is zero half of the projections are, and any small a ranks
        the directions alike.
        """
        fallback = 1e-3 * np.asarray(largest)
        a = np.where(np.asarray(alpha) > 0, alpha, np.where(fallback > 0, fallback, 1.0))
        return type(self)(a=float(a) if a.ndim == 0 else a)

    def rescaled(self, factor: float) -> Self:
        return self if self.adaptive else type(self)(a=float(self.a) * factor)

    def value_scale(self, factor: float) -> float:
        a = float(self.a)
        return (a + 1.0) / (a * factor + 1.0)


#: Sizes whose powers above -2 are numbers, by type.
_SMALL = {kind: float(np.finfo(kind).tiny) ** 0.4 for kind in "efdg"}


def power_of(u: Array, exponent: float) -> Array:
    """u^exponent, and zero at zero: a row of zero projection has no side to pull to."""
    if isinstance(u, np.ndarray):
        # Asked for all the time: of few numbers the place of the least is found before its value.
        least = u[u.argmin()] if u.ndim == 1 and 0 < u.size <= 1000 else u.min(initial=1.0)
        if least > _SMALL[u.dtype.char]:
            return np.asarray(np.power(u, exponent))
        with np.errstate(over="ignore"):
            found = np.power(u, exponent, out=np.zeros_like(u), where=u > 0)
        # Where it is infinite next to zero, products with what vanishes there are to vanish.
        return np.minimum(found, np.finfo(u.dtype).max ** 0.5) if exponent < -1.0 else found
    xp = namespace(u)
    return xp.where(u > 0, xp.where(u > 0, u, asarray_like(1.0, u)) ** exponent, asarray_like(0.0, u))


class Lp(Operator):
    """Power operator, mu_p(t) = |t|^p.

    Convex for p >= 1, concave for p <= 1; unbounded for every p and, for
    p < 1, not Lipschitz: its slope is infinite at zero.

    Parameters
    ----------
    p : float, default=1.0
        Positive.

    Examples
    --------
    >>> Lp(p=0.5).value(np.array([0.0, 4.0])).tolist()
    [0.0, 2.0]
    """

    def __init__(self, p: float = 1.0):
        self.p = p

    @property
    def convex(self) -> bool:
        return float(self.p) >= 1.0

    @property
    def concave(self) -> bool:
        return float(self.p) <= 1.0

    @property
    def concave_in_square(self) -> bool:
        return float(self.p) <= 2.0

    @property
    def degree(self) -> float:
        return float(self.p)

    @property
    def lipschitz(self) -> float:
        return 1.0 if self.p == 1 else np.inf

    def check(self) -> None:
        check_positive("p", self.p, "the power operator", "p = 2 is classical PCA, p = 1 is PCA-L1.")

    def value(self, u: Array) -> Array:
        return u if self.p == 1 else u ** float(self.p)

    def slope(self, u: Array) -> Array:
        p = float(self.p)
        if p == 1.0:
            return namespace(u).ones_like(u)
        return p * power_of(u, p - 1.0)

    def curvature(self, u: Array) -> Array:
        p = float(self.p)
        if p == 1.0:  # and not zero times 1/u, which has no value where 1/u overflows
            return namespace(u).zeros_like(u)
        return p * (p - 1.0) * power_of(u, p - 2.0)

    def value_scale(self, factor: float) -> float:
        return _power(factor, -float(self.p))


class _ScaledOperator(Operator):
    """Operators of u/c whose c may be "auto": the median magnitude."""

    concave_in_square = True

    def __init__(self, c: float | str = "auto"):
        self.c = c

    @property
    def adaptive(self) -> bool:
        return isinstance(self.c, str)

    def check(self) -> None:
        hint = "It is in the units of the data; 'auto' takes the median residual."
        check_positive("c", self.c, f"the {type(self).__name__} operator", hint, allow_auto=True)

    def resolve(self, u: Array, weights: Array | None = None, near: float | None = None) -> Self:
        if not self.adaptive:
            return self
        middle = float(weighted_median(u, weights))
        return type(self)(c=middle or 1e-3 * float(np.max(u, initial=0.0)) or 1.0)

    def rescaled(self, factor: float) -> Self:
        return self if self.adaptive else type(self)(c=float(self.c) * factor)

    def value_scale(self, factor: float) -> float:
        return _power(factor, -2.0)


class Huber(_ScaledOperator):
    """Huber's operator: u^2/2 up to c, c(u - c/2) beyond.

    Parameters
    ----------
    c : float or "auto", default="auto"
        Where the square turns into a line; "auto" is the median magnitude.

    Examples
    --------
    >>> Huber(c=1.0).weight(np.array([0.5, 4.0])).tolist()
    [1.0, 0.25]
    """

    convex = True

    @property
    def lipschitz(self) -> float:
        return float(self.c)

    def value(self, u: Array) -> Array:
        c = float(self.c)
        return namespace(u).where(u <= c, 0.5 * u * u, c * (u - 0.5 * c))

    def slope(self, u: Array) -> Array:
        return namespace(u).minimum(u, float(self.c))

    def curvature(self, u: Array) -> Array:
        return namespace(u).where(u <= float(self.c), asarray_like(1.0, u), asarray_like(0.0, u))

    def weight(self, u: Array) -> Array:
        c = float(self.c)
        return c / namespace(u).maximum(u, c)


class Cauchy(_ScaledOperator):
    """Cauchy's operator, c^2/2 log(1 + u^2/c^2).

    Parameters
    ----------
    c : float or "auto", default="auto"
        Where a row weighs half; "auto" is the median magnitude.

    Examples
    --------
    >>> Cauchy(c=1.0).weight(np.array([0.0, 1.0])).tolist()
    [1.0, 0.5]
    """

    @property
    def lipschitz(self) -> float:
        return 0.5 * float(self.c)

    def value(self, u: Array) -> Array:
        c = float(self.c)
        return 0.5 * c * c * namespace(u).log1p((u / c) ** 2)

    def slope(self, u: Array) -> Array:
        return u * self.weight(u)

    def curvature(self, u: Array) -> Array:
        z = (u / float(self.c)) ** 2
        return (1.0 - z) / (1.0 + z) ** 2

    def weight(self, u: Array) -> Array:
        return 1.0 / (1.0 + (u / float(self.c)) ** 2)
