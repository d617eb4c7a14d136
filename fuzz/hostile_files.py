"""Files made to do harm or to be misread, each with the ending that chooses its reader.

They are built when asked for: some are large, and none belongs into a repository.
"""

import base64
import gzip
import io
import os
import struct
import warnings
import zipfile
import zlib

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.io
import scipy.sparse
from pyarrow import parquet

#: Where the pickles below try to leave a trace.
TRACE = "TL1PCA_FUZZ_TRACE"

BOMB = 1 << 28


class Evil:
    """What a pickle can do: run a command when it is loaded."""

    def __reduce__(self):
        return os.system, (f'touch "${TRACE}"',)


def npy(header, body=b"", version=1):
    text = header if isinstance(header, bytes) else header.encode("latin-1")
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + body


def npy_of(shape, descr="'<f8'", body=b""):
    return npy(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n", body)


def saved_npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def zipped(members, compression=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def bomb_npz():
    """256 MiB of zeros, honestly declared, in a quarter of a megabyte."""
    return zipped([("X.npy", npy_of((8192, 4096), body=bytes(BOMB)))])


def understated_npz():
    """A small array followed by 256 MiB that its header does not speak of."""
    return zipped([("X.npy", npy_of((4, 2), body=bytes(BOMB)))])


def many_parts_npz():
    empty = npy_of((0,))
    return zipped([(f"{i}.npy", empty) for i in range(30_000)], zipfile.ZIP_STORED)


def saved_parquet(table, **options):
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, **options)
    return buffer.getvalue()


def repeated_text_parquet():
    """A label of 4 MiB in each of a million rows, stored once."""
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**6, np.int32)), pa.array(["x" * (4 << 20)]))
    return saved_parquet(pa.table({"name": text, "x": np.arange(10**6)}), store_schema=False)


def constant_parquet():
    """A hundred million rows in a few kilobytes."""
    chunk = pa.chunked_array([pa.array(np.zeros(10**6))] * 100)
    return saved_parquet(pa.table({"x": chunk, "y": chunk}))


def edited_parquet(old, new):
    """A valid file whose bytes are changed in its footer."""
    content = saved_parquet(pa.table({"x": np.arange(1000.0), "y": np.arange(1000.0)}))
    at = content.rindex(old)
    return content[:at] + new + content[at + len(old) :]


def saved_mat(contents, **options):
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, contents, **options)
    return buffer.getvalue()


def nested_mat(depth=100):  # more than that scipy cannot write
    inner = {"x": 1.0}
    for _ in range(depth):
        inner = {"s": inner}
    return saved_mat({"deep": inner})


def mat(*elements):
    return b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H2s", 0x0100, b"IM") + b"".join(elements)


def mat_matrix(shape, data, count=None, code=9):
    """A matrix X of doubles; `count` and `code` are what the tag of the data claims."""
    size = len(data) if count is None else count
    parts = struct.pack("<IIII", 6, 8, 6, 0)  # class double
    parts += struct.pack("<II", 5, 4 * len(shape)) + struct.pack(f"<{len(shape)}i", *shape)
    parts += b"\0" * (-len(parts) % 8)
    parts += struct.pack("<HH4s", 1, 1, b"X\0\0\0")
    parts += struct.pack("<II", code, size) + data
    return struct.pack("<II", 14, len(parts)) + parts


def compressed(element):
    packed = zlib.compress(element)
    return struct.pack("<II", 15, len(packed)) + packed


def early_end_mat(kept=9, after=b"\0", more=1000):
    """A compressed stream that ends inside the variable, with a byte after it and less than declared."""
    packed = zlib.compress(mat_matrix((2, 2), bytes(32))[:kept]) + after
    return mat(struct.pack("<II", 15, len(packed) + more) + packed)


