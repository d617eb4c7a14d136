"""What has been computed so far, kept so that a run may be killed at any moment.

One line of JSON per finished cell, appended and flushed. A line that was cut
off when the process died is dropped at the next start, so nothing has to be
repaired by hand. Floats are written with all their digits: what is read back
is what was computed.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

Record = dict[str, Any]


class Journal:
    """An append-only file of finished cells, by key.

    Parameters
    ----------
    path : Path
        Made when missing. While it is open no second run may write to it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "study.jsonl"
    >>> with Journal(path) as journal:
    ...     journal.append("k", {"x": 0.1})
    >>> with Journal(path) as journal:
    ...     journal.records
    {'k': {'x': 0.1}}
    """

    def __init__(self, path: Path):
        self.path = path
        self.records: dict[str, Record] = {}
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b")
        try:
            _lock(self._file, self.path)
            self.records = self._read(self._file)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def append(self, key: str, record: Record) -> None:
        """Keep a finished cell."""
        if self._file is None:
            raise ValueError("The journal is not open.")
        line = json.dumps({"key": key, "record": record}, separators=(",", ":"), allow_nan=True)
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        self.records[key] = record

    def _read(self, file: IO[bytes]) -> dict[str, Record]:
        file.seek(0)
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)
        records = {}
        for line in content[:whole].splitlines():
            try:
                entry = json.loads(line)
                records[entry["key"]] = entry["record"]
            except (ValueError, KeyError, TypeError):
                continue  # not ours, or damaged on disk: the cell is computed again
        return records


def _lock(file: IO[bytes], path: Path) -> None:
    """Refuse a second writer; the lock vanishes with the process, however it dies."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ValueError(
            f"Another run is writing to {str(path.parent.parent)!r}; wait for it or choose another --out."
        ) from None
