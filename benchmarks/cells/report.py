"""Tables and verdicts of the study of bad cells."""

import numpy as np

from cells.design import CELLS, SMALL_CELLS, UNTOUCHED
from tl1pca._files import write_atomically

OWN = "TL1CellPCA"
INTRODUCTION = """# Bad cells, bad rows and missing cells together

Combinations of bad cells (one-sided 20, signed 8, spread over 3 to 20 deviations of their column), bad rows
(a cluster, a line, scattered) and missing cells. tall: n=1000, d=50, k=5; small: n=200, d=20, k=3; wide:
n=100, d=200, k=3. Angles are the largest principal angle to the true subspace, in degrees, medians over the
seeds. The oracle is classical PCA of the good rows before any cell went bad or missing; the masked oracle is
least squares over the good cells that are left, what can be had by one who knows which they are. Where
20 % of the cells are bad and 20 % missing the masked oracle itself is up to 1.6 times the oracle, so verdicts
are given against both.

{seeds} seeds; {untouched} of them ({names}) were not looked at until the method was settled.
{macro}
"""


def numbers(runs, name, key, seeds=None):
    values = [
        record[name][key]
        for seed, record in runs.items()
        if (seeds is None or seed in seeds) and record.get(name, {}).get(key) is not None
    ]
    return np.array(values, dtype=float)


def verdicts(runs, seeds=None):
    """Median and every seed against the oracle and the masked oracle."""
    angle = numbers(runs, OWN, "angle", seeds)
    found = {}
    for oracle in ("oracle", "masked oracle"):
        base = numbers(runs, oracle, "angle", seeds)
        found[oracle] = (
            bool(np.median(angle) <= 1.3 * np.median(base) + 0.5),
            int((angle > 1.5 * base + 1.0).sum()),
            len(angle),
        )
    return found


def judged(records, kinds):
    """Combinations of the main design: those whose bad cells are of the given kinds."""
    return {
        key: runs
        for key, runs in records.items()
        if key.split("/")[0] in ("tall", "small", "wide") and key.split("/")[1] in (*kinds, "none")
    }


def summary(records, title, seeds=None):
    lines = []
    for size in ("tall", "small", "wide"):
        chosen = {key: runs for key, runs in records.items() if key.startswith(size)}
        chosen = {k: r for k, r in chosen.items() if len(numbers(r, OWN, "angle", seeds))}
        if not chosen:
            continue
        each = [verdicts(runs, seeds) for runs in chosen.values()]
        cells = [size, len(each)]
        for oracle in ("oracle", "masked oracle"):
            good, lost = sum(v[oracle][0] for v in each), sum(v[oracle][1] for v in each)
            cells += [good, f"{lost} of {sum(v[oracle][2] for v in each)}"]
        lines.append(cells)
    head = (
        "size",
        "combinations",
        "median within",
        "seeds beyond",
        "median within, masked",
        "seeds beyond, masked",
    )
    return [f"### {title}", "", *table(head, lines)]


def table(head, lines):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for line in lines:
        yield "| " + " | ".join(map(str, line)) + " |"
    yield ""


def shown(values, form="{:.1f}"):
    return form.format(np.median(values)) if len(values) else "-"


def angles(records):
    names = ("oracle", "masked oracle", OWN, "MacroPCA", "TL1SubspacePCA, medians", "L1ReconstructionPCA")
    lines = []
    for key, runs in records.items():
        size, kind, cells, row_kind, rows, missing = key.split("/")
        where = (
            f"{size}: cells {100 * float(cells):.0f} % {kind}, rows {100 * float(rows):.0f} % {row_kind}, "
        )
        where += f"missing {100 * float(missing):.0f} %"
        worst = numbers(runs, OWN, "angle")
        lines.append(
            [
                where,
                *(shown(numbers(runs, name, "angle")) for name in names),
                f"{worst.max():.1f}" if len(worst) else "-",
            ]
        )
    return table(("combination", *names, "worst seed"), lines)


def detection(records):
    keys = ("cells_found", "cells_false", "rows_found", "rows_false")
    lines = []
    for size in ("tall", "small", "wide"):
        for kind in ("none", *CELLS, *SMALL_CELLS):
            chosen = [r for k, r in records.items() if k.startswith(f"{size}/{kind}/")]
            if chosen:
                values = [np.concatenate([numbers(r, OWN, key) for r in chosen]) for key in keys]
                lines.append(
                    [f"{size}, {kind}", *(f"{100 * v.mean():.2f}" if len(v) else "-" for v in values)]
                )
    return table(
        ("data", "far cells found %", "good cells flagged %", "far rows found %", "good rows flagged %"),
        lines,
    )


def imputation(records):
    names = ("oracle", "masked oracle", OWN, "MacroPCA", "KNNImputer", "IterativeImputer")
    lines = []
    for size in ("tall", "small", "wide"):
        for kind in ("none", *CELLS):
            chosen = [r for k, r in records.items() if k.startswith(f"{size}/{kind}/")]
            values = [np.concatenate([numbers(r, name, "imputed") for r in chosen] or [[]]) for name in names]
            if len(values[2]):
                lines.append([f"{size}, {kind}", *(shown(v, "{:.3f}") for v in values)])
    return table(("data", *names), lines)


def correlated(records):
    names = ("oracle", "masked oracle", OWN, "MacroPCA")
    lines = []
    for key, runs in records.items():
        if key.startswith(("A09", "ALYZ")):
            both = {s: r for s, r in runs.items() if "mse" in r.get("MacroPCA", {})}
            lines.append(
                [key.replace("/", ", "), *(shown(numbers(both or runs, n, "mse"), "{:.3f}") for n in names)]
            )
    return table(("design, what, gamma, missing", *names), lines)


def write(path, records, macro):
    """Write the page; returns its summary."""
    seeds = sorted({seed for runs in records.values() for seed in runs})
    main, small = judged(records, CELLS), judged(records, SMALL_CELLS)
    small = {key: runs for key, runs in small.items() if key.split("/")[1] in SMALL_CELLS}
    lines = [
        INTRODUCTION.format(
            seeds=len(seeds),
            untouched=sum(seed in UNTOUCHED for seed in seeds),
            names=", ".join(str(seed) for seed in seeds if seed in UNTOUCHED) or "none",
            macro="" if macro else "MacroPCA: Rscript with cellWise was not available.",
        ),
        "## Verdicts: median within 1.3 x + 0.5 degrees, every seed within 1.5 x + 1\n",
        *summary(main, "all seeds"),
        *summary(main, "seeds not looked at before the end", UNTOUCHED),
        *summary(small, "small bad cells (3 and 5 deviations, 20 %), all seeds"),
        "## Cells and rows found\n",
        "Far cells lie five deviations of their column and more from where they belong. A line has rows near",
        "its middle; far rows are a quarter beyond the usual distance.\n",
        *detection(records),
        "## Imputed missing cells: root mean squared error\n",
        *imputation(records),
        "## No gap in the spectrum: mean squared error of the fit of good cells\n",
        "n=100, d=200, k=6; medians over the seeds that MacroPCA ran on.\n",
        *correlated(records),
        "## Angles\n",
        *angles(judged(records, {**CELLS, **SMALL_CELLS})),
    ]
    text = "\n".join(lines)
    write_atomically(path, text)
    return text.partition("## Cells and rows found")[0]
