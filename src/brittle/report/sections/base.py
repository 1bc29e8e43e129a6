"""What a section inherits, and the section of a measure that has none: its summary, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from brittle.registry.spec import in_words
from brittle.report.blocks import Block, Group, Sentence, Table, Weighted
from brittle.report.blocks.text import ClassifierName, Count, Estimate, TableCell, Text
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.sections.flatten import arrow, arrow_of, columns_of, flat, rows_of, text
from brittle.report.sections.tables import pairs

MOST_PRINTED, MOST_SHOWN = 20, 1000  # rows of a table, on the console and on the page
MOST_LISTED = 4  # values of a list in a cell


class BaseSection:
    """Shows one kind of measure; register it under that kind.

    As data it is the list `listed` of its summary, a row each, or where `per` names a list in these rows, a row for
    every entry of that one; `without` are keys that are left out. Without `listed` it is all lists."""

    title: str = ""
    listed: str = ""
    per: str = ""
    without: tuple[str, ...] = ()

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [Group(self.title or in_words(summary["kind"]), tuple(_tables(summary)))]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        return _tables(run.summary) or [Sentence("Its summary is empty.", "note")]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        return ()

    def table(self, summary: Summary) -> pa.Table:
        if not self.listed:
            return arrow_of(summary)
        rows: list[dict[str, Any]] = []
        for row in summary[self.listed]:
            about = {key: value for key, value in row.items() if key not in (*self.without, self.per)}
            rows += [flat(about | each) for each in (row[self.per] if self.per else [{}])]
        return arrow(rows)


def finding(text: Text, weight: float, about: tuple[str, ...] = ()) -> Weighted:
    """For the top of the report."""
    return Weighted(Sentence(text, "finding"), weight, about)


def remarks(
    definition: Text = "", limits: Sequence[Text] = (), citation: Text = "", references: Sequence[str] = ()
) -> list[Sentence]:
    """What the page gathers from all sections: of the words in findings, what the numbers do not say, and what is to be
    cited."""
    return [
        *([Sentence(definition, "definition")] if definition else []),
        *(Sentence(text, "limit") for text in limits),
        *([Sentence(citation, "citation")] if citation else []),
        *(Sentence(text, "reference") for text in references),
    ]


def _tables(summary: Summary) -> list[Block]:
    """Single values as pairs, and each list as a table under its name."""
    made: list[Block] = []
    for name, rows in rows_of(summary).items():
        if not name:
            made.append(pairs(*((key, _cell(key, value)) for key, value in rows[0].items())))
            continue
        columns = columns_of(rows)
        cells = tuple(tuple(_cell(column, row.get(column)) for column in columns) for row in rows[:MOST_SHOWN])
        blocks: list[Block] = [Table(tuple(columns), cells, shown=MOST_PRINTED)]
        if len(rows) > MOST_SHOWN:
            blocks.append(Sentence(f"The first {MOST_SHOWN} of {len(rows)} rows; all are in summary.json.", "note"))
        made.append(Group(name, tuple(blocks)))
    return made


def _cell(column: str, value: Any) -> TableCell:
    if column == "classifier" and isinstance(value, str):
        return ClassifierName(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return text(value, MOST_LISTED)
    return Count(value) if isinstance(value, int) else Estimate(value, places=4, format="significant")
