"""Model files: bitwise round trips, and what damaged and hostile files get."""

import io
import json
import os
import pickle
import stat
import subprocess
import sys
import typing
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

import tl1pca
from support import CENTERED, COMPOSED, ESTIMATORS, gaussian, name, with_components
from tl1pca._archive import digest
from tl1pca.diagnostics import Cutoffs
from tl1pca.estimators._fitted import Fitted, fitted_attributes
from tl1pca.solvers import FixedPoint, PaperAscent, SphereAscent, StiefelAscent

every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
X = gaussian(40, 5)


def same(a, b):
    """Equal to the last bit, types and memory layout included."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.flags.c_contiguous) == (b.dtype, b.shape, b.flags.c_contiguous)
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, np.random.RandomState):
        for x, y in zip(a.get_state(), b.get_state()):
            same(x, y)
    elif isinstance(a, BaseEstimator | Cutoffs):
        assert vars(a).keys() == vars(b).keys()
        for key, value in vars(a).items():
            same(value, vars(b)[key])
    else:
        assert repr(a) == repr(b)  # tells 0.0 from -0.0, and nan from nothing


def there_and_back(estimator, tmp_path):
    tl1pca.save(estimator, tmp_path / "model.npz")
    return tl1pca.load(tmp_path / "model.npz")


@pytest.fixture
def saved(tmp_path):
    """A model file and what is in it."""
    path = tmp_path / "model.npz"
    tl1pca.save(tl1pca.TL1SubspacePCA(2, random_state=0).fit(X), path)
    return path


# ---------------------------------------------------------------- round trips
@every
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_estimator_comes_back_bitwise(estimator, dtype, tmp_path):
    data = X.astype(dtype)
    for k in (2, 0.9, None):
        pca = with_components(estimator, k).fit(data)
        back = there_and_back(pca, tmp_path)
        same(pca, back)
        same(pca.transform(data), back.transform(data))
        same(pca.score_samples(data), back.score_samples(data))
        back.components_[0, 0] = 2.0  # an array of its own that may be written to


@every
def test_other_ways_to_keep_a_model(estimator, tmp_path):
    pca = with_components(estimator, 2).fit(X)
    same(pca, pickle.loads(pickle.dumps(pca)))
    joblib.dump(pca, tmp_path / "model.joblib")
    same(pca, joblib.load(tmp_path / "model.joblib"))
    same(clone(there_and_back(pca, tmp_path)), clone(pca))


# About a point far from the rows all signs are alike, and joint l1 methods say what that leaves open.
@pytest.mark.filterwarnings("ignore:.*directions open:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", CENTERED, ids=name)
@pytest.mark.parametrize(
    "center",
    [
        None,
        "mean",
        np.arange(5.0),
        np.arange(5, dtype=np.float32),
        np.arange(5, dtype=">i4"),
        [0.5, 1.0, -0.0, 3.0, 0.1],
        (0, 1, 2, 3, 4),
        [np.float32(0.1), 1, 2.5, 3, 4],
    ],
    ids=repr,
)
def test_centers(estimator, center, tmp_path):
    pca = with_components(estimator, 2).set_params(center=center).fit(X)
    same(pca, there_and_back(pca, tmp_path))


@pytest.mark.parametrize(
    "estimator",
    [
        tl1pca.DispersionPCA(2, operator=tl1pca.TL1(a=0.1 + 0.2)),
        tl1pca.DispersionPCA(2, operator=tl1pca.Lp(p=0.5), extraction="joint"),
        tl1pca.DispersionPCA(2, operator=tl1pca.Huber(c=1.0), solver=FixedPoint(step_tol=1e-3)),
        tl1pca.DispersionPCA(2, operator=tl1pca.Cauchy(c=np.float32(2))),
        tl1pca.DispersionPCA(2, operator=tl1pca.TL1(1), extraction="joint", solver=StiefelAscent(tol=1e-6)),
        tl1pca.TL1PCA(2, solver=SphereAscent(warm=PaperAscent(max_iter=7))),
        tl1pca.TL1PCA(2, solver="paper", random_state=3),
        tl1pca.TL1PCA(np.int64(2), a=np.float64(1.5)),
        tl1pca.ResidualPCA(2, operator=tl1pca.TL1()),
        tl1pca.GeneralizedLpPCA(2, p=np.inf, s=1),
        tl1pca.GeneralizedLpPCA(2, p=float("inf")),
        tl1pca.SparseLpPCA(2, n_nonzero=2),
        tl1pca.L1ReconstructionPCA(2, solver="lp"),
        tl1pca.TL1SubspacePCA(2, reweight=np.False_, random_state=None),
        tl1pca.TL1SubspacePCA(2, random_state=np.int32(5), breakdown=0.3),
    ],
    ids=name,
)
def test_options(estimator, tmp_path):
    pca = clone(estimator).fit(X)
    same(pca, there_and_back(pca, tmp_path))


def test_a_random_state_goes_on_where_it_was(tmp_path):
    state = np.random.RandomState(4)
    state.normal()  # one more number is waiting in it
    pca = tl1pca.TL1SubspacePCA(2, random_state=state).fit(X)
    back = there_and_back(pca, tmp_path)
    same(pca, back)
    assert state.normal() == back.random_state.normal()
    other = np.random.RandomState(np.random.PCG64(0))
    with pytest.raises(ValueError, match="MT19937"):
        tl1pca.save(pca.set_params(random_state=other), tmp_path / "other.npz")


def test_names_and_output(tmp_path):
    columns = ["plain", "Größe, m²", "", "a\x00b", "z"]
    frame = pd.DataFrame(X, columns=columns)
    pca = tl1pca.TL1PCA(2).set_output(transform="pandas").fit(frame)
    back = there_and_back(pca, tmp_path)
    same(pca.feature_names_in_, back.feature_names_in_)
    pd.testing.assert_frame_equal(back.transform(frame), pca.transform(frame), check_exact=True)
    pca.feature_names_in_[0] = "\ud800"  # half a character, which no encoding has but Python may
    same(pca.feature_names_in_, there_and_back(pca, tmp_path).feature_names_in_)


def test_missing_values_and_wide_data(tmp_path):
    holes = X.copy()
    holes[3, 2] = np.nan
    pca = tl1pca.L1ReconstructionPCA(2).fit(holes)
    same(pca.transform(holes), there_and_back(pca, tmp_path).transform(holes))
    wide = gaussian(6, 50)
    pca = tl1pca.TL1PCA(2).fit(wide)
    same(pca, there_and_back(pca, tmp_path))


def test_the_same_model_gives_the_same_bytes(saved, tmp_path):
    again = tmp_path / "again.npz"
    tl1pca.save(tl1pca.load(saved), again)
    assert again.read_bytes() == saved.read_bytes()


def test_numpy_reads_the_arrays(saved):
    with np.load(saved, allow_pickle=False) as archive:
        header = json.loads(archive["header.json"])
        index = header["model"]["fitted"]["components_"]["array"]
        same(archive[str(index)], tl1pca.load(saved).components_)
    assert header["version"] == 2
    assert header["model"]["estimator"] == "TL1SubspacePCA"


# ---------------------------------------------------------------- what is not saved
class Own(tl1pca.Lp):
    """An operator that only this file knows."""


def test_what_cannot_be_saved_is_named(tmp_path):
    path = tmp_path / "model.npz"
    with pytest.raises(NotFittedError):
        tl1pca.save(tl1pca.TL1PCA(), path)
    with pytest.raises(ValueError, match=r"sklearn.*PCA.*joblib"):
        tl1pca.save(PCA(2).fit(X), path)
    with pytest.raises(ValueError, match=r"operator is a .*Own"):
        tl1pca.save(tl1pca.DispersionPCA(2, operator=Own()).fit(X), path)
    with pytest.raises(ValueError, match=r"center is a pandas.*Series"):
        tl1pca.save(tl1pca.TL1PCA(2, center=pd.Series(range(5))).fit(X), path)
    pca = tl1pca.TL1PCA(2).fit(X)
    pca.note_ = "mine"
    with pytest.raises(ValueError, match="'note_'"):
        tl1pca.save(pca, path)
    pca = tl1pca.TL1PCA(2).fit(X)
    pca.components_[0, 0] = np.nan
    with pytest.raises(ValueError, match="components_ holds numbers that are not finite"):
        tl1pca.save(pca, path)
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- damage
def refused(path, message="", **options):
    with pytest.raises(ValueError, match=message) as caught:
        tl1pca.load(path, **options)
    text = str(caught.value)
    assert str(path) in text
    assert text.endswith(".")
    return text


def test_every_cut_is_noticed(saved):
    whole = saved.read_bytes()
    for size in {0, 1, 3, 4, 21, 63, 64, 65, *range(0, len(whole), 97), len(whole) - 1}:
        saved.write_bytes(whole[:size])
        refused(saved, "no model file|checksum")
    saved.write_bytes(whole + b"\0")
    refused(saved, "checksum")


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_other_archives_are_no_model_files(saved, write):
    with saved.open("wb") as file:
        write(file, X=np.eye(3))
    refused(saved, "it is no model file")


def test_every_flipped_bit_is_noticed(saved):
    whole = saved.read_bytes()
    for position in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        saved.write_bytes(damaged)
        refused(saved, "no model file|checksum")


def test_size_is_checked_before_reading(saved):
    refused(saved, "max_bytes", max_bytes=1000)
    with saved.open("r+b") as file:
        file.truncate(1 << 40)  # a sparse file of a terabyte
    refused(saved, "max_bytes")


def test_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        tl1pca.load(tmp_path / "none.npz")
    refused(tmp_path, "no plain file")
    refused("/dev/zero", "no plain file")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "no plain file")


# ---------------------------------------------------------------- hostile files
class Bomb:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return (Path.touch, (Path(self.trace),))


def npy(array, **options):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **options)
    return buffer.getvalue()


def forge(path, change=None, members=None, compression=zipfile.ZIP_STORED):
    """Write a model file again with other content and a right checksum, as an attacker would."""
    with zipfile.ZipFile(path) as archive:
        content = {entry: archive.read(entry) for entry in archive.namelist()}
    header = json.loads(content["header.json"])
    if change is not None:
        header = change(header, content) or header
    content["header.json"] = json.dumps(header).encode()
    content.update(members or {})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for entry, data in content.items():
            archive.writestr(zipfile.ZipInfo(entry), data, compress_type=compression)
        archive.comment = b"0" * 64
    body = buffer.getvalue()[:-64]
    path.write_bytes(body + digest(body))


def test_forging_itself_works(saved):
    before = tl1pca.load(saved)
    forge(saved)
    same(tl1pca.load(saved), before)


def replaced(attribute, array, **options):
    """Change the array of a fitted attribute."""

    def change(header, content):
        content[f"{header['model']['fitted'][attribute]['array']}.npy"] = npy(array, **options)

    return change


def settled(*keys, value):
    """Change an entry of the header."""

    def change(header, content):
        place = header if keys[0] in header else header["model"]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


def deep(header, content):
    nested = []
    for _ in range(900):
        nested = [nested]
    header["model"]["parameters"]["breakdown"] = nested


def declared(shape, dtype="<f8"):
    """An array whose header promises more than there is."""

    def change(header, content):
        text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        content[f"{header['model']['fitted']['components_']['array']}.npy"] = (
            b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(80)
        )

    return change


HOSTILE = {
    "unknown class": (settled("estimator", value="os.system"), "no class"),
    "other class of ours": (settled("estimator", value="Lp"), "no class"),
    "class that is no text": (settled("estimator", value=["TL1PCA"]), "no class"),
    "unknown parameter": (settled("parameters", "__class__", value=1), "no parameters"),
    "unknown object": (
        settled("parameters", "breakdown", value={"object": "Popen", "parameters": {}}),
        "no class",
    ),
    "estimator as a number": (
        settled("parameters", "breakdown", value={"object": "TL1PCA", "parameters": {}}),
        "breakdown",
    ),
    "unknown kind": (settled("parameters", "breakdown", value={"pickle": "gAU="}), "'pickle'"),
    "unknown attribute": (settled("fitted", "transform", value=1), "'transform'"),
    "dunder attribute": (settled("fitted", "__class__", value=1), "'__class__'"),
    "missing attribute": (lambda h, c: h["model"]["fitted"].pop("mean_") and None, "missing"),
    "newer version": (settled("version", value=3), "version 3"),
    "no version": (settled("version", value=None), "version None"),
    "other format": (settled("format", value="x"), "no model file"),
    "header is a list": (lambda h, c: [1, 2], "makes no sense"),
    "deep header": (deep, "makes no sense"),
    "nan components": (replaced("components_", np.full((2, 5), np.nan)), "not finite"),
    "infinite mean": (replaced("mean_", np.full(5, np.inf)), "not finite"),
    "wrong shape": (replaced("components_", np.ones((2, 4))), "do not agree"),
    "wrong count": (settled("fitted", "n_components_", value=3), "do not agree"),
    "count that is no number": (settled("fitted", "n_components_", value="2"), "n_components_"),
    "count beyond all memory": (settled("fitted", "n_features_in_", value=2**62), "do not agree"),
    "no components": (replaced("components_", np.ones((0, 5))), "do not agree"),
    "integers for floats": (replaced("components_", np.ones((2, 5), dtype=int)), "right kind"),
    "complex": (replaced("mean_", np.ones(5, dtype=complex)), "plain numbers"),
    "dates": (replaced("mean_", np.zeros(5, dtype="M8[s]")), "plain numbers"),
    "records": (replaced("mean_", np.zeros(5, dtype=[("a", "f8")])), "plain numbers"),
    "objects": (replaced("mean_", np.array([None] * 5), allow_pickle=True), "plain numbers"),
    "huge shape": (declared((2**40, 2**20)), "shape"),
    "shape beyond 64 bits": (declared((2**63, 2**63)), "shape"),
    "negative shape": (declared((-1, -10)), "shape|makes no sense"),
    "shape that is a call": (declared("(__import__('os').getpid(), 5)"), "makes no sense"),
    "many dimensions": (declared((1,) * 40 + (10,)), "right kind|makes no sense"),
    "bare NaN": (settled("fitted", "objective_", value=float("nan")), "NaN"),
    "infinite objective": (settled("fitted", "objective_", value={"float": "inf"}), "finite"),
    "cut-offs that are none": (settled("fitted", "cutoffs_", value={"cutoffs": ["a", 1, 2]}), "cut-off"),
    "cut-offs that are a number": (settled("fitted", "cutoffs_", value=1.0), "cutoffs_"),
    "path that is a number": (settled("fitted", "objective_path_", value=1.0), "makes no sense"),
    "names that are not": (settled("fitted", "feature_names_in_", value=[0, 0]), "wrong kind|twice"),
    "array that is not there": (settled("fitted", "mean_", value={"array": 99}), "does not have"),
    "array before the first": (settled("fitted", "mean_", value={"array": -1}), "does not have"),
    "array of no number": (settled("fitted", "mean_", value={"array": True}), "does not have"),
    "array twice": (lambda h, c: h["model"]["fitted"].update(mean_=h["model"]["fitted"]["scale_"]), "mean_"),
    "array for nothing": (lambda h, c: c.update({f"{len(c) - 1}.npy": npy(np.ones(3))}) and None, "nothing"),
    "number of many digits": (settled("parameters", "n_directions", value=10**30), "64 bits"),
    "components of length two": (replaced("components_", 2.0 * np.eye(2, 5)), "orthonormal"),
    "components that are not orthogonal": (replaced("components_", np.eye(2, 5)[[0, 0]]), "orthonormal"),
    "components near the largest number": (replaced("components_", np.full((2, 5), 1e308)), "orthonormal"),
    "negative variance": (replaced("explained_variance_", np.array([1.0, -1.0])), "no fit gives"),
    "shares beyond one": (replaced("explained_variance_ratio_", np.array([1.0, 2.0])), "no fit gives"),
    "negative weights": (replaced("weights_", np.full(40, -1.0)), "no fit gives"),
    "flags that are none": (replaced("flags_", np.full(40, 4)), "no fit gives"),
    "half precision": (replaced("mean_", np.ones(5, dtype=np.float16)), "right kind"),
    "negative rank": (settled("fitted", "rank_", value=-1), "no fit gives"),
    "negative scale": (settled("fitted", "scale_", value=-1.0), "no fit gives"),
    "boolean count": (settled("fitted", "rank_", value=True), "rank_"),
    "text for a flag": (settled("fitted", "converged_", value="yes"), "converged_"),
    "negative cut-off": (settled("fitted", "cutoffs_", value={"cutoffs": [-1.0, 1.0, 2.0]}), "cut-off"),
    "no cut-offs": (lambda h, c: h["model"]["fitted"].pop("cutoffs_") and None, "cutoffs_ are missing"),
    "attribute of another class": (settled("fitted", "a_", value=1.0), "'a_'"),
    "private attribute": (settled("fitted", "_unit", value=1.0), "'_unit'"),
    "unknown key": (lambda h, c: h.update(note=1), "other entries"),
    "unknown key of the model": (lambda h, c: h["model"].update(note=1), "other entries"),
    "missing key of the model": (lambda h, c: h["model"].pop("output") and None, "other entries"),
    "unknown output": (settled("output", value="csv"), "output"),
    "version of no text": (settled("tl1pca", value=[1]), "other entries"),
    "parameter out of range": (settled("parameters", "breakdown", value=2.0), "breakdown"),
    "parameter of another kind": (settled("parameters", "breakdown", value="2"), "breakdown"),
    "components that were not asked for": (settled("parameters", "n_components", value=-3), "n_components"),
    "random state of text": (settled("parameters", "random_state", value="x"), "makes no sense|seed"),
    "scalar of no kind": (
        settled("parameters", "breakdown", value={"scalar": ["O", 1]}),
        "no model file has",
    ),
    "random state that is none": (
        settled("parameters", "random_state", value={"random_state": [0, 0, 0, 0.0]}),
        "random state|wrong kind|twice",
    ),
}


@pytest.mark.parametrize(("change", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_headers_and_arrays(saved, change, message):
    forge(saved, change)
    refused(saved, message)


def test_pickles_are_never_loaded(saved, tmp_path):
    trace = tmp_path / "trace"
    payload = pickle.dumps(Bomb(trace))
    saved.write_bytes(payload)
    refused(saved, "pickles are not read")
    joblib.dump(Bomb(trace), saved)
    refused(saved, "pickles are not read")
    tl1pca.save(tl1pca.TL1PCA(2).fit(X), saved)
    forge(saved, replaced("mean_", np.array([Bomb(trace)] * 5, dtype=object), allow_pickle=True))
    refused(saved, "plain numbers")
    np.savez(saved, model=np.array(Bomb(trace), dtype=object))
    refused(saved, "it is no model file")
    assert not trace.exists()
    pickle.loads(payload)
    assert trace.exists()  # it would have gone off


@pytest.mark.parametrize("member", ["../../evil", "/etc/evil", "C:\\evil", "x.npy", "header.json/0.npy"])
def test_names_in_the_archive_are_never_paths(saved, member, tmp_path):
    forge(saved, members={member: b"evil"})
    refused(saved, "members")
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_twice(saved):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("header.json", b"{}")
        archive.writestr("header.json", b"[]")
        archive.comment = b"0" * 64
    body = buffer.getvalue()[:-64]
    saved.write_bytes(body + digest(body))
    refused(saved, "members")


PROBE = """
import resource, sys, tracemalloc
import numpy, tl1pca, tl1pca.persistence
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), used + (200 << 20)))
tl1pca.load(sys.argv[1])  # what is imported late is not the file's doing
for line in sys.stdin:
    tracemalloc.start()
    try:
        tl1pca.load(line.rstrip())
    except ValueError as error:
        assert "MemoryError" not in str(error), error
        print(tracemalloc.get_traced_memory()[1], flush=True)
    else:
        sys.exit("was loaded")
    tracemalloc.stop()
