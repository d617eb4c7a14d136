"""The few array functions that NumPy, torch, CuPy and the array API standard do not spell alike.

Code that runs where the data are asks `namespace` for its functions. NumPy
arrays take the short way: no extra package is needed for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def namespace(x: Any) -> Any:
    """Functions of the library that x belongs to."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np
    try:
        from array_api_compat import array_namespace
    except ModuleNotFoundError:
        raise ImportError(
            "arrays other than NumPy's need array-api-compat: pip install 'tl1pca[array]'."
        ) from None
    return array_namespace(x)


def like(a: Any, x: Any) -> Any:
    """An array or number as an array of the library, device and precision of x."""
    if isinstance(x, np.ndarray):
        return np.asarray(a, dtype=x.dtype)
    from array_api_compat import device, to_device

    if type(a) is type(x):
        return cast(to_device(a, device(x)), x.dtype)
    return namespace(x).asarray(np.array(a, order="C"), dtype=x.dtype, device=device(x))


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
    return float(namespace(x).finfo(x.dtype).smallest_normal)


def double(x: Any) -> Any:
    """x in double precision."""
    return cast(x, namespace(x).float64)
