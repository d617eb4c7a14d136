"""Docstrings read well in a terminal: |t| and components_ are written as they are, not escaped for a page.

This extension escapes them on the way to the page, before numpydoc sees them. What stands in backticks, in a
formula or in an example is left alone.
"""

import re

PROTECTED = re.compile(r"(``.*?``|:\w+:`.*?`|`.*?`)")
TRAILING = re.compile(r"(?<![\w\\])([A-Za-z]\w*?)_(?!\w)")
BAR = re.compile(r"(?<!\\)\|")
#: A line that introduces a parameter or attribute; numpydoc escapes the names before the colon itself.
ENTRY = re.compile(r"^([\w*, ]+?)( : )(.*)$")


def escape(text):
    parts = PROTECTED.split(text)
    parts[::2] = [BAR.sub(r"\\|", TRAILING.sub(r"\1\\_", part)) for part in parts[::2]]
    return "".join(parts)


def process(app, what, name, obj, options, lines):
    example, fields = False, False
    for i, line in enumerate(lines):
        heading = i + 1 < len(lines) and lines[i + 1].strip() and set(lines[i + 1].strip()) == {"-"}
        if heading:
            example = line.strip() == "Examples"
            fields = line.strip() in ("Parameters", "Attributes", "Returns")
        if example:
            continue
        entry = ENTRY.match(line) if fields else None
        if entry:
            lines[i] = entry[1] + entry[2] + escape(entry[3])
        else:
            lines[i] = escape(line)


def setup(app):
    app.connect("autodoc-process-docstring", process, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
