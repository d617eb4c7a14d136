"""What people write into tables: grouped digits, decimal commas, "n.d.", yes and no, counters."""

import hypothesis
import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from tl1pca.tables import TableError, read_table
from tl1pca.tables._copies import copied, original


def file(folder, text, encoding="utf-8", name="x.csv"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.fixture(params=["utf-8", "utf-16"])
def csv(tmp_path, request):
    """Read a text as a .csv file on both ways: Arrow splits UTF-8, Python's csv all else."""
    return lambda text, **options: read_table(file(tmp_path, text, request.param), **options)


def test_thousands(csv):
    table = csv('a,b\n"10,650",1\n"1,234,567.5",2\n950,3\n')
    assert table.values[:, 0].tolist() == [10650, 1234567.5, 950]
    assert "grouped in thousands in 'a' ('10,650' in line 2)" in " ".join(table.notes)
    assert csv("a;b\n10 650;1\n1'234;2\n").values[:, 0].tolist() == [10650, 1234]


def test_what_looks_like_thousands_is_never_silently_a_decimal(csv):
    """The hint of old led to 10.65."""
    text = 'a,b\n"10,650",1\n"11,200",2\n'
    assert csv(text).values[:, 0].tolist() == [10650, 11200]
    assert "--decimal" in " ".join(csv(text).notes)
    assert csv(text, decimal=",").values[:, 0].tolist() == [10.65, 11.2]  # said by the user


def test_decimal_commas_are_recognized(csv):
    table = csv("a;b\n1,5;10.650\n2,25;1.234.567,5\n")
    assert table.values.tolist() == [[1.5, 10650], [2.25, 1234567.5]]
    assert "decimal comma" in " ".join(table.notes)
    assert csv('a,b\n"1,5",2\n"0,125",3\n').values[:, 0].tolist() == [1.5, 0.125]
    assert csv("a;b\n1.5;2\n10,650;3\n").values[:, 0].tolist() == [1.5, 10650]  # points speak against it
    with pytest.raises(TableError, match=r"line 4: '3\.5' in column 'b' has a decimal point"):
        csv("a;b\n1,5;2,5\n2,25;1,5\n3,5;3.5\n")  # a slip among commas is named, and no reason to read none


@pytest.mark.parametrize("below", ["39,008\n38,2\n37\n-36,1\n", "39,008\n\n38,2 %\nNA\n36,15\n"])
@pytest.mark.parametrize("name", ["x", "Temp (C)", '"Temp, C"'])
@pytest.mark.parametrize("ending", [".csv", ".txt"])
def test_one_name_above_decimal_commas_is_one_column(tmp_path, below, name, ending):
    table = read_table(path := file(tmp_path, f"{name}\n{below}", name=f"x{ending}"))
    assert (table.columns, table.decimal) == ((name.strip('"'),), ",")
    assert table.values[:2, 0].tolist() == [39.008, 38.2]
    assert "--decimal . reads two columns" in " ".join(table.notes)
    again = file(tmp_path, copied(original(path, table), table.rows.tolist(), {}, None)[0])
    np.testing.assert_array_equal(read_table(again).values, table.values)


@pytest.mark.parametrize(
    "above", ["Title\n", "May 3, hall 2\n\n", "sep=;\nTitle\n", "# station 7\nTitle\n\n"]
)
def test_titles_may_stand_above_the_name_of_one_column(tmp_path, above):
    for below, first in (
        ("39,008\n38,2\n37\n", 39.008),
        ("NA\n38,2\n37,5\n", np.nan),
        ("39.5\n38\n7\n", 39.5),
    ):
        table = read_table(path := file(tmp_path, f"{above}Temp (C)\n{below}"))
        assert table.columns == ("Temp (C)",)
        np.testing.assert_equal(table.values[0, 0], first)
        assert len(table.values) == 3
        assert "above the table" in " ".join(table.notes)
        again = file(tmp_path, copied(original(path, table), table.rows.tolist(), {}, None)[0], name="y.csv")
        np.testing.assert_array_equal(read_table(again).values, table.values)


@pytest.mark.parametrize("above", ["Title\n\n", "sep=,\nx\n", "# x\n"])
def test_what_is_above_two_columns_of_whole_numbers(tmp_path, above):
    assert read_table(file(tmp_path, f"{above}39,2\n38,1\n")).values.tolist() == [[39, 2], [38, 1]]


def test_bookkeepers_negatives(csv):
    """In parentheses or with the sign behind, in a column without other negative numbers."""
    table = csv('a;b;c\n"(1,250.5)";12.5-;1\n"$ 2,000";3;-2\n(12 %);4-;3\n7;5;4\n8;6;5\n9;7;6\n')
    assert table.values[:4, 0].tolist() == [-1250.5, 2000, -12, 7]
    assert table.values[:4, 1].tolist() == [-12.5, 3, -4, 5]
    (note,) = [note for note in table.notes if "negative" in note]
    assert "'a', 'b' ('(1,250.5)' in line 2)" in note
    assert csv("a;b\n2;1\n(1);2\n3;7\n4;5\n5;7\n").values[1, 0] == -1
    assert csv("a;b\n(1,5);2\n2,25;3\n3;4,5\n4;5\n").values[0, 0] == -1.5


@pytest.mark.parametrize(
    "cells",
    [
        ["1.2", "(0.3)", "2.5", "(0.4)", "3.1", "(0.2)", "120"],  # standard errors below their estimates
        ["(1)", "(2)", "(3)", "(4)"],
        ["-1.5", "(2)", "(3)", "4", "5"],
    ],
)
def test_other_parentheses_are_no_negative_numbers(csv, cells):
    table = csv("a,b\n" + "".join(f"{i * i},{cell}\n" for i, cell in enumerate(cells)))
    assert "b" in table.set_aside or np.isnan(table.values[:, 1]).any()
    assert not any("negative" in note for note in table.notes)


def test_digits_with_a_zero_in_front_are_a_code(csv):
    rows = [f"{137 * i:04d},{i % 3 + 0.5},{911 * i % 10000:05d}" for i in range(1, 13)]
    table = csv("zip,x,item\n" + "\n".join(rows) + "\n")
    assert (table.columns, table.set_aside) == (("x",), ("item",))
    assert table.labels[:2] == ("0137", "0274")
    notes = " ".join(table.notes)
    assert "Column 'zip' names the rows: '0137' in line 2 begins with a zero, as codes do." in notes
    assert "Set aside column 'item': '00911' in line 2 begins with a zero" in notes
    assert csv("zip,x,item\n" + "\n".join(rows) + "\n", numbers=["zip", "item"]).columns == (
        "zip",
        "x",
        "item",
    )


@pytest.mark.parametrize(
    "cells", [["0.5", "0.2", "1.5"], ["0", "1", "2"], ["01", "1", "12"], ["10", "20", "31"]]
)
def test_other_zeros_are_no_codes(csv, cells):
    table = csv("a,b\n" + "".join(f"{cell},{i + 0.5}\n" for i, cell in enumerate(cells)))
    assert table.values[:, 0].tolist() == [float(cell) for cell in cells]


def test_digits_with_zeros_are_numbers_where_there_are_no_others(csv):
    table = csv("a,b,c\n0012,0120,\n0340,0007,\n0100,1000,\n")
    assert table.values.tolist() == [[12, 120], [340, 7], [100, 1000]]


def test_who_names_the_mark_says_whether_commas_separate(csv):
    named, bare = "x\n39,008\n38,2\n37,5\n", "39,008\n38,2\n37,5\n"
    assert csv(named, decimal=".").values.tolist() == [[39, 8], [38, 2], [37, 5]]
    assert csv(named, decimal=",").values.tolist() == [[39.008], [38.2], [37.5]]
    assert csv(bare, decimal=",").values.tolist() == [[39.008], [38.2], [37.5]]
    table = csv(bare)  # nothing decides it
    assert table.values.tolist() == [[39, 8], [38, 2], [37, 5]]
    assert "--decimal , reads one column" in " ".join(table.notes)


@pytest.mark.parametrize("above", ["a,b\n", "A title\n\n", "# a comment\n"])
def test_names_and_titles_above_two_columns(csv, above):
    assert csv(above + "39,008\n38,2\n37,5\n").values.tolist() == [[39, 8], [38, 2], [37, 5]]


def test_a_point_under_a_decimal_comma_groups_threes_or_is_an_error(csv):
    assert csv("a;b\n1.234;1\n", decimal=",").values[0, 0] == 1234
    with pytest.raises(TableError, match=r"line 3: '1\.5' in column 'a' has a decimal point"):
        csv("a;b\n2,5;1\n1.5;2\n", decimal=",")
    late = "a;b\n" + "2,5;1\n" * 500 + "0.125;1\n"
    with pytest.raises(TableError, match=r"line 502: '0\.125' in column 'a'.*--decimal"):
        csv(late)


@pytest.mark.parametrize("cell", ["n.d.", "<0.1", "trace", "1,5", "12 cm"])
def test_a_few_cells_that_are_no_numbers_are_missing(csv, cell):
    rows = [f"{i / 7},{i}.5" for i in range(40)]
    rows[12] = f'"{cell}",3.5'
    table = csv("a,b\n" + "\n".join(rows) + "\n", decimal=".")
    assert table.columns == ("a", "b")
    assert table.missing() == {"a": 1}
    assert f"Column 'a': 1 cell is not a number and counts as missing ({cell!r} in line 14)" in " ".join(
        table.notes
    )


def test_many_of_few_words_are_missing_too(csv):
    rows = [f"{'<0.1' if i % 3 == 0 else i / 7},{i}.5" for i in range(300)]
    table = csv("a,b\n" + "\n".join(rows) + "\n")
    assert table.missing() == {"a": 100}
    assert "100 cells are not numbers" in " ".join(table.notes)


def test_names_among_numbers_are_no_column_of_numbers(csv):
    """Tickets of the Titanic: two thirds are numbers, the others all different."""
    rows = [f"{i}.5,{f'A/{i}' if i % 3 == 0 else i * 17}" for i in range(300)]
    table = csv("a,ticket\n" + "\n".join(rows) + "\n")
    assert table.columns == ("a",)
    assert "Set aside column 'ticket': 'A/0' in line 2 is not a number" in " ".join(table.notes)


def test_a_gap_in_the_first_row_makes_no_labels(csv):
    table = csv("a,b\nn.d.,2\n" + "".join(f"{i},{i * i}\n" for i in range(1, 30, 2)))
    assert table.labels is None
    assert table.missing() == {"a": 1}


@pytest.mark.parametrize(
    ("yes", "no"), [("True", "False"), ("Yes", "no"), ("ja", "nein"), ("Oui", "Non"), ("sí", "no")]
)
def test_yes_and_no_are_numbers(csv, yes, no):
    table = csv(f"a,b\n1,{yes}\n2,{no}\n3,\n4,{yes}\n")
    np.testing.assert_array_equal(table.values[:, 1], [1, 0, np.nan, 1])
    assert f"{yes.capitalize()} counts as 1, {no.lower()} as 0, in 'b'" in " ".join(table.notes)
    assert csv(f"ok,b\n{yes},1\n{no},2\n").labels is None


def test_a_column_that_only_counts_is_an_identifier(csv, tmp_path):
    rows = "".join(f"{1000 + i},{(i * 7) % 11},{5 + i}\n" for i in range(20))
    table = csv("id,a,day\n" + rows)
    assert table.columns == ("a",)
    assert table.labels[:2] == ("1000", "1001")
    assert table.set_aside == ("day",)
    assert "Column 'id' only counts (1000, 1001, ...): taken for the names of the rows." in table.notes
    assert "Set aside column 'day': it only counts (5, 6, ...)." in table.notes
    kept = csv("id,a,day\n" + rows, numbers=["day"])
    assert kept.columns == ("a", "day")
    assert csv("a,b\n1,3\n2,5\n3,4\n").columns == ("a", "b")  # three rows may count by chance
    pd.DataFrame({"id": np.arange(20), "a": np.arange(20) % 3}).to_parquet(tmp_path / "x.parquet")
    assert read_table(tmp_path / "x.parquet").columns == ("a",)
    assert csv("a\n" + "".join(f"{i}\n" for i in range(20))).columns == ("a",)  # there is nothing else


CELLS = st.sampled_from(
    [
        "1",
        "2.5",
        "-3e5",
        "+4",
        " 5 ",
        "1,5",
        "10,650",
        "1.234,5",
        "0,1",
        "",
        "NA",
        "nan",
        "n.d.",
        "<0.1",
        "inf",
        "1e999",
        "yes",
        "No",
        "true",
        "x",
        "'7",
        "1_0",
        "größe",
        "1 000",
        "12'000",
        "two words",
    ]
)


@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture], max_examples=150)
@hypothesis.given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12),
    times=st.sampled_from([1, 30]),
    delimiter=st.sampled_from(";,\t|"),
    quoted=st.booleans(),
    decimal=st.sampled_from([None, ".", ","]),
)
def test_both_ways_of_splitting_give_the_same(tmp_path, rows, times, delimiter, quoted, decimal):
    mark = '"' if quoted or delimiter == "," else ""
    lines = [("a", "b", "c"), *rows * times]
    text = "".join(delimiter.join(f"{mark}{cell}{mark}" for cell in line) + "\n" for line in lines)
    found = []
    for encoding in ("utf-8", "utf-16"):
        try:
            table = read_table(file(tmp_path, text, encoding), decimal=decimal)
            found.append((table.values.tobytes(), *vars(table).items()))
        except TableError as error:
            found.append(str(error))
    assert str(found[0]) == str(found[1])


