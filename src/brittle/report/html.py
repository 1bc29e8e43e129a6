"""The HTML report of a run: one file that needs nothing else, readable without JavaScript."""

from __future__ import annotations

from pathlib import Path

from brittle.files import write_durably
from brittle.report.page.loaded import load
from brittle.report.page.shell import render
from brittle.report.sections import section_of


def write_report(folder: Path) -> Path:
    """Writes `report.html` into a run folder and returns its path."""
    run = load(Path(folder))
    text = render(run, section_of)
    write_durably(run.folder.report, lambda to: to.write_text(text, encoding="utf-8"))
    return run.folder.report
