"""Beside every measure that distorts images: does what it gets wrong go to one class?

Where it does, a number is about the artefact as much as about robustness (Marcu & Prügel-Bennett 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from brittle.report.page.jinja import environment

Row = Mapping[str, Any]
CHANCE = 0.05  # below it the index is more than chance gives
TIMES = 3.0  # as much as chance would send to a class
LEAST = 1.0  # points
MOST_ROWS = 60
NUISANCE = "under the nuisance"


def points(row: Row) -> str:
    """Of 12.0 points lost, 7.1 go to Bag; chance would be 1.2"""
    if row["di"] is None:
        return "no class gains wrong predictions"
    where = row.get("where", NUISANCE)
    return (
        f"of {row['points_lost']:.1f} points lost{'' if where == NUISANCE else f' {where}'}, "
        f"{row['points_to_top']:.1f} go to {row['top_class']}; chance would be {row['points_by_chance']:.1f}"
    ).replace("-", "−")


def beyond_chance(row: Row) -> bool:
    return row["di"] is not None and row["chance_spread"]["p_value"] < CHANCE


def telling(rows: Sequence[Row]) -> Row | None:
    """The row of which a reader should know before anything else: where the most points beyond chance go to one class,
    several times what chance would send there."""
    worth = [
        row
        for row in rows
        if beyond_chance(row)
        and row["classes"] > 2
        and row["points_to_top"] >= max(LEAST, TIMES * row["points_by_chance"])
    ]
    return max(worth, key=lambda row: row["points_to_top"] - row["points_by_chance"], default=None)


def in_one_line(rows: Sequence[Row]) -> str:
    """For the console; "" where nothing is worth telling."""
    row = telling(rows)
    if row is None:
        return ""
    under = f" under {row['nuisance']}" if row["nuisance"] else ""
    return f"errors of {row['group']}{under} gather in one class: {points(row)}"


def rendered(rows: Sequence[Row], many_sets: bool) -> Markup:
    """A line that can be opened: the table of all models and nuisances."""
    if not rows:
        return Markup()
    first = telling(rows)
    shown = sorted(rows, key=lambda row: row["points_by_chance"] - row["points_to_top"])[:MOST_ROWS]
    return Markup(
        environment()
        .get_template("distortion.html.j2")
        .render(
            headline=None if first is None else (first, points(first)),
            rows=[row for row in rows if row in shown],
            left_out=len(rows) - len(shown),
            many_sets=many_sets,
            several=any(row["runs"] > 1 for row in rows),
            single=any(row["runs"] == 1 for row in rows),
            two=any(row["classes"] == 2 for row in rows),
            where=rows[0].get("where", NUISANCE),
        )
    )
