"""What the toy says of section V-A of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..claims import FAILS, OPEN, Claim, beyond_error, undecided, verdict
from ..methods import L1, LP, LP_ASCENT, LPS, PCA, PUBLISHED_TL1, TL1
from ..output import paired, with_error
from ..published import ANGLE
from ..selection import mean_and_error

Array = NDArray[Any]

_PLACE = "V-A"
_IDEAL = "Without the outliers the ideal direction is at 45 degrees"
_ANGLES = "The angles of Fig. 3, but for p = 0.01"
_CHAOTIC = "9.4 degrees for PCA-Lp and 35.1 for lpSPCA at p = 0.01"
_ROBUST = "Tl1PCA is closer to the ideal direction than PCA, PCA-L1, PCA-Lp and lpSPCA"
_SMALL = "… especially when a is small"
#: Degrees between 5 and 95 % beyond which an angle is the work of rounding.
_WIDE = 1.0
#: Printed angles of the chaotic iterations, folded at 45 degrees by the authors' program.
FOLDED = tuple(ANGLE[method, 0.01] for method in (LP, LPS))


def published_angle(method: str, value: float) -> str:
    """The angle as printed, or nothing."""
    return ANGLE.get((PUBLISHED_TL1 if method == TL1 else method, None if np.isnan(value) else value), "")


def angle_ranges(rounding: Any) -> dict[str, tuple[float, float]]:
    """5 and 95 % of the angles of each method on points that differ by roundings."""
    groups = rounding.groupby("method", sort=False) if len(rounding) else ()
    return {method: tuple(np.quantile(own["angle"], (0.05, 0.95))) for method, own in groups}


def by_rounding(ranges: dict[str, tuple[float, float]], method: str, value: float) -> bool:
    """Whether rounding decides an angle: those at p = 0.01 were measured."""
    low, high = ranges.get(method, (0.0, 0.0))
    return value == 0.01 and high - low > _WIDE


def agreement(obtained: float, printed: str) -> str:
    """Whether two angles agree, where the printed digits are cut off."""
    unit = 10.0 ** -len(printed.partition(".")[2])
    return "yes" if abs(obtained - float(printed)) < unit else "no"


def toy_claims(single: Any | None, redraws: Any, clean: Any, rounding: Any) -> tuple[Claim, ...]:
    """Claims of the section.

    Parameters
    ----------
    single : DataFrame or None
        Angles on the paper's own points, where they were given.
    redraws, clean, rounding : DataFrame
        Angles over the redraws, of PCA without outliers, and over changes by rounding.
    """
    return (
        _ideal(clean),
        *_angles(single, rounding),
        *(_over_redraws(redraws) if len(redraws) else undecided(_sentences(), "no redraw is complete")),
    )


def _sentences() -> list[tuple[str, str]]:
    return [(_PLACE, _ROBUST), (_PLACE, _SMALL)]


def _ideal(clean: Any) -> Claim:
    redrawn = clean[clean["source"] == "redraw_clean"]["direction"].to_numpy() if len(clean) else np.empty(0)
    if not len(redrawn):
        return Claim(_PLACE, _IDEAL, OPEN, "no redraw is complete")
    drawn = float(clean[clean["source"] == "toy_clean"]["direction"].iloc[0])
    mean, error = mean_and_error(redrawn)
    return Claim(
        _PLACE,
        _IDEAL,
        verdict(abs(mean - 45.0) <= 2.0 * error),
        f"PCA of the 30 points of the figure is {abs(drawn - 45.0):.1f}° off it; over {len(redrawn)} "
        f"redraws its direction is {with_error(mean, error, 2)}°, for y has the variance of x and that of "
        "the noise. 45° is the line of regression",
    )


def _angles(single: Any | None, rounding: Any) -> tuple[Claim, ...]:
    if single is None:
        return undecided([(_PLACE, _ANGLES), (_PLACE, _CHAOTIC)], "the paper's points were not given")
    rows = [r for r in single.itertuples() if r.method != TL1 and published_angle(r.method, r.value)]
    calm = [r for r in rows if not (r.method in (LP, LPS) and r.value == 0.01)]
    agree = sum(agreement(r.angle, published_angle(r.method, r.value)) == "yes" for r in calm)
    worst = max(abs(r.angle - float(published_angle(r.method, r.value))) for r in calm)
    first = Claim(
        _PLACE,
        _ANGLES,
        verdict(agree == len(calm)),
        f"{agree} of {len(calm)} agree to the printed digits, the largest difference is {worst:.2f}°",
    )
    if not len(rounding):
        return (first, *undecided([(_PLACE, _CHAOTIC)], "no perturbation is complete"))
    ranges = angle_ranges(rounding)
    angles = {r.method: r.angle for r in rows if r.value == 0.01}
    obtained = [f"{angles[method]:.1f}° ({method})" for method in ranges]
    spans = [f"{low:.0f} to {high:.0f}°" for low, high in ranges.values()]
    wide = all(by_rounding(ranges, method, 0.01) for method in ranges)
    says = f"{' and '.join(obtained)}; when the points change by 1e-15, {' and '.join(spans)} (5 to 95 %)"
    return (first, Claim(_PLACE, _CHAOTIC, verdict(False, fails=not wide), says))


def _over_redraws(redraws: Any) -> tuple[Claim, ...]:
    ordered = redraws.sort_values("split")
    at = {key: own["angle"].to_numpy() for key, own in ordered.groupby(["method", "value"], dropna=False)}
    plain = {method: ordered.loc[ordered["method"] == method, "angle"].to_numpy() for method in (PCA, L1)}
    moderate, small = at[PUBLISHED_TL1, 1.0], at[PUBLISHED_TL1, 0.01]
    rivals = {
        **plain,
        **{f"{method} p = 0.5": at[method, 0.5] for method in (LP, LP_ASCENT, LPS)},
        f"{LP_ASCENT} p = 0.01": at[LP_ASCENT, 0.01],
    }
    gains = {name: mean_and_error(angles - moderate) for name, angles in rivals.items()}
    verdicts = [beyond_error(*gain) for gain in gains.values()]
    listed = ", ".join(f"{paired(*gain, 2)} {name}" for name, gain in gains.items())
    worse, error = mean_and_error(small - moderate)
    return (
        Claim(
            _PLACE,
            _ROBUST,
            verdicts[0] if len(set(verdicts)) == 1 else verdict(False, FAILS in verdicts),
            f"at a = 1, mean over {len(moderate)} redraws {with_error(*mean_and_error(moderate), 2)}°; what "
            f"the others are further off: {listed}",
        ),
        Claim(
            _PLACE,
            _SMALL,
            beyond_error(-worse, error),
            f"{with_error(*mean_and_error(small), 2)}° at a = 0.01 against {moderate.mean():.2f}° at a = 1: "
            f"{paired(worse, error, 2)}° further off",
        ),
    )
