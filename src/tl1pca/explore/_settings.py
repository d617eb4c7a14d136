"""What is fitted and how: the choices of the page, checked, and the estimator they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..preprocessing import MADScaler, unequal_spreads
from ..report._levels import LEVELS
from ..report._words import count, listing, shorten
from ..tables import Table

Array = NDArray[Any]

#: Name of a method on the command line: its class, and what it is for.
METHODS = {
    "subspace": ("TL1SubspacePCA", "bad rows"),
    "cell": ("TL1CellPCA", "bad cells, bad rows and missing values"),
    "tl1": ("TL1PCA", "the method of the paper: a few bad rows"),
    "l1": ("L1PCA", "PCA-L1, for comparison"),
    "r1": ("R1PCA", "moderately bad rows"),
    "pca": ("PCA", "classical: every row counts in full"),
}
SCALES = {
    "auto": "chosen from their spreads",
    "robust": "divided by a robust spread",
    "std": "divided by the standard deviation",
    "none": "as they are",
}
MISSING = {"median": "the median of the column", "drop": "leave these rows out"}


@dataclass(frozen=True)
class Settings:
    """The choices of the page.

    Attributes
    ----------
    columns : tuple of str
        Those that take part, in the order of the table.
    method, scale, missing : str
        Keys of `METHODS`, `SCALES`, `MISSING`.
    n_components : int or None
        None: chosen.
    level : float or None
        Of the limits; None: that of the method.
    """

    columns: tuple[str, ...]
    method: str = "subspace"
    scale: str = "auto"
    missing: str = "median"
    n_components: int | None = None
    level: float | None = None

    @property
    def takes_missing(self) -> bool:
        """Whether the method fits the cells that are there."""
        return self.method == "cell"


class ChoiceError(ValueError):
    """A choice that cannot be followed, in words for the page."""


def checked(given: Any, table: Table, before: Settings) -> Settings:
    """Choices as they came from the page, over those before; whatever is not one of ours is refused."""
    if not isinstance(given, dict) or given.keys() - {field.name for field in fields(Settings)}:
        raise ChoiceError("These are not settings.")
    merged = {**{field.name: getattr(before, field.name) for field in fields(Settings)}, **given}
    for name, known in (("method", METHODS), ("scale", SCALES), ("missing", MISSING)):
        if not isinstance(merged[name], str) or merged[name] not in known:
            raise ChoiceError(f"{name} must be one of {', '.join(known)}.")
    columns = _columns(merged["columns"], table)
    k, level = merged["n_components"], merged["level"]
    most = min(len(table.values), len(columns))
    if k is not None and (type(k) is not int or not 1 <= k <= most):
        raise ChoiceError(f"The number of components must be between 1 and {most}, or chosen.")
    if level is not None and (type(level) not in (int, float) or level not in LEVELS):
        raise ChoiceError(f"The level must be one of {', '.join(map(str, LEVELS))}.")
    return Settings(columns, merged["method"], merged["scale"], merged["missing"], k, level)


def _columns(given: Any, table: Table) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)) or not all(isinstance(name, str) for name in given):
        raise ChoiceError("columns must be a list of names.")
    chosen = set(given)
    unknown = chosen.difference(table.columns)
    if unknown:
        raise ChoiceError(f"There is no column of numbers “{shorten(sorted(unknown)[0])}”.")
    if len(chosen) < 2:
        raise ChoiceError("Choose at least two columns.")
    return tuple(name for name in table.columns if name in chosen)


def scaler(values: Array, settings: Settings) -> tuple[Any, str]:
    """What brings columns to a common unit, None where they stay as they are; and a note."""
    from sklearn.preprocessing import StandardScaler

    if settings.method == "cell" or settings.scale == "none":  # which has a unit for every column
        return None, ""
    if settings.scale == "std":
        return StandardScaler(), ""
    if settings.scale == "robust":
        return MADScaler(), ""
    found = unequal_spreads(values)
    if found is None:
        return None, ""
    wide, narrow = (shorten(settings.columns[j]) for j in (found.widest, found.narrowest))
    return MADScaler(), (
        f"Columns were divided by their median absolute deviation: their spreads differ up to "
        f"{found.times} (“{wide}” against “{narrow}”)."
    )


def estimator(method: str, n_components: int | None) -> Any:
    """The unfitted estimator of a method."""
    if method == "pca":
        from sklearn.decomposition import PCA

        return PCA(n_components=n_components, random_state=0)
    import tl1pca

    kind = getattr(tl1pca, METHODS[method][0])
    given = {"n_components": n_components, "random_state": 0}
    return kind(**{name: value for name, value in given.items() if name in kind().get_params(deep=False)})


def changes(before: Settings, after: Settings) -> list[str]:
    """What was changed, in words."""
    said = []
    for verb, names in (
        ("left out", [name for name in before.columns if name not in set(after.columns)]),
        ("taken in", [name for name in after.columns if name not in set(before.columns)]),
    ):
        if names:
            word = "Column" if len(names) == 1 else "Columns"
            said.append(f"{word} {quoted(names)} {verb}.")
    if before.method != after.method:
        name, purpose = METHODS[after.method]
        said.append(f"Method: {name}, for {purpose}." if after.method == "subspace" else f"Method: {name}.")
    if before.n_components != after.n_components:
        k = after.n_components
        said.append("Components: chosen from the data." if k is None else f"{count(k, 'component')}.")
    if before.scale != after.scale:
        said.append(f"Columns: {SCALES[after.scale]}.")
    if before.missing != after.missing:
        said.append(f"Where a value is missing: {MISSING[after.missing]}.")
    if before.level != after.level:
        said.append(
            "Level of the limits: that of the method." if after.level is None else f"Level: {after.level}."
        )
    return said


def quoted(names: Sequence[str]) -> str:
    """Some names in a sentence."""
    return listing([f"“{shorten(name)}”" for name in names])


def filled(values: Array) -> Array:
    """Missing values replaced by the median of their column."""
    gaps = np.isnan(values)
    if not gaps.any():
        return values
    out = values.copy()
    for j in np.flatnonzero(gaps.any(axis=0)):
        known = values[~gaps[:, j], j]
        if not len(known):
            raise ChoiceError("A column has no value left; leave it out, or put cells back.")
        out[gaps[:, j], j] = np.median(known)
    return out
