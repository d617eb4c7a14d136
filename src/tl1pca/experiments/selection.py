"""From accuracies to a table: which parameter and dimension, what mean, how sure.

Three rules of choice. The paper's *oracle* takes the parameter and the
dimension with the best mean accuracy on the test images themselves, and so
reports a maximum over many noisy numbers. *Other images* does so on the test
images of one half of the database and reads those of the other half, and the
other way round: no image is read that had a say in the choice. *Nested*
selection chooses in each split by the leave-one-out 1-NN accuracy within the
training images, and reads the test images once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .methods import PCA

Array = NDArray[Any]
#: A pandas DataFrame; pandas ships no types.
Frame = Any

#: Fewer splits than this have no standard error.
ENOUGH = 3
_DIGITS = 9  # beyond these two accuracies are the same


@dataclass(frozen=True)
class Choice:
    """Accuracy of every split at the chosen parameter and dimension.

    Attributes
    ----------
    accuracy : ndarray of shape (n_splits,)
    value : float
        Parameter; the most frequent one when each split has its own, NaN when there is none.
    dimension : float
        The median when each split has its own.
    """

    accuracy: Array
    value: float
    dimension: float


def oracle(table: Frame) -> Choice:
    """The paper's rule: best mean accuracy on the test images.

    Parameters
    ----------
    table : DataFrame
        Of one method, source and noise: value, dimension, split, accuracy.

    Returns
    -------
    Choice
    """
    means = table.groupby(["value", "dimension"], sort=False, dropna=False)["accuracy"].mean().reset_index()
    best = _best(means, "accuracy")
    chosen = _at(table, best)
    return Choice(chosen["accuracy"].to_numpy(), float(best["value"]), float(best["dimension"]))


def other_images(table: Frame) -> Choice:
    """Chosen as by the oracle on one half of the images, read on the other half; both ways.

    Parameters
    ----------
    table : DataFrame
        As for `oracle`, with the columns hits and images of either half.

    Returns
    -------
    Choice
        Parameter and dimension of the first half. Without test images in both
        halves there is no accuracy.
    """
    points = table.groupby(["value", "dimension"], sort=False, dropna=False)
    sums = points[["hits_0", "images_0", "hits_1", "images_1"]].sum().reset_index()
    if not (sums[["images_0", "images_1"]] > 0).all(axis=None):
        return Choice(np.full(table["split"].nunique(), np.nan), float("nan"), float("nan"))
    best = [_best(sums.assign(share=sums[f"hits_{h}"] / sums[f"images_{h}"]), "share") for h in (0, 1)]
    first, second = _at(table, best[1]), _at(table, best[0])  # each half at the choice of the other
    hits = first["hits_0"].to_numpy() + second["hits_1"].to_numpy()
    images = first["images_0"].to_numpy() + second["images_1"].to_numpy()
    return Choice(hits / images, float(best[0]["value"]), float(best[0]["dimension"]))


def _at(table: Frame, point: Any) -> Frame:
    """Rows of one parameter and dimension, in the order of the splits."""
    same_value = (table["value"] == point["value"]) | (table["value"].isna() & np.isnan(point["value"]))
    return table[same_value & (table["dimension"] == point["dimension"])].sort_values("split")


def nested(table: Frame) -> Choice:
    """Choice within the training images of each split; the test accuracy plays no part in it.

    Parameters
    ----------
    table : DataFrame
        As for `oracle`, and the column train_accuracy.

    Returns
    -------
    Choice
    """
    rows = [_best(part, "train_accuracy") for _, part in table.groupby("split", sort=True)]
    values = np.array([row["value"] for row in rows], dtype=float)
    dimensions = np.array([row["dimension"] for row in rows], dtype=float)
    kinds, counts = np.unique(values, return_counts=True)  # all NaN is one kind
    value = float(kinds[np.argmax(counts)])
    accuracy = np.array([row["accuracy"] for row in rows], dtype=float)
    return Choice(accuracy, value, float(np.median(dimensions)))


def _best(table: Frame, column: str) -> Any:
    """The row with the largest entry; ties go to fewer components, then to the earlier value."""
    rounded = table[column].round(_DIGITS)
    return table[rounded == rounded.max()].sort_values("dimension", kind="stable").iloc[0]


OTHER = "other images"
RULES: dict[str, Callable[[Frame], Choice]] = {"oracle": oracle, OTHER: other_images, "nested": nested}


def choices(part: Frame, rule: str) -> dict[str, Choice]:
    """The choice of every method in the table of one source and noise."""
    return {method: RULES[rule](own) for method, own in part.groupby("method", sort=False)}


def summarize(table: Frame, published: dict[tuple[str, int], dict[str, float]]) -> Frame:
    """One row per source, noise, rule and method.

    Parameters
    ----------
    table : DataFrame
        Complete splits of the faces study.
    published : dict
        Printed accuracy in percent by (source, noise) and method.

    Returns
    -------
    DataFrame
        accuracy and standard_error in percent, value, dimension, difference
        from PCA on the same splits with its standard error, published,
        within_two_se, seconds (CPU, mean per fit), seconds_total and
        not_converged (share of fits).
    """
    import pandas as pd

    rows = []
    for (source, noise), part in table.groupby(["source", "noise"], sort=False):
        printed = published.get((source, int(noise)), {})
        for rule in RULES:
            chosen = choices(part, rule)
            for method, choice in chosen.items():
                row = {"source": source, "noise": noise, "selection": rule, "method": method}
                row |= _figures(choice, chosen.get(PCA), printed.get(method))
                rows.append(row | _effort(part[part["method"] == method]))
    return pd.DataFrame(rows)


def _figures(choice: Choice, reference: Choice | None, printed: float | None) -> dict[str, Any]:
    mean, error = mean_and_error(100.0 * choice.accuracy)
    missing = float("nan")
    difference = difference_error = missing
    if reference is not None and reference is not choice:
        difference, difference_error = mean_and_error(100.0 * (choice.accuracy - reference.accuracy))
    return {
        "accuracy": mean,
        "standard_error": error,
        "value": choice.value,
        "dimension": choice.dimension,
        "difference": difference,
        "difference_error": difference_error,
        "published": missing if printed is None else printed,
        "within_two_se": bool(abs(mean - printed) <= 2.0 * error)
        if printed is not None and error > 0
        else None,
        "splits": len(choice.accuracy),
    }


def _effort(table: Frame) -> dict[str, float]:
    fits = table.drop_duplicates(["value", "split"])
    return {
        "seconds": float(fits["seconds"].mean()),
        "seconds_total": float(fits["seconds"].sum()),
        "not_converged": float(1.0 - fits["converged"].mean()),
    }


def mean_and_error(x: Array) -> tuple[float, float]:
    """Mean and its standard error; NaN for fewer than three numbers, which do not tell how they vary.

    Examples
    --------
    >>> mean_and_error(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))[0]
    3.0
    >>> mean_and_error(np.array([1.0, 3.0]))
    (2.0, nan)
    """
    error = float(np.std(x, ddof=1) / np.sqrt(len(x))) if len(x) >= ENOUGH else float("nan")
    return float(np.mean(x)), error
