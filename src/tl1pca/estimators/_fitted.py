"""What a fit leaves behind: fitted attributes declared on the classes, and fits that are all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = ["Fitted", "all_or_nothing", "fitted_attributes"]

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class Fitted:
    """Kind, shape and range of a fitted attribute; a class lists its own in ``_fitted``.

    A model file keeps exactly what is declared, and refuses what does not
    agree with it, so a new estimator needs no more than its declaration.

    Parameters
    ----------
    kind : type
        float, int or bool for numbers, list for a list of objective paths,
        tuple for a tuple of matrices, object for labels (numbers or text),
        `Cutoffs`, or BaseEstimator for a fitted estimator inside.
    shape : str, optional
        Of an array, one letter for each side; sides of the same letter are
        equally long. None: a single value.
    counts : str, optional
        The letter of the side whose length this integer is.
    least, most : float, optional
        Where its numbers lie; all of them are finite.
    optional : bool, default=False
        Whether it may be None.
    missing : bool, default=False
        Whether NaN may stand for an entry that was not there.
    """

    kind: type = float
    shape: str | None = None
    counts: str | None = None
    least: float = float("-inf")
    most: float = float("inf")
    optional: bool = False
    missing: bool = False


def fitted_attributes(kind: type) -> dict[str, Fitted]:
    """All fitted attributes that a class and its bases declare, by name."""
    found: dict[str, Fitted] = {}
    for base in reversed(kind.__mro__):
        found |= vars(base).get("_fitted", {})
    return found


def all_or_nothing(fit: Method) -> Method:
    """A `fit` that leaves the estimator as it was when it fails or is interrupted.

    It works on a copy, whose attributes replace the old ones in one step:
    other threads see the old model or the new one.
    """

    @wraps(fit)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        trial = copy(self)
        fit(trial, *arguments, **options)
        self.__dict__ = vars(trial)
        return self

    return cast(Method, call)
