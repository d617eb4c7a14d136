"""The report: one HTML file that shows what was fitted, which rows stand out and what to do next.

Needs the extra ``report``: ``pip install 'tl1pca[report]'``.
"""

from ._page import render_report, write_report

__all__ = ["render_report", "write_report"]
