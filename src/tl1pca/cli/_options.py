"""The options that commands share, in groups: a command takes a group as one argument."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from . import INTERRUPTED

UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A .csv, .tsv, .txt, .xlsx, .parquet, .npy, .npz or .mat file, or - for standard input.",
    ),
]


class Missing(StrEnum):
    """What to do about missing values."""

    error = "error"
    drop = "drop"
    median = "median"


class Scale(StrEnum):
    """What is done about columns in different units."""

    auto = "auto"
    robust = "robust"
    std = "std"
    none = "none"


class Keep(StrEnum):
    """Which rows of the input are written again."""

    regular = "regular"


class Decimal(StrEnum):
    """Decimal marks."""

    point = "."
    comma = ","


class Format(StrEnum):
    """How a table is printed."""

    table = "table"
    csv = "csv"


class Method(StrEnum):
    """Names of the methods on the command line."""

    subspace = "subspace"
    tl1 = "tl1"
    l1 = "l1"
    lp = "lp"
    sparse_lp = "sparse-lp"
    generalized_lp = "generalized-lp"
    r1 = "r1"
    l1_reconstruction = "l1-reconstruction"
    l1_best_fit = "l1-best-fit"
    cell = "cell"
    stream = "stream"
    pca = "pca"


ScaleOption = Annotated[
    Scale,
    typer.Option(
        help="Divide columns by a robust spread, by their standard deviation, or not at all. "
        "auto: robust where the spreads differ by more than a factor of 10."
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed for random numbers.")]


@dataclass(frozen=True)
class Reading:
    """How the data file is read."""

    labels: Annotated[
        str | None, typer.Option(help="Column that names the rows. Default: the first, if it is text.")
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns to leave out; may be given several times."),
    ] = None
    missing: Annotated[
        Missing, typer.Option(help="Missing values: stop, drop their rows, or put the column's median there.")
    ] = Missing.error
    array: Annotated[str | None, typer.Option(help="Which array of an .npz or .mat file.")] = None
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line of a text file is names."),
    ] = None
    sheet: Annotated[
        str | None,
        typer.Option(
            help="Which sheet of an .xlsx file, by name or number. Default: the first with numbers."
        ),
    ] = None
    decimal: Annotated[
        Decimal | None,
        typer.Option(help="Decimal mark of a text file. Default: recognized from its first lines."),
    ] = None
    max_memory: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            envvar="TL1PCA_MAX_MEMORY",
            help="Refuse data that need more memory, for example 8G.",
        ),
    ] = "2G"

    @property
    def limit(self) -> int:
        """`max_memory` in bytes."""
        text = self.max_memory.strip()
        match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)([KMGT]?)(?:i?B)?", text, flags=re.IGNORECASE)
        count = int(float(match[1]) * 2 ** UNITS[match[2].upper()]) if match else 0
        if not count:
            raise typer.BadParameter(f"--max-memory {text!r} is not an amount; write for example 512M or 8G.")
        return count


@dataclass(frozen=True)
class Choice:
    """Which method, with which parameters."""

    components: Annotated[
        str | None,
        typer.Option(
            "-k",
            "--components",
            metavar="NUMBER|SHARE",
            help="Number of components, or the share of the variance they are to reach. Default: chosen.",
        ),
    ] = None
    method: Annotated[Method, typer.Option(help="The method.")] = Method.subspace
    scale: ScaleOption = Scale.auto
    set: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Parameter of the method; may be given several times."),
    ] = None
    seed: Seed = 0

    @property
    def n_components(self) -> int | float | None:
        """`components` as a number."""
        if self.components is None:
            return None
        try:
            number = float(self.components)
        except ValueError:
            number = -1.0
        if number.is_integer() and 1 <= number <= 1e9:
            return int(number)
        if 0.0 < number < 1.0:
            return number
        raise typer.BadParameter(
            f"-k {self.components!r} is neither a number of components (1, 2, ...) nor a share such as 0.9."
        )


@dataclass(frozen=True)
class Output:
    """Where results go, and how."""

    format: Annotated[Format, typer.Option(help="Print a table or CSV.")] = Format.table
    out: Annotated[Path | None, typer.Option(help="Write CSV to this file instead.")] = None
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
#: Whether it can be read is found out where it is read, as with DATA: an error of the file, not of usage.
Model = Annotated[
    Path | None, typer.Option(readable=False, help="Model file, as written by fit. Default: fit DATA.")
]

ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", readable=False, help="Model file, as written by fit.")
]


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of each group as options of their own, for typer."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        kinds = get_type_hints(groups[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=kinds[f.name]
            )
            for f in fields(groups[name])
        ]

    @functools.wraps(command)
    def call(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{f.name: values.pop(f.name) for f in fields(kind)})
        try:
            command(**values)
        except KeyboardInterrupt:  # older versions of typer would end with 1
            raise typer.Exit(INTERRUPTED) from None

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    del call.__wrapped__  # or typer would look there
    return call
