"""The contamination studies: ``python benchmarks/robustness/run.py [--real] [--quick]``.

Every finished data set is kept in a journal, so a run that was stopped goes on where it was. The
peers' environments are made on first use. Writes robustness.csv (one line per fit) and robustness.md;
the second study, of ordinary data and real tables, robustness-real.md (see ``real.py``).
"""

import argparse
import hashlib
import queue
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from threadpoolctl import threadpool_limits

import peers
import tl1pca
from robustness import design, real, report
from tl1pca.experiments.journal import Journal


def code_digest():
    """Short name for the source of the package, to see which results an older one computed."""
    digest = hashlib.sha256()
    for path in sorted(Path(tl1pca.__file__).parent.rglob("*.py")):
        if "experiments" not in path.parts and "cli" not in path.parts:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


class Lane:
    """One worker per environment; the methods of a data set run one after the other."""

    def __init__(self, commands):
        self.workers = {name: peers.Worker(command) for name, command in commands.items()}

    def run(self, task, done, code):
        data = design.draw(task.cell, task.seed)
        k = design.SETTINGS[task.cell.setting].k
        record = dict(done)
        turn = task.seed % len(task.methods)  # nobody is always first
        for method in task.methods[turn:] + task.methods[:turn]:
            if method.name in done and not done[method.name]["error"]:
                continue
            fit = self.workers[method.environment].fit(method.name, data.X, k, task.seed)
            entry = {
                "error": fit.error,
                "oracle": data.oracle,
                "wall": fit.wall,
                "cpu": fit.cpu,
                "code": code,
            }
            if not fit.error:
                entry["angle"] = design.largest_angle(data.axes, fit.components)
            if fit.flags is not None and task.cell.kind != "cellwise":
                entry["found"] = float(fit.flags[data.far].mean()) if data.far.any() else None
                entry["false"] = float(fit.flags[~data.bad].mean())
            record[method.name] = entry
        return record


def complete(task, records):
    record = records.get(task.key, {})
    return all(method.name in record and not record[method.name]["error"] for method in task.methods)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one noise, 20 and 40 %%, two seeds")
    parser.add_argument("--real", action="store_true", help="the second study: ordinary data and real tables")
    parser.add_argument("--seeds", type=int, help="default 10, quick 2; of the second study 5 and 2")
    parser.add_argument(
        "--jobs", type=int, default=2, help="data sets at a time; times want no more than cores"
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "results")
    parser.add_argument("--fresh", action="store_true", help="forget the journal")
    parser.add_argument("--report", action="store_true", help="only write the tables of what is there")
    options = parser.parse_args()
    if options.real:
        with threadpool_limits(1):
            print(real.write(options.out, options.quick, options.seeds or (2 if options.quick else 5)))
        return
    seeds = options.seeds or (2 if options.quick else 10)

    commands = {name: peers.command(name) for name in peers.ENVIRONMENTS}
    missing = [name for name, command in commands.items() if command is None]
    commands = {name: command for name, command in commands.items() if command}
    tasks = design.plan(seeds, options.quick, commands)
    path = options.out / "journal" / "robustness.jsonl"
    if options.fresh:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / ".gitignore").write_text("*\n")
    start, code = time.monotonic(), code_digest()
    with Journal(path) as journal, threadpool_limits(1), ThreadPoolExecutor(options.jobs) as pool:
        todo = [] if options.report else [task for task in tasks if not complete(task, journal.records)]
        lanes = queue.SimpleQueue()
        for _ in range(options.jobs):
            lanes.put(Lane(commands))

        def work(task):
            lane = lanes.get()
            try:
                return task, lane.run(task, journal.records.get(task.key, {}), code)
            finally:
                lanes.put(lane)

        futures = [pool.submit(work, task) for task in todo]
        try:
            for i, future in enumerate(as_completed(futures), 1):
                task, record = future.result()
                journal.append(task.key, record)
                if i % 20 == 0 or i == len(todo):
                    print(f"{i}/{len(todo)} data sets, {time.monotonic() - start:.0f} s", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
            while not lanes.empty():
                for worker in lanes.get().workers.values():
                    worker.close()
        name = "robustness-quick" if options.quick else "robustness"
        text = report.write(options.out / name, tasks, journal.records, code, missing)
    print(text)
    print(
        f"tables: {options.out / name}.md, {options.out / name}.csv; {np.round(time.monotonic() - start)} s"
    )


if __name__ == "__main__":
    main()
