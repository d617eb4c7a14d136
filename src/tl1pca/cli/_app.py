"""The typer application that gathers the commands."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from .._version import __version__
from ._options import expanded


def build_app(commands: Sequence[str]) -> typer.Typer:
    """The application with the commands of the named modules."""
    app = typer.Typer(
        name="tl1pca",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_root)
    for name in commands:
        app.command(name)(expanded(import_module(f".{name}", __package__).command))
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tl1pca {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Robust principal component analysis."""
