"""What the faces say of section V-B of the paper, and of Proposition 2."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from ..claims import FAILS, HOLDS, Claim, beyond_error, undecided, verdict
from ..methods import L1, LP, LPS, PCA, PUBLISHED_TL1, TL1
from ..output import paired, shape_value
from ..published import ACCURACY, GAIN, STABLE_FROM
from ..selection import ENOUGH, OTHER, Choice, choices, mean_and_error

Array = NDArray[Any]

RIVALS = (LP, LPS, L1, PCA)
TITLES = {"yale": "Yale", "jaffe": "JAFFE"}
_TABLES = {"yale": "Table I", "jaffe": "Table II"}
_ORTHONORMAL = ("IV, Prop. 2", "The projection vectors of Algorithm 2 are orthonormal")
#: A curve is stable when what follows stays within so many points of where it is said to be.
_LEVEL = 2.0

#: Choices of every method by noise.
Chosen = dict[int, dict[str, Choice]]


def faces_claims(table: Any, summary: Any, given: Collection[str], quick: bool = False) -> tuple[Claim, ...]:
    """Claims of the section; a database that is not among those given, or too few splits, decides nothing.

    Neither does a quick version, which has fewer components and parameters.
    """
    found = [_orthonormal(table)]
    for name, title in TITLES.items():
        part = table[table["source"] == name] if len(table) else table
        splits = part["split"].nunique() if len(part) else 0
        if name not in given:
            found += undecided(_sentences(name), f"{title} is not part of this run")
        elif not splits:
            found += undecided(_sentences(name), "no split is complete")
        elif splits < ENOUGH:
            few = f"{splits} complete split{' does' if splits == 1 else 's do'} not tell"
            found += undecided(_sentences(name), few)
        elif quick:
            found += undecided(_sentences(name), "few components and parameters do not tell")
        else:
            found += _database(part, summary[summary["source"] == name], name)
    return tuple(found)


def _sentences(name: str) -> list[tuple[str, str]]:
    title, place = TITLES[name], f"V-B, {_TABLES[name]}"
    said = [
        (place, f"{title}: the accuracies of {_TABLES[name]}"),
        (place, f"{title}: Tl1PCA outperforms the other methods in all conditions"),
        (place, f"{title}: … with a, p and the dimension chosen on other images"),
    ]
    if name == "yale":
        said += [
            (place, f"{title}: Tl1PCA is around {GAIN} % higher than the others"),
            (place, f"{title}: its advantage is strengthened on noisy data"),
        ]
    figure = "Fig. 5" if name == "yale" else "Fig. 7"
    return [
        *said,
        (f"V-B, {figure}", f"{title}: the accuracy is stable from about {STABLE_FROM[name]} dimensions"),
    ]


def _orthonormal(table: Any) -> Claim:
    own = table[table["method"] == PUBLISHED_TL1] if len(table) else table
    if not len(own):
        return undecided([_ORTHONORMAL], "no split is complete")[0]
    fits = own.drop_duplicates(["source", "noise", "value", "split"])
    worst = float(fits["skew"].max())
    return Claim(
        *_ORTHONORMAL,
        verdict(worst < 1e-10),
        f"largest entry of |W'W - I| over {len(fits)} fits: {worst:.0e}",
    )


def _database(part: Any, summary: Any, name: str) -> list[Claim]:
    rules: dict[str, Chosen] = {
        rule: {int(noise): choices(own, rule) for noise, own in part.groupby("noise", sort=False)}
        for rule in ("oracle", OTHER)
    }
    sentences = _sentences(name)
    claims = [
        _agreement(summary, sentences[0]),
        _outperforms(rules["oracle"], sentences[1]),
        _outperforms(rules[OTHER], sentences[2]),
    ]
    if name == "yale":
        claims += [_higher(rules, sentences[3]), _strengthened(rules, sentences[4])]
    return [*claims, _stable(part, rules["oracle"], STABLE_FROM[name], sentences[-1])]


def _agreement(summary: Any, said: tuple[str, str]) -> Claim:
    """Chi-square of the differences by block: methods share their splits, and so count as one.

    The printed means are of as many splits, and taken to be as uncertain as ours.
    """
    printed = summary[(summary["selection"] == "oracle") & summary["within_two_se"].notna()]
    close, count = int(printed["within_two_se"].astype(bool).sum()), len(printed)
    gaps = (printed["accuracy"] - printed["published"]).groupby(printed["noise"]).mean()
    errors = np.sqrt(2.0) * printed["standard_error"].groupby(printed["noise"]).mean()
    square, limit = float(((gaps / errors) ** 2).sum()), float(chi2.ppf(0.95, len(gaps)))
    listed = ", ".join(f"{paired(gap, errors[noise])} ({_noise(int(noise))})" for noise, gap in gaps.items())
    return Claim(
        *said,
        verdict(square <= limit),
        f"mean difference from print {listed} points: chi-square {square:.1f}, where {limit:.1f} would be "
        f"too much; {close} of {count} numbers within two standard errors of ours",
    )


def _gain(chosen: dict[str, Choice], rivals: tuple[str, ...] = RIVALS, ours: str = PUBLISHED_TL1) -> Array:
    """Points of Tl1PCA over the mean of its rivals, split by split."""
    others = np.mean([chosen[rival].accuracy for rival in rivals], axis=0)
    return 100.0 * (chosen[ours].accuracy - others)


def _outperforms(chosen: Chosen, said: tuple[str, str]) -> Claim:
    """Every method, at every noise, by more than its error: only that is all conditions."""
    gains = [
        (mean_and_error(_gain(own, (rival,))), f"{_noise(noise)}, {rival}")
        for noise, own in chosen.items()
        for rival in RIVALS
    ]
    verdicts = [beyond_error(*gain) for gain, _ in gains]
    (least, where), (most, there) = min(gains), max(gains)
    ahead = sum(kind == HOLDS for kind in verdicts)
    behind = sum(kind == FAILS for kind in verdicts)
    ours = mean_and_error(np.mean([_gain(own, ours=TL1) for own in chosen.values()], axis=0))
    return Claim(
        *said,
        verdict(ahead == len(gains), behind > 0),
        f"ahead by more than two s.e. in {ahead} of {len(gains)} comparisons, behind in {behind}; from "
        f"{paired(*least)} ({where}) to {paired(*most)} ({there}) points; by the default solver "
        f"{paired(*ours)} on average",
    )


def _higher(rules: dict[str, Chosen], said: tuple[str, str]) -> Claim:
    gains = {
        rule: mean_and_error(np.mean([_gain(own) for own in chosen.values()], axis=0))
        for rule, chosen in rules.items()
    }
    gain, error = gains["oracle"]
    printed = np.mean(
        [
            ACCURACY["yale", noise][PUBLISHED_TL1]
            - np.mean([ACCURACY["yale", noise][rival] for rival in RIVALS])
            for noise in rules["oracle"]
            if ("yale", noise) in ACCURACY
        ]
    )
    return Claim(
        *said,
        verdict(abs(gain - GAIN) <= 2.0 * error and gain > 2.0 * error, abs(gain - GAIN) > 2.0 * error),
        f"{paired(gain, error)} points over the mean of the others, averaged over the blocks (their own "
        f"tables: {printed:+.1f}); {paired(*gains[OTHER])} when chosen on other images",
    )


def _strengthened(rules: dict[str, Chosen], said: tuple[str, str]) -> Claim:
    texts = []
    for rule, chosen in rules.items():
        noisy = np.mean([_gain(own) for noise, own in chosen.items() if noise], axis=0)
        texts.append((rule, mean_and_error(noisy - _gain(chosen[0]))))
    listed = ", ".join(f"{paired(*gain)} ({rule})" for rule, gain in texts)
    return Claim(*said, beyond_error(*texts[0][1]), f"gain with blocks minus gain without: {listed} points")


def _stable(part: Any, chosen: Chosen, start: int, said: tuple[str, str]) -> Claim:
    """Mean accuracy beyond the named dimension against the accuracy there, at the oracle's parameter."""
    changes, values = [], []
    for noise, own in part[part["method"] == PUBLISHED_TL1].groupby("noise", sort=False):
        value = chosen[int(noise)][PUBLISHED_TL1].value
        table = own[own["value"] == value].pivot(index="split", columns="dimension", values="accuracy")
        if start not in table.columns or not (table.columns > start).any():
            return undecided([said], f"fewer than {start} components were computed")[0]
        changes.append(100.0 * (table.loc[:, table.columns > start].mean(axis=1) - table[start]).to_numpy())
        values.append(shape_value(value))
    mean, error = mean_and_error(np.mean(changes, axis=0))
    return Claim(
        *said,
        verdict(abs(mean) + 2.0 * error <= _LEVEL, abs(mean) - 2.0 * error > _LEVEL),
        f"mean accuracy beyond {start} components minus that at {start}: {paired(mean, error)} points, at "
        f"a = {', '.join(values)} for the blocks; stable means within {_LEVEL:g}",
    )


def _noise(noise: int) -> str:
    return f"{noise} × {noise}" if noise else "original"
