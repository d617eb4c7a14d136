"""Whether limits for new rows hold their level: ``python benchmarks/limits.py [--quick]``.

Training data with 20 % bad rows (three components over noise 1; a cluster, a line, scattered rows in
turns); then 1000 new clean rows, of which 1 % may exceed each 99 % limit. Beside it, on the same draws and
where their environment can be made, chemotools and pca. And a new row with one faulty sensor, five
deviations off: is it named first, and how often would it be by who knows the true model? Writes
results/limits.md.
"""

import argparse
import itertools
import json
import subprocess
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

import peers
from tl1pca import TL1SubspacePCA
from tl1pca._files import write_atomically
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import contributions, distances, limits, orthogonal_limit

COLUMNS = (10, 50, 200)
ROWS = (50, 100, 500)
KINDS = ("cluster", "line", "scattered")
K, LEVEL, N_NEW, DEVIATIONS = 3, 0.99, 1000, 5.0
#: No draw of the study was looked at while the limits were made.
FIRST_SEED = 90000


@dataclass(frozen=True)
class Draw:
    X: np.ndarray
    new: np.ndarray
    spread: np.ndarray
    covariance: np.ndarray
    rng: np.random.Generator


def draw(n, d, seed, unequal=False):
    X, _, axes = make_contaminated(
        n, d, K, kind=KINDS[seed % 3], fraction=0.2, noise=0.0 if unequal else 1.0, random_state=seed
    )
    rng = np.random.default_rng((n, d, seed))
    spread = np.sqrt(rng.uniform(0.25, 1.75, size=d)) if unequal else np.ones(d)
    if unequal:
        X = X + spread * rng.normal(size=X.shape)
    signal = np.linspace(6.0, 3.0, K) * axes
    new = rng.normal(size=(N_NEW, K)) @ signal.T
    return Draw(
        X, new + spread * rng.normal(size=new.shape), spread, signal @ signal.T + np.diag(spread**2), rng
    )


def own(n, d, seed, unequal):
    sample = draw(n, d, seed, unequal)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return judged(sample)


def judged(sample):
    pca = TL1SubspacePCA(K, random_state=0).fit(sample.X)
    sd, od = distances(pca, sample.new)
    bounds, today = limits(pca, LEVEL), pca.cutoffs_
    return {
        "score": (sd > bounds.score).mean(),
        "orthogonal": (od > orthogonal_limit(sd, bounds)).mean(),
        "flags score": (sd > today.score).mean(),
        "flags orthogonal": (od > orthogonal_limit(sd, today)).mean(),
        **named_first(sample, pca),
    }


def named_first(sample, pca):
    """How often the one faulty sensor of twenty new rows comes first, by several rules."""
    d, rng, first = sample.X.shape[1], sample.rng, {}
    precision, classical = np.linalg.inv(sample.covariance), PCA(K).fit(sample.X)
    for unit, size in (("noise", sample.spread), ("column", np.sqrt(np.diag(sample.covariance)))):
        faulty, column = sample.new[:20].copy(), rng.integers(d, size=20)
        faulty[np.arange(20), column] += DEVIATIONS * size[column] * rng.choice([-1.0, 1.0], size=20)
        found, weighed = contributions(pca, faulty), np.abs(faulty @ precision)
        shift, inner = DEVIATIONS * size, np.diag(precision)
        parts = {
            "cell": np.abs(found.cell),
            # Likelihood ratios of the true model: of the best size of a fault, and of its true size.
            "model": weighed / np.sqrt(inner),
            "model and size": shift * weighed - 0.5 * shift**2 * inner,
            "parts": found.orthogonal,
            "classical": contributions(classical, faulty).orthogonal,
        }
        first |= {f"{unit} {name}": (np.argmax(p, axis=1) == column).mean() for name, p in parts.items()}
    return first


def ask_peers(python, samples):
    with tempfile.TemporaryDirectory() as folder:
        for name, (X, new) in samples.items():
            np.savez(Path(folder) / f"{name}.npz", X=X, new=new[:200], k=K)
        worker = str(Path(peers.__file__).with_name("monitoring.py"))
        subprocess.run([str(python), worker, folder], check=True, env=peers.ONE_THREAD, capture_output=True)
        return [json.loads((Path(folder) / f"{name}.json").read_text()) for name in samples]


