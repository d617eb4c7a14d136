"""Fig. 1 and 2, the contours, and section II of the paper: properties of the component operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...operators import TL1, Lp, Operator
from .. import figures
from ..claims import Claim, verdict
from ..output import Picture, Section

Array = NDArray[Any]

A_VALUES = (0.01, 1.0, 100.0)
#: The norm that each of these a is said to resemble, as the power of its contour.
POWERS = (0.0, 0.5, 1.0)
_NAMES = {0.0: "l0", 0.5: "l1/2", 1.0: "l1"}
_ROUNDING = 1e-12


def section() -> Section:
    """Curves, contours and what they say; there is nothing to estimate."""
    import pandas as pd

    rho, root = TL1(a=1.0), Lp(p=0.5)
    near, far = np.linspace(-1.5, 1.5, 1201), np.linspace(-20.0, 20.0, 1601)
    middle = np.linspace(-5.0, 5.0, 1001)
    labels = {
        "mu_2": r"$\mu_2(t)=t^2$",
        "mu_1": r"$\mu_1(t)=|t|$",
        "mu_half": r"$\mu_{1/2}(t)=|t|^{1/2}$",
        "rho_1": r"$\rho_1(t)=2|t|/(1+|t|)$",
    }
    operators: dict[str, Operator] = {"mu_2": Lp(p=2), "mu_1": Lp(p=1), "mu_half": root, "rho_1": rho}
    curves = {name: operator.value(np.abs(middle)) for name, operator in operators.items()}
    ranges = [
        (t, [(labels[name], operators[name].value(np.abs(t))) for name in ("rho_1", "mu_half")])
        for t in (near, far)
    ]
    return Section(
        "operators",
        "The operators (Fig. 1 and 2)",
        (
            "A projection t contributes ρₐ(t) = (a+1)|t|/(a+|t|) to the objective of Tl1PCA. It is "
            "bounded by a+1 and its slope at zero is 1+1/a, where the slope of |t|^p is infinite for p < "
            "1. Bounded influence on the dispersion is what the robustness of the method rests on; it "
            "says nothing of a row's pull on the direction, and that pull is what the toy measures.",
        ),
        pictures=(
            Picture(
                "fig1_operators_near_far",
                "Fig. 1 of the paper. ρ₁ against μ½ (a) for small and (b) for large |t|, over the paper's "
                "ranges.",
                "Two panels. Near zero the root rises more steeply; far out it keeps growing while rho "
                "stays below 2.",
                figures.operators_near_and_far(ranges),
            ),
            Picture(
                "fig2_operators_together",
                "Fig. 2 of the paper. μ₂, μ₁, μ½ and ρ₁ together; ρ has the asymptote a+1 = 2.",
                "Four curves over t from -5 to 5: the square, the modulus, its root, and the bounded rho.",
                figures.operators_together(middle, [(labels[name], curves[name]) for name in labels], 2.0),
            ),
            _contour_picture(),
        ),
        results={"operators": pd.DataFrame({"t": middle} | curves)},
        claims=(*_property_claims(), _limit_claim(), _contour_claim(), _growth_claim()),
    )


def contour(operator: Operator, x: Array, size: float = 1.0) -> Array:
    """The y >= 0 with rho(x) + rho(y) = rho(size), for 0 <= x <= size: one quarter of a contour."""
    level = operator.value(np.array([size]))[0]
    low, high = np.zeros_like(x), np.full_like(x, size)
    for _ in range(80):  # bisection: rho increases
        y = 0.5 * (low + high)
        above = operator.value(x) + operator.value(y) > level
        low, high = np.where(above, low, y), np.where(above, y, high)
    return 0.5 * (low + high)


def power_contour(p: float, x: Array, size: float = 1.0) -> Array:
    """The same for |x|^p + |y|^p; for p = 0 the axes themselves."""
    if p == 0.0:
        return np.where(x == 0.0, size, 0.0)
    return np.maximum(size**p - x**p, 0.0) ** (1.0 / p)


def contour_distance(a: float, p: float, size: float = 1.0) -> float:
    """Mean distance along y between the contours of Tl1(a) and lp through (size, 0), as a share of size."""
    x = size * (np.arange(4000) + 0.5) / 4000
    return float(np.abs(contour(TL1(a=a), x, size) - power_contour(p, x, size)).mean() / size)


def _contour_picture() -> Picture:
    x = np.linspace(0.0, 1.0, 801)
    panels = [
        (f"a = {a:g} and {_NAMES[p]}", x, contour(TL1(a=a), x), power_contour(p, x))
        for a, p in zip(A_VALUES, POWERS)
    ]
    return Picture(
        "contours",
        "Contours through (1, 0) of the Tl1-norm with a = 0.01, 1 and 100 beside those of l0, l½ and l1, "
        "as section II of the paper describes them.",
        "Three panels: the contour for a = 0.01 hugs the axes, that for a = 1 is a star somewhat wider "
        "than that of l1/2, and that for a = 100 is nearly the square of l1.",
        figures.contours(panels),
    )


def _property_claims() -> tuple[Claim, ...]:
    rng = np.random.default_rng(0)
    s, t = np.exp(rng.uniform(-25.0, 15.0, size=(2, 20000)))
    quotients = {a: np.abs(TL1(a=a).value(s) - TL1(a=a).value(t)) / np.abs(s - t) for a in A_VALUES}
    steepest = [float(quotients[a].max()) / TL1(a=a).lipschitz for a in A_VALUES]
    grid = np.append(0.0, np.geomspace(1e-12, 1e12, 4000))
    tops = [float(TL1(a=a).value(grid)[-1]) / (a + 1.0) for a in A_VALUES]
    rising = all((np.diff(TL1(a=a).value(grid)) >= 0).all() for a in A_VALUES)
    root = Lp(p=0.5).value(np.array([1e-4, 1e-12, 1e12]))
    steep = (root[0] / 1e-4, root[1] / 1e-12)
    x, y = rng.standard_cauchy(size=(2, 20000, 5))
    norms = [[TL1(a=a).value(np.abs(v)).sum(axis=1) for v in (x, y, x + y, 2 * x)] for a in A_VALUES]
    share = max(float((xy / (nx + ny)).max()) for nx, ny, xy, _ in norms)
    twice = [float(np.median(double / nx)) for nx, _, _, double in norms]
    listed = ", ".join(f"{slope:.4f}" for slope in steepest)
    return (
        Claim(
            "II, Property 1",
            "ρₐ is Lipschitz with constant 1 + 1/a",
            verdict(all(0.99 < slope <= 1.0 + _ROUNDING for slope in steepest)),
            f"largest quotient over 20,000 pairs, as a share of 1 + 1/a: {listed} for a = 0.01, 1, 100",
        ),
        Claim(
            "II, Property 1",
            "ρₐ increases from 0 to a + 1",
            verdict(rising and all(0.99 < top <= 1.0 for top in tops)),
            f"never falls over 4,000 points; at |t| = 1e12 it is at least {min(tops):.6f} of a + 1",
        ),
        Claim(
            "II, Property 1",
            "|t|^p with p < 1 is not Lipschitz, and grows without bound",
            verdict(bool(steep[1] > 100 * steep[0] and root[2] > 1e5)),
            f"p = ½: slope of the chord from 0 is {steep[0]:.0e} to 1e-4 and {steep[1]:.0e} to 1e-12; "
            f"value {root[2]:.0e} at 1e12",
        ),
        Claim(
            "II",
            "The Tl1-norm satisfies the triangle inequality but is not homogeneous",
            verdict(share <= 1.0 + _ROUNDING and any(abs(factor - 2.0) > 0.01 for factor in twice)),
            f"largest |x + y| as a share of |x| + |y| over 60,000 pairs: {share:.4f}; median |2x| / |x|: "
            f"{', '.join(f'{factor:.2f}' for factor in twice)} for a = 0.01, 1, 100",
        ),
    )


def _limit_claim() -> Claim:
    x = np.random.default_rng(1).standard_normal((1000, 8))
    x[:, ::3] = 0.0
    size = np.abs(x)
    exact = (np.count_nonzero(x, axis=1), size.sum(axis=1))
    errors = []
    for a, target in zip((1e-10, 1e10), exact):
        errors.append(float(np.abs(TL1(a=a).value(size).sum(axis=1) / target - 1.0).max()))
    return Claim(
        "II, eq. (5)",
        "The Tl1-norm tends to l0 as a → 0 and to l1 as a → ∞",
        verdict(max(errors) < 1e-5),
        f"largest relative difference over 1,000 vectors: {errors[0]:.0e} at a = 1e-10, {errors[1]:.0e} at "
        "a = 1e10",
    )


def _contour_claim() -> Claim:
    near = {a: {p: contour_distance(a, p) for p in POWERS} for a in A_VALUES}
    nearest = [min(near[a], key=lambda p: near[a][p]) for a in A_VALUES]
    own = ", ".join(f"{near[a][p]:.3f} ({_NAMES[p]})" for a, p in zip(A_VALUES, POWERS))
    large = {p: contour_distance(1.0, p, 10.0) for p in POWERS}
    there = min(large, key=lambda p: large[p])
    return Claim(
        "II",
        "Contours for a = 0.01, 1, 100 are like those of l0, l½, l1",
        verdict(nearest == list(POWERS)),
        f"through (1, 0) the nearest of the three is the one named, at a mean distance of {own}; the match "
        f"depends on the size: through (10, 0), a = 1 is nearest to {_NAMES[there]}",
    )


def _growth_claim() -> Claim:
    t = np.array([10.0, 100.0])
    growth = {a: float(np.divide(*TL1(a=a).value(t)[::-1])) for a in (1.0, 100.0)}
    root = float(np.divide(*Lp(p=0.5).value(t)[::-1]))
    return Claim(
        "II",
        "From |t|² over |t| and |t|^p to ρₐ growth slows: outliers are suppressed more",
        verdict(growth[1.0] < root),
        f"from |t| = 10 to 100: |t|^½ grows by {root:.2f}, ρ₁ by {growth[1.0]:.2f}; it takes |t| > a(1/p - "
        f"1), and ρ₁₀₀ still grows by {growth[100.0]:.2f}",
    )
