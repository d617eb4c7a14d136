r"""
What one row may contribute
===========================

A principal component maximises the sum over the rows of rho(\|t\|), where t is the projection of a row.
Classical PCA takes rho = \|t\|^2: twice as far away counts four times. This example draws the operators of
the package and their slopes. The slope is the pull of a row on the component, and it is the slope that
decides how robust a method is.
"""

# %%
# Values
# ------
#
# For p < 1 the power \|t\|^p grows slowly, and it still grows without end. The transformed l1 operator
# rho_a(t) = (a + 1)\|t\|/(a + \|t\|) stops at a + 1: beyond a few times a, a row counts as one far row, no
# matter how far.

import matplotlib.pyplot as plt
import numpy as np

from tl1pca import TL1, Lp

curves = [
    (r"$|t|^2$ (PCA)", Lp(p=2), "#000000", ":"),
    (r"$|t|$ (PCA-L1)", Lp(p=1), "#CC79A7", "-."),
    (r"$|t|^{1/2}$ (PCA-Lp)", Lp(p=0.5), "#0072B2", "--"),
    (r"$\rho_a$, $a=10$", TL1(a=10.0), "#E69F00", (0, (5, 1, 1, 1, 1, 1))),
    (r"$\rho_a$, $a=1$", TL1(a=1.0), "#D55E00", "-"),
]
u = np.linspace(0.0, 8.0, 1601)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, reach in ((left, 1.0), (right, 8.0)):
    near = u <= reach
    for label, operator, color, dash in curves:
        ax.plot(u[near], operator.value(u[near]), color=color, ls=dash, lw=1.8, label=label)
    ax.set_xlabel(r"$|t|$")
    ax.spines[["top", "right"]].set_visible(False)
left.set(title="near zero", ylabel="contribution of a row", ylim=(0, 1.15))
right.set(title="far away", xlim=(0, 8.3), ylim=(0, 8.5))
right.axhline(2.0, color="#767676", lw=0.9)
right.annotate(
    "bound a + 1 = 2", (8.3, 2.0), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9
)
right.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
plt.show()

# %%
# Slopes
# ------
#
# On logarithmic axes the slopes of powers are lines. A row of zero projection pulls infinitely hard for p <
# 1, which is why the published iteration of PCA-Lp is not stable there. The slope of rho_a is at most 1 +
# 1/a, its Lipschitz constant, and falls like 1/t^2.

u = np.logspace(-3, 2, 300)
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for label, operator, color, dash in curves:
    ax.loglog(u, operator.slope(u), color=color, ls=dash, lw=1.8, label=label)
ax.set(xlabel=r"$|t|$", ylabel="pull of a row", ylim=(1e-4, 3e2))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
plt.show()

# %%
# In numbers: a row a hundred times as far away as another one.

for label, operator, *_ in curves:
    ratio = float(operator.value(np.array(100.0)) / operator.value(np.array(1.0)))
    name = label.replace("$", "").replace("\\rho", "rho")
    print(f"{name:24s} counts {ratio:10.2f} times as much")
print("Lipschitz constant of rho_1:", TL1(a=1.0).lipschitz, "- of |t|^(1/2):", Lp(p=0.5).lipschitz)
