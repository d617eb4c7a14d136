"""The sentences of the report. They say what the numbers say, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._subspace import has_variance
from .._unusual import Unusual
from ..diagnostics import Flag, rows_for_flags
from ..preprocessing import unequal_spreads
from ._analysis import HELD, Analysis, Array, Classical

#: Rows named in a sentence.
N_NAMED = 5
#: Distance over limit from which a row is clearly out, not by chance.
CLEAR = 2.0

ORDINALS = ("first", "second", "third", "fourth", "fifth")

TWO_ANSWERS = (
    "Where directions have nearly equal variance, or where a method looks for something else (few non-zero "
    "loadings, say), two answers can differ without either being wrong."
)

NOUNS = {
    Flag.GOOD_LEVERAGE: "good leverage point",
    Flag.ORTHOGONAL_OUTLIER: "orthogonal outlier",
    Flag.BAD_LEVERAGE: "bad leverage point",
}

MEANINGS = {
    Flag.REGULAR: "within both limits",
    Flag.GOOD_LEVERAGE: "far out along the components, but in line with the other rows",
    Flag.ORTHOGONAL_OUTLIER: "does not follow the pattern of the other rows",
    Flag.BAD_LEVERAGE: "does not follow the pattern and is far out as well; distorts classical PCA most",
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
    >>> percent(0.1538), percent(0.0004), percent(0.99996), percent(1 - 1e-16), percent(0.0)
    ('15 %', '0.04 %', '99.99 %', '100 %', '0 %')
    """
    value = 100.0 * share
    if min(abs(value), abs(100.0 - value)) < 1e-9:  # rounding errors are no part of anything
        return f"{abs(value):.0f} %"
    if 99.0 < value < 100.0 or value < 1.0:
        return f"{np.clip(round(value, 2), 0.01, 99.99):.4g} %"
    return f"{value:.2g} %" if value < 9.95 else f"{value:.0f} %"


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
    """A name that leaves room for the sentence around it; beginning and end tell names apart.

    Examples
    --------
    >>> shorten("temperature of sensor 188", 16)
    'temperature …188'
    """
    if len(name) <= most:
        return name
    end = (most - 1) // 4
    return f"{name[: most - 1 - end]}…{name[len(name) - end :]}"


