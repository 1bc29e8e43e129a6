"""What wraps sections that still write their own markup and console output; it goes with the last of them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from jinja2 import Environment, TemplateNotFound
from markupsafe import Markup
from rich.console import RenderableType
from rich.text import Text

from brittle.measures.distortion import BESIDE
from brittle.report.blocks import Block, Raw, Sentence, SentenceRole, Weighted
from brittle.report.page.jinja import environment
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.renderers.names_table import NamesTable
from brittle.report.sections.distortion import distortion_line
from brittle.report.sections.flatten import arrow_of

STYLE = "style.css"
EVERYTHING = "--json or --out has them all"
PART = re.compile(r'<section[^>]*?\bid="([^"]+)"[^>]*>\s*<h3[^>]*>(.*?)</h3>', re.DOTALL)


class Finding(NamedTuple):
    """A sentence for the top of the report."""

    text: str
    weight: float
    about: tuple[str, ...] = ()


class Remarks(NamedTuple):
    """What the page says on behalf of a measure outside its section."""

    explanation: str = ""
    cautions: Sequence[str] = ()
    limits: Sequence[str] = ()
    citing: str = ""
    references: Sequence[str] = ()


@dataclass(frozen=True)
class LegacyRaw(Raw):
    """Markup with what the contents say of it, or something that rich shows."""

    parts: tuple[tuple[str, str], ...] = ()
    renderable: Any = None


class LegacySection(ABC):
    """Shows one kind of measure through `console` and `body`."""

    title: str = ""

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [LegacyRaw("", renderable=self.console(summary)), *distortion_line(summary.get(BESIDE, ()))]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        markup = self.body(run) + run.distortion()  # what the section has not put beside its numbers itself
        style = self.style()
        html = f"<style>{style}</style>{markup}" if style else str(markup)
        parts = tuple((anchor, Markup(heading).striptags()) for anchor, heading in PART.findall(markup))
        found = self.remarks(run)
        roles: dict[SentenceRole, Sequence[str]] = {
            "definition": [found.explanation] if found.explanation else [],
            "warning": found.cautions,
            "limit": found.limits,
            "citation": [found.citing] if found.citing else [],
            "reference": found.references,
        }
        said = [Sentence(text, role) for role, texts in roles.items() for text in texts]
        return [LegacyRaw(html, parts=parts), *said]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        return [Weighted(Sentence(each.text, "finding"), each.weight, each.about) for each in self.findings(run)]

    @abstractmethod
    def body(self, run: MeasureRun) -> Markup: ...

    @abstractmethod
    def console(self, summary: Summary) -> RenderableType: ...

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
        kinds = (kind for kind in type(self).__mro__ if issubclass(kind, LegacySection))
        packages = dict.fromkeys(kind.__module__.rpartition(".")[0] for kind in kinds)
        return environment(*filter(None, packages))


def line(*parts: str | tuple[str, str]) -> Text:
    """A line that the terminal wraps, so that it can be copied whole; a part may have a style."""
    made = Text.assemble(*parts)
    made.no_wrap, made.overflow = True, "ignore"
    return made


def plain_table(*columns: str, folds: int = 1) -> NamesTable:
    """A table without lines. The first columns, names, are broken where the terminal is narrow; numbers never are."""
    return NamesTable(*columns, names=folds)
