"""A result in a notebook: its tables and its figures as HTML that fits the cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from brittle.classifiers.restore import restored_afterwards
from brittle.engine.run import FinishedRun
from brittle.errors import BrittleError
from brittle.measures.class_order import ORDER
from brittle.report.blocks import Block, Group, Sentence
from brittle.report.blocks.figure import Figure
from brittle.report.blocks.text import Styled
from brittle.report.page.colours import looks
from brittle.report.page.loaded import LoadedRun, loaded_of
from brittle.report.page.section import MeasureRun
from brittle.report.renderers.figures import figures_in
from brittle.report.renderers.plain_html import as_plain_html
from brittle.report.sections import section_of
from brittle.report.sections.before_after.brief import printed_outcome, printed_rounds
from brittle.terminal import visible_values

MOST_FIGURES = 3  # of measures, where a result has many


def as_html(done: FinishedRun, summary: Mapping[str, Any]) -> str:
    """What every measure of a summary says, with the first figure that the report has of it. A notebook has shown the
    warnings when they were given."""
    summary = visible_values(dict(summary))
    with restored_afterwards(done.job.classifiers.values()):
        blocks = list(_blocks(loaded_of(done), summary))
    return str(as_plain_html(blocks, looks(list(done.study.classifiers))))


def hardened_html(done: FinishedRun, rounds: Mapping[str, Any]) -> str:
    """A hardening: its rounds, before and after with a figure, and what came of it. `rounds` are what harden.json
    holds."""
    said = visible_values(dict(rounds))
    before, after = (as_plain_html(blocks(said)) for blocks in (printed_rounds, printed_outcome))
    return "\n".join([before, as_html(done, done.summary), after])


def _blocks(run: LoadedRun, summary: Mapping[str, Any]) -> Iterator[Block]:
    for each in summary.get(ORDER, ()):
        yield Sentence((Styled(str(each["said"])),))
    entries = summary["measures"]
    for place, (name, entry) in enumerate(entries.items()):
        section = section_of(entry["kind"])
        figure = _figure(run, name, entry) if place < MOST_FIGURES else None
        said = [*section.brief(entry), *([figure] if figure is not None else [])]
        yield from [Group(name, tuple(said))] if len(entries) > 1 else said


def _figure(run: LoadedRun, name: str, entry: Mapping[str, Any]) -> Figure | None:
    """The first that the report draws of a measure; none where what it needs can't be read."""
    try:
        return next(figures_in(section_of(entry["kind"]).blocks(MeasureRun(name, entry, run))), None)
    except (BrittleError, OSError):
        return None
