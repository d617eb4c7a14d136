"""All studies behind one call: run, tell, write."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..datasets import data_home
from .engine import Results, Tick, run
from .output import Section, write, write_section
from .page import build_page
from .sources import Images, builtin_images, find_images, find_toy
from .spec import Study
from .studies import convergence, faces, operators, toy

STUDIES = ("operators", "toy", "faces", "convergence")


@dataclass
class Context:
    """What the studies of one call share."""

    out: Path
    folder: str
    images: tuple[Images, ...]
    builtin: bool
    jobs: int
    quick: bool
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
    complete : bool
        False when Ctrl-C ended the work early.
    """

    page: Path
    findings: tuple[str, ...]
    notes: tuple[str, ...]
    complete: bool


def reproduce(
    which: str = "all",
    out: str | os.PathLike[str] = "reproduced",
    *,
    data: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    quick: bool = False,
    tick: Tick | None = None,
) -> Report:
    """Regenerate the figures and tables of the paper.

    Parameters
    ----------
    which : {"operators", "toy", "faces", "convergence", "all"}
    out : path-like
        Folder for results, tables, figures, the page, and the journal of
        finished work: the same call goes on where an earlier one stopped.
    data : path-like, optional
        Folder with toy_paper.csv, Yale and JAFFE; by default the one in
        ``TL1PCA_DATA``. Without it the toy is redrawn and built-in images
        stand in for the faces.
    jobs : int, default=1
    quick : bool, default=False
        Fewer splits, parameters and components: a minute.
    tick : callable, optional
        Told the study, the finished cells and all cells.

    Returns
    -------
    Report
    """
    if which not in (*STUDIES, "all"):
        raise ValueError(f"which must be one of {(*STUDIES, 'all')}, got {which!r}.")
    chosen = STUDIES if which == "all" else (which,)
    context, notes = _prepare(which, Path(out), data, jobs, quick, tick)
    sections = [_SECTIONS[name](context) for name in chosen]
    for section in sections:
        write_section(section, context.out)
    command = f"tl1pca reproduce {which}" + (" --quick" if quick else "")
    page = context.out / ("index.html" if which == "all" else f"{which}.html")
    partial = not context.complete
    write(page, build_page(sections, command=command, notes=notes, partial=partial).encode())
    findings = tuple(finding for section in sections for finding in section.findings)
    return Report(page, findings, tuple(notes), context.complete)


def _prepare(
    which: str, out: Path, data: str | os.PathLike[str] | None, jobs: int, quick: bool, tick: Tick | None
) -> tuple[Context, list[str]]:
    if out.exists() and not out.is_dir():
        raise ValueError(f"The output {str(out)!r} must be a folder.")
    given = data or os.environ.get("TL1PCA_DATA")
    folder = str(data_home(given).resolve()) if given else ""
    images = find_images(folder) if folder else ()
    if which == "faces" and data and not images:
        raise FileNotFoundError(
            f"No face database in {str(data)!r}: expected yale_32x32.npz or Yale_32x32.mat, jaffe_32x32.mat "
            "or a folder jaffe with the TIFF files. Without --data built-in images are used."
        )
    notes = []
    if quick:
        notes.append(
            "A quick version: few splits, parameters, components and redraws. Read nothing into its numbers."
        )
    if not find_toy(folder) and which != "operators":
        notes.append(
            "The paper's toy points (toy_paper.csv) were not given: a seeded redraw stands in for them."
        )
    if not images and which in ("faces", "convergence", "all"):
        notes.append(
            "No Yale or JAFFE files were given: built-in images stand in, with blocks scaled to their size."
        )
    elif "jaffe" not in {source.name for source in images} and which in ("faces", "convergence", "all"):
        notes.append("JAFFE was not given: its owner gives access on request.")
    context = Context(out, folder, images or builtin_images(), not images, jobs, quick, tick)
    return context, notes


def _toy(context: Context) -> Section:
    one = context.run(toy.figure_study(find_toy(context.folder)))
    return toy.section(one, context.run(toy.redraw_study(context.quick)))


def _faces(context: Context) -> Section:
    return faces.section(context.run(faces.study(context.images, context.quick)), context.builtin)


def _convergence(context: Context) -> Section:
    folder = find_toy(context.folder)
    return convergence.section(context.run(convergence.study(folder, context.images, context.quick)))


_SECTIONS: dict[str, Callable[[Context], Section]] = {
    "operators": lambda context: operators.section(),
    "toy": _toy,
    "faces": _faces,
    "convergence": _convergence,
}
