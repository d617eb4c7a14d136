"""What the paper says, sentence by sentence, and what a run has to say about it.

A verdict is never written down here: it follows from the numbers of the run by
the rule that stands beside them. What the numbers cannot settle - too few
splits, an error larger than the effect, data that were not given - cannot be
decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .output import Table

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be decided"

#: Sections of the paper, in its order.
PLACES = ("II", "IV, Prop. 1", "IV", "IV, Prop. 2", "V-A", "V-B", "V-C")


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper.

    Parameters
    ----------
    place : str
        Section of the paper, and what is numbered there.
    says : str
        The sentence, in short.
    verdict : {"holds", "does not hold", "cannot be decided"}
    measured : str
        The figure it rests on, with its error.
    """

    place: str
    says: str
    verdict: str
    measured: str


def verdict(holds: bool, fails: bool = True) -> str:
    """A verdict from two tests; neither is no decision.

    Examples
    --------
    >>> verdict(True), verdict(False), verdict(False, fails=False)
    ('holds', 'does not hold', 'cannot be decided')
    """
    return HOLDS if holds else FAILS if fails else OPEN


def beyond_error(gain: float, error: float) -> str:
    """Whether a gain is there: more than two standard errors above zero, or below.

    Examples
    --------
    >>> beyond_error(1.0, 0.4), beyond_error(1.0, 0.6), beyond_error(-1.0, 0.4)
    ('holds', 'cannot be decided', 'does not hold')
    """
    return verdict(gain > 2.0 * error, gain < -2.0 * error)


def undecided(sentences: Iterable[tuple[str, str]], reason: str) -> tuple[Claim, ...]:
    """Claims for which the run has nothing to say, given as (place, sentence)."""
    return tuple(Claim(place, says, OPEN, reason) for place, says in sentences)


def in_order(claims: Iterable[Claim]) -> list[Claim]:
    """Claims in the order of the paper; those of a section stay as they are."""

    def place(claim: Claim) -> int:
        return PLACES.index(claim.place if claim.place in PLACES else claim.place.split(",")[0])

    return sorted(claims, key=place)


def claims_table(claims: Sequence[Claim]) -> Table:
    """The table at the top of the page."""
    several = {HOLDS: "hold", FAILS: "do not hold", OPEN: OPEN}
    numbers = {kind: sum(claim.verdict == kind for claim in claims) for kind in several}
    counts = [f"{n} {kind if n == 1 else several[kind]}" for kind, n in numbers.items()]
    return Table(
        "claims",
        f"The claims of the paper: {', '.join(counts)}",
        ("section", "the paper says", "verdict", "measured in this run"),
        tuple((claim.place, claim.says, claim.verdict, claim.measured) for claim in in_order(claims)),
        "± is one standard error. An effect counts when it is more than two of them away from zero; one "
        "that is smaller, or was measured on fewer than three splits, cannot be decided.",
    )
