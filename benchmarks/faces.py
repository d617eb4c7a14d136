"""Time of the full Yale study: 9 a twice, 8 p twice, PCA-L1, PCA; 3 noise levels; 15 splits; 85 components.

    TL1PCA_DATA=folder python benchmarks/faces.py --jobs 2

The table on rounding is part of it. The target is 10 minutes on 2 cores for
both databases, of which JAFFE takes about 1.4 times as long. Wall time depends
on what else the machine does, so the CPU time of the fits is reported beside it.
"""

import argparse
import os
import platform
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from tl1pca.experiments import run
from tl1pca.experiments.output import Table
from tl1pca.experiments.sources import yale
from tl1pca.experiments.studies import faces

#: Seconds for both databases, and how much of it both take when Yale takes one.
TARGET, BOTH = 10 * 60, 2.4


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", default=os.environ.get("TL1PCA_DATA"), help="folder with Yale")
    parser.add_argument("--out", help="folder to keep the finished cells in, for `tl1pca reproduce`")
    options = parser.parse_args()
    if not options.data:
        parser.error("the Yale file is not part of this project: give --data or set TL1PCA_DATA")
    images = (yale(str(Path(options.data).resolve())),)
    out = Path(options.out or tempfile.mkdtemp())
    load, start = os.getloadavg()[0], time.perf_counter()
    studies = (faces.study(images, quick=False), faces.rounding_study(images, quick=False))
    tables = []
    for study in studies:
        results = run(study, out / "journal" / f"{study.name}.jsonl", jobs=options.jobs)
        tables.append(results.table().drop_duplicates(["noise", "method", "value", "split"]))
    wall = time.perf_counter() - start
    tables[1]["method"] = "table on rounding"
    print(report(pd.concat(tables), wall, options.jobs, load).markdown())


def report(fits, wall, jobs, load):
    effort = fits.groupby("method", sort=False)["seconds"].agg(["size", "mean", "max", "sum"])
    rows = [
        (name, str(int(r["size"])), f"{r['mean']:.3f}", f"{r['max']:.3f}", f"{r['sum']:.0f}")
        for name, r in effort.iterrows()
    ]
    total = float(np.sum(effort["sum"]))
    rows.append(("all", str(len(fits)), f"{total / len(fits):.3f}", "", f"{total:.0f}"))
    note = (
        f"Wall time {wall / 60:.1f} minutes with {jobs} processes; CPU time of the fits over {jobs} is "
        f"{total / jobs / 60:.1f} minutes. Both databases by extrapolation {BOTH * wall / 60:.1f} and "
        f"{BOTH * total / jobs / 60:.1f} minutes (target {TARGET // 60}). {platform.machine()}, "
        f"{os.cpu_count()} cores, load average {load:.1f} before the start."
    )
    columns = ("method", "fits", "CPU s per fit", "longest", "CPU s in all")
    return Table("faces", "Full Yale study", columns, tuple(rows), note)


if __name__ == "__main__":
    main()