"""


@pytest.fixture(scope="module")
def peak(tmp_path_factory):
    """Bytes a process of little memory needs to refuse a file; the same process for all files."""
    good = tmp_path_factory.mktemp("good") / "good.npz"
    tl1pca.save(tl1pca.TL1PCA(2).fit(X), good)
    command, pipe = [sys.executable, "-c", PROBE, str(good)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:

        def ask(path):
            print(path, file=process.stdin, flush=True)
            answer = process.stdout.readline()
            assert answer, process.communicate()[1]
            return int(answer)

        yield ask
        process.stdin.close()


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space through Linux's interface")
def test_nothing_large_is_allocated(saved, peak):
    size = saved.stat().st_size
    forge(saved, declared((2**40, 2**20)))
    assert peak(saved) < 20 * size + (1 << 20)
    tl1pca.save(tl1pca.TL1PCA(2).fit(X), saved)
    forge(saved, members={"0.npy": npy(np.zeros(1 << 28, dtype=np.uint8))}, compression=zipfile.ZIP_DEFLATED)
    assert saved.stat().st_size < 1 << 20  # a bomb of 256 MiB
    assert peak(saved) < 4 << 20
    refused(saved, "compressed")
    # Many entries of the archive that all point to the same bytes.
    tl1pca.save(tl1pca.TL1PCA(2).fit(X), saved)
    overlap(saved, np.zeros(1 << 20, dtype=np.uint8), 400)
    assert peak(saved) < 16 << 20
    refused(saved, "more content than it has bytes")
    # A header that is small on disk and large as objects.
    tl1pca.save(tl1pca.TL1PCA(2).fit(X), saved)
    forge(saved, settled("parameters", "a", value=[[]] * (1 << 20)))
    refused(saved, "header has")
    assert peak(saved) < 4 * saved.stat().st_size


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space through Linux's interface")
@pytest.mark.parametrize("kind", ["floats", "array", "random_state"])
def test_one_array_is_not_expanded_again_and_again(saved, peak, kind):
    """A thousand references to one array of a megabyte, in every place that takes a reference."""

    def change(header, content):
        index = len(content) - 1
        array = np.zeros(624, dtype=np.uint32) if kind == "random_state" else np.zeros(100_000)
        content[f"{index}.npy"] = npy(array)
        reference = {kind: [index, 0, 0, 0.0] if kind == "random_state" else index}
        part = {"object": "SphereAscent", "parameters": {"warm": reference, "tol": reference}}
        for _ in range(6):
            part = {"object": "SphereAscent", "parameters": dict.fromkeys(("warm", "tol", "max_iter"), part)}
        header["model"]["parameters"] = {"breakdown": part}

    forge(saved, change)
    refused(saved, "twice")
    assert peak(saved) < 8 * saved.stat().st_size + (8 << 20)


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space through Linux's interface")
@pytest.mark.parametrize("count", [5_000, 70_000])  # beyond 65,535 the directory has another form
def test_a_directory_of_many_entries_is_refused_unread(saved, peak, count):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("header.json"), b"{}")
        for i in range(count):
            archive.writestr(zipfile.ZipInfo(f"{i}.npy"), b"")
        archive.comment = b"0" * 64
    body = buffer.getvalue()[:-64]
    saved.write_bytes(body + digest(body))
    refused(saved, "members|not that of a model file")
    assert peak(saved) < 2 * saved.stat().st_size + (1 << 20)


def test_a_directory_that_understates_itself_is_refused(saved):
    """The closing record says few entries, the directory before it is long."""
    body = bytearray(saved.read_bytes()[:-64])
    end = len(body) - 22
    entries = int.from_bytes(body[end + 8 : end + 10], "little")
    for field in (8, 10):
        body[end + field : end + field + 2] = (entries // 2).to_bytes(2, "little")
    saved.write_bytes(bytes(body) + digest(body))
    refused(saved, "not that of a model file|members")


def overlap(path, array, count):
    """An archive whose directory lists the same array many times."""
    with zipfile.ZipFile(path) as archive:
        header = archive.read("header.json")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("header.json"), header)
        archive.writestr(zipfile.ZipInfo("0.npy"), npy(array))
        first = archive.getinfo("0.npy")
        for i in range(1, count):
            twin = zipfile.ZipInfo(f"{i}.npy")
            for part in ("CRC", "compress_size", "file_size", "header_offset", "flag_bits", "compress_type"):
                setattr(twin, part, getattr(first, part))
            archive.filelist.append(twin)
        archive.comment = b"0" * 64
    body = buffer.getvalue()[:-64]
    path.write_bytes(body + digest(body))


def test_a_header_says_nothing_twice(saved):
    with zipfile.ZipFile(saved) as archive:
        text = archive.read("header.json").decode()
    forge(saved, members={"header.json": text.replace('"version": 2', '"version": 1, "version": 2').encode()})
    refused(saved, "twice")


def test_a_pipe_swapped_in_does_not_block(tmp_path):
    """What is opened is what is looked at: the name may stand for something else a moment later."""
    os.mkfifo(tmp_path / "pipe")
    for target in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        link = tmp_path / "model.npz"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        refused(link, "no plain file")


# ---------------------------------------------------------------- declarations
@every
def test_what_a_fit_leaves_is_what_its_class_declares(estimator):
    pca = with_components(estimator, 2).fit(X)
    left = vars(pca).keys() - pca.get_params(deep=False).keys()
    assert left == fitted_attributes(type(pca)).keys()
    documented = type(pca).__doc__.partition("Attributes")[2]
    assert all(attribute in documented for attribute in left)


class Wider(tl1pca.L1PCA):
    """A subclass with one more attribute."""

    _fitted: typing.ClassVar = {"extra_": Fitted(int, "kk", least=0)}


def test_a_class_inherits_declarations():
    assert fitted_attributes(Wider) == fitted_attributes(tl1pca.L1PCA) | Wider._fitted


# ---------------------------------------------------------------- putting files in place
def test_permissions_and_links_are_kept(tmp_path):
    pca = tl1pca.TL1PCA(2).fit(X)
    path, link = tmp_path / "model.npz", tmp_path / "link.npz"
    tl1pca.save(pca, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()
    path.chmod(0o600)
    link.symlink_to(path)
    before = path.stat().st_ino
    tl1pca.save(pca, link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_ino != before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.npz", "model.npz"]


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_errors_name_the_path_and_leave_nothing(tmp_path):
    pca = tl1pca.TL1PCA(2).fit(X)
    with pytest.raises(FileNotFoundError, match=r"no/model.npz.*could not be written"):
        tl1pca.save(pca, tmp_path / "no" / "model.npz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=r"folder.*could not be written"):
        tl1pca.save(pca, tmp_path / "folder")
    with pytest.raises(OSError, match=r"full.*no plain file"):
        tl1pca.save(pca, "/dev/full")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_arrays_of_other_libraries_become_numpy(tmp_path):
    torch = pytest.importorskip("torch")
    pca = tl1pca.TL1SubspacePCA(2, random_state=0).fit(X)
    numpy = there_and_back(pca, tmp_path)
    for attribute in ("components_", "mean_", "weights_"):  # as after a fit of a tensor
        setattr(pca, attribute, torch.asarray(getattr(pca, attribute)))
    same(there_and_back(pca, tmp_path), numpy)


def test_random_forgeries_end_in_a_value_error(saved):
    """Bytes changed anywhere, with a right checksum: a model that can be used, or a refusal."""
    body, rng = saved.read_bytes()[:-64], np.random.default_rng(0)
    outcomes = {True: 0, False: 0}
    for _ in range(600):
        forged = bytearray(body)
        for position in rng.integers(0, len(body), size=rng.integers(1, 4)):
            forged[position] = rng.integers(256)
        saved.write_bytes(bytes(forged) + digest(forged))
        try:
            pca = tl1pca.load(saved)
        except ValueError as error:
            outcomes[False] += str(saved) in str(error)
        else:
            outcomes[True] += bool(np.isfinite(pca.transform(X)).all())
    assert sum(outcomes.values()) == 600
    assert min(outcomes.values()) > 10


# ---------------------------------------------------------------- what is composed
ALL = pytest.mark.parametrize("estimator", [*ESTIMATORS, *COMPOSED], ids=name)


@pytest.mark.parametrize("estimator", COMPOSED, ids=name)
def test_what_is_composed_comes_back_whole(estimator, tmp_path):
    y = np.arange(len(X)) % 3
    model = clone(estimator).fit(X, y)
    back = there_and_back(model, tmp_path)
    same(back, model)
    same(back.transform(X), model.transform(X))


#: What somebody may put in the place of a value of the header.
EVIL = [None, True, -1, 0, 2**63, 1e308, 5e-324, "", [], {}, [1], {"array": 0}, {"floats": 0}, {"array": -1}]
EVIL += [{"tuple": []}, {"array": 10**6}, {"array": "0"}, "TL1PCA", [[[]]], 0.5]
#: And in the place of an array.
OTHER_ARRAYS = [
    lambda a: a * 1e200,
    lambda a: -a,
    lambda a: a[:0],
    lambda a: np.concatenate([a, a]),
    lambda a: a.astype(np.float16),
    np.zeros_like,
]


def _places(entry, way=()):
    inside = entry.items() if isinstance(entry, dict) else enumerate(entry) if isinstance(entry, list) else ()
    for key, value in inside:
        yield (*way, key)
        yield from _places(value, (*way, key))


def another_content(rng):
    """Change one value or one array, at random."""

    def change(header, content):
        arrays = sorted(entry for entry in content if entry.endswith(".npy"))
        if rng.random() < 0.4:
            entry = arrays[rng.integers(len(arrays))]
            before = np.lib.format.read_array(io.BytesIO(content[entry]))
            content[entry] = npy(OTHER_ARRAYS[rng.integers(len(OTHER_ARRAYS))](np.atleast_1d(before)))
            return
        ways = list(_places(header))
        *way, last = ways[rng.integers(len(ways))]
        place = header
        for key in way:
            place = place[key]
        if rng.random() < 0.2:
            del place[last]
        else:
            place[last] = EVIL[rng.integers(len(EVIL))]

    return change


@ALL
@pytest.mark.filterwarnings("ignore")
def test_other_content_is_refused_or_answers_with_numbers(estimator, tmp_path):
    """A right checksum, and one thing in the file that no fit has written."""
    y, path = np.arange(len(X)) % 3, tmp_path / "model.npz"
    model = clone(estimator).fit(X, y)
    tl1pca.save(model, path)
    rng, good = np.random.default_rng(len(name(estimator))), path.read_bytes()
    for _ in range(25):
        path.write_bytes(good)
        forge(path, another_content(rng))
        try:
            found = tl1pca.load(path)
        except ValueError:
            continue
        for method in ("transform", "predict", "score_samples", "distances", "decision_function", "flags"):
            if not hasattr(found, method):
                continue
            try:
                answer = getattr(found, method)(X)
            except ValueError:
                continue
            for part in answer if isinstance(answer, tuple) else (answer,):
                assert part.dtype.kind not in "fc" or np.isfinite(part).all()


def test_axes_of_images_are_directions(tmp_path):
    images, path = X.reshape(-1, 5, 1).repeat(3, axis=2), tmp_path / "model.npz"
    for factor, kind in ((1e200, float), (2.0, float), (1.0, np.float16)):
        tl1pca.save(tl1pca.ImagePCA(tl1pca.TL1PCA(1)).fit(images), path)

        def change(header, content, factor=factor, kind=kind):
            (index,) = header["model"]["fitted"]["axes_"]
            axes = np.lib.format.read_array(io.BytesIO(content[f"{index}.npy"]))
            content[f"{index}.npy"] = npy((axes * factor).astype(kind))

        forge(path, change)
        refused(path, "orthonormal|finite numbers")
