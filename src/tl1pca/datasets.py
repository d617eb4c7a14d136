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

__all__ = [
    "load_digit_images",
    "load_jaffe",
    "load_lfw_subset",
    "load_table",
    "load_toy",
    "load_yale",
    "make_contaminated",
    "make_kwak",
    "make_toy",
]

Array = NDArray[Any]
Seed = int | np.random.RandomState | None

#: Images of each person, in the order of the labels 1, 2, ...
_YALE_COUNTS = (11,) * 15
_JAFFE_COUNTS = (23, 22, 22, 20, 21, 21, 20, 21, 21, 22)
_FACE_SIDE = 32

_TOY_OUTLIERS = np.array([[-4.0, 4.8], [-3.7, 5.1], [-3.3, 6.0], [-2.4, 5.5]])


def make_toy(random_state: Seed = 0) -> tuple[Array, Array]:
    """A redraw of the paper's toy: 30 points about the diagonal and 4 fixed outliers.

    Parameters
    ----------
    random_state : int, RandomState or None, default=0
        The same sample in every call by default; None draws a new one.

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
    random_state: Seed = 0,
) -> tuple[Array, Array, Array]:
    """A low-rank Gaussian sample of which a fraction of rows is bad.

    The good rows are N(0, diag(6^2 .. 3^2)) in a random subspace plus
    isotropic noise.

    Parameters
    ----------
    n_samples, n_features, n_components : int
    kind : {"clean", "cluster", "line", "scattered", "leverage", "cellwise"}
        "cluster": one cluster off the subspace, as wide as the noise; "line":
        good rows spread along one direction off the subspace; "scattered":
        isotropic with standard deviation 10; "leverage": a cluster far away
        inside the subspace; "cellwise": single entries of many rows, the
        fraction being that of entries.
    fraction : float
    noise : float
        Standard deviation of the noise per feature.
    distance : float
        How far the bad rows are.
    random_state : int, RandomState or None, default=0
        The same sample in every call by default; None draws a new one.

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
    """Yale faces, 32 x 32, from ``yale_32x32.npz`` or the published ``Yale_32x32.mat``.

    The first holds X (uint8, 165 x 1024, row-major) and y (1..15); the second
    `fea` (column-major images) and `gnd`.

    Parameters
    ----------
    folder : path-like, optional
        By default the folder in ``TL1PCA_DATA``.

    Returns
    -------
    X : ndarray of shape (165, 1024)
        Gray values divided by 255.
    y : ndarray of int of shape (165,)
    """
    home = data_home(folder)
    path = _find(home, "yale_32x32.npz", "yale_32x32.mat", "yale.mat")
    if path is None:
        raise FileNotFoundError(f"No yale_32x32.npz or Yale_32x32.mat in the data folder {str(home)!r}.")
    X, y = _read_npz(path) if path.suffix == ".npz" else _read_mat(path)
    return _checked_faces(X, y, _YALE_COUNTS, path.name)


def load_jaffe(folder: str | os.PathLike[str] | None = None) -> tuple[Array, Array]:
    """JAFFE faces, 32 x 32, from a copy of your own.

    Either a folder ``jaffe`` with the 213 TIFF files (such as
    ``KA.AN1.39.tiff``), which are resized by bicubic interpolation, or
    ``jaffe_32x32.mat`` with `fea` (213 x 1024, column-major images) and `gnd`.

    Parameters
    ----------
    folder : path-like, optional
        By default the folder in ``TL1PCA_DATA``.

    Returns
    -------
    X : ndarray of shape (213, 1024)
        Gray values divided by 255.
    y : ndarray of int of shape (213,)
        1..10.
    """
    home = data_home(folder)
    path = _find(home, "jaffe_32x32.mat", "jaffe.mat", "jaffe", "jaffedbase")
    if path is None:
        raise FileNotFoundError(
            f"No jaffe_32x32.mat and no folder jaffe with the TIFF files in the data folder {str(home)!r}."
        )
    X, y = _read_tiffs(path) if path.is_dir() else _read_mat(path)
    return _checked_faces(X, y, _JAFFE_COUNTS, path.name)


