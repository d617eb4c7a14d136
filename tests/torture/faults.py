"""A full disk, a folder that may not be written to, a file that may not be read: a clear error, nothing lost.

Run as a script it is the process that meets the fault, as a user without privileges but for the full disk:
python -m torture.faults {full,readonly} {save,load,reproduce} FOLDER
"""

import ctypes
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

from torture import environment, script

CAPABILITY_VERSION, READ_EVERYTHING = 0x20080522, 1 << 2  # of Linux: version 3, CAP_DAC_READ_SEARCH
#: Largest file the process with the full disk may write, smaller than any of the outputs.
ROOM = 600


def meet(fault, what):
    """Run a command against a fault, with its old output in place.

    Returns the exit code, what was said, and the files by name before and after.
    """
    with tempfile.TemporaryDirectory() as root:
        base = Path(root)
        base.chmod(0o755)
        folder = base / "out"
        (folder / "figures").mkdir(parents=True)
        (folder / "figures" / "operators.png").write_bytes(b"an old figure")
        (folder / "model.npz").write_bytes(b"an old model")
        (folder / "operators.html").write_bytes(b"an old page")
        before = _files(folder)
        command = script("faults", fault, what, folder)
        own = environment(MPLCONFIGDIR=matplotlib.get_configdir())  # where the fonts are known already
        done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
        if (folder / "model.npz").exists():  # the fault may have taken the right to read it
            (folder / "model.npz").chmod(0o644)
        after = _files(folder)
    return done.returncode, done.stderr, before, after


def _files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def _work(what, folder):
    import tl1pca
    from tl1pca.cli import main

    if what == "reproduce":
        main(["reproduce", "operators", "--out", str(folder)])
        return
    rows = [[0.0, 1.0, 2.0], [2.0, 5.0, 1.0], [3.0, 1.0, 0.0]]
    try:
        if what == "load" and (folder / "model.npz").exists():
            tl1pca.load(folder / "model.npz")
            return
        tl1pca.save(tl1pca.L1PCA(2).fit(rows), folder / "model.npz")
    except OSError as error:
        sys.exit(str(error))


def _obey_permissions(reading):
    """Take from root what lets it write everywhere, and unless `reading` read everything, which it needs no
    longer once all is imported.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    old = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice
    if not libc.capget(header, old):
        kept = old[1] & READ_EVERYTHING if reading else 0
        if not libc.capset(header, (ctypes.c_uint32 * 6)(kept, kept)):
            return
    raise OSError(ctypes.get_errno(), "the capabilities of root cannot be given up")


def _suffer(fault, what, folder):
    with tempfile.TemporaryDirectory() as spare:
        try:
            _work(what, Path(spare))  # all that is imported late is imported by now
        except SystemExit as end:
            if end.code:
                raise
    if fault == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))
    else:
        for place in [folder, *(p for p in folder.rglob("*") if p.is_dir())]:
            place.chmod(0o555)
        (folder / "model.npz").chmod(0o000 if what == "load" else 0o644)
        if os.getuid() == 0:
            _obey_permissions(reading=what != "load")
    _work(what, folder)


if __name__ == "__main__":
    _suffer(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
