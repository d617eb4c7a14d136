"""All studies behind one call: run, tell, write."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..datasets import data_home
from .claims import Claim, claims_table, in_order
from .engine import Results, Tick, run
from .output import Section, write, write_section
from .page import build_page
from .published import RELEASE
from .sources import Images, builtin_images, find_images, find_toy
from .spec import Study
from .studies import convergence, faces, family, operators, toy

#: The studies of the paper, and those beyond it, which "all" leaves out.
STUDIES = ("operators", "toy", "faces", "convergence")
BEYOND = ("family",)


#: The files that are looked for, by database.
EXPECTED = {
    "yale": "yale_32x32.npz (X, y) or Yale_32x32.mat (fea, gnd)",
    "jaffe": "jaffe_32x32.mat (fea, gnd) or a folder jaffe with the 213 TIFF files",
}
_TITLES = {"yale": "Yale", "jaffe": "JAFFE"}
_WITH_IMAGES, _WITH_TOY = ("faces", "convergence", "family", "all"), ("toy", "convergence", "all")
_WITH_SPLITS = ("faces", "family", "all")


@dataclass
class Context:
    """What the studies of one call share."""

    out: Path
    folder: str
    images: tuple[Images, ...]
    builtin: bool
    jobs: int
    quick: bool
    splits: int | None
    tick: Tick | None
    complete: bool = field(default=True)

    def run(self, study: Study) -> Results:
        """Run a study, or only read what is kept once an earlier one was interrupted."""
        results = run(
            study,
            self.out / "journal" / f"{study.name}.jsonl",
            jobs=self.jobs,
            tick=self.tick,
            only_kept=not self.complete,
        )
        self.complete &= results.complete
        return results


@dataclass(frozen=True)
class Report:
    """What a call has to say.

    Attributes
    ----------
    page : Path
    findings, notes : tuple of str
    claims : tuple of Claim
        In the order of the paper.
    complete : bool
        False when Ctrl-C ended the work early.
    """

    page: Path
    findings: tuple[str, ...]
    notes: tuple[str, ...]
    claims: tuple[Claim, ...]
    complete: bool


def reproduce(
    which: str = "all",
    out: str | os.PathLike[str] = "reproduced",
    *,
    data: str | os.PathLike[str] | None = None,
    source: str | None = None,
    splits: int | None = None,
    jobs: int = 1,
    quick: bool = False,
    tick: Tick | None = None,
) -> Report:
    """Regenerate the figures and tables of the paper, and a verdict on each of its claims.

    Parameters
    ----------
    which : {"operators", "toy", "faces", "convergence", "family", "all"}
        "all" is the paper; "family" goes beyond it, and has no claims.
    out : path-like
        Folder for results, tables, figures, the page, and the journal of
        finished work: the same call goes on where an earlier one stopped.
    data : path-like, optional
        Folder with toy_paper.csv, Yale and JAFFE (see `EXPECTED`); by default
        the one in ``TL1PCA_DATA``. Without it the toy is redrawn and built-in
        images stand in for the faces.
    source : {"yale", "jaffe"}, optional
        Only this database.
    splits : int, optional
        Random splits of the faces; 15 as in the paper by default. Fifteen
        cannot separate methods that are one point apart; 90 nearly do.
    jobs : int, default=1
    quick : bool, default=False
        Fewer splits, parameters and components: a minute.
    tick : callable, optional
        Told the study, the finished cells and all cells.

    Returns
    -------
    Report
    """
    known = (*STUDIES, *BEYOND, "all")
    if which not in known:
        raise ValueError(f"which must be one of {known}, got {which!r}.")
    if source is not None and source not in EXPECTED:
        raise ValueError(f"source must be one of {tuple(EXPECTED)} or None, got {source!r}.")
    if splits is not None and splits < 1:
        raise ValueError(f"splits must be at least 1, got {splits!r}.")
    for name, given, where in (("source", source, _WITH_IMAGES), ("splits", splits, _WITH_SPLITS)):
        if given is not None and which not in where:
            raise ValueError(f"{name} has no part in {which!r}; it is for {', '.join(where)}.")
    chosen = STUDIES if which == "all" else (which,)
    images, folder = _images(which, data, source)
    notes = _notes(which, folder, images, source, quick, splits)
    context = Context(Path(out), folder, images or builtin_images(), not images, jobs, quick, splits, tick)
    if context.out.exists() and not context.out.is_dir():
        raise ValueError(f"The output {str(out)!r} must be a folder.")
    sections = [_SECTIONS[name](context) for name in chosen]
    claims = in_order(claim for section in sections for claim in section.claims)
    table = claims_table(claims)
    for section in sections:
        write_section(section, context.out)
    write(context.out / "tables" / "claims.md", table.markdown().encode())
    command = " ".join(["tl1pca reproduce", which, *_options(source, splits, quick)])
    page = context.out / ("index.html" if which == "all" else f"{which}.html")
    partial = not context.complete
    html = build_page(sections, claims=table, command=command, notes=notes, partial=partial)
    write(page, html.encode())
    findings = tuple(finding for section in sections for finding in section.findings)
    return Report(page, findings, tuple(notes), tuple(claims), context.complete)


def _options(source: str | None, splits: int | None, quick: bool) -> list[str]:
    """The options that change the numbers, as they are typed."""
    texts = [f"--source {source}" if source else "", f"--splits {splits}" if splits else ""]
    return [text for text in (*texts, "--quick" if quick else "") if text]


def _images(
    which: str, data: str | os.PathLike[str] | None, source: str | None
) -> tuple[tuple[Images, ...], str]:
    """The face databases to use, and the folder with the data; both may be empty."""
    given = data or os.environ.get("TL1PCA_DATA")
    folder = str(data_home(given).resolve()) if given else ""
    images = find_images(folder) if folder and which in _WITH_IMAGES else ()
    if source is not None and which in _WITH_IMAGES:
        images = tuple(found for found in images if found.name == source)
    if not images and which in _WITH_IMAGES and (source or (which in ("faces", "family") and data)):
        wanted = [EXPECTED[source]] if source else list(EXPECTED.values())
        where = f"in {str(given)!r}" if given else "without a data folder (--data or TL1PCA_DATA)"
        name = _TITLES[source] if source else "face database"
        hint = "" if source else " Without --data built-in images are used."
        raise FileNotFoundError(f"No {name} {where}: expected {', or '.join(wanted)}.{hint}")
    return images, folder


def _notes(
    which: str,
    folder: str,
    images: tuple[Images, ...],
    source: str | None,
    quick: bool,
    splits: int | None,
) -> list[str]:
    """What a reader must know of this run, and nothing that has no bearing on it."""
    notes = []
    if quick and (limits := _too_quick(which, splits)):
        notes.append(" ".join(["A quick version: it shows that everything runs.", *limits]))
    if which in _WITH_TOY and not find_toy(folder):
        notes.append(
            "The paper's toy points (toy_paper.csv with x, y, outlier) were not given: a seeded redraw "
            f"stands in for them. They are in the authors' release, {RELEASE}."
        )
    if which in _WITH_IMAGES and not images:
        notes.append(
            "No Yale or JAFFE files were given: built-in images stand in, with blocks scaled to their size."
        )
    elif which in _WITH_IMAGES and source is None:
        present = {found.name for found in images}
        for name, files in EXPECTED.items():
            if name not in present:
                notes.append(f"{_TITLES[name]} was not given: expected {files}.")
    return notes


def _too_quick(which: str, splits: int | None) -> list[str]:
    """What a quick version of the chosen studies cannot tell."""
    told = []
    if which in ("faces", "family", "all"):
        told.append(
            f"With {splits or 2} split{'s' * (splits != 1)}, at most 20 components and few parameters it "
            "cannot tell whether a method is better than another on images, which parameter is best, or what "
            "happens beyond 20 components."
        )
    if which in ("toy", "all"):
        told.append("Angles of the toy are means over 50 draws only.")
    if which in ("convergence", "all"):
        told.append("Iterations are those of 3 repeats.")
    return told


def _toy(context: Context) -> Section:
    folder, quick = find_toy(context.folder), context.quick
    return toy.section(
        toy.ToyResults(
            context.run(toy.figure_study(folder)),
            context.run(toy.redraw_study(quick)),
            context.run(toy.clean_study(folder, quick)),
            context.run(toy.rounding_study(folder, quick)),
        )
    )


def _faces(context: Context) -> Section:
    main = context.run(faces.study(context.images, context.quick, context.splits))
    shaken = context.run(faces.rounding_study(context.images, context.quick))
    return faces.section(main, shaken, context.builtin, context.quick)


def _convergence(context: Context) -> Section:
    folder = find_toy(context.folder)
    return convergence.section(context.run(convergence.study(folder, context.images, context.quick)))


def _family(context: Context) -> Section:
    return family.section(context.run(family.study(context.images, context.quick, context.splits)))


_SECTIONS: dict[str, Callable[[Context], Section]] = {
    "operators": lambda context: operators.section(),
    "toy": _toy,
    "faces": _faces,
    "convergence": _convergence,
    "family": _family,
}
