"""
The same fit on a cluster
=========================

Rows lie in partitions on the workers of a Dask cluster. Only sums and small matrices travel, so the
components are those of a fit in memory, however the rows are cut.
"""

# %%
# A cluster
# ---------
#
# Two workers in threads of this process, with a scheduler, as any other cluster has one; with the address of
# a real cluster, ``Client("tcp://...")``, nothing else changes.

import time

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from tl1pca import TL1SubspacePCA
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import principal_angles

X, bad, axes = make_contaminated(40_000, 30, 3, fraction=0.2, random_state=0)
begin = time.perf_counter()
here = TL1SubspacePCA(3, random_state=0).fit(X)
seconds_here = time.perf_counter() - begin

# %%
# One fit for each way to cut the rows
# ------------------------------------

partitions, angles, seconds = [1, 2, 4, 8, 16], [], []
with (
    LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
    Client(cluster),
):
    for count in partitions:
        rows = da.from_array(X, chunks=(len(X) // count, X.shape[1])).persist()
        begin = time.perf_counter()
        there = TL1SubspacePCA(3, random_state=0).fit(rows)
        seconds.append(time.perf_counter() - begin)
        angles.append(principal_angles(there.components_, here.components_)[0])

off = principal_angles(here.components_, axes.T)[0]
print(f"from the true subspace: {off:.2f} degrees; from the fit in memory: {max(angles):.1e} at most")

# %%
# What it costs
# -------------
#
# Left, the angle between the fit on the cluster and that in memory, beside the angle of either to the truth:
# where rows are cut decides nothing that matters. Right, the seconds on the machine that made this page.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.plot(partitions, np.maximum(angles, 1e-16), "o-", label="cluster and memory")  # a zero has no logarithm
left.axhline(off, color="0.4", linestyle="--", label="memory and truth")
left.set(xscale="log", yscale="log", xlabel="partitions", ylabel="largest angle, degrees")
right.plot(partitions, seconds, "o-", label="cluster, two workers")
right.axhline(seconds_here, color="0.4", linestyle="--", label="memory")
right.set(xscale="log", xlabel="partitions", ylabel="seconds", ylim=(0, None))
for ax in (left, right):
    ax.set_xticks(partitions, partitions)
    ax.minorticks_off()
    ax.legend()
plt.show()
