"""The HTML report of a run: one file that needs nothing else, readable without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from matplotlib.figure import Figure

from brittle.classifiers.restore import restored_afterwards
from brittle.engine.run import FinishedRun
from brittle.engine.store.place import Place, place_of
from brittle.engine.store.run_folder import RunFolder
from brittle.errors import BrittleError
from brittle.files import remove_half_written
from brittle.report.blocks import Pictures
from brittle.report.blocks.pictures import Strip
from brittle.report.page.cautions import in_full
from brittle.report.page.loaded import LoadedRun, load_so_far, loaded_of
from brittle.report.page.shell import contents, document, figures_of, render
from brittle.report.renderers.card import as_card, picture_names
from brittle.report.renderers.data import as_csv
from brittle.report.renderers.json import as_json
from brittle.report.renderers.picture_file import write_strips
from brittle.report.renderers.resolve import pixels_of
from brittle.report.sections import section_of

Format = Literal["json", "markdown", "csv"]
LIVE_OBJECTS_OF = re.compile('<meta name="live-objects-of" content="([0-9a-f]+)">')


class WrittenReport(NamedTuple):
    """A report's file, and the sentences on top of it, the weightiest first."""

    path: Place
    findings: Sequence[str]


def write_report(folder: Path | Place, *, nothing_loaded: bool = False) -> Place:
    """Writes `report.html` into a run folder and returns its path. Loading what the study names may run code."""
    return _written(load_so_far(folder, nothing=nothing_loaded), RunFolder(folder).report).path


def write_as(folder: Path | Place, format: Format, *, nothing_loaded: bool = False) -> Place:
    """Writes the report as data, `report.json`, as a short card with pictures beside it, `report.md`, or the numbers of
    its first screen, `report.csv`, into a run folder."""
    run = load_so_far(folder, nothing=nothing_loaded)
    path = place_of(folder) / f"report.{'md' if format == 'markdown' else format}"
    if format == "markdown":
        text = _card(run, path)
    else:
        text = as_json(document(run, section_of)) + "\n" if format == "json" else _numbers(run)
    path.write(text)
    return path


def _card(run: LoadedRun, path: Place) -> str:
    said = contents(run, section_of)
    names = picture_names(Path(path.name), said.first)
    for name, strip in zip(names, said.first.failures, strict=True):
        with path.beside(name).made_on_disk() as file:
            write_strips(file, [Strip(strip.cards)], "", pixels_of(run, [Pictures((strip,))]))
    cautions = [said.names.plain(in_full(each)) for those in said.cautions.of.values() for each in those]
    return as_card(said.title, said.first, names, cautions, run) + "\n"


def _numbers(run: LoadedRun) -> str:
    shown = contents(run, section_of).first.shown
    if shown is None:
        raise BrittleError("no measure of this run has a table", "`brittle export` writes what every measure says.")
    return as_csv(shown)


def kept_report(folder: Path | Place) -> Place | None:
    """The report that the program with the live objects of a run has written, where it tells what the run says now:
    nobody else can make its pictures."""
    run = RunFolder(folder)
    if not (run.report.is_file() and run.summary.is_file()):
        return None
    run.read_summary()
    of = LIVE_OBJECTS_OF.search(run.report.read_text(encoding="utf-8", errors="replace"))
    return run.report if of is not None and of[1] == run.summary_hash() else None


def report_of(done: FinishedRun, path: Path | None = None) -> WrittenReport:
    """Writes the report of what this process has carried out to a file, or into its run folder."""
    if path is not None:
        where = place_of(path)
    elif done.folder is not None:
        where = RunFolder(done.folder).report
    else:
        raise BrittleError("there is no run folder that a report could go to", "Name a file: report.html.")
    with restored_afterwards(done.job.classifiers.values()):
        return _written(loaded_of(done), where)


def figures(done: FinishedRun, measure: str) -> list[Figure]:
    """What the report draws of one measure, as figures of matplotlib."""
    with restored_afterwards(done.job.classifiers.values()):
        return figures_of(loaded_of(done), section_of, measure)


def _written(run: LoadedRun, path: Place) -> WrittenReport:
    page = render(run, section_of)
    if not path.remote:
        remove_half_written(path.local.parent, (path.name,))
    path.write(page.text)
    return WrittenReport(path, page.findings)
