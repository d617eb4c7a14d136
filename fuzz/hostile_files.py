"""Files made to do harm or to be misread, each with the ending that chooses its reader.

They are built when asked for: some are large, and none belongs into a repository.
"""

import io
import os
import struct
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
    "understated compressed bomb",
)

#: Name of the case: ending of the file, and how it is made.
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
    "same name": (".csv", lambda: b",".join([b"x"] * 50_000) + b"\n" + b",".join([b"1"] * 50_000) + b"\n"),
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
    "sparse matrix": (".mat", lambda: saved_mat({"X": scipy.sparse.eye(5, format="csc")})),
}
