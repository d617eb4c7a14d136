"""Fig. 1 and 2: the component operators."""

from __future__ import annotations

import numpy as np

from ...operators import TL1, Lp
from .. import figures
from ..output import Picture, Section


def section() -> Section:
    """Curves and figures; there is nothing to estimate."""
    import pandas as pd

    near = np.append(0.0, np.geomspace(1e-7, 100.0, 800))
    rho, root = TL1(a=1.0), Lp(p=0.5)
    far = np.linspace(-6.0, 6.0, 1201)
    together = [
        (r"$\mu_2(t)=t^2$", Lp(p=2).value(np.abs(far))),
        (r"$\mu_1(t)=|t|$", Lp(p=1).value(np.abs(far))),
        (r"$\mu_{1/2}(t)=|t|^{1/2}$", root.value(np.abs(far))),
        (r"$\rho_1(t)=2|t|/(1+|t|)$", rho.value(np.abs(far))),
    ]
    first = [(r"$\rho_1(t)=2|t|/(1+|t|)$", rho.value(near)), (r"$\mu_{1/2}(t)=|t|^{1/2}$", root.value(near))]
    curves = pd.DataFrame(
        {"t": far} | dict(zip(("mu_2", "mu_1", "mu_half", "rho_1"), (values for _, values in together)))
    )
    return Section(
        "operators",
        "The operators (Fig. 1 and 2)",
        (
            "A projection t contributes ρₐ(t) = (a+1)|t|/(a+|t|) to the objective of Tl1PCA. It is bounded "
            "by a+1 and its slope at zero is 1+1/a, where the slope of |t|^p is infinite for p < 1. Bounded "
            "influence on the dispersion is what the robustness of the method rests on; it says nothing of "
            "a row's pull on the direction, and that pull is what the toy measures.",
        ),
        pictures=(
            Picture(
                "fig1_operators_near_far",
                "Fig. 1. ρ₁ against μ½ for small and for large |t|.",
                "Two panels. Near zero the root rises more steeply; far out it keeps growing while rho "
                "stays below 2.",
                figures.operators_near_and_far(near, first),
            ),
            Picture(
                "fig2_operators_together",
                "Fig. 2. μ₂, μ₁, μ½ and ρ₁ together; ρ has the asymptote a+1 = 2.",
                "Four curves over t from -6 to 6: the square, the modulus, its root, and the bounded rho.",
                figures.operators_together(far, together, 2.0),
            ),
        ),
        results={"operators": curves},
    )
