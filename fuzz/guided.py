"""Coverage-guided fuzzing (atheris) of what reads foreign bytes or text; needs `pip install atheris`.

python fuzz/guided.py {load,names,.csv,.txt,.csv.gz,.xlsx,.npy,.npz,.parquet,.mat} --seconds 600

load    a model file, its members and its header changed, with a right checksum
names   names of columns and rows on the page of a report
.csv    a file of this kind, and so on for each ending that is read

The fuzzer sees which lines an input reaches, and keeps what reaches new ones.
An input that takes longer than --per-input seconds, or ends in anything but a
model, a table or their errors, is written to fuzz/failures/ and ends the run with code 1.
"""

import argparse
import functools
import gzip
import importlib
import io
import pkgutil
import re
import sys
import tempfile
import warnings
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import atheris
import numpy as np

with atheris.instrument_imports(include=["tl1pca"], enable_loader_override=False):
    import tl1pca
    from tl1pca import _archive, persistence, report, tables
    from tl1pca.report import render_report

    # Modules are loaded when they are needed, and only those loaded here are watched.
    for package in (persistence, report, tables):
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)

from mutations import SEEDS
from run import check
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

FAILURES = Path(__file__).parent / "failures"
X = np.random.default_rng(0).normal(size=(12, 4))


# ---------------------------------------------------------------- model files
def unchecked(content):
    """What an attacker starts from: the bytes before the checksum."""
    return content[: -_archive.DIGEST]


def seeds():
    models = [
        tl1pca.TL1SubspacePCA(2, random_state=np.random.RandomState(0)).fit(X),
        tl1pca.TL1PCA(2, center=[0.0, 1.0, 2.0, 3.0]).fit(X),
        make_pipeline(StandardScaler(), PowerTransformer(), tl1pca.L1PCA(1)).fit(X),
    ]
    return [unchecked(persistence._pack(model)) for model in models]


def load(data):
    """Bytes as they are, and, where they are still an archive, their header as text with right sizes."""
    _attempt(data + _archive.digest(data))


def _attempt(content):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = persistence._unpack(content)
            scores = model.transform(X[:, : model.n_features_in_]) if model.n_features_in_ <= 4 else None
    except ValueError:
        return
    if scores is not None and not hasattr(model, "steps"):
        assert np.isfinite(scores).all(), "a model that gives no numbers"


def mutate_model(data, most, seed):
    """Half of the time the header is changed and the archive closed again, so that changes get behind it."""
    mark = b"0" * _archive.DIGEST
    changed = mutate_archive(data + mark, most + len(mark), seed, comment=mark)
    return unchecked(changed) if changed.endswith(mark) else changed[:most]


def mutate_archive(data, most, seed, comment=b""):
    """The bytes of a zip, or those of one member, mostly the first, and the zip closed again."""
    if seed % 2:
        return atheris.Mutate(data, most)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {entry: archive.read(entry) for entry in archive.namelist()}
        names = list(members)
        name = names[0] if seed % 4 else names[seed // 4 % len(names)]
        members[name] = bytes(atheris.Mutate(members[name], max(len(members[name]) + 64, 128)))
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for entry, content in members.items():
                archive.writestr(zipfile.ZipInfo(entry), content)
            archive.comment = comment
        changed = buffer.getvalue()
        return changed if len(changed) <= most else data
    except Exception:
        return atheris.Mutate(data, most)


# ---------------------------------------------------------------- tables
def mutate_gzip(data, most, seed):
    try:
        return gzip.compress(atheris.Mutate(gzip.decompress(data), most), 1) if seed % 2 else data
    except (OSError, EOFError):
        return atheris.Mutate(data, most)


#: How to change what is inside a container; others are changed as they are.
MUTATORS = {
    "load": mutate_model,
    ".xlsx": mutate_archive,
    ".npz": mutate_archive,
    ".csv.gz": mutate_gzip,
}


def reading(path):
    """Read a file with these bytes as the command line does."""

    def read(data):
        path.write_bytes(data)
        check(path)

    return read


# ---------------------------------------------------------------- report
class Page(HTMLParser):
    """Elements and attributes of a page."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, tuple(name for name, _ in attributes)))


def tags(columns, labels):
    page, text = Page(), render_report(X, estimator=PCA, columns=columns, labels=labels, title=columns[0])
    # The library that draws is half a million characters, the same on every page, and no name gets into it.
    text, found = re.subn('id="library">[A-Za-z0-9+/=]*<', "><", text)
    assert found == 1
    page.feed(text)
    return page.tags


PCA = tl1pca.TL1SubspacePCA(2, random_state=0).fit(X)


def names(data):
    """Whatever names say, the page has the elements that it has with plain ones."""
    given = atheris.FuzzedDataProvider(data)
    columns = [given.ConsumeUnicode(40) for _ in range(4)]
    labels = [given.ConsumeUnicode(40) for _ in range(12)]
    try:
        found = tags(columns, labels)
    except ValueError:
        return
    assert set(found) <= plain_tags(), "a name became an element of the page"


@functools.cache
def plain_tags():
    return set(tags(list("abcd"), [f"r{i}" for i in range(12)]))


TEXTS = [
    b"<script>alert(1)</script>",
    b"</script><img src=x onerror=1>",
    b"{{7*7}}",
    b"]]>\x00\xff\xfe",
    b"'\"&`",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=["load", "names", *SEEDS])
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--per-input", type=int, default=10)
    options = parser.parse_args()
    FAILURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        if options.target == "load":
            first, attempt = seeds(), load
        elif options.target == "names":
            first, attempt = TEXTS, names
        else:
            first, attempt = SEEDS[options.target], reading(Path(folder) / f"file{options.target}")
        for i, seed in enumerate(first):
            (corpus / str(i)).write_bytes(seed)
        arguments = [
            sys.argv[0],
            f"-max_total_time={options.seconds}",
            f"-timeout={options.per_input}",
            "-rss_limit_mb=2048",
            "-max_len=20000",
            "-len_control=0",
            f"-artifact_prefix={FAILURES}/{options.target.strip('.')}-",
            "-print_final_stats=1",
            str(corpus),
        ]
        mutator = MUTATORS.get(options.target)
        atheris.Setup(arguments, attempt, **({"custom_mutator": mutator} if mutator else {}))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
