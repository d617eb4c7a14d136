"""A file that another program writes is read as if it had been there from the start."""

import itertools
import os
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

from tl1pca.cli._data import read
from tl1pca.cli._growing import Growing, growing
from tl1pca.cli._options import Format, Missing, Output, Reading
from tl1pca.cli.monitor import Watch
from tl1pca.tables import TableError

NAMES = ["Druck [bar]", "Temp. (°C)", "p/2", "Fluß"]
HEAD = "Anlage Nord; Tagesprotokoll\n\nZeit;" + ";".join(NAMES) + "\n"


def rows_of(n, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, 1)) * [3.0, 2.0, 1.0, 1.0] + 0.1 * rng.normal(size=(n, 4)) + 20.0).round(2)


def lines_of(X, first=0):
    return [
        f"2026-11-19 {i // 60:02d}:{i % 60:02d};" + ";".join(f"{x:.2f}".replace(".", ",") for x in row) + "\n"
        for i, row in enumerate(X, start=first)
    ]


@pytest.fixture
def fitted():
    return PCA(1).fit(pd.DataFrame(rows_of(100), columns=NAMES))


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"")
    return path


@pytest.fixture
def watched(log, fitted, tmp_path):
    return Growing(log, Reading(), fitted, tmp_path / "part.csv")


def add(path, text, encoding="utf-8"):
    with path.open("ab") as stream:
        stream.write(text if isinstance(text, bytes) else text.encode(encoding))


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-8-sig"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_parts_are_the_whole_file_wherever_it_is_cut(watched, log, fitted, encoding, ends, capsys):
    """Titles, units in names, a column of time, a decimal comma, and a writer that fills its buffer."""
    X, rng = rows_of(230), np.random.default_rng(1)
    content = (HEAD + "".join(lines_of(X))).replace("\n", ends).encode(encoding)
    cuts = [0, *np.sort(rng.choice(len(content), 40, replace=False)).tolist(), len(content)]
    parts = []
    for begin, end in itertools.pairwise(cuts):
        add(log, content[begin:end])
        parts += watched.look()
    assert all(part.finished for part in parts)
    assert len(parts) > 20
    whole = read(str(log), Reading(), fitted)
    np.testing.assert_array_equal(np.vstack([part.table.values for part in parts]), X)
    np.testing.assert_array_equal(np.concatenate([part.table.rows for part in parts]), np.arange(1, 231))
    assert sum((part.table.labels for part in parts), ()) == whole.labels
    said = capsys.readouterr().err.splitlines()
    assert said.count("Note: Numbers were read with a decimal comma.") == 2  # once by each of the two


def test_titles_and_names_alone_are_waited_for(watched, log):
    for line in HEAD.splitlines(keepends=True):
        add(log, line)
        assert list(watched.look()) == []
    add(log, lines_of(rows_of(1))[0])
    (part,) = watched.look()
    assert (part.table.rows.tolist(), part.finished) == ([1], True)


def test_a_last_line_without_an_end_is_read_once_it_stands_still(watched, log, capsys):
    lines = lines_of(rows_of(4))
    add(log, HEAD + lines[0] + lines[1][:-9])
    assert [part.table.rows.tolist() for part in watched.look()] == [[1]]
    assert list(watched.look()) == []  # three of five fields
    add(log, lines[1][-9:-2])
    assert list(watched.look()) == []  # still being written
    (part,) = watched.look()
    assert (part.table.rows.tolist(), part.finished) == ([2], False)
    assert list(watched.look()) == []
    capsys.readouterr()
    add(log, lines[1][-2:])  # the last digit: it was cut within a number
    (part,) = watched.look()
    assert (part.table.rows.tolist(), part.finished, part.told) == ([2], True, None)
    assert part.table.values[0, -1] == rows_of(4)[1, -1]
    assert "Row 2 went on" in capsys.readouterr().err
    add(log, lines[2].strip())
    assert (list(watched.look()), len(list(watched.look()))) == ([], 1)
    add(log, "\n" + lines[3])
    (part,) = watched.look()
    assert (part.table.rows.tolist(), part.finished, part.told) == ([3, 4], True, 3)
    add(log, lines_of(rows_of(5))[4].strip() + "\r")  # of a line end of two characters
    assert (list(watched.look()), len(list(watched.look()))) == ([], 1)
    add(log, "\n")
    assert [part.told for part in watched.look()] == [5]
    assert capsys.readouterr().err == ""


def test_another_file_is_read_from_its_beginning(watched, log, tmp_path, capsys):
    """Shorter, longer, of the same size; written into the old one, put in its place, or gone for a while."""
    X = rows_of(150)
    others = [rows_of(n, seed) for seed, n in enumerate((150, 60, 200, 200, 3), start=1)]

    def rows():
        return [part.table.values for _ in range(4) for part in watched.look()]

    log.write_text(HEAD + "".join(lines_of(X)))
    np.testing.assert_array_equal(*rows(), X)
    for i, other in enumerate(others):
        capsys.readouterr()
        text = HEAD + "".join(lines_of(other))
        if i % 2:
            (tmp_path / "next.csv").write_text(text)
            os.replace(tmp_path / "next.csv", log)
        else:
            log.write_text(text)
        np.testing.assert_array_equal(*rows(), other)
        assert capsys.readouterr().err.count("is read from the beginning") == 1
    log.unlink()
    assert rows() == []
    log.write_text(HEAD + "".join(lines_of(X)))
    np.testing.assert_array_equal(*rows(), X)


