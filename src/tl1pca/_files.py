"""How files get to the disk: all at once or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Put a file in place in one step; whoever reads it finds the old one or the new one.

    The content goes to a hidden file in the same folder, to the disk, and is
    then moved over the old file. When that fails (disk full, no permission)
    the old file is as it was and nothing is left behind. Only a process that
    is killed may leave its hidden file, ``.tl1pca-*.partial``, which is safe
    to delete.

    Parameters
    ----------
    path : path-like
        A link is followed; permissions of a file that is replaced are kept.
    data : bytes or str
        Text is written as UTF-8.
    """
    target = Path(os.path.realpath(path))
    content = data.encode() if isinstance(data, str) else data
    partial = target.with_name(f".tl1pca-{secrets.token_hex(8)}.partial")
    try:
        mode = _permissions(target) if target.exists() else None
        try:
            with partial.open("xb") as file:
                if mode is not None:
                    partial.chmod(mode)  # before there is anything to read
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(
            error.errno,
            f"{str(path)!r} could not be written ({reason}); what was there before is unchanged. "
            "Choose a folder that exists, may be written to and has room",
        ) from error
    _sync_folder(target.parent)


def _permissions(target: Path) -> int:
    mode = target.stat().st_mode
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is there and is no plain file")
    return stat.S_IMODE(mode)


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut as well, where folders can be synced."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
