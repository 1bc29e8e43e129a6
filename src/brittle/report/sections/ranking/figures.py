"""Rank against severity (CNS-Bench 2025, figure 7), with ties by the paper's rule and by paired tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from brittle.report.blocks import Axis, Figure, Intervals, Line, Mark, Panel
from brittle.report.page.section import Row
from brittle.report.sections.ranking.words import BY
from brittle.report.sections.tables import who

APART = 0.5  # of a rank, over which those that share one are spread
MOST_BARS = 5  # classifiers: the bars of more hide one another
MOST_TICKS = 12


def bump_chart(row: Row, chosen: Sequence[Row]) -> Figure:
    """One line per classifier, the best on top; on the right, bars reach over the ranks that tests leave open,
    where classifiers are few."""
    count, severities = len(row["classifiers"]), row["severities"]
    x = Axis(row["unit"], _ticks(severities) if len(severities) <= MOST_TICKS else None)
    ranks = range(1, count + 1) if count <= MOST_TICKS else [1, *range(5, count + 1, 5)]
    y = Axis(f"rank {BY[row['by']]}", _ticks(ranks), 0.4, count + 0.6, falling=True, grid=True)
    bars = "; bars: ranks left open" if len(chosen) <= MOST_BARS else ""
    overlap = f"ties: intervals of ±{row['sigma']:g} standard error{'s' * (row['sigma'] != 1)} overlap"
    names = ", ".join(each["classifier"] for each in chosen)
    return Figure(
        f"rank {BY[row['by']]} of {names} against {row['unit']}",
        (
            Panel(tuple(_lines(severities, chosen, "rank_by_overlap")), x, y, overlap),
            Panel(tuple(_lines(severities, chosen, "rank")), x, y, f"ties: paired tests, corrected{bars}"),
        ),
        f"Of {count} classifiers {len(chosen)} are drawn." if len(chosen) < count else "",
        height=min(7.2, 2.0 + 0.28 * count),
        share="y",
    )


def _ticks(values: Sequence[float]) -> tuple[tuple[float, str], ...]:
    return tuple((value, f"{value:g}") for value in values)


def _lines(severities: Sequence[float], chosen: Sequence[Row], key: str) -> Iterator[Mark]:
    step = min((after - before for before, after in itertools.pairwise(severities)), default=1.0)
    tests = key == "rank"
    for place, each in enumerate(chosen):
        # Lines that share a rank lie side by side, and so do bars, each over its own severity.
        off = (place + 0.5) / len(chosen) - 0.5
        at = tuple(severity + 0.5 * step * off * tests for severity in severities)
        if tests and len(chosen) <= MOST_BARS:
            low, high = (tuple(rank + APART * off for rank in each[end]) for end in ("rank", "rank_at_most"))
            yield Intervals(who(each), at, low, high)
        yield Line(who(each), at, tuple(rank + APART * off for rank in each[key]), markers=True)
