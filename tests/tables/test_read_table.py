"""One reader for all formats: the same numbers, names and labels, and errors that help."""

import io
import os
import sys

import hostile_files
import numpy as np
import pandas as pd
import pytest
import scipy.io

from tl1pca.tables import TableError, read_table

X = np.random.default_rng(0).normal(size=(7, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


def write(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture
def csv(tmp_path):
    """Read a text as a .csv file."""
    return lambda content, **options: read_table(write(tmp_path / "x.csv", content), **options)


def test_every_format_gives_the_same_numbers(tmp_path):
    FRAME.to_csv(tmp_path / "x.csv", index=False)
    FRAME.to_csv(tmp_path / "x.tsv", index=False, sep="\t")
    FRAME.to_parquet(tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "f.npy", np.asfortranarray(X))
    np.savez(tmp_path / "x.npz", X=X, y=X[:, 0])
    np.savez_compressed(tmp_path / "c.npz", X=X)
    scipy.io.savemat(tmp_path / "x.mat", {"X": X, "name": "text"})
    scipy.io.savemat(tmp_path / "c.mat", {"X": X}, do_compression=True)
    scipy.io.savemat(
        tmp_path / "cf.mat", {"f": lambda: 0, "X": np.asfortranarray(X), "c": np.array([1, "a"], object)}
    )
    for path in sorted(tmp_path.iterdir()):
        table = read_table(path)
        assert np.array_equal(table.values, X), path
        assert table.values.dtype == np.float64
        assert table.named == (path.suffix in (".csv", ".tsv", ".parquet"))
        assert table.columns == (("a", "b", "c") if table.named else ("column 1", "column 2", "column 3"))
        assert table.rows.tolist() == list(range(1, 8))
        assert table.labels is None
        assert table.missing() == {}


def test_endings_are_taken_in_any_case(tmp_path):
    assert read_table(write(tmp_path / "X.CSV", "a,b\n1,2\n")).columns == ("a", "b")


@pytest.mark.parametrize("name", [None, "day"])
@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2024-01-30", periods=7),
        pd.date_range("2024-01-30 06:00", periods=7, freq="h"),
        pd.date_range("2024-01-30", periods=7, tz="UTC"),
        pd.Index(pd.date_range("2024-01-30", periods=7).date),
        pd.Index([f"row {i}" for i in range(7)]),
    ],
    ids=["days", "hours", "zone", "dates", "text"],
)
def test_an_index_names_the_rows_in_parquet_as_in_text(tmp_path, index, name):
    frame = pd.DataFrame(X, index=index.rename(name), columns=list("abc"))
    frame.to_csv(tmp_path / "x.csv")
    frame.to_parquet(tmp_path / "x.parquet")
    text, found = (read_table(tmp_path / f"x.{ending}") for ending in ("csv", "parquet"))
    assert found.labels == text.labels
    assert (found.columns, found.set_aside) == (text.columns, ())
    frame.reset_index(names="when").to_parquet(tmp_path / "x.parquet", index=False)
    assert read_table(tmp_path / "x.parquet").labels == text.labels


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float32, bool, ">f8", ">i4"])
def test_numbers_of_any_type(tmp_path, dtype):
    values = np.array([[0, 1], [1, 0]]).astype(dtype)
    np.save(tmp_path / "x.npy", values)
    assert np.array_equal(read_table(tmp_path / "x.npy").values, values.astype(float))


def test_numbers_are_read_to_the_last_bit(csv):
    values = np.random.default_rng(1).normal(size=(500, 3)) * 10.0 ** np.arange(-200, 200, 134)
    text = pd.DataFrame(values, columns=list("abc")).to_csv(index=False)
    assert np.array_equal(csv(text).values, values)


def test_a_table_of_many_blocks(csv):
    values = np.random.default_rng(2).normal(size=(30_000, 5))
    text = pd.DataFrame(values, columns=list("abcde"), index=[f"r{i}" for i in range(30_000)]).to_csv()
    table = csv(text)
    assert np.array_equal(table.values, values)
    assert table.labels[-1] == "r29999"


def test_thousands_of_columns(csv):
    names = ",".join(f"v{i}" for i in range(5000))
    table = csv(names + "\n" + "\n".join([",".join(["1.5"] * 5000)] * 3))
    assert table.values.shape == (3, 5000)
    assert table.columns[-1] == "v4999"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(csv, delimiter):
    table = csv(f"a{delimiter}b\n1.5{delimiter}2\n3{delimiter}4\n")
    assert table.columns == ("a", "b")
    assert table.values.tolist() == [[1.5, 2], [3, 4]]


def test_decimal_comma(csv):
    text = "name;x;y\nr;1,5;2\ns;2,5;3\n"
    table = csv(text, decimal=".")
    assert table.columns == ("y",)
    assert "--decimal ," in " ".join(table.notes)
    assert csv(text, decimal=",").values.tolist() == [[1.5, 2], [2.5, 3]]


