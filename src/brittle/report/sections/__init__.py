"""Sections: what each kind of measure shows of itself. A package per measure, found by the measure's kind."""

from __future__ import annotations

from brittle.registry import Registry
from brittle.report.page.section import Section
from brittle.report.sections.base import BaseSection

sections: Registry[Section] = Registry("section", __name__, group="brittle.sections")
register = sections.register


def section_of(kind: str) -> Section:
    """The section of a kind of measure; one that has none still shows its summary, as a table."""
    return sections.get(kind)() if kind in sections.names() else BaseSection()
