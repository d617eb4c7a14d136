"""The few array functions that NumPy, torch, CuPy and the array API standard do not spell alike.

Code that runs where the data are asks `namespace` for its functions. NumPy
arrays take the short way: no extra package is needed for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_TINY = {kind: float(np.finfo(kind).tiny) for kind in "efdg"}


def compat() -> Any:
    """The module array_api_compat.

    scikit-learn 1.9 has version 1.15 of it inside, whose `maximum` of a torch
    tensor takes no number; 1.16 is the first that does.
    """
    try:
        import array_api_compat
    except ModuleNotFoundError:
        raise ImportError(
            "arrays of torch, CuPy and the like need array-api-compat: pip install 'tl1pca[array]'."
        ) from None
    return array_api_compat


def namespace(x: Any) -> Any:
    """Functions of the library that x belongs to."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np
    return compat().array_namespace(x)


def is_array(x: Any) -> bool:
    """Whether x is an array of a library other than NumPy, wherever it is."""
    marks = ("__array_namespace__", "detach", "__cuda_array_interface__")
    return not isinstance(x, (np.ndarray, np.generic)) and any(hasattr(x, mark) for mark in marks)


def asarray_like(a: Any, x: Any) -> Any:
    """An array or number as an array of the library, device and precision of x."""
    if isinstance(x, np.ndarray):
        return np.asarray(a, dtype=x.dtype)
    device = compat().device(x)
    if type(a) is type(x):
        return cast(compat().to_device(a, device), x.dtype)
    return namespace(x).asarray(np.array(a, order="C"), dtype=x.dtype, device=device)


def to_numpy(x: Any) -> Array:
    """Array of any library as a NumPy array, from another device if need be."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np.asarray(x)
    if isinstance(x, (list, tuple)):
        return np.asarray(x)
    if hasattr(x, "detach"):  # torch
        return np.asarray(x.detach().cpu().numpy())
    if hasattr(x, "get"):  # CuPy
        return np.asarray(x.get())
    if hasattr(x, "compute"):  # Dask
        return np.asarray(x.compute())
    return np.from_dlpack(x)


def cast(x: Any, dtype: Any) -> Any:
    """x in another precision, uncopied where it has it already."""
    if isinstance(x, np.ndarray):
        return x.astype(dtype, copy=False)
    return namespace(x).astype(x, dtype, copy=False)


def columns(*parts: Any) -> Any:
    """Matrices side by side."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts, axis=1)
    return namespace(parts[0]).concat(parts, axis=1)


def dots(x: Any, y: Any) -> Any:
    """Inner products of corresponding columns."""
    if isinstance(x, np.ndarray):
        return np.einsum("ij,ij->j", x, y)
    return namespace(x).sum(x * y, axis=0)


def tiny(x: Any) -> float:
    """Smallest normal number in the precision of x."""
    if isinstance(x, np.ndarray):  # asked for all the time
        return _TINY[x.dtype.char]
    return float(namespace(x).finfo(x.dtype).smallest_normal)


def saturated(x: Any, factor: float = 1.0) -> Any:
    """x / factor, back in the units of the data; the largest number of the type where that overflows."""
    if not isinstance(x, np.ndarray | np.generic):
        return x / factor
    given = np.asarray(x)
    most = np.finfo(given.dtype).max
    with np.errstate(over="ignore"):
        return np.clip(given / given.dtype.type(factor), -most, most)


def narrowed(x: Array, dtype: Any) -> Array:
    """x in a precision that it may be too large for; the largest number of that type there."""
    most = np.finfo(dtype).max
    return np.clip(x, -most, most).astype(dtype, copy=False)


def without_overflow(linear: Callable[..., Any], *arrays: Any) -> Any:
    """A function that is linear in its arrays, at the largest number where it would overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = linear(*arrays)
    if not isinstance(found, np.ndarray) or np.isfinite(found).all():
        return found
    small = 2.0**-60  # for sums and differences of so many terms
    again = saturated(linear(*(x * x.dtype.type(small) for x in arrays)), small)
    return np.where(np.isfinite(found), found, again)


def double(x: Any) -> Any:
    """x in double precision."""
    return cast(x, namespace(x).float64)
