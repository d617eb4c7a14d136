"""Arrays and a JSON header in one file that is checked before it is believed.

A zip archive in NumPy's npz convention, nothing in it compressed, with the
SHA-256 of all that comes before it as its closing comment. Declared sizes
are held against the size of the file before anything is allocated, and no
array is unpickled.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import struct
import zipfile
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

__all__ = ["ASK", "RefusedError", "digest", "pack", "plain", "refuse", "unpack"]

Array = NDArray[Any]

HEADER = "header.json"
#: JSON may take thirty times its size in memory; what is long goes into arrays.
MAX_HEADER = 1 << 20
#: Entries of the archive; a pipeline of a hundred steps has fewer.
MAX_MEMBERS = 4096
#: The closing record of a zip archive, and the bytes that its directory may take for each of our names.
_END, _MOST_PER_ENTRY = struct.Struct("<4s4H2LH"), 64
DIGEST = 64  # hexadecimal digits of a SHA-256
ASK = "Ask whoever gave it to you for a file that tl1pca.save wrote."


class RefusedError(ValueError):
    """What is wrong with a file or a model, and what to do."""


def refuse(reason: str) -> NoReturn:
    """End the reading or writing of a file."""
    raise RefusedError(reason)


def plain(dtype: np.dtype[Any]) -> bool:
    """Whether an array holds numbers that mean the same everywhere."""
    return dtype.kind in "biuf" and dtype.itemsize <= 8


def digest(body: bytes | memoryview) -> bytes:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(body).hexdigest().encode()


def pack(header: dict[str, Any], arrays: Sequence[Array]) -> bytes:
    """The bytes of a file; the same for the same content."""
    members = {HEADER: json.dumps(header, indent=1, allow_nan=False).encode()}
    for i, array in enumerate(arrays):
        buffer = io.BytesIO()
        npy.write_array(buffer, array, version=(1, 0), allow_pickle=False)
        members[f"{i}.npy"] = buffer.getvalue()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as out:
        for name, content in members.items():
            out.writestr(zipfile.ZipInfo(name), content)  # has a fixed date
        out.comment = b"0" * DIGEST
    body = archive.getvalue()[:-DIGEST]
    return body + digest(body)


def unpack(content: bytes) -> tuple[Any, list[Array]]:
    """Header and arrays in the bytes of a file; the header may be any JSON."""
    # The name of the first member tells other archives from files that were damaged.
    if content[:4] != b"PK\x03\x04" or content[30 : 30 + len(HEADER)] != HEADER.encode():
        refuse(
            "it is no model file. Give a file that tl1pca.save wrote; pickles are not read, "
            "because reading one runs what is in it."
        )
    if digest(memoryview(content)[:-DIGEST]) != content[-DIGEST:]:
        refuse("its checksum is wrong: it was cut off or changed. Copy it again, or save the model again.")
    _check_directory(content)
    header, *arrays = _members(content)
    document = json.loads(header, parse_constant=_no_constant, object_pairs_hook=_no_key_twice)
    return document, [_read_array(array) for array in arrays]


def _no_constant(name: str) -> NoReturn:
    refuse(f"its header holds {name}. {ASK}")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        refuse(f"its header has an entry twice. {ASK}")
    return found


def _check_directory(content: bytes) -> None:
    """Refuse a long or hidden directory before anything is made of its entries.

    The archive ends in its directory, the closing record and our comment.
    """
    at = len(content) - DIGEST - _END.size
    if at < 0:
        refuse(f"it is too short to be a model file. {ASK}")
    signature, disk, first, here, entries, size, offset, comment = _END.unpack_from(content, at)
    plain_end = (signature, disk, first, here, comment) == (b"PK\x05\x06", 0, 0, entries, DIGEST)
    extended = content[at - 20 : at - 16] == b"PK\x06\x07"  # says other numbers, further ahead
    if not plain_end or extended or offset + size != at or size > entries * _MOST_PER_ENTRY:
        refuse(f"the end of it is not that of a model file. {ASK}")
    if entries > MAX_MEMBERS:
        refuse(f"it has {entries} members, {MAX_MEMBERS} are allowed. {ASK}")


def _members(content: bytes) -> list[bytes]:
    """Parts of the archive; none is compressed, so none is larger than the file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        names = [entry.filename for entry in entries]
        expected = [HEADER, *(f"{i}.npy" for i in range(len(entries) - 1))]
        if names != expected:
            odd = [name for name, want in zip(names, expected) if name != want]
            refuse(f"it holds members that a model file does not have, {odd[:3]}. {ASK}")
        if any(entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1 for entry in entries):
            refuse(f"it is compressed or encrypted, which no model file is. {ASK}")
        # Entries may point to the same bytes.
        if sum(entry.file_size for entry in entries) > len(content):
            refuse(f"it declares more content than it has bytes. {ASK}")
        if entries[0].file_size > MAX_HEADER:
            refuse(f"its header has {entries[0].file_size} bytes, {MAX_HEADER} are allowed. {ASK}")
        return [archive.read(entry) for entry in entries]


def _read_array(content: bytes) -> Array:
    """An array of plain numbers whose declared size is the size there is."""
    stream = io.BytesIO(content)
    if npy.read_magic(stream) != (1, 0):
        refuse(f"an array is of another npy version than 1.0. {ASK}")
    shape, fortran, dtype = npy.read_array_header_1_0(stream, max_header_size=1000)
    if not plain(dtype):
        refuse(f"an array holds {dtype}, which is not plain numbers. {ASK}")
    start = stream.tell()
    if any(side < 0 for side in shape) or math.prod(shape) * dtype.itemsize != len(content) - start:
        refuse(f"an array declares the shape {shape}, which is not the size it has. {ASK}")
    flat = np.frombuffer(content, dtype=dtype, offset=start)
    return flat.reshape(shape, order="F" if fortran else "C").copy(order="K")
