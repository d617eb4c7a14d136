"""Where a table begins in a file that people made: titles, comments, headers of other programs."""

import gzip

import hostile_files
import numpy as np
import pandas as pd
import pytest

from tl1pca.tables import TableError, read_table, write_cleaned
from tl1pca.tables._lines import lines_above

NAMES = ["temp", "press", "flow"]
VALUES = np.round(np.random.default_rng(11).normal(20.0, 3.0, (30, 3)), 3)


def lines(sep=",", names=NAMES):
    return [sep.join(names), *(sep.join(map(str, row)) for row in VALUES.tolist())]


def read(tmp_path, content, name="x.csv", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, **options)


@pytest.mark.parametrize(
    "above",
    [
        "Measurements 2024\n\n",
        "Measurements 2024,,\n,,\n",
        "Measurements, spring\n",
        "# exported by a logger\n# site: K\u00f6ln, hall 3, north\n",
        "sep=,\n",
        "\n\n",
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["x.csv", "x.csv.gz", "crlf.csv", "latin.csv"])
def test_what_stands_above_a_table_is_left_out(tmp_path, above, kind):
    text = above + "\n".join(lines()) + "\n"
    content = {
        "x.csv": text.encode(),
        "x.csv.gz": gzip.compress(text.encode()),
        "crlf.csv": text.replace("\n", "\r\n").encode(),
        "latin.csv": text.encode("latin-1"),
    }[kind]
    table = read(tmp_path, content, kind)
    assert table.columns == tuple(NAMES)
    np.testing.assert_array_equal(table.values, VALUES)
    assert table.rows[0] == 1
    said = [note for note in table.notes if "above the table" in note]
    assert len(said) == (above.strip() not in ("", "sep=,"))
    write_cleaned(tmp_path / kind, tmp_path / "out.csv", rows=[2], cells=[(1, "flow")])
    expected = pd.DataFrame(VALUES, columns=NAMES)
    expected.loc[0, "flow"] = np.nan
    copied = pd.read_csv(tmp_path / "out.csv")
    pd.testing.assert_frame_equal(copied, expected.drop(index=1).reset_index(drop=True))


def test_lines_are_counted_from_the_top_of_the_file(tmp_path):
    rows = lines()
    rows[4] += ",9"
    with pytest.raises(TableError, match="line 7 has 4 fields"):
        read(tmp_path, "A title\n\n" + "\n".join(rows))
    rows = lines()
    rows[4] = "n.d.,1,2"
    table = read(tmp_path, "A title\n\n" + "\n".join(rows))
    assert any("'n.d.' in line 7" in note for note in table.notes)


def test_a_title_above_many_lines(tmp_path):
    X = np.arange(30_000.0).reshape(-1, 3) % 977
    body = "".join(f"{a:g},{b:g},{c:g}\n" for a, b, c in X.tolist())
    table = read(tmp_path, "A title\na,b,c\n" + body)
    np.testing.assert_array_equal(table.values, X)


@pytest.mark.parametrize("sep", [" ", ","])
def test_names_as_numpy_writes_them(tmp_path, sep):
    path = tmp_path / ("x.txt" if sep == " " else "x.csv")
    np.savetxt(path, VALUES, header=sep.join(NAMES), delimiter=sep, fmt="%.3f")
    table = read_table(path)
    assert table.columns == tuple(NAMES)
    np.testing.assert_array_equal(table.values, VALUES)


def test_names_as_r_writes_them(tmp_path):
    """write.table leaves out the name of the column of row names."""
    names, *rows = lines(" ")
    text = " ".join(f'"{name}"' for name in names.split()) + "\n"
    text += "".join(f'"row {i}" {row}\n' for i, row in enumerate(rows))
    table = read(tmp_path, text, "x.txt")
    assert table.columns == tuple(NAMES)
    assert table.labels[:2] == ("row 0", "row 1")
    np.testing.assert_array_equal(table.values, VALUES)


def test_a_delimiter_at_the_end_of_every_line_but_that_of_the_names(tmp_path):
    names, *rows = lines()
    table = read(tmp_path, names + "\n" + "".join(f"{row},\n" for row in rows))
    assert table.columns == tuple(NAMES)
    assert table.labels is None
    np.testing.assert_array_equal(table.values, VALUES)


def test_a_header_that_lacks_a_name_is_not_guessed_at(tmp_path):
    """The first column names no rows: the same name comes twice."""
    with pytest.raises(TableError, match="line 2 has 3 fields, the first has 2"):
        read(tmp_path, "b,c\n" + "".join(f"{i % 5},{i},{i * i % 7}\n" for i in range(20)))


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n3,4\n",
        ",x\n0,5\n1,6\n2,9\n",  # pandas, of one column
        "5,,\n1,2,3\n4,5,6\n",  # no names, and gaps
        "a\n1\n2\n",
        "# a\n1\n2\n",
        "a,b\n1,2\n3\n",  # uneven further down
        "a;b\n1,5;2\n",
        "",
    ],
)
def test_nothing_is_taken_off_where_the_first_line_belongs_to_the_table(text):
    assert lines_above(text.splitlines(keepends=True), "\t;|,") == 0


