"""How long a decision takes in tl1pca explore: from the click to rows and figures of the new fit, over HTTP.

    python benchmarks/explore.py

Writes benchmarks/results/explore.md. CPU time is that of the server and of the process that fits.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

from tl1pca.datasets import make_contaminated

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
from explore_server import Explorer  # noqa: E402

SIZES = ((1_000, 20), (10_000, 50), (200_000, 20))
REPEATS = 5


def measure(n, d, folder):
    X = make_contaminated(n, d, 3, fraction=0.05, random_state=0)[0]
    path = folder / "table.csv"
    pd.DataFrame(X, columns=[f"v{j}" for j in range(d)]).round(5).to_csv(path, index=False)
    begin = time.monotonic()
    server = Explorer(path)
    try:
        server.settled(300)
        opened = time.monotonic() - begin
        main = psutil.Process(server.process.pid)
        processes = [main, *main.children()]

        def cpu():
            return sum(sum(process.cpu_times()[:2]) for process in processes)

        taken = []
        for row in range(1, REPEATS + 1):
            begin, before = time.monotonic(), cpu()
            server.do("aside", rows=[row])
            server.do("fit")
            server.settled(300)
            server.json("api/figures")
            server.json("api/rows")
            taken.append((time.monotonic() - begin, cpu() - before))
        wall, used = np.median(taken, axis=0)
        begin = time.monotonic()
        server.json("api/rows?by=v3&kind=column&down=1")
        return opened, wall, used, time.monotonic() - begin
    finally:
        server.stop()


def main():
    lines = [
        "# tl1pca explore",
        "",
        f"Seconds, the median of {REPEATS} decisions (`python benchmarks/explore.py`): a row is set aside,",
        "and the page has rows and figures of the new fit, the number of components chosen anew. Opening is",
        "from the command to the first fit, Python's start included; sorting is a page of the table by a",
        f"column. Two cores with a load of {psutil.getloadavg()[0]:.0f}: the CPU time says more.",
        "",
        "| table | opening | decision | its CPU time | sorting |",
        "|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for n, d in SIZES:
            opened, wall, used, page = measure(n, d, Path(folder))
            lines.append(f"| {n:,} x {d} | {opened:.1f} | {wall:.2f} | {used:.2f} | {page:.3f} |")
            print(lines[-1], flush=True)
    (HERE / "results" / "explore.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