def test_a_file_that_is_written_anew_with_further_rows_goes_on(watched, log, tmp_path, capsys):
    X = rows_of(160)
    text = [HEAD + "".join(lines_of(X[:n])) for n in (150, 160)]
    log.write_text(text[0])
    assert sum(len(part.table.values) for part in watched.look()) == 150
    log.write_text(text[1][:2000])  # seen in the middle of it
    assert list(watched.look()) == []
    log.write_text(text[1])
    (part,) = watched.look()
    np.testing.assert_array_equal(part.table.values, X[150:])
    (tmp_path / "next.csv").write_text(text[1] + lines_of(rows_of(1), 160)[0])
    os.replace(tmp_path / "next.csv", log)
    (part,) = watched.look()
    assert part.table.rows.tolist() == [161]
    assert "beginning" not in capsys.readouterr().err


@pytest.mark.parametrize("at", [1, 30, 99, 140])
@pytest.mark.parametrize("bad", ["restart\n", "1;2;3;4;5;6\n", '"no end;1\n'])
@pytest.mark.parametrize("live", [True, False], ids=["as it comes", "at once"])
def test_a_line_that_is_no_row_is_told_and_left_out(watched, log, at, bad, live, capsys):
    X = rows_of(160)
    lines = lines_of(X)
    lines[at:at] = [bad]
    lines[at + 3 : at + 3] = [bad, bad]
    parts = []
    if live:
        add(log, HEAD)
        for begin in range(0, len(lines), 5):
            add(log, "".join(lines[begin : begin + 5]))
            parts += watched.look()
    else:
        add(log, HEAD + "".join(lines))
        parts += watched.look()
    np.testing.assert_array_equal(np.vstack([part.table.values for part in parts]), X)
    np.testing.assert_array_equal(np.concatenate([part.table.rows for part in parts]), np.arange(1, 161))
    told = [line for line in capsys.readouterr().err.splitlines() if line.endswith("It is left out.")]
    assert len(told) == 3
    if "no end" not in bad:
        places = [int(re.search(r"log\.csv: line (\d+) has", line)[1]) for line in told]
        assert places == [at + 4, at + 7, at + 8]
    add(log, lines_of(X)[0])  # and it is still known as the same file
    (part,) = watched.look()
    assert part.table.rows.tolist() == [161]


def test_a_file_no_part_of_which_is_a_table_is_an_error(watched, log):
    add(log, '"a,b\n1,2\n3,4\n')
    with pytest.raises(TableError, match=r"log\.csv: ends inside a field"):
        list(watched.look())


def test_gaps_in_rows_that_come_alone(log, fitted, tmp_path):
    lines = lines_of(rows_of(3))
    gap = lines[2].replace(lines[2].split(";")[2], "")
    rows = {}
    for missing in Missing:
        log.write_text(HEAD + lines[0] + lines[1])
        watched = Growing(log, Reading(missing=missing), fitted, tmp_path / "part.csv")
        list(watched.look())
        add(log, gap)
        try:
            rows[missing.value] = [part.table.values[0, 1] for part in watched.look()]
        except TableError as error:
            rows[missing.value] = "values are missing" in str(error)
    assert rows == {"error": True, "drop": [], "median": [pytest.approx(rows_of(3)[:2, 1].mean())]}


def test_only_text_is_watched(fitted, tmp_path):
    wide = tmp_path / "wide.csv"
    wide.write_text("a,b\n1,2\n", encoding="utf-16")
    for path, message in (("-", "needs a text file"), (str(wide), "this is UTF-16")):
        with pytest.raises(Exception, match=message):
            next(growing(path, Reading(), fitted, 0.05))


def test_an_alarm_of_a_line_without_an_end_is_told_once(log, tmp_path, capsys):
    from tl1pca import TL1SubspacePCA

    X = rows_of(104)
    fitted = TL1SubspacePCA(1, random_state=0).fit(pd.DataFrame(X[:100], columns=NAMES))
    X[101, 2] += 9.0
    lines, output = lines_of(X[100:], 100), Output(format=Format.csv)
    watched, watch = Growing(log, Reading(), fitted, tmp_path / "p.csv"), Watch(fitted, 0.9999, None, False)
    counts = []
    for text in (HEAD + lines[0] + lines[1].strip(), "", "\n", "".join(lines[2:])):
        add(log, text)
        counts += [watch.show(part.table, output, part.finished, part.told) for part in watched.look()]
    assert counts == [0, 0, 1, 0]  # it counts when it has ended
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("2,")]
    assert len(told) == 1
    assert "p/2" in told[0]
    np.testing.assert_array_equal(watch.last, X[102:])
