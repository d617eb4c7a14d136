"""
When a GPU pays
===============

Seconds of a fit on one GPU and on the processor beside it, as ``benchmarks/gpu.py`` measured them; the table
is ``benchmarks/results/gpu.md``, which also says with which machine and library.
"""

# %%
# The measured table
# ------------------

import re
from pathlib import Path

import matplotlib.pyplot as plt

results = Path("..", "benchmarks", "results", "gpu.md")  # from the folder of this script
table = results.read_text(encoding="utf-8").split("\n\n")[1]
print(results.read_text(encoding="utf-8").splitlines()[0])

measured = []
for line in table.splitlines()[2:]:
    data, method, gpu, _, _, host, _ = (cell.strip() for cell in line.strip("|").split("|"))
    rows, columns = (int(number.replace(",", "")) for number in re.split(" x ", data))
    measured.append((rows * columns, data, method, float(gpu), host))
measured.sort()

# %%
# From the smallest data to the largest
# -------------------------------------
#
# The smallest data are faster on the processor, and the next hardly differ; from 3,000 x 4096 on the GPU is
# two to eleven times as fast. Of the largest, which were measured on the GPU alone, a fit costs a tenth or
# two more than the randomized classical PCA; of all others it costs many times as much.

figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, method in zip(panels, ("TL1PCA(10)", "TL1SubspacePCA(10)")):
    mine = [entry for entry in measured if entry[2] == method]
    plain = {entry[1]: entry[3] for entry in measured if entry[2].startswith("torch")}
    names = [data for _, data, *_ in mine]
    on_host = [(i, float(host)) for i, (*_, host) in enumerate(mine) if host not in ("", "-")]
    ax.plot(names, [gpu for *_, gpu, _ in mine], "o-", label=f"{method}, GPU")
    ax.plot(*zip(*on_host), "s--", label=f"{method}, processor")
    ax.plot(names, [plain[data] for data in names], "^:", color="0.4", label="torch.pca_lowrank, GPU")
    ax.set(yscale="log", title=method)
    ax.tick_params("x", rotation=30)
    ax.set_ylim(top=30)
    ax.legend(loc="upper left")
panels[0].set_ylabel("seconds")
plt.show()