def percent(values):
    values = 100 * np.asarray(values, dtype=float)
    return f"{values.mean():.2f} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def study(sizes, draws, python, n_peer, jobs, unequal=False):
    for n, d in sizes:
        seeds = range(FIRST_SEED, FIRST_SEED + draws)
        found = Parallel(jobs)(delayed(own)(n, d, seed, unequal) for seed in seeds)
        samples = {f"s{s}": (x.X, x.new) for s in seeds[:n_peer] for x in [draw(n, d, s, unequal)]}
        answers = ask_peers(python, samples) if python and samples else []
        row = {key: [record[key] for record in found] for key in found[0]}
        for name, kind in itertools.product(("chemotools", "pca"), ("score", "orthogonal")):
            row[f"{name} {kind}"] = [answer[name][kind] for answer in answers]
        print(n, d, percent(row["score"]), percent(row["orthogonal"]), flush=True)
        yield n, d, row


def table(results, columns):
    yield "| n x d | " + " | ".join(columns) + " |"
    yield "|" + "---|" * (len(columns) + 1)
    for n, d, row in results:
        cells = [percent(row[key]) if len(row.get(key, ())) > 1 else "-" for key in columns.values()]
        yield f"| {n} x {d} | " + " | ".join(cells) + " |"
    yield ""


def markdown(equal, unequal, draws, draws_unequal, n_peer):
    yield "# Limits for new rows\n"
    yield (
        "New clean rows above the 99 % limits, in percent (1 is right) ± standard error; 20 % bad rows in"
        f" the training data, k={K}; {draws} draws for each size, peers on {n_peer} of them. `limits` are"
        " those of `tl1pca.diagnostics.limits`, `flags` the cut-offs behind `flags_`, which are made for"
        f" the training rows. Seeds from {FIRST_SEED} on, which were not looked at before.\n"
    )
    columns = {"limits, score": "score", "limits, orthogonal": "orthogonal"}
    more = {"flags, score": "flags score", "flags, orthogonal": "flags orthogonal"}
    pairs = itertools.product(("chemotools", "pca"), ("score", "orthogonal"))
    others = {f"{name}, {kind}": f"{name} {kind}" for name, kind in pairs}
    yield from table(equal, columns | more | others)
    yield f"Noise variances of the columns from 0.25 to 1.75, {draws_unequal} draws:\n"
    yield from table(unequal, columns | more)
    yield "# One faulty sensor\n"
    yield (
        f"A new row with one cell {DEVIATIONS:g} deviations off, of its noise or of its column; how often,"
        " in percent, it comes first: by the difference to its prediction from the other cells (`cell`); by"
        " the likelihood ratio for who knows the true covariance (`true model`) or even the size of the"
        " fault (`and size`), beyond which no rule can go; by the plain parts of the squared orthogonal"
        " distance; by those of classical PCA. Where `true model` is below 95, the rows themselves do not"
        f" tell more. Twenty rows of each of {draws} draws.\n"
    )
    labels = {
        "cell": "cell",
        "model": "true model",
        "model and size": "and size",
        "parts": "orthogonal parts",
        "classical": "orthogonal parts of PCA",
    }
    for unit, words in (("noise", "deviations of the noise"), ("column", "deviations of the column")):
        yield f"Five {words}:\n"
        rules = {label: f"{unit} {name}" for name, label in labels.items()}
        yield from table(equal, rules)
        yield f"The same, noise variances of the columns from 0.25 to 1.75, {draws_unequal} draws:\n"
        yield from table(unequal, rules)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="30 draws of two sizes")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "results")
    options = parser.parse_args()
    command = peers.command("monitoring")
    python = command[0] if command else None
    sizes = [(50, 10), (100, 50)] if options.quick else list(itertools.product(ROWS, COLUMNS))
    draws = 30 if options.quick else options.draws
    n_peer = 3 if options.quick else 20
    equal = list(study(sizes, draws, python, n_peer, options.jobs))
    unequal = list(study(sizes, max(draws // 5, 30), None, 0, options.jobs, unequal=True))
    name = "limits_quick.md" if options.quick else "limits.md"
    text = "\n".join(markdown(equal, unequal, draws, max(draws // 5, 30), n_peer))
    write_atomically(options.out / name, text + "\n")


if __name__ == "__main__":
    main()
