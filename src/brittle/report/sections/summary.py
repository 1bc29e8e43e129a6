"""The section of a measure that has none: its summary, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from brittle.report.page.section import MeasureRun
from brittle.report.sections.base import BaseSection
from brittle.report.sections.flatten import columns_of, rows_of, text

MOST_SHOWN = 1000  # rows of a table


class SummarySection(BaseSection):
    """Shows whatever a measure's summary holds."""

    def body(self, run: MeasureRun) -> Markup:
        tables = {
            name: ({column: _numeric(column, rows) for column in columns_of(rows)}, rows)
            for name, rows in rows_of(run.summary).items()
        }
        return self.rendered("summary.html.j2", run, tables=tables, text=text, most=MOST_SHOWN)


def _numeric(column: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a column is sorted by number."""
    known = [row[column] for row in rows if row.get(column) is not None]
    return bool(known) and all(isinstance(value, (int, float)) for value in known)