def test_r_and_pandas_write_quotation_marks(tmp_path, monkeypatch):
    """The usual ones do not need the slow way."""
    from tl1pca.tables import _text

    values = np.random.default_rng(0).normal(size=(50, 3))
    frame = pd.DataFrame(values, columns=["a", "b, c", "d"], index=[f"row {i}" for i in range(50)])
    frame.to_csv(tmp_path / "x.csv", quoting=2)
    monkeypatch.setattr(_text, "_fill", None)  # the slow way
    table = read_table(tmp_path / "x.csv")
    assert np.array_equal(table.values, values)
    assert table.columns == ("a", "b, c", "d")
    assert table.labels[3] == "row 3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n" + "1,2\n" * 300 + "1,2,3\n", "line 302 has 3 fields"),
        ("a,b\n" + "1,2\n" * 300 + "\n\n1\n", "line 304 has 1 field"),
        ("a,b\n" + "1,2\n" * 300 + '1,"2\n3,4\n', "quotation mark"),
        ("a,b\n" + "1,2\n" * 300 + "1,\0\n", "line 302 holds a NUL"),
    ],
)
def test_errors_behind_the_first_lines_name_the_line(tmp_path, text, message):
    with pytest.raises(TableError, match=message):
        read_table(file(tmp_path, text))


