"""What a section inherits: defaults for everything but its body."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from jinja2 import Environment, TemplateNotFound
from markupsafe import Markup
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from brittle.report.page.jinja import environment
from brittle.report.page.section import Finding, MeasureRun, Remarks, Summary
from brittle.report.page.words import in_words
from brittle.report.sections.flatten import arrow_of, columns_of, rows_of, text
from brittle.report.sections.tables import UNBOUNDED, NamesTable

MOST_PRINTED = 20  # rows
MOST_LISTED = 4  # values of a list in a cell
STYLE = "style.css"
EVERYTHING = "--json or --out has them all"


class BaseSection(ABC):
    """Shows one kind of measure; register it under that kind. Templates, and a style.css, lie in the folder
    `templates` beside the module."""

    title: str = ""

    @abstractmethod
    def body(self, run: MeasureRun) -> Markup: ...

    def console(self, summary: Summary) -> RenderableType:
        """The summary as it is: a table for each of its lists."""
        shown: list[RenderableType] = [line((self.title or in_words(summary["kind"]), "bold"))]
        for name, rows in rows_of(summary).items():
            if not name:
                shown.append(_pairs(rows[0]))
                continue
            shown += [line(f"  {name}"), FittingTable(rows[:MOST_PRINTED])]
            if len(rows) > MOST_PRINTED:
                shown.append(line(f"  … and {len(rows) - MOST_PRINTED} more ({EVERYTHING})"))
        return Group(*shown)

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        return ()

    def table(self, summary: Summary) -> pa.Table:
        return arrow_of(summary)

    def beside(self, run: MeasureRun, images: str, nuisance: str) -> Markup | None:
        return None

    def remarks(self, run: MeasureRun) -> Remarks:
        return Remarks()

    def style(self) -> str:
        try:
            return self._templates.get_template(STYLE).render()
        except TemplateNotFound:
            return ""

    def rendered(self, template: str, run: MeasureRun, **values: Any) -> Markup:
        """A template of this section, or of the page; `run` and the classifiers' `looks` are always there."""
        return Markup(self._templates.get_template(template).render(run=run, looks=run.looks, **values))

    @property
    def _templates(self) -> Environment:
        """Its own templates first, then those of the sections that it inherits from."""
        kinds = (kind for kind in type(self).__mro__ if issubclass(kind, BaseSection))
        packages = dict.fromkeys(kind.__module__.rpartition(".")[0] for kind in kinds)
        return environment(*filter(None, packages))


def _pairs(row: dict[str, Any]) -> NamesTable:
    table = plain_table("", "")
    for key, value in row.items():
        table.add_row(key, text(value, MOST_LISTED))
    table.show_header = False
    return table


class FittingTable(NamedTuple):
    """Any rows: a table where it fits the console, and otherwise one row after the other, so that nothing is cut."""

    rows: list[dict[str, Any]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = columns_of(self.rows)
        table = Table(box=None, padding=(0, 1, 0, 1), header_style="dim")
        for column in columns:
            if any(isinstance(row.get(column), (str, list)) for row in self.rows):
                table.add_column(column, overflow="fold", min_width=max(8, len(column)))
            else:
                table.add_column(column, no_wrap=True)
        for row in self.rows:
            table.add_row(*(text(row.get(column), MOST_LISTED) for column in columns))
        if Measurement.get(console, options.update_width(UNBOUNDED), table).minimum <= options.max_width:
            yield table
            return
        for row in self.rows:
            yield from (_pairs(row), line())


def line(*parts: str | tuple[str, str]) -> Text:
    """A line that the terminal wraps, so that it can be copied whole; a part may have a style."""
    made = Text.assemble(*parts)
    made.no_wrap, made.overflow = True, "ignore"
    return made


def plain_table(*columns: str, folds: int = 1) -> NamesTable:
    """A table without lines. The first columns, names, are broken where the terminal is narrow; numbers never are."""
    return NamesTable(*columns, names=folds)
