"""What the README promises to a newcomer: two commands on a fresh clone; ``make firstcontact``.

The commit that is checked out is cloned into a folder that only its owner can
read, whose name has spaces and umlauts, with umask 077. There ``make demo``
and ``make test`` run twice, as the user who calls this and, for root, as an
ordinary user as well, who is made for the purpose and removed afterwards.

python tests/first_contact.py [--make TARGET ...] [--once]
"""

import argparse
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAME = "tl1pca-newcomer"
FOLDER = "Neue Prüfung/tl1 päckchen"


def walk(home, user, targets, times):
    """Clone and make, as a user; gives the targets that failed."""
    owner = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    python = sys.executable if user is None else shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
    paths = os.environ["PATH"] if user is None else "/usr/local/bin:/usr/bin:/bin"
    environment = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "TL1PCA_DATA")
    }
    environment |= {
        "HOME": str(home),
        "PATH": paths,
        "USER": user.pw_name if user else os.environ.get("USER", ""),
    }

    def run(*command, cwd):
        print("$", *command, f"(as {user.pw_name if user else 'this user'})", flush=True)
        done = subprocess.run(command, cwd=cwd, env=environment, umask=0o077, check=False, **owner)
        return done.returncode

    clone = home / FOLDER
    run("mkdir", "-p", str(clone.parent), cwd=home)
    bundle = home.parent / "tl1pca.bundle"
    if run("git", "-c", "advice.detachedHead=false", "clone", "--quiet", str(bundle), str(clone), cwd=home):
        return ["git clone"]
    calls = [target for _ in range(times) for target in targets]
    return [target for target in calls if run("make", f"PYTHON={python}", target, cwd=clone)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--make", nargs="+", default=["demo", "test"], metavar="TARGET")
    parser.add_argument("--once", action="store_true", help="do not repeat the commands")
    options = parser.parse_args()
    failed = {}
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        base.chmod(0o755)
        bundle = str(base / "tl1pca.bundle")
        subprocess.run(["git", "bundle", "create", "--quiet", bundle, "HEAD"], cwd=ROOT, check=True)
        users = [None]
        if os.getuid() == 0:
            subprocess.run(["useradd", "--no-create-home", NAME], check=True)
            users.append(pwd.getpwnam(NAME))
        try:
            for user in users:
                home = base / (user.pw_name if user else "own")
                home.mkdir(mode=0o700)
                if user is not None:
                    os.chown(home, user.pw_uid, user.pw_gid)
                failed[home.name] = walk(home, user, options.make, 1 if options.once else 2)
        finally:
            if os.getuid() == 0:
                subprocess.run(["userdel", NAME], check=False)
    print(
        *(f"{who}: {'failed: ' + ', '.join(what) if what else 'fine'}" for who, what in failed.items()),
        sep="\n",
    )
    sys.exit(int(any(failed.values())))


if __name__ == "__main__":
    main()