@pytest.mark.parametrize(
    ("content", "columns", "note"),
    [
        ("a,b\n1,2\n", ("a", "b"), None),
        ("1,2\n3,4\n", ("column 1", "column 2"), "first line was read as data"),
        ("x,1,2\ny,3,4\n", ("column 2", "column 3"), "first line was read as data"),
        ("a,a,\n1,2,3\n", ("a", "a (2)", "column 3"), "more than once"),
        ("a,a (2),a\n1,2,3\n", ("a", "a (2)", "a (3)"), "more than once"),
        (" a , b \n 1 , 2 \n", ("a", "b"), None),
        ('"a, b","c ""d"""\n1,"2"\n', ("a, b", 'c "d"'), None),
        ("a,b\r\n1,2\r\n", ("a", "b"), None),
        ("a,b\r1,2\r", ("a", "b"), None),
        ("\n\na,b\n\n1,2\n\n", ("a", "b"), None),
    ],
)
def test_names(csv, content, columns, note):
    table = csv(content)
    assert table.columns == columns
    assert (note or "") in " ".join(table.notes)
    assert bool(table.notes) == (note is not None or table.labels is not None)


def test_a_frame_of_pandas_without_names(csv):
    table = csv(pd.DataFrame(X).to_csv())
    assert table.columns == ("0", "1", "2")
    assert table.labels == tuple("0123456")
    assert np.array_equal(table.values, X)


def test_a_header_of_years_can_be_said_to_be_one(csv):
    text = "2019,2020\n1,2\n3,4\n"
    assert len(csv(text).values) == 3
    assert csv(text, header=True).columns == ("2019", "2020")
    assert csv("1,2\n3,4\n", header=False).notes == ()


@pytest.mark.parametrize(
    "names",
    [
        "2019,2020,2021,2022",
        "site,2022,2021,2020,2019",
        "sample," + ",".join(f"{1100 + 0.96 * j:.1f}" for j in range(12)),
        ",0.5,1.0,1.5,2.0,2.5,3.0,3.5,4.0,4.5,5.0",
    ],
)
def test_numbers_that_go_up_evenly_name_columns(csv, names):
    """Years and wavelengths were taken for the first row, and for the worst outlier."""
    n_labels = not names[0].isdigit()
    X = np.round(np.random.default_rng(1).normal(size=(20, names.count(",") + 1 - n_labels)), 3)
    rows = "".join(f"{f's{i},' * n_labels}{','.join(map(str, x))}\n" for i, x in enumerate(X.tolist()))
    table = csv(f"{names}\n{rows}")
    assert table.columns == tuple(names.split(",")[n_labels:])
    np.testing.assert_array_equal(table.values, X)
    assert any("read as names" in note and "--no-header" in note for note in table.notes)
    assert len(csv(f"{names}\n{rows}", header=False).values) == 21


