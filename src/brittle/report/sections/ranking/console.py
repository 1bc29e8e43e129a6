"""Rankings on the console: a table per shift, a column per severity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page.words import counted, number, sentence
from brittle.report.sections.base import EVERYTHING, line, plain_table
from brittle.report.sections.ranking import words
from brittle.report.sections.ranking.words import Row

MOST_ROWS, MOST_COLUMNS, MOST_TABLES, MOST_SWAPS = 12, 7, 6, 4


def printed(results: Sequence[Row]) -> RenderableType:
    return Group(*_printed(results))


def _printed(results: Sequence[Row]) -> Iterator[RenderableType]:
    for row in results[:MOST_TABLES]:
        yield line(
            (f"Ranking {words.BY[row['by']]}", "bold"),
            f" under {row['nuisance']} on {row['image_set']}, {counted(row['images'], 'image')}: "
            f"{row['by']} (rank) at each {row['unit']}",
        )
        yield _table(row)
        if len(row["classifiers"]) > MOST_ROWS:
            yield line(f"  … and {len(row['classifiers']) - MOST_ROWS} more classifiers ({EVERYTHING})")
        yield line(f"  {sentence(words.changes(row))}")
        for pair in row["swaps"][:MOST_SWAPS]:
            yield line(f"    {words.swap(row, pair)}")
        if len(row["swaps"]) > MOST_SWAPS:
            yield line(f"    … and {len(row['swaps']) - MOST_SWAPS} more pairs")
        yield line()
    if len(results) > MOST_TABLES:
        yield line(f"… and {len(results) - MOST_TABLES} more rankings ({EVERYTHING})")
    yield line(f"A rank 1–3 is one that tests leave open: {words.how(results[0])}.")


def _table(row: Row) -> Table:
    every = row["severities"]
    places = list(range(len(every)))
    if len(every) > MOST_COLUMNS:
        places = sorted({round(place * (len(every) - 1) / (MOST_COLUMNS - 1)) for place in range(MOST_COLUMNS)})
    table = plain_table("", *(f"{every[place]:g}" for place in places))
    for each in words.in_order(row)[:MOST_ROWS]:
        table.add_row(each["classifier"], *(_cell(each, at) for at in places))
    return table


def _cell(each: Row, at: int) -> str:
    """0.85 (1–3)"""
    value = round(each["values"][at], 2) + 0.0  # no −0.00
    return f"{number(value, 2)} ({words.rank(each['rank'][at], each['rank_at_most'][at])})"
