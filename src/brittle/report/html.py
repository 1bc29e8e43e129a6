"""The HTML report of a run: one file that needs nothing else, readable without JavaScript."""

from __future__ import annotations

from pathlib import Path

from brittle.files import remove_half_written, write_durably
from brittle.report.page.loaded import load
from brittle.report.page.shell import render
from brittle.report.sections import section_of


def write_report(folder: Path, *, nothing_loaded: bool = False) -> Path:
    """Writes `report.html` into a run folder and returns its path. Loading what the study names may run code."""
    run = load(Path(folder), nothing=nothing_loaded)
    text = render(run, section_of)
    remove_half_written(run.folder.path, (run.folder.report.name,))
    write_durably(run.folder.report, lambda to: to.write_text(text, encoding="utf-8"))
    return run.folder.report
