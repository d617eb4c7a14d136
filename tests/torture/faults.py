"""A full disk and a folder that may not be written to: a clear error, nothing lost, nothing left behind.

Run as a script it is the process that meets the fault:
python -m torture.faults {full,readonly} {save,reproduce} FOLDER
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from torture import environment, script

NOBODY = 65534
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
        command, own = script("faults", fault, what, folder), environment(MPLCONFIGDIR=str(base))
        done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
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
        tl1pca.save(tl1pca.L1PCA(2).fit(rows), folder / "model.npz")
    except OSError as error:
        sys.exit(str(error))


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
        if os.getuid() == 0:  # who may write everywhere
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
    _work(what, folder)


if __name__ == "__main__":
    _suffer(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
