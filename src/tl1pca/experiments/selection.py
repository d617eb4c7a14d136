"""From accuracies to a table: which parameter and dimension, what mean, how sure.

Three rules of choice. The paper's *oracle* takes the parameter and the
dimension with the best mean accuracy on the test images themselves, and so
reports a maximum over many noisy numbers. *Halves* does so on every other
split and reads the remaining ones, and the other way round. *Nested* selection
chooses in each split by the leave-one-out 1-NN accuracy within the training
images, and reads the test images once.
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


def halves(table: Frame) -> Choice:
    """Chosen as by the oracle on one half of the splits, read on the other; both ways.

    Parameters
    ----------
    table : DataFrame
        As for `oracle`.

    Returns
    -------
    Choice
        Parameter and dimension of the first half. A single split has no
        halves, and no accuracy.
    """
    import pandas as pd

    even = table["split"].rank(method="dense").astype(int) % 2 == 1
    if even.all():
        return Choice(np.full(1, np.nan), float("nan"), float("nan"))
    parts, first = [], oracle(table[even])
    for half, other in ((table[even], table[~even]), (table[~even], table[even])):
        choice = oracle(half)
        parts.append(_at(other, {"value": choice.value, "dimension": choice.dimension}))
    accuracy = pd.concat(parts).sort_values("split")["accuracy"].to_numpy()
    return Choice(accuracy, first.value, first.dimension)


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


RULES: dict[str, Callable[[Frame], Choice]] = {"oracle": oracle, "halves": halves, "nested": nested}


def summarise(table: Frame, published: dict[tuple[str, int], dict[str, float]]) -> Frame:
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
        for rule, choose in RULES.items():
            choices = {method: choose(own) for method, own in part.groupby("method", sort=False)}
            for method, choice in choices.items():
                row = {"source": source, "noise": noise, "selection": rule, "method": method}
                row |= _figures(choice, choices.get(PCA), printed.get(method))
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
        "within_two_se": None if printed is None else bool(abs(mean - printed) <= 2.0 * error),
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
    """Mean and its standard error, NaN for a single number.

    Examples
    --------
    >>> mean_and_error(np.array([1.0, 3.0]))
    (2.0, 1.0)
    """
    error = float(np.std(x, ddof=1) / np.sqrt(len(x))) if len(x) > 1 else float("nan")
    return float(np.mean(x)), error