def test_a_title_above_a_sheet(tmp_path):
    rows = [["Plant report 2024"], [], NAMES, *VALUES.tolist()]
    (tmp_path / "x.xlsx").write_bytes(hostile_files.xlsx({"s": hostile_files.xlsx_rows(rows)}))
    table = read_table(tmp_path / "x.xlsx")
    assert table.columns == tuple(NAMES)
    np.testing.assert_array_equal(table.values, VALUES)


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        (["left", "", "", "right", ""], ["a", "b", "c", "d", "e"]),
        (["", "2019", "", "2020", ""], ["site", "a", "b", "c", "d"]),
        (["", "left", "", "right", ""], ["", "a", "b", "c", "d"]),
    ],
)
@pytest.mark.parametrize("kind", ["x.csv", "x.xlsx"])
def test_names_of_groups_of_columns_stand_above_the_names(tmp_path, groups, names, kind):
    """As merged cells of a spreadsheet come out: the columns were called 'left', 'column 2', ..."""
    X = np.round(np.random.default_rng(1).normal(size=(9, 4)), 3)
    rows = [[f"s{i}" if names[0] != "a" else i % 4 + 0.5, *x] for i, x in enumerate(X.tolist())]
    if kind == "x.xlsx":
        sheet = hostile_files.xlsx_rows([groups, names, *rows])
        table = read(tmp_path, hostile_files.xlsx({"s": sheet}), kind)
    else:
        table = read(tmp_path, "".join(",".join(map(str, row)) + "\n" for row in [groups, names, *rows]))
    assert table.columns == tuple(names[names[0] != "a" :])
    np.testing.assert_array_equal(table.values[:, -4:], X)
    assert len(table.values) == len(X)
    assert any("above the table" in note for note in table.notes)


def test_units_below_a_header_with_gaps_are_no_names(tmp_path):
    table = read(tmp_path, "a,b,,\nmm,,s,m\n1,2,3,4\n4,5,6,9\n3,7,1,2\n")
    assert table.columns == ("a", "b", "column 3", "column 4")


@pytest.mark.parametrize("second", [["\u00b0C", "bar", "l/min"], NAMES])
def test_a_second_line_of_names_or_units_is_one_note(tmp_path, second):
    names, *rows = lines()
    table = read(tmp_path, "\n".join([names, ",".join(second), *rows]))
    (note,) = [note for note in table.notes if "Line 2" in note]
    assert repr(second[0]) in note
    assert len(table.notes) == 1
    np.testing.assert_array_equal(table.values[1:], VALUES)


def test_units_may_have_gaps_and_dashes(tmp_path):
    names, *rows = lines()
    table = read(tmp_path, "\n".join([names, "\u00b0C,-,l/min", *rows]))
    (note,) = table.notes
    assert "Line 2" in note
    assert table.units
    slip = read(tmp_path, "\n".join([names, "n.d.,-,3.5", *rows]))  # a row, with a value
    assert not slip.units


@pytest.mark.parametrize("kind", ["x.csv", "x.xlsx"])
def test_groups_names_and_units(tmp_path, kind):
    head = [
        ["", "Water", "", "Air", ""],
        ["site", "pH", "depth", "wind", "dust"],
        ["", "-", "m", "m/s", "ppm"],
    ]
    X = np.random.default_rng(1).normal(size=(12, 4)).round(3)
    rows = [*head, *([f"s{i}", *x] for i, x in enumerate(X.tolist()))]
    if kind == "x.xlsx":
        table = read(tmp_path, hostile_files.xlsx({"s": hostile_files.xlsx_rows(rows)}), kind)
    else:
        table = read(tmp_path, "".join(",".join(map(str, row)) + "\n" for row in rows))
    assert table.columns == ("pH", "depth", "wind", "dust")
    assert table.units
    np.testing.assert_array_equal(table.values[1:], X)


