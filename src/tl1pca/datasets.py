"""Data: generators that need no file, and loaders for files the user has.

No data are shipped and nothing is fetched. The loaders read from a folder
given as `data_home` or in the environment variable ``TL1PCA_DATA``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

__all__ = ["load_table", "load_toy", "load_yale", "make_contaminated", "make_kwak", "make_toy"]

Array = NDArray[Any]
Seed = int | np.random.RandomState | None

_TOY_OUTLIERS = np.array([[-4.0, 4.8], [-3.7, 5.1], [-3.3, 6.0], [-2.4, 5.5]])


def make_toy(random_state: Seed = None) -> tuple[Array, Array]:
    """A redraw of the paper's toy: 30 points about the diagonal and 4 fixed outliers.

    Parameters
    ----------
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (34, 2)
    outlier : ndarray of bool of shape (34,)

    Examples
    --------
    >>> X, outlier = make_toy(random_state=0)
    >>> X.shape, int(outlier.sum())
    ((34, 2), 4)
    """
    rng = check_random_state(random_state)
    x = np.linspace(-3.0, 3.0, 30)
    y = rng.normal(x, 1.0)
    inliers = np.column_stack([x, y - y.mean()])
    return np.vstack([inliers, _TOY_OUTLIERS]), np.arange(34) >= 30


def make_kwak() -> Array:
    """Eleven points on a line with one outlier, from Kwak (2008).

    Returns
    -------
    ndarray of shape (11, 2)
    """
    x = [-6, -5, -4, -3, -2, 10, 0, 1, 2, 3, 4]
    return np.column_stack([x, np.arange(-5, 6)]).astype(np.float64)


def make_contaminated(
    n_samples: int = 1000,
    n_features: int = 50,
    n_components: int = 5,
    *,
    kind: str = "cluster",
    fraction: float = 0.2,
    noise: float = 1.0,
    distance: float = 20.0,
    random_state: Seed = None,
) -> tuple[Array, Array, Array]:
    """A low-rank Gaussian sample of which a fraction of rows is bad.

    The good rows are N(0, diag(6^2 .. 3^2)) in a random subspace plus
    isotropic noise.

    Parameters
    ----------
    n_samples, n_features, n_components : int
    kind : {"clean", "cluster", "line", "scattered", "leverage", "cellwise"}
        "cluster": one tight cluster off the subspace; "line": spread along one
        direction off the subspace; "scattered": isotropic, ten times the
        noise-and-signal size; "leverage": far away inside the subspace;
        "cellwise": single entries of many rows, the fraction being that of entries.
    fraction : float
    noise : float
        Standard deviation of the noise per feature.
    distance : float
        How far the bad rows are.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    bad : ndarray of bool of shape (n_samples,)
        For "cellwise", rows with at least one bad entry.
    axes : ndarray of shape (n_features, n_components)
        Orthonormal basis of the true subspace.

    Examples
    --------
    >>> X, bad, axes = make_contaminated(100, 10, 2, fraction=0.3, random_state=0)
    >>> X.shape, int(bad.sum()), axes.shape
    ((100, 10), 30, (10, 2))
    """
    kinds = ("clean", "cluster", "line", "scattered", "leverage", "cellwise")
    if kind not in kinds:
        raise ValueError(f"kind must be one of {kinds}, got {kind!r}.")
    rng = check_random_state(random_state)
    n, d, k = n_samples, n_features, n_components
    Q = np.linalg.qr(rng.normal(size=(d, min(k + 1, d))))[0]
    axes, off = Q[:, :k], Q[:, -1]
    X = (rng.normal(size=(n, k)) * np.linspace(6.0, 3.0, k)) @ axes.T + noise * rng.normal(size=(n, d))
    bad = np.zeros(n, dtype=bool)
    if kind == "clean" or fraction == 0:
        return X, bad, axes
    if kind == "cellwise":
        cells = rng.uniform(size=(n, d)) < fraction
        X[cells] = distance + rng.normal(size=int(cells.sum()))
        return X, cells.any(axis=1), axes
    m = round(fraction * n)
    bad[rng.permutation(n)[:m]] = True
    if kind == "cluster":
        X[bad] = distance * off + noise * rng.normal(size=(m, d))
    elif kind == "line":
        X[bad] += rng.normal(0.0, distance, size=(m, 1)) * off
    elif kind == "scattered":
        X[bad] = 10.0 * rng.normal(size=(m, d))
    else:
        X[bad] = (distance * 3.0) * axes[:, 0] + noise * rng.normal(size=(m, d))
    return X, bad, axes


def data_home(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder with the user's data files: the argument, or ``TL1PCA_DATA``."""
    chosen = folder or os.environ.get("TL1PCA_DATA")
    if not chosen:
        raise FileNotFoundError(
            "No data folder: pass data_home=... or set the environment variable TL1PCA_DATA to the folder "
            "with your copy of the data."
        )
    path = Path(chosen)
    if not path.is_dir():
        raise FileNotFoundError(f"The data folder {str(path)!r} does not exist.")
    return path


def load_toy(folder: str | os.PathLike[str] | None = None) -> tuple[Array, Array]:
    """The paper's own 34 points, from ``toy_paper.csv`` (columns x, y, outlier).

    Returns
    -------
    X : ndarray of shape (34, 2)
    outlier : ndarray of bool of shape (34,)
    """
    table = load_table("toy_paper.csv", folder)[0]
    if table.shape != (34, 3):
        raise ValueError(f"toy_paper.csv must hold 34 rows of x, y, outlier; found shape {table.shape}.")
    return table[:, :2].copy(), table[:, 2] > 0


def load_yale(folder: str | os.PathLike[str] | None = None) -> tuple[Array, Array]:
    """Yale faces, 32 x 32, from ``yale_32x32.npz`` (X uint8 165 x 1024, y 1..15).

    Returns
    -------
    X : ndarray of shape (165, 1024)
        Grey values divided by 255.
    y : ndarray of int of shape (165,)
    """
    path = data_home(folder) / "yale_32x32.npz"
    with np.load(path, allow_pickle=False) as file:
        X, y = file["X"], file["y"]
    if X.shape != (165, 1024) or not np.array_equal(np.bincount(y)[1:], np.full(15, 11)):
        raise ValueError(
            f"{path.name} must hold X of shape (165, 1024) and y with 11 images for each of 15 people; "
            f"found X of shape {X.shape}."
        )
    return X / 255.0, y.astype(int)


def load_table(name: str, folder: str | os.PathLike[str] | None = None) -> tuple[Array, list[str]]:
    """A numeric CSV file (plain or .gz) with a header line.

    Returns
    -------
    values : ndarray of shape (n_rows, n_columns)
    columns : list of str
    """
    path = data_home(folder) / name
    if not path.is_file():
        raise FileNotFoundError(f"{name} is not in the data folder {str(path.parent)!r}.")
    opened = np.loadtxt(path, delimiter=",", dtype=str, ndmin=2, comments=None)
    header = [cell.strip().strip('"') for cell in opened[0]]
    try:
        return np.char.strip(opened[1:], '" ').astype(np.float64), header
    except ValueError as error:
        raise ValueError(f"{name} must be numeric below its header line: {error}") from None