def repeated_member_npz(small=999, shape=(8192, 4096)):
    """Small arrays, and after them a large one with the name of the first."""
    large = npy_of(shape, body=bytes(8 * shape[0] * shape[1]))
    others = [(f"x{i}.npy", npy_of((0,))) for i in range(small)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the repeated name
        return zipped([("X.npy", saved_npy(np.eye(3))), *others, ("X.npy", large)])


def long_header_npz():
    """A header of 256 MiB in a quarter of a megabyte."""
    return zipped([("X.npy", npy(b" " * BOMB, version=2))])


def long_label_parquet():
    """A label of 256 MiB in ten kilobytes."""
    table = pa.table({"name": ["x" * BOMB, "y"], "x": [1.0, 2.0]})
    return saved_parquet(table, use_dictionary=False, compression="zstd", write_statistics=False)


def wide_labels_parquet():
    """Labels of sixteen million characters of four bytes each, and a short one in the next row."""
    return saved_parquet(
        pa.table({"name": ["\U0001f600" * (8 << 20), "y"], "x": [1.0, 2.0]}), compression="zstd"
    )


def endless_record_csv():
    """Every line ends inside quotation marks: one record of 48 million characters."""
    return b'a,b\n1,"' + b'x\n","' * (48_000_000 // 5)


SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def xlsx_cell(value, place=""):
    at = f' r="{place}"' if place else ""
    if isinstance(value, bool):
        return f'<c{at} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        text = value.replace("&", "&amp;").replace("<", "&lt;")
        return f'<c{at} t="inlineStr"><is><t>{text}</t></is></c>'
    return f"<c{at}/>" if value is None else f"<c{at}><v>{value!r}</v></c>"


def xlsx_rows(rows):
    """The content of a sheet."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return "".join(
        f'<row r="{i}">' + "".join(xlsx_cell(v, f"{letters[j]}{i}") for j, v in enumerate(row)) + "</row>"
        for i, row in enumerate(rows, start=1)
    )


def xlsx(sheets, extra=()):
    """A workbook of sheets by name, each the content of its sheetData."""
    listed = "".join(
        f'<sheet name="{n}" sheetId="{i}" r:id="rId{i}"/>' for i, n in enumerate(sheets, start=1)
    )
    related = "".join(
        f'<Relationship Id="rId{i}" Type="{DOCUMENT}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i in range(1, len(sheets) + 1)
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    parts = {
        "[Content_Types].xml": f'{head}<Types xmlns="{PACKAGE}/content-types"/>',
        "_rels/.rels": f'{head}<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{DOCUMENT}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{head}<workbook xmlns="{SPREADSHEET}" xmlns:r="{DOCUMENT}">'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'{head}<Relationships xmlns="{PACKAGE}/relationships">{related}'
        "</Relationships>",
    }
    for i, rows in enumerate(sheets.values(), start=1):
        parts[f"xl/worksheets/sheet{i}.xml"] = (
            f'{head}<worksheet xmlns="{SPREADSHEET}"><sheetData>{rows}</sheetData></worksheet>'
        )
    return zipped([*parts.items(), *extra])


def far_cell_xlsx(place="XFD1048576"):
    """Two cells in the corners of a sheet: a rectangle of 17 billion."""
    return xlsx({"s": f'<row r="1">{xlsx_cell(1.0, "A1")}</row><row>{xlsx_cell(2.0, place)}</row>'})


def wide_csv(columns=10**6):
    return b",".join(b"c%d" % i for i in range(columns)) + b"\n" + b",".join([b"1"] * columns) + b"\n"


def text_frame(n=200, d=4):
    values = np.random.default_rng(0).normal(size=(n, d)).round(3)
    return pd.DataFrame(values, columns=list("abcd")[:d], index=[f"row {i}" for i in range(n)])


#: Cases that are about memory, and take some to make.
LARGE = (
    "one long line",
    "one long line of fields",
    "million columns",
    "bomb",
    "understated bomb",
    "repeated long text",
    "hundred million rows",
    "compressed bomb",
    "repeated member",
    "long header in an archive",
    "long label",
    "labels of wide characters",
    "endless record",
    "packed newlines",
    "packed numbers",
    "cells far apart",
    "cells far apart, without places",
    "packed text in a workbook",
    "understated compressed bomb",
)

#: Name of the case: ending of the file, and how it is made.
#: A Parquet file that the fuzzer found: its statistics contradict its schema, and Arrow 26 ends the process
#: when the metadata of a column are asked for.
HISTOGRAM_MISMATCH = (
    "eNqVVE1PE1EUfTPUaa1dgPFN3mhNqpEJLIAWy5eWTN5UgUYUbDAEQkwL1mqEtg5iiXHD0mhiXJj4sXBh3PoDjLHE8APYmWiIEiFu"
    "IHEBe9+986aUDxfcvJ5z5757zzudmXaYp2NUo68UsSYoowQ/PkqOhztJk+r0MNWJNjQQQpiiCnSiiDHEdsTziHHEDsROxC7EbsSe"
    "OpyKugQnLili7TmRBezM+vLZH9sWC7x5DaEu6qTpgKp0NPL7w9ulyKK1+ujEx/7VT1b5y7uTbStbVm/w2/tS71bFa9cWXiafTv+p"
    "vNh8bHXc/G55goNdT3hmfcM61bZyTlvYrDRPPP+63fS3cnr81sWfQ6vWf30eI26wgEwI+NxflT69Sy9RJddJ9kk+IlmT7Jfs6R2V"
    "HJQD3oHCZz2t91xq0qWiiCV8Idc8Q6ZQnzHRQZg2O3UnN5OlAUJDjSrzFbIzuUYyGAbFoCgo8+ILAxcIJcCTRGdG2Bg0SZiGjEaN"
    "GO4QFXV9TRHLDCR2vTdGWFgiVCUJPW5ohkmYEIfxoDuuzOPssiqWuaEkDvUK7Ig3mzXSPildqJH+7Esc6qnVSNe6JgbVhPIkKmf0"
    "jPnMn9h3n3FW2zWrr/l1ZgYEiV0W4un00OgF9+6zX2obRJnbnPPr3I0rnItCnvdxnufJPNZs0XAVkiTnKSzssBxN3oNsHJvKgJcB"
    "bg+jvmgZQ/2+ar8MSPtByi6ClWK1P4VNAwf2xyFLgc8ktuS9XRs7r40IkW6wcAlN2PmqHzcgtYXIGMz3A7uRgp0boCdGBkAfT7Sr"
    "c32uXnmPHpxqz42Nxqa9a1vuExYpZZ37c7kHLVOlUkvWcYrlyMOcM3u3WIi0d7ZGW2MGvPXVRc6IX+aw+Gv8B/D8BP0="
)


HOSTILE = {
    "empty": (".csv", lambda: b""),
    "only newlines": (".csv", lambda: b"\n" * 10**6),
    "only commas": (".csv", lambda: b"," * 10**6),
    "one long line": (".csv", lambda: b"1" * 10**8),
    "one long line of fields": (".csv", lambda: b"12," * (10**8 // 3)),
    "million columns": (".csv", wide_csv),
    "NUL bytes": (".csv", lambda: b"a,b\n1,\0\n"),
    "only NUL bytes": (".csv", lambda: bytes(10**7)),
    "open quotation mark": (".csv", lambda: b'a,b\n1,"2\n' + b"3,4\n" * 10**6),
    "quotation marks": (".csv", lambda: b'"' * 10**7),
    "long field": (".csv", lambda: b"a,b\n" + b"9" * 200_000 + b",1\n"),
    "huge exponents": (".csv", lambda: b"a,b\n1e999999999,1e-999999999\n1,2\n"),
    "ragged": (".csv", lambda: b"a,b\n1,2\n1,2,3\n"),
    "same name": (".csv", lambda: b",".join([b"x"] * 15_000) + b"\n" + b",".join([b"1"] * 15_000) + b"\n"),
    "names that clash": (".csv", lambda: b"x,x (2),x,x\n1,2,3,4\n5,6,7,9\n"),
    "escape sequences": (".csv", lambda: b"\x1b[2J,\x1b]0;x\x07b\n\x1b[31m,1\nok,2\n"),
    "formulas": (".csv", lambda: b"name,b\n\"=cmd|' /C calc'!A0\",1\n@SUM(1),2\n"),
    "Latin-1": (".csv", lambda: "größe,b\n1,2\n".encode("latin-1")),
    "cut UTF-16": (".csv", lambda: "a,b\n1,2\n".encode("utf-16")[:-1]),
    "lone surrogates": (".csv", lambda: b"a,\xed\xa0\x80\n1,2\n"),
    "random bytes": (".csv", lambda: np.random.default_rng(0).bytes(10**6)),
    "a picture": (".csv", lambda: b"\x89PNG\r\n\x1a\n" + bytes(1000)),
    "underscores": (".csv", lambda: b"a,b\n1_000,2\n2_000,3\n"),
    "late text": (".csv", lambda: b"a,b\n" + b"1,2\n" * 10**6 + b"x,y\n"),
    "pickled objects": (".npy", lambda: saved_npy(np.array([Evil(), 1], dtype=object))),
    "pickle": (".npy", lambda: b"\x80\x04\x95"),
    "endless shape": (".npy", lambda: npy_of((2**40,))),
    "endless matrix": (".npy", lambda: npy_of((2**31, 2**31))),
    "shape beyond all integers": (".npy", lambda: npy_of((10**100, 1))),
    "negative shape": (".npy", lambda: npy_of((-1, 5), body=bytes(400))),
    "boolean shape": (".npy", lambda: npy_of("(True, True)", body=bytes(8))),
    "lying shape": (".npy", lambda: npy_of((1000, 1000), body=bytes(800))),
    "wide matrix": (".npy", lambda: npy_of((1, 2_000_000), "'|u1'", bytes(2_000_000))),
    "nested header": (".npy", lambda: npy("(" * 9000)),
    "long header": (".npy", lambda: npy(b" " * (1 << 20), version=2)),
    "header that calls": (".npy", lambda: npy("__import__('os').system('true')\n")),
    "structured type": (".npy", lambda: saved_npy(np.zeros(3, dtype=[("a", "f8"), ("b", "f8")]))),
    "object type in a matrix": (".npy", lambda: npy_of((2, 2), "'|O'", bytes(32))),
    "bomb": (".npz", bomb_npz),
    "understated bomb": (".npz", understated_npz),
    "thirty thousand parts": (".npz", many_parts_npz),
    "names with paths": (".npz", lambda: zipped([("../../evil.npy", saved_npy(np.eye(3)))])),
    "pickle in an archive": (".npz", lambda: zipped([("X.npy", saved_npy(np.array([Evil()] * 2)))])),
    "same name twice": (".npz", lambda: zipped([("X.npy", saved_npy(np.eye(3))), ("X", b"?")])),
    "large array of the same name": (
        ".npz",
        lambda: repeated_member_npz(small=3, shape=(2048, 2048)),
    ),
    "no arrays": (".npz", lambda: zipped([("readme.txt", b"hello")])),
    "cut archive": (".npz", lambda: zipped([("X.npy", saved_npy(np.eye(100)))])[:-40]),
    "repeated long text": (".parquet", repeated_text_parquet),
    "hundred million rows": (".parquet", constant_parquet),
    "understated rows": (".parquet", lambda: edited_parquet(b"\xd0\x0f", b"\x82\x00")),
    "overstated rows": (".parquet", lambda: edited_parquet(b"\xd0\x0f", b"\xff\x7f")),
    "long footer": (".parquet", lambda: b"PAR1" + bytes(100) + b"\xff\xff\xff\x7fPAR1"),
    "negative footer": (".parquet", lambda: b"PAR1" + bytes(100) + b"\xff\xff\xff\xffPAR1"),
    "same column twice": (
        ".parquet",
        lambda: saved_parquet(pa.Table.from_arrays([pa.array([1.0, 2.0])] * 2, ["x", "x"])),
    ),
    "nested columns": (".parquet", lambda: saved_parquet(pa.table({"a": [[1.0]], "b": [{"c": 1}]}))),
    "histogram that does not fit": (
        ".parquet",
        lambda: zlib.decompress(base64.b64decode(HISTOGRAM_MISMATCH)),
    ),
    "no columns": (".parquet", lambda: saved_parquet(pa.table({}))),
    "nested structures": (".mat", nested_mat),
    "only structures": (".mat", lambda: saved_mat({"s": {"a": np.eye(3)}, "t": "text"})),
    "endless dimensions": (".mat", lambda: mat(mat_matrix((2**31 - 1, 2**31 - 1), bytes(80)))),
    "negative dimensions": (".mat", lambda: mat(mat_matrix((-5, -2), bytes(80)))),
    "too much data": (".mat", lambda: mat(mat_matrix((2, 2), bytes(32), count=0xFFFFFFF0))),
    "unknown type of data": (".mat", lambda: mat(mat_matrix((2, 2), bytes(32), code=0))),  # crashes scipy
    "compressed bomb": (".mat", lambda: mat(compressed(mat_matrix((8192, 4096), bytes(BOMB))))),
    "understated compressed bomb": (".mat", lambda: mat(compressed(mat_matrix((2, 2), bytes(BOMB))))),
    "version 7.3": (".mat", lambda: b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + bytes(400)),
    "HDF5": (".mat", lambda: b"\x89HDF\r\n\x1a\n" + bytes(600)),
    "version 4, endless": (".mat", lambda: struct.pack("<5i", 0, 2**31 - 1, 2**31 - 1, 0, 2) + b"X\0"),
    "stream that ends early": (".mat", early_end_mat),
    "repeated member": (".npz", repeated_member_npz),
    "long header in an archive": (".npz", long_header_npz),
    "long label": (".parquet", long_label_parquet),
    "labels of wide characters": (".parquet", wide_labels_parquet),
    "twenty thousand columns": (
        ".parquet",
        lambda: saved_parquet(pa.table({f"c{j}": [float(j)] for j in range(20_000)})),
    ),
    "endless record": (".csv", endless_record_csv),
    "packed newlines": (".csv.gz", lambda: gzip.compress(b"\n" * BOMB * 2)),
    "packed numbers": (".csv.gz", lambda: gzip.compress(b"a,b\n" + b"1,2\n" * (BOMB >> 3))),
    "cut gzip": (".csv.gz", lambda: gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:-20]),
    "no gzip": (".csv.gz", lambda: b"a,b\n1,2\n"),
    "cells far apart": (".xlsx", far_cell_xlsx),
    "cells far apart, without places": (
        ".xlsx",
        lambda: xlsx(
            {"s": "<row>" + xlsx_cell(1.0) * 16_384 + "</row>" + '<row r="1048576"><c r="A1048576"/></row>'}
        ),
    ),
    "place in entities": (".xlsx", lambda: far_cell_xlsx("&#88;FD1048576")),
    "place in lower case": (".xlsx", lambda: far_cell_xlsx("xfd1048576")),
    "packed text in a workbook": (
        ".xlsx",
        lambda: xlsx({"s": xlsx_rows([["a"], [1.0]])}, [("xl/sharedStrings.xml", b" " * BOMB * 2)]),
    ),
    "no workbook": (".xlsx", lambda: zipped([("readme.txt", b"hello")])),
    "cut workbook": (".xlsx", lambda: xlsx({"s": xlsx_rows([["a"], [1.0]])})[:-60]),
    "sparse matrix": (".mat", lambda: saved_mat({"X": scipy.sparse.eye(5, format="csc")})),
}
