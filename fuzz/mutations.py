"""Valid files of every format, and hypothesis strategies that damage them."""

import gzip
import struct
import zipfile

import hostile_files as h
import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

_X = np.random.default_rng(0).normal(size=(12, 3)).round(3)
_ARROW = pa.table({"name": [f"r{i}" for i in range(12)], "x": _X[:, 0], "n": np.arange(12), "b": [True] * 12})

SEEDS = {
    ".csv": [
        h.text_frame(8, 3).to_csv().encode(),
        b"a;b\n1,5;2\n3;4,5\n",
        b'"a ""q""",b\r\n"x\ny",NA\r\n1,\r\n',
        "größe\tb\n1\t2\n".encode("utf-16"),
    ],
    ".txt": [b"a b\n1 2\n 3  4 \n", b"# x\ty\n1.234,5\t10.650\n"],
    ".csv.gz": [gzip.compress(b"a,b\n1,yes\n2,no\n"), gzip.compress(b"a\n1\n") * 2],
    ".xlsx": [
        h.xlsx({"s": h.xlsx_rows([["n", "a", "b"], ["x", 1.5, True], ["y", 2.0, None]]), "t": ""}),
        h.xlsx({"s": "<row><c><v>1</v></c><c><v>2</v></c></row>"}),
        h.xlsx({"s": h.xlsx_rows([["", ""], ["", ""]])}),
    ],
    ".npy": [
        h.saved_npy(_X),
        h.saved_npy(np.asfortranarray(_X.astype("f4"))),
        h.npy_of((2, 2), body=bytes(32)),
    ],
    ".npz": [
        h.zipped([("X.npy", h.saved_npy(_X)), ("y.npy", h.saved_npy(_X[:, 0]))], kind)
        for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    ],
    ".parquet": [
        h.saved_parquet(_ARROW),
        h.saved_parquet(_ARROW, compression="none", use_dictionary=False, data_page_version="2.0"),
        h.saved_parquet(_ARROW, compression="gzip", row_group_size=5),
    ],
    ".mat": [
        h.saved_mat({"X": _X, "s": {"a": 1}, "t": "text"}),
        h.saved_mat({"X": _X}, do_compression=True),
        h.saved_mat({"X": (_X > 0).astype("u1"), "y": _X[:1, :1]}, do_compression=True),
        h.mat(h.compressed(h.mat_matrix((4, 2), bytes(64)))),
        h.early_end_mat(40),
    ],
}

NUMBERS = [
    0,
    1,
    127,
    255,
    256,
    2**15 - 1,
    2**16 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**63 - 1,
    2**64 - 1,
]


TAGS = ["<row>", "</row>", '<row r="7">', "<c>", '<c r="B3"/>', "<v>1</v>", "</c>", "&"]

#: Edits inside what is compressed, by ending: a checksum would reveal any other.
INSIDE = {
    ".mat": lambda draw: h.early_end_mat(
        draw(st.integers(0, 100)), draw(st.binary(max_size=9)), draw(st.sampled_from([0, 1, 1000, 10**6]))
    ),
    ".csv.gz": lambda draw: gzip.compress(draw(damaged(".csv"))),
    ".xlsx": lambda draw: h.xlsx({"s": draw(st.lists(st.sampled_from(TAGS), max_size=30).map("".join))}),
    ".npz": lambda draw: h.zipped([("X.npy", draw(damaged(".npy")))]),
}


@st.composite
def damaged(draw, ending):
    """A valid file with a few edits, or the parts of two."""
    if ending in INSIDE and draw(st.booleans()):
        return INSIDE[ending](draw)
    content = bytearray(draw(st.sampled_from(SEEDS[ending])))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(0, len(content) - 1)))
        kind = draw(st.sampled_from(["flip", "number", "insert", "delete", "repeat", "cut", "splice"]))
        if kind == "flip" and content:
            content[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "number":
            width, code = draw(st.sampled_from([(1, "<B"), (2, "<H"), (4, "<I"), (4, ">I"), (8, "<Q")]))
            value = draw(st.sampled_from(NUMBERS)) % 256**width
            content[at : at + width] = struct.pack(code, value)
        elif kind == "insert":
            content[at:at] = draw(st.binary(min_size=1, max_size=16))
        elif kind == "delete":
            del content[at : at + draw(st.integers(1, 32))]
        elif kind == "repeat":
            content[at:at] = content[at : at + 64] * draw(st.sampled_from([1, 2, 100, 2000]))
        elif kind == "cut":
            del content[at:]
        elif kind == "splice":
            other = draw(st.sampled_from(SEEDS[ending]))
            content[at:] = other[draw(st.integers(0, len(other))) :]
    return bytes(content)