@pytest.mark.parametrize("space", [" ", "\u00a0", "\u202f", "'", "\u2019"], ids=ascii)
def test_spaces_and_apostrophes_group_digits(tmp_path, space):
    """A no-break space is what spreadsheets of several countries write."""
    text = "a;b\n" + "".join(f"{i},5;{i * i % 7 + 1}{space}{i * 337 % 1000:03}\n" for i in range(12))
    table = read(tmp_path, text)
    np.testing.assert_array_equal(
        table.values[:, 1], [1000 * (i * i % 7 + 1) + i * 337 % 1000 for i in range(12)]
    )


def test_a_web_page_is_called_one(tmp_path):
    with pytest.raises(TableError, match="is a web page"):
        read(tmp_path, "<!DOCTYPE html>\n<html><body>Not found</body></html>\n")
    with pytest.raises(TableError, match="is a web page"):
        read(tmp_path, "<table>\n<tr><td>1</td></tr>\n</table>\n")


@pytest.mark.parametrize(
    ("write", "name", "hint"),
    [
        (lambda path: path.write_text("a,b\n1,2\n"), "x.xlsx", "begins with text"),
        (lambda path: path.write_text("a,b\n1,2\n"), "x.parquet", "begins with text"),
        (lambda path: path.write_text("a,b\n1,2\n"), "x.csv.gz", "begins with text"),
        (lambda path: path.write_bytes(gzip.compress(b"a,b\n1,2\n" * 50)), "x.csv", r"a \.csv\.gz file"),
        (lambda path: np.save(path.with_suffix(".npy"), VALUES), "x.csv", r"a \.npy file"),
        (
            lambda path: pd.DataFrame(VALUES).rename(columns=str).to_parquet(path),
            "x.txt",
            r"a \.parquet file",
        ),
    ],
)
def test_an_ending_that_is_wrong(tmp_path, write, name, hint):
    write(tmp_path / name)
    if not (tmp_path / name).exists():
        (tmp_path / "x.npy").rename(tmp_path / name)
    with pytest.raises(TableError, match=f"{hint}.*is the ending right"):
        read_table(tmp_path / name)


# ---------------------------------------------------------------- identifiers
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("lot", 1000 + np.arange(30)),
        ("customer_id", 5000 + np.random.default_rng(0).permutation(30)),
        ("sampleId", 7919 * (1 + np.random.default_rng(1).permutation(30))),
        ("ID", np.random.default_rng(2).choice(10**9, 30, replace=False)),
    ],
)
def test_columns_that_say_which_row_this_is(tmp_path, name, numbers):
    frame = pd.DataFrame(VALUES, columns=NAMES)
    frame.insert(0, name, numbers)
    frame.to_csv(tmp_path / "x.csv", index=False)
    table = read_table(tmp_path / "x.csv")
    assert table.columns == tuple(NAMES)
    assert table.labels == tuple(map(str, numbers.tolist()))
    assert any(repr(name) in note for note in table.notes)
    assert name in read_table(tmp_path / "x.csv", numbers=[name]).columns


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("humid", np.random.default_rng(0).permutation(30)),  # ends in id, and is none
        ("rank", np.random.default_rng(0).permutation(30)),
        ("id", np.arange(30) // 2),  # of two rows each
        ("id", np.linspace(0.1, 0.9, 30)),
        ("depth", 10 * np.arange(30)),
        ("same", np.full(30, 7)),
        ("half", 0.5 + np.arange(30)),
    ],
)
def test_columns_that_are_data(tmp_path, name, numbers):
    frame = pd.DataFrame(VALUES, columns=NAMES)
    frame.insert(0, name, numbers)
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert name in read_table(tmp_path / "x.csv").columns


def test_identifiers_too_large_to_be_kept_exactly_are_no_labels(tmp_path):
    frame = pd.DataFrame(VALUES, columns=NAMES)
    frame.insert(0, "id", [12345678901234567890 + 8192 * i for i in range(30)])
    frame.to_csv(tmp_path / "x.csv", index=False)
    table = read_table(tmp_path / "x.csv")
    assert table.labels is None
    assert table.set_aside == ("id",)