@pytest.mark.parametrize(
    "text",
    [
        "1,2,3,4\n2,3,4,5\n9,1,7,2\n",  # another row does it as well
        "1.5,2.5,3.5,4.5\n2,1,4,1\n",  # no whole numbers, and few
        "2019,2020,2021\n2,1,4\n",  # fewer still
        "5,5,5,5\n2,1,4,1\n",
        "1,2,3,5\n2,1,4,1\n",
        ",".join(str(j * j) for j in range(1, 13)) + "\n" + ",".join("314159265358") + "\n",
    ],
)
def test_other_numbers_are_data(csv, text):
    assert len(csv(text).values) == text.count("\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(csv, encoding):
    table = csv("größe,b\n1,2\n".encode(encoding))
    assert table.columns == ("größe", "b")
    assert bool(table.notes) == (encoding == "latin-1")


@pytest.mark.parametrize(
    "content",
    ["name,a,b\nx,1,2\ny,3,4\n", ",a,b\nx,1,2\ny,3,4\n", "a,name,b\n1,x,2\n3,y,4\n"],
    ids=["first column is text", "first column has no name", "asked for"],
)
def test_labels(csv, tmp_path, content):
    wanted = "name" if content.startswith("a") else None
    table = csv(content, labels=wanted)
    assert table.labels == ("x", "y")
    assert table.columns == ("a", "b")
    pd.read_csv(io.StringIO(content)).to_parquet(tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet", labels=wanted)
    assert table.labels == ("x", "y")
    assert table.values.tolist() == [[1, 2], [3, 4]]


def test_numbers_can_be_labels(csv, tmp_path):
    assert csv("id,a\n7,1\n8,2\n", labels="id").labels == ("7", "8")
    assert csv(",a,b\n0,1,2\n1,3,4\n").columns == ("a", "b")
    FRAME.set_index(np.array([5, 3, 8, 1, 2, 9, 4])).to_parquet(tmp_path / "x.parquet")
    assert read_table(tmp_path / "x.parquet").labels == tuple("5381294")


def test_text_is_set_aside_with_a_reason(csv):
    table = csv("a,b,c\n1,x,3\n2,y,<0.1\n")
    assert table.columns == ("a",)
    assert table.set_aside == ("b", "c")
    assert "'b': 'x' in line 2 is not a number" in table.notes[0]
    assert "'c': '<0.1' in line 3 is not a number" in table.notes[1]


def test_a_number_gone_wrong_does_not_make_labels(csv):
    table = csv("a,b\n1,2\nx,3\n")
    assert table.labels is None
    assert table.set_aside == ("a",)


def test_names_with_underscores_are_not_numbers(csv):
    assert csv("id,a\n2020_01,1\n2020_02,2\n").labels == ("2020_01", "2020_02")


@pytest.mark.parametrize(
    "cell", ["", "NA", "n/a", "NaN", "null", "?", ".", " ", "#DIV/0!", "inf", "-Infinity", "1e999"]
)
def test_missing_values(csv, cell):
    table = csv(f"a,b\n1,{cell}\n2,3\n")
    assert table.missing() == {"b": 1}
    assert ("Infinite" in " ".join(table.notes)) == (cell in ("inf", "-Infinity", "1e999"))


def test_numbers_that_only_python_reads(csv):
    assert csv("a,b\n+1,2\n 3 ,.5\n").values.tolist() == [[1, 2], [3, 0.5]]


def test_columns_without_a_value_are_set_aside(csv):
    table = csv("a,b\n1,\n2,\n")
    assert table.columns == ("a",)
    assert table.set_aside == ("b",)


def test_parquet_nulls_and_kinds(tmp_path):
    frame = pd.DataFrame(
        {"x": [1.0, None], "n": pd.array([None, 2], dtype="Int64"), "yes": [True, False], "s": ["u", "v"]}
    )
    frame["when"] = pd.to_datetime(["2020-01-01", "2020-01-02"])
    frame.to_parquet(tmp_path / "x.parquet")
    table = read_table(tmp_path / "x.parquet")
    assert table.columns == ("x", "n", "yes")
    assert table.missing() == {"x": 1, "n": 1}
    assert table.values[:, 2].tolist() == [1, 0]
    assert table.set_aside == ("s", "when")


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "bool"])
def test_matlab_types(tmp_path, dtype, compress):
    values = (10 * np.abs(X)).astype(dtype)
    for array in (values, values[:1, :2], values[:2, :1]):  # the small ones stand inside their tags
        scipy.io.savemat(tmp_path / "x.mat", {"X": array}, do_compression=compress)
        assert np.array_equal(read_table(tmp_path / "x.mat").values, array.astype(float))


def test_which_array(tmp_path):
    np.savez(tmp_path / "x.npz", A=X, B=2 * X, c=X[0])
    with pytest.raises(
        TableError, match=r"holds 2 matrices.*--array.*'A': 7x3; 'B': 7x3; 'c': has 1 dimension"
    ):
        read_table(tmp_path / "x.npz")
    assert np.array_equal(read_table(tmp_path / "x.npz", array="B").values, 2 * X)
    with pytest.raises(TableError, match="no array 'D'"):
        read_table(tmp_path / "x.npz", array="D")
    with pytest.raises(TableError, match="'c' has 1 dimension"):
        read_table(tmp_path / "x.npz", array="c")
    scipy.io.savemat(tmp_path / "x.mat", {"A": X, "Z": X + 1j})
    with pytest.raises(TableError, match="'Z' has the type complex"):
        read_table(tmp_path / "x.mat", array="Z")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n1,2,3\n", "line 3 has 3 fields, the first has 2"),
        ("a,b\n1,2\n1\n", "line 3 has 1 field, the first has 2"),
        ('a,b\n1,"x\n2,3\n', "quotation mark"),
        ("a,b\n", "no rows below its header"),
        ("", "holds no rows"),
        ("a,b\nx,y\n", "holds no column of numbers. Column 'a' names the rows"),
        ("a,b\n,\n", "no value that is a number"),
        (b"a,b\n\0,1\n", "line 2 holds a NUL character"),
    ],
)
def test_text_that_is_no_table(csv, content, message):
    with pytest.raises(TableError, match=message):
        csv(content)


def test_an_unknown_label_column(csv, tmp_path):
    with pytest.raises(TableError, match="no column 'z' for the labels; the file has 'a', 'b'"):
        csv("a,b\n1,2\n", labels="z")
    FRAME.to_parquet(tmp_path / "x.parquet")
    with pytest.raises(TableError, match="no column 'z' for the labels"):
        read_table(tmp_path / "x.parquet", labels="z")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npy", ".npz", ".mat"])
