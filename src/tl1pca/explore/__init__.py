"""The table in the browser: load, look, decide, and take the cleaned table out; nothing leaves the computer.

``tl1pca explore data.csv`` starts it. Needs the extra ``explore``:
``pip install 'tl1pca[explore]'``.
"""

from ._run import serve

__all__ = ["serve"]