def test_spaces_between_columns(tmp_path):
    table = read_table(file(tmp_path, "a  b\n 1   2.5 \n 3   4\n", name="x.txt"))
    assert table.columns == ("a", "b")
    assert table.values.tolist() == [[1, 2.5], [3, 4]]
    assert read_table(file(tmp_path, "a\tb\n1\t2\n", name="y.txt")).columns == ("a", "b")


def test_signs_beside_numbers_are_left_out(csv):
    table = csv('price,share,t\n"$1,250.50",12%,−3\n-$3,7.5 %,4\n€ 8,100%,5\n')
    assert table.values.tolist() == [[1250.5, 12, -3], [-3, 7.5, 4], [8, 100, 5]]
    assert "left out in 'price', 'share' ('$1,250.50' in line 2)" in " ".join(table.notes)
    assert csv("a;b\n1.250,50 €;1\n3,5 €;2\n").values[:, 0].tolist() == [1250.5, 3.5]


@pytest.mark.parametrize("word", ["$", "5 $ 6", "%5", "$$5", "5%%"])
def test_other_signs_are_no_numbers(csv, word):
    assert np.isnan(csv(f"a,b\n{word},1\n2,2\n3,3\n").values[0, 0])


def test_a_mark_that_comes_twice_in_a_number_groups_its_digits(csv):
    """Whole numbers of some countries were read as thousandths, beside the few from a million on."""
    table = csv("a;b\n10.650;3\n1.234.567;999\n980;1.200\n")
    assert table.values.tolist() == [[10650, 3], [1234567, 999], [980, 1200]]
    assert csv('a;b\n"10,650";0.5\n"1,234,567";0.25\n').values[:, 0].tolist() == [10650, 1234567]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_copies_are_written_with_the_decimal_mark_of_the_file(tmp_path, encoding):
    for text, expected in [
        ("a;b\n1.234.567;999\n980;1.200\n", [[1234567, 999, 0.125], [980, 1200, 1.5]]),
        ('a,b\n"1,5",2\n"2,25",3\n', [[1.5, 2, 0.125], [2.25, 3, 1.5]]),
        ("a;b\n10,650;1.5\n980;2.5\n", [[10650, 1.5, 0.125], [980, 2.5, 1.5]]),
    ]:
        source = file(tmp_path, text, encoding)
        copy, _, _ = copied(original(source, read_table(source)), [1, 2], {"d": [0.125, 1.5]}, None)
        assert read_table(file(tmp_path, copy, name="copy.csv")).values.tolist() == expected