def short_names(names: Sequence[str], most: int = 40) -> list[str]:
    """Names of one list; those that would look the same show the part in which they differ.

    Examples
    --------
    >>> short_names(["speed", "speed of wheel 1, meters", "speed of wheel 12, meters"], 16)
    ['speed', '…of wheel 1…', '…of wheel 12…']
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(shorten(name, most), []).append(name)
    found = {}
    for short, alike in groups.items():
        begin = _same_start(alike)
        end = _same_start([name[begin:][::-1] for name in alike])
        for name in alike:
            first = max(0, min(begin, len(name) - end - (most - 2)))  # what comes before says of what
            word = name[first:begin].find(" ") + 1 if first else 0
            cut = f"{'…' if first + word else ''}{name[first + word : first + most - 2]}…"
            found[name] = short if len(alike) == 1 or len(name) <= most else cut
    return [found[name] for name in names]


def _same_start(texts: Sequence[str]) -> int:
    """With how many characters all of them begin: the first and the last in order differ soonest."""
    first, last = min(texts), max(texts)
    return next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), min(len(first), len(last)))


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
    labels = analysis.labels
    names = [str(analysis.numbers[i]) if labels is None else f"“{shorten(labels[i])}”" for i in rows.tolist()]
    return f"{'row' if len(names) == 1 else 'rows'} {listing(names)}"


def too_few(n: int, k: int) -> str:
    """Why there are no flags, and from how many rows on there are.

    Examples
    --------
    >>> too_few(3, 1)
    '3 rows are too few for flags, which mean something from 10 rows on with 1 component.'
    """
    return (
        f"{count(n, 'row')} {'is' if n == 1 else 'are'} too few for flags, which mean something from "
        f"{rows_for_flags(k)} rows on with {count(k, 'component')}."
    )


#: Of a fit to rows that are all equal, but for outliers.
NO_VARIANCE = (
    "The rows that the fit describes are all equal: there is no variance, and the components mean nothing."
)


# ------------------------------------------------------------------------------- what was found
def findings(analysis: Analysis, details: Unusual) -> list[str]:
    """What was found, a few sentences; `details` are those of the flagged rows."""
    n, flagged = len(analysis.data), analysis.flagged
    if analysis.too_few:
        return [f"No row is flagged, because {too_few(analysis.n_fit, len(analysis.estimator.components_))}"]
    by_chance = max(1, round(analysis.false_alarms * n))
    chance = (
        f"Of clean, normally distributed rows about {percent(analysis.false_alarms)} lie beyond a limit by "
        f"chance: of {n:,} rows about {by_chance:,}."
    )
    if not len(flagged):
        return [f"None of the {n:,} rows is flagged: all lie within both limits.", chance]
    kinds = [
        count(int(np.count_nonzero(analysis.found.flags == flag)), noun)
        for flag, noun in NOUNS.items()
        if (analysis.found.flags == flag).any()
    ]
    verb = "is" if len(flagged) == 1 else "are"
    sentences = [
        f"{len(flagged):,} of {n:,} rows ({percent(len(flagged) / n)}) {verb} flagged: {listing(kinds)}.",
        f"{_furthest(analysis)}; {'its' if len(flagged) == 1 else 'the largest'} distance is "
        f"{factor(analysis.excess[flagged[0]])} its limit.",
    ]
    return [*sentences, *_leading_variable(analysis, details), chance]


def _furthest(analysis: Analysis) -> str:
    rows = analysis.flagged[:N_NAMED]
    verb, counted = "is" if len(rows) == 1 else "are", " (counted from 1)" if analysis.labels is None else ""
    return f"Furthest out {verb} {_rows(analysis, rows)}{counted}"


def _leading_variable(analysis: Analysis, details: Unusual) -> list[str]:
    """The variable that stands out most often, where there is one that does."""
    m = len(details.columns)
    if m < 3:
        return []
    leaders = np.bincount(details.columns[:, 0], minlength=len(analysis.names))
    leader = int(leaders.argmax())
    if leaders[leader] < 0.3 * m:
        return []
    return [
        f"The variable that stands out most often is “{short_names(analysis.names)[leader]}”: it is the most "
        f"unusual one in {int(leaders[leader]):,} of the {m:,} flagged rows."
    ]


# ------------------------------------------------------------------------------- classical PCA
def comparison(analysis: Analysis) -> list[str]:
    """What the flagged rows did to classical PCA."""
    classical = analysis.classical
    if classical is None:
        return [
            "The fitted method is classical PCA itself, so there is nothing to compare it with, and rows "
            "that distorted it may look regular here. Fit TL1SubspacePCA to see whether that happened."
        ]
    return [_turned(analysis, classical), _masked(analysis, classical)]


def _turned(analysis: Analysis, classical: Classical) -> str:
    largest = float(classical.angles[0])
    j = classical.turned
    if j is None:
        what = (
            "the flagged rows did not distort classical PCA"
            if len(analysis.flagged)
            else "nothing in these data distorts classical PCA"
        )
        return f"Both methods find nearly the same subspace (largest angle {degrees(largest)}): {what}."
    angle = degrees(float(classical.component_angles[j]))
    name = f"The {ORDINALS[j]} classical component" if j < len(ORDINALS) else f"Classical component {j + 1}"
    if not len(analysis.flagged):
        return (
            f"{name} lies {angle} off the fitted subspace. No row is flagged, so outliers are not why. "
            f"{TWO_ANSWERS}"
        )
    weight = classical.weight(analysis.flagged)
    if weight < HELD:
        return (
            f"{name} lies {angle} off the fitted subspace, but not because of what is flagged, which holds "
            f"only {percent(weight)} of the variance along it. {TWO_ANSWERS}"
        )
    pulls = classical.pulls[analysis.flagged]
    order = np.argsort(-pulls, kind="stable")
    needed = int(np.searchsorted(np.cumsum(pulls[order]), 0.9 * weight)) + 1
    rows = analysis.flagged[order[:needed]]
    named = _rows(analysis, np.sort(rows) if needed <= N_NAMED else rows)
    if needed > 4 * N_NAMED:
        named = f"{needed:,} of the flagged rows"
    holders = "that row holds" if len(analysis.flagged) == 1 else "the flagged rows hold"
    return (
        f"{name} points at {named}: it lies {angle} off the fitted subspace, and {holders} "
        f"{percent(weight)} of the variance along it."
    )


def _masked(analysis: Analysis, classical: Classical) -> str:
    flagged = analysis.found.flags != Flag.REGULAR
    seen = classical.found.flags != Flag.REGULAR
    both, extra = int(np.count_nonzero(flagged & seen)), int(np.count_nonzero(seen & ~flagged))
    m = len(analysis.flagged)
    others = f"{count(extra, 'row')} that {'is' if extra == 1 else 'are'} regular here"
    if not m:
        return f"By its own distances classical PCA flags {others if extra else 'no row either'}."
    if m == 1:
        what = "the flagged row as well" if both else "not this row"
    elif both == m:
        what = "both flagged rows as well" if m == 2 else f"all {m:,} flagged rows as well"
    else:
        what = f"{f'{both:,}' if both else 'none'} of the {m:,} flagged rows"
    joint = ", and" if both else ", but"
    return f"By its own distances classical PCA flags {what}{f'{joint} {others}' if extra else ''}."


# ------------------------------------------------------------------------------- what to do
def advice(analysis: Analysis) -> Advice:
    """What to do next, for what was found."""
    n, m = len(analysis.data), len(analysis.flagged)
    share, kinds, expected = m / n, analysis.found.flags[analysis.flagged], analysis.false_alarms * n
    if analysis.too_few:
        warning, steps = "", ["Collect more rows before you judge single ones."]
    elif not has_variance(analysis.estimator):
        warning, steps = (
            NO_VARIANCE,
            ["Check whether these are the columns and rows that you meant to look at."],
        )
    elif not m:
        warning, steps = "", ["No row needs attention. The components can be used as they are."]
    elif share > 0.5:
        warning, steps = _most(share)
    elif m <= expected + 2.0 * np.sqrt(expected) and analysis.excess[analysis.flagged[0]] < CLEAR:
        warning, steps = "", _chance(m)
    elif (kinds == Flag.GOOD_LEVERAGE).all():
        warning, steps = "", _leverage_only(m)
    elif share > 0.1:
        warning, steps = "", _many(m)
    else:
        warning, steps = "", _few(m)
    return Advice(warning, [*steps, *_general(analysis)])


def _most(share: float) -> tuple[str, list[str]]:
    return (
        f"{percent(share)} of the rows are flagged. Limits are made for a majority of regular rows; with "
        "most rows beyond them, the fit does not describe these data and single flags mean little.",
        [
            "If the estimator was fitted to other data, these rows come from somewhere else: check units, "
            "order of the columns and preprocessing, or fit it to these rows.",
            "Otherwise try more components, or split the data into the groups they consist of.",
        ],
    )


def _leverage_only(m: int) -> list[str]:
    these, belong, them = (
        ("This row is", "it belongs", "it") if m == 1 else ("These rows are", "they belong", "them")
    )
    return [
        f"{these} far from the center but in line with the others, so nothing points to an error.",
        f"Check whether {belong} to what you want to describe; if so, keep {them}.",
    ]


def _chance(m: int) -> list[str]:
    return [
        ("The flagged row is" if m == 1 else "The flagged rows are no more than chance produces, and all are")
        + " close to the limits: nothing needs to be done. The components can be used as they are."
    ]


def _few(m: int) -> list[str]:
    if m == 1:
        return [
            "Look at the flagged row and the variables named with it: is it a slip of the pen, a wrong unit, "
            "a failing instrument, or a genuine rarity?",
            "Correct what is wrong. What is right stays in the data; do not delete the row only because it "
            "is flagged.",
        ]
    return [
        "Look at the flagged rows from the top of the table, with the variables named there: slips of the "
        "pen, wrong units, failing instruments and genuine rarities all look like this.",
        "Correct what is wrong. What is right stays in the data; do not delete rows only because they "
        "are flagged.",
        "Rows near the limits may be there by chance; those many times beyond them are not.",
    ]


def _many(m: int) -> list[str]:
    if m == 1:
        return _few(m)
    return [
        "So many rows are rarely single errors. Look at the scores and the outlier map: if the flagged rows "
        "form a group, it may be another population, another batch or another way of measuring.",
        "If it is, analyze the groups separately. If not, go through the table from the top.",
        "Do not delete rows only because they are flagged.",
    ]


def _general(analysis: Analysis) -> list[str]:
    steps = []
    classical = analysis.classical
    if classical is not None and classical.weight(analysis.flagged) >= HELD:
        steps.append(
            "Do not use the components of classical PCA for these data: the flagged "
            f"{'row' if len(analysis.flagged) == 1 else 'rows'} moved them by up to "
            f"{degrees(float(classical.angles[0]))}."
        )
    if not getattr(analysis.estimator, "converged_", True):
        steps.append("The fit did not converge: raise max_iter before you rely on the components.")
    if analysis.bad_cells is not None:  # and each column has a unit of its own
        bad = int(np.count_nonzero(analysis.bad_cells))
        if bad:
            steps.append(
                f"{count(bad, 'cell does', 'cells do')} not fit the rest of "
                f"{'its row' if bad == 1 else 'their rows'}: "
                "see the cell map, and correct what is wrong there. tl1pca outliers --cells lists all of "
                "them, tl1pca impute replaces them by what the other cells say."
            )
        return steps
    unequal = unequal_spreads(analysis.data[:: max(1, len(analysis.data) // 5000)])
    if unequal is not None:
        wide, narrow = (short_names(analysis.names)[j] for j in (unequal.widest, unequal.narrowest))
        steps.append(
            f"The spreads of the columns differ up to {unequal.times} (“{wide}” against "
            f"“{narrow}”), and wide columns dominate. If they are in different units, scale them first: "
            "--scale robust on the command line, make_pipeline(MADScaler(), ...) in Python."
        )
    return steps
