r"""
What one row may contribute
===========================

A principal component maximizes the sum over the rows of rho(\|t\|), where t is the projection of a row.
Classical PCA takes rho = \|t\|^2: twice as far away counts four times. This example draws the operators of
the package and their slopes. The slope is the pull of a row on the component, and it is the slope that
decides how robust a method is.
"""

# %%
# Values and slopes
# -----------------
#
# For p < 1 the power \|t\|^p grows slowly, and it still grows without end. The transformed l1 operator
# rho_a(t) = (a + 1)\|t\|/(a + \|t\|) stops at a + 1: beyond a few times a, a row counts as one far row, no
# matter how far.

import matplotlib.pyplot as plt
import numpy as np

from tl1pca import TL1, Lp
from tl1pca.displays import OperatorDisplay

operators = {
    "|t|² (PCA)": Lp(p=2),
    "|t| (PCA-L1)": Lp(p=1),
    "√|t| (PCA-Lp, p = 1/2)": Lp(p=0.5),
    "Tl1, a = 10": TL1(a=10.0),
    "Tl1, a = 1": TL1(a=1.0),
}
OperatorDisplay.from_operators(operators, reach=8.0)
plt.show()

# %%
# On logarithmic axes the slopes of powers are lines. The slope of rho_a is at most 1 + 1/a, its Lipschitz
# constant, and falls like 1/t^2: the farther a row, the less it pulls.
#
# Near zero
# ---------
#
# A row of zero projection pulls infinitely hard for p < 1, which is why the published iteration of PCA-Lp is
# not stable there.

OperatorDisplay.from_operators(operators, reach=0.2)
plt.show()

# %%
# In numbers: a row a hundred times as far away as another one.

for name, operator in operators.items():
    ratio = float(operator.value(np.array(100.0)) / operator.value(np.array(1.0)))
    print(f"{name:24s} counts {ratio:10.2f} times as much")
print("Lipschitz constant of Tl1, a = 1:", TL1(a=1.0).lipschitz, "- of |t|^(1/2):", Lp(p=0.5).lipschitz)