def test_what_windows_has_in_place_of_control_characters(tmp_path):
    """An export for Excel in Windows-1252: the sign of the euro made text of every amount."""
    path = file(tmp_path, "Preis;Größe \u2013 neu\n1.250,50 €;3\n980,00 €;4\n", "cp1252")
    table = read_table(path)
    assert table.columns == ("Preis", "Größe \u2013 neu")
    assert table.values[:, 0].tolist() == [1250.5, 980]
    assert "Not UTF-8: read as Windows-1252 (Latin-1)." in table.notes
    copy, _, _ = copied(original(path, table), [1, 2], {}, None)
    assert copy.splitlines()[:2] == ["Preis;Größe \u2013 neu", "1.250,50 €;3"]
    path.write_bytes(b"a\x81,b\n1,2\n")  # which Windows-1252 does not have
    table = read_table(path)
    assert table.columns == ("a\x81", "b")
    assert table.notes == ("Not UTF-8: read as Latin-1.",)
    assert copied(original(path, table), [1], {}, None)[0].startswith("a\x81,b")


@pytest.mark.parametrize(
    ("stamps", "reason"),
    [
        ([1_700_000_000 + 60 * i for i in range(20)], "is a time that goes up (1700000000, 1700000060, ...)"),
        ([f"{0.1 * i:.1f}" for i in range(20)], "is a time that goes up (0, 0.1, ...)"),
        (
            [20240120 + i if i < 12 else 20240189 + i for i in range(20)],
            "holds dates (20240120, 20240121, ...)",
        ),
    ],
    ids=["seconds", "tenths", "dates"],
)
@pytest.mark.parametrize("name", ["time", "Time (s)", "timestamp_ms", "Datum"])
def test_a_time_written_as_numbers_names_the_rows(csv, name, stamps, reason):
    """As a measurement its drift was a component of its own, and bad rows at the beginning were regular."""
    values = [(i * 7) % 11 for i in range(20)]
    text = f"{name},a\n" + "".join(f"{t},{v}\n" for t, v in zip(stamps, values))
    table = csv(text)
    assert table.columns == ("a",)
    assert table.labels[1] == str(stamps[1])
    assert f"Column {name!r} {reason}: taken for the names of the rows." in table.notes
    assert csv(text, numbers=[name]).columns == (name, "a")


def test_what_is_no_time(csv):
    values = [(i * 7) % 11 for i in range(20)]
    for name, numbers in [
        ("dose", [10 * i for i in range(20)]),
        ("timer", [10 * i for i in range(20)]),
        ("time", values),  # how long something took
        ("paid", [20240190 + v for v in values]),
    ]:
        table = csv(f"{name},a\n" + "".join(f"{n},{v}\n" for n, v in zip(numbers, values)))
        assert table.columns == (name, "a")
