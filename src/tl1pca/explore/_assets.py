"""The files of the page. Figures, words and formats are the report's own scripts, as modules."""

from __future__ import annotations

import re
from importlib.resources import files

from ..report._page import asset as of_report

#: Scripts of the report that speak of `data`, in the order in which they need each other.
VIEWS = ("names", "state", "figures", "linked")
#: What the page asks of them.
OFFERED = (
    "state, on, choose, select, positions, pointFigures, listen, drawPoints, drawScree, drawLoadings, "
    "setDragging, logNote, rowName, place"
)
OURS = ("main", "server", "settings", "columns", "curve", "figures", "cells", "table", "row", "decisions")


def assets() -> dict[str, tuple[bytes, str]]:
    """Every file that is served, with its kind."""
    script, style, page = "text/javascript", "text/css", "text/html"
    found = {
        "index.html": (_own("index.html"), page),
        "explore.css": (_own("explore.css"), style),
        "report.css": (of_report("report.css"), style),
        "plotly.js": (of_report("plotly-basic.min.js"), script),
        "text.js": (text_module(), script),
        "views.js": (views_module(), script),
        **{f"{name}.js": (_own(f"{name}.js"), script) for name in OURS},
    }
    return {name: (content.encode(), kind) for name, (content, kind) in found.items()}


def _own(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def text_module() -> str:
    """How the report writes numbers, and makes elements of text."""
    code = of_report("text.js")
    return f"{code}\nexport {{ {', '.join(_declared(code))} }};\n"


def views_module() -> str:
    """The linked figures of the report for any data: a function of it."""
    names = ", ".join(_declared(of_report("text.js")))
    code = "\n".join(of_report(f"{name}.js") for name in VIEWS)
    return (
        f'import {{ {names} }} from "./text.js";\n'
        f"export const views = (data) => {{\n{code}\nreturn {{ {OFFERED} }};\n}};\n"
    )


def _declared(code: str) -> list[str]:
    return re.findall(r"^const (\w+) =", code, flags=re.MULTILINE)
