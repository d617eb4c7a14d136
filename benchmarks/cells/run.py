"""The study of bad cells: ``python benchmarks/cells/run.py [--quick | --full]``.

Every finished data set is kept in a journal, so that a run that was stopped goes on where it was.
The peers run on the first seed, MacroPCA where Rscript has cellWise. Writes results/cells.md.
"""

import argparse
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from threadpoolctl import threadpool_limits

from cells import design, methods
from cells.report import write
from tl1pca.experiments.journal import Journal


def angle(axes, components):
    Q = np.linalg.qr(np.nan_to_num(components).T)[0]
    return float(np.degrees(np.arcsin(min(1.0, np.linalg.norm(axes - Q @ (Q.T @ axes), 2)))))


def rate(flags, where):
    return float(flags[where].mean()) if flags is not None and where.any() else None


def measured(data, fit):
    """What is kept of a fit."""
    good = ~data.bad_rows
    usable = data.usable
    gone = data.missing & good[:, None]
    off = fit.fitted - data.clean
    return {
        "angle": None if data.axes is None else angle(data.axes, fit.components),
        "mse": float((off[usable] ** 2).mean()),
        "imputed": float(np.sqrt((off[gone] ** 2).mean())) if gone.any() else None,
        "cells_found": rate(fit.cell_flags, data.far_cells & good[:, None]),
        "cells_false": rate(fit.cell_flags, usable),
        "rows_found": rate(fit.row_flags, data.far_rows),
        "rows_false": rate(fit.row_flags, good),
        "seconds": fit.seconds,
    }


def oracles(data):
    """Classical PCA of the good rows before anything happened, and least squares of their good cells."""
    good = ~data.bad_rows
    before = methods.masked_pca(data.clean[good], np.ones_like(data.clean[good], dtype=bool), data.k, 1)
    masked = methods.masked_pca(data.X[good], data.usable[good], data.k)
    found = {}
    for name, (center, V) in (("oracle", before), ("masked oracle", masked)):
        fitted = np.full(data.X.shape, np.nan)
        for i in np.flatnonzero(good):
            seen = data.usable[i]
            u = np.linalg.lstsq(V[:, seen].T, data.X[i, seen] - center[seen], rcond=None)[0]
            fitted[i] = center + u @ V
        found[name] = measured(data, methods.Fit(V, fitted, None, None, 0.0))
    return found


def run(data, macro, peers):
    record = oracles(data)
    runs = {"TL1CellPCA": methods.own}
    if peers:
        runs["TL1SubspacePCA, medians"] = methods.rowwise
        if data.axes is not None and len(data.X) < 1000:  # seconds per fit above that
            runs["L1ReconstructionPCA"] = methods.l1
        if macro is not None:
            runs["MacroPCA"] = macro
    for name, method in runs.items():
        try:
            record[name] = measured(data, method(data.X, data.k))
        except (RuntimeError, ValueError) as error:
            record[name] = {"error": str(error)}
    gone = data.missing & ~data.bad_rows[:, None]
    if peers and gone.any():
        for name, imputer in (
            ("KNNImputer", KNNImputer()),
            (
                "IterativeImputer",
                IterativeImputer(max_iter=3, tol=1.0, n_nearest_features=10, random_state=0),
            ),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                off = imputer.fit_transform(data.X) - data.clean
            record[name] = {"imputed": float(np.sqrt((off[gone] ** 2).mean()))}
    return record


def tasks(options):
    """Key, data and seed of every data set, seed by seed, so that a run cut short has all combinations."""
    seeds = options.seeds or ((0,) if options.quick else (*design.SEEDS, *design.UNTOUCHED))
    chosen = list(design.combinations(options.quick, options.full))
    for i, seed in enumerate(seeds):
        for cell in chosen:
            yield f"{cell.key}/{seed}", lambda cell=cell, seed=seed: design.draw(cell, seed), i
        gammas = design.GAMMAS[1:3] if options.quick else design.GAMMAS
        for name in ("A09", "ALYZ"):
            for mix in design.MIXES:
                for gamma in gammas:
                    for missing in (0.0,) if options.quick else (0.0, 0.2):
                        key = f"{name}/{mix}/{gamma:g}/{missing:g}/{seed}"
                        draw = lambda a=(name, mix, gamma, missing, seed): design.draw_correlated(*a)  # noqa: E731
                        yield key, draw, i


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, few combinations")
    parser.add_argument("--full", action="store_true", help="all shares: hours")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "results")
    parser.add_argument("--fresh", action="store_true", help="forget the journal")
    parser.add_argument("--report", action="store_true", help="only write the tables of what is there")
    parser.add_argument("--seeds", type=int, nargs="+", help="other seeds than those of the study")
    parser.add_argument("--only", default="", help="only data sets with this in their key")
    parser.add_argument("--peers", type=int, default=1, help="seeds on which the peers run")
    options = parser.parse_args()
    name = "cells-quick" if options.quick else "cells"
    path = options.out / "journal" / f"{name}.jsonl"
    if options.fresh:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / ".gitignore").write_text("*\n")
    macro = None if options.report else methods.MacroPCA.create()
    start, done = time.monotonic(), 0
    with Journal(path) as journal, threadpool_limits(1):
        todo = [] if options.report else [t for t in tasks(options) if t[0] not in journal.records]
        todo = [t for t in todo if options.only in t[0]]
        for key, draw, i in todo:
            journal.append(key, run(draw(), macro, i < options.peers))
            done += 1
            if done % 50 == 0 or done == len(todo):
                print(f"{done}/{len(todo)} data sets, {time.monotonic() - start:.0f} s", flush=True)
        records = defaultdict(dict)
        for key, record in journal.records.items():
            *where, seed = key.split("/")
            records["/".join(where)][int(seed)] = record
        print(write(options.out / f"{name}.md", records, macro is not None or options.report))
    if macro is not None:
        macro.close()


if __name__ == "__main__":
    main()
