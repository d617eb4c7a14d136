"""Run the blocks of a page in order and hold their output against what the page shows.

Output of a Python block is in the `text` block that follows it; a `console` block has
commands after a $ with their output (both streams) below, run in an empty folder.

python docs/run_blocks.py docs/getting_started.md            # exit code 1 where they differ
python docs/run_blocks.py docs/getting_started.md --write    # put what was printed into the page
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?P<gap>\s*```text\n)?(?P<shown>.*?(?=```))?", re.DOTALL)
CONSOLE = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
COMMAND = re.compile(r"^\$ (?P<command>.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", re.MULTILINE)


def run(page):
    """The page with the output of this run of its Python blocks."""
    names, done, position = {"__name__": "__main__"}, [], 0
    for block in BLOCK.finditer(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], "block", "exec"), names)
        if block["gap"]:
            done += [page[position : block.start("shown")], printed.getvalue()]
            position = block.end("shown")
    return "".join([*done, page[position:]])


def in_shell(line, folder):
    """What a line of a shell prints in a folder."""
    define = 'tl1pca() { "$PYTHON" -m tl1pca.cli "$@"; }\n'
    done = subprocess.run(
        ["bash", "-c", define + line],
        cwd=folder,
        env=os.environ | {"PYTHON": sys.executable, "COLUMNS": "80"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def run_console(page, shell=in_shell):
    """The page with the output of this run of its commands."""
    with tempfile.TemporaryDirectory() as folder:

        def one(match):
            return f"$ {match['command']}\n{shell(match['command'], folder)}"

        return CONSOLE.sub(lambda block: COMMAND.sub(one, block[0]), page)


if __name__ == "__main__":
    path = Path(sys.argv[1]).resolve()
    old = path.read_text()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty, contextlib.chdir(empty):
        new = run(run_console(old))  # what blocks write stays there
    if "--write" in sys.argv:
        path.write_text(new)
    elif new != old:
        sys.exit(
            f"{path}: the output shown is not what the blocks print; run with --write and look at the change."
        )
