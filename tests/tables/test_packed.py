"""Workbooks and compressed text."""

import gzip
import io
import sys

import numpy as np
import pandas as pd
import pytest

from tl1pca.tables import TableError, read_table

pytest.importorskip("python_calamine")
hostile_files = pytest.importorskip("hostile_files", reason="the fuzzer is not part of this installation")

SHEETS = {
    "Messung 1": [["name", "a", "b", "ok"], ["x", 1.0, 2.5, True], ["y", 3.0, "1,234", False]],
    "other": [["q", "r"], [1.0, 2.0], [4.0, 3.0]],
    "empty": [],
}


@pytest.fixture
def workbook(tmp_path):
    path = tmp_path / "x.xlsx"
    sheets = {name: hostile_files.xlsx_rows(rows) for name, rows in SHEETS.items()}
    path.write_bytes(hostile_files.xlsx(sheets))
    return path


def test_the_first_sheet_by_default_and_said(workbook):
    table = read_table(workbook)
    assert table.columns == ("a", "b", "ok")
    assert table.labels == ("x", "y")
    assert table.values.tolist() == [[1, 2.5, 1], [3, 1234, 0]]
    assert "Sheet 'Messung 1' was read, the first of 'Messung 1', 'other', 'empty'" in table.notes[0]


def test_sheets_without_numbers_are_passed_over(tmp_path):
    sheets = {"about": [["Measured in spring"], ["see the next sheet"]], "blank": [], **SHEETS}
    path = tmp_path / "x.xlsx"
    path.write_bytes(hostile_files.xlsx({n: hostile_files.xlsx_rows(rows) for n, rows in sheets.items()}))
    table = read_table(path)
    assert table.values.tolist() == [[1, 2.5, 1], [3, 1234, 0]]
    assert "Sheet 'Messung 1' was read, the first with numbers of 'about', 'blank'," in table.notes[0]
    with pytest.raises(TableError, match="holds no column of numbers"):
        read_table(path, sheet="about")
    only = {n: hostile_files.xlsx_rows(sheets[n]) for n in ("about", "blank")}
    path.write_bytes(hostile_files.xlsx(only))
    with pytest.raises(
        TableError, match=r"holds no column of numbers\. Sheet 'about' was read, the first of"
    ):
        read_table(path)


@pytest.mark.parametrize("sheet", ["other", 2, "2"])
def test_a_sheet_by_name_or_number(workbook, sheet):
    assert read_table(workbook, sheet=sheet).values.tolist() == [[1, 2], [4, 3]]


def test_sheets_that_are_not_there_or_empty(workbook):
    with pytest.raises(TableError, match="no sheet 'none'; the file has 'Messung 1', 'other', 'empty'"):
        read_table(workbook, sheet="none")
    with pytest.raises(TableError, match="sheet 'empty' holds no rows"):
        read_table(workbook, sheet=3)


def test_a_sheet_of_blank_cells(tmp_path):
    """Found by the fuzzer: there are rows, and nothing in them."""
    path = tmp_path / "blank.xlsx"
    path.write_bytes(hostile_files.xlsx({"s": '<row><c t="str"><v></v></c><c t="str"><v></v></c></row>'}))
    with pytest.raises(TableError, match="'s' holds no rows with anything in them"):
        read_table(path)


def test_numbers_of_a_workbook_are_exact(tmp_path):
    values = np.random.default_rng(0).normal(size=(300, 4)) * 10.0 ** np.arange(-8, 8, 4)
    rows = [["a", "b", "c", "d"], *values.tolist()]
    for decimal in (None, ".", ","):
        (tmp_path / "x.xlsx").write_bytes(hostile_files.xlsx({"s": hostile_files.xlsx_rows(rows)}))
        assert np.array_equal(read_table(tmp_path / "x.xlsx", decimal=decimal).values, values)


def test_a_table_that_begins_below_with_blank_rows_and_gaps(tmp_path):
    rows = [[], ["a", "b"], [1.0, None], [], [2.0, "n.d."], *([float(i * i), i / 3] for i in range(30))]
    (tmp_path / "x.xlsx").write_bytes(hostile_files.xlsx({"s": hostile_files.xlsx_rows(rows)}))
    table = read_table(tmp_path / "x.xlsx")
    assert table.values.shape == (32, 2)
    assert table.missing() == {"b": 2}
    assert "'n.d.' in line 5" in " ".join(table.notes)


@pytest.mark.parametrize("ending", [".csv.gz", ".tsv.gz", ".txt.gz", ".CSV.GZ"])
def test_compressed_text(tmp_path, ending):
    values = np.random.default_rng(0).normal(size=(3000, 3))
    text = pd.DataFrame(values, columns=list("abc")).to_csv(index=False, sep="\t" if "tsv" in ending else ",")
    path = tmp_path / f"x{ending}"
    path.write_bytes(gzip.compress(text.encode()))
    assert np.array_equal(read_table(path).values, values)
    path.write_bytes(gzip.compress("größe,b\n1,2\n".replace(",", "\t").encode("latin-1")))
    assert read_table(path).columns == ("größe", "b")


def test_standard_input(workbook, monkeypatch):
    for content in (workbook.read_bytes(), gzip.compress(b"a,b\n1,2.5\n3,1234\n")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert read_table("-").values[:, :2].tolist() == [[1, 2.5], [3, 1234]]


def test_the_limit(workbook, tmp_path):
    with pytest.raises(
        TableError, match=r"a sheet of 3 x 4 cells takes 1\.2 KiB in memory, the limit is 1\.0 KiB"
    ):
        read_table(workbook, max_memory=1 << 10)
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"\n" * 100_000))
    with pytest.raises(TableError, match=r"unpacks to more than 64\.0 KiB"):
        read_table(path, max_memory=8 << 10)
