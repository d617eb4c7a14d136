"""The table in the browser: load, look, decide, and take the cleaned table out; nothing leaves the computer.

``tl1pca explore data.csv`` starts it. Needs the extra ``explore``:
``pip install 'tl1pca[explore]'``.
"""

try:
    from ._run import serve
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"The page in the browser needs {error.name}: pip install 'tl1pca[explore]'.", name=error.name
    ) from None

__all__ = ["serve"]
