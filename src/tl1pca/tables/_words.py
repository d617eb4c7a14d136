"""What a cell of text means: a number, nothing, yes or no, or a word."""

from __future__ import annotations

import re

#: Cells that stand for a missing value, in lower case.
MISSING = frozenset(
    {"", "na", "n/a", "nan", "null", "none", "nil", "?", ".", "-", "--", "missing", "#n/a", "#na"}
    | {"#null!", "#num!", "#value!", "#div/0!", "#ref!", "#name?"}  # formulas that failed
)

#: Words of columns that answer a question, in lower case: what counts as 1, and as 0.
ANSWERS = (
    ("true", "false"),
    ("yes", "no"),
    ("y", "n"),
    ("on", "off"),
    ("ja", "nein"),
    ("oui", "non"),
    ("si", "no"),
    ("sí", "no"),
)

#: What is written beside a number and does not belong to it.
UNITS = re.compile(r"(?P<sign>[+-]?)\s*[$€£¥]?\s*(?P<digits>.*?)\s*[$€£¥%]?")
UNIT_MARKS = frozenset("$€£¥%")
MINUS = "−"  # as typeset, and as spreadsheets of some languages export it

#: Negative numbers as bookkeepers write them: in parentheses, or with the sign behind.
NEGATIVE = re.compile(
    r"(?P<before>[$€£¥]?)\s*\((?P<inside>[^()+-]+)\)(?P<behind>\s*[$€£¥%]?)|(?P<digits>[\d.,' ]+)-"
)

SPACES = " \u00a0\u202f'\u2019"  # between groups of three digits, as are the other mark of ".,"
GROUPED = re.compile(
    r"[+-]?[1-9]\d{0,2}(?:(?P<mark>[., \u00a0\u202f'\u2019])\d{3})(?:(?P=mark)\d{3})*(?P<rest>(?:[.,]\d*)?)"
)
ONE_MARK = re.compile(r"[+-]?(?:\d*)(?P<mark>[.,])(?P<digits>\d+)(?:[eE][+-]?\d+)?")


class OtherMarkError(ValueError):
    """A number with a decimal point where the decimal mark is a comma."""


def is_missing(cell: str) -> bool:
    """Whether a cell stands for a missing value."""
    return cell.strip().lower() in MISSING


def bare(cell: str) -> str:
    """The digits of a cell, without a sign of money or percent beside them.

    Examples
    --------
    >>> bare("-$ 1,250.50"), bare("12 %"), bare("−3 €")
    ('-1,250.50', '12', '-3')
    """
    text = cell.strip().replace(MINUS, "-")
    if UNIT_MARKS.isdisjoint(text):
        return text
    parts = UNITS.fullmatch(text)
    return text if parts is None or not parts["digits"] else parts["sign"] + parts["digits"]


def signed(cell: str) -> str:
    """A cell with a minus in front where a bookkeeper would read one.

    Examples
    --------
    >>> signed("(1,250.50)"), signed("$ (3)"), signed("12.5-"), signed("n.d.")
    ('-1,250.50', '-$3', '-12.5', 'n.d.')
    """
    parts = NEGATIVE.fullmatch(cell.strip())
    if parts is None:
        return cell
    return "-" + (parts["digits"] or parts["before"] + parts["inside"] + parts["behind"])


def has_unit(cell: str) -> bool:
    """Whether a number has a sign of money or percent beside it."""
    return not UNIT_MARKS.isdisjoint(cell)


def answer_words(words: set[str]) -> tuple[str, str] | None:
    """The words for yes and no that a column consists of, if it does; of single letters both."""
    spoken = any(len(word) > 1 for word in words)
    return next((p for p in ANSWERS if words == set(p) or (spoken and words <= set(p))), None)


def number(cell: str, decimal: str) -> float:
    """A cell as a number, NaN if it is missing.

    The other one of "." and ",", a space or an apostrophe may group the digits
    before the decimal mark in threes; a sign of money or percent is left out.

    Examples
    --------
    >>> number("10,650.5", "."), number("10.650,5", ","), number("$1 250", ".")
    (10650.5, 10650.5, 1250.0)
    """
    text = bare(cell)
    if text.lower() in MISSING:
        return float("nan")
    if "_" in text:  # Python takes 1_000 for a number, a user takes it for a name
        raise ValueError(text)
    other = "," if decimal == "." else "."
    if other not in text and not any(mark in text for mark in SPACES):
        return float(text if decimal == "." else text.replace(",", "."))
    groups = GROUPED.fullmatch(text)
    if groups is None or groups["mark"] == decimal or groups["rest"][:1] == other:
        if decimal == "," and ONE_MARK.fullmatch(text):
            raise OtherMarkError(text)
        raise ValueError(text)
    return float(text[: groups.start("rest")].replace(groups["mark"], "") + groups["rest"].replace(",", "."))


def is_grouped(cell: str, decimal: str) -> bool:
    """Whether commas or points of a cell group its digits."""
    groups = GROUPED.fullmatch(bare(cell))
    return groups is not None and groups["mark"] in ".," and groups["mark"] != decimal


def looks_numeric(cell: str) -> bool:
    """A number with either decimal mark; not one that is missing."""
    for decimal in ".,":
        try:
            return number(cell, decimal) == number(cell, decimal)
        except ValueError:
            continue
    return False


def decimal_mark(cells: list[str]) -> str:
    """The decimal mark that some cells speak for.

    A comma, if more of them have a comma that cannot group digits in threes
    than a point that cannot. A mark that comes twice in a number groups
    its digits, so it speaks for the other one.

    Examples
    --------
    >>> decimal_mark(["12.500", "1.012.500"]), decimal_mark(["12.500", "980"])
    (',', '.')
    """
    commas = points = 0
    for cell in cells:
        text = bare(cell)
        if "," not in text and "." not in text:
            continue
        both = GROUPED.fullmatch(text)
        if both is not None and both["mark"] in ".," and (both["rest"] or text.count(both["mark"]) > 1):
            commas, points = commas + (both["mark"] == "."), points + (both["mark"] == ",")
        elif both is None and (one := ONE_MARK.fullmatch(text)):
            commas, points = commas + (one["mark"] == ","), points + (one["mark"] == ".")
    return "," if commas > points else "."
