"""Where the studies take their samples from: images in classes, and the toy of the paper."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..datasets import load_digit_images, load_jaffe, load_lfw_subset, load_toy, load_yale, make_toy
from .spec import Sample, derive

Array = NDArray[Any]


@dataclass(frozen=True)
class Images:
    """Square images in classes; a share of each class is for training.

    Parameters
    ----------
    name : {"yale", "jaffe", "digits", "lfw"}
    title : str
    side : int
        Pixels along an edge.
    share : float
        Share of the images of each class that is for training, rounded.
    noises : tuple of int
        Sides of the black square put on every training image; 0 is none.
    n_components : int
    folder : str, default=""
        Where the files are, for data that come from files.
    """

    name: str
    title: str
    side: int
    share: float
    noises: tuple[int, ...]
    n_components: int
    folder: str = field(default="", repr=False)
    artificial: ClassVar[bool] = False

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Numbers of components that are read: 5, 10, ..."""
        return tuple(range(5, self.n_components + 1, 5))

    def load(self) -> tuple[Array, Array]:
        """Pixels in [0, 1] and labels."""
        return _load(self.name, self.folder)

    def draw(self, noise: int, split: int, seed: int) -> Sample:
        """Training and test images; only the first carry noise.

        The split does not depend on the noise, nor either on the method.
        """
        X, y = self.load()
        rng = np.random.default_rng(derive(seed, self.name, "split", split))
        train = np.zeros(len(y), dtype=bool)
        for label in np.unique(y):
            members = rng.permutation(np.flatnonzero(y == label))
            train[members[: int(len(members) * self.share + 0.5)]] = True
        places = np.random.default_rng(derive(seed, self.name, "noise", noise, split))
        noisy = occlude(X[train], self.side, noise, places)
        return Sample(noisy, y[train], X[~train], y[~train], self.halves(seed)[~train])

    def halves(self, seed: int) -> Array:
        """To which half of the images each one belongs: every other one of each class, in random order."""
        y = self.load()[1]
        rng = np.random.default_rng(derive(seed, self.name, "halves"))
        half = np.zeros(len(y), dtype=int)
        for i, label in enumerate(np.unique(y)):
            members = rng.permutation(np.flatnonzero(y == label))
            half[members] = (np.arange(len(members)) + i) % 2
        return half

    def digest(self) -> str:
        return _digest(self.name, self.folder)


@dataclass(frozen=True)
class Toy:
    """The toy: the paper's own points when a folder is given, else a redraw for every split.

    Parameters
    ----------
    name, title : str
    folder : str, default=""
        Folder with ``toy_paper.csv``.
    outliers : bool, default=True
        Whether the four outliers are there.
    redraw : bool, default=True
        Whether each split draws anew; otherwise all splits share one draw.
    """

    name: str
    title: str
    folder: str = field(default="", repr=False)
    outliers: bool = True
    redraw: bool = True
    noises: tuple[int, ...] = (0,)
    n_components: int = 1
    artificial: ClassVar[bool] = True

    def points(self, split: int, seed: int) -> tuple[Array, Array]:
        """Points, and which of them are outliers."""
        if self.folder:
            return _load("toy", self.folder)
        return make_toy(derive(seed, "toy", "draw", split if self.redraw else 0))

    def draw(self, noise: int, split: int, seed: int) -> Sample:
        X, outlier = self.points(split, seed)
        keep = np.ones(len(X), dtype=bool) if self.outliers else ~outlier
        return Sample(X[keep], outlier[keep], X[:0], outlier[:0])

    def digest(self) -> str:
        return _digest("toy", self.folder) if self.folder else "drawn"


def occlude(images: Array, side: int, block: int, rng: np.random.Generator) -> Array:
    """A copy of the images, each with a black square of `block` pixels at a uniform place.

    Parameters
    ----------
    images : ndarray of shape (n, side * side)
    side, block : int
    rng : Generator

    Returns
    -------
    ndarray of shape (n, side * side)

    Examples
    --------
    >>> black = occlude(np.ones((1, 16)), 4, 2, np.random.default_rng(0))
    >>> int(black.size - black.sum())
    4
    """
    squares = images.reshape(-1, side, side).copy()
    if block:
        corners = rng.integers(0, side - block + 1, size=(len(images), 2))
        for square, (row, column) in zip(squares, corners):
            square[row : row + block, column : column + block] = 0.0
    return squares.reshape(images.shape)


def yale(folder: str) -> Images:
    """Yale as in the paper: 9 of 11 images per person for training."""
    return Images("yale", "Yale", 32, 9 / 11, (0, 8, 12), 85, folder)


def jaffe(folder: str) -> Images:
    """JAFFE as in the paper: 70 % of the images of each person for training."""
    return Images("jaffe", "JAFFE", 32, 0.7, (0, 8, 12), 110, folder)


def builtin_images() -> tuple[Images, ...]:
    """Images that need no file, the blocks scaled from 8 and 12 of 32 pixels to theirs."""
    digits = Images("digits", "digits", 8, 0.7, (0, 2, 3), 40)
    lfw = Images("lfw", "LFW, face or not", 25, 0.7, (0, 6, 9), 85)
    return (digits, lfw) if find_spec("skimage") else (digits,)


def showable_images() -> tuple[Array, str]:
    """Six small images that anybody may show, (6, side, side), and what they are.

    A public-domain portrait of NASA that comes with scikit-image, under six
    lights and cuts; without scikit-image, six digits of scikit-learn.
    """
    if not find_spec("skimage"):
        return load_digit_images(1)[0][:6].reshape(-1, 8, 8), "digits of scikit-learn."
    from skimage.data import astronaut
    from skimage.transform import resize

    portrait = np.asarray(astronaut(), dtype=np.float64)  # type: ignore[no-untyped-call]
    picture = portrait.mean(axis=2) / 255.0
    light: Array = np.linspace(0.45, 1.3, 32)
    images = []
    for i, (top, left) in enumerate(((35, 155), (35, 155), (25, 148), (45, 162), (35, 155), (35, 155))):
        cut = picture[top : top + 140, left : left + 140]
        face = resize(cut, (32, 32), anti_aliasing=True)  # type: ignore[no-untyped-call]
        face = face[:, ::-1] if i in (1, 5) else face
        images.append(np.clip(face * (light if i == 4 else light[::-1] if i == 5 else 1.0), 0.0, 1.0))
    return np.stack(images), "one public-domain portrait (NASA, Eileen Collins), under six cuts and lights."


def find_images(folder: str) -> tuple[Images, ...]:
    """The face databases that are in a folder; what is there but wrong is an error."""
    found = []
    for source in (yale(folder), jaffe(folder)):
        try:
            source.load()
        except FileNotFoundError:
            continue
        found.append(source)
    return tuple(found)


def find_toy(folder: str) -> str:
    """The folder if it holds the paper's points, else nothing."""
    return folder if folder and (Path(folder) / "toy_paper.csv").is_file() else ""


_LOADERS: dict[str, Callable[[str], tuple[Array, Array]]] = {
    "yale": load_yale,
    "jaffe": load_jaffe,
    "toy": load_toy,
    "digits": lambda folder: load_digit_images(),
    "lfw": lambda folder: load_lfw_subset(),
}


@lru_cache(maxsize=4)
def _load(name: str, folder: str) -> tuple[Array, Array]:
    X, y = _LOADERS[name](folder)
    X.flags.writeable = False
    return X, y


@lru_cache(maxsize=4)
def _digest(name: str, folder: str) -> str:
    total = hashlib.sha256()
    for array in _load(name, folder):
        total.update(repr((array.shape, array.dtype.str)).encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:16]