def load_digit_images(per_class: int = 30) -> tuple[Array, Array]:
    """The first images of each digit from scikit-learn, 8 x 8, scaled to [0, 1].

    Parameters
    ----------
    per_class : int, default=30

    Returns
    -------
    X : ndarray of shape (10 * per_class, 64)
    y : ndarray of int
    """
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    keep = np.sort(np.concatenate([np.flatnonzero(y == digit)[:per_class] for digit in range(10)]))
    return X[keep] / 16.0, y[keep]


def load_lfw_subset() -> tuple[Array, Array]:
    """100 faces (label 1) and 100 patches that are none (label 0), 25 x 25, from scikit-image.

    Returns
    -------
    X : ndarray of shape (200, 625)
        Gray values in [0, 1].
    y : ndarray of int of shape (200,)
    """
    try:
        from skimage.data import lfw_subset
    except ImportError:
        raise ImportError("The LFW subset comes with scikit-image: pip install scikit-image.") from None
    images = np.asarray(lfw_subset(), dtype=np.float64)  # type: ignore[no-untyped-call]
    return images.reshape(len(images), -1), (np.arange(len(images)) < 100).astype(int)


def _find(home: Path, *names: str) -> Path | None:
    """The first of the names that the folder holds, upper and lower case alike."""
    present = {path.name.lower(): path for path in sorted(home.iterdir())}
    return next((present[name] for name in names if name in present), None)


def _read_npz(path: Path) -> tuple[Array, Array]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return np.asarray(file["X"]), np.asarray(file["y"])
    except Exception as error:
        raise ValueError(
            f"{path.name} cannot be read; expected an .npz file with the arrays X and y: {error}"
        ) from None


def _read_mat(path: Path) -> tuple[Array, Array]:
    from scipy.io import loadmat

    try:
        content = loadmat(path, variable_names=["fea", "gnd"])
        fea, gnd = np.asarray(content["fea"]), np.asarray(content["gnd"]).ravel()
    except Exception as error:
        raise ValueError(
            f"{path.name} cannot be read; expected a MATLAB file (up to version 7) with fea and gnd: {error}"
        ) from None
    if fea.ndim == 2 and fea.shape[1] == _FACE_SIDE**2:  # column-major images, turned upright
        fea = fea.reshape(-1, _FACE_SIDE, _FACE_SIDE).transpose(0, 2, 1).reshape(len(fea), -1)
    return fea, gnd


def _read_tiffs(folder: Path) -> tuple[Array, Array]:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("Reading TIFF files needs Pillow: pip install pillow.") from None
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".tif", ".tiff"))
    people = sorted({path.name[:2].upper() for path in files})
    images = np.empty((len(files), _FACE_SIDE**2))
    for row, path in zip(images, files):
        try:
            with Image.open(path) as image:
                small = image.convert("L").resize((_FACE_SIDE, _FACE_SIDE), Image.Resampling.BICUBIC)
        except OSError as error:
            raise ValueError(f"{path.name} is not a readable TIFF image: {error}") from None
        row[:] = np.asarray(small, dtype=np.float64).ravel()
    return images, np.array([1 + people.index(path.name[:2].upper()) for path in files], dtype=int)


def _checked_faces(X: Array, y: Array, counts: tuple[int, ...], name: str) -> tuple[Array, Array]:
    """Pixels divided by 255, after a check of shape, labels and range."""
    shape = (sum(counts), _FACE_SIDE**2)
    expected = (
        f"{name} must hold {shape[0]} images of {_FACE_SIDE} x {_FACE_SIDE} = {shape[1]} gray values from 0 "
        f"to 255 and labels 1..{len(counts)} with {' '.join(map(str, counts))} images per person"
    )
    if X.shape != shape or X.dtype.kind not in "uif":
        raise ValueError(f"{expected}; found images of shape {X.shape} and type {X.dtype}.")
    if y.shape != shape[:1] or y.dtype.kind not in "uif" or not np.isfinite(y).all():
        raise ValueError(f"{expected}; found labels of shape {y.shape} and type {y.dtype}.")
    labels, found = np.unique(y, return_counts=True)
    if not np.array_equal(labels, np.arange(1, len(counts) + 1)) or tuple(found) != counts:
        raise ValueError(f"{expected}; found {dict(zip(labels.tolist(), found.tolist()))} (label: images).")
    low, high = float(X.min()), float(X.max())
    if not (low >= 0 and 1 < high <= 255):
        raise ValueError(f"{expected}; found values from {low:g} to {high:g}.")
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