def test_the_limit_is_kept_and_named(tmp_path, ending):
    values = np.ones((2000, 10))
    frame = pd.DataFrame(values, columns=list("abcdefghij"))
    path = tmp_path / f"x{ending}"
    match ending:
        case ".csv":
            frame.to_csv(path)
        case ".parquet":
            frame.to_parquet(path)
        case ".npy":
            np.save(path, values)
        case ".npz":
            np.savez(path, X=values)
        case ".mat":
            scipy.io.savemat(path, {"X": values})
    assert read_table(path, max_memory=1 << 20).values.shape == (2000, 10)
    with pytest.raises(TableError, match=r"the limit is 100\.0 KiB.*--max-memory"):
        read_table(path, max_memory=100 << 10)


def test_labels_are_limited_by_their_bytes(csv, tmp_path):
    """An emoji takes four bytes in memory; of ASCII four times as many characters fit."""
    text = "name,a\n" + "".join(f"{'x' * 200},{i % 7}\n" for i in range(1000))
    assert csv(text, max_memory=300 << 10).values.shape == (1000, 1)
    wide = text.replace("x", "\U0001f600")
    with pytest.raises(TableError, match="the limit is 300"):
        csv(wide, max_memory=300 << 10)
    pd.read_csv(io.StringIO(wide)).to_parquet(tmp_path / "x.parquet", use_dictionary=False)
    with pytest.raises(TableError, match="the limit is 300"):
        read_table(tmp_path / "x.parquet", max_memory=300 << 10)


def test_what_is_not_a_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path / "folder.csv")
    with pytest.raises(TableError, match=r"ending '\.xyz'; known are \.csv"):
        read_table(write(tmp_path / "x.xyz", "a"))
    with pytest.raises(TableError, match=r"ending '\.npy\.gz'; known are .*\.csv\.gz"):
        read_table(write(tmp_path / "x.npy.gz", "a"))
    for ending, word in (
        (".xls", "save it as .xlsx"),
        (".ods", "LibreOffice"),
        (".sav", "SPSS"),
        (".pkl", "pickle"),
    ):
        with pytest.raises(TableError, match=rf"\{ending} files are not read: .*{word}"):
            read_table(write(tmp_path / f"x{ending}", "a"))
    with pytest.raises(TableError, match="NUL"):
        read_table("a\0b.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes on this system")
def test_pipes_and_devices_do_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "zero.csv"):
        with pytest.raises(TableError, match="not a regular file"):
            read_table(tmp_path / name)
    (tmp_path / "link.csv").symlink_to(write(tmp_path / "x.csv", "a,b\n1,2\n"))
    assert read_table(tmp_path / "link.csv").columns == ("a", "b")


def test_standard_input_is_known_by_its_first_bytes(tmp_path, monkeypatch):
    FRAME.to_parquet(tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", X=X)
    scipy.io.savemat(tmp_path / "x.mat", {"X": X})
    FRAME.to_csv(tmp_path / "x.csv", index=False)
    for path in tmp_path.iterdir():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
        assert np.array_equal(read_table("-").values, X), path
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bytes(5000))))
    with pytest.raises(TableError, match="standard input: is longer than the limit"):
        read_table("-", max_memory=4096)


@pytest.mark.parametrize("kind", ["xlsx", "npz"])
def test_archives_on_standard_input_may_be_longer_than_a_buffer(tmp_path, monkeypatch, kind):
    """The first bytes are read to know the kind, and stay in a buffer."""
    values = np.random.default_rng(0).normal(size=(3000, 4))
    if kind == "xlsx":
        names = list("abcd")
        content = hostile_files.xlsx({"s": hostile_files.xlsx_rows([names, *values.tolist()])})
    else:
        np.savez(tmp_path / "x.npz", X=values)
        content = (tmp_path / "x.npz").read_bytes()
    assert len(content) > 4 * io.DEFAULT_BUFFER_SIZE
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    np.testing.assert_array_equal(read_table("-").values, values)


def test_rows_and_columns_can_be_chosen(csv):
    table = csv("name,a,b,c\nx,1,2,\ny,3,4,5\nz,6,7,9\n")
    kept = table.take(np.array([False, True, True]))
    assert kept.labels == ("y", "z")
    assert kept.rows.tolist() == [2, 3]
    assert table.select(["c", "a"]).values[1].tolist() == [5, 3]
    assert table.without(["b"]).columns == ("a", "c")
    assert table.filled().values[0].tolist() == [1, 2, 7]
    assert np.isnan(table.values[0, 2])  # the table itself is as it was
    with pytest.raises(TableError, match="no column of numbers 'aa'; did you mean 'a'"):
        table.without(["aa"])
    with pytest.raises(TableError, match="no column of numbers is left"):
        table.without(["a", "b", "c"])
