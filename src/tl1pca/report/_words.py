"""The sentences of the report. They say what the numbers say, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..diagnostics import Flag
from ._analysis import TURNED, Analysis, Array, Classical, Unusual

#: Rows named in a sentence.
N_NAMED = 5
#: Distance over limit from which a row is clearly out, not by chance.
CLEAR = 1.5
#: Quotient of the robust spreads of two variables from which their units deserve a thought.
UNEQUAL = 30.0

KINDS = {
    Flag.REGULAR: "regular",
    Flag.GOOD_LEVERAGE: "good leverage",
    Flag.ORTHOGONAL_OUTLIER: "orthogonal outlier",
    Flag.BAD_LEVERAGE: "bad leverage",
}

MEANINGS = {
    Flag.REGULAR: "within both limits",
    Flag.GOOD_LEVERAGE: "far out along the components, but in line with the other rows",
    Flag.ORTHOGONAL_OUTLIER: "does not follow the pattern of the other rows",
    Flag.BAD_LEVERAGE: "does not follow the pattern and is far out as well: such rows turn classical PCA most",
}


@dataclass(frozen=True)
class Advice:
    """What to do next; a warning when the result should not be trusted as it is."""

    warning: str
    steps: list[str]


# ------------------------------------------------------------------------------- grammar
def count(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    Examples
    --------
    >>> count(1, "row"), count(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def percent(share: float) -> str:
    """A share for reading.

    Examples
    --------
    >>> percent(0.1538), percent(0.0004), percent(0.99996), percent(0.0)
    ('15 %', '0.04 %', '99.99 %', '0 %')
    """
    value = 100.0 * share
    if value in (0.0, 100.0):
        return f"{value:.0f} %"
    if 99.0 < value < 100.0 or value < 1.0:
        return f"{np.clip(round(value, 2), 0.01, 99.99):.4g} %"
    return f"{value:.3g} %" if value < 10.0 else f"{value:.0f} %"


def listing(names: Sequence[str], most: int = N_NAMED) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> listing(["3", "7", "9"]), listing(list("abcdefg"), most=2)
    ('3, 7 and 9', 'a, b and 5 more')
    """
    shown = list(names[:most])
    if len(names) > most:
        shown.append(f"{len(names) - most:,} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def shorten(name: str, most: int = 40) -> str:
    """A name that leaves room for the sentence around it."""
    return name if len(name) <= most else name[: most - 1] + "…"


def factor(times: float) -> str:
    """How many times a limit, in words.

    Examples
    --------
    >>> factor(3.14159), factor(1e200)
    ('3.1 times', 'more than 1,000 times')
    """
    return (
        "more than 1,000 times"
        if times > 1000
        else f"{times:.2g} times"
        if times < 10
        else f"{times:.0f} times"
    )


def degrees(angle: float) -> str:
    """An angle; small ones are not written as zero."""
    return "less than 0.1°" if angle < 0.1 else f"{angle:.1f}°" if angle < 10 else f"{angle:.0f}°"


def _rows(analysis: Analysis, rows: Array) -> str:
    names = [str(i) if analysis.labels is None else f"“{shorten(analysis.labels[i])}”" for i in rows.tolist()]
    return f"{'row' if len(names) == 1 else 'rows'} {listing(names)}"


# ------------------------------------------------------------------------------- what was found
def findings(analysis: Analysis, details: Unusual) -> list[str]:
    """What was found, a few sentences; `details` are those of the flagged rows."""
    n, flagged = len(analysis.data), analysis.flagged
    by_chance = max(1, round(analysis.false_alarms * n))
    chance = (
        f"The limits let about {percent(analysis.false_alarms)} of clean, normally distributed rows through "
        f"as flagged: here about {count(by_chance, 'row')}."
    )
    if not len(flagged):
        return [f"None of the {n:,} rows is flagged: all lie within both limits.", chance]
    kinds = [
        f"{int(np.count_nonzero(analysis.found.flags == flag)):,} {name}"
        for flag, name in KINDS.items()
        if flag != Flag.REGULAR and (analysis.found.flags == flag).any()
    ]
    verb = "is" if len(flagged) == 1 else "are"
    sentences = [
        f"{len(flagged):,} of {n:,} rows ({percent(len(flagged) / n)}) {verb} flagged: {listing(kinds)}.",
        f"Furthest out {'is' if len(flagged) == 1 else 'are'} {_rows(analysis, flagged[:N_NAMED])}; "
        f"{'its' if len(flagged) == 1 else 'the largest'} distance is {factor(analysis.excess[flagged[0]])} "
        "its limit.",
    ]
    return [*sentences, *_leading_variable(analysis, details), chance]


def _leading_variable(analysis: Analysis, details: Unusual) -> list[str]:
    """The variable that stands out most often, where there is one that does."""
    m = len(details.variables)
    if m < 3:
        return []
    leaders = np.bincount(details.variables[:, 0], minlength=len(analysis.names))
    leader = int(leaders.argmax())
    if leaders[leader] < 0.3 * m:
        return []
    return [
        f"The variable that stands out most often is “{shorten(analysis.names[leader])}”: it is the most unusual "
        f"one in {int(leaders[leader]):,} of the {m:,} flagged rows."
    ]


# ------------------------------------------------------------------------------- classical PCA
def comparison(analysis: Analysis) -> list[str]:
    """What the flagged rows did to classical PCA."""
    classical = analysis.classical
    if classical is None:
        return [
            "The fitted method is classical PCA itself, so there is nothing to compare it with, and rows that "
            "turned it may look regular here. Fit TL1SubspacePCA to see whether that happened."
        ]
    return [_turned(analysis, classical), _masked(analysis, classical)]


def _turned(analysis: Analysis, classical: Classical) -> str:
    largest = float(classical.angles[0])
    j = classical.turned
    if j is None:
        what = (
            "the flagged rows did not turn classical PCA"
            if len(analysis.flagged)
            else "there is nothing here that turns classical PCA"
        )
        return f"Both methods find nearly the same subspace (largest angle {degrees(largest)}): {what}."
    angle = degrees(float(classical.component_angles[j]))
    name = f"The {_ordinal(j + 1)} classical component"
    pulls = classical.pulls[analysis.flagged]
    weight = float(pulls.sum())
    if weight < 0.5:
        return (
            f"{name} lies {angle} off the fitted subspace, but not because of the flagged rows: they hold only "
            f"{percent(weight)} of the variance along it. Directions of nearly equal variance are exchanged easily, "
            "so neither answer is wrong; a different number of components may be more stable."
        )
    order = np.argsort(-pulls, kind="stable")
    needed = int(np.searchsorted(np.cumsum(pulls[order]), 0.9 * weight)) + 1
    rows = np.sort(analysis.flagged[order[: min(needed, len(order))]])
    if needed > N_NAMED:
        rows = analysis.flagged[order[:needed]]
    return (
        f"{name} points at {_rows(analysis, rows)}: it lies {angle} off the fitted subspace, and the flagged rows "
        f"hold {percent(weight)} of the variance along it."
    )


def _masked(analysis: Analysis, classical: Classical) -> str:
    flagged = analysis.found.flags != Flag.REGULAR
    seen = classical.found.flags != Flag.REGULAR
    both, extra = int(np.count_nonzero(flagged & seen)), int(np.count_nonzero(seen & ~flagged))
    m = len(analysis.flagged)
    others = f"{count(extra, 'row')} that {'is' if extra == 1 else 'are'} regular here"
    if not m:
        return f"By its own distances classical PCA flags {others if extra else 'no row either'}."
    of = "the flagged row" if m == 1 else f"the {m:,} flagged rows"
    if m == 1:
        first = f"By its own distances classical PCA {'flags' if both else 'does not flag'} {of}"
    else:
        first = f"By its own distances classical PCA flags {both:,} of {of}"
    join = ", and" if both else ", but it flags"
    return first + (f"{join} {others}." if extra else ".")


def _ordinal(n: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
    return words[n - 1] if n <= len(words) else f"{n}th"


# ------------------------------------------------------------------------------- what to do
def advice(analysis: Analysis) -> Advice:
    """What to do next, for what was found."""
    n, m = len(analysis.data), len(analysis.flagged)
    share, kinds = m / n, analysis.found.flags[analysis.flagged]
    if not m:
        warning, steps = "", ["No row needs attention. The components can be used as they are."]
    elif share > 0.5:
        warning, steps = _most(share)
    elif (kinds == Flag.GOOD_LEVERAGE).all():
        warning, steps = "", _leverage_only(m)
    elif share <= 1.5 * analysis.false_alarms and analysis.excess[analysis.flagged[0]] < CLEAR:
        warning, steps = "", _chance(m)
    elif share > 0.1:
        warning, steps = "", _many(m)
    else:
        warning, steps = "", _few(m)
    return Advice(warning, [*steps, *_general(analysis)])


def _most(share: float) -> tuple[str, list[str]]:
    return (
        f"{percent(share)} of the rows are flagged. Limits are made for a majority of regular rows; with most rows "
        "beyond them, the fit does not describe these data and single flags mean little.",
        [
            "If the estimator was fitted to other data, these rows come from somewhere else: check units, order of "
            "the columns and preprocessing, or fit it to these rows.",
            "Otherwise try more components, or split the data into the groups they consist of.",
        ],
    )


def _leverage_only(m: int) -> list[str]:
    these, keep = ("This row is", "it") if m == 1 else ("These rows are", "them")
    return [
        f"{these} far from the centre but in line with the others, so nothing points to an error.",
        f"Check whether {'it belongs' if m == 1 else 'they belong'} to what you want to describe; if so, keep {keep}.",
    ]


def _chance(m: int) -> list[str]:
    return [
        ("The flagged row is" if m == 1 else "The flagged rows are no more than chance produces, and all are")
        + " close to the limit: nothing needs to be done. The components can be used as they are."
    ]


def _few(m: int) -> list[str]:
    if m == 1:
        return [
            "Look at the flagged row and the variables named with it: is it a slip of the pen, a wrong unit, a "
            "failing instrument, or a genuine rarity?",
            "Correct what is wrong. What is right stays in the data; do not delete it only because it is flagged.",
            "The components above need no change: the flagged row does not distort them.",
        ]
    return [
        "Look at the flagged rows from the top of the table, with the variables named there: slips of the pen, wrong "
        "units, failing instruments and genuine rarities all look like this.",
        "Correct what is wrong. What is right stays in the data; do not delete rows only because they are flagged.",
        "Rows near the limit may be there by chance; the ones many times beyond it are not.",
    ]


def _many(m: int) -> list[str]:
    if m == 1:
        return _few(m)
    return [
        "So many rows are rarely single errors. Look at the scores and the outlier map: if the flagged rows form a "
        "group, it may be another population, another batch or another way of measuring.",
        "If it is, analyse the groups separately. If not, go through the table from the top.",
        "Do not delete rows only because they are flagged.",
    ]


def _general(analysis: Analysis) -> list[str]:
    steps = []
    classical = analysis.classical
    if classical is not None and classical.turned is not None:
        weight = float(classical.pulls[analysis.flagged].sum())
        if weight >= 0.5:
            steps.append(
                "Do not use the components of classical PCA for these data: they describe the flagged rows, "
                f"{degrees(float(classical.angles[0]))} away from the others."
            )
    if not getattr(analysis.estimator, "converged_", True):
        steps.append("The fit did not converge: raise max_iter before you rely on the components.")
    spread = _spreads(analysis)
    positive = spread[spread > 0]
    if len(positive) and positive.max() > UNEQUAL * positive.min():
        wide = shorten(analysis.names[int(spread.argmax())])
        steps.append(
            f"The columns have very different spreads (“{wide}” has the largest, {positive.max() / positive.min():,.0f} "
            "times the smallest), and wide columns dominate. If they are in different units, divide each by its "
            "spread and make the report again."
        )
    return steps


def _spreads(analysis: Analysis) -> Array:
    """Quartile distances of the columns, of some of the rows where there are many."""
    step = max(1, len(analysis.data) // 5000)
    low, high = np.quantile(analysis.data[::step].astype(np.float64), [0.25, 0.75], axis=0)
    return np.asarray(high - low)


__all__ = ["KINDS", "MEANINGS", "TURNED", "Advice", "advice", "comparison", "count", "findings", "percent"]
