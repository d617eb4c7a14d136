"""Run the Python blocks of a page in order and hold their output against the `text` blocks that follow them.

python docs/run_blocks.py docs/getting_started.md            # exit code 1 where they differ
python docs/run_blocks.py docs/getting_started.md --write    # put what was printed into the page
"""

import contextlib
import io
import re
import sys
from pathlib import Path

BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?P<gap>\s*```text\n)?(?P<shown>.*?(?=```))?", re.DOTALL)


def run(page):
    """The page with the output of this run, and whether it was the same before."""
    names, done, same, position = {"__name__": "__main__"}, [], True, 0
    for block in BLOCK.finditer(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], "block", "exec"), names)
        if block["gap"]:
            same &= block["shown"] == printed.getvalue()
            done += [page[position : block.start("shown")], printed.getvalue()]
            position = block.end("shown")
    return "".join([*done, page[position:]]), same


if __name__ == "__main__":
    path = Path(sys.argv[1])
    new, same = run(path.read_text())
    if "--write" in sys.argv:
        path.write_text(new)
    elif not same:
        sys.exit(
            f"{path}: the output shown is not what the blocks print; run with --write and look at the change."
        )
