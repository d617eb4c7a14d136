"""Files made to do harm: a table or an error that says what is wrong, and nothing else."""

import subprocess
import sys
from pathlib import Path

import hypothesis
import pyarrow as pa
import pytest

from tl1pca.tables import TableError, read_table
from tl1pca.tables._table import parsing

hostile_files = pytest.importorskip("hostile_files", reason="the fuzzer is not part of this installation")
import isolation  # noqa: E402
from mutations import SEEDS, damaged  # noqa: E402

ARROW = int(pa.__version__.split(".")[0])
#: What each case comes to: a part of the error, or the shape of the table.
OUTCOMES = {
    "empty": "holds no rows",
    "only newlines": "holds no rows",
    "only commas": "has 1,000,001 columns",
    "NUL bytes": "line 2 holds a NUL",
    "only NUL bytes": "line 1 is longer than",
    "open quotation mark": "quotation mark",
    "quotation marks": "line 1 is longer than",
    "long field": "a field in line 2 is far too long",
    "huge exponents": (2, 2),
    "ragged": "line 3 has 3 fields",
    "same name": (1, 15_000),
    "names that clash": (2, 4),
    "escape sequences": (2, 1),
    "formulas": (2, 1),
    "Latin-1": (1, 2),
    "cut UTF-16": "begins like UTF-16 text",
    "lone surrogates": (1, 2),
    "random bytes": "NUL",
    "a picture": "NUL",
    "underscores": (2, 1),
    "cut gzip": "cannot be read as gzip file",
    "no gzip": "cannot be read as gzip file",
    "stream that ends early": "ends inside a variable",
    "twenty thousand columns": "a table of 1 x 20,000 takes 156.4 MiB",
    "place in entities": "written as no spreadsheet program does it",
    "place in lower case": "written as no spreadsheet program does it",
    "no workbook": "cannot be read as .xlsx",
    "cut workbook": "cannot be read as .xlsx",
    "late text": (1_000_001, 2),
    # Arrow reads these statistics since version 19.
    "histogram that does not fit": "cannot be read as Parquet file" if ARROW >= 19 else (12, 3),
    "pickled objects": "holds Python objects, which are never loaded",
    "pickle": "cannot be read as .npy",
    "endless shape": "has 1 dimension",
    "endless matrix": "has 2,147,483,648 columns",
    "shape beyond all integers": "over a million TiB",
    "negative shape": "is empty",
    "boolean shape": "cannot be read as .npy",
    "lying shape": "the file was cut off",
    "wide matrix": "has 2,000,000 columns",
    "nested header": "cannot be read as .npy",
    "long header": "declares a header of 1.0 MiB",
    "header that calls": "cannot be read as .npy",
    "structured type": "has the type void",
    "object type in a matrix": "Python objects",
    "thirty thousand parts": "far too many parts",
    "names with paths": (3, 3),
    "pickle in an archive": "Python objects",
    "same name twice": (3, 3),
    "no arrays": "The file has no arrays",
    "large array of the same name": "several arrays of the same name: 'X.npy'",
    "cut archive": "cannot be read as .npz",
    "understated rows": "contradicts itself",
    "overstated rows": "contradicts itself",
    "long footer": "cannot be read as Parquet",
    "negative footer": "cannot be read as Parquet",
    "same column twice": "several columns of the same name: 'x'",
    "nested columns": "no column of numbers. Set aside columns that are not numbers: 'a', 'b'",
    "no columns": "no column of numbers",
    "nested structures": "'deep': has the type struct",
    "only structures": "'t': has the type char",
    "endless dimensions": "has 2,147,483,647 columns",
    "negative dimensions": "is empty",
    "too much data": "do not fit 2 x 2",
    "unknown type of data": "do not fit 2 x 2",
    "version 7.3": "7.3 (HDF5) file, which is not read",
    "HDF5": "7.3 (HDF5) file, which is not read",
    "version 4, endless": "is not a MATLAB file of version 5 to 7",
    "sparse matrix": "has the type sparse",
}


def test_every_case_has_an_outcome():
    assert set(OUTCOMES) | set(hostile_files.LARGE) == set(hostile_files.HOSTILE)


@pytest.mark.parametrize("name", OUTCOMES)
def test_hostile_file(tmp_path, monkeypatch, name):
    ending, build = hostile_files.HOSTILE[name]
    path = tmp_path / f"x{ending}"
    path.write_bytes(build())
    monkeypatch.setenv(hostile_files.TRACE, str(tmp_path / "trace"))
    expected = OUTCOMES[name]
    if isinstance(expected, tuple):
        assert read_table(path, max_memory=64 << 20).values.shape == expected
    else:
        with pytest.raises(TableError) as caught:
            read_table(path, max_memory=64 << 20)
        assert expected in str(caught.value)
        assert str(caught.value).startswith(str(path))
        assert len(str(caught.value)) < 700 + len(str(path))
    assert not (tmp_path / "trace").exists()


def test_the_fuzzer_ends_a_loop_that_does_not():
    with pytest.raises(isolation.TooSlowError), isolation.timed(0.2), parsing("file"):
        sum(1 for _ in iter(int, 1))
    with isolation.timed(0.2):
        pass


@pytest.mark.parametrize("ending", SEEDS)
@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture], max_examples=60)
@hypothesis.given(data=hypothesis.strategies.data())
def test_damaged_files(tmp_path, ending, data):
    path = tmp_path / f"x{ending}"
    path.write_bytes(data.draw(damaged(ending)))
    try:
        with isolation.timed():
            table = read_table(path, max_memory=1 << 20)
    except TableError as error:
        assert len(str(error)) < 1000  # noqa: PT017
    else:
        assert table.values.shape[1] == len(table.columns) == len(set(table.columns))


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is metered through /proc")
def test_files_that_ask_for_memory_get_none():
    driver = Path(hostile_files.__file__).with_name("run.py")
    command = [sys.executable, str(driver), "--large", "--seconds", "0", "--seed", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(hostile_files.LARGE)} hostile files" in done.stdout
