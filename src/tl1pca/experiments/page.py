"""The page: one HTML file that needs nothing else, with all text escaped."""

from __future__ import annotations

import base64
import platform
from collections.abc import Sequence
from importlib.metadata import version

from .output import Section, Table, render

PACKAGES = ("tl1pca", "numpy", "scipy", "scikit-learn")


def build_page(
    sections: Sequence[Section], *, claims: Table, command: str, notes: Sequence[str], partial: bool
) -> str:
    """The page as text.

    Parameters
    ----------
    sections : sequence of Section
    claims : Table
        Section, sentence, verdict and figure for each claim of the paper.
    command : str
        What produced it.
    notes : sequence of str
        Where the data came from and what was left out.
    partial : bool
        Whether the run was interrupted.

    Returns
    -------
    str
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise ImportError("The page needs jinja2: pip install 'tl1pca[report]'.") from None
    environment = Environment(
        loader=PackageLoader("tl1pca.experiments"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    images = {
        picture.name: base64.b64encode(render(picture.figure, "svg")).decode()
        for section in sections
        for picture in section.pictures
    }
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return environment.get_template("page.html.j2").render(
        sections=sections,
        images=images,
        claims=claims,
        findings=[finding for section in sections for finding in section.findings],
        command=command,
        notes=notes,
        partial=partial,
        versions=f"Python {platform.python_version()}, {versions}",
    )
